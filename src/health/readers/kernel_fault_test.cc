#include <gtest/gtest.h>

#include "health/readers/kernel_line_test_help.h"

// Lines are of public reports; each test names where they were found. What is expected was read from the line.
namespace weft::health {
namespace {

TEST(KernelFault, ReadsLockups) {
  // leptonai/gpud 4a8de33 components/cpu/kmsg_matcher_test.go
  EXPECT_EQ(
      describe_line("[Sun Jan  5 18:28:55 2025] watchdog: BUG: soft lockup - CPU#18 stuck for 27s! [python3:2254956]"),
      "kernel:soft_lockup [CPU 18] seconds=27 process=python3 pid=2254956");
  // github.com/openrisc/linux/issues/12: a name with colons
  EXPECT_EQ(describe_line("[90216.140000] watchdog: BUG: soft lockup - CPU#0 stuck for 186s! [kworker/u3:3:2073]"),
            "kernel:soft_lockup [CPU 0] seconds=186 process=kworker/u3:3 pid=2073");
  // github.com/openzfs/zfs/issues/4536 and github.com/multipath-tcp/mptcp/issues/99: kernels 4 and 3
  EXPECT_EQ(describe_message("NMI watchdog: BUG: soft lockup - CPU#2 stuck for 22s! [SimpleCacheWork:8140]"),
            "kernel:soft_lockup [CPU 2] seconds=22 process=SimpleCacheWork pid=8140");
  EXPECT_EQ(describe_line("[2870707.887079] BUG: soft lockup - CPU#10 stuck for 23s! [migration/10:346]"),
            "kernel:soft_lockup [CPU 10] seconds=23 process=migration/10 pid=346");
  // Linux mailing lists
  EXPECT_EQ(describe_line("[   32.499881] watchdog: Watchdog detected hard LOCKUP on cpu 6"),
            "kernel:hard_lockup [CPU 6]");
  EXPECT_EQ(describe_line("[   75.213852] NMI watchdog: Watchdog detected hard LOCKUP on cpu 0"),
            "kernel:hard_lockup [CPU 0]");
  EXPECT_EQ(describe_line("[164.964389] watchdog: CPU3: Watchdog detected hard LOCKUP on cpu 3"),
            "kernel:hard_lockup [CPU 3]");
  EXPECT_EQ(describe_message("NMI watchdog: Enabled. Permanently consumes one hw-PMU counter."), "-");
}

TEST(KernelFault, ReadsStallsAndHungTasks) {
  // Linux mailing lists
  EXPECT_EQ(describe_message("rcu: INFO: rcu_sched self-detected stall on CPU"), "kernel:rcu_stall []");
  EXPECT_EQ(describe_line("[ 5973.259566] rcu: INFO: rcu_preempt self-detected stall on CPU"), "kernel:rcu_stall []");
  EXPECT_EQ(describe_message("INFO: rcu_sched detected stalls on CPUs/tasks: { 1} (detected by 0, t=60002 jiffies)"),
            "kernel:rcu_stall []");
  // leptonai/gpud 4a8de33 components/cpu/kmsg_matcher_test.go
  EXPECT_EQ(describe_line("[Sun Jan  5 20:25:34 2025] INFO: task jfsmount:136986 blocked for more than 120 seconds."),
            "kernel:hung_task [] process=jfsmount pid=136986 seconds=120");
  // github.com/whamcloud/integrated-manager-for-lustre/pull/329
  EXPECT_EQ(describe_line("[ 3600.832490] INFO: task ll_cfg_requeue:4037 blocked for more than 120 seconds."),
            "kernel:hung_task [] process=ll_cfg_requeue pid=4037 seconds=120");
  EXPECT_EQ(describe_message("INFO: NMI handler (perf_event_nmi_handler) took too long to run: 1.234 msecs"), "-");
}

TEST(KernelFault, ReadsPanicsAndOopses) {
  // github.com/sonic-net/sonic-buildimage/issues/17358
  EXPECT_EQ(describe_line("[ 5300.237965] Kernel panic - not syncing: softlockup: hung tasks"),
            "kernel:panic [] reason=softlockup: hung tasks");
  EXPECT_EQ(describe_message("---[ end Kernel panic - not syncing: Fatal exception ]---"), "-");
  // github.com/morrownr/rtw89/issues/88
  EXPECT_EQ(describe_line("[   16.371299] BUG: unable to handle page fault for address: ffffffff9708bf20"),
            "kernel:oops []");
  EXPECT_EQ(describe_line("[   16.371311] Oops: Oops: 0002 [#1] SMP PTI"), "kernel:oops []");
  // github.com/openbmc/openbmc/issues/2195 and github.com/sifiveinc/meta-sifive/issues/40: ARM and RISC-V
  EXPECT_EQ(describe_line("[  408.460000] Internal error: Oops - BUG: 0 [#2] ARM"), "kernel:oops []");
  EXPECT_EQ(describe_line("[ 70.566379] Unable to handle kernel paging request at virtual address 0000005f837c3064"),
            "kernel:oops []");
  EXPECT_EQ(describe_line("[ 70.573535] Oops [#1]"), "kernel:oops []");
  // a fault of a program, not of the kernel
  EXPECT_EQ(describe_message("traps: python3[4242] general protection fault ip:7f sp:7f error:0 in libc.so.6"), "-");
  EXPECT_EQ(describe_message("python3[4242]: segfault at 0 ip 0000000000000000 sp 00007ffd error 14"), "-");
}

TEST(KernelFault, ReadsKilledProcesses) {
  // github.com/docker/for-linux/issues/1001
  EXPECT_EQ(
      describe_line("May 15 23:09:30 ubuntu-s-1vcpu-2gb-ams3-01 kernel: [  518.050606] Out of memory: Killed process "
                    "15784 (python3) total-vm:11964kB, anon-rss:4288kB, file-rss:3028kB, shmem-rss:0kB"),
      "kernel:oom [] process=python3 pid=15784");
  EXPECT_EQ(
      describe_line("May 15 23:09:30 ubuntu-s-1vcpu-2gb-ams3-01 kernel: [  518.061172] Out of memory: Killed process "
                    "15925 ((resolved)) total-vm:168424kB, anon-rss:4064kB, file-rss:3584kB, shmem-rss:0kB"),
      "kernel:oom [] process=(resolved) pid=15925");
  EXPECT_EQ(
      describe_message("oom_reaper: reaped process 15784 (python3), now anon-rss:0kB, file-rss:0kB, shmem-rss:0kB"),
      "-");
  // github.com/reportportal/kubernetes/issues/203: the limit of a job or container, not of the node
  EXPECT_EQ(
      describe_line("[ 7063.247407] Memory cgroup out of memory: Killed process 63214 (uwsgi) total-vm:3149468kB, "
                    "anon-rss:164992kB, file-rss:52176kB, shmem-rss:92kB, UID:0 pgtables:1372kB oom_score_adj:986"),
      "kernel:cgroup_oom [] process=uwsgi pid=63214");
  // google/cadvisor utils/oomparser: kernels before 5
  EXPECT_EQ(describe_message("Out of memory: Kill process 1234 (Plex Media Server) score 1000 or sacrifice child"),
            "kernel:oom [] process=Plex Media Server pid=1234");
}

}  // namespace
}  // namespace weft::health
