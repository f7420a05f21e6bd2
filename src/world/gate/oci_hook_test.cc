#include "world/gate/oci_hook.h"

#include <gtest/gtest.h>

namespace weft::world {
namespace {

const std::vector<std::string> kDevices = {"/dev/nvidia[0-9]*"};

TEST(OciHookTest, StateHasIdAndBundle) {
  const Result<OciContainer> found =
      parse_oci_state(R"({"ociVersion": "1.0.2", "id": "c1", "status": "creating", "pid": 7, "bundle": "/run/b"})");
  ASSERT_TRUE(found.ok()) << found.error().text();
  EXPECT_EQ(found->id, "c1");
  EXPECT_EQ(found->bundle, "/run/b");
  for (const char* bad :
       {"", "[]", "{}", R"({"id": "", "bundle": "/b"})", R"({"id": 7, "bundle": "/b"})", R"({"id": "c1"})", "\xff"}) {
    EXPECT_FALSE(parse_oci_state(bad).ok()) << bad;
  }
}

TEST(OciHookTest, GpusComeAsDevicesVariablesAndMounts) {
  EXPECT_FALSE(*uses_gpu("{}", kDevices));
  EXPECT_FALSE(*uses_gpu(R"({"process": {"env": ["PATH=/bin", "NVIDIA_VISIBLE_DEVICES=void"]},
                             "linux": {"devices": [{"path": "/dev/fuse"}, {"path": "/dev/nvidiactl"}]},
                             "mounts": [{"destination": "/proc"}]})",
                         kDevices));
  EXPECT_TRUE(*uses_gpu(R"({"linux": {"devices": [{"path": "/dev/fuse"}, {"path": "/dev/nvidia3"}]}})", kDevices));
  EXPECT_TRUE(*uses_gpu(R"({"process": {"env": ["NVIDIA_VISIBLE_DEVICES=GPU-12"]}})", kDevices));
  EXPECT_TRUE(*uses_gpu(R"({"mounts": [{"destination": "/dev/nvidia0", "source": "/dev/nvidia0"}]})", kDevices));
  EXPECT_TRUE(*uses_gpu(R"({"mounts": [{"destination": "/var/run/nvidia-container-devices/0"}]})", kDevices));
  EXPECT_FALSE(*uses_gpu(R"({"mounts": null, "linux": null, "process": {"env": null}})", kDevices));
}

TEST(OciHookTest, RuntimesNoteTheNamespaceOfThePod) {
  EXPECT_EQ(*find_pod_namespace("{}"), "");
  EXPECT_EQ(*find_pod_namespace(R"({"annotations": {"io.kubernetes.cri.sandbox-namespace": "tools"}})"), "tools");
  EXPECT_EQ(*find_pod_namespace(R"({"annotations": {"io.kubernetes.pod.namespace": "tools"}})"), "tools");
  EXPECT_FALSE(find_pod_namespace(R"({"annotations": {"io.kubernetes.pod.namespace": 7}})").ok());
  EXPECT_FALSE(find_pod_namespace("[]").ok());
}

TEST(OciHookTest, WhatCannotBeReadIsNoContainerWithoutGpu) {
  for (const char* bad : {"", "[]", R"({"mounts": 7})", R"({"mounts": [{}]})", R"({"process": {"env": [7]}})",
                          R"({"linux": {"devices": {"path": "/dev/nvidia0"}}})"}) {
    EXPECT_FALSE(uses_gpu(bad, kDevices).ok()) << bad;
  }
}

}  // namespace
}  // namespace weft::world
