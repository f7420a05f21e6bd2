// What both descriptions of the API, the OpenAPI document and its page, say of a request.
#include <algorithm>
#include <array>
#include <utility>

#include "serve/api/openapi.h"
#include "serve/api/parameters.h"

namespace weft::serve {
namespace {

using Text = std::pair<std::string_view, std::string_view>;

std::string_view find_text(std::span<const Text> texts, std::string_view key) {
  const auto found = std::find_if(texts.begin(), texts.end(), [&](const Text& each) { return each.first == key; });
  return found == texts.end() ? std::string_view() : found->second;
}

Value field_example(const Field& field) {
  static constexpr Text kTexts[] = {{"text", "job: 1\nname: train\nnodes: 1\ncommand: [/bin/true]\n"},
                                    {"name", "train"},
                                    {"directory", "/home/ada"},
                                    {"reason", "PFC storm"},
                                    {"for", "4h"}};
  if (field.type == FieldType::integer) return 1;
  if (field.type == FieldType::boolean) return true;
  if (field.type == FieldType::hosts) return "train[001-004]";
  if (!field.choices.empty()) return field.choices.front();
  if (const std::string_view text = find_text(kTexts, field.name); !text.empty()) return text;
  return field.type == FieldType::duration ? Value("2h") : Value(field.name);
}

bool has_content(const RouteRow& row) {
  return std::any_of(row.body.begin(), row.body.end(),
                     [](const Field& field) { return field.type == FieldType::content; });
}

std::vector<PlainRoute> make_plain_routes() {
  const MemberShape access{"access_token", MemberType::text,
                           "token for the header Authorization; valid for 15 minutes"};
  const MemberShape refresh{"refresh_token", MemberType::text, "for POST /login/refresh, once"};
  const MemberShape expires{"expires_in", MemberType::integer, "seconds until it expires"};
  const MemberShape user{"user", MemberType::text, "user name"};
  return {
      {.id = "login.begin",
       .method = "GET",
       .path = "/login",
       .about = "begin a browser login at the OIDC provider (authorization code with PKCE)",
       .query = {{"return", FieldType::text, "path to go to afterwards; default: /", false, 2000}},
       .media_type = ""},
      {.id = "login.callback",
       .method = "GET",
       .path = "/login/callback",
       .about = "end of a browser login: the provider sends the browser here",
       .query = {{"code", FieldType::text, "authorization code", false, 4096},
                 {"state", FieldType::text, "state that the login began with", true, 4096},
                 {"error", FieldType::text, "error of the provider", false, 256},
                 {"error_description", FieldType::text, "what the provider says of it", false, 4096},
                 {"session_state", FieldType::text, "not used", false, 4096},
                 {"iss", FieldType::text, "issuer (RFC 9207)", false, 4096}}},
      {.id = "login.device",
       .method = "POST",
       .path = "/login/device",
       .about = "begin a login of the command line (RFC 8628)",
       .media_type = "application/json",
       .answer = {{"user_code", MemberType::text, "code to type at the provider"},
                  {"verification_uri", MemberType::text, "page of the provider"},
                  {"verification_uri_complete", MemberType::text | MemberType::absent, "the same, with the code", true},
                  {"interval", MemberType::integer, "seconds between two polls"},
                  expires,
                  {"handle", MemberType::text, "for POST /login/device/token"}},
       .is_oauth = true},
      {.id = "login.device-token",
       .method = "POST",
       .path = "/login/device/token",
       .about = "poll a login of the command line",
       .body = {{"handle", FieldType::text, "of POST /login/device", true, 256}},
       .media_type = "application/json",
       .answer = {access, refresh, expires, user},
       .is_oauth = true},
      {.id = "login.refresh",
       .method = "POST",
       .path = "/login/refresh",
       .about = "exchange a refresh token; a second use of the same one ends the login",
       .body = {{"refresh_token", FieldType::text, "the refresh token", true, 256}},
       .media_type = "application/json",
       .answer = {access, refresh, expires, user},
       .is_oauth = true},
      {.id = "page.home", .method = "GET", .path = "/", .about = "who is signed in, with links"},
      {.id = "page.docs", .method = "GET", .path = "/docs", .about = "this API as a page"},
      {.id = "page.openapi",
       .method = "GET",
       .path = "/api/v1/openapi.json",
       .about = "this API as an OpenAPI 3.1 document",
       .media_type = "application/json"},
      {.id = "page.health",
       .method = "GET",
       .path = "/healthz",
       .about = "whether the server answers; for load balancers",
       .media_type = "text/plain"}};
}

}  // namespace

std::span<const PlainRoute> plain_routes() {
  static const std::vector<PlainRoute> routes = make_plain_routes();
  return routes;
}

std::string_view tag_of(std::string_view id) { return id.substr(0, id.find('.')); }

std::string_view tag_about(std::string_view tag) {
  static constexpr Text kTags[] = {{"server", "The server"},
                                   {"job", "Jobs"},
                                   {"queue", "The queue"},
                                   {"node", "Nodes"},
                                   {"reservation", "Reservations for maintenance"},
                                   {"lease", "Leases: which engine owns which node"},
                                   {"event", "Events of the journal"},
                                   {"session", "The session of the caller"},
                                   {"token", "Static tokens"},
                                   {"approval", "Approval by a second person"},
                                   {"audit", "The audit log"},
                                   {"oob", "Out-of-band management of devices"},
                                   {"login", "Signing in"},
                                   {"page", "Pages and health"}};
  const std::string_view text = find_text(kTags, tag);
  return text.empty() ? tag : text;
}

std::vector<std::string> path_parameters(std::string_view pattern) {
  std::vector<std::string> names;
  for (std::size_t open = pattern.find('{'); open != std::string_view::npos; open = pattern.find('{', open + 1)) {
    const std::size_t close = pattern.find('}', open);
    if (close == std::string_view::npos) break;
    names.emplace_back(pattern.substr(open + 1, close - open - 1));
  }
  return names;
}

std::string_view path_parameter_about(std::string_view name) {
  static constexpr Text kNames[] = {{"job", "number of the job; in watch mode the engine's identifier, with : for /"},
                                    {"node", "name of the node"},
                                    {"name", "name of the reservation"},
                                    {"token", "public part of the token: weft_t_ID"},
                                    {"approval", "identifier of the request"},
                                    {"device", "name of the device"},
                                    {"runbook", "name of the runbook"},
                                    {"operation", "identifier of the operation"}};
  const std::string_view text = find_text(kNames, name);
  return text.empty() ? name : text;
}

std::vector<const MemberShape*> filter_columns(const RouteRow& row, std::span<const AnswerShape> shapes) {
  std::vector<const MemberShape*> columns;
  const AnswerShape* shape = row.lists ? find_shape(shapes, row.answer) : nullptr;
  if (shape == nullptr) return columns;
  const auto is_parameter = [&](std::string_view key) {
    const auto has = [&](const std::vector<Field>& fields) {
      return std::any_of(fields.begin(), fields.end(), [&](const Field& field) { return field.name == key; });
    };
    return has(row.query) || has(list_fields()) || has(format_fields());
  };
  for (const SectionShape& section : shape->sections) {
    if (!section.is_table) continue;
    for (const MemberShape& member : section.members) {
      if (!is_parameter(member.key)) columns.push_back(&member);
    }
    break;
  }
  return columns;
}

Value body_example(const RouteRow& row) {
  if (row.method == "GET" || (row.body.empty() && row.reason == Reason::none)) return {};
  Value example = Value::map();
  for (const Field& field : row.body) {
    if (field.required) example.put(std::string(field.name), field_example(field));
  }
  if (row.reason != Reason::none) example.put("reason", field_example(reason_field()));
  return example;
}

std::string_view need_about(Need need) {
  switch (need) {
    case Need::anyone:
      return "anyone, without signing in";
    case Need::signed_in:
      return "any caller who is signed in";
    case Need::see:
      return "any role; the answer has what the caller may see";
    case Need::submit:
      return "role user or tenant-admin of the tenant, or operator";
    case Need::change:
    case Need::output:
      return "the owner, tenant-admin of its tenant, or operator";
    case Need::operate:
      return "operator";
    case Need::administer:
      break;
  }
  return "admin";
}

std::vector<int> answer_statuses(const RouteRow& row) {
  const bool is_oob = tag_of(row.id) == "oob";
  std::vector<int> statuses = {200, 400, 429, 503};
  const auto add = [&](int status) { statuses.push_back(status); };
  if (row.need != Need::anyone) {
    add(401);
    add(403);
  }
  if (!path_parameters(row.pattern).empty()) add(404);
  if (row.changes) {
    add(202);
    add(409);
    add(421);
  } else if (tag_of(row.id) == "lease") {
    add(409);  // the server has one engine
  }
  // An operation on devices is accepted, not created.
  if (row.creates && !is_oob) add(201);
  if (is_oob) {
    if (!row.changes) add(409);
    add(501);
    add(504);
  }
  if (row.has_tag) add(304);
  if (row.id == "session.logout" || row.id == "token.revoke") std::erase(statuses, 202);
  if (row.method != "GET") add(415);
  if (row.conditional) add(412);
  if (has_content(row)) add(422);
  if (row.answer == "events") add(410);
  std::sort(statuses.begin(), statuses.end());
  return statuses;
}

std::string_view status_about(int status) {
  static constexpr std::pair<int, std::string_view> kTexts[] = {
      {200, "Done"},
      {201, "Created"},
      {202, "Accepted: waits for the approval of a second person"},
      {303, "Continue at the OIDC provider"},
      {304, "Not changed since the answer with this ETag"},
      {400, "A parameter, a header or the body is not valid; `errors` says where"},
      {401, "Not signed in, or the credential is not valid any more"},
      {403, "Signed in, but without the role, or the CSRF token is missing"},
      {404, "There is no such object, or it is another tenant's"},
      {409, "The object is in a state that does not allow it"},
      {410, "Events after this record are not kept any more: read the lists, then follow from now on"},
      {412, "The object has changed since the answer with this ETag"},
      {415, "The body is not application/json"},
      {421, "This server does not lead; the header weft-leader says which one does. Nothing was changed"},
      {422, "The submitted file has errors; `errors` has their lines"},
      {429, "Too many requests; Retry-After says when to retry"},
      {501, "The server was started without --oob"},
      {504, "The devices did not answer in time"},
      {503, "The journal, the audit log or the engine does not answer; nothing was changed unless the detail says so"}};
  for (const auto& [known, text] : kTexts) {
    if (known == status) return text;
  }
  return "An error";
}

}  // namespace weft::serve
