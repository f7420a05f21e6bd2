#include "world/kube/kube_arrays.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "kube/fake_transport.h"
#include "kube/json_fields.h"

namespace weft::world {
namespace {

using kube::fake_list;
using ::testing::HasSubstr;
using Phase = KubeArrayTask::Phase;

KubeArrayPlan plan(std::uint64_t tasks = 40) {
  KubeArrayPlan plan;
  plan.kube_namespace = "a";
  plan.name = "sweep";
  plan.image = "registry.example/weft:1";
  plan.command = {"weft", "--set", "k=$x", "--point", kTaskIndexWord};
  plan.files = {{"cluster.yaml", "weft: 1\n"}};
  plan.tasks = tasks;
  return plan;
}

Value pod(const char* number, const char* index, const char* phase, Value status = Value::map()) {
  Value pod = Value::map();
  pod["metadata"].set("name", Value(std::string("pod-") + index + "-" + phase));
  pod["metadata"]["labels"].set(kArrayLabel, Value("sweep")).set("weft/submission", Value(number));
  pod["metadata"]["annotations"].set("batch.kubernetes.io/job-completion-index", Value(index));
  pod.set("status", std::move(status));
  pod["status"].set("phase", Value(phase));
  return pod;
}
Value with_end(Value job, const char* type) {
  job["status"].set(
      "conditions",
      Value::list({Value::map({{"type", Value(type)}, {"status", Value("True")}, {"reason", Value("R")}})}));
  return job;
}

TEST(KubeArrays, CommandsKeepTheirDollars) {
  const Value job = indexed_job(plan(), 3);
  const Value& container = kube::list(job, {"spec", "template", "spec", "containers"})[0];
  const auto& words = kube::list(container, {"command"});
  EXPECT_EQ(words[2].text(), "k=$$x");
  EXPECT_EQ(words[4].text(), "$(JOB_COMPLETION_INDEX)");
  EXPECT_EQ(kube::raw_text(job, {"metadata", "name"}), "sweep-3");
  EXPECT_EQ(kube::number(job, {"spec", "parallelism"}), 16);
  EXPECT_EQ(kube::number(indexed_job(plan(3), 1), {"spec", "parallelism"}), 3);
  // A Job of its own has the number that an Indexed Job would give.
  const Value single = task_job(plan(), 3, 7);
  const Value& one = kube::list(single, {"spec", "template", "spec", "containers"})[0];
  EXPECT_EQ(kube::raw_text(kube::list(one, {"env"})[0], {"name"}), "JOB_COMPLETION_INDEX");
  EXPECT_EQ(kube::raw_text(kube::list(one, {"env"})[0], {"value"}), "7");
}

TEST(KubeArrays, TasksFollowFromJobsAndPods) {
  const Value oom = Value::map(
      {{"containerStatuses",
        Value::list({Value::map({{"state", Value::map({{"terminated", Value::map({{"reason", Value("OOMKilled")},
                                                                                  {"exitCode", Value(137)}})}})}})})}});
  const Value pull = Value::map(
      {{"containerStatuses",
        Value::list(
            {Value::map({{"state", Value::map({{"waiting", Value::map({{"reason", Value("ErrImagePull")}})}})}})})}});
  const std::vector<Value> jobs = {indexed_job(plan(6), 1)};
  const std::vector<KubeArrayTask> tasks =
      array_tasks(jobs, {pod("1", "0", "Succeeded"), pod("1", "1", "Failed", oom), pod("1", "2", "Failed"),
                         pod("1", "2", "Running"), pod("1", "3", "Pending", pull), pod("2", "4", "Succeeded"),
                         pod("1", "77", "Succeeded"), pod("1", "-1", "Running")});
  ASSERT_EQ(tasks.size(), 6U);
  EXPECT_EQ(tasks[0].phase, Phase::ended);
  EXPECT_EQ(tasks[0].pod, "pod-0-Succeeded");
  EXPECT_EQ(tasks[1].phase, Phase::waiting) << "the Job controller tries again";
  EXPECT_THAT(tasks[1].reason, HasSubstr("OOMKilled"));
  EXPECT_EQ(tasks[2].phase, Phase::running);
  EXPECT_EQ(tasks[3].reason, "ErrImagePull");
  EXPECT_EQ(tasks[4].phase, Phase::waiting) << "the pod is of another submission";
  EXPECT_EQ(tasks[5].phase, Phase::waiting);
}

TEST(KubeArrays, NothingWaitsOnceTheJobHasEnded) {
  const std::vector<KubeArrayTask> failed =
      array_tasks({with_end(indexed_job(plan(3), 1), "Failed")}, {pod("1", "0", "Succeeded"), pod("1", "1", "Failed")});
  EXPECT_EQ(failed[0].end, "");
  EXPECT_EQ(failed[1].end, "failed");
  EXPECT_EQ(failed[2].end, "R");
  const std::vector<KubeArrayTask> gone = array_tasks({with_end(indexed_job(plan(1), 1), "Complete")}, {});
  EXPECT_EQ(gone[0].phase, Phase::ended);
  EXPECT_EQ(gone[0].end, "its pod is gone") << "its output cannot be read";
  Value deleting = indexed_job(plan(1), 1);
  deleting["metadata"].set("deletionTimestamp", Value("2026-01-01T00:00:00Z"));
  EXPECT_EQ(array_tasks({deleting}, {})[0].end, "deleted");
}

class KubeArraysCalls : public ::testing::Test {
 protected:
  void answer_list(const char* kind, std::vector<Value> items = {}) {
    for (Value& item : items) item["metadata"].set("namespace", Value("a")).set("uid", Value("u"));
    for (Value& item : items) item["metadata"].set("resourceVersion", Value("5"));
    Value list = fake_list(std::move(items), "5");
    list.set("kind", Value(std::string(kind) + "List"));
    transport_.answer(list);
  }
  void answer_made(Value object) {
    object["metadata"].set("uid", Value("u")).set("resourceVersion", Value("5"));
    transport_.answer(201, write_json_line(object));
  }
  void answer_lists(std::initializer_list<const char*> kinds) {
    for (const char* kind : kinds) answer_list(kind);
  }
  oob::ManualClock clock_;
  kube::FakeTransport transport_{clock_};
  kube::Client client_{transport_, clock_, RandomStream(1, "arrays")};
  KubeArrays arrays_{client_, "a"};
};

TEST_F(KubeArraysCalls, OneIndexedJobWhereTheServerHasThem) {
  answer_lists({"Job", "Pod"});
  answer_made(indexed_job(plan(), 1));  // the dry run
  answer_lists({"Job", "ConfigMap"});
  answer_made(array_files(plan(), 1));
  answer_made(indexed_job(plan(), 1));
  const Result<std::string> submitted = arrays_.submit(plan());
  ASSERT_TRUE(submitted.ok()) << submitted.error().text();
  EXPECT_EQ(*submitted, "sweep-1");
  EXPECT_THAT(transport_.sent[2].target, HasSubstr("dryRun=All"));
  EXPECT_THAT(transport_.sent[6].body, HasSubstr("\"completionMode\": \"Indexed\""));
  EXPECT_TRUE(transport_.finished());
}

TEST_F(KubeArraysCalls, AJobPerTaskWhereTheModeIsDropped) {
  Value dropped = indexed_job(plan(3), 1);
  dropped["spec"].set("completionMode", Value());
  KubeArrayPlan three = plan(3);
  three.at_once = 2;
  answer_lists({"Job", "Pod"});
  answer_made(dropped);
  answer_lists({"Job", "ConfigMap"});
  answer_made(array_files(three, 1));
  for (const std::uint64_t task : {std::uint64_t{0}, std::uint64_t{1}}) answer_made(task_job(three, 1, task));
  ASSERT_TRUE(arrays_.submit(three).ok());
  EXPECT_TRUE(transport_.finished()) << "two at once";
  for (const kube::ApiRequest& request : transport_.sent) {
    if (!contains(request.target, "dryRun")) EXPECT_THAT(request.body, Not(HasSubstr("Indexed")));
  }
  // The third one follows as soon as another has ended.
  answer_list("Job", {with_end(task_job(three, 1, 0), "Complete"), task_job(three, 1, 1)});
  answer_list("Pod", {pod("1", "0", "Succeeded")});
  answer_made(task_job(three, 1, 2));
  const Result<std::vector<KubeArrayTask>> tasks = arrays_.list("sweep");
  ASSERT_TRUE(tasks.ok()) << tasks.error().text();
  EXPECT_TRUE(transport_.finished());
  ASSERT_EQ(tasks->size(), 3U);
  EXPECT_EQ((*tasks)[0].phase, Phase::ended);
  EXPECT_EQ((*tasks)[2].phase, Phase::waiting);
}

TEST_F(KubeArraysCalls, FilesThatDoNotFitAreRefused) {
  KubeArrayPlan large = plan();
  large.files["job.yaml"] = std::string(1'100'000, 'x');
  const Result<std::string> submitted = arrays_.submit(large);
  ASSERT_FALSE(submitted.ok());
  EXPECT_THAT(submitted.error().text(), HasSubstr("a ConfigMap holds"));
  EXPECT_TRUE(transport_.sent.empty());
}

}  // namespace
}  // namespace weft::world
