// Many tasks that do not depend on each other as an Indexed Job of Kubernetes: submit them, list them, read what they
// printed. For work that its owner can split and resume by itself, such as a sweep; attempts of the control plane are
// pods of their own (pod_plan.h).
//
// Servers without Indexed Jobs (before 1.22) drop the field without an error, and would run every task as the same
// one. A dry run shows it: there each task is a Job of its own, and no more than `at_once` of them exist at a time.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/value.h"
#include "kube/client.h"

namespace weft::world {

inline constexpr const char* kArrayFiles = "/weft";                       // directory of the files in containers
inline constexpr const char* kTaskIndexWord = "$(JOB_COMPLETION_INDEX)";  // in a command: number of the task, from 0
inline constexpr const char* kArrayLabel = "weft/array";                  // of Jobs, pods and ConfigMaps

struct KubeArrayPlan {
  std::string kube_namespace = "default";
  std::string name;  // of the array, a label value; the Jobs are "NAME-1", "NAME-2", ... for later submissions
  std::string image;
  std::vector<std::string> command;          // as written, kTaskIndexWord excepted
  std::map<std::string, std::string> files;  // name to content, in kArrayFiles
  std::uint64_t tasks = 1;
  std::uint32_t at_once = 16;  // tasks that run at the same time; 0: no limit
  std::uint32_t cpus = 1;      // per task
  std::string memory = "8Gi";  // per task
  std::int64_t time_limit_s = 3600;
};

struct KubeArrayTask {
  enum class Phase : std::uint8_t { waiting, running, ended };
  std::string array;  // submission that it belongs to: "NAME-1"
  std::uint64_t index = 0;
  Phase phase = Phase::waiting;
  std::string pod;     // that ended with exit status 0; "": none
  std::string end;     // how it ended otherwise: "OOMKilled", "Evicted: ..."
  std::string reason;  // why it waits
};

// Objects of a plan. `number` is that of the submission; `task` is that of a Job with one task.
[[nodiscard]] Value indexed_job(const KubeArrayPlan& plan, std::uint64_t number);
[[nodiscard]] Value task_job(const KubeArrayPlan& plan, std::uint64_t number, std::uint64_t task);
[[nodiscard]] Value array_files(const KubeArrayPlan& plan, std::uint64_t number);
// States of the tasks of these Jobs, by submission and index.
[[nodiscard]] std::vector<KubeArrayTask> array_tasks(const std::vector<Value>& jobs, const std::vector<Value>& pods);

class KubeArrays {
 public:
  KubeArrays(kube::Client& client, std::string kube_namespace)
      : client_(client), kube_namespace_(std::move(kube_namespace)) {}

  // Tasks of all submissions of this array that still exist. Where tasks are Jobs of their own, those that are not
  // created yet are created as others end. An error says nothing about the tasks.
  [[nodiscard]] Result<std::vector<KubeArrayTask>> list(const std::string& name);
  // Removes what is left of earlier submissions, and returns the name of this one.
  [[nodiscard]] Result<std::string> submit(const KubeArrayPlan& plan);
  // What a task printed.
  [[nodiscard]] Result<std::string> output(const KubeArrayTask& task);
  // Jobs, pods and files of all submissions.
  [[nodiscard]] Status remove(const std::string& name);

 private:
  struct Objects {
    std::vector<Value> jobs;
    std::vector<Value> pods;
  };
  [[nodiscard]] Result<Objects> read(const std::string& name);
  [[nodiscard]] Result<bool> has_indexed_jobs(const KubeArrayPlan& plan, std::uint64_t number);
  [[nodiscard]] Status create_tasks(std::size_t live);

  kube::Client& client_;
  std::string kube_namespace_;
  // Tasks that are Jobs of their own: the plan, and the next one to create.
  KubeArrayPlan plan_;
  std::uint64_t number_ = 0;
  std::uint64_t next_ = 0;  // plan_.tasks: all are created
};

}  // namespace weft::world
