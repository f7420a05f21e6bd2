#include "kube/client.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/utf8.h"
#include "kube/object.h"
#include "oob/redfish/json.h"

namespace weft::kube {
namespace {

constexpr std::string_view kJson = "application/json";

bool is_success(int status) { return status >= 200 && status < 300; }

Error invalid_reply(const ApiCall& call, std::string_view why) {
  return Error{ErrorCode::invalid_input, fmt::format("{}: invalid response: {}", describe(call), why), {}};
}

Error with_call(const ApiCall& call, const Error& error) {
  return Error{error.code, fmt::format("{}: {}", describe(call), error.message), error.where};
}

ObjectName name_in(const Resource& resource, const Value& object) {
  return {resource.namespaced ? oob::raw_text(object, {"metadata", "namespace"}) : std::string(),
          oob::raw_text(object, {"metadata", "name"})};
}

// The object with apiVersion and kind in front: the server requires them, and a mistake there would be ours.
Value typed(const Resource& resource, const Value& object) {
  Value out = Value::map({{"apiVersion", Value(api_version(resource))}, {"kind", Value(resource.kind)}});
  if (!object.is_map()) return out;
  for (const Value::Entry& entry : object.entries()) out.set(entry.key, entry.value);
  return out;
}

Query query_of(const Selection& selection) {
  Query query;
  if (!selection.labels.empty()) query.emplace_back("labelSelector", selection.labels);
  if (!selection.fields.empty()) query.emplace_back("fieldSelector", selection.fields);
  return query;
}

// A response that is not a list of this kind is an error: taken for an empty list, it would delete everything.
Result<ObjectPage> read_page(const ApiCall& call, std::string_view body) {
  const Result<Value> json = read_reply_json(body);
  if (!json.ok()) return invalid_reply(call, json.error().message);
  const std::string kind = oob::raw_text(*json, {"kind"});
  if (kind != std::string(call.resource.kind) + "List") return invalid_reply(call, "kind " + in_backticks(kind));
  const Value* items = oob::member(*json, {"items"});
  if (items == nullptr || (!items->is_list() && !items->is_null())) return invalid_reply(call, "no list of items");
  ObjectPage page;
  page.resource_version = oob::raw_text(*json, {"metadata", "resourceVersion"});
  page.continue_token = oob::raw_text(*json, {"metadata", "continue"});
  if (page.resource_version.empty()) return invalid_reply(call, "a list without resourceVersion");
  if (items->is_list()) page.items = items->items();
  for (const Value& item : page.items) {
    if (const Result<ObjectMeta> meta = read_meta(item); !meta.ok()) return invalid_reply(call, meta.error().message);
  }
  return page;
}

Value delete_options(const DeleteRequest& request) {
  Value options = Value::map({{"apiVersion", Value("v1")}, {"kind", Value("DeleteOptions")}});
  if (request.grace_seconds) options.set("gracePeriodSeconds", Value(*request.grace_seconds));
  if (!request.uid.empty()) options["preconditions"].set("uid", Value(request.uid));
  if (!request.resource_version.empty()) {
    options["preconditions"].set("resourceVersion", Value(request.resource_version));
  }
  if (!request.propagation.empty()) options.set("propagationPolicy", Value(request.propagation));
  return options;
}

}  // namespace

Client::Client(Transport& transport, oob::Clock& clock, const RandomStream& random, ClientOptions options)
    : transport_(transport),
      clock_(clock),
      random_(random),
      options_(std::move(options)),
      bucket_(options_.requests_per_second, options_.burst) {}

Status Client::wait_for_turn(Duration wait) {
  if (clock_.stopped() || (wait.count() > 0 && !clock_.sleep(wait))) {
    return Error{ErrorCode::unavailable, "stopped", {}};
  }
  return {};
}

Result<ApiResponse> Client::exchange(const ApiRequest& request, Retry retry) {
  Backoff backoff(options_.backoff, random_.split(request.target));
  for (int tries = 1;; ++tries) {
    if (const Status turn = wait_for_turn(bucket_.take(clock_.now())); !turn.ok()) return turn.error();
    Result<ApiResponse> response = transport_.send(request);
    const bool last = tries >= options_.max_tries || retry == Retry::never;
    if (last) return response;
    Duration wait = backoff.next();
    if (!response.ok()) {
      const ErrorCode code = response.error().code;
      const bool unsent = code == ErrorCode::unavailable;
      if (!unsent && !(retry == Retry::reads && code == ErrorCode::timeout)) return response;
    } else {
      const int status = response->status;
      const bool again = status == 429 || (status >= 500 && retry == Retry::reads);
      if (!again) return response;
      if (response->retry_after) wait = std::max(wait, milliseconds(1000LL * *response->retry_after));
    }
    if (const Status turn = wait_for_turn(wait); !turn.ok()) return turn.error();
  }
}

Result<Value> Client::request_object(const ApiCall& call, const ApiRequest& request) {
  const Result<ApiResponse> response = exchange(request, call.writes() ? Retry::unaccepted_writes : Retry::reads);
  if (!response.ok()) return with_call(call, response.error());
  if (!is_success(response->status)) return to_error(call, read_status(*response));
  Result<Value> object = read_reply_json(response->body);
  if (!object.ok()) return invalid_reply(call, object.error().message);
  if (!object->is_map()) return invalid_reply(call, "not an object");
  return object;
}

Result<Value> Client::get(const Resource& resource, const ObjectName& object) {
  Result<std::string> path = object_path(resource, object);
  if (!path.ok()) return path.error();
  ApiRequest request;
  request.target = std::move(path).value();
  request.deadline = options_.deadline;
  const ApiCall call{"get", resource, object};
  Result<Value> found = request_object(call, request);
  if (!found.ok()) return found;
  if (const Result<ObjectMeta> meta = read_meta(*found); !meta.ok()) return invalid_reply(call, meta.error().message);
  return found;
}

Result<PageOutcome> Client::list_page(const Resource& resource, const Selection& selection, const PageRequest& page) {
  Result<std::string> path = collection_path(resource, selection.kube_namespace);
  if (!path.ok()) return path.error();
  Query query = query_of(selection);
  if (page.limit > 0) query.emplace_back("limit", std::to_string(page.limit));
  if (!page.continue_token.empty()) query.emplace_back("continue", page.continue_token);
  ApiRequest request;
  request.target = with_query(std::move(path).value(), query);
  request.deadline = options_.deadline;
  request.max_bytes = std::size_t{512} << 20U;
  const ApiCall call{"list", resource, {selection.kube_namespace, {}}};
  const Result<ApiResponse> response = exchange(request, Retry::reads);
  if (!response.ok()) return with_call(call, response.error());
  if (!is_success(response->status)) {
    const ApiStatus status = read_status(*response);
    if (is_expired(status)) return PageOutcome{true, {}};
    return to_error(call, status);
  }
  Result<ObjectPage> read = read_page(call, response->body);
  if (!read.ok()) return read.error();
  if (!read->continue_token.empty() && read->continue_token == page.continue_token) {
    return invalid_reply(call, "the same page twice");
  }
  return PageOutcome{false, std::move(read).value()};
}

Result<ObjectList> Client::list(const Resource& resource, const Selection& selection) {
  ObjectList all;
  PageRequest page;
  const ApiCall call{"list", resource, {selection.kube_namespace, {}}};
  for (int restarts = 0;;) {
    Result<PageOutcome> outcome = list_page(resource, selection, page);
    if (!outcome.ok()) return outcome.error();
    if (outcome->expired) {
      if (++restarts > 2)
        return to_error(call, ApiStatus{410, "Expired", "the list expires before it is read", {}, {}});
      all.items.clear();
      page = PageRequest{restarts == 2 ? 0 : page.limit, {}};
      continue;
    }
    ObjectPage& read = outcome->page;
    std::move(read.items.begin(), read.items.end(), std::back_inserter(all.items));
    if (all.items.size() > options_.max_list_objects) {
      return invalid_reply(call, fmt::format("more than {} objects", options_.max_list_objects));
    }
    if (read.continue_token.empty()) {
      all.resource_version = std::move(read.resource_version);
      return all;
    }
    page.continue_token = std::move(read.continue_token);
  }
}

Result<std::unique_ptr<ResponseStream>> Client::watch(const Resource& resource, const Selection& selection,
                                                      const WatchRequest& watch) {
  Result<std::string> path = collection_path(resource, selection.kube_namespace);
  if (!path.ok()) return path.error();
  Query query = query_of(selection);
  query.emplace_back("watch", "true");
  query.emplace_back("allowWatchBookmarks", "true");
  query.emplace_back("resourceVersion", watch.resource_version);
  query.emplace_back("timeoutSeconds", std::to_string(watch.timeout_seconds));
  ApiRequest request;
  request.target = with_query(std::move(path).value(), query);
  request.deadline = options_.deadline;
  if (const Status turn = wait_for_turn(bucket_.take(clock_.now())); !turn.ok()) return turn.error();
  Result<std::unique_ptr<ResponseStream>> stream = transport_.open(request);
  if (!stream.ok()) return with_call({"watch", resource, {selection.kube_namespace, {}}}, stream.error());
  return stream;
}

Result<CreateOutcome> Client::create(const Resource& resource, const Value& object) {
  const ObjectName name = name_in(resource, object);
  Result<std::string> path = collection_path(resource, name.kube_namespace);
  if (!path.ok()) return path.error();
  ApiRequest request;
  request.method = "POST";
  request.target = with_query(std::move(path).value(), {{"fieldManager", options_.field_manager}});
  request.body = write_json_line(typed(resource, object));
  request.content_type = kJson;
  request.deadline = options_.deadline;
  const ApiCall call{"create", resource, name};
  const Result<ApiResponse> response = exchange(request, Retry::unaccepted_writes);
  if (!response.ok()) return with_call(call, response.error());
  if (!is_success(response->status)) {
    const ApiStatus status = read_status(*response);
    if (status.code != 409 || status.reason != "AlreadyExists") return to_error(call, status);
    Result<Value> existing = get(resource, name);
    if (!existing.ok()) return existing.error();
    return CreateOutcome{false, std::move(existing).value()};
  }
  Result<Value> made = read_reply_json(response->body);
  if (!made.ok()) return invalid_reply(call, made.error().message);
  if (const Result<ObjectMeta> meta = read_meta(*made); !meta.ok()) return invalid_reply(call, meta.error().message);
  return CreateOutcome{true, std::move(made).value()};
}

Status Client::create_subresource(const Resource& resource, const ObjectName& object, std::string_view subresource,
                                  const Value& body) {
  const Result<Value> done = request_subresource(resource, object, subresource, body);
  return done.ok() ? Status() : Status(done.error());
}

Result<Value> Client::request_subresource(const Resource& resource, const ObjectName& object,
                                          std::string_view subresource, const Value& body) {
  Result<std::string> path = object_path(resource, object, subresource);
  if (!path.ok()) return path.error();
  ApiRequest request;
  request.method = "POST";
  request.target = std::move(path).value();
  request.body = write_json_line(body);
  request.content_type = kJson;
  request.deadline = options_.deadline;
  return request_object({"create", resource, object, subresource}, request);
}

Result<Value> Client::try_create(const Resource& resource, const Value& object) {
  const ObjectName name = name_in(resource, object);
  Result<std::string> path = collection_path(resource, name.kube_namespace);
  if (!path.ok()) return path.error();
  ApiRequest request;
  request.method = "POST";
  request.target = with_query(std::move(path).value(), {{"fieldManager", options_.field_manager}, {"dryRun", "All"}});
  request.body = write_json_line(typed(resource, object));
  request.content_type = kJson;
  request.deadline = options_.deadline;
  return request_object({"create", resource, name}, request);
}

Result<Value> Client::review(const Resource& resource, const Value& object) {
  Result<std::string> path = collection_path(resource, {});
  if (!path.ok()) return path.error();
  ApiRequest request;
  request.method = "POST";
  request.target = std::move(path).value();
  request.body = write_json_line(typed(resource, object));
  request.content_type = kJson;
  request.deadline = options_.deadline;
  return request_object({"create", resource, {}}, request);
}

Result<Value> Client::apply(const Resource& resource, const Value& object, bool force) {
  const ObjectName name = name_in(resource, object);
  Result<std::string> path = object_path(resource, name);
  if (!path.ok()) return path.error();
  Query query{{"fieldManager", options_.field_manager}};
  if (force) query.emplace_back("force", "true");
  ApiRequest request;
  request.method = "PATCH";
  request.target = with_query(std::move(path).value(), query);
  request.body = write_json_line(typed(resource, object));  // JSON is YAML
  request.content_type = "application/apply-patch+yaml";
  request.deadline = options_.deadline;
  return request_object({"patch", resource, name}, request);
}

Result<Value> Client::patch(const Resource& resource, const ObjectName& object, const Value& merge_patch,
                            std::string_view subresource) {
  Result<std::string> path = object_path(resource, object, subresource);
  if (!path.ok()) return path.error();
  ApiRequest request;
  request.method = "PATCH";
  request.target = with_query(std::move(path).value(), {{"fieldManager", options_.field_manager}});
  request.body = write_json_line(merge_patch);
  request.content_type = "application/merge-patch+json";
  request.deadline = options_.deadline;
  return request_object({"patch", resource, object, subresource}, request);
}

Result<Value> Client::replace(const Resource& resource, const Value& object, std::string_view subresource) {
  const ObjectName name = name_in(resource, object);
  const ApiCall call{"update", resource, name, subresource};
  if (oob::raw_text(object, {"metadata", "resourceVersion"}).empty()) {
    return Error{ErrorCode::invalid_input, describe(call) + ": the object has no resourceVersion", {}};
  }
  Result<std::string> path = object_path(resource, name, subresource);
  if (!path.ok()) return path.error();
  ApiRequest request;
  request.method = "PUT";
  request.target = with_query(std::move(path).value(), {{"fieldManager", options_.field_manager}});
  request.body = write_json_line(typed(resource, object));
  request.content_type = kJson;
  request.deadline = options_.deadline;
  return request_object(call, request);
}

Result<DeleteOutcome> Client::remove(const Resource& resource, const ObjectName& object,
                                     const DeleteRequest& deletion) {
  Result<std::string> path = object_path(resource, object);
  if (!path.ok()) return path.error();
  ApiRequest request;
  request.method = "DELETE";
  request.target = std::move(path).value();
  request.body = write_json_line(delete_options(deletion));
  request.content_type = kJson;
  request.deadline = options_.deadline;
  const ApiCall call{"delete", resource, object};
  // With a uid, a repetition cannot delete another object.
  const Result<ApiResponse> response =
      exchange(request, deletion.uid.empty() ? Retry::unaccepted_writes : Retry::reads);
  if (!response.ok()) return with_call(call, response.error());
  if (is_success(response->status)) return DeleteOutcome::accepted;
  const ApiStatus status = read_status(*response);
  if (status.code == 404) return DeleteOutcome::gone;
  const bool has_precondition = !deletion.uid.empty() || !deletion.resource_version.empty();
  if (status.code == 409 && has_precondition) return DeleteOutcome::precondition;
  return to_error(call, status);
}

}  // namespace weft::kube
