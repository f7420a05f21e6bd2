#include "kube/reflector.h"

#include <gtest/gtest.h>

#include "kube/fake_transport.h"

namespace weft::kube {
namespace {

class KubeReflector : public ::testing::Test {
 protected:
  oob::ManualClock clock_;
  FakeTransport server_{clock_};
  Client client_{server_, clock_, RandomStream(1), options()};
  Reflector reflector_{client_, {kPods, {"a", {}, {}}}};
  std::vector<ObjectChange> changes_;

  static ClientOptions options() {
    ClientOptions options;
    options.max_tries = 1;  // the reflector's own retries are what is tested
    return options;
  }
  // Steps, and lets back-off pass.
  void step(int count = 1) {
    for (int i = 0; i < count; ++i) {
      (void)clock_.sleep(reflector_.idle_for());
      reflector_.step(milliseconds(1'000), changes_);
    }
  }
  void list_two() {
    server_.answer(fake_list({fake_object("p1", "u1", "3"), fake_object("p2", "u2", "8")}, "5"));
    step();
    ASSERT_TRUE(reflector_.synced());
    changes_.clear();
  }
  [[nodiscard]] std::string changes() const {
    std::string text;
    for (const ObjectChange& change : changes_) {
      text += change.kind == ChangeKind::added ? "+" : change.kind == ChangeKind::removed ? "-" : "~";
      text += change.name.name + " ";
    }
    return text;
  }
  [[nodiscard]] bool has(const char* name) const { return reflector_.store().find({"a", name}) != nullptr; }
  [[nodiscard]] bool asked(const std::string& part) const {
    return server_.sent.back().target.find(part) != std::string::npos;
  }
};

TEST_F(KubeReflector, WatchesFromTheVersionOfTheListNotOfAnItem) {
  list_two();
  server_.stream({});
  step();
  EXPECT_TRUE(asked("resourceVersion=5&"));
  EXPECT_TRUE(asked("watch=true"));
  EXPECT_TRUE(asked("allowWatchBookmarks=true"));
  const std::string target = server_.sent.back().target;
  const std::int64_t timeout = std::stoll(target.substr(target.find("timeoutSeconds=") + 15));
  EXPECT_GE(timeout, 300);
  EXPECT_LE(timeout, 600);
}

TEST_F(KubeReflector, NothingChangesBeforeTheLastPage) {
  list_two();
  server_.stream({fake_bytes(fake_event("ERROR", fake_status(410, "Expired", "too old resource version")))});
  step(2);  // open, read: list again
  server_.answer(fake_list({}, "20", "more"));
  step();
  EXPECT_TRUE(has("p1") && has("p2"));
  EXPECT_EQ(changes(), "");
  server_.fail(ErrorCode::timeout);  // the second page fails, and is asked for again
  step();
  EXPECT_TRUE(has("p1") && has("p2"));
  server_.answer(fake_list({fake_object("p2", "u2", "8")}, "20"));
  step();
  EXPECT_TRUE(asked("continue=more"));
  EXPECT_EQ(changes(), "-p1 ");
  EXPECT_FALSE(has("p1"));
}

TEST_F(KubeReflector, AListWhosePagesExpireStartsOverWithoutTheOldPages) {
  server_.answer(fake_list({fake_object("old", "u0", "1")}, "5", "t1"));
  server_.answer(410, write_json_line(fake_status(410, "Expired", "continue is too old")));
  server_.answer(fake_list({fake_object("p1", "u1", "3")}, "9", "t2"));
  server_.answer(410, write_json_line(fake_status(410, "Expired", "continue is too old")));
  step(4);
  EXPECT_FALSE(reflector_.synced());
  // The third time in one piece, which cannot expire.
  server_.answer(fake_list({fake_object("p1", "u1", "3"), fake_object("p2", "u2", "8")}, "12"));
  step();
  EXPECT_FALSE(asked("limit="));
  EXPECT_EQ(changes(), "+p1 +p2 ");
  EXPECT_FALSE(has("old"));
}

TEST_F(KubeReflector, AFailedOrInvalidListRemovesNothing) {
  list_two();
  server_.stream({fake_bytes(fake_event("ERROR", fake_status(410, "Expired", "")))});
  step(2);
  for (const char* body : {"", "{}", "{\"kind\":\"PodList\"}", "{\"items\":[]}", "[]"}) {
    server_.answer(200, body);
    step();
  }
  server_.answer(503, "");
  server_.answer(403, write_json_line(fake_status(403, "Forbidden", "")));
  server_.fail(ErrorCode::unavailable);
  server_.fail(ErrorCode::refused);
  step(4);
  EXPECT_TRUE(server_.finished());
  EXPECT_TRUE(has("p1") && has("p2"));
  EXPECT_EQ(changes(), "");
  EXPECT_FALSE(reflector_.problem().empty());
  EXPECT_TRUE(reflector_.synced());  // as of last_contact(), which shows how old it is
  EXPECT_LT(reflector_.last_contact(), clock_.now());
}

TEST_F(KubeReflector, AppliesEventsAndContinuesFromTheLastVersion) {
  list_two();
  server_.stream({fake_bytes(fake_event("ADDED", fake_object("p3", "u3", "6")) +
                             fake_event("MODIFIED", fake_object("p1", "u1", "7"))),
                  fake_bytes(fake_event("DELETED", fake_object("p2", "u2", "9"))), fake_close()});
  server_.stream({});
  step(5);
  EXPECT_EQ(changes(), "+p3 ~p1 -p2 ");
  EXPECT_TRUE(asked("resourceVersion=9&"));
  EXPECT_EQ(reflector_.lists(), 1U);
}

TEST_F(KubeReflector, ABookmarkMovesTheVersion) {
  list_two();
  const Value bookmark =
      Value::map({{"kind", Value("Pod")}, {"metadata", Value::map({{"resourceVersion", Value("70")}})}});
  server_.stream({fake_bytes(fake_event("BOOKMARK", bookmark)), fake_close()});
  server_.stream({});
  step(4);
  EXPECT_EQ(changes(), "");
  EXPECT_TRUE(asked("resourceVersion=70&"));
}

TEST_F(KubeReflector, GoneAsHttpStatusListsAgain) {
  list_two();
  server_.stream({fake_bytes(write_json_line(fake_status(410, "Expired", "too old"))), fake_close()}, 410);
  step();
  server_.answer(fake_list({fake_object("p1", "u1", "3")}, "30"));
  step();
  EXPECT_EQ(changes(), "-p2 ");
  EXPECT_EQ(reflector_.lists(), 2U);
}

TEST_F(KubeReflector, GoneAsEventListsAgain) {
  list_two();
  server_.stream({fake_bytes(fake_event("ERROR", fake_status(410, "Gone", "")))});
  step(2);
  server_.answer(fake_list({fake_object("p1", "u1", "3"), fake_object("p2", "u2", "8")}, "30"));
  step();
  EXPECT_EQ(changes(), "");
  EXPECT_EQ(reflector_.lists(), 2U);
}

// Kubernetes issue 137089: an expired version of Events is answered by closing the stream.
TEST_F(KubeReflector, SilentClosesListAgain) {
  list_two();
  for (int i = 0; i < 3; ++i) server_.stream({fake_close()});
  step(6);
  const Duration waited = clock_.now();
  EXPECT_GT(waited, milliseconds(500));  // not a tight loop
  server_.answer(fake_list({fake_object("p1", "u1", "3")}, "30"));
  step();
  EXPECT_EQ(changes(), "-p2 ");
  EXPECT_EQ(reflector_.lists(), 2U);
  EXPECT_EQ(reflector_.watches(), 3U);
}

TEST_F(KubeReflector, AServerThatExpiresEveryVersionIsNotAskedInATightLoop) {
  for (int i = 0; i < 10; ++i) {
    server_.answer(fake_list({fake_object("p1", "u1", "3")}, "30"));
    server_.stream({fake_bytes(fake_event("ERROR", fake_status(410, "Gone", "")))});
    step(3);
  }
  EXPECT_GE(clock_.now(), milliseconds(2'000));
}

TEST_F(KubeReflector, OtherErrorsInTheStreamDoNotList) {
  list_two();
  server_.stream({fake_bytes(fake_event("ADDED", fake_object("p3", "u3", "6")) +
                             fake_event("ERROR", fake_status(500, "InternalError", "etcd")))});
  server_.stream({});
  step(3);
  EXPECT_TRUE(asked("resourceVersion=6&"));
  EXPECT_EQ(reflector_.lists(), 1U);
  EXPECT_NE(reflector_.problem().find("etcd"), std::string::npos);
}

TEST_F(KubeReflector, AHalfOpenStreamIsClosed) {
  list_two();
  server_.stream({});
  step();
  const Duration opened = clock_.now();
  while (reflector_.is_watching() && clock_.now() - opened < milliseconds(3'600'000)) step();
  EXPECT_FALSE(reflector_.is_watching());
  EXPECT_LE(clock_.now() - opened, milliseconds(152'000));
  server_.stream({});
  step();
  EXPECT_TRUE(asked("resourceVersion=5&"));
  EXPECT_TRUE(has("p1") && has("p2"));
}

// Bookmarks keep a stream alive, but not beyond the server's own timeout.
TEST_F(KubeReflector, AStreamThatIsNeverEndedIsClosed) {
  list_two();
  std::deque<FakeRead> reads;
  for (int i = 0; i < 100; ++i) {
    for (int second = 0; second < 60; ++second) reads.push_back(fake_bytes(""));
    reads.push_back(fake_bytes(fake_event("BOOKMARK", fake_object("p", "u", std::to_string(100 + i)))));
  }
  server_.stream(std::move(reads));
  step();
  const Duration opened = clock_.now();
  while (reflector_.is_watching() && clock_.now() - opened < milliseconds(3'600'000)) {
    (void)clock_.sleep(milliseconds(1'000));
    reflector_.step(Duration(0), changes_);
  }
  EXPECT_FALSE(reflector_.is_watching());
  EXPECT_LE(clock_.now() - opened, milliseconds(620'000));
}

TEST_F(KubeReflector, ABrokenStreamContinuesAndACutLineIsDropped) {
  list_two();
  const std::string cut = fake_event("DELETED", fake_object("p1", "u1", "8")).substr(0, 40);
  server_.stream({fake_bytes(fake_event("ADDED", fake_object("p3", "u3", "6")) + cut), fake_break()});
  server_.stream({});
  step(4);
  EXPECT_EQ(changes(), "+p3 ");
  EXPECT_TRUE(has("p1"));
  EXPECT_TRUE(asked("resourceVersion=6&"));
}

TEST_F(KubeReflector, AnEventThatCannotBeReadLeadsToAList) {
  for (const std::string& line :
       {std::string("{\"type\":\"ADDED\",\"object\":{\"metadata\":{}}}\n"), std::string("xx\n"),
        fake_event("MODIFIED", Value::map({{"metadata", Value("x")}}))}) {
    Reflector reflector(client_, {kPods, {"a", {}, {}}});
    server_.answer(fake_list({fake_object("p1", "u1", "3")}, "5"));
    server_.stream({fake_bytes(line)});
    server_.answer(fake_list({fake_object("p1", "u1", "4")}, "6"));
    for (int i = 0; i < 4; ++i) {
      (void)clock_.sleep(reflector.idle_for());
      reflector.step(milliseconds(1'000), changes_);
    }
    EXPECT_EQ(reflector.lists(), 2U) << line;
    EXPECT_NE(reflector.store().find({"a", "p1"}), nullptr);
  }
}

TEST_F(KubeReflector, TheSameNameWithAnotherUidIsAnotherObject) {
  list_two();
  server_.stream({fake_bytes(fake_event("MODIFIED", fake_object("p1", "new", "9")) +
                             fake_event("DELETED", fake_object("p1", "u1", "10")))});
  step(2);
  EXPECT_EQ(changes(), "-p1 +p1 ");  // the late deletion is of the old one
  EXPECT_TRUE(has("p1"));
}

TEST_F(KubeReflector, AnObjectThatIsListedTwiceSpoilsTheList) {
  server_.answer(fake_list({fake_object("p1", "u1", "3"), fake_object("p1", "u9", "4")}, "5"));
  step();
  EXPECT_FALSE(reflector_.synced());
  EXPECT_TRUE(reflector_.store().objects().empty());
}

TEST_F(KubeReflector, AnUnreachableServerIsAskedLessAndLessOften) {
  for (int i = 0; i < 12; ++i) server_.fail(ErrorCode::unavailable);
  step(12);
  EXPECT_FALSE(reflector_.synced());
  EXPECT_GE(clock_.now(), milliseconds(90'000));
  EXPECT_LE(reflector_.idle_for(), milliseconds(30'000));
}

}  // namespace
}  // namespace weft::kube
