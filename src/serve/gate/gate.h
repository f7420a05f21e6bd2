// The gatekeeper of `weft serve`: who a client is, by Unix credentials, client certificate, static token, bearer token
// of the OIDC provider, browser session or login of the CLI; how often it may come; what waits for a second person; and
// the audit log. Also the requests about these: sessions, tokens, approvals, audit, login pages. What a request means
// is the API's business.
//
// For the server's thread only. What asks the OIDC provider or waits for the disk runs in threads of its own and comes
// back through GateOptions::post.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "access/approval/approval_store.h"
#include "access/audit/log.h"
#include "access/audit/queue.h"
#include "access/audit/refusals.h"
#include "access/limit/rate_limiter.h"
#include "access/oidc/provider.h"
#include "access/policy/policy.h"
#include "access/token/pending_logins.h"
#include "access/token/session_store.h"
#include "access/token/token_store.h"
#include "base/document.h"
#include "serve/api/gatekeeper.h"
#include "serve/oob/runner.h"
#include "serve/oob/work_queue.h"

namespace weft::serve {

class Api;

struct GateOptions {
  access::AccessPolicy policy;
  std::string cluster;          // its name, for pages
  std::string version;          // of weft, for pages
  std::string server;           // "weft@host": who writes the audit log
  std::string state_directory;  // of tokens, sessions and the audit log
  std::uint32_t server_uid = 0;
  std::vector<std::string> listen_hosts;  // under which browsers reach it, beside AccessPolicy::hosts
  access::SecretSources secrets;
  access::RandomFill random;
  std::function<std::int64_t()> now_ms;             // wall clock, milliseconds since 1970
  std::function<Duration()> now;                    // monotonic
  std::function<void(std::function<void()>)> post;  // from any thread: runs it in the server's
  std::function<void(std::string_view)> log;
  access::HttpFetch* fetch = nullptr;  // of the OIDC provider; must outlive the gate
  oob::Clock* clock = nullptr;         // of the audit log; must outlive the gate
};

// What GET /healthz says: a problem (503), or else what is well.
struct Health {
  std::string problem;
  std::string text;
};

class Gate final : public Gatekeeper {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Gate>> open(GateOptions options);
  ~Gate() override;

  // Where approved requests are carried out, and device operations; set before the first request.
  void set_api(Api* api) { api_ = api; }
  void set_oob(OobRunner* oob) { oob_ = oob; }
  // Asked for GET /healthz.
  void set_health(std::function<Health()> health) { health_ = std::move(health); }

  void identify(const HttpRequest& request, std::function<void(std::variant<Caller, HttpResponse>)> callback) override;
  [[nodiscard]] bool is_still_valid(Caller& caller) override;
  void set_account(Caller& caller) const override;
  void admit(const ApiCall& call, std::function<std::string()> describe, std::function<void()> proceed) override;
  [[nodiscard]] bool handle(const ApiCall& call) override;
  void note_refused(const ApiCall& call) override;
  [[nodiscard]] bool handle_page(const HttpRequest& request, const Responder& responder) override;

  // Replaces roles, accounts, limits and rules; an address to listen on or a provider changes at the next start.
  void reload(access::AccessPolicy policy);
  // Every second or so: ends what has expired, writes what is due.
  void tick();

 private:
  using Outcome = std::variant<Caller, HttpResponse>;
  using Identified = std::function<void(Outcome)>;
  // A browser that was sent to the provider. The cookie binds it: a link with somebody else's state and code does not
  // sign in there.
  struct PendingBrowser {
    access::PendingLogin login;
    access::SecretHash cookie;
  };

  // A request that waits for a second person.
  struct Held {
    Caller caller;
    std::string object;
    std::string if_match;
    std::string idempotency_key;
  };

  explicit Gate(GateOptions options);
  [[nodiscard]] Status open_stores();
  [[nodiscard]] Status open_oidc();

