#include "workload/control/path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "workload/storage/fixture.h"

namespace weft::workload {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

double seconds(SimTime time) { return static_cast<double>(time.count()) / 1e12; }

const LifeEvent* find(const LifeState& state, const std::string& word) {
  for (const LifeEvent& event : state.events) {
    if (event.what.find(word) != std::string::npos) return &event;
  }
  ADD_FAILURE() << "no event \"" << word << '"';
  static const LifeEvent kNothing;
  return &kNothing;
}

std::vector<std::string> names(const LifeState& state) {
  std::vector<std::string> all;
  for (const LifeEvent& event : state.events) all.push_back(event.what);
  return all;
}

const MediumUse& use(const LifeState& state, Medium medium) { return state.use[static_cast<std::size_t>(medium)]; }

NcclMachine machine() {
  NcclMachine machine;
  machine.architecture = "hopper";
  machine.nvlink = model::ByteRate{gigabytes(450)};
  machine.nic = gigabits(400);
  return machine;
}

TEST(SubmitState, KubernetesEventsInOrder) {
  const Lab lab = make_lab(LabOptions{}, "  data: {}\n");
  const LifeState state = submit_state(lab.cluster(), *lab.job, lab.hosts, {});
  EXPECT_EQ(state.number, 1);
  EXPECT_THAT(names(state),
              ElementsAre("kubectl apply", "admission: quota and policy webhooks", "job written to etcd",
                          "operator creates pods and services", "gang scheduling: all pods or none",
                          "topology-aware placement", "kubelets receive their pods", "image pull", "image unpack",
                          "volumes and pod networks", "device plugins", "containers start"));
  SimTime last;
  for (const LifeEvent& event : state.events) {
    EXPECT_GE(event.start, last) << event.what;
    EXPECT_GT(event.duration, SimTime(0)) << event.what;
    last = event.start;
  }
  EXPECT_EQ(state.duration, state.events.back().start + state.events.back().duration);
  EXPECT_EQ(state.main, Medium::frontend);
  EXPECT_THAT(state.dark, ElementsAre(Medium::backend, Medium::storage, Medium::oob, Medium::nvlink));
  EXPECT_EQ(use(state, Medium::backend).bytes, Bytes(0));
}

// A server uses 3 connections of 42 Gb/s, less than its 2 x 100G; the registry's 3 servers send 75 GB/s, which 8
// servers would exceed. Unpacking takes 145 s.
TEST(SubmitState, ImagePullIsBoundBySocketsThenByTheRegistry) {
  const Lab few = make_lab(LabOptions{}, "  data: {}\n", 4);
  const LifeState small = submit_state(few.cluster(), *few.job, few.hosts, {});
  EXPECT_NEAR(seconds(find(small, "image pull")->duration), 10 / (3 * 5.25), 1e-6);
  EXPECT_THAT(find(small, "image pull")->detail, HasSubstr("3 connections at 42 Gb/s"));
  const Lab lab = make_lab(LabOptions{}, "  data: {}\n");
  const LifeState state = submit_state(lab.cluster(), *lab.job, lab.hosts, {});
  const LifeEvent& pull = *find(state, "image pull");
  EXPECT_EQ(pull.bytes, gigabytes(80));
  EXPECT_NEAR(seconds(pull.duration), 80.0 / 75, 1e-6);
  EXPECT_EQ(
      pull.detail,
      "8 servers x 10GB from registry.lab.internal on pool `infra`, bound by the links of the registry's servers");
  EXPECT_NEAR(seconds(find(state, "image unpack")->duration), 10e9 / 69e6, 1e-6);
  const MediumUse& frontend = use(state, Medium::frontend);
  EXPECT_NEAR(frontend.peak, 75.0 / 200, 1e-3);
  EXPECT_NEAR(frontend.mean, 80 / seconds(state.duration) / 200, 1e-5);
  EXPECT_GE(frontend.busy, pull.duration);
}

// From an external registry, 4 links of 100G carry 80 GB in 1.6 s; a cached image is not pulled at all.
TEST(SubmitState, ExternalAndCachedImages) {
  Lab lab = make_lab(LabOptions{}, "  data: {}\n");
  lab.job->image.value = "nvcr.io/nvidia/pytorch:24.04-py3";
  const LifeState state = submit_state(lab.cluster(), *lab.job, lab.hosts, {});
  EXPECT_NEAR(seconds(find(state, "image pull")->duration), 80.0 / 50, 1e-6);
  EXPECT_THAT(find(state, "image pull")->detail, HasSubstr("external links"));
  ControlOptions half;
  half.cached = 0.5;
  EXPECT_EQ(find(submit_state(lab.cluster(), *lab.job, lab.hosts, half), "image pull")->bytes, gigabytes(40));
  ControlOptions all;
  all.cached = 1;
  const LifeState warm = submit_state(lab.cluster(), *lab.job, lab.hosts, all);
  EXPECT_LT(seconds(warm.duration), 6) << "the pod startup objective of 5 s, and the API";
  EXPECT_GT(seconds(warm.duration), 5);
}

// The operator's limit of 20 requests per second matters for larger jobs: 2 x 16 + 1 requests, a burst of 30.
TEST(SubmitState, ControllersAreRateLimited) {
  const Lab lab = make_lab(LabOptions{}, "  data: {}\n", 16);
  const LifeState state = submit_state(lab.cluster(), *lab.job, lab.hosts, {});
  EXPECT_NEAR(seconds(find(state, "operator creates")->duration), 3.0 / 20 + 0.0071, 1e-6);
}

TEST(SubmitState, SlurmEventsInOrder) {
  const Lab lab = make_lab(LabOptions{.more = "control_plane: {kind: slurm}\n"}, "  data: {}\n");
  const LifeState state = submit_state(lab.cluster(), *lab.job, lab.hosts, {});
  EXPECT_THAT(names(state),
              ElementsAre("sbatch", "slurmctld saves the job", "scheduling: all nodes at once, topology/tree",
                          "job launch to slurmd", "prolog", "srun: step launch, PMIx", "image import (pyxis, enroot)",
                          "image unpack and squashfs", "cgroups and devices", "containers start"));
  EXPECT_EQ(find(state, "image import")->bytes, gigabytes(80));
  const Lab both = make_lab(LabOptions{.more = "control_plane: {kind: both, allocator: kubernetes}\n"}, "  data: {}\n");
  EXPECT_EQ(submit_state(both.cluster(), *both.job, both.hosts, {}).events.front().what, "kubectl apply");
}

TEST(BootstrapState, FrontendThenBackend) {
  const Lab lab = make_lab(LabOptions{}, "  data: {}\n");
  const std::vector<BootstrapGroup> groups = {{"world", {64, 8}, 1}, {"tensor", {8, 8}, 8}, {"data", {8, 1}, 8}};
  const SimTime start(1'000'000'000'000);
  const LifeState state = bootstrap_state(lab.cluster(), *lab.job, lab.hosts, machine(), groups, start);
  EXPECT_EQ(state.number, 2);
  EXPECT_EQ(state.start, start);
  EXPECT_EQ(state.events.front().start, start);
  EXPECT_EQ(find(state, "TCPStore")->medium, Medium::frontend);
  EXPECT_NEAR(seconds(find(state, "TCPStore")->duration), 64 * 100.0 / 98'304, 1e-9);
  EXPECT_EQ(find(state, "world: queue pairs")->medium, Medium::backend);
  EXPECT_EQ(find(state, "tensor: queue pairs")->medium, Medium::nvlink);
  EXPECT_EQ(find(state, "data: queue pairs")->protocol, "RoCEv2 verbs");
  EXPECT_EQ(find(state, "first collective: all-reduce")->medium, Medium::backend);
  EXPECT_THAT(state.dark, ElementsAre(Medium::storage, Medium::oob));
  // 64 ranks receive data of 63 others, 3.2 KB each, and more.
  EXPECT_GT(use(state, Medium::frontend).bytes, Bytes(64 * 63 * 3200));
  EXPECT_EQ(use(state, Medium::backend).bytes, Bytes(2 * 7 * (1 << 20)));
  EXPECT_EQ(use(state, Medium::storage).bytes, Bytes(0));
  EXPECT_LT(seconds(state.duration), 10);
  const LifeEvent& warm_up = *find(state, "first collective: all-reduce");
  EXPECT_EQ(start + state.duration, warm_up.start + warm_up.duration) << "the backend is the last to end";
}

TEST(BootstrapState, RootsFromTheEnvironment) {
  const Lab one = make_lab(LabOptions{}, "  data: {}\n");
  const Lab many =
      make_lab(LabOptions{.more = "workload: {environment: {TORCH_NCCL_RANKS_PER_ROOT: \"8\"}}\n"}, "  data: {}\n");
  const std::vector<BootstrapGroup> groups = {{"world", {64, 8}, 1}};
  const auto bootstrap = [&](const Lab& lab) {
    return seconds(find(bootstrap_state(lab.cluster(), *lab.job, lab.hosts, machine(), groups, SimTime(0)),
                        "world: NCCL bootstrap")
                       ->duration);
  };
  EXPECT_NEAR(bootstrap(one) - bootstrap(many), 56 * 100.0 / 98'304, 1e-9);
}

TEST(BootstrapState, OneGpuNeedsNoCommunicator) {
  const Lab lab = make_lab(LabOptions{}, "  data: {}\n", 1);
  const LifeState state =
      bootstrap_state(lab.cluster(), *lab.job, lab.hosts, machine(), {{"world", {1, 1}, 1}}, SimTime(0));
  EXPECT_EQ(state.events.size(), 3U);
}

TEST(Medium, HasNames) {
  EXPECT_EQ(to_text(Medium::backend), "backend");
  EXPECT_EQ(to_text(Medium::host), "host");
}

}  // namespace
}  // namespace weft::workload
