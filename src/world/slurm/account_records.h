// Slurm's accounting database as far as weft manages it: QoS, and the accounts of one cluster with their users and
// limits. The same records hold what the database has (account_lists.h) and what it should have (account_plan.h).
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace weft::world {

struct QosRecord {
  std::string name;
  std::string description;
  std::int64_t priority = 0;
  std::int64_t grace_seconds = 0;
  std::string preempt_mode;
  std::set<std::string> preempts;
  std::set<std::string> flags;
};

struct AccountRecord {
  std::string name;
  std::string description;  // of the account, which all clusters of a database share
  std::string parent;
  std::set<std::string> qos;
  std::string default_qos;
  std::map<std::string, std::string> limits;  // GrpTRES by resource, as Slurm prints it: "mem" and "6250G"
  std::set<std::string> users;
  std::set<std::string> children;
};

struct AccountsState {
  bool has_cluster = false;
  std::set<std::string> resources;  // that limits may name: "cpu", "gres/gpu:h100"
  std::map<std::string, QosRecord> qos;
  std::map<std::string, AccountRecord> accounts;  // of the cluster; without root
  std::set<std::string> used_elsewhere;           // QoS that associations of other clusters, or of root, use
};

struct AccountsRequest {
  std::string cluster;
  std::vector<QosRecord> qos;  // in an order in which each preempts only earlier ones
  std::vector<AccountRecord> accounts;
  std::vector<std::pair<std::string, std::string>> users;  // account and user
};

// Written as description to what weft creates: only such things are ever removed.
[[nodiscard]] inline std::string account_mark(const std::string& cluster) { return "weft:" + cluster; }

}  // namespace weft::world
