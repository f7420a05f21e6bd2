// Gives each run of a Slurm job that asks for it a Kubernetes namespace on its own nodes, and removes it when Slurm
// says that the run is over. Each turn compares Slurm's list with the namespaces that exist: nothing depends on being
// told of a start or an end, so a job that is killed, a restart of this process or of Slurm loses nothing. A list that
// could not be read changes nothing. Namespaces of other instances are never touched.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "job_namespace/objects.h"
#include "job_namespace/plan.h"
#include "kube/access.h"
#include "kube/client.h"

namespace weft::job_namespace {

// Slurm, as the controller asks it.
struct SlurmSource {
  std::function<Result<std::vector<world::JobRun>>()> list_runs;
  std::function<Result<std::vector<world::SlurmNode>>()> list_nodes;
  // What the accounting says of a run that is no longer listed: see world::find_accounted_end().
  std::function<std::optional<bool>(std::uint32_t id, std::int64_t started)> accounted_end;
};

struct ControllerOptions {
  std::string state;  // on a file system that the nodes share
  kube::ClusterAccess access;
  ObjectOptions objects;
  std::function<void(std::string_view)> log;  // one line for operators
};

class Controller {
 public:
  // Client and source must outlive it.
  Controller(kube::Client& client, SlurmSource slurm, ControllerOptions options)
      : client_(client), slurm_(std::move(slurm)), options_(std::move(options)) {}

  // `now` in seconds since the epoch. An error: nothing was concluded from this turn.
  [[nodiscard]] Status turn(std::int64_t now);

 private:
  struct Existing {
    std::string key;
    std::string uid;
    bool deleting = false;
  };
  // A namespace that this process has set up.
  struct Made {
    NamespacePlan plan;
    std::int64_t renew_at = 0;  // the token
  };
  struct Refusal {
    std::string reason;
    std::int64_t retry_at = 0;
  };
  using ByName = std::map<std::string, Existing>;

  void keep(const world::JobRun& run, const SlurmNodes& nodes, const ByName& existing, std::int64_t now);
  [[nodiscard]] Status make(const NamespacePlan& plan);
  [[nodiscard]] Status label_nodes(const NamespacePlan& plan);
  [[nodiscard]] Status check_admission(const NamespacePlan& plan);
  [[nodiscard]] Result<std::int64_t> give_token(const NamespacePlan& plan, std::int64_t now);
  [[nodiscard]] bool is_due(const world::JobRun& run, std::int64_t now) const;
  void refuse(const world::JobRun& run, const std::string& reason, std::int64_t now);
  [[nodiscard]] bool is_over(const std::string& key, const std::vector<world::JobRun>& runs, std::int64_t now);
  void remove(const std::string& name, const Existing& existing);
  [[nodiscard]] Status end_pods(const std::string& name);
  [[nodiscard]] Status find_labels(const std::set<std::string>& wanted, const ByName& existing);
  void remove_labels();
  void log(const std::string& text) const {
    if (options_.log) options_.log(text);
  }

  kube::Client& client_;
  SlurmSource slurm_;
  ControllerOptions options_;
  std::map<std::string, Made> made_;            // by name
  std::map<std::string, std::int64_t> begun_;   // by key: since when it is being made
  std::map<std::string, Refusal> refused_;      // by key
  std::map<std::string, std::int64_t> absent_;  // by key: since when Slurm does not list the run
  std::set<std::string> removing_;              // by name: its removal was logged
  std::set<std::string> unlabel_;               // keys whose labels must go
  bool labels_found_ = false;                   // those that an earlier process left
  bool toleration_noted_ = false;
};

}  // namespace weft::job_namespace
