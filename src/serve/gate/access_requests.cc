// Requests about access itself: the session, static tokens, approvals, the audit log, and devices out of band.
#include <fmt/format.h>

#include <algorithm>

#include "access/audit/view.h"
#include "access/policy/user_name.h"
#include "base/human_format.h"
#include "base/quantity.h"
#include "base/text.h"
#include "base/value.h"
#include "serve/api/api.h"
#include "serve/api/list_page.h"
#include "serve/gate/cookies.h"
#include "serve/gate/gate.h"

namespace weft::serve {
namespace {

constexpr Duration kMinTokenLife = milliseconds(60'000);

std::vector<std::string> split_list(const std::string& text) {
  std::vector<std::string> items;
  for (const std::string_view part : split(text, ',')) {
    if (!trim(part).empty()) items.emplace_back(trim(part));
  }
  return items;
}

Cell time_cell(std::int64_t ms) { return ms == 0 ? Cell() : Cell(format_utc_seconds(ms)); }
Cell text_cell(const std::string& text) { return text.empty() ? Cell() : Cell(text); }

// A token by its public part, "weft_t_ID", or the ID alone.
std::string token_id(const std::string& name) {
  const std::optional<access::CredentialName> parsed = access::parse_credential_name(name);
  return parsed && parsed->kind == access::TokenKind::fixed ? std::string(parsed->id) : name;
}

std::string account_name(const Caller& caller) {
  Peer peer;
  peer.uid = caller.uid;
  return identify_peer(peer, false).user;
}

HttpResponse document_response(const ApiCall& call, const Document& document, int status = 200) {
  HttpResponse response;
  response.status = status;
  const OutputStyle style = *output_style(call.request);
  response.body = write(document, style);
  if (style.format != OutputFormat::json) response.content_type = "text/plain; charset=utf-8";
  return response;
}

}  // namespace

bool Gate::handle(const ApiCall& call) {
  using Handler = void (Gate::*)(const ApiCall&);
  static constexpr std::pair<std::string_view, Handler> kHandlers[] = {{"session.show", &Gate::show_session},
                                                                       {"session.logout", &Gate::logout},
                                                                       {"token.list", &Gate::list_tokens},
                                                                       {"token.create", &Gate::create_token},
                                                                       {"token.revoke", &Gate::revoke_token},
                                                                       {"approval.list", &Gate::list_approvals},
                                                                       {"approval.approve", &Gate::decide_approval},
                                                                       {"approval.reject", &Gate::decide_approval},
                                                                       {"audit.list", &Gate::list_audit}};
  for (const auto& [id, handler] : kHandlers) {
    if (id != call.row->id) continue;
    (this->*handler)(call);
    return true;
  }
  if (!call.row->id.starts_with("oob.")) return false;
  handle_oob(call);
  return true;
}

void Gate::respond(const ApiCall& call, Document document) const {
  std::vector<InputError> errors;
  std::string next;
  if (call.row->lists) next = apply_list_parameters(document, call.parameters, errors);
  if (!errors.empty()) return call.responder.respond(input_problem(errors));
  HttpResponse response = document_response(call, document);
  if (!next.empty()) response.headers.emplace_back(kNextPageHeader, next);
  call.responder.respond(response);
}

void Gate::answer(const ApiCall& call, std::string_view message) const {
  Document document;
  document.kind = "answer";
  document.sections.emplace_back(FactsSection{"answer", "", {{"message", "Message", message}}});
  call.responder.respond(document_response(call, document));
}

void Gate::show_session(const ApiCall& call) {
  const access::Identity& identity = call.caller.identity;
  Caller caller = call.caller;
  set_account(caller);
  Document document;
  document.kind = "session";
  FactsSection facts{"session", "", {}};
  facts.facts.push_back({"user", "User", identity.user});
  facts.facts.push_back({"method", "Signed in by", to_text(identity.method)});
  facts.facts.push_back({"credential", "Credential", text_cell(identity.credential)});
  facts.facts.push_back({"groups", "Groups", text_cell(join(identity.groups, ", "))});
  facts.facts.push_back({"account", "Account", caller.has_account ? Cell(account_name(caller)) : Cell()});
  std::optional<std::string> csrf_token;
  if (identity.method == access::Method::browser)
    csrf_token = access::csrf_token_of(find_cookie(call.request.cookie, kSessionCookie));
  facts.facts.push_back({"csrf_token", "CSRF token", text_cell(csrf_token.value_or(""))});
  facts.facts.push_back({"expires", "Expires", time_cell(call.caller.valid_until_ms)});
  document.sections.emplace_back(std::move(facts));
  TableSection roles{"roles", "Roles", {{"role", "Role"}, {"tenant", "Tenant"}}, {}};
  for (const access::Grant& grant : call.caller.access.grants())
    roles.rows.push_back({to_text(grant.role), text_cell(grant.tenant)});
  if (roles.rows.empty()) document.notes.emplace_back("No role: nothing but signing in is allowed.");
  document.sections.emplace_back(std::move(roles));
  call.responder.respond(document_response(call, document));
}

void Gate::logout(const ApiCall& call) {
  const access::Method method = call.caller.identity.method;
  if (method != access::Method::browser && method != access::Method::cli)
    return call.responder.respond(
        problem(409, fmt::format("signed in by {}: there is no session to end", to_text(method))));
  admit(call, nullptr, [this, call] {
    const Status ended = sessions_->end(call.caller.identity.credential);
    if (!ended.ok()) options_.log(ended.error().text());
    Document document;
    document.kind = "answer";
    document.sections.emplace_back(FactsSection{"answer", "", {{"message", "Message", "signed out"}}});
    HttpResponse response = document_response(call, document);
    response.headers.emplace_back("Set-Cookie", set_cookie(kSessionCookie, "", SameSite::strict, 0));
    call.responder.respond(response);
  });
}

void Gate::list_tokens(const ApiCall& call) {
  Document document;
  document.kind = "tokens";
  TableSection table{"tokens", "", {}, {}};
  table.columns = {{"token", "Token"},     {"name", "Name"},     {"user", "User"},       {"role", "Role"},
                   {"tenant", "Tenant"},   {"state", "State"},   {"created", "Created"}, {"created_by", "By"},
                   {"expires", "Expires"}, {"used", "Last used"}};
  const std::int64_t now = options_.now_ms();
  const bool all = call.caller.access.is_admin();
  for (const access::TokenRecord& each : tokens_->list(all ? std::nullopt : std::optional(call.caller.user()))) {
    std::string_view state = each.is_live(now) ? "valid" : "expired";
    if (each.revoked_ms != 0) state = "revoked";
    table.rows.push_back({each.credential(), each.name, each.user,
                          each.restriction.role ? Cell(to_text(*each.restriction.role)) : Cell(),
                          text_cell(each.restriction.tenant), state, time_cell(each.created_ms), each.created_by,
                          time_cell(each.expires_ms), time_cell(each.last_used_ms)});
  }
  if (table.rows.empty()) document.notes.emplace_back("No tokens.");
  document.sections.emplace_back(std::move(table));
  respond(call, std::move(document));
}

void Gate::create_token(const ApiCall& call) {
  const Parameters& given = call.parameters;
  const auto refuse = [&](std::string_view name, std::string detail) {
    call.responder.respond(input_problem({{InputError::Where::body, std::string(name), std::move(detail)}}));
  };
  access::NewToken token;
  token.name = given.text("name");
  token.user = call.caller.user();
  token.groups = call.caller.identity.groups;
  token.created_by = call.caller.user();
  token.key = call.request.idempotency_key;
  if ((given.has("user") || given.has("groups"))) {
    if (!call.caller.access.is_admin())
      return call.responder.respond(problem(403, "a token of another user needs the role admin"));
    if (given.has("user") && given.text("user") != token.user) {
      token.user = given.text("user");
      token.groups.clear();
    }
    if (given.has("groups")) token.groups = split_list(given.text("groups"));
  }
  // The user who made the token that asks may be acting, and stays known: see ApprovalPerson.
  if (const std::string& makers = call.caller.token_creator; !makers.empty()) {
    token.created_by = token.user == call.caller.user() ? makers : fmt::format("{},{}", makers, call.caller.user());
  }
  if (given.has("role")) token.restriction.role = access::find_role(given.text("role"));
  token.restriction.tenant = given.text("tenant");
  if (const Status named = access::check_user_name(token.user); token.user != call.caller.user() && !named.ok())
    return refuse("user", named.error().message);
  for (const std::string& group : token.groups) {
    if (const Status named = access::check_group_name(group); !named.ok())
      return refuse("groups", named.error().message);
  }
  // A token of a restricted token is not less restricted.
  if (call.caller.restriction.has_any() && !(token.restriction == call.caller.restriction)) {
    if (token.restriction.has_any())
      return refuse("role", "the token that asks is restricted itself: leave role and tenant out");
    token.restriction = call.caller.restriction;
  }
  if (!access::is_valid_restriction(token.restriction))
    return refuse("tenant", "the roles user and tenant-admin go with a tenant, the others without");
  Duration life = milliseconds(access::kDefaultTokenLifeMs);
  if (given.has("expires_in")) life = *parse_duration(given.text("expires_in"));
  if (life < kMinTokenLife || life > milliseconds(access::kMaxTokenLifeMs))
    return refuse("expires_in", "expires_in must be from 1m to 52w");
  token.expires_ms = options_.now_ms() + life.count() / 1'000'000;
  if (call.caller.identity.method == access::Method::token) {
    // Otherwise a stolen token could be renewed without end.
    token.parent = call.caller.identity.credential;
    if (token.expires_ms > call.caller.valid_until_ms) {
      if (given.has("expires_in"))
        return refuse("expires_in", fmt::format("the token that asks expires at {}, and one made with it not later",
                                                format_utc_seconds(call.caller.valid_until_ms)));
      token.expires_ms = call.caller.valid_until_ms;
    }
  }
  if (token.restriction.has_any()) {
    access::Identity of_token{token.user, token.groups, access::Method::token, {}};
    if (!access::restrict_access(policy_.access_of(of_token), token.restriction).has_any_role())
      return refuse("role",
                    fmt::format("{} has no role that includes this one: the token could do nothing", token.user));
  }
  admit(call, nullptr, [this, call, token] {
    const Result<access::CreatedToken> created = tokens_->create(token, options_.now_ms());
    if (!created.ok()) return call.responder.respond(problem(status_of(created.error().code), created.error().message));
    Document document;
    document.kind = "new_token";
    FactsSection facts{"token", "", {}};
    facts.facts.push_back({"token", "Token", created->record.credential()});
    call.responder.add_evidence("token", created->record.credential());
    facts.facts.push_back({"secret", "Secret", created->text.reveal()});
    facts.facts.push_back({"expires", "Expires", time_cell(created->record.expires_ms)});
    document.sections.emplace_back(std::move(facts));
    document.notes.emplace_back("The secret is the whole token. It is shown only here.");
    call.responder.respond(document_response(call, document, 201));
  });
}

void Gate::revoke_token(const ApiCall& call) {
  const std::string id = token_id(call.object());
  const access::TokenRecord* record = tokens_->find_record(id);
  const bool is_own = record != nullptr && record->user == call.caller.user();
  if (record == nullptr || !(is_own || call.caller.access.is_admin()))
    return call.responder.respond(absent_problem("token", call.object()));
  // A restricted token may end itself, and no other one.
  if (call.caller.restriction.has_any() && call.caller.identity.credential != record->credential())
    return call.responder.respond(problem(403, "the token that asks is restricted: it may revoke itself only"));
  const auto describe = [this, id] {
    const access::TokenRecord* now = tokens_->find_record(id);
    return std::string(now == nullptr                    ? ""
                       : now->revoked_ms != 0            ? "revoked"
                       : now->is_live(options_.now_ms()) ? "valid"
                                                         : "expired");
  };
  admit(call, describe, [this, call, id] {
    const Status revoked = tokens_->revoke(id, options_.now_ms());
    if (!revoked.ok()) return call.responder.respond(problem(status_of(revoked.error().code), revoked.error().text()));
    answer(call, "revoked");
  });
}

void Gate::list_approvals(const ApiCall& call) {
  Document document;
  document.kind = "approvals";
  TableSection table{"approvals", "", {}, {}};
  table.columns = {{"approval", "Approval"}, {"operation", "Operation"}, {"object", "Object"},
                   {"user", "By"},           {"reason", "Reason"},       {"state", "State"},
                   {"asked", "Asked"},       {"expires", "Until"},       {"body", "Body", Column::Align::left, true}};
  for (const access::Approval& each : approvals_.list(options_.now_ms())) {
    const auto held = held_.find(each.id);
    table.rows.push_back({each.id, each.operation, held == held_.end() ? std::string() : held->second.object,
                          each.requester.identity.user, each.reason, "waiting", time_cell(each.created_ms),
                          time_cell(each.expires_ms), each.body});
  }
  if (table.rows.empty()) document.notes.emplace_back("Nothing waits for a second person.");
  document.sections.emplace_back(std::move(table));
  respond(call, std::move(document));
}

void Gate::decide_approval(const ApiCall& call) {
  const access::ApprovalPerson person = person_of(call.caller);
  const bool approves = call.row->id == "approval.approve";
  if (approvals_.find(call.object(), options_.now_ms()) == nullptr)
    return call.responder.respond(absent_problem("approval", call.object()));
  admit(call, nullptr, [this, call, person, approves] {
    const std::int64_t now = options_.now_ms();
    const Result<access::Approval> decided =
        approves ? approvals_.approve(call.object(), person, now) : approvals_.reject(call.object(), now);
    if (!decided.ok()) return call.responder.respond(problem(status_of(decided.error().code), decided.error().message));
    const auto held = held_.find(decided->id);
    CHECK(held != held_.end(), "every pending approval has its requester");
    Caller requester = std::move(held->second.caller);
    HttpRequest request;
    request.if_match = std::move(held->second.if_match);
    request.idempotency_key = std::move(held->second.idempotency_key);
    held_.erase(held);
    if (!approves) return answer(call, "rejected: it was not carried out");
    if (!is_still_valid(requester))
      return call.responder.respond(problem(409, "the requester may not do this any more: it was not carried out"));
    request.method = decided->method;
    request.path = decided->path;
    request.body = decided->body;
    request.content_type = "application/json";
    request.request_id = call.request.request_id;
    request.address = requester.address;
    request.is_local = requester.identity.method == access::Method::unix_socket;
    api_->carry_out(std::move(request), call.responder, std::move(requester), call.caller.user());
  });
}

void Gate::list_audit(const ApiCall& call) {
  access::AuditFilter filter;
  filter.limit = call.parameters.number("limit", filter.limit);
  filter.limit = std::min(filter.limit, access::kMaxAuditPage);
  filter.before = call.parameters.number("before", 0);
  filter.actor = call.parameters.text("actor");
  filter.operation = call.parameters.text("operation");
  filter.object = call.parameters.text("object");
  access::AuditNote entry;
  entry.source = source_of(call);
  entry.operation = call.row->id;
  note_first(std::move(entry), call.responder, [this, call, filter] {
    const bool started = run_aside([this, call, filter] {
      const auto page = std::make_shared<Result<access::AuditPage>>(audit_->read(filter));
      return [call, page] {
        if (!page->ok()) return call.responder.respond(problem(503, page->error().text()));
        call.responder.respond(document_response(call, access::audit_view(**page)));
      };
    });
    if (!started) call.responder.respond(problem(503, "too much is waiting: retry later"));
  });
}

void Gate::handle_oob(const ApiCall& call) {
  if (oob_ == nullptr)
    return call.responder.respond(problem(501, "this server was started without --oob: it has no access to devices"));
  OobRequest request;
  request.route = call.row->id;
  for (const Field& field : call.row->query) {
    if (call.parameters.has(field.name)) request.values.emplace(field.name, call.parameters.text(field.name));
  }
  for (const Field& field : call.row->body) {
    if (call.parameters.has(field.name)) request.values.emplace(field.name, call.parameters.text(field.name));
  }
  if (call.parameters.has("reason")) request.values.emplace("reason", call.parameters.text("reason"));
  // The parameters of the path, by the names in its pattern.
  std::size_t next = 0;
  for (const std::string_view part : split(call.row->pattern, '/')) {
    if (part.starts_with('{')) request.values[std::string(part.substr(1, part.size() - 2))] = call.path.at(next++);
  }
  request.user = call.caller.user();
  request.request_id = call.request.request_id;
  if (!call.approved_by.empty()) request.plan_age = milliseconds(access::kApprovalLifeMs);
  const auto run = [this, call, request] {
    oob_->handle(request, [call](const OobAnswer& answer) {
      HttpResponse response = answer.detail.empty() ? HttpResponse{} : problem(answer.status, answer.detail);
      if (!answer.parameter.empty()) {
        response = input_problem({{call.row->method == "GET" ? InputError::Where::query : InputError::Where::body,
                                   answer.parameter, answer.detail}});
      }
      response.status = answer.status;
      if (const Value* operation = answer.body.find("operation"); operation != nullptr)
        call.responder.add_evidence("operation", *operation);
      if (answer.detail.empty()) response.body = write_json(answer.body);
      call.responder.respond(response);
    });
  };
  call.row->changes ? admit(call, nullptr, run) : run();
}

}  // namespace weft::serve
