// A login at a Redfish service (DSP0266, "Session-based authentication"): taken once, renewed when the BMC forgot it,
// given back on every way out. Falls back to HTTP Basic where there are no sessions to be had. Replies come as JSON
// with errors already told apart; no error text holds a password or a token. One thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/value.h"
#include "oob/redfish/https_client.h"
#include "oob/redfish/quirks.h"
#include "oob/redfish/reply.h"

namespace weft::oob {

// What sessions of ours are called, so that those left behind by a crash can be told from other people's.
inline constexpr std::string_view kSessionContext = "weft";

struct RedfishReply {
  int status = 0;
  Value value{};                     // null when the reply had no body, or none that is JSON
  std::string etag{};                // of the header, else @odata.etag
  std::string location{};            // a trusted path, or empty
  std::optional<int> retry_after{};  // seconds
};

class RedfishSession {
 public:
  // One attempt to log in. Refused when the BMC does not take the credentials.
  [[nodiscard]] static Result<std::unique_ptr<RedfishSession>> open(const Endpoint& endpoint, const std::string& user,
                                                                    const Secret& password, Clock& clock);
  ~RedfishSession();
  RedfishSession(const RedfishSession&) = delete;
  RedfishSession& operator=(const RedfishSession&) = delete;

  [[nodiscard]] const ServiceRoot& root() const { return root_; }
  [[nodiscard]] const Endpoint& endpoint() const { return endpoint_; }
  [[nodiscard]] Clock& clock() const { return clock_; }
  [[nodiscard]] const std::string& user() const { return login_.user; }
  // The account whose password must be changed before anything else is allowed; empty: none.
  [[nodiscard]] const std::string& change_account() const { return change_account_; }
  // The service's quirk, as far as it is known; made more exact by what was read later.
  [[nodiscard]] const Quirk& quirk() const { return *quirk_; }
  void look_again(const std::string& manufacturer, const std::string& firmware);

  // A resource; an error unless it is a JSON object.
  [[nodiscard]] Result<RedfishReply> get(const std::string& path);
  // Several, at most four at a time, in the order of the paths.
  [[nodiscard]] std::vector<Result<Value>> get_many(const std::vector<std::string>& paths);
  // The answer of a task monitor, whose body may be anything; any 2xx is a reply.
  [[nodiscard]] Result<RedfishReply> look(const std::string& path);
  // Sent once. The reply's status is 2xx.
  [[nodiscard]] Result<RedfishReply> post(const std::string& path, std::string_view body);
  // With the ETag given, or else with none; when the BMC wants it otherwise, once more as it wants.
  [[nodiscard]] Result<RedfishReply> patch(const std::string& path, std::string_view body, const std::string& etag);

  // The password that this login's user has from now on, and any that must not show in messages.
  void password_changed(const Secret& password) { login_.password = password; }
  void keep_out_of_messages(const Secret& secret) { unspeakable_.push_back(secret); }

  [[nodiscard]] Error error(ErrorCode code, std::string message) const;

 private:
  RedfishSession(const Endpoint& endpoint, const std::string& user, const Secret& password, Clock& clock);
  [[nodiscard]] Status read_root();
  [[nodiscard]] Status log_in();
  [[nodiscard]] Result<HttpReply> ask_for_session();
  [[nodiscard]] Status take_session(const HttpReply& reply);
  [[nodiscard]] bool remove_stale_session();
  [[nodiscard]] Status use_basic();
  void log_out();
  [[nodiscard]] bool log_in_again();

  [[nodiscard]] Result<HttpReply> send(HttpRequest request);
  [[nodiscard]] Error error_of(const HttpReply& reply);
  [[nodiscard]] Result<RedfishReply> reply_of(Result<HttpReply> reply, bool must_be_object);
  [[nodiscard]] bool is_session_limit(const HttpReply& reply) const;
  [[nodiscard]] std::string speakable(std::string text) const;

  const Endpoint endpoint_;
  Clock& clock_;
  HttpsClient client_;
  ServiceRoot root_;
  ServiceLook look_;
  const Quirk* quirk_;
  HttpLogin login_;
  std::string session_path_;  // of the session to give back; empty: none
  std::string change_account_;
  std::vector<Secret> unspeakable_;
};

}  // namespace weft::oob
