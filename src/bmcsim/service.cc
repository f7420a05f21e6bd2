#include "bmcsim/service.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <ctime>
#include <limits>

#include "base/base64.h"
#include "base/random.h"
#include "bmcsim/action.h"
#include "bmcsim/resource.h"
#include "bmcsim/update.h"

namespace weft::bmcsim {
namespace {

// Log entries per response; the rest follows via Members@odata.nextLink.
constexpr std::size_t kLogPage = 50;
constexpr int kMaxExpandLevels = 2;

enum class Privilege : std::uint8_t { login, configure_self, configure_components, configure_manager, configure_users };

struct Caller {
  SimAccount account;
  std::uint32_t session = 0;  // 0: HTTP Basic
};

bool is_session_path(const SimPath& path) { return !path.empty() && path[0] == "SessionService"; }

bool strikes(const SimBmc& bmc, FaultKind kind, const SimPath& path) {
  if (!bmc.has(kind)) return false;
  const bool everywhere = rule_of(kind).argument == FaultArgument::word && bmc.faults().argument(kind) != kOnResources;
  return everywhere || (!path.empty() && !is_session_path(path));
}

SimReply unauthorized(std::string_view id, std::string text) {
  SimReply reply = sim_error(401, {{.id = id, .text = std::move(text)}});
  reply.header("WWW-Authenticate", "Basic realm=\"weft simulated BMC\"");
  return reply;
}

std::optional<Caller> caller_of(SimBmc& bmc, const SimHttpRequest& request) {
  if (const std::string_view token = request.header("x-auth-token"); !token.empty()) {
    const SimSession* session = bmc.use_session(token);
    if (session == nullptr) return std::nullopt;
    const std::optional<SimAccount> account = bmc.account(session->account);
    if (!account || !account->enabled) return std::nullopt;
    return Caller{*account, session->id};
  }
  std::string_view basic = request.header("authorization");
  if (basic.size() < 6 || (basic.substr(0, 6) != "Basic " && basic.substr(0, 6) != "basic ")) return std::nullopt;
  const std::optional<std::string> text = decode_base64(basic.substr(6));
  if (!text) return std::nullopt;
  const std::size_t colon = text->find(':');
  if (colon == std::string::npos) return std::nullopt;
  const std::string_view both = *text;
  std::optional<SimAccount> account = bmc.log_in(both.substr(0, colon), both.substr(colon + 1));
  return account ? std::optional(Caller{std::move(*account), 0}) : std::nullopt;
}

// From the privilege registry of DSP0266 section 13.4 (Redfish_1.x_PrivilegeRegistry).
Privilege needed(HttpMethod method, const SimPath& path, const Caller& caller) {
  if (method == HttpMethod::get || method == HttpMethod::head) return Privilege::login;
  const std::string_view first = path.empty() ? std::string_view() : path.front();
  if (first == "AccountService") {
    const bool own = path.size() == 3 && number_in_path(path[2]) == caller.account.id && method == HttpMethod::patch;
    return own ? Privilege::configure_self : Privilege::configure_users;
  }
  if (first == "SessionService") {
    const bool own = path.size() == 3 && number_in_path(path[2]) == caller.session;
    return own ? Privilege::configure_self : Privilege::configure_manager;
  }
  if (first == "Managers" || first == "UpdateService" || first == "EventService") return Privilege::configure_manager;
  if (first == "Systems" && path.size() > 2 && path[2] == "LogServices") return Privilege::configure_manager;
  return Privilege::configure_components;
}

bool may(SimRole role, Privilege privilege) {
  if (role == SimRole::administrator) return true;
  if (role == SimRole::operating) return privilege <= Privilege::configure_components;
  return privilege <= Privilege::configure_self;
}

// Properties that change by themselves. A PATCH sent after waiting for a boot must not fail because of them.
bool changes_by_itself(std::string_view property) {
  return property == "PowerState" || property == "BootProgress" || property == "LastResetTime" ||
         property == "Status" || property == "DateTime";
}

std::string settled_tag(const Value& resource) {
  std::uint64_t hash = hash64("");
  for (const Value::Entry& entry : resource.entries()) {
    if (!changes_by_itself(entry.key)) hash = hash64(write_json_line(entry.value), hash64(entry.key, hash));
  }
  return fmt::format("{:016X}", hash);
}

// In two parts: a hash of the settled properties, for If-Match, and one of the whole body, for If-None-Match.
std::string etag_of(const Value& resource, std::string_view body) {
  return fmt::format("W/\"{}-{:016X}\"", settled_tag(resource), hash64(body));
}

struct Query {
  std::optional<std::size_t> skip;
  std::optional<std::size_t> top;
  char expand = 0;  // '.', '*' or '~'
  int levels = 1;
  bool only = false;
};

std::optional<std::size_t> count_in(std::string_view text) {
  std::uint32_t number = 0;
  const std::from_chars_result read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size()) return std::nullopt;
  return number;
}

// ".", "*($levels=2)", ...
bool read_expand(std::string_view text, Query& query) {
  if (text.empty() || std::string_view(".*~").find(text.front()) == std::string_view::npos) return false;
  query.expand = text.front();
  text.remove_prefix(1);
  if (text.empty()) return true;
  constexpr std::string_view levels = "($levels=";
  if (!text.starts_with(levels) || !text.ends_with(')')) return false;
  const std::optional<std::size_t> count = count_in(text.substr(levels.size(), text.size() - levels.size() - 1));
  if (!count || *count == 0) return false;
  query.levels = static_cast<int>(std::min<std::size_t>(*count, kMaxExpandLevels));
  return true;
}

// Empty if the query is valid; otherwise the error response.
std::optional<SimReply> read_query(std::string_view text, Query& query) {
  for (const auto& [name, value] : query_parameters(text)) {
    const auto wrong = [&, &key = name, &given = value] {
      return sim_error(
          400, {{.id = "QueryParameterValueFormatError",
                 .text = fmt::format("The value '{}' of the query parameter {} has a wrong format.", given, key),
                 .arguments = {given, key}}});
    };
    if (name == "$skip" || name == "$top") {
      const std::optional<std::size_t> count = count_in(value);
      if (!count) return wrong();
      (name == "$skip" ? query.skip : query.top) = *count;
    } else if (name == "$expand") {
      if (!read_expand(value, query)) return wrong();
    } else if (name == "only") {
      query.only = true;
    } else if (name.starts_with('$')) {
      // Unsupported parameters that start with '$' get 501 (DSP0266 section 7.3.1); others are ignored.
      return sim_error(501, {{.id = "QueryNotSupported", .text = "Querying is not supported by the implementation."}});
    }
  }
  return std::nullopt;
}

// Replaces references by the referenced resources, for $expand (DSP0266 section 7.3.4).
Value expanded(const SimBmc& bmc, const Value& value, const Query& query, int levels, bool in_links) {
  if (value.is_list()) {
    Value list = Value::list();
    for (const Value& item : value.items()) list.add(expanded(bmc, item, query, levels, in_links));
    return list;
  }
  if (!value.is_map()) return value;
  const Value* id = value.find("@odata.id");
  if (id != nullptr && value.entries().size() == 1) {
    const bool wanted = query.expand == '*' || (query.expand == '~') == in_links;
    const std::optional<SimPath> path = split_path(id->text());
    const std::optional<Value> other = wanted && path ? sim_resource(bmc, *path) : std::nullopt;
    if (!other) return value;
    return levels > 1 ? expanded(bmc, *other, query, levels - 1, false) : *other;
  }
  Value map = Value::map();
  for (const Value::Entry& entry : value.entries()) {
    map.put(entry.key, expanded(bmc, entry.value, query, levels, in_links || entry.key == "Links"));
  }
  return map;
}

// Applies $skip and $top, at most one page.
void page(Value& resource, const Query& query, const SimPath& path) {
  const Value* members = resource.find("Members");
  if (members == nullptr || !members->is_list()) return;
  const std::size_t all = members->items().size();
  const std::size_t skip = std::min(query.skip.value_or(0), all);
  const bool is_log = path.size() == 5 && path[4] == "Entries";
  const std::size_t most = is_log ? kLogPage : std::numeric_limits<std::size_t>::max();
  const std::size_t wanted = std::min(query.top.value_or(all), all - skip);
  const std::size_t count = std::min(wanted, most);
  if (skip == 0 && count == all) return;
  Value list = Value::list();
  for (std::size_t i = skip; i < skip + count; ++i) list.add(members->items()[i]);
  resource.set("Members", std::move(list));
  if (count < wanted) {
    std::string next = fmt::format("{}?$skip={}", joined_path(path), skip + count);
    if (query.top) next += fmt::format("&$top={}", *query.top - count);
    resource.put("Members@odata.nextLink", std::move(next));
  }
}

SimReply get(const SimBmc& bmc, const SimPath& path, const SimHttpRequest& request, Value resource) {
  Query query;
  if (std::optional<SimReply> wrong = read_query(request.query, query)) return std::move(*wrong);
  if (query.only) {
    const Value* members = resource.find("Members");
    if (members != nullptr && members->items().size() == 1) {
      const std::optional<SimPath> member = split_path(members->items()[0].find("@odata.id")->text());
      if (std::optional<Value> one = member ? sim_resource(bmc, *member) : std::nullopt) resource = std::move(*one);
    }
  }
  page(resource, query, path);
  if (query.expand != 0) resource = expanded(bmc, resource, query, query.levels, false);
  SimReply reply = sim_success(resource);
  const bool monitor = path.size() == 3 && path[1] == "TaskMonitors";
  if (monitor && resource.find("EndTime") == nullptr) reply.status = 202;  // DSP0266 section 8.7: until it is done
  if (monitor && reply.status == 202) reply.header("Location", joined_path(path));
  reply.header("Allow", std::string(allowed_methods(path)));
  if (reply.status != 200) return reply;
  const std::string etag = etag_of(resource, reply.body);
  reply.header("ETag", etag);
  const std::string_view known = request.header("if-none-match");
  if (!known.empty() && (known == "*" || known.find(etag) != std::string_view::npos)) {
    reply.status = 304;
    reply.body.clear();
  }
  return reply;
}

// Checks If-Match against the current resource. Empty if it matches.
std::optional<SimReply> precondition(const SimBmc& bmc, const SimPath& path, const SimHttpRequest& request) {
  const std::string_view wanted = request.header("if-match");
  if (wanted.empty() || (wanted == "*" && !bmc.has(FaultKind::stale_etag))) return std::nullopt;
  const std::optional<Value> resource = sim_resource(bmc, path);
  // Clients may send a weak ETag in its strong form.
  const bool same = resource && wanted.find("\"" + settled_tag(*resource) + "-") != std::string_view::npos;
  if (same && !bmc.has(FaultKind::stale_etag)) return std::nullopt;
  return sim_error(412, {{.id = "PreconditionFailed", .text = "The ETag supplied did not match the current ETag."}});
}

SimReply password_first(const SimAccount& account) {
  const std::string path = fmt::format("/redfish/v1/AccountService/Accounts/{}", account.id);
  return sim_error(403, {{.id = "PasswordChangeRequired",
                          .text = fmt::format("The password of this account must be changed first: {}.", path),
                          .arguments = {path}}});
}

// An account that must change its password may do that, read itself and log out, nothing else (DSP0266 13.2.6.1).
bool before_password_change(const Caller& caller, HttpMethod method, const SimPath& path) {
  const bool own_account = path.size() == 3 && path[0] == "AccountService" && path[1] == "Accounts" &&
                           number_in_path(path[2]) == caller.account.id;
  const bool own_session = path.size() == 3 && is_session_path(path) && number_in_path(path[2]) == caller.session;
  return (own_account && method != HttpMethod::remove) || own_session;
}

SimReply not_allowed(std::string_view allowed,
                     std::string_view why = "The HTTP method is not allowed on this resource.") {
  SimReply reply = sim_error(405, {{.id = "OperationNotAllowed", .text = std::string(why)}});
  reply.header("Allow", std::string(allowed));
  return reply;
}

bool takes(std::string_view allowed, HttpMethod method) {
  return method != HttpMethod::other &&
         fmt::format(", {},", allowed).find(fmt::format(" {},", to_text(method))) != std::string::npos;
}

std::optional<SimReply> wrong_body(const SimHttpRequest& request) {
  const std::string_view type = request.header("content-type");
  if (request.body.empty() || type.empty() || type.starts_with("application/json")) return std::nullopt;
  return sim_error(415, {{.id = "UnrecognizedRequestBody", .text = "The body of a request is application/json."}});
}

SimReply change(SimBmc& bmc, const SimPath& path, const SimHttpRequest& request) {
  if (is_push_path(bmc, path)) return sim_push_image(bmc, request);
  if (std::optional<SimReply> wrong = wrong_body(request)) return std::move(*wrong);
  if (std::optional<SimReply> stale = precondition(bmc, path, request)) return std::move(*stale);
  if (request.method == HttpMethod::post) return sim_post(bmc, path, request);
  return request.method == HttpMethod::patch ? sim_patch(bmc, path, request) : sim_delete(bmc, path);
}

// "EventFormatType eq Event", with or without quotes (OData 4.01, section 5.1.1.6.1, has them).
bool asks_for_events(std::string_view filter) {
  constexpr std::string_view kProperty = "EventFormatType eq ";
  if (!filter.starts_with(kProperty)) return false;
  filter.remove_prefix(kProperty.size());
  return filter == "Event" || filter == "'Event'";
}

SimReply open_event_stream(SimBmc& bmc, const SimHttpRequest& request, const Caller& caller) {
  if (request.method != HttpMethod::get) return not_allowed("GET");
  for (const auto& [name, value] : query_parameters(request.query)) {
    if (name == "$filter" && asks_for_events(value)) continue;
    if (name == "$filter") {
      return sim_error(400, {{.id = "QueryParameterValueFormatError",
                              .text = "The value for the parameter $filter is of a different format than the parameter "
                                      "can accept: it is EventFormatType eq Event.",
                              .arguments = {"", "$filter"}}});
    }
    if (name.starts_with('$')) {
      return sim_error(501, {{.id = "QueryNotSupported", .text = "Querying is not supported by the implementation."}});
    }
  }
  const std::uint32_t subscription = bmc.subscribe(caller.session);
  if (subscription == 0) {
    return sim_error(503, {{.id = "EventSubscriptionLimitExceeded",
                            .text = "The event subscription failed due to the number of simultaneous subscriptions "
                                    "exceeding the limit of the implementation."}});
  }
  SimReply reply;
  reply.content_type = "text/event-stream";
  reply.stream.emplace(bmc, subscription, request.header("last-event-id"));
  return reply;
}

SimReply authorized(SimBmc& bmc, const SimPath& path, const SimHttpRequest& request) {
  const std::optional<Caller> caller = caller_of(bmc, request);
  if (!caller || bmc.has(FaultKind::unauthorized_always)) {
    const bool token = !request.header("x-auth-token").empty();
    return unauthorized(token ? "NoValidSession" : "ResourceAtUriUnauthorized",
                        token ? "There is no valid session established with the implementation."  // DMTF; words: allow
                              : "Access to this resource needs a user name and a password that are right.");
  }
  if (caller->account.must_change && !before_password_change(*caller, request.method, path)) {
    return password_first(caller->account);
  }
  if (is_event_stream_path(bmc, path)) return open_event_stream(bmc, request, *caller);
  std::optional<Value> resource = sim_resource(bmc, path);
  if (!resource && !is_action(bmc, path)) {
    return sim_error(404, {{.id = "ResourceMissingAtURI",
                            .text = fmt::format("The resource at the URI '{}' was not found.", joined_path(path)),
                            .arguments = {joined_path(path)}}});
  }
  const std::string_view allowed = resource ? allowed_methods(path) : "POST";
  if (request.method == HttpMethod::options) {
    SimReply reply;
    reply.status = 204;
    reply.header("Allow", std::string(allowed));
    return reply;
  }
  if (!takes(allowed, request.method)) {
    const bool is_push = request.method == HttpMethod::post && path.size() == 2 && path[0] == "EventService";
    return is_push ? not_allowed(allowed, "Events are not sent to a destination: use the ServerSentEventUri.")
                   : not_allowed(allowed);
  }
  if (!may(caller->account.role, needed(request.method, path, *caller))) {
    return sim_error(403,
                     {{.id = "InsufficientPrivilege", .text = "The account's role does not allow this operation."}});
  }
  if (request.method == HttpMethod::get || request.method == HttpMethod::head)
    return get(bmc, path, request, std::move(*resource));
  return change(bmc, path, request);
}

SimReply answer_below_root(SimBmc& bmc, const SimPath& path, const SimHttpRequest& request) {
  if (const std::string_view version = request.header("odata-version"); !version.empty() && version != "4.0") {
    return sim_error(412,
                     {{.id = "HeaderInvalid", .text = "The OData-Version is 4.0.", .arguments = {"OData-Version"}}});
  }
  const bool reading = request.method == HttpMethod::get || request.method == HttpMethod::head;
  const bool open = path.empty() || (path.size() == 1 && (path[0] == "odata" || path[0] == "$metadata"));
  if (open && !reading && request.method != HttpMethod::options) return not_allowed("GET, HEAD");
  if (open && reading) {
    if (path.empty()) return get(bmc, path, request, sim_resource(bmc, path).value_or(Value::map()));
    if (path[0] == "odata") return sim_success(sim_odata(bmc));
    SimReply reply;
    reply.content_type = "application/xml;charset=utf-8";
    reply.body = sim_metadata();
    return reply;
  }
  const bool login =
      path.size() == 2 && is_session_path(path) && path[1] == "Sessions" && request.method == HttpMethod::post;
  if (!login) return authorized(bmc, path, request);
  if (std::optional<SimReply> wrong = wrong_body(request)) return std::move(*wrong);
  return sim_log_in(bmc, request);
}

// The neighbor that a redirect points to: its counters show whether a client followed with its token.
std::string elsewhere(const SimBmc& bmc, std::string_view path) {
  const SimWorld& world = bmc.world();
  const Ipv4 neighbor{world.options.base.bits + bmc.device().offset + 1};
  return fmt::format("{}://{}:{}{}", world.options.tls ? "https" : "http", to_text(neighbor), world.port, path);
}

// Faults that corrupt a correct response.
void spoil(const SimBmc& bmc, const SimPath& path, SimReply& reply) {
  if (strikes(bmc, FaultKind::wrong_content_type, path)) reply.content_type = "text/html";
  if (reply.stream) return;
  if (strikes(bmc, FaultKind::malformed, path) && !reply.body.empty()) {
    reply.body = reply.body.substr(0, reply.body.size() / 2) + "\x01}{";
  }
  if (strikes(bmc, FaultKind::slow_trickle, path)) reply.shape = ReplyShape::trickle;
  if (strikes(bmc, FaultKind::truncated, path) && !reply.body.empty()) reply.shape = ReplyShape::truncated;
  if (strikes(bmc, FaultKind::endless, path)) reply.shape = ReplyShape::endless_body;
  if (strikes(bmc, FaultKind::endless_headers, path)) reply.shape = ReplyShape::endless_headers;
}

}  // namespace

