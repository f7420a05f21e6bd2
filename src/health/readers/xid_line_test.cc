#include "health/readers/xid_line.h"

#include <gtest/gtest.h>

#include <string>

#include "health/readers/kernel_line_test_help.h"

// Lines are of public reports; each test names where they were found. What is expected was read from the line.
namespace weft::health {
namespace {

TEST(XidLine, ReadsDriversBefore2012) {
  // posts on Ubuntu Forums, 2006 to 2008: the address has no domain
  EXPECT_EQ(
      describe_line("Jul  3 22:20:47 morten-desktop kernel: [42866.662617] NVRM: Xid (0001:00): 16, Head 00000000 "
                    "Count 003476ad"),
      "xid:16 [GPU 0000:01:00]");
  EXPECT_EQ(describe_message("NVRM: Xid (0001:00): 6, PE0000 0998 00ffffff 00005f44 00000000 00000000"),
            "xid:6 [GPU 0000:01:00]");
  EXPECT_EQ(describe_line("Nov  8 19:45:15 twoduo kernel: [ 7528.396000] NVRM: Xid (0001:00): 8, Channel 00000003"),
            "xid:8 [GPU 0000:01:00] channel=0x3");
  // posts there, 2010 to 2012: a domain, but no "PCI:"
  EXPECT_EQ(describe_line("May 10 22:25:01 jambi kernel: [176830.774761] NVRM: Xid (0000:03:00): 13, 0003 00000000 "
                          "00008297 00001098 00000000 00000044"),
            "xid:13 [GPU 0000:03:00]");
  EXPECT_EQ(describe_message("NVRM: Xid (0000:01:00): 8, Channel 00000020"), "xid:8 [GPU 0000:01:00] channel=0x20");
  // docs.nvidia.com/deploy/pdf/XID_Errors.pdf
  EXPECT_EQ(describe_message("NVRM: Xid (0000:03:00): 14, Channel 00000001"), "xid:14 [GPU 0000:03:00] channel=0x1");
}

TEST(XidLine, ReadsLinesWithoutAProcess) {
  // forums.developer.nvidia.com/t/xid-79-gpu-has-fallen-off-the-bus/49452
  EXPECT_EQ(describe_line("[155044.078590] NVRM: Xid (PCI:0000:06:00): 79, GPU has fallen off the bus."),
            "xid:79 [GPU 0000:06:00]");
  // github.com/Bumblebee-Project/Bumblebee/issues/677
  EXPECT_EQ(describe_line("[24128.828315] NVRM: Xid (PCI:0000:01:00): 32, Channel ID 00000000 intr 00004000"),
            "xid:32 [GPU 0000:01:00] channel=0x0");
  EXPECT_EQ(
      describe_line("[24128.834365] NVRM: Xid (PCI:0000:01:00): 31, Ch 00000003, engmask 00000101, intr 10000000"),
      "xid:31 [GPU 0000:01:00] channel=0x3");
  // forums.developer.nvidia.com/t/error-graphics-sm-warp-exception-on-gpc-1-tpc-0-out-of-range-address-xid-13-xid-43/47210
  EXPECT_EQ(describe_message("NVRM: Xid (PCI:0000:01:00): 43, Ch 00000020, engmask 00000101"),
            "xid:43 [GPU 0000:01:00] channel=0x20");
  // a post on Ubuntu Forums
  EXPECT_EQ(
      describe_line("Nov  4 17:34:16 james-VPCF22M0E kernel: [ 3224.864246] NVRM: Xid (PCI:0000:01:00): 69, Class "
                    "Error: ChId 0003, Class 00009197, Offset 00002480, Data 3c5f1928, ErrorCode 0000000c"),
      "xid:69 [GPU 0000:01:00]");
  // a post on Ubuntu Forums, on hibernation
  EXPECT_EQ(describe_message("NVRM: Xid (PCI:0000:01:00): 61, 1927(16e4) 00000000 00000000"),
            "xid:61 [GPU 0000:01:00]");
}

TEST(XidLine, ReadsTheProcess) {
  // public notes on Xubuntu 20.04 and driver 450: a process, but no name
  EXPECT_EQ(describe_line("Oct 06 17:59:27 balrog kernel: NVRM: Xid (PCI:0000:01:00): 79, pid=1122, GPU has fallen off "
                          "the bus."),
            "xid:79 [GPU 0000:01:00] pid=1122");
  // a post on Ubuntu Forums
  EXPECT_EQ(describe_line("[  416.096726] NVRM: Xid (PCI:0000:01:00): 62, pid=2763, 0c83(1870) 00000000 00000000"),
            "xid:62 [GPU 0000:01:00] pid=2763");
  // leptonai/gpud 4a8de33 components/accelerator/nvidia/sxid/README.md: neither is known
  EXPECT_EQ(
      describe_message("NVRM: Xid (PCI:0000:91:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."),
      "xid:79 [GPU 0000:91:00]");
  // github.com/NVIDIA/open-gpu-kernel-modules/issues/461, aarch64: another domain
  EXPECT_EQ(
      describe_message("NVRM: Xid (PCI:0004:01:00): 119, pid=430, name=nv_queue, Timeout waiting for RPC from GSP!"),
      "xid:119 [GPU 0004:01:00] pid=430 process=nv_queue");
  // leptonai/gpud 4a8de33 components/accelerator/nvidia/xid/testdata/dmesg-with-xid-119.log
  EXPECT_EQ(
      describe_message("NVRM: Xid (PCI:0000:9b:00): 119, pid=2024380, name=nvidia-smi, Timeout after 6s of waiting "
                       "for RPC response from GPU4 GSP! Expected function 103 (GSP_RM_ALLOC) (0x2081 0x4)."),
      "xid:119 [GPU 0000:9b:00] pid=2024380 process=nvidia-smi");
  // NVIDIA/NVSentinel, end-to-end tests of the health events analyzer
  EXPECT_EQ(
      describe_line("kernel: [16450076.435595] NVRM: Xid (PCI:0001:00:00): 120, pid=3110652, name=pt_main_thread, "
                    "Ch 00000005"),
      "-");  // no time: no form of a log line
  EXPECT_EQ(describe_message("NVRM: Xid (PCI:0001:00:00): 120, pid=3110652, name=pt_main_thread, Ch 00000005"),
            "xid:120 [GPU 0001:00:00] pid=3110652 process=pt_main_thread channel=0x5");
  // github.com/NVIDIA/open-gpu-kernel-modules/issues/1045
  EXPECT_EQ(describe_message("NVRM: Xid (PCI:0000:07:00): 38, pid=326, name=modprobe, channel 0x00000003 0000c597 "
                             "00000000 00000000"),
            "xid:38 [GPU 0000:07:00] pid=326 process=modprobe channel=0x3");
  // leptonai/gpud 4a8de33 components/memory/testdata/dmesg.decode.iso.log
  EXPECT_EQ(describe_message("NVRM: Xid (PCI:0000:38:00): 43, pid=2924364, name=pt_main_thread, Ch 00000008"),
            "xid:43 [GPU 0000:38:00] pid=2924364 process=pt_main_thread channel=0x8");
  // github.com/elFarto/nvidia-vaapi-driver/issues/298
  EXPECT_EQ(
      describe_line("[ 3952.557659] NVRM: Xid (PCI:0000:05:00): 44, pid='<unknown>', name=<unknown>, Ch 0000000a, "
                    "intr 00000000"),
      "xid:44 [GPU 0000:05:00] channel=0xa");
  EXPECT_EQ(
      describe_line("[ 3947.310904] NVRM: Xid (PCI:0000:05:00): 109, pid='<unknown>', name=<unknown>, Ch 00000008, "
                    "errorString CTX SWITCH TIMEOUT, Info 0x4ac003"),
      "xid:109 [GPU 0000:05:00] channel=0x8");
  // github.com/NVIDIA/open-gpu-kernel-modules/issues/962
  EXPECT_EQ(
      describe_message("NVRM: Xid (PCI:0000:01:00): 109, pid=15349, name=Main, channel 0x00000018, errorString CTX "
                       "SWITCH TIMEOUT, Info 0x5c02a"),
      "xid:109 [GPU 0000:01:00] pid=15349 process=Main channel=0x18");
  // public reports on driver 595.84 and later (2026): codes of the watchdog and of the scheduler
  EXPECT_EQ(describe_line("[Mon Aug 31 20:32:14 2026] NVRM: Xid (PCI:0000:01:00): 8, pid=908552, name=python3, channel "
                          "0x00000005"),
            "xid:8 [GPU 0000:01:00] pid=908552 process=python3 channel=0x5");
  EXPECT_EQ(describe_message("NVRM: Xid (PCI:0000:0d:00): 51, BAD_TSG encountered on runlist: 0 with error code: 4"),
            "xid:51 [GPU 0000:0d:00]");
  // a public report on NixOS: the display engine has no process
  EXPECT_EQ(
      describe_line("Sep 09 12:24:27 nixos kernel: NVRM: Xid (PCI:0000:01:00): 16, pid='<unknown>', name=<unknown>, "
                    "Head 00000003 Count 0023070b"),
      "xid:16 [GPU 0000:01:00]");
}

TEST(XidLine, NamesTheXidBeforeACleanup) {
  // github.com/NVIDIA/open-gpu-kernel-modules/issues/1150
  EXPECT_EQ(
      describe_message("NVRM: Xid (PCI:0000:dc:00): 45, pid=1818990, name=python3, Ch 00000001 caused by previous "
                       "Xid 149"),
      "xid:45 [GPU 0000:dc:00] pid=1818990 process=python3 channel=0x1 previous=149");
}

TEST(XidLine, ReadsTheProcessorOfAnException) {
  // leptonai/gpud 4a8de33 components/memory/testdata/dmesg.decode.iso.log
  EXPECT_EQ(
      describe_message("NVRM: Xid (PCI:0000:38:00): 13, pid='<unknown>', name=<unknown>, Graphics SM Warp Exception "
                       "on (GPC 9, TPC 1, SM 1): Out Of Range Address"),
      "xid:13 [GPU 0000:38:00] gpc=9 tpc=1 sm=1");
  EXPECT_EQ(describe_message("NVRM: Xid (PCI:0000:38:00): 13, pid='<unknown>', name=<unknown>, Graphics Exception: ESR "
                             "0x546fb0=0x11f000e 0x546fb4=0x24 0x546fa8=0xf81eb60 0x546fac=0x1174"),
            "xid:13 [GPU 0000:38:00]");
  // forums.developer.nvidia.com/t/.../47210, 2017: without SM
  EXPECT_EQ(
      describe_message("NVRM: Xid (PCI:0000:01:00): 13, Graphics SM Warp Exception on (GPC 1, TPC 0): Out Of Range "
                       "Address"),
      "xid:13 [GPU 0000:01:00] gpc=1 tpc=0");
}

TEST(XidLine, ReadsMmuFaults) {
  // github.com/NVIDIA/open-gpu-kernel-modules/issues/1030
  EXPECT_EQ(describe_line("[ 130.456250] [ T1946] NVRM: Xid (PCI:0000:2b:00): 31, pid=1942, name=llama-bench, channel "
                          "0x00000002, intr 00000000. MMU Fault: ENGINE GRAPHICS GPC6 GPCCLIENT_T1_13 faulted @ "
                          "0x6f6f_320c2000. Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_READ"),
            "xid:31 [GPU 0000:2b:00] pid=1942 process=llama-bench channel=0x2 engine=GRAPHICS gpc=6 "
            "client=GPCCLIENT_T1_13 fault=FAULT_PDE access=ACCESS_TYPE_VIRT_READ");
  // github.com/elFarto/nvidia-vaapi-driver/issues/298
  EXPECT_EQ(
      describe_message("NVRM: Xid (PCI:0000:05:00): 31, pid='<unknown>', name=<unknown>, Ch 0000000a, intr 00000000. "
                       "MMU Fault: ENGINE GRAPHICS GPCCLIENT_GCC faulted @ 0x0_00000000. Fault is of type FAULT_PDE "
                       "ACCESS_TYPE_VIRT_READ"),
      "xid:31 [GPU 0000:05:00] channel=0xa engine=GRAPHICS client=GPCCLIENT_GCC fault=FAULT_PDE "
      "access=ACCESS_TYPE_VIRT_READ");
  // DataDog/datadog-agent, tests of its GPU check: a copy engine
  EXPECT_EQ(
      describe_message("NVRM: Xid (PCI:0000:35:00): 31, pid=3634001, name=vectorAdd, channel 0x01000020, intr "
                       "00000000. MMU Fault: ENGINE CE2 HUBCLIENT_CE0 faulted @ 0x792c_58000000. Fault is of type "
                       "FAULT_PDE ACCESS_TYPE_VIRT_WRITE"),
      "xid:31 [GPU 0000:35:00] pid=3634001 process=vectorAdd channel=0x1000020 engine=CE2 client=HUBCLIENT_CE0 "
      "fault=FAULT_PDE access=ACCESS_TYPE_VIRT_WRITE");
}

TEST(XidLine, ReadsMemoryErrors) {
  // a public runbook on row remapping (October 2025), which has the three lines of one event
  EXPECT_EQ(
      describe_line("[430954.509105] NVRM: Xid (PCI:0000:52:00): 48, pid='<unknown>', name=<unknown>, An "
                    "uncorrectable double bit error (DBE) has been detected on GPU in the framebuffer at physAddr "
                    "0x18f31d80 partition 16, subpartition 3."),
      "xid:48 [GPU 0000:52:00] address=0x18f31d80 partition=16 subpartition=3");
  EXPECT_EQ(
      describe_line("[430954.532443] NVRM: Xid (PCI:0000:52:00): 63, pid='<unknown>', name=<unknown>, Row Remapper: "
                    "New row (0x0000000018f31d80) marked for remapping, reset gpu to activate."),
      "xid:63 [GPU 0000:52:00] address=0x0000000018f31d80");
  EXPECT_EQ(
      describe_line("[430954.533994] NVRM: Xid (PCI:0000:52:00): 94, pid='<unknown>', name=<unknown>, Contained: SM "
                    "(0x1). RST: No, D-RST: No"),
      "xid:94 [GPU 0000:52:00] containment=contained cause=SM (0x1) reset=no drain_reset=no");
  // stas00/ml-engineering compute/accelerator/nvidia/debug.md, on AWS: the device number is above 15
  EXPECT_EQ(
      describe_message("NVRM: Xid (PCI:0000:10:1c): 63, pid=1896, Row Remapper: New row marked for remapping, reset "
                       "gpu to activate."),
      "xid:63 [GPU 0000:10:1c] pid=1896");
  // github.com/NVIDIA/gpu-operator/issues/1146
  EXPECT_EQ(
      describe_message("NVRM: Xid (PCI:0000:8a:00): 48, An uncorrectable double bit error (DBE) has been detected on "
                       "GPU in the framebuffer at partition 4, subpartition 1"),
      "xid:48 [GPU 0000:8a:00] partition=4 subpartition=1");
  EXPECT_EQ(describe_line("Dec  2 11:38:47 worker4 kernel: [  219.471050] NVRM: Xid (PCI:0000:07:00): 64, "
                          "pid='<unknown>', name=<unknown>, Dynamic Page Retirement: Blacklisting failed.  Page should "
                          "have been blacklisted on boot(0x00000000007fffa8)."),
            "xid:64 [GPU 0000:07:00] address=0x00000000007fffa8");
  // docs.nvidia.com/deploy/a100-gpu-mem-error-mgmt, with MIG and without
  EXPECT_EQ(
      describe_message("NVRM: Xid (PCI:0000:01:00 GPU-I:05): 94, pid=7194, Contained: CE User Channel (0x9). RST: "
                       "No, D-RST: No"),
      "xid:94 [GPU 0000:01:00] gi=5 pid=7194 containment=contained cause=CE User Channel (0x9) reset=no "
      "drain_reset=no");
  EXPECT_EQ(
      describe_message("NVRM: Xid (PCI:0000:01:00): 95, pid=7062, Uncontained: LTC TAG (0x2,0x0). RST: Yes, D-RST: "
                       "No"),
      "xid:95 [GPU 0000:01:00] pid=7062 containment=uncontained cause=LTC TAG (0x2,0x0) reset=yes drain_reset=no");
  // a public log of Ansible over a cluster (August 2024)
  EXPECT_EQ(
      describe_line("[Sun Aug 25 20:10:45 2024] NVRM: Xid (PCI:0000:2a:00): 140, pid='<unknown>', name=<unknown>, An "
                    "uncorrectable ECC error detected (possible firmware handling failure) DRAM:0, LTC:0, MMU:0, "
                    "PCIE:0)"),
      "xid:140 [GPU 0000:2a:00] dram_errors=0 ltc_errors=0 mmu_errors=0 pcie_errors=0");
  // DataDog/datadog-agent, tests of its GPU check, after the formats in the open driver
  EXPECT_EQ(describe_message("NVRM: Xid (PCI:0000:00:1e): 64, Row Remapper Error: (0x0000000000abcdef) - Row Remapping "
                             "table is full"),
            "xid:64 [GPU 0000:00:1e] address=0x0000000000abcdef");
  EXPECT_EQ(describe_message("NVRM: Xid (PCI:0000:00:1e): 48, Double Bit ECC Error at physAddr 0x0000_0000_0123_4567, "
                             "partition 1, subpartition 2"),
            "xid:48 [GPU 0000:00:1e] address=0x0000000001234567 partition=1 subpartition=2");
  EXPECT_EQ(
      describe_message("NVRM: Xid (PCI:0000:00:1e): 160, Marking Channel 3 in FBPA 2 along with its pair for repair. "
                       "Perform node reboot to activate repair."),
      "xid:160 [GPU 0000:00:1e]");
  EXPECT_EQ(describe_message("NVRM: Xid (PCI:0000:00:1e): 161, Repairing Channel failed as there are no more spare "
                             "channels."),
            "xid:161 [GPU 0000:00:1e]");
  EXPECT_EQ(
      describe_message("NVRM: Xid (PCI:0000:00:1e): 156, Retiring TPC 4 from GPC 2 with a spare from the same GPC."),
      "xid:156 [GPU 0000:00:1e] gpc=2 tpc=4");
  EXPECT_EQ(
      describe_message("NVRM: Xid (PCI:0000:00:1e): 157, Unable to retire TPC 7 from GPC 3 as there are no spare TPCs "
                       "available."),
      "xid:157 [GPU 0000:00:1e] gpc=3 tpc=7");
}

TEST(XidLine, ReadsNvlinkRegisters) {
  // NVIDIA/NVSentinel docs/designs/022-workflow-nvlink-err.md
  EXPECT_EQ(
      describe_line("[449410.332316] NVRM: Xid (PCI:0003:00:00): 74, pid='<unknown>', name=<unknown>, NVLink: fatal "
                    "error detected on link 14(0x0, 0x0, 0x10000, 0x0, 0x0, 0x0, 0x0)"),
      "xid:74 [GPU 0003:00:00] link=14 reg0=0x0 reg1=0x0 reg2=0x10000 reg3=0x0 reg4=0x0 reg5=0x0 reg6=0x0");
  // a public guide to tests of SageMaker HyperPod's node recovery
  EXPECT_EQ(
      describe_message("NVRM: Xid (PCI:0000:b9:00): 74, pid=<unknown>, name=<unknown>, NVLink: fatal error detected "
                       "on link 6(0x10000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)"),
      "xid:74 [GPU 0000:b9:00] link=6 reg0=0x10000 reg1=0x0 reg2=0x0 reg3=0x0 reg4=0x0 reg5=0x0 reg6=0x0");
  // forums.developer.nvidia.com/t/kernel-nvrm-xid-74-.../292539: no registers
  EXPECT_EQ(describe_message("NVRM: Xid (PCI:0000:c1:00): 74, pid='<unknown>', name=<unknown>, NVLink: fatal error "
                             "detected on link 1"),
            "xid:74 [GPU 0000:c1:00] link=1");
}

TEST(XidLine, ReadsNvlink5) {
  // leptonai/gpud 4a8de33 components/accelerator/nvidia/xid/kmsg_extended_test.go, GB200
  EXPECT_EQ(
      describe_message("NVRM: Xid (PCI:0018:01:00): 149, NETIR_LINK_EVT Fatal XC0 i0 Link 08 (0x004505c6 0x00000000 "
                       "0x00000000 0x00000000 0x00000000 0x00000000)"),
      "xid:149 [GPU 0018:01:00] unit=NETIR subunit=NETIR_LINK_EVT severity=fatal link=8 subcode=4 "
      "status0=0x004505c6 status1=0x00000000 status2=0x00000000 status3=0x00000000 status4=0x00000000 "
      "status5=0x00000000");
  EXPECT_EQ(
      describe_message("NVRM: Xid (PCI:0018:01:00): 145, pid=876767, name=ray::WorkerDict, RLW_RXPIPE Nonfatal XC0 "
                       "i0 Link 13 (0x0409a0c2 0x00000008 0x00000001 0x00000000 0x00100000 0x00000004)"),
      "xid:145 [GPU 0018:01:00] pid=876767 process=ray::WorkerDict unit=RLW subunit=RLW_RXPIPE severity=nonfatal "
      "link=13 subcode=0 status0=0x0409a0c2 status1=0x00000008 status2=0x00000001 status3=0x00000000 "
      "status4=0x00100000 status5=0x00000004");
  EXPECT_EQ(describe_message("NVRM: Xid (PCI:0019:01:00): 149, NETIR Fatal XC0 i0 Link -1 (0x000fe406 0x00000000 "
                             "0x00000000 0x00000000 0x00000000 0x00000000)"),
            "xid:149 [GPU 0019:01:00] unit=NETIR subunit=NETIR severity=fatal subcode=0 status0=0x000fe406 "
            "status1=0x00000000 status2=0x00000000 status3=0x00000000 status4=0x00000000 status5=0x00000000");
  // kmsg_test.go of the same: several spaces
  EXPECT_EQ(describe_message("NVRM: Xid (PCI:0009:01:00): 149, NETIR_LINK_EVT  Fatal   XC0 i0 Link 01 (0x021425c6 "
                             "0x00000000 0x00000000 0x00000000 0x00000000 0x00000000)"),
            "xid:149 [GPU 0009:01:00] unit=NETIR subunit=NETIR_LINK_EVT severity=fatal link=1 subcode=33 "
            "status0=0x021425c6 status1=0x00000000 status2=0x00000000 status3=0x00000000 status4=0x00000000 "
            "status5=0x00000000");
  // github.com/leptonai/gpud/pull/1160: subcode 37
  EXPECT_EQ(
      describe_message("NVRM: Xid (PCI:0000:00:00): 149, NETIR_LINK_EVT Fatal XC0 i0 Link 00 (0x025001c6 0x00000000 "
                       "0x00000000 0x00000000 0x00000000 0x00000000)"),
      "xid:149 [GPU 0000:00:00] unit=NETIR subunit=NETIR_LINK_EVT severity=fatal link=0 subcode=37 "
      "status0=0x025001c6 status1=0x00000000 status2=0x00000000 status3=0x00000000 status4=0x00000000 "
      "status5=0x00000000");
  EXPECT_EQ(describe_message("NVRM: Xid (PCI:0000:01:00): 144, SAW_MVB Nonfatal XC0 i0 Link 0 (0x00000001 0x00000008 "
                             "0x00000000 0x00000000 0x00000000 0x00000000)"),
            "xid:144 [GPU 0000:01:00] unit=SAW subunit=SAW_MVB severity=nonfatal link=0 subcode=0 status0=0x00000001 "
            "status1=0x00000008 status2=0x00000000 status3=0x00000000 status4=0x00000000 status5=0x00000000");
  // github.com/NVIDIA/TensorRT-LLM/issues/4816, B200: no words
  EXPECT_EQ(describe_message("NVRM: Xid (PCI:0000:5f:00): 145, RLW_REMAP Nonfatal XC0 i0 Link 02"),
            "xid:145 [GPU 0000:5f:00] unit=RLW subunit=RLW_REMAP severity=nonfatal link=2");
}

TEST(XidLine, ReadsNvlink5OfOtherUnits) {
  // leptonai/gpud 4a8de33 components/accelerator/nvidia/xid/nvlink_logs_test.go and health_state_test.go, after
  // NVIDIA's catalog
  EXPECT_EQ(describe_message("NVRM: Xid (PCI:0000:04:00): 146, TLW_RX/TLW_RX_PIPE0 Fatal XC0 i0 Link 00 (0x0000000a "
                             "0x00000004 0x00000000 0x00000000)"),
            "xid:146 [GPU 0000:04:00] unit=TLW subunit=TLW_RX_PIPE0 severity=fatal link=0 subcode=0 status0=0x0000000a "
            "status1=0x00000004 status2=0x00000000 status3=0x00000000");
  EXPECT_EQ(describe_message("NVRM: Xid (PCI:0000:04:00): 147, TREX Nonfatal XC0 i0 Link 00 (0x0000000e 0x00000001 "
                             "0x00000000 0x00000000)"),
            "xid:147 [GPU 0000:04:00] unit=TREX subunit=TREX severity=nonfatal link=0 subcode=0 status0=0x0000000e "
            "status1=0x00000001 status2=0x00000000 status3=0x00000000");
  EXPECT_EQ(describe_message("NVRM: Xid (PCI:0000:04:00): 148, NVLPW_CTRL/NVLPW Nonfatal XC0 i0 Link 00 (0x0000000f "
                             "0x80000000 0x00000000 0x00000000)"),
            "xid:148 [GPU 0000:04:00] unit=NVLPW subunit=NVLPW severity=nonfatal link=0 subcode=0 status0=0x0000000f "
            "status1=0x80000000 status2=0x00000000 status3=0x00000000");
  EXPECT_EQ(
      describe_message("NVRM: Xid (PCI:0000:04:00): 150, MSE_WATCHDOG Fatal XC0 i0 Link 00 (0x00000000 0x00000000 "
                       "0x00000000 0x00000000)"),
      "xid:150 [GPU 0000:04:00] unit=MSE subunit=MSE_WATCHDOG severity=fatal link=0 subcode=0 status0=0x00000000 "
      "status1=0x00000000 status2=0x00000000 status3=0x00000000");
  // DataDog/datadog-agent, tests of its GPU check: drivers before R575
  EXPECT_EQ(describe_message("NVRM: Xid (PCI:0000:00:1e): 149, NETIR_LINK_EVT Fatal XC 1 i 2 Link 01 [0x0000000a]"),
            "xid:149 [GPU 0000:00:1e] unit=NETIR subunit=NETIR_LINK_EVT severity=fatal link=1 subcode=0 "
            "status0=0x0000000a");
  // github.com/NVIDIA/nccl/issues/2241, whose author left out the addresses
  EXPECT_EQ(describe_message("NVRM: Xid (PCI:...): 137, RLW_RXPIPE interrupt hit on link 11 on GPU0: PRIV Error"),
            "xid:137 [] link=11");
}

TEST(XidLine, ReadsRecoveryActions) {
  // leptonai/gpud 4a8de33 components/accelerator/nvidia/xid/kmsg_test.go
  EXPECT_EQ(
      describe_message("NVRM: Xid (PCI:0019:01:00): 154, GPU recovery action changed from 0x4 (Drain and Reset) to "
                       "0x1 (GPU Reset Required)"),
      "xid:154 [GPU 0019:01:00] action=1 action_text=GPU Reset Required action_before=4");
  // a public report on a laptop with an AI Studio mainboard of MSI
  EXPECT_EQ(describe_line("Aug 12 01:22:51 err-Stealth-16-AI-Studio-A1VGG kernel: NVRM: Xid (PCI:0000:01:00): 154, GPU "
                          "recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)"),
            "xid:154 [GPU 0000:01:00] action=2 action_text=Node Reboot Required action_before=0");
  // a public report (2026): newer drivers word it differently
  EXPECT_EQ(
      describe_message("NVRM: Xid (PCI:0000:0d:00): 154, GPU recovery action changed from 0x0 (None) to 0x1 (PF FLR)"),
      "xid:154 [GPU 0000:0d:00] action=1 action_text=PF FLR action_before=0");
}

TEST(XidLine, NormalizesAddresses) {
  EXPECT_EQ(describe_message("NVRM: Xid (PCI:0000:3B:00.0): 79, x"), "xid:79 [GPU 0000:3b:00]");
  EXPECT_EQ(describe_message("NVRM: Xid (00000000:3B:00.0): 79, x"), "xid:79 [GPU 0000:3b:00]");
  EXPECT_EQ(describe_message("NVRM: Xid (3b:00): 79, x"), "xid:79 [GPU 0000:3b:00]");
  EXPECT_EQ(describe_message("NVRM: Xid (PCI:0000:3b:00 GPU-I:01 GPU-CI:02): 45, pid=9, name=a"),
            "xid:45 [GPU 0000:3b:00] gi=1 ci=2 pid=9 process=a");
  EXPECT_EQ(describe_message("NVRM: Xid (GPU-e11dfcca-7c93-959a-b8fd-5cfe0839b163): 79, x"),
            "xid:79 [GPU GPU-e11dfcca-7c93-959a-b8fd-5cfe0839b163]");
}

TEST(XidLine, RefusesDamagedLines) {
  for (const char* message :
       {"NVRM: Xid", "NVRM: Xid (", "NVRM: Xid (PCI:0000:3b:00)", "NVRM: Xid (PCI:0000:3b:00):", "NVRM: Xid error: xyz",
        "NVRM: Xid (PCI:0000:3b:00): abc, pid=2280636", "NVRM: Xid (PCI:0000:3b:00): 0, x",
        "NVRM: Xid (PCI:0000:05:00): 99999, unknown error", "NVRM: Xid (PCI:0000:3b:00): 99999999999, x",
        "NVRM: Xid (PCI:0000:3b:00): 99999999999999999999999, x", "NVRM: Xid (PCI:0000:3b:00): -79, x",
        "NVRM: Xid (PCI:0000:3b:00): 79x, y", "NVRM: Xid 79, GPU has fallen off"}) {
    EXPECT_EQ(describe_message(message).substr(0, 4) == "xid:", false) << message;
  }
  EXPECT_EQ(describe_message("NVRM: Xid (PCI:0000:3b:00): 79"), "xid:79 [GPU 0000:3b:00]");
  EXPECT_EQ(describe_message("NVRM: Xid (PCI:0000:3b:00): 74, NVLink: link 99999999999999999999999(0x, 0xzz"),
            "xid:74 [GPU 0000:3b:00]");
  EXPECT_EQ(describe_message("NVRM: Xid (PCI:0000:3b:00): 154, GPU recovery action changed from 0x0 (None) to 0x"),
            "xid:154 [GPU 0000:3b:00] action_before=0");
}

TEST(XidLine, IgnoresOthersWhoPrintXid) {
  for (const char* line :
       {"Oct  1 13:00:00 n1 python3[4242]: NVRM: Xid (PCI:0000:06:00): 79, GPU has fallen off the bus.",
        "Oct  1 13:00:00 n1 bash[99]: HISTORY: PID=1 echo NVRM: Xid (PCI:0000:06:00): 79",
        "Oct  1 13:00:00 n1 sshd[4242]: Accepted publickey for Xid from 10.0.0.7 port 5022",
        "Oct  1 13:00:00 n1 systemd[1]: Started /opt/Xid (PCI:0000:06:00): 79/run.sh.",
        "[ 12.345678] systemd[1]: NVRM: Xid (PCI:0000:06:00): 79, GPU has fallen off the bus.",
        "[ 12.345678] audit: type=1309 a0=\"NVRM:\" a1=\"Xid (PCI:0000:06:00): 79\"",
        "<14>Oct  1 13:00:00 n1 kernel: NVRM: Xid (PCI:0000:06:00): 79, by logger(1) of a user",
        "<12>[ 12.345678] NVRM: Xid (PCI:0000:06:00): 79, by a user through /dev/kmsg",
        "12,4471,3023054882,-;NVRM: Xid (PCI:0000:06:00): 79, by a user through /dev/kmsg",
        "NVRM: Xid (PCI:0000:06:00): 79, GPU has fallen off the bus.",
        R"({"_TRANSPORT":"stdout","SYSLOG_IDENTIFIER":"kernel","MESSAGE":"NVRM: Xid (PCI:0000:06:00): 79, x"})"}) {
    EXPECT_EQ(describe_line(line), "-") << line;
  }
}

}  // namespace
}  // namespace weft::health
