// A login session on a Redfish service (DSP0266, "Session-based authentication"): opened once, renewed when it expires,
// deleted on every exit path. Falls back to HTTP Basic if no session can be opened. Replies are JSON, with errors
// already classified; no error text contains a password or a token. Single-threaded.
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

// Context of our sessions, to tell those left behind by a crash from those of other users.
inline constexpr std::string_view kSessionContext = "weft";

struct RedfishReply {
  int status = 0;
  Value value{};                     // null if the reply had no body or no valid JSON
  std::string etag{};                // from the header, else @odata.etag
  std::string location{};            // a trusted path, or empty
  std::optional<int> retry_after{};  // seconds
};

class RedfishSession {
 public:
  // One login attempt. `refused` if the BMC rejects the credentials.
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
  // The service's quirk, as far as known; refined by resources read later.
  [[nodiscard]] const Quirk& quirk() const { return *quirk_; }
  void look_again(const std::string& manufacturer, const std::string& firmware);

  // A resource; an error unless it is a JSON object.
  [[nodiscard]] Result<RedfishReply> get(const std::string& path);
  // Several resources, at most four at a time, in the order of the paths.
  [[nodiscard]] std::vector<Result<Value>> get_many(const std::vector<std::string>& paths);
  // The response of a task monitor, whose body may be anything; any 2xx is a reply.
  [[nodiscard]] Result<RedfishReply> look(const std::string& path);
  // A stream of server-sent events; not_found if what is there is none. `last_id`: of the last event of an earlier
  // stream, or empty. The session must outlive it.
  [[nodiscard]] Result<std::unique_ptr<HttpStream>> open_stream(const std::string& path, const std::string& last_id);
  // Sent once. The reply's status is 2xx.
  [[nodiscard]] Result<RedfishReply> post(const std::string& path, std::string_view body);
  // A body that is not JSON, in parts; its limit is that of an upload. Sent once, as post() is.
  [[nodiscard]] Result<RedfishReply> upload(const std::string& path, const std::string& content_type,
                                            const std::vector<std::string_view>& parts, Duration limit);
  // With the given ETag, or none; if the BMC rejects that, retried once as the BMC requires.
  [[nodiscard]] Result<RedfishReply> patch(const std::string& path, std::string_view body, const std::string& etag);

  // The new password of this session's user, and secrets that must not appear in messages.
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
  std::string session_path_;  // of the session to delete; empty: none
  std::string change_account_;
  std::vector<Secret> unspeakable_;
};

}  // namespace weft::oob
