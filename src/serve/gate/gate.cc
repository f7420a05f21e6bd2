#include "serve/gate/gate.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "oob/durable/private_folder.h"
#include "serve/api/api.h"
#include "serve/gate/open_when_free.h"

namespace weft::serve {
namespace {

constexpr std::size_t kAsideThreads = 4;
constexpr std::size_t kMaxAside = 256;
constexpr std::uint32_t kRefusalsPerMinute = 30;

// What the audit log and the list of approvals call the object of a request: a node, a job, or a list of devices.
std::string object_of(const ApiCall& call) {
  if (!call.path.empty()) return call.path.front();
  for (const std::string_view name : {"devices", "nodes", "name", "runbook", "user"}) {
    if (call.parameters.has(name)) return call.parameters.text(name);
  }
  return {};
}

bool has_field(const RouteRow& row, std::string_view name) {
  return std::any_of(row.body.begin(), row.body.end(), [&](const Field& field) { return field.name == name; });
}

// A plan changes nothing. It is what a request asks for that does not say "plan": false.
bool is_plan(const ApiCall& call) {
  return has_field(*call.row, "plan") && (!call.parameters.has("plan") || call.parameters.is_set("plan"));
}

access::SessionLimits session_limits(const access::AccessPolicy& policy) {
  access::SessionLimits limits;
  limits.idle_ms = policy.sessions.idle.count() / 1'000'000;
  limits.longest_ms = policy.sessions.longest.count() / 1'000'000;
  return limits;
}

void answer_held(const ApiCall& call, const std::string& approval) {
  Document document;
  document.kind = "approval_needed";
  FactsSection facts{"answer", "", {}};
  facts.facts.push_back({"approval", "Approval", approval});
  facts.facts.push_back(
      {"message", "Message",
       fmt::format("{} needs a second person: another operator approves {} within an hour", call.row->id, approval)});
  document.sections.emplace_back(std::move(facts));
  HttpResponse response;
  response.status = 202;
  const OutputStyle style = *output_style(call.request);
  response.body = write(document, style);
  if (style.format != OutputFormat::json) response.content_type = "text/plain; charset=utf-8";
  call.responder.respond(response);
}

}  // namespace

Gate::Gate(GateOptions options)
    : options_(std::move(options)),
      policy_(options_.policy),
      device_logins_(options_.random),
      approvals_(options_.random),
      alive_(std::make_shared<bool>(true)) {}

Gate::~Gate() {
  *alive_ = false;
  aside_.reset();
}

Result<std::unique_ptr<Gate>> Gate::open(GateOptions options) {
  std::unique_ptr<Gate> gate(new Gate(std::move(options)));
  if (Status opened = gate->open_stores(); !opened.ok()) return opened.error();
  if (Status opened = gate->open_oidc(); !opened.ok()) return opened.error();
  gate->aside_ = std::make_unique<WorkQueue>(kAsideThreads, kMaxAside);
  return gate;
}

Status Gate::open_stores() {
  const std::string folder = options_.state_directory + "/access";
  if (Status made = oob::make_private_folder(folder); !made.ok()) return made;
  Result<std::unique_ptr<access::TokenStore>> tokens =
      open_when_free([&] { return access::TokenStore::open(folder + "/tokens.json", options_.random); });
  if (!tokens.ok()) return tokens.error();
  tokens_ = std::move(*tokens);
  Result<std::unique_ptr<access::SessionStore>> sessions = open_when_free(
      [&] { return access::SessionStore::open(folder + "/sessions.json", options_.random, session_limits(policy_)); });
  if (!sessions.ok()) return sessions.error();
  sessions_ = std::move(*sessions);
  const std::string seed = access::make_secret_text(options_.random);
  requests_ = std::make_unique<access::RateLimiter>(
      access::RateLimit{policy_.limits.requests_per_minute, policy_.limits.requests_per_minute}, seed);
  source_requests_ = std::make_unique<access::RateLimiter>(
      access::RateLimit{policy_.limits.source_requests_per_minute, policy_.limits.source_requests_per_minute}, seed);
  failures_ = std::make_unique<access::FailureLimiter>(policy_.limits.failures_per_minute, seed);
  access::AuditOptions audit;
  audit.folder = options_.state_directory + "/audit";
  audit.server = options_.server;
  if (!policy_.audit.syslog.empty()) {
    Result<oob::SyslogTarget> target = oob::parse_syslog_target(policy_.audit.syslog);
    if (!target.ok()) return target.error();
    audit.syslog = std::move(*target);
    audit.syslog_ca = policy_.audit.ca;
  }
  Result<std::unique_ptr<access::AuditLog>> log =
      open_when_free([&] { return access::AuditLog::open(audit, *options_.clock); });
  if (!log.ok()) return log.error();
  audit_ = std::move(*log);
  audit_queue_ = std::make_unique<access::AuditQueue>(*audit_);
  // In a thread: a disk that hangs must not stop the server, which refuses requests without waiting for it.
  refusals_ = std::make_unique<access::RefusalLog>(
      [this](access::AuditNote note) {
        const bool queued = audit_queue_->note(std::move(note));
        return queued ? Status() : Status(Error{ErrorCode::unavailable, "the audit log is behind", {}});
      },
      *options_.clock, kRefusalsPerMinute);
  return {};
}

Status Gate::open_oidc() {
  if (!policy_.oidc) return {};
  const access::OidcPolicy& given = *policy_.oidc;
  access::OidcSettings settings;
  settings.issuer = given.issuer;
  settings.client_id = given.client_id;
  settings.audience = given.audience;
  settings.authorized_parties = given.authorized_parties;
  settings.user_claim = given.username_claim;
  settings.groups_claim = given.groups_claim;
  settings.scopes = given.scopes;
  settings.ca_file = given.ca;
  settings.algorithms.clear();
  for (const std::string& name : given.algorithms) {
    if (const std::optional<access::Algorithm> algorithm = access::find_algorithm(name))
      settings.algorithms.push_back(*algorithm);
  }
  if (given.client_secret) {
    Result<oob::Secret> secret = access::read_secret(*given.client_secret, options_.secrets);
    if (!secret.ok()) return secret.error();
    settings.client_secret = std::move(*secret);
  }
  oidc_ = std::make_unique<access::OidcProvider>(
      std::move(settings), *options_.fetch, [random = options_.random](std::size_t count) {
        std::string bytes(count, '\0');
        random({reinterpret_cast<unsigned char*>(bytes.data()), bytes.size()});
        return bytes;
      });
  return {};
}

void Gate::reload(access::AccessPolicy policy) {
  policy_ = std::move(policy);
  requests_->set_limit({policy_.limits.requests_per_minute, policy_.limits.requests_per_minute});
  source_requests_->set_limit({policy_.limits.source_requests_per_minute, policy_.limits.source_requests_per_minute});
  failures_->set_limit(policy_.limits.failures_per_minute);
  sessions_->set_limits(session_limits(policy_));
}

void Gate::tick() {
  const std::int64_t now = options_.now_ms();
  for (const access::Approval& each : approvals_.take_expired(now)) {
    held_.erase(each.id);
    note({each.requester.identity, {}, {}}, "approval.expired", each.id, each.operation);
  }
  if (const Status written = refusals_->tick(); !written.ok()) options_.log(written.error().text());
  if (oidc_ != nullptr && oidc_->needs_refresh(now / 1000)) {
    (void)run_aside([this, now] {
      const Status refreshed = oidc_->refresh(now / 1000);
      (void)refreshed;  // a login or bearer token that needs the keys reports why they are missing
      return [] {};
    });
  }
}

bool Gate::run_aside(std::function<std::function<void()>()> work) {
  return aside_->submit([this, alive = alive_, work = std::move(work)](bool run) {
    if (!run) return;
    std::function<void()> done = work();
    options_.post([alive, done = std::move(done)] {
      if (*alive) done();
    });
  });
}

access::AuditSource Gate::source_of(const ApiCall& call) {
  return {call.caller.identity, call.caller.address, call.request.request_id};
}

void Gate::note(const access::AuditSource& source, std::string_view operation, std::string_view object,
                std::string_view reason) {
  access::AuditNote entry;
  entry.source = source;
  entry.operation = operation;
  entry.object = object;
  entry.reason = reason;
  if (!audit_queue_->note(std::move(entry))) options_.log("the audit log is behind: an entry was dropped");
}

void Gate::note_first(access::AuditNote entry, const Reply& reply, std::function<void()> proceed,
                      const std::function<void()>& undo) {
  const auto end = [reply, alive = alive_, proceed = std::move(proceed), undo](const Status& written) {
    if (!*alive) return;
    if (written.ok()) return proceed();
    if (undo) undo();
    reply.respond(
        problem(503, "the audit log cannot be written: " + written.error().message + "; nothing was changed"));
  };
  const bool queued = audit_queue_->note(
      std::move(entry), [post = options_.post, end](const Status& written) { post([end, written] { end(written); }); });
  if (queued) return;
  if (undo) undo();
  reply.respond(problem(503, "the audit log is behind: retry later; nothing was changed"));
}

void Gate::record_refusal(access::AuditNote entry) {
  if (const Status written = refusals_->record(std::move(entry)); !written.ok()) options_.log(written.error().text());
}

void Gate::note_refused(const ApiCall& call) {
  access::AuditNote entry;
  entry.source = source_of(call);
  entry.operation = access::kRequestRefused;
  entry.object = std::string(call.row->id) + (call.path.empty() ? "" : " " + object_of(call));
  entry.reason = "without the role that it needs";
  record_refusal(std::move(entry));
}

void Gate::admit(const ApiCall& call, std::function<std::string()> describe, std::function<void()> proceed) {
  const bool needs_another = policy_.needs_second_person(call.row->id) && call.approved_by.empty();
  if (needs_another && !is_plan(call)) return hold_for_approval(call);
  access::AuditIntent intent;
  intent.source = source_of(call);
  intent.operation = call.row->id;
  intent.object = object_of(call);
  intent.reason = call.parameters.text("reason");
  intent.body = access::digest_body(call.request.body);
  for (const Field& field : call.row->body) {
    if (call.parameters.has(field.name)) intent.members.emplace_back(field.name, call.parameters.text(field.name));
  }
  if (describe) intent.before = describe();
  intent.approved_by = call.approved_by;
  const auto admitted = [this, alive = alive_, reply = call.responder, describe = std::move(describe),
                         proceed = std::move(proceed)](const Result<access::AuditTicket>& ticket) {
    if (!*alive) return;
    if (!ticket.ok()) {
      return reply.respond(
          problem(503, "the audit log cannot be written: " + ticket.error().message + "; nothing was changed"));
    }
    // Not the reply itself, which owns this.
    reply.before_answer([this, alive, describe, ticket = *ticket](HttpResponse& response, const Value& evidence) {
      if (!*alive) return;
      access::AuditOutcome outcome;
      outcome.status = response.status;
      if (response.status >= 400) outcome.message = problem_to_error(response).message;
      if (describe) outcome.after = describe();
      outcome.evidence = evidence;
      audit_queue_->finish(ticket, std::move(outcome));
    });
    proceed();
  };
  const bool queued =
      audit_queue_->begin(std::move(intent), [post = options_.post, admitted](Result<access::AuditTicket> ticket) {
        post([admitted, ticket = std::move(ticket)] { admitted(ticket); });
      });
  if (!queued) call.responder.respond(problem(503, "the audit log is behind: retry later; nothing was changed"));
}

// A user of the network may also sign in over the Unix socket, under the name of the account in `accounts`.
access::ApprovalPerson Gate::person_of(const Caller& caller) const {
  access::ApprovalPerson person{caller.identity, caller.token_creator, {}};
  std::vector<std::string_view> names = split(caller.token_creator, ',');
  names.emplace_back(caller.identity.user);
  for (const std::string_view name : names) {
    if (const auto mapped = policy_.accounts.find(name); mapped != policy_.accounts.end())
      person.accounts.push_back(mapped->second);
  }
  return person;
}

void Gate::hold_for_approval(const ApiCall& call) {
  // What could not be carried out is not worth the time of a second person.
  if (has_field(*call.row, "plan_id")) {
    std::vector<InputError> errors;
    for (const std::string_view name : {"plan_id", "reason"}) {
      if (!call.parameters.has(name) || call.parameters.text(name).empty())
        errors.push_back({InputError::Where::body, std::string(name),
                          fmt::format("{} is missing: a second person "
                                      "approves a plan for a reason",
                                      name)});
    }
    if (!errors.empty()) return call.responder.respond(input_problem(errors));
  }
  access::Approval approval;
  approval.requester = person_of(call.caller);
  approval.operation = call.row->id;
  approval.method = call.request.method;
  approval.path = call.request.path;
  approval.body = call.request.body;
  approval.reason = call.parameters.text("reason");
  const Result<access::Approval> stored = approvals_.add(std::move(approval), options_.now_ms());
  if (!stored.ok()) {
    const bool has_too_many = stored.error().code == ErrorCode::conflict;
    return call.responder.respond(problem(has_too_many ? 429 : status_of(stored.error().code), stored.error().message));
  }
  held_.emplace(stored->id, Held{call.caller, object_of(call), call.request.if_match, call.request.idempotency_key});
  access::AuditNote entry;
  entry.source = source_of(call);
  entry.operation = "approval.requested";
  entry.object = stored->id;
  entry.reason = stored->operation + " " + stored->path;
  note_first(
      std::move(entry), call.responder, [call, id = stored->id] { answer_held(call, id); },
      [this, id = stored->id] {
        held_.erase(id);
        (void)approvals_.reject(id, options_.now_ms());
      });
}

}  // namespace weft::serve
