#include <gtest/gtest.h>

#include "health/readers/kernel_line_test_help.h"

// Lines are of public reports; each test names where they were found. What is expected was read from the line.
namespace weft::health {
namespace {

TEST(NvidiaMessage, ReadsSxids) {
  // leptonai/gpud 4a8de33 components/accelerator/nvidia/sxid/README.md
  EXPECT_EQ(
      describe_line("[6781753.400584] nvidia-nvswitch1: SXid (PCI:0000:06:00.0): 20034, Fatal, Link 48 LTSSM Fault Up"),
      "sxid:20034 [NVSwitch 0000:06:00] switch=1 severity=fatal link=48");
  // kmsg.go of the same
  EXPECT_EQ(
      describe_message("nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 12028, Non-fatal, Link 32 egress non-posted PRIV "
                       "error (First)"),
      "sxid:12028 [NVSwitch 0000:05:00] switch=3 severity=nonfatal link=32");
  // github.com/NVIDIA/nvtrust/issues/124, H100
  EXPECT_EQ(
      describe_line("[   38.178720] nvidia-nvswitch3: SXid (PCI:0000:04:00.0): 22013, Non-fatal, Link 44 Minion Link "
                    "DLREQ interrupt"),
      "sxid:22013 [NVSwitch 0000:04:00] switch=3 severity=nonfatal link=44");
  // comments of a public health agent: a code without a link
  EXPECT_EQ(
      describe_line("[38889.018130] nvidia-nvswitch0: SXid (PCI:0000:07:00.0): 10001, Non-fatal, PRI WRITE SYSB error, "
                    "instance=3"),
      "sxid:10001 [NVSwitch 0000:07:00] switch=0 severity=nonfatal");
  EXPECT_EQ(describe_line("[ 1108.858286] nvidia-nvswitch0: SXid (PCI:0000:c3:00.0): 24007, Fatal, Link 28 sourcetrack "
                          "timeout error (First)"),
            "sxid:24007 [NVSwitch 0000:c3:00] switch=0 severity=fatal link=28");
}

TEST(NvidiaMessage, CountsAnSxidOnce) {
  // github.com/NVIDIA/nvtrust/issues/124: two more lines follow each event
  EXPECT_EQ(
      describe_line("[   38.180708] nvidia-nvswitch3: SXid (PCI:0000:04:00.0): 22013, Severity 0 Engine instance 44 "
                    "Sub-engine instance 00"),
      "-");
  EXPECT_EQ(
      describe_line("[   38.175561] nvidia-nvswitch3: SXid (PCI:0000:04:00.0): 22013, Data {0x0000002b, 0x0000002b, "
                    "0x00000000, 0x0000002b, 0x80005302, 0x00000000, 0x00000000, 0x00000000, 0x00000000}"),
      "-");
}

TEST(NvidiaMessage, RefusesDamagedSxids) {
  for (const char* message : {"nvidia-nvswitch", "nvidia-nvswitch3: ", "nvidia-nvswitch3: SXid (PCI:0000:05:00.0)",
                              "nvidia-nvswitch0: SXid (PCI:0000:00:00.0): xyz, Fatal error",
                              "nvidia-nvswitch0: SXid (PCI:0000:00:00.0): 0, Fatal",
                              "nvidia-nvswitch0: SXid (PCI:0000:00:00.0): 20034999, Fatal, Link 1",
                              "nvidia-nvswitch0: SXid (PCI:0000:00:00.0): 20034x, Fatal, Link 1"}) {
    EXPECT_EQ(describe_message(message), "-") << message;
  }
}

TEST(NvidiaMessage, ReadsLostGpus) {
  // leptonai/gpud 4a8de33 components/accelerator/nvidia/sxid/README.md
  EXPECT_EQ(describe_message("NVRM: GPU 0000:91:00.0: GPU has fallen off the bus."), "gpu:lost [GPU 0000:91:00]");
  // github.com/NVIDIA/NVSentinel/issues/155: three lines without an Xid, of which dmesg gives only the first a time
  EXPECT_EQ(describe_line("[ 1843.308145] NVRM: The NVIDIA GPU 0000:b3:00.0"), "-");
  EXPECT_EQ(describe_line("               NVRM: (PCI ID: 10de:26b5) installed in this system has"), "-");
  EXPECT_EQ(describe_line("               NVRM: fallen off the bus and is not responding to commands."), "gpu:lost []");
  EXPECT_EQ(
      describe_line("{\"MESSAGE\":\"NVRM: The NVIDIA GPU 0000:b3:00.0\\nNVRM: (PCI ID: 10de:26b5) installed in this "
                    "system has\\nNVRM: fallen off the bus and is not responding to commands.\"}"),
      "gpu:lost [GPU 0000:b3:00]");
  // the same report: about the driver, not about one GPU
  EXPECT_EQ(describe_line("[ 1843.439662] NVRM: The NVIDIA probe routine failed for 1 device(s)."), "-");
  // github.com/NVIDIA/open-gpu-kernel-modules/issues/502: says which GPU an address is, nothing else
  EXPECT_EQ(describe_line("[ 7839.537906] NVRM: GPU at PCI:0000:26:00: GPU-b50e4ccf-b785-06da-31c0-1f77c0c46f4c"), "-");
}

TEST(NvidiaMessage, ReadsFailedInitialization) {
  // github.com/NVIDIA/gpu-operator/issues/1146
  EXPECT_EQ(
      describe_line("Dec  2 11:38:46 worker4 kernel: [  218.250408] NVRM: GPU 0000:0a:00.0: RmInitAdapter failed! "
                    "(0x24:0x72:1568)"),
      "gpu:init_failed [GPU 0000:0a:00] code=0x24:0x72:1568");
  EXPECT_EQ(
      describe_line("Dec  2 11:38:27 worker4 kernel: [  199.234935] NVRM: GPU 0000:0a:00.0: rm_init_adapter failed, "
                    "device minor number 5"),
      "gpu:init_failed [GPU 0000:0a:00] minor=5");
  // drivers before 2018, without the address
  EXPECT_EQ(describe_message("NVRM: RmInitAdapter failed! (0x26:0xffff:1096)"),
            "gpu:init_failed [] code=0x26:0xffff:1096");
  EXPECT_EQ(describe_message("NVRM: rm_init_adapter failed for device bearing minor number 0"),
            "gpu:init_failed [] minor=0");
}

TEST(NvidiaMessage, ReadsFailuresOfTheFabricManager) {
  // github.com/NVIDIA/gpu-operator/issues/610
  EXPECT_EQ(
      describe_line("Nov 15 14:15:47 leon-NF5468M6 systemd[1]: nvidia-fabricmanager.service: Control process exited, "
                    "code=exited, status=1/FAILURE"),
      "service:fabric_manager []");
  EXPECT_EQ(describe_line("Nov 15 14:15:47 leon-NF5468M6 nv-fabricmanager[4177]: request to query NVSwitch device "
                          "information from NVSwitch driver failed with error:WARNING Nothing to do "
                          "[NV_WARN_NOTHING_TO_DO]"),
            "service:fabric_manager [] error=NV_WARN_NOTHING_TO_DO");
  // github.com/data-infra/cube-studio/issues/29
  EXPECT_EQ(
      describe_line("Sep 18 03:19:01 ubuntu2404 nvidia-fabricmanager-start.sh[4753]: \"/usr/bin/nv-fabricmanager -c "
                    "/usr/share/nvidia/nvswitch/fabricmanager.cfg\" failed! Exit code: 1"),
      "service:fabric_manager []");
  EXPECT_EQ(describe_line("Sep 18 03:19:01 ubuntu2404 nvidia-fabricmanager-start.sh[4753]: Detected Pre-NVL5 system"),
            "-");
  // systemd's words for every unit
  EXPECT_EQ(
      describe_line("Nov 15 14:15:47 n1 systemd[1]: nvidia-fabricmanager.service: Failed with result 'exit-code'."),
      "service:fabric_manager [] result=exit-code");
  EXPECT_EQ(describe_line("Nov 15 14:15:47 n1 systemd[1]: Failed to start NVIDIA fabric manager service."),
            "service:fabric_manager []");
  EXPECT_EQ(describe_line("[ 46.480891] systemd[1]: nvidia-fabricmanager.service: Main process exited, code=killed, "
                          "status=9/KILL"),
            "service:fabric_manager []");
  EXPECT_EQ(describe_line("{\"_TRANSPORT\":\"journal\",\"SYSLOG_IDENTIFIER\":\"systemd\",\"MESSAGE\":"
                          "\"nvidia-fabricmanager.service: Failed with result 'exit-code'.\"}"),
            "service:fabric_manager [] result=exit-code");
  // github.com/NVIDIA/nvtrust/issues/128: stopped by an operator
  EXPECT_EQ(describe_line("Jan 05 15:32:16 TENCENT64 systemd[1]: Stopping nvidia-fabricmanager.service - NVIDIA fabric "
                          "manager service..."),
            "-");
  EXPECT_EQ(describe_line("Nov 15 14:15:47 n1 systemd[1]: ssh.service: Failed with result 'exit-code'."), "-");
}

}  // namespace
}  // namespace weft::health
