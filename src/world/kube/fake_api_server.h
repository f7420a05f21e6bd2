// For tests: an API server in memory, with as much as KubeWorld uses: objects with versions, lists by label, watches,
// bindings, deletions. A pod runs as soon as it is bound and is gone as soon as it is deleted. For the thread that
// calls work(); the ends of pods may be set from others.
#pragma once

#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "kube/api_status.h"
#include "kube/json_fields.h"
#include "kube/transport.h"

namespace weft::world {

class FakeApiServer final : public kube::Transport {
 public:
  struct Change {
    std::string collection;  // "nodes", "pods", "services"
    std::string text;        // line of a watch
    std::uint64_t version = 0;
  };

  void put_node(const std::string& name, const std::string& boot) {
    Value node = Value::map();
    node["metadata"].set("name", Value(name));
    node["status"]["nodeInfo"].set("bootID", Value(boot));
    node["status"].set("conditions", Value::list({Value::map({{"type", Value("Ready")}, {"status", Value("True")}})}));
    const std::lock_guard lock(mutex_);
    put("nodes", node);
  }
  // Connections break and no new one is accepted.
  void set_down(bool down) {
    const std::lock_guard lock(mutex_);
    down_ = down;
  }
  [[nodiscard]] std::size_t requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }

  [[nodiscard]] Result<kube::ApiResponse> send(const kube::ApiRequest& request) override {
    const std::lock_guard lock(mutex_);
    ++requests_;
    if (down_) return Error{ErrorCode::unavailable, "connection refused", {}};
    const Path path = parse(request.target);
    if (request.method == "GET" && path.name.empty()) return reply(200, list(path.collection, path.labels));
    if (request.method == "GET") return found(path);
    const Value body = kube::read_reply_json(request.body).value_or(Value());
    if (request.method == "POST" && path.subresource == "binding") return bind(path, body);
    if (request.method == "POST") return create(path.collection, body);
    if (request.method == "DELETE") return remove(path);
    return reply(405, Value::map());
  }
  [[nodiscard]] Result<std::unique_ptr<kube::ResponseStream>> open(const kube::ApiRequest& request) override {
    const std::lock_guard lock(mutex_);
    ++requests_;
    if (down_) return Error{ErrorCode::unavailable, "connection refused", {}};
    const std::size_t given = request.target.find("resourceVersion=");
    const std::uint64_t from = std::strtoull(request.target.c_str() + given + 16, nullptr, 10);
    std::size_t first = 0;
    while (first < changes_.size() && changes_[first].version <= from) ++first;
    return std::unique_ptr<kube::ResponseStream>(
        std::make_unique<Stream>(*this, parse(request.target).collection, first));
  }

 private:
  struct Path {
    std::string collection;
    std::string name;
    std::string subresource;
    std::string labels;
  };
  class Stream final : public kube::ResponseStream {
   public:
    Stream(FakeApiServer& server, std::string collection, std::size_t from)
        : server_(server), collection_(std::move(collection)), at_(from) {}
    [[nodiscard]] int status() const override { return 200; }
    [[nodiscard]] Result<kube::StreamBytes> read(Duration /*wait*/) override {
      const std::lock_guard lock(server_.mutex_);
      if (server_.down_) return Error{ErrorCode::timeout, "connection lost", {}};
      kube::StreamBytes bytes;
      for (; at_ < server_.changes_.size(); ++at_) {
        if (server_.changes_[at_].collection == collection_) bytes.bytes += server_.changes_[at_].text;
      }
      return bytes;
    }

   private:
    FakeApiServer& server_;
    std::string collection_;
    std::size_t at_;
  };

