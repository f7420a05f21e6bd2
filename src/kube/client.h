// Kubernetes API client: get, list, watch, create, server-side apply, patch, replace, delete, evict. Blocking, for one
// thread, with a deadline on every call, the client's own rate limit, and retries only where a repetition is safe:
// reads, and writes that the server provably did not accept. It caches no objects (reflector.h does) and makes no
// decisions: a conflict is an error, and the caller reads again and decides again.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/quantity.h"
#include "base/random.h"
#include "base/result.h"
#include "base/value.h"
#include "kube/api_status.h"
#include "kube/pacing.h"
#include "kube/resource.h"
#include "kube/transport.h"
#include "oob/durable/clock.h"

namespace weft::kube {

struct ClientOptions {
  std::string field_manager = "weft";        // owner of the fields that apply() and patches write
  Duration deadline = milliseconds(30'000);  // of one request
  int max_tries = 4;
  double requests_per_second = 20;
  double burst = 40;
  BackoffLimits backoff{};
  std::size_t max_list_objects = 500'000;
};

struct Selection {
  std::string kube_namespace{};  // "": all, or a kind outside of namespaces
  std::string labels{};          // "weft/job=12"
  std::string fields{};          // "spec.nodeName=n1"
};
struct PageRequest {
  std::int64_t limit = 500;      // 0: everything in one page
  std::string continue_token{};  // of the page before; "": the first
};
struct ObjectPage {
  std::vector<Value> items;
  std::string resource_version;  // of the list: where a watch begins
  std::string continue_token;    // "": this was the last
};
// Page, or `expired`: the continue token is too old and the list must start over (410).
struct PageOutcome {
  bool expired = false;
  ObjectPage page;
};
struct ObjectList {
  std::vector<Value> items;
  std::string resource_version;
};

struct WatchRequest {
  std::string resource_version;
  std::int64_t timeout_seconds = 300;
};

struct CreateOutcome {
  bool created = false;  // false: an object of that name was there already
  Value object;          // as the server has it
};

struct DeleteRequest {
  std::optional<std::int64_t> grace_seconds{};
  std::string uid{};               // delete only this object, not a later one of the same name
  std::string resource_version{};  // delete only this version of it
  std::string propagation{};       // "Foreground", "Background", "Orphan"; "": the kind's default
};
enum class DeleteOutcome : std::uint8_t {
  accepted,     // it is gone, or will be after its grace period and finalizers
  gone,         // there was none
  precondition  // another object, or another version of it: nothing was deleted
};

enum class EvictionState : std::uint8_t {
  accepted,   // the pod will be deleted; it is gone only when it can no longer be read
  gone,       // there was none
  replaced,   // a pod of that name exists with another uid
  budget,     // a PodDisruptionBudget does not allow it now: ask again later
  throttled,  // the server is overloaded, or the budget changed meanwhile: ask again later
  ambiguous   // more than one budget, or the server failed: it needs an operator
};
[[nodiscard]] std::string_view to_text(EvictionState state);
struct EvictionOutcome {
  EvictionState state = EvictionState::accepted;
  std::string text;  // of the server
  std::optional<int> retry_after;
};

struct LogQuery {
  std::string container;
  std::int64_t tail_lines = 0;  // only the last so many; 0: all
  std::int64_t limit_bytes = std::int64_t{4} << 20U;
  std::string since{};      // RFC 3339; earlier lines are left out. The server compares whole seconds
  bool timestamps = false;  // each line begins with its time
};

class Client {
 public:
  // Transport and clock must outlive it. Once the clock is stopped, every call returns `unavailable`.
  Client(Transport& transport, oob::Clock& clock, const RandomStream& random, ClientOptions options = {});

  // Errors of all calls: those of transport.h and of to_error() in api_status.h.
  [[nodiscard]] Result<Value> get(const Resource& resource, const ObjectName& object);
  [[nodiscard]] Result<PageOutcome> list_page(const Resource& resource, const Selection& selection,
                                              const PageRequest& page);
  // All pages of one moment: complete, or an error.
  [[nodiscard]] Result<ObjectList> list(const Resource& resource, const Selection& selection);
  // Asks for bookmarks. A response other than 200 is a stream too: the reader decides (410).
  [[nodiscard]] Result<std::unique_ptr<ResponseStream>> watch(const Resource& resource, const Selection& selection,
                                                              const WatchRequest& request);

  // The object's own metadata has its name and namespace.
  [[nodiscard]] Result<CreateOutcome> create(const Resource& resource, const Value& object);
  // POST to a subresource, such as "binding" of a pod.
  [[nodiscard]] Status create_subresource(const Resource& resource, const ObjectName& object,
                                          std::string_view subresource, const Value& body);
  // The same, for one whose answer matters, such as "token" of a service account.
  [[nodiscard]] Result<Value> request_subresource(const Resource& resource, const ObjectName& object,
                                                  std::string_view subresource, const Value& body);
  // The object as the server would create it, plug-ins for admission included. It is not created.
  [[nodiscard]] Result<Value> try_create(const Resource& resource, const Value& object);
  // POST of an object that the server answers and does not keep, such as a SelfSubjectAccessReview.
  [[nodiscard]] Result<Value> review(const Resource& resource, const Value& object);
  // Server-side apply. `conflict` names the other owners of fields; with `force` they lose them.
  [[nodiscard]] Result<Value> apply(const Resource& resource, const Value& object, bool force = false);
  // JSON merge patch (RFC 7396). With a resourceVersion in its metadata, only that version is changed.
  [[nodiscard]] Result<Value> patch(const Resource& resource, const ObjectName& object, const Value& merge_patch,
                                    std::string_view subresource = {});
  // Replaces the version that the object was read as (its resourceVersion): `conflict` if it has changed since.
  [[nodiscard]] Result<Value> replace(const Resource& resource, const Value& object, std::string_view subresource = {});
  [[nodiscard]] Result<DeleteOutcome> remove(const Resource& resource, const ObjectName& object,
                                             const DeleteRequest& request = {});
  // Through the eviction API, which respects PodDisruptionBudgets. `uid`: only this pod; "": any of that name.
  [[nodiscard]] Result<EvictionOutcome> evict(const ObjectName& pod, std::string_view uid = {},
                                              std::optional<std::int64_t> grace_seconds = {});

  // Output of a container. `conflict`: it has not started yet.
  [[nodiscard]] Result<std::string> read_log(const ObjectName& pod, const LogQuery& query);

  [[nodiscard]] oob::Clock& clock() { return clock_; }
  [[nodiscard]] RandomStream split_random(std::string_view name) const { return random_.split(name); }

 private:
  enum class Retry : std::uint8_t { reads, unaccepted_writes, never };

  [[nodiscard]] Result<ApiResponse> exchange(const ApiRequest& request, Retry retry);
  [[nodiscard]] Status wait_for_turn(Duration wait);
  [[nodiscard]] Result<Value> request_object(const ApiCall& call, const ApiRequest& request);
  [[nodiscard]] Result<std::string> eviction_version();
  [[nodiscard]] Result<EvictionOutcome> explain_eviction_conflict(const ObjectName& pod, std::string_view uid,
                                                                  EvictionOutcome outcome);

  Transport& transport_;
  oob::Clock& clock_;
  RandomStream random_;
  ClientOptions options_;
  TokenBucket bucket_;
  std::string eviction_version_;  // "policy/v1" or "policy/v1beta1", once known
};

}  // namespace weft::kube
