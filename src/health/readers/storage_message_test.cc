#include <gtest/gtest.h>

#include "health/readers/kernel_line_test_help.h"

// Lines are of public reports; each test names where they were found. What is expected was read from the line.
namespace weft::health {
namespace {

TEST(StorageMessage, ReadsNvme) {
  // github.com/raspberrypi/linux/issues/6661
  EXPECT_EQ(describe_line("Jan 29 16:41:37 argon kernel: nvme nvme0: controller is down; will reset: CSTS=0xffffffff, "
                          "PCI_STATUS=0x10"),
            "disk:reset [nvme0] csts=0xffffffff pci_status=0x10");
  EXPECT_EQ(describe_line("Jan 29 16:19:28 argon kernel: nvme nvme0: 4/0/0 default/read/poll queues"), "-");
  // github.com/oxidecomputer/propolis/issues/578
  EXPECT_EQ(describe_line("[  265.311275] nvme nvme1: I/O 775 QID 2 timeout, aborting"),
            "disk:timeout [nvme1] queue=2 action=aborting");
  EXPECT_EQ(describe_line("[  265.311360] nvme nvme1: Abort status: 0x6"), "-");
  // github.com/starfive-tech/VisionFive2/issues/36
  EXPECT_EQ(describe_line("[60386.019927] nvme nvme0: I/O 210 QID 4 timeout, completion polled"),
            "disk:timeout [nvme0] queue=4 action=completion polled");
  // leptonai/gpud 4a8de33 components/disk/kmsg_matcher_test.go
  EXPECT_EQ(
      describe_line("[Sun Jun 29 19:20:26 2025] nvme nvme4: I/O tag 22 (2016) opcode 0x2 (Admin Cmd) QID 0 timeout, "
                    "reset controller"),
      "disk:timeout [nvme4] queue=0 action=reset controller");
  EXPECT_EQ(describe_line("[Sun Jun 29 19:28:36 2025] nvme nvme4: Disabling device after reset failure: -19"),
            "disk:lost [nvme4]");
  // linux-pci mailing list
  EXPECT_EQ(describe_message("nvme nvme2: frozen state error detected, reset controller"), "disk:reset [nvme2]");
}

TEST(StorageMessage, ReadsBlockErrors) {
  // github.com/raspberrypi/linux/issues/6661
  EXPECT_EQ(
      describe_line("Jan 29 17:09:49 argon kernel: I/O error, dev nvme0n1, sector 32545872 op 0x0:(READ) flags 0x80700 "
                    "phys_seg 1 prio class 2"),
      "disk:io_error [nvme0n1] sector=32545872 operation=read");
  // github.com/yhqiu16/NVMeCHA/issues/6
  EXPECT_EQ(
      describe_message("blk_update_request: I/O error, dev nvme0n1, sector 0 op 0x0:(READ) flags 0x0 phys_seg 1 prio "
                       "class 0"),
      "disk:io_error [nvme0n1] sector=0 operation=read");
  // linux-xfs mailing list
  EXPECT_EQ(
      describe_message("critical medium error, dev sdx, sector 2615107192 op 0x0:(READ) flags 0x1000 phys_seg 1 prio "
                       "class 2"),
      "disk:io_error [sdx] error=critical medium error sector=2615107192 operation=read");
  // leptonai/gpud 4a8de33 components/disk/kmsg_matcher_test.go
  EXPECT_EQ(
      describe_line("[Sun Jun 29 19:29:39 2025] Buffer I/O error on dev dm-0, logical block 1308098575, lost async "
                    "page write"),
      "disk:io_error [dm-0] block=1308098575");
  // kernels before 4.18 and 5.13
  EXPECT_EQ(describe_message("end_request: I/O error, dev sda, sector 12345"), "disk:io_error [sda] sector=12345");
  EXPECT_EQ(describe_message("print_req_error: I/O error, dev sdb, sector 6"), "disk:io_error [sdb] sector=6");
  // drives of virtual machines that are empty
  EXPECT_EQ(describe_message("blk_update_request: I/O error, dev fd0, sector 0"), "-");
  EXPECT_EQ(describe_message("Buffer I/O error on dev sr0, logical block 0, async page read"), "-");
}

TEST(StorageMessage, ReadsFileSystems) {
  // github.com/oxidecomputer/crucible/issues/1572
  EXPECT_EQ(
      describe_line("[32112.487146] EXT4-fs error (device nvme0n1p1): __ext4_find_entry:1588: inode #43: comm gmain: "
                    "reading directory lblock 0"),
      "fs:error [nvme0n1p1] type=ext4");
  // github.com/longhorn/longhorn/issues/6650
  EXPECT_EQ(describe_line("Sep  6 14:24:35 node2 kernel: EXT4-fs (sdi): I/O error while writing superblock"),
            "fs:error [sdi] type=ext4");
  // leptonai/gpud 4a8de33 components/disk/kmsg_matcher_test.go
  EXPECT_EQ(describe_line("[Fri Jul  4 10:29:39 2025] EXT4-fs (md0): Remounting filesystem read-only"),
            "fs:readonly [md0] type=ext4");
  // github.com/kubernetes/node-problem-detector/pull/845
  EXPECT_EQ(describe_message("XFS (dm-4): I/O Error Detected. Shutting down filesystem"),
            "fs:readonly [dm-4] type=xfs");
  EXPECT_EQ(describe_message("XFS (dm-4): Please umount the filesystem and rectify the problem(s)"), "-");
  // github.com/coreos/fedora-coreos-tracker/issues/784
  EXPECT_EQ(
      describe_line("[    9.433533] XFS (vda4): metadata I/O error in \"xfs_dquot_disk_read+0x14a/0x220 [xfs]\" at "
                    "daddr 0x1478 len 8 error 74"),
      "fs:error [vda4] type=xfs");
  // linux-btrfs mailing list
  EXPECT_EQ(describe_message("BTRFS info (device dm-0: state E): forced readonly"), "fs:readonly [dm-0] type=btrfs");
  // what is written when all is well, and warnings
  EXPECT_EQ(describe_message("EXT4-fs (sda1): mounted filesystem with ordered data mode"), "-");
  EXPECT_EQ(describe_message("XFS (dm-1): Mounting V5 Filesystem"), "-");
  // github.com/gardenlinux/gardenlinux/issues/263
  EXPECT_EQ(
      describe_message("EXT4-fs warning (device nvme19n1): htree_dirblock_to_tree:997: inode #1048579: lblock 0: comm "
                       "etcd: error -5 reading directory block"),
      "-");
}

TEST(StorageMessage, ReadsNfs) {
  // github.com/nfs-ganesha/nfs-ganesha/issues/1295
  EXPECT_EQ(describe_line("[1576939.453001] nfs: server 100.73.159.36 not responding, still trying"),
            "nfs:not_responding [100.73.159.36]");
  EXPECT_EQ(describe_line("[871222.759484] nfs: server 100.73.159.36 OK"), "nfs:ok [100.73.159.36]");
  // leptonai/gpud 4a8de33 components/nfs/kmsg_matcher.go
  EXPECT_EQ(describe_message("nfs: server 7.247.192.16 not responding, timed out"),
            "nfs:not_responding [7.247.192.16] timed_out=1");
  EXPECT_EQ(describe_message("nfs: server 7.247.192.16 starting"), "-");
  EXPECT_EQ(describe_message("NFS: Registering the id_resolver key type"), "-");
}

TEST(StorageMessage, ReadsLustre) {
  // github.com/aws/aws-parallelcluster/issues/2701
  EXPECT_EQ(
      describe_line("Apr 30 13:50:10 ip-10-0-33-4 kernel: [268274.472582] Lustre: "
                    "no2zxbmv-MDT0000-mdc-000000001785e248: Connection to no2zxbmv-MDT0000 (at 10.0.47.232@tcp) was "
                    "lost; in progress operations using this service will wait for recovery to complete"),
      "lustre:connection_lost [no2zxbmv-MDT0000] server=10.0.47.232@tcp");
  // the same client, when the server is back
  EXPECT_EQ(
      describe_message("Lustre: no2zxbmv-MDT0000-mdc-000000001785e248: Connection restored to 10.0.47.232@tcp (at "
                       "10.0.47.232@tcp)"),
      "lustre:connection_restored [no2zxbmv-MDT0000] server=10.0.47.232@tcp");
  // the management server, with the error number of Lustre before 2.10
  EXPECT_EQ(
      describe_message("LustreError: 166-1: MGC172.31.126.87@o2ib: Connection to MGS (at 172.31.126.87@o2ib) was lost; "
                       "in progress operations using this service will fail"),
      "lustre:connection_lost [MGS] server=172.31.126.87@o2ib");
  // github.com/whamcloud/integrated-manager-for-lustre/issues/230: a server's, about a client
  EXPECT_EQ(
      describe_line("Jun 27 15:59:33 lotus-55vm15.lotus.hpdd.lab.intel.com kernel: Lustre: MGS: Connection restored to "
                    "c7547940-8b66-9e67-9f49-79141907f91f (at 10.14.83.21@tcp)"),
      "-");
  // github.com/jade-hpc-gpu/jade-hpc-gpu.github.io/issues/14
  EXPECT_EQ(
      describe_line("[Mon Oct 16 09:50:06 2017] Lustre: 2449:0:(client.c:2141:ptlrpc_expire_one_request()) Skipped 24 "
                    "previous similar messages"),
      "-");
}

}  // namespace
}  // namespace weft::health
