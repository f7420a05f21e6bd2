#include "serve/daemon/kube_logs.h"

#include <gtest/gtest.h>

#include "kube/fake_transport.h"

namespace weft::serve {
namespace {

constexpr std::uint64_t kStart = 1'760'000'000'000'000'000;  // 2025-10-09T08:53:20Z

TEST(KubeLogLines, TimesAreTakenOff) {
  const LogPiece piece =
      take_log_lines("2025-10-09T08:53:20.000000007Z one\n2025-10-09T10:53:21+02:00 two words\n", {}, 1000);
  EXPECT_EQ(piece.text, "one\ntwo words\n");
  EXPECT_EQ(piece.end.inode, kStart + 1'000'000'000);
  EXPECT_EQ(piece.end.offset, 1U);
  EXPECT_FALSE(piece.skipped);
}

TEST(KubeLogLines, ContinuesAfterAPositionOfTheSameTime) {
  const std::string text = "2025-10-09T08:53:20Z a\n2025-10-09T08:53:20Z b\n2025-10-09T08:53:20Z c\n";
  LogPiece piece = take_log_lines(text, LogPosition{kStart, 1}, 1000);
  EXPECT_EQ(piece.text, "b\nc\n");
  EXPECT_EQ(piece.end.offset, 3U);
  piece = take_log_lines(text, piece.end, 1000);
  EXPECT_EQ(piece.text, "");
  EXPECT_EQ(piece.end.offset, 3U);
  EXPECT_EQ(since_text(piece.end), "2025-10-09T08:53:20.000000Z");
}

TEST(KubeLogLines, LimitsKeepTheEndOrTheBeginning) {
  const std::string text = "2025-10-09T08:53:20Z aaaa\n2025-10-09T08:53:21Z bbbb\n";
  const LogPiece end = take_log_lines(text, {}, 5);
  EXPECT_EQ(end.text, "bbbb\n");
  EXPECT_TRUE(end.skipped);
  const LogPiece next = take_log_lines(text, LogPosition{kStart - 1, 0}, 6);
  EXPECT_EQ(next.text, "aaaa\n");
  EXPECT_EQ(take_log_lines(text, next.end, 6).text, "bbbb\n");
}

// A line that a container wrote may look like anything.
TEST(KubeLogLines, LinesWithoutATimeAreKept) {
  for (const char* text :
       {"", "\n", "no time\n", "2025-10-09T08:53:20.x text\n", "9999-99-99T99:99:99Z z\n", "no end"}) {
    EXPECT_EQ(take_log_lines(text, {}, 1000).text, text);
  }
}

class KubeLogRequest : public ::testing::Test {
 protected:
  Result<LogPiece> read() { return read_pod_log(client_, "lab", "a", {{7, 1}, 3, {}, 1000}); }
  static Value pod() {
    Value pod = kube::fake_object("weft-7-1-1", "u", "1");
    pod["spec"].set("containers",
                    Value::list({Value::map({{"name", Value("rank2")}}), Value::map({{"name", Value("rank3")}})}));
    return pod;
  }
  oob::ManualClock clock_;
  kube::FakeTransport server_{clock_};
  kube::Client client_{server_, clock_, RandomStream(1)};
};

TEST_F(KubeLogRequest, AsksForTheContainerOfTheTask) {
  server_.answer(kube::fake_list({pod()}, "9"));
  server_.answer(200, "2025-10-09T08:53:20Z hello\n");
  const Result<LogPiece> piece = read();
  ASSERT_TRUE(piece.ok()) << piece.error().text();
  EXPECT_EQ(piece->text, "hello\n");
  EXPECT_NE(server_.sent.at(0).target.find("weft%2Fjob%3D7%2Cweft%2Fattempt%3D1"), std::string::npos);
  EXPECT_EQ(server_.sent.at(1).target.find("/api/v1/namespaces/a/pods/weft-7-1-1/log?container=rank3&"), 0U);
}

TEST_F(KubeLogRequest, SaysWhyThereIsNone) {
  server_.answer(kube::fake_list({}, "9"));
  Result<LogPiece> piece = read();
  ASSERT_FALSE(piece.ok());
  EXPECT_EQ(piece.error().code, ErrorCode::not_found);
  EXPECT_NE(piece.error().message.find("as long as its pod"), std::string::npos);
  server_.answer(kube::fake_list({pod()}, "9"));
  server_.answer(400, write_json_line(kube::fake_status(400, "BadRequest",
                                                        "container \"rank3\" in pod \"weft-7-1-1\" is waiting to "
                                                        "start: ContainerCreating")));
  piece = read();
  ASSERT_FALSE(piece.ok());
  EXPECT_EQ(piece.error().code, ErrorCode::not_found);
  EXPECT_NE(piece.error().message.find("not started"), std::string::npos);
  server_.answer(kube::fake_list({pod()}, "9"));
  server_.answer(403, write_json_line(kube::fake_status(403, "Forbidden", "no")));
  piece = read();
  ASSERT_FALSE(piece.ok());
  EXPECT_EQ(piece.error().code, ErrorCode::refused);
  EXPECT_NE(piece.error().message.find("verb `get` on `pods/log`"), std::string::npos);
}

}  // namespace
}  // namespace weft::serve