SimReply sim_answer(SimBmc& bmc, const SimHttpRequest& request) {
  if (request.path == "/redfish" || request.path == "/redfish/") {
    return sim_success(Value::map({{"v1", "/redfish/v1/"}}));
  }
  const std::optional<SimPath> path = split_path(request.path);
  if (!path) {
    return sim_error(
        404, {{.id = "ResourceMissingAtURI", .text = "There is nothing at this URI.", .arguments = {request.path}}});
  }
  if (strikes(bmc, FaultKind::http_500, *path)) {
    return sim_error(500, {{.id = "InternalError", .text = "The request failed due to an internal service error."}});
  }
  if (strikes(bmc, FaultKind::busy, *path) && bmc.still_busy()) {
    SimReply reply = sim_error(503, {{.id = "ServiceTemporarilyUnavailable",
                                      .text = "The service is temporarily unavailable. Retry in 1 seconds.",
                                      .arguments = {"1"}}});
    reply.header("Retry-After", "1");
    return reply;
  }
  if (strikes(bmc, FaultKind::redirect, *path)) {
    SimReply reply = sim_error(308, {{.id = "GeneralError", .text = "The resource is elsewhere."}});
    reply.header("Location", elsewhere(bmc, request.path));
    return reply;
  }
  SimReply reply = answer_below_root(bmc, *path, request);
  spoil(bmc, *path, reply);
  return reply;
}

