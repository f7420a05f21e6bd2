// Client of the commands for `weft serve`, on this machine or remote: requests in the output format of the command, and
// following its events. Requests that may be repeated safely are repeated while the server restarts.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/value.h"
#include "cli/framework/context.h"
#include "cli/operate/api_connection.h"
#include "cli/operate/server_endpoint.h"
#include "serve/http/client.h"

namespace weft::cli {

// The first word of weft's own command line for its engine's helper processes (world/local/helper_process.h); not a
// command for people.
inline constexpr std::string_view kHelperCommand = "engine-helper";

[[nodiscard]] Option watch_option();
[[nodiscard]] Option reason_option(std::string help);

class ServerClient {
 public:
  // The server of the options, the environment or the user's configuration. If there is none, every request fails with
  // the reason.
  explicit ServerClient(Context& context);
  // A server by its socket, its URL or the name of a context.
  ServerClient(Context& context, const std::string& server);
  ServerClient(Context& context, Result<ServerEndpoint> endpoint);

  // For messages: the path of its socket, or its URL.
  [[nodiscard]] const std::string& name() const;
  [[nodiscard]] const Result<ServerEndpoint>& endpoint() const { return endpoint_; }
  // For each request; 30 s otherwise.
  void set_timeout(Duration timeout) { timeout_ = timeout; }
  // A response below 400, or the error that another one stands for. `retry`: also while no server listens, for up to
  // this long.
  [[nodiscard]] Result<serve::HttpResponse> get(const serve::Target& target, Duration retry = Duration()) const;
  [[nodiscard]] Result<serve::HttpResponse> post(const std::string& path, const std::string& body,
                                                 const std::string& key = {}, Duration retry = Duration()) const;
  // The events after `since`, until the callback returns false. Reconnects when the server restarts.
  [[nodiscard]] Status follow(serve::Target target, std::uint64_t since, const serve::EventCallback& callback) const;

  // Prints the view in the format of --output; with --watch again after every change. `target` without the format.
  Exit show(const serve::Target& target) const;
  // The fields of the first section of a view's JSON, as text: "job.state".
  struct JobFields {
    std::string state;
    std::string reason;
    std::string restored;
    std::string nodes;
    std::string drill;         // the last one, in words
    std::string drill_result;  // pending, passed, failed
    std::int64_t attempt = 0;
    std::int64_t restored_step = 0;
    std::int64_t exit = 0;
    std::uint64_t sequence = 0;  // of the journal
    [[nodiscard]] bool ended() const { return state == "done" || state == "failed" || state == "canceled"; }
  };
  [[nodiscard]] Result<JobFields> job(std::uint64_t number, Duration retry = Duration()) const;
  // `path` is below /api/v1, in all of these. Sends a request that changes something, and prints its answer: "job 7:
  // canceled", or that another person has to approve it.
  Exit change(const std::string& path, const std::string& label) const;
  Exit change(const std::string& path, const std::string& label, const Value& body) const;
  // Sends "{collection}/{name}/{verb}" for each name; the worst outcome of all. `label`: "job", "node".
  Exit change_each(std::string_view collection, std::string_view label, const std::vector<std::string>& names,
                   std::string_view verb) const;

  [[nodiscard]] serve::Target with_format(serve::Target target) const;

 private:
  [[nodiscard]] Result<serve::HttpResponse> send(serve::ClientRequest request, Duration retry) const;
  Exit watch(const serve::Target& target) const;

  Context& context_;
  Result<ServerEndpoint> endpoint_;
  std::optional<Duration> timeout_;
  std::unique_ptr<oob::SystemClock> clock_;
  std::unique_ptr<ApiConnection> connection_;  // null: `endpoint_` says why
};

// A request for this path below /api/v1, without a query: "/jobs/7".
[[nodiscard]] serve::Target target_of(std::string_view path);

// The journal sequence that a response shows; 0 if the header is absent or not a number.
[[nodiscard]] std::uint64_t sequence_of(const serve::HttpResponse& response);

// A key that makes a request idempotent; "" if there is no source of random bytes.
[[nodiscard]] std::string new_idempotency_key();

// What an answer with the status 202 says: the request waits until another person has approved it. Nullopt: it does
// not.
[[nodiscard]] std::optional<std::string> pending_approval(const serve::HttpResponse& response);

// For commands that print until they are stopped: `weft watch | head` ends when head does.
void end_with_the_reader();

// Whether the server refuses the change without a reason: "node", "drain".
[[nodiscard]] bool needs_reason(std::string_view group, std::string_view verb);

// A command that changes several objects: "job cancel JOB...".
struct ChangeCommand {
  std::string_view group;  // "job"
  std::string_view verb;
  std::string summary;
  std::vector<std::string> description;
  Example example;
  Argument objects;
  std::string reason_help;
  Exit (*run)(Context&) = nullptr;
};
[[nodiscard]] Command change_command(ChangeCommand change);

// A job number of the command line; nullopt after a usage error.
[[nodiscard]] std::optional<std::uint64_t> read_job_number(Context& context, const std::string& word);
// A job number, or the name of an engine's job in watch mode ("8_[0-3]", "9+1", "team/train"), as a segment of a path;
// nullopt after a usage error.
[[nodiscard]] std::optional<std::string> read_job_name(Context& context, const std::string& word);

}  // namespace weft::cli
