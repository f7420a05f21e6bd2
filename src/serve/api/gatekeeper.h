// What stands between a client and the API: who it is, whether it may come this often, whether a second person has to
// approve, and the audit log. An interface, so that the API can be tested without keys and files; the server's own is
// in serve/gate. Requests of the Unix socket pass it too.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <variant>

#include "serve/api/caller.h"
#include "serve/api/reply.h"
#include "serve/http/message.h"
#include "serve/table/route.h"

namespace weft::serve {

struct ApiCall;

class Gatekeeper {
 public:
  Gatekeeper() = default;
  Gatekeeper(const Gatekeeper&) = delete;
  Gatekeeper& operator=(const Gatekeeper&) = delete;
  virtual ~Gatekeeper() = default;

  // Calls back with who sends the request, or with the response that refuses it: at once, or later (keys of the OIDC
  // provider have to be fetched first).
  virtual void identify(const HttpRequest& request,
                        std::function<void(std::variant<Caller, HttpResponse>)> callback) = 0;
  // Whether an identity that was accepted before still is: its token is not revoked, its session has not ended. Sets
  // its present rights. Cheap: asked often for every stream of events.
  [[nodiscard]] virtual bool is_still_valid(Caller& caller) = 0;

  // Sets the Unix account under which the caller's jobs run, if it has one: asks the user database.
  virtual void set_account(Caller& caller) const = 0;

  // Before a request that changes something is carried out. Calls `proceed` when its entry in the audit log is on disk,
  // or answers the request: the log cannot be written, or a second person has to approve. `describe` gives the present
  // state of the object for the log. The outcome is recorded when the reply is given.
  virtual void admit(const ApiCall& call, std::function<std::string()> describe, std::function<void()> proceed) = 0;

  // A request that changes something and that its caller has not the role for: for the audit log.
  virtual void note_refused(const ApiCall& call) = 0;

  // Requests of its own: sessions, tokens, approvals, the audit log, devices. False: the row is not its own.
  [[nodiscard]] virtual bool handle(const ApiCall& call) = 0;
  // Other requests outside of /api/v1: login, pages. False: there is none of this path.
  [[nodiscard]] virtual bool handle_page(const HttpRequest& request, const Responder& responder) = 0;
};

}  // namespace weft::serve