  // authenticate.cc
  [[nodiscard]] Outcome identify_local(const HttpRequest& request);
  [[nodiscard]] Outcome identify_token(const HttpRequest& request, std::string_view token);
  [[nodiscard]] Outcome identify_session(const HttpRequest& request, std::string_view cookie);
  void identify_bearer(const HttpRequest& request, std::string token, const Identified& callback, bool may_refresh);
  [[nodiscard]] Outcome accept(const HttpRequest& request, Caller caller);
  void set_rights(Caller& caller) const;
  [[nodiscard]] HttpResponse refuse(const HttpRequest& request, std::string_view why);
  [[nodiscard]] bool is_known_host(std::string_view host) const;
  [[nodiscard]] std::optional<HttpResponse> check_browser(const HttpRequest& request) const;
  [[nodiscard]] std::optional<HttpResponse> limit_source(const std::string& address);
  [[nodiscard]] std::optional<HttpResponse> limit_failures(const std::string& address);

  // sign_in.cc
  void start_login(const HttpRequest& request, const Reply& reply);
  void finish_login(const HttpRequest& request, const Reply& reply);
  void start_device(const HttpRequest& request, const Reply& reply);
  void poll_device(const HttpRequest& request, const Reply& reply);
  [[nodiscard]] std::optional<access::PendingLogin> take_login(const std::string& state, const std::string& cookie);
  void refresh_login(const HttpRequest& request, const Reply& reply);
  void end_browser_login(const Reply& reply, const Result<access::Claims>& claims, const access::AuditSource& source,
                         const std::string& path);
  void note_sign_in(const access::Identity& identity, const access::AuditSource& source, std::string_view how,
                    const Reply& reply, HttpResponse response);
  void end_device_poll(const Reply& reply, const Result<access::ProviderPoll>& answer, const std::string& handle,
                       const access::AuditSource& source);
  // The pages and the OpenAPI document. False: there is none of this path.
  [[nodiscard]] bool show_page(const HttpRequest& request, const Reply& reply);
  [[nodiscard]] std::string start_page(const HttpRequest& request);
  [[nodiscard]] Result<access::Identity> identity_of(const access::Claims& claims, access::Method method) const;
  // Runs `work` in a thread, then `done` in the server's. False: too much is waiting.
  [[nodiscard]] bool run_aside(std::function<std::function<void()>()> work);

  // access_requests.cc
  void show_session(const ApiCall& call);
  void logout(const ApiCall& call);
  void list_tokens(const ApiCall& call);
  void create_token(const ApiCall& call);
  void revoke_token(const ApiCall& call);
  void list_approvals(const ApiCall& call);
  void decide_approval(const ApiCall& call);
  void list_audit(const ApiCall& call);
  void handle_oob(const ApiCall& call);
  void respond(const ApiCall& call, Document document) const;
  void answer(const ApiCall& call, std::string_view message) const;

  void hold_for_approval(const ApiCall& call);
  [[nodiscard]] access::ApprovalPerson person_of(const Caller& caller) const;
  void note(const access::AuditSource& source, std::string_view operation, std::string_view object,
            std::string_view reason = {});
  // The same for what must not happen without an entry: `proceed` once it is on disk; after an error `undo`, and 503.
  void note_first(access::AuditNote entry, const Reply& reply, std::function<void()> proceed,
                  const std::function<void()>& undo = nullptr);
  void record_refusal(access::AuditNote entry);
  [[nodiscard]] static access::AuditSource source_of(const ApiCall& call);

  GateOptions options_;
  Api* api_ = nullptr;
  OobRunner* oob_ = nullptr;
  std::function<Health()> health_;
  access::AccessPolicy policy_;
  std::unique_ptr<access::TokenStore> tokens_;
  std::unique_ptr<access::SessionStore> sessions_;
  std::unique_ptr<access::RateLimiter> requests_;         // per identity
  std::unique_ptr<access::RateLimiter> source_requests_;  // per source address
  std::unique_ptr<access::FailureLimiter> failures_;      // per source address
  access::PendingItems<PendingBrowser> browser_logins_;   // by state
  access::PendingDeviceLogins device_logins_;
  access::ApprovalStore approvals_;
  std::map<std::string, Held> held_;  // by approval
  std::unique_ptr<access::AuditLog> audit_;
  std::unique_ptr<access::AuditQueue> audit_queue_;
  std::unique_ptr<access::RefusalLog> refusals_;  // writes to the queue when it ends
  std::unique_ptr<access::OidcProvider> oidc_;
  std::string docs_page_;             // made for the first request, as is openapi_
  std::string openapi_;               // JSON
  std::shared_ptr<bool> alive_;       // false once the gate is being destroyed: late results are dropped
  std::unique_ptr<WorkQueue> aside_;  // last: its threads use the others
};

}  // namespace weft::serve
