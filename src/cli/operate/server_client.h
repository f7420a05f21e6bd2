// Connection of the commands to `weft serve`: where its socket is, requests in the output format of the command, and
// following its events. Requests that may be repeated safely are repeated while the server restarts.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/value.h"
#include "cli/framework/context.h"
#include "serve/http/client.h"

namespace weft::cli {

// The first word of weft's own command line for its engine's helper processes (world/local/helper_process.h); not a
// command for people.
inline constexpr std::string_view kHelperCommand = "engine-helper";

// --socket PATH, for every command that talks to the server.
[[nodiscard]] Option socket_option();
[[nodiscard]] Option watch_option();
[[nodiscard]] Option reason_option(std::string help);

// Where `weft serve` listens and keeps its state unless it is told: root in /run/weft and /var/lib/weft, other users in
// $XDG_RUNTIME_DIR and ~/.local/state/weft.
[[nodiscard]] std::string default_socket(const Io& io);
[[nodiscard]] std::string default_state_root(const Io& io);

class ServerClient {
 public:
  explicit ServerClient(Context& context);
  // At another socket than that of --socket.
  ServerClient(Context& context, std::string socket);

  [[nodiscard]] const std::string& socket() const { return socket_; }
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
  // Sends a request that changes something, and prints its answer: "job 7: canceled".
  Exit change(const std::string& path, const std::string& label) const;
  Exit change(const std::string& path, const std::string& label, const Value& body) const;
  // Sends "/v1/{collection}/{name}/{verb}" for each name; the worst outcome of all. `label`: "job", "node".
  Exit change_each(std::string_view collection, std::string_view label, const std::vector<std::string>& names,
                   std::string_view verb) const;

  [[nodiscard]] serve::Target with_format(serve::Target target) const;

 private:
  [[nodiscard]] Result<serve::HttpResponse> send(serve::ClientRequest request, Duration retry) const;
  Exit watch(const serve::Target& target) const;

  Context& context_;
  std::string socket_;
};

// A request for this path, without a query.
[[nodiscard]] serve::Target target_of(std::string path);

// The journal sequence that a response shows; 0 if the header is absent or not a number.
[[nodiscard]] std::uint64_t sequence_of(const serve::HttpResponse& response);

// For commands that print until they are stopped: `weft watch | head` ends when head does.
void end_with_the_reader();

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