SimReply sim_bad_request(int status) {
  return sim_error(status, {{.id = "GeneralError", .text = std::string(status_phrase(status))}});
}

std::string to_wire(const SimReply& reply, bool body, bool keep_alive, std::int64_t wall_ms) {
  std::string text = fmt::format("HTTP/1.1 {} {}\r\n", reply.status, status_phrase(reply.status));
  const std::time_t seconds = wall_ms / 1000;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  std::array<char, 40> date{};
  // IMF-fixdate (RFC 9110 section 5.6.7); no locale is ever set.
  const std::size_t size = std::strftime(date.data(), date.size(), "%a, %d %b %Y %H:%M:%S GMT", &parts);
  text += fmt::format("Date: {}\r\nServer: weft-sim\r\nOData-Version: 4.0\r\nCache-Control: no-cache\r\n",
                      std::string_view(date.data(), size));
  for (const auto& [name, value] : reply.headers) text += fmt::format("{}: {}\r\n", name, value);
  if (!keep_alive) text += "Connection: close\r\n";
  const bool bodiless = reply.status == 204 || reply.status == 304;
  if (!bodiless) {
    if (!reply.body.empty() || reply.stream) text += fmt::format("Content-Type: {}\r\n", reply.content_type);
    if (!reply.stream) text += fmt::format("Content-Length: {}\r\n", reply.body.size());
    if (reply.stream && keep_alive) text += "Transfer-Encoding: chunked\r\n";
  }
  text += "\r\n";
  if (body && !bodiless) text += reply.body;
  return text;
}

