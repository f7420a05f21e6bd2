// Pages that browsers load: the start page, the documentation of the API and the files they use.
#include <variant>

#include "base/text.h"
#include "base/value.h"
#include "serve/api/docs_page.h"
#include "serve/api/openapi.h"
#include "serve/gate/cookies.h"
#include "serve/gate/gate.h"
#include "serve/gate/page_response.h"

namespace weft::serve {

HttpResponse page_response(std::string html) {
  HttpResponse response;
  response.content_type = "text/html; charset=utf-8";
  response.body = std::move(html);
  response.headers.emplace_back("Content-Security-Policy", kPagePolicy);
  response.headers.emplace_back("Referrer-Policy", "no-referrer");
  response.headers.emplace_back("Cache-Control", "no-store");
  return response;
}

std::string Gate::start_page(const HttpRequest& request) {
  HomePageFacts facts;
  facts.cluster = options_.cluster;
  facts.version = options_.version;
  facts.has_login = oidc_ != nullptr;
  std::optional<Outcome> outcome;
  if (request.is_local) {
    outcome = identify_local(request);
  } else if (const std::string cookie = find_cookie(request.cookie, kSessionCookie); !cookie.empty()) {
    outcome = identify_session(request, cookie);
  }
  if (!outcome || !std::holds_alternative<Caller>(*outcome)) return home_page(facts);
  const Caller& caller = std::get<Caller>(*outcome);
  facts.caller = caller.identity;
  std::vector<std::string> roles;
  for (const access::Grant& grant : caller.access.grants()) {
    roles.push_back(std::string(to_text(grant.role)) + (grant.tenant.empty() ? "" : " of " + grant.tenant));
  }
  facts.roles = join(roles, ", ");
  return home_page(facts);
}

bool Gate::show_page(const HttpRequest& request, const Reply& reply) {
  if (request.path == "/") {
    reply.respond(page_response(start_page(request)));
    return true;
  }
  if (request.path == "/docs") {
    if (docs_page_.empty()) docs_page_ = docs_page(route_rows(), answer_shapes(), options_.version);
    reply.respond(page_response(docs_page_));
    return true;
  }
  if (request.path == "/api/v1/openapi.json") {
    HttpResponse response;
    if (openapi_.empty()) openapi_ = write_json(openapi_document(route_rows(), answer_shapes(), options_.version));
    response.body = openapi_;
    reply.respond(response);
    return true;
  }
  const std::optional<PageAsset> asset = find_page_asset(request.path);
  if (!asset) return false;
  HttpResponse response;
  response.content_type = asset->media_type;
  response.body = asset->content;
  response.headers.emplace_back("Cache-Control", "no-cache");
  reply.respond(response);
  return true;
}

}  // namespace weft::serve
