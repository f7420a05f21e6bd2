#include "world/kube/kube_arrays.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/text.h"
#include "base/utf8.h"
#include "kube/json_fields.h"
#include "kube/object.h"

namespace weft::world {
namespace {

constexpr const char* kNumberLabel = "weft/submission";
constexpr const char* kIndexLabel = "weft/task";  // of a Job with one task and its pods
// Set by the Job controller for Indexed Jobs.
constexpr const char* kIndexAnnotation = "batch.kubernetes.io/job-completion-index";
constexpr const char* kIndexVariable = "JOB_COMPLETION_INDEX";
constexpr std::size_t kMaxFiles = 1'000'000;  // bytes; a ConfigMap holds 1 MiB, its keys and metadata included
constexpr std::int64_t kMaxOutput = std::int64_t{64} << 20U;
constexpr double kMaxTasks = 100'000;  // of a Job; Kubernetes has the same limit for Indexed Jobs that run in parallel
constexpr std::int64_t kNobody = 65'534;  // uid that owns no files

std::optional<std::uint64_t> number_of(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return number;
}

std::string job_name(const KubeArrayPlan& plan, std::uint64_t number) {
  return fmt::format("{}-{}", plan.name, number);
}

Value metadata(const KubeArrayPlan& plan, const std::string& name, std::uint64_t number) {
  return Value::map({{"name", Value(name)},
                     {"namespace", Value(plan.kube_namespace)},
                     {"labels", Value::map({{"app.kubernetes.io/managed-by", Value("weft")},
                                            {kArrayLabel, Value(plan.name)},
                                            {kNumberLabel, Value(std::to_string(number))}})}});
}

// As restricted as the Pod Security Standards ask for: a task reads its files and prints.
Value container(const KubeArrayPlan& plan) {
  Value words = Value::list();
  for (const std::string& word : plan.command)
    words.add(word == kTaskIndexWord ? Value(word) : Value(replace_all(word, "$", "$$")));
  const Value amounts = Value::map({{"cpu", Value(std::to_string(plan.cpus))}, {"memory", Value(plan.memory)}});
  Value out = Value::map({{"name", Value("task")}, {"image", Value(plan.image)}, {"command", std::move(words)}});
  out.set("resources", Value::map({{"requests", amounts}, {"limits", amounts}}));
  out.set("volumeMounts",
          Value::list(
              {Value::map({{"name", Value("files")}, {"mountPath", Value(kArrayFiles)}, {"readOnly", Value(true)}})}));
  out.set("securityContext", Value::map({{"allowPrivilegeEscalation", Value(false)},
                                         {"readOnlyRootFilesystem", Value(true)},
                                         {"capabilities", Value::map({{"drop", Value::list({Value("ALL")})}})}}));
  return out;
}

Value pod_template(const KubeArrayPlan& plan, std::uint64_t number) {
  Value spec = Value::map({{"restartPolicy", Value("Never")},
                           {"automountServiceAccountToken", Value(false)},
                           {"activeDeadlineSeconds", Value(plan.time_limit_s)}});
  spec.set("securityContext", Value::map({{"runAsNonRoot", Value(true)},
                                          {"runAsUser", Value(kNobody)},
                                          {"runAsGroup", Value(kNobody)},
                                          {"seccompProfile", Value::map({{"type", Value("RuntimeDefault")}})}}));
  spec.set("containers", Value::list({container(plan)}));
  spec.set("volumes",
           Value::list({Value::map(
               {{"name", Value("files")}, {"configMap", Value::map({{"name", Value(job_name(plan, number))}})}})}));
  const Value labels = Value::map({{"app.kubernetes.io/managed-by", Value("weft")},
                                   {kArrayLabel, Value(plan.name)},
                                   {kNumberLabel, Value(std::to_string(number))}});
  return Value::map({{"metadata", Value::map({{"labels", labels}})}, {"spec", std::move(spec)}});
}

Value job_object(const KubeArrayPlan& plan, const std::string& name, std::uint64_t number, Value spec) {
  spec.set("template", pod_template(plan, number));
  return Value::map({{"apiVersion", Value("batch/v1")},
                     {"kind", Value("Job")},
                     {"metadata", metadata(plan, name, number)},
                     {"spec", std::move(spec)}});
}

// "Complete", "Failed" or "": it goes on.
const Value* end_of_job(const Value& job) {
  for (const Value& condition : kube::list(job, {"status", "conditions"})) {
    const std::string type = kube::raw_text(condition, {"type"});
    if ((type == "Complete" || type == "Failed") && kube::raw_text(condition, {"status"}) == "True") return &condition;
  }
  return nullptr;
}

std::string joined(const std::string& reason, const std::string& message) {
  if (reason.empty() || message.empty()) return printable(reason + message);
  return printable(reason + ": " + message);
}

// Why a pod failed: what its kubelet says, or how its container ended.
std::string failure_of(const Value& pod) {
  std::string text = joined(kube::raw_text(pod, {"status", "reason"}), kube::raw_text(pod, {"status", "message"}));
  if (!text.empty()) return text;
  for (const Value& each : kube::list(pod, {"status", "containerStatuses"})) {
    const Value* ended = kube::member(each, {"state", "terminated"});
    if (ended == nullptr) continue;
    const std::string reason = kube::raw_text(*ended, {"reason"});
    const auto code = static_cast<long long>(kube::number(*ended, {"exitCode"}).value_or(0));
    return reason.empty() || reason == "Error" ? fmt::format("exit status {}", code) : printable(reason);
  }
  return "failed";
}

std::string waiting_of(const Value& pod) {
  for (const Value& each : kube::list(pod, {"status", "containerStatuses"})) {
    const Value* waiting = kube::member(each, {"state", "waiting"});
    if (waiting != nullptr) return joined(kube::raw_text(*waiting, {"reason"}), kube::raw_text(*waiting, {"message"}));
  }
  for (const Value& condition : kube::list(pod, {"status", "conditions"})) {
    if (kube::raw_text(condition, {"type"}) == "PodScheduled" && kube::raw_text(condition, {"status"}) == "False")
      return joined(kube::raw_text(condition, {"reason"}), kube::raw_text(condition, {"message"}));
  }
  return {};
}

// A later pod of a task says more than an earlier one that failed; success is final.
void add_pod(KubeArrayTask& task, const Value& pod) {
  const std::string phase = kube::raw_text(pod, {"status", "phase"});
  if (!task.pod.empty()) return;
  if (phase == "Succeeded") {
    task.phase = KubeArrayTask::Phase::ended;
    task.pod = kube::raw_text(pod, {"metadata", "name"});
    task.end = task.reason = {};
  } else if (phase == "Failed") {
    if (task.phase == KubeArrayTask::Phase::ended) task.end = failure_of(pod);
    if (task.phase == KubeArrayTask::Phase::waiting) task.reason = "a pod of it failed: " + failure_of(pod);
  } else if (task.phase != KubeArrayTask::Phase::ended) {
    if (phase == "Running") task.phase = KubeArrayTask::Phase::running;
    if (task.phase == KubeArrayTask::Phase::waiting) task.reason = waiting_of(pod);
  }
}

std::optional<std::uint64_t> task_of(const Value& object) {
  if (const auto index = number_of(kube::annotation_of(object, kIndexAnnotation))) return index;
  return number_of(kube::label_of(object, kIndexLabel));
}

std::string array_of(const Value& object) {
  return fmt::format("{}-{}", kube::label_of(object, kArrayLabel), kube::label_of(object, kNumberLabel));
}

}  // namespace

Value indexed_job(const KubeArrayPlan& plan, std::uint64_t number) {
  const std::uint64_t at_once = plan.at_once == 0 ? plan.tasks : std::min<std::uint64_t>(plan.at_once, plan.tasks);
  Value spec = Value::map({{"completions", Value(plan.tasks)},
                           {"parallelism", Value(at_once)},
                           {"completionMode", Value("Indexed")},
                           // Of all tasks together: a cause that all have in common ends the Job soon.
                           {"backoffLimit", Value(std::max<std::uint64_t>(6, plan.tasks / 10))}});
  return job_object(plan, job_name(plan, number), number, std::move(spec));
}

Value task_job(const KubeArrayPlan& plan, std::uint64_t number, std::uint64_t task) {
  Value spec = Value::map({{"completions", Value(1)}, {"parallelism", Value(1)}, {"backoffLimit", Value(2)}});
  Value job = job_object(plan, fmt::format("{}-{}", job_name(plan, number), task), number, std::move(spec));
  const std::string index = std::to_string(task);
  job["metadata"]["labels"].set(kIndexLabel, Value(index));
  Value& pod = job["spec"]["template"];
  pod["metadata"]["labels"].set(kIndexLabel, Value(index));
  Value one = container(plan);
  one.set("env", Value::list({Value::map({{"name", Value(kIndexVariable)}, {"value", Value(index)}})}));
  pod["spec"].set("containers", Value::list({std::move(one)}));
  return job;
}

Value array_files(const KubeArrayPlan& plan, std::uint64_t number) {
  Value data = Value::map();
  for (const auto& [name, content] : plan.files) data.set(name, Value(content));
  return Value::map({{"apiVersion", Value("v1")},
                     {"kind", Value("ConfigMap")},
                     {"metadata", metadata(plan, job_name(plan, number), number)},
                     {"data", std::move(data)}});
}

std::vector<KubeArrayTask> array_tasks(const std::vector<Value>& jobs, const std::vector<Value>& pods) {
  std::map<std::pair<std::string, std::uint64_t>, KubeArrayTask> tasks;
  for (const Value& job : jobs) {
    const std::string array = array_of(job);
    const Value* end = end_of_job(job);
    const bool deleting = kube::member(job, {"metadata", "deletionTimestamp"}) != nullptr;
    const std::optional<std::uint64_t> single = task_of(job);
    const double given = kube::number(job, {"spec", "completions"}).value_or(1);
    const auto count = static_cast<std::uint64_t>(std::clamp(given, 1.0, kMaxTasks));
    for (std::uint64_t i = 0; i < (single ? 1 : count); ++i) {
      const std::uint64_t index = single ? *single : i;
      KubeArrayTask& task = tasks[{array, index}];
      task.array = array;
      task.index = index;
      if (end == nullptr && !deleting) continue;
      task.phase = KubeArrayTask::Phase::ended;
      task.end = deleting ? "deleted" : "its pod is gone";
      if (end != nullptr && kube::raw_text(*end, {"type"}) == "Failed")
        task.end = joined(kube::raw_text(*end, {"reason"}), kube::raw_text(*end, {"message"}));
    }
  }
  for (const Value& pod : pods) {
    const auto index = task_of(pod);
    const auto found = tasks.find({array_of(pod), index.value_or(0)});
    if (index && found != tasks.end()) add_pod(found->second, pod);
  }
  std::vector<KubeArrayTask> all;
  all.reserve(tasks.size());
  for (auto& [key, task] : tasks) all.push_back(std::move(task));
  return all;
}

Result<KubeArrays::Objects> KubeArrays::read(const std::string& name) {
  const kube::Selection selection{kube_namespace_, fmt::format("{}={}", kArrayLabel, name), ""};
  // Jobs first: where one has ended, the later list has the final states of its pods.
  Result<kube::ObjectList> jobs = client_.list(kube::kJobs, selection);
  if (!jobs.ok()) return jobs.error();
  Result<kube::ObjectList> pods = client_.list(kube::kPods, selection);
  if (!pods.ok()) return pods.error();
  return Objects{std::move(jobs->items), std::move(pods->items)};
}

Result<std::vector<KubeArrayTask>> KubeArrays::list(const std::string& name) {
  Result<Objects> objects = read(name);
  if (!objects.ok()) return objects.error();
  std::vector<KubeArrayTask> tasks = array_tasks(objects->jobs, objects->pods);
  if (name != plan_.name || next_ >= plan_.tasks) return tasks;
  const auto live = static_cast<std::size_t>(std::count_if(
      tasks.begin(), tasks.end(), [](const KubeArrayTask& task) { return task.phase != KubeArrayTask::Phase::ended; }));
  const std::uint64_t first = next_;
  if (const Status created = create_tasks(live); !created.ok()) return created.error();
  for (std::uint64_t i = first; i < plan_.tasks; ++i) {
    KubeArrayTask task;
    task.array = job_name(plan_, number_);
    task.index = i;
    tasks.push_back(std::move(task));
  }
  return tasks;
}

Status KubeArrays::create_tasks(std::size_t live) {
  for (; next_ < plan_.tasks && (plan_.at_once == 0 || live < plan_.at_once); ++next_, ++live) {
    const Result<kube::CreateOutcome> made = client_.create(kube::kJobs, task_job(plan_, number_, next_));
    if (!made.ok()) return made.error();
  }
  return {};
}

// Whether the server would keep the mode, which one that does not know it drops.
Result<bool> KubeArrays::has_indexed_jobs(const KubeArrayPlan& plan, std::uint64_t number) {
  const Result<Value> tried = client_.try_create(kube::kJobs, indexed_job(plan, number));
  if (!tried.ok()) return tried.error();
  return kube::raw_text(*tried, {"spec", "completionMode"}) == "Indexed";
}

Result<std::string> KubeArrays::submit(const KubeArrayPlan& plan) {
  std::size_t bytes = 0;
  for (const auto& [name, content] : plan.files) bytes += name.size() + content.size();
  if (bytes > kMaxFiles)
    return Error{ErrorCode::invalid_input,
                 fmt::format("the files of the tasks have {} bytes together; a ConfigMap holds {}", bytes, kMaxFiles),
                 {}};
  const Result<Objects> before = read(plan.name);
  if (!before.ok()) return before.error();
  std::uint64_t number = 1;
  for (const Value& job : before->jobs)
    number = std::max(number, number_of(kube::label_of(job, kNumberLabel)).value_or(0) + 1);
  const Result<bool> indexed = has_indexed_jobs(plan, number);
  if (!indexed.ok()) return indexed.error();
  if (const Status removed = remove(plan.name); !removed.ok()) return removed.error();
  const Result<kube::CreateOutcome> files = client_.create(kube::kConfigMaps, array_files(plan, number));
  if (!files.ok()) return files.error();
  plan_ = plan;
  number_ = number;
  next_ = *indexed ? plan.tasks : 0;
  if (*indexed) {
    const Result<kube::CreateOutcome> made = client_.create(kube::kJobs, indexed_job(plan, number));
    if (!made.ok()) return made.error();
  } else if (const Status created = create_tasks(0); !created.ok()) {
    return created.error();
  }
  return job_name(plan, number);
}

Result<std::string> KubeArrays::output(const KubeArrayTask& task) {
  kube::LogQuery query;
  query.container = "task";
  query.limit_bytes = kMaxOutput;
  return client_.read_log({kube_namespace_, task.pod}, query);
}

Status KubeArrays::remove(const std::string& name) {
  const kube::Selection selection{kube_namespace_, fmt::format("{}={}", kArrayLabel, name), ""};
  for (const kube::Resource* resource : {&kube::kJobs, &kube::kConfigMaps}) {
    const Result<kube::ObjectList> found = client_.list(*resource, selection);
    if (!found.ok()) return found.error();
    for (const Value& object : found->items) {
      const Result<kube::ObjectMeta> meta = kube::read_meta(object);
      if (!meta.ok()) return meta.error();
      const Result<kube::DeleteOutcome> removed =
          client_.remove(*resource, meta->name, {std::nullopt, meta->uid, {}, "Background"});
      if (!removed.ok()) return removed.error();
    }
  }
  return {};
}

}  // namespace weft::world