Value message_value(const SimMessage& message) {
  Value value = Value::map();
  value.put("@odata.type", "#Message.v1_1_2.Message");
  value.put("MessageId", fmt::format("Base.1.13.{}", message.id));
  value.put("Message", message.text);
  value.put("MessageArgs", Value::texts(message.arguments));
  value.put("MessageSeverity", message.id == "Success" || message.id == "Created" ? "OK" : "Critical");
  value.put("Resolution", "None");
  if (!message.property.empty()) value.put("RelatedProperties", Value::list({"#" + message.property}));
  return value;
}

SimReply sim_error(int status, const std::vector<SimMessage>& messages) {
  Value information = Value::list();
  for (const SimMessage& message : messages) information.add(message_value(message));
  const bool one = messages.size() == 1;
  Value error = Value::map();
  error.put("code", fmt::format("Base.1.13.{}", one ? messages[0].id : "GeneralError"));
  error.put("message", one ? messages[0].text : std::string("A general error has occurred. See ExtendedInfo."));
  error.put("@Message.ExtendedInfo", std::move(information));
  return sim_success(Value::map({{"error", std::move(error)}}), status);
}

SimReply sim_success(const Value& resource, int status) {
  SimReply reply;
  reply.status = status;
  reply.body = write_json_line(resource);
  return reply;
}

}  // namespace weft::bmcsim
