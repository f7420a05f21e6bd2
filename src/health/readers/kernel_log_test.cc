#include "health/readers/kernel_log.h"

#include <gtest/gtest.h>

#include <string>

#include "base/human_format.h"
#include "health/readers/kernel_line_test_help.h"

namespace weft::health {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

// "host 2025-01-05T18:28:55.000Z xid:79"; without what the line does not say
std::string describe_frame(std::string_view line, const LogClock& clock = {}) {
  const std::optional<Signal> signal = read_kernel_line(line, clock);
  if (!signal) return "-";
  std::string out = signal->node;
  if (signal->at != sched::Moment()) out += " " + format_utc(signal->at.count() / 1'000'000);
  return out + " " + signal->name;
}

// 2026-01-10T00:00:00Z
LogClock clock_of_january() { return {sched::Moment(1'768'003'200 * kSecond), sched::Moment(1'767'225'600 * kSecond)}; }

constexpr std::string_view kXid = "NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.";

std::string frame(std::string_view before) { return std::string(before) + std::string(kXid); }

TEST(KernelLog, ReadsDmesg) {
  const LogClock clock = clock_of_january();  // booted on 2026-01-01
  EXPECT_EQ(describe_frame(frame("[   12.345678] "), clock), " 2026-01-01T00:00:12.345Z xid:79");
  EXPECT_EQ(describe_frame(frame("[155044.078590] "), clock), " 2026-01-02T19:04:04.078Z xid:79");
  EXPECT_EQ(describe_frame(frame("[   12.345678] ")), " xid:79");  // the time of the boot is unknown
  EXPECT_EQ(describe_frame(frame("[  223.287753][   T13] "), clock), " 2026-01-01T00:03:43.287Z xid:79");
  EXPECT_EQ(describe_frame(frame("[ 130.456250] [ T1946] "), clock), " 2026-01-01T00:02:10.456Z xid:79");
  EXPECT_EQ(describe_frame(frame("<4>[   12.345678] "), clock), " 2026-01-01T00:00:12.345Z xid:79");
  EXPECT_EQ(describe_frame(frame("[Sun Jan  5 18:28:55 2025] ")), " 2025-01-05T18:28:55.000Z xid:79");
  EXPECT_EQ(describe_frame(frame("[  +0.000110] "), clock), " xid:79");
  EXPECT_EQ(describe_frame(frame("[Feb18 23:56] "), clock), " xid:79");
  EXPECT_EQ(describe_frame(frame("kern  :warn  : [   12.345678] "), clock), " 2026-01-01T00:00:12.345Z xid:79");
  EXPECT_EQ(describe_frame(frame("kern  :err   : 2025-01-25T10:34:54,859532+00:00 ")),
            " 2025-01-25T10:34:54.859Z xid:79");
  EXPECT_EQ(describe_frame(frame("2025-01-25T10:34:54,859532+01:00 ")), " 2025-01-25T09:34:54.859Z xid:79");
  EXPECT_EQ(describe_frame(frame("3,4471,3023054882,-;"), clock), " 2026-01-01T00:50:23.054Z xid:79");
}

TEST(KernelLog, ReadsSyslog) {
  const LogClock clock = clock_of_january();
  EXPECT_EQ(describe_frame(frame("Jan  9 23:59:59 n1 kernel: "), clock), "n1 2026-01-09T23:59:59.000Z xid:79");
  EXPECT_EQ(describe_frame(frame("Jan 9 23:59:59.25 n1 kernel: [12.5] "), clock), "n1 2026-01-09T23:59:59.250Z xid:79");
  EXPECT_EQ(describe_frame(frame("<3>Jan  9 23:59:59 n1 kernel[0]: "), clock), "n1 2026-01-09T23:59:59.000Z xid:79");
  EXPECT_EQ(describe_frame(frame("Jan  9 23:59:59 kernel: "), clock), " 2026-01-09T23:59:59.000Z xid:79");
  EXPECT_EQ(describe_frame(frame("Jan 10 10:54:17 n1.local [57253.352107] "), clock),
            "n1.local 2026-01-10T10:54:17.000Z xid:79");
  EXPECT_EQ(describe_frame(frame("2019-08-19T04:18:38.274661-04:00 n1 kernel: [ 261.273227] ")),
            "n1 2019-08-19T08:18:38.274Z xid:79");
  EXPECT_EQ(describe_frame(frame("2025-01-21T04:41:44+0000 n1 kernel: ")), "n1 2025-01-21T04:41:44.000Z xid:79");
  EXPECT_EQ(describe_frame(frame("2025-01-21T04:41:44 n1 kernel: ")), "n1 2025-01-21T04:41:44.000Z xid:79");
  EXPECT_EQ(describe_frame(frame("<3>1 2025-01-21T04:41:44.5Z n1 kernel - - - ")),
            "n1 2025-01-21T04:41:44.500Z xid:79");
  EXPECT_EQ(describe_frame(frame("1 2025-01-21T04:41:44.5Z n1 kernel - - - \xEF\xBB\xBF")),
            "n1 2025-01-21T04:41:44.500Z xid:79");
  EXPECT_EQ(describe_frame(frame(R"(<3>1 - - kernel - - [a@1 x="]\"" y="2"][b@2] )")), " xid:79");
  EXPECT_EQ(describe_frame(frame("2022-12-26T07:44:45.000000+01:00 server02 kernel - - - ")),
            "server02 2022-12-26T06:44:45.000Z xid:79");
}

TEST(KernelLog, PlacesDatesWithoutAYear) {
  const LogClock clock = clock_of_january();  // 2026-01-10T00:00:00Z
  const auto read = [&](const char* date) { return describe_frame(frame(std::string(date) + " n1 kernel: "), clock); };
  EXPECT_EQ(read("Jan 11 00:00:00"), "n1 2026-01-11T00:00:00.000Z xid:79");  // a clock that is ahead by a day
  EXPECT_EQ(read("Jan 11 00:00:01"), "n1 2025-01-11T00:00:01.000Z xid:79");
  EXPECT_EQ(read("Dec 31 23:59:59"), "n1 2025-12-31T23:59:59.000Z xid:79");
  EXPECT_EQ(read("Feb 29 12:00:00"), "n1 2024-02-29T12:00:00.000Z xid:79");
  EXPECT_EQ(read("Feb 30 12:00:00"), "n1 xid:79");  // no such day: no time, but still a signal
  // at the end of a year, the first of January of the next
  const LogClock eve{sched::Moment(1'767'225'590 * kSecond), {}};
  EXPECT_EQ(describe_frame(frame("Jan  1 00:00:05 n1 kernel: "), eve), "n1 2026-01-01T00:00:05.000Z xid:79");
  EXPECT_EQ(describe_frame(frame("Jan  1 00:00:05 n1 kernel: ")), "n1 xid:79");  // now is unknown
}

TEST(KernelLog, ReadsTheJournal) {
  EXPECT_EQ(describe_frame(R"({"__REALTIME_TIMESTAMP":"1757422415123456","_HOSTNAME":"n1","_TRANSPORT":"kernel",)"
                           R"("MESSAGE":"NVRM: Xid (PCI:0000:01:00): 79, GPU has fallen off the bus."})"),
            "n1 2025-09-09T12:53:35.123Z xid:79");
  EXPECT_EQ(describe_frame(R"({ "MESSAGE" : "NVRM: Xid (PCI:0000:01:00): 79, x", "_HOSTNAME" : "n1" })"), "n1 xid:79");
  // bytes, because one of them is not UTF-8: "NVRM: Xid (3b:00): 79,\xff"
  EXPECT_EQ(
      describe_frame(R"({"_HOSTNAME":"n1","MESSAGE":[78,86,82,77,58,32,88,105,100,32,40,51,98,58,48,48,41,58,32,55,)"
                     R"(57,44,255]})"),
      "n1 xid:79");
  // a field that occurs twice
  EXPECT_EQ(describe_frame(R"({"MESSAGE":["NVRM: Xid (3b:00): 79, a","b"],"_HOSTNAME":["n1","n2"]})"), "n1 xid:79");
  for (const char* line :
       {R"({"MESSAGE":null})", R"({"MESSAGE":[300]})", R"({"MESSAGE":[]})", R"({"MESSAGE":{}})",
        R"({"MESSAGE":"NVRM: Xid"})", R"({"MESSAGE":"x","_CMDLINE":"NVRM: Xid (3b:00): 79"})",
        R"({"MESSAGE":"NVRM: Xid (3b:00): 79, broken)", "{}", "[]", R"({"OTHER":"NVRM: Xid (3b:00): 79, x"})",
        R"({"MESSAGE":"NVRM: Xid (3b:00): 79, x",})",
        R"({"_TRANSPORT":"syslog","SYSLOG_IDENTIFIER":"kernel","MESSAGE":"NVRM: Xid (3b:00): 79, x"})"}) {
    EXPECT_EQ(describe_frame(line), "-") << line;
  }
}

TEST(KernelLog, CountsRepetitions) {
  EXPECT_EQ(
      describe_line("Jan  9 23:59:59 n1 kernel: [12.5] message repeated 9 times: [ nvme nvme0: I/O 1 QID 2 timeout, "
                    "aborting]"),
      "disk:timeout [nvme0] queue=2 action=aborting repeated=9");
}

TEST(KernelLog, KeepsTheMessageForPeople) {
  const auto signal =
      read_kernel_line("Jan  9 23:59:59 n1 kernel: [12.5] NVRM: Xid (3b:00): 79, \x1b[31mred\x01\tend\r\n", {});
  ASSERT_TRUE(signal);
  EXPECT_EQ(signal->text, "NVRM: Xid (3b:00): 79, ?[31mred? end");
  EXPECT_EQ(signal->source, SignalSource::kernel);
  EXPECT_EQ(signal->node, "n1");
  const auto cut = read_kernel_line(frame("[1.5] ") + std::string(5000, 'x') + "\xF0\x9F\x98\x80", {});
  ASSERT_TRUE(cut);
  EXPECT_LE(cut->text.size(), 1000U);
  EXPECT_GE(cut->text.size(), 980U);
  EXPECT_TRUE(cut->text.ends_with("...")) << cut->text;
}

TEST(KernelLog, KnowsLogLines) {
  for (const char* line :
       {"[   12.345678] usb 1-1: new high-speed USB device", "[  +0.000110] x", "[Feb18 23:56] x",
        "Jan  9 23:59:59 n1 cron[12]: (root) CMD (true)", "<30>Jan  9 23:59:59 n1 dhclient: bound",
        "2025-01-21T04:41:44+0000 n1 systemd[1]: Started x.", "kern  :info  : [    0.000000] Linux version",
        "<165>1 2003-10-11T22:14:15.003Z mymachine.example.com evntslog - ID47 [x@1 y=\"z\"] An event",
        "6,1,0,-;Linux version", R"({"MESSAGE":"Started x.","_HOSTNAME":"n1"})"}) {
    EXPECT_TRUE(is_log_line(line)) << line;
    EXPECT_EQ(describe_line(line), "-") << line;
  }
  for (const char* line : {"",
                           " ",
                           "NVRM: Xid (PCI:0000:3b:00): 79, x",
                           "-- Boot 7d2f --",
                           "[ERROR] [tid 1803] failed",
                           "[12.x] y",
                           "[]",
                           "[",
                           "Jan 32 00:00:00 n1 kernel: x",
                           "Jan  9 24:00:00 n1 kernel: x",
                           "Jan",
                           "<",
                           "<3>",
                           "<3",
                           "<99999>[1.5] x",
                           "2025-13-01T00:00:00Z n1 kernel: x",
                           "2025-01-21",
                           "1,2,3",
                           "1,2,3,-",
                           "{",
                           "{}",
                           R"({"a":1})",
                           "Traceback (most recent call last):",
                           "#!/bin/sh",
                           "kern: x",
                           "a    : b    : c"}) {
    EXPECT_FALSE(is_log_line(line)) << line;
  }
}

TEST(KernelLog, SurvivesHostileLines) {
  const LogClock clock = clock_of_january();
  // absurd numbers have no time, but the message still counts
  EXPECT_EQ(describe_frame(frame("[99999999999999.5] "), clock), " xid:79");
  EXPECT_EQ(describe_frame(frame("[999999999999999999999999.5] "), clock), "-");
  EXPECT_EQ(describe_frame(frame("3,1,18446744073709551615,-;"), clock), " xid:79");
  EXPECT_EQ(describe_frame(R"({"__REALTIME_TIMESTAMP":"18446744073709551615","MESSAGE":"NVRM: Xid (3b:00): 79, x"})"),
            " xid:79");
  EXPECT_EQ(describe_frame(frame("2261-12-31T00:00:00-99:99 n1 kernel: ")).substr(0, 2), "n1");
  EXPECT_EQ(describe_frame(frame("9999-12-31T00:00:00Z n1 kernel: ")), "-");
  EXPECT_EQ(describe_frame(std::string("[1.5] NVRM: Xid (3b:00): 79, \0 \0", 33)), " xid:79");
  EXPECT_EQ(describe_frame("[1.5] NVRM: Xid (\xff\xfe): 79, \xc3"), " xid:79");
  const std::string huge(3'000'000, '(');
  EXPECT_EQ(describe_frame("[1.5] " + huge), "-");
  EXPECT_EQ(describe_frame("[1.5] NVRM: Xid (" + huge), "-");
  EXPECT_EQ(describe_frame("Jan  9 23:59:59 " + huge), "-");
  EXPECT_EQ(describe_frame("<3>1 - - kernel - - [" + huge), "-");
  EXPECT_EQ(describe_frame("{\"MESSAGE\":\"NVRM: " + huge + "\"}"), "-");
  EXPECT_EQ(describe_frame("{\"MESSAGE\":" + std::string(100'000, '[') + "}"), "-");
  EXPECT_EQ(describe_frame(frame("[1.5] ") + huge), " xid:79");
}

TEST(KernelLog, SurvivesDamagedLines) {
  const std::string lines[] = {
      frame("<3>Jan  9 23:59:59 n1 kernel: [12.5] "),
      "[1.5] NVRM: Xid (PCI:0018:01:00 GPU-I:1 GPU-CI:2): 149, pid=1, name=a, NETIR_LINK_EVT Fatal XC0 i0 Link 08 (0x0 "
      "0x1)",
      "[1.5] pcieport 0000:30:03.0: DPC: containment event, status:0x0005 source:0x3400",
      "[1.5] EDAC MC1: 262 CE memory read error on CPU_SrcID#0_Ha#0_Chan#1_DIMM#0 (channel:1 slot:0)",
      "[1.5] mlx5_core 0000:5c:00.0: Port module event[error]: module 0, Cable error, High Temperature",
      R"({"__REALTIME_TIMESTAMP":"1757422415123456","MESSAGE":[78,86,82,77,58],"_HOSTNAME":"n1"})"};
  for (const std::string& line : lines) {
    for (std::size_t size = 0; size <= line.size(); ++size) (void)read_kernel_line(line.substr(0, size), {});
    for (std::size_t at = 0; at < line.size(); ++at) {
      for (const char c : {'\0', ' ', ':', '(', ']', '9', '\xff'}) {
        std::string damaged = line;
        damaged[at] = c;
        const auto signal = read_kernel_line(damaged, clock_of_january());
        if (signal) EXPECT_LE(signal->text.size(), 1000U);
      }
    }
  }
}

}  // namespace
}  // namespace weft::health