  // "/api/v1/namespaces/a/pods/p/binding?labelSelector=..."
  static Path parse(const std::string& target) {
    Path path;
    const std::size_t question = target.find('?');
    const std::vector<std::string_view> parts = split(std::string_view(target).substr(0, question), '/');
    std::size_t at = 3;
    if (parts.size() > 5 && parts[3] == "namespaces") at = 5;
    if (parts.size() > at) path.collection = parts[at];
    if (parts.size() > at + 1) path.name = parts[at + 1];
    if (parts.size() > at + 2) path.subresource = parts[at + 2];
    const std::size_t labels = target.find("labelSelector=");
    if (labels != std::string::npos) path.labels = target.substr(labels + 14, target.find('&', labels) - labels - 14);
    path.labels = replace_all(replace_all(replace_all(path.labels, "%2F", "/"), "%3D", "="), "%2C", ",");
    return path;
  }
  static Result<kube::ApiResponse> reply(int status, const Value& body) {
    return kube::ApiResponse{status, {}, write_json_line(body)};
  }
  static Result<kube::ApiResponse> failure(int status, const char* reason) {
    return reply(status, Value::map({{"kind", Value("Status")}, {"reason", Value(reason)}, {"code", Value(status)}}));
  }
  static bool has_labels(const Value& object, const std::string& wanted) {
    if (wanted.empty()) return true;
    for (const std::string_view pair : split(wanted, ',')) {
      const std::size_t equals = pair.find('=');
      if (kube::raw_text(object, {"metadata", "labels", pair.substr(0, equals)}) != pair.substr(equals + 1))
        return false;
    }
    return true;
  }
  void note(const std::string& collection, const char* type, const Value& object) {
    changes_.push_back(
        {collection, write_json_line(Value::map({{"type", Value(type)}, {"object", object}})) + "\n", version_});
  }
  Value put(const std::string& collection, Value object) {
    const std::string name = kube::raw_text(object, {"metadata", "name"});
    const bool known = objects_[collection].contains(name);
    Value& metadata = object["metadata"];
    if (!known) metadata.set("uid", Value("u" + std::to_string(++version_)));
    metadata.set("resourceVersion", Value(std::to_string(++version_)));
    objects_[collection][name] = object;
    note(collection, known ? "MODIFIED" : "ADDED", object);
    return object;
  }
  Value list(const std::string& collection, const std::string& labels) {
    Value items = Value::list();
    for (const auto& [name, object] : objects_[collection]) {
      if (has_labels(object, labels)) items.add(object);
    }
    const char* kind = collection == "nodes" ? "NodeList" : collection == "pods" ? "PodList" : "ServiceList";
    Value all = Value::map({{"kind", Value(kind)}, {"items", std::move(items)}});
    all["metadata"].set("resourceVersion", Value(std::to_string(version_)));
    return all;
  }
  Result<kube::ApiResponse> found(const Path& path) {
    const auto& all = objects_[path.collection];
    const auto object = all.find(path.name);
    return object == all.end() ? failure(404, "NotFound") : reply(200, object->second);
  }
  Result<kube::ApiResponse> create(const std::string& collection, const Value& object) {
    if (objects_[collection].contains(kube::raw_text(object, {"metadata", "name"})))
      return failure(409, "AlreadyExists");
    return reply(201, put(collection, object));
  }
  Result<kube::ApiResponse> bind(const Path& path, const Value& binding) {
    const auto pod = objects_["pods"].find(path.name);
    if (pod == objects_["pods"].end()) return failure(404, "NotFound");
    Value bound = pod->second;
    bound["spec"].set("nodeName", Value(kube::raw_text(binding, {"target", "name"})));
    Value statuses = Value::list();
    for (const Value& container : kube::list(bound, {"spec", "containers"})) {
      statuses.add(Value::map(
          {{"name", Value(kube::raw_text(container, {"name"}))}, {"state", Value::map({{"running", Value::map()}})}}));
    }
    bound.set("status", Value::map({{"phase", Value("Running")}, {"containerStatuses", std::move(statuses)}}));
    (void)put("pods", std::move(bound));
    return reply(201, Value::map({{"kind", Value("Status")}}));
  }
  Result<kube::ApiResponse> remove(const Path& path) {
    const auto object = objects_[path.collection].find(path.name);
    if (object == objects_[path.collection].end()) return failure(404, "NotFound");
    ++version_;
    Value last = object->second;
    last["metadata"].set("resourceVersion", Value(std::to_string(version_)));
    objects_[path.collection].erase(object);
    note(path.collection, "DELETED", last);
    return reply(200, Value::map({{"kind", Value("Status")}}));
  }

  mutable std::mutex mutex_;
  std::map<std::string, std::map<std::string, Value>> objects_;
  std::vector<Change> changes_;
  std::uint64_t version_ = 0;
  std::size_t requests_ = 0;
  bool down_ = false;
};

}  // namespace weft::world
