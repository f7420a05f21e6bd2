// For tests only: a small Redfish service on a TestServer, with a resource tree that PATCH merges into, sessions with a
// limit, and a hook that can answer any request instead.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "oob/bmc/endpoint.h"
#include "oob/redfish/test_server.h"
#include "oob/redfish/trust.h"

namespace weft::oob::test {

class TestService {
 public:
  using Hook = std::function<std::optional<ServerAnswer>(const ServerRequest&)>;
  static constexpr const char* kUser = "admin";
  static constexpr const char* kPassword = "correct-horse-7";

  explicit TestService(Hook hook = nullptr)
      : hook_(std::move(hook)), server_([this](const ServerRequest& request) { return answer(request); }) {
    const std::lock_guard lock(mutex_);
    tree_["/redfish/v1/"] = nlohmann::json::parse(R"({"UUID": "92384634-2938-2342-8820-489239905423",
      "Systems": {"@odata.id": "/redfish/v1/Systems"}, "Managers": {"@odata.id": "/redfish/v1/Managers"},
      "Chassis": {"@odata.id": "/redfish/v1/Chassis"}, "AccountService": {"@odata.id": "/redfish/v1/AccountService"},
      "Links": {"Sessions": {"@odata.id": "/redfish/v1/SessionService/Sessions"}}})");
    collection("/redfish/v1/Systems", {"/redfish/v1/Systems/1"});
    tree_["/redfish/v1/Systems/1"] = nlohmann::json::parse(R"({"@odata.id": "/redfish/v1/Systems/1", "Id": "1",
      "Manufacturer": "Contoso", "Model": "3500RX", "SerialNumber": "437XR1138R2", "BiosVersion": "P79 v1.45",
      "UUID": "38947555-7742-3448-3784-823347823834", "PowerState": "On", "LastResetTime": "2026-01-02T03:04:05Z",
      "BootProgress": {"LastState": "OSRunning"}, "LogServices": {"@odata.id": "/redfish/v1/Systems/1/LogServices"},
      "Links": {"ManagedBy": [{"@odata.id": "/redfish/v1/Managers/BMC"}]},
      "Actions": {"#ComputerSystem.Reset": {"target": "/redfish/v1/Systems/1/Actions/ComputerSystem.Reset",
        "ResetType@Redfish.AllowableValues": ["On", "ForceOff", "GracefulShutdown", "ForceRestart", "Nmi"]}}})");
    collection("/redfish/v1/Managers", {"/redfish/v1/Managers/BMC"});
    tree_["/redfish/v1/Managers/BMC"] = nlohmann::json::parse(R"({"@odata.id": "/redfish/v1/Managers/BMC",
      "FirmwareVersion": "1.45.455b66-rev4",
      "NetworkProtocol": {"@odata.id": "/redfish/v1/Managers/BMC/NetworkProtocol"}})");
  }

  [[nodiscard]] TestServer& server() { return server_; }
  [[nodiscard]] Endpoint endpoint() const {
    Endpoint endpoint;
    endpoint.device = "node1";
    endpoint.host = "127.0.0.1";
    endpoint.port = server_.port();
    endpoint.tls.pin = pin_of_pem(server_.certificate().pem());
    endpoint.request_limit = milliseconds(3'000);
    return endpoint;
  }
  void put(const std::string& path, const std::string& json) {
    const std::lock_guard lock(mutex_);
    tree_[path] = nlohmann::json::parse(json);
  }
  void merge(const std::string& path, const std::string& json) {
    const std::lock_guard lock(mutex_);
    tree_[path].merge_patch(nlohmann::json::parse(json));
  }
  [[nodiscard]] nlohmann::json at(const std::string& path) const {
    const std::lock_guard lock(mutex_);
    return tree_.at(path);
  }
  void collection(const std::string& path, const std::vector<std::string>& members) {
    nlohmann::json value = {{"@odata.id", path}, {"Members", nlohmann::json::array()}};
    for (const std::string& one : members) value["Members"].push_back({{"@odata.id", one}});
    tree_[path] = value;
  }
  void limit_sessions(std::size_t most) {
    const std::lock_guard lock(mutex_);
    most_sessions_ = most;
  }
  void forget_sessions() {
    const std::lock_guard lock(mutex_);
    sessions_.clear();
  }
  // A stale session left behind by a client.
  void leave_session(const std::string& user, const std::string& context, const std::string& created) {
    const std::lock_guard lock(mutex_);
    add_session(user, context, created);
  }
  [[nodiscard]] std::size_t open_sessions() const {
    const std::lock_guard lock(mutex_);
    return sessions_.size();
  }
  [[nodiscard]] std::vector<std::string> session_contexts() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> out;
    for (const auto& [token, session] : sessions_) out.push_back(session.value("Context", ""));
    return out;
  }

 private:
  static ServerAnswer json(int status, const nlohmann::json& value) { return {.status = status, .body = value.dump()}; }
  static ServerAnswer fault(int status, const std::string& id, const std::string& text) {
    return json(status, {{"error",
                          {{"code", "Base.1.8.GeneralError"},
                           {"message", "see below"},
                           {"@Message.ExtendedInfo", {{{"MessageId", id}, {"Message", text}}}}}}});
  }
  std::string add_session(const std::string& user, const std::string& context, const std::string& created) {
    const std::string id = std::to_string(++last_session_);
    std::string token = "token-" + id;
    sessions_[token] = {{"@odata.id", "/redfish/v1/SessionService/Sessions/" + id},
                        {"UserName", user},
                        {"Context", context},
                        {"CreatedTime", created}};
    return token;
  }
  [[nodiscard]] bool allowed(const ServerRequest& request) const {
    if (const auto token = request.headers.find("x-auth-token"); token != request.headers.end()) {
      return sessions_.contains(token->second);
    }
    // base64 of "admin:correct-horse-7"
    const auto basic = request.headers.find("authorization");
    return basic != request.headers.end() && basic->second == "Basic YWRtaW46Y29ycmVjdC1ob3JzZS03";
  }

  ServerAnswer answer(const ServerRequest& request) {
    if (hook_) {
      if (std::optional<ServerAnswer> mine = hook_(request)) return *mine;
    }
    const std::lock_guard lock(mutex_);
    const std::string sessions = "/redfish/v1/SessionService/Sessions";
    if (request.method == "POST" && request.path == sessions) return log_in(request);
    if (request.path != "/redfish/v1/" && !allowed(request)) return fault(401, "Base.1.8.NoValidSession", "no session");
    if (request.path.starts_with(sessions)) return session_resource(request, sessions);
    const std::string path = request.path.substr(0, request.path.find('?'));
    if (request.method == "POST") return {.status = 204};
    if (!tree_.contains(path)) return fault(404, "Base.1.8.ResourceMissingAtURI", "nothing at " + path);
    if (request.method == "PATCH") tree_[path].merge_patch(nlohmann::json::parse(request.body));
    return json(200, tree_[path]);
  }
  ServerAnswer log_in(const ServerRequest& request) {
    const nlohmann::json body = nlohmann::json::parse(request.body);
    if (body.value("UserName", "") != kUser || body.value("Password", "") != kPassword) {
      return fault(401, "Base.1.8.NoValidSession", "no");
    }
    if (sessions_.size() >= most_sessions_) return fault(503, "Base.1.8.SessionLimitExceeded", "too many sessions");
    const std::string token = add_session(kUser, body.value("Context", ""), "2026-06-01T00:00:00Z");
    ServerAnswer reply = json(201, sessions_[token]);
    reply.headers = {{"X-Auth-Token", token}, {"Location", sessions_[token]["@odata.id"].get<std::string>()}};
    return reply;
  }
  ServerAnswer session_resource(const ServerRequest& request, const std::string& sessions) {
    if (request.path == sessions) {
      nlohmann::json value = {{"Members", nlohmann::json::array()}};
      for (const auto& [token, session] : sessions_) value["Members"].push_back({{"@odata.id", session["@odata.id"]}});
      return json(200, value);
    }
    for (auto it = sessions_.begin(); it != sessions_.end(); ++it) {
      if (it->second["@odata.id"] != request.path) continue;
      if (request.method == "GET") return json(200, it->second);
      sessions_.erase(it);
      return {.status = 204};
    }
    return fault(404, "Base.1.8.ResourceMissingAtURI", "no such session");
  }

  Hook hook_;
  mutable std::mutex mutex_;
  std::map<std::string, nlohmann::json> tree_;
  std::map<std::string, nlohmann::json> sessions_;  // by token
  std::size_t most_sessions_ = 64;
  int last_session_ = 0;
  TestServer server_;  // last: its threads use the other members
};

}  // namespace weft::oob::test
