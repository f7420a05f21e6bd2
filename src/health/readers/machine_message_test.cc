#include <gtest/gtest.h>

#include "health/readers/kernel_line_test_help.h"

// Lines are of public reports; each test names where they were found. What is expected was read from the line.
namespace weft::health {
namespace {

TEST(MachineMessage, ReadsMachineChecks) {
  // github.com/radiasoft/devops/issues/134, whose author removed the host
  EXPECT_EQ(describe_line("Feb 23 03:28:16 kernel: mce: [Hardware Error]: Machine check events logged"),
            "mce:logged []");
  // a public post: a machine whose log names the core of the MCE driver
  EXPECT_EQ(describe_line("[Apr 1 15:47] core: [Hardware Error]: Machine check events logged"), "mce:logged []");
  // github.com/andikleen/mcelog/issues/70: 0xa6 has bit 61, UC
  EXPECT_EQ(
      describe_line("Sep 16 19:51:15 kernel: [    0.064265] mce: [Hardware Error]: CPU 0: Machine Check: 0 Bank 4: "
                    "a600000000020408"),
      "mce:uncorrected [CPU 0] bank=4 status=0xa600000000020408");
  // a post on Ubuntu Forums, with a Ryzen: 0xbe has bit 61
  EXPECT_EQ(describe_message("mce: [Hardware Error]: CPU 1: Machine Check: 0 Bank 5: bea0000000000108"),
            "mce:uncorrected [CPU 1] bank=5 status=0xbea0000000000108");
  // github.com/microsoft/WSL/issues/41649 names bank and status; 0xb2 has bit 61
  EXPECT_EQ(describe_message("mce: [Hardware Error]: CPU 10: Machine Check Exception: 5 Bank 0: b200000080060001"),
            "mce:uncorrected [CPU 10] bank=0 status=0xb200000080060001");
  // 0x8c has not
  EXPECT_EQ(describe_message("mce: [Hardware Error]: CPU 12: Machine Check: 0 Bank 7: 8c00004000010092"),
            "mce:corrected [CPU 12] bank=7 status=0x8c00004000010092");
  EXPECT_EQ(describe_message("mce: [Hardware Error]: TSC 0 ADDR fef4c9e0 "), "-");
  EXPECT_EQ(describe_message("mce: CPU supports 7 MCE banks"), "-");
}

TEST(MachineMessage, ReadsMachineChecksOfAmd) {
  // linux-edac mailing list, EPYC 7502: 0xd8 has not bit 61
  EXPECT_EQ(
      describe_line("[138537.808456] [Hardware Error]: CPU:0 (17:31:0) MC27_STATUS[Over|CE|MiscV|-|-|-|SyndV|-|-|-]: "
                    "0xd82000000002080b"),
      "mce:corrected [CPU 0] bank=27 status=0xd82000000002080b");
  EXPECT_EQ(describe_line("[138537.806818] [Hardware Error]: Corrected error, no action required."), "-");
  EXPECT_EQ(describe_line("[138537.810080] [Hardware Error]: IPID: 0x0001002e00001e01, Syndrome: 0x000000005a000005"),
            "-");
  // a public post, EPYC with a memory error
  EXPECT_EQ(
      describe_line("[  +0.006352] [Hardware Error]: CPU:3 (17:31:0) MC17_STATUS[Over|CE|MiscV|AddrV|-|-|SyndV|CECC|-|"
                    "-|Scrub]: 0xdc2041000000011b"),
      "mce:corrected [CPU 3] bank=17 status=0xdc2041000000011b");
}

TEST(MachineMessage, ReadsEdac) {
  // github.com/grondo/edac-utils/issues/10
  EXPECT_EQ(
      describe_line("[Mon Jan 27 19:27:15 2020] EDAC MC0: 1 CE memory read error on CPU_SrcID#0_Ha#0_Chan#2_DIMM#0 "
                    "(channel:2 slot:0 page:0x849923 offset:0x380 grain:32 syndrome:0x0 -  area:DRAM "
                    "err_code:0001:0092 socket:0 ha:0 channel_mask:4 rank:0)"),
      "edac:corrected [DIMM CPU_SrcID#0_Ha#0_Chan#2_DIMM#0] controller=0 count=1");
  // github.com/openstreetmap/operations/issues/300
  EXPECT_EQ(
      describe_line("May  7 06:45:12 errol kernel: [21584690.529877] EDAC MC0: 4 CE error on CPU#0Channel#2_DIMM#0 "
                    "(channel:2 slot:0 page:0x0 offset:0x0 grain:8 syndrome:0x0)"),
      "edac:corrected [DIMM CPU#0Channel#2_DIMM#0] controller=0 count=4");
  // github.com/illinois-scicomp/machine-shop-maintenance/issues/66
  EXPECT_EQ(describe_line("[Mon Oct  3 13:52:42 2022] EDAC MC1: 262 CE memory read error on "
                          "CPU_SrcID#0_Ha#0_Chan#1_DIMM#0 (channel:1 slot:0 page:0x2031c14 offset:0x940 grain:32 "
                          "syndrome:0x0 -  OVERFLOW area:DRAM err_code:0001:0091 socket:0 ha:0 channel_mask:2 rank:1)"),
            "edac:corrected [DIMM CPU_SrcID#0_Ha#0_Chan#1_DIMM#0] controller=1 count=262");
  // github.com/andikleen/mcelog/issues/74, where "EDAC" lost its first letter in a paste
  EXPECT_EQ(describe_message("EDAC MC0: 1 UE memory read error on CPU_SrcID#0_MC#0_Chan#0_DIMM#0 (channel:0 slot:0 "
                             "page:0xe16677 offset:0x0 grain:32 -  err_code:0000:009f socket:0 imc:0 rank:0 bg:0 ba:3 "
                             "row:dad3 col:3c0)"),
            "edac:uncorrected [DIMM CPU_SrcID#0_MC#0_Chan#0_DIMM#0] controller=0 count=1");
  // Documentation/edac.txt of kernel 3.4
  EXPECT_EQ(
      describe_message("EDAC MC0: CE page 0x283, offset 0xce0, grain 8, syndrome 0x6ec3, row 0, channel 1 \"DIMM_B1\": "
                       "amd76x_edac"),
      "edac:corrected [DIMM DIMM_B1] controller=0");
  // the lines around them
  EXPECT_EQ(describe_line("[Mon Jan 27 19:27:15 2020] EDAC sbridge MC0: HANDLING MCE MEMORY ERROR"), "-");
  EXPECT_EQ(describe_line("[Mon Jan 27 19:27:15 2020] EDAC sbridge MC0: CPU 0: Machine Check Event: 0 Bank 5: "
                          "8c00004000010092"),
            "-");
  EXPECT_EQ(
      describe_message("EDAC MC0: Giving out device to module i10nm_edac controller Intel_10nm Socket#0 IMC#0: DEV "
                       "0000:fe:0c.0 (INTERRUPT)"),
      "-");
}

TEST(MachineMessage, ReadsRecordsOfFirmware) {
  // github.com/prometheus/node_exporter/issues/3511
  EXPECT_EQ(describe_line("Dec 29 05:24:23 proxmox kernel: {35}[Hardware Error]: event severity: corrected"),
            "ghes:corrected [] record=ghes");
  EXPECT_EQ(describe_line("Dec 29 05:24:23 proxmox kernel: {35}[Hardware Error]:  Error 0, type: corrected"), "-");
  EXPECT_EQ(
      describe_line("Dec 29 05:24:23 proxmox kernel: {35}[Hardware Error]: It has been corrected by h/w and requires "
                    "no further action"),
      "-");
  // github.com/andikleen/mcelog/issues/74
  EXPECT_EQ(
      describe_line("2019-08-19T04:18:38.274661-04:00 linux-dgwd kernel: [ 261.273227] {1}[Hardware Error]: event "
                    "severity: recoverable"),
      "ghes:recoverable [] record=ghes");
  // github.com/yangxiaohua2009/custom-kernel/issues/6: of the boot before
  EXPECT_EQ(describe_line("[    2.345575] [Hardware Error]: event severity: fatal"), "ghes:fatal [] record=bert");
  EXPECT_EQ(describe_message("{1}[Hardware Error]: event severity: info"), "-");
}

TEST(MachineMessage, ReadsMemoryFailures) {
  // linux-mm mailing list
  EXPECT_EQ(describe_line("   [  435.468380] Memory failure: 0x1251d6: recovery action for dirty LRU page: Recovered"),
            "-");
  EXPECT_EQ(describe_line("[  435.468380] Memory failure: 0x1251d6: recovery action for dirty LRU page: Recovered"),
            "mem:page_offlined [] page=0x1251d6 kind=dirty LRU page result=recovered");
  EXPECT_EQ(describe_line("[  200.378989][T18221] Memory failure: 0x124d30: recovery action for unsplit thp: Failed"),
            "mem:page_offlined [] page=0x124d30 kind=unsplit thp result=failed");
  EXPECT_EQ(describe_message("Memory failure: 0x3710b3: already hardware poisoned"), "-");
}

TEST(MachineMessage, ReadsThrottling) {
  // github.com/erpalma/throttled/issues/186 and 103
  EXPECT_EQ(
      describe_line("[76747.169397] mce: CPU2: Core temperature above threshold, cpu clock throttled (total events = "
                    "2675)"),
      "cpu:throttled [CPU 2] level=core total=2675");
  EXPECT_EQ(
      describe_line("[  +0.000001] CPU0: Package temperature above threshold, cpu clock throttled (total events = "
                    "2263)"),
      "cpu:throttled [CPU 0] level=package total=2263");
  EXPECT_EQ(describe_line("[76747.348387] mce: CPU6: Core temperature/speed normal"), "-");
  EXPECT_EQ(describe_message("CPU0: Temperature above threshold, cpu clock throttled"), "cpu:throttled [CPU 0]");
}

}  // namespace
}  // namespace weft::health
