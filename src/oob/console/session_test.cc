#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <condition_variable>
#include <deque>
#include <filesystem>
#include <thread>

#include "oob/bmc/fake_bmc.h"
#include "oob/console/client.h"
#include "oob/console/hub_socket.h"

namespace weft::oob {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

// A serial line that a test writes to, shared by all sessions to it.
struct Serial {
  std::mutex mutex;
  std::deque<std::string> said;
  std::string heard;
  int opens = 0;
  int opens_to_refuse = 0;
  int drops = 0;  // that many reads report that the session was lost
  bool echo = false;

  void say(const std::string& text) {
    const std::lock_guard lock(mutex);
    said.push_back(text);
  }
  std::string everything_heard() {
    const std::lock_guard lock(mutex);
    return heard;
  }
};

class SerialStream final : public ConsoleStream {
 public:
  SerialStream(std::shared_ptr<Serial> serial, Clock& clock) : serial_(std::move(serial)), clock_(clock) {}
  Result<std::string> read(Duration wait) override {
    {
      const std::lock_guard lock(serial_->mutex);
      if (serial_->drops > 0) {
        --serial_->drops;
        return Error{ErrorCode::unavailable, "SOL session lost", "n1"};
      }
      if (!serial_->said.empty()) {
        std::string text = serial_->said.front();
        serial_->said.pop_front();
        return text;
      }
    }
    (void)clock_.sleep(std::min(wait, milliseconds(5)));
    return std::string();
  }
  Status write(std::string_view text) override {
    const std::lock_guard lock(serial_->mutex);
    serial_->heard += text;
    if (serial_->echo) serial_->said.emplace_back(text);
    return {};
  }

 private:
  std::shared_ptr<Serial> serial_;
  Clock& clock_;
};

class SerialBmc final : public Bmc {
 public:
  SerialBmc(std::shared_ptr<Serial> serial, Clock& clock) : serial_(std::move(serial)), clock_(clock) {}
  Result<std::unique_ptr<ConsoleStream>> console() override {
    const std::lock_guard lock(serial_->mutex);
    if (serial_->opens_to_refuse > 0) {
      --serial_->opens_to_refuse;
      return Error{ErrorCode::conflict, "the console is in use", "n1"};
    }
    ++serial_->opens;
    return std::unique_ptr<ConsoleStream>(std::make_unique<SerialStream>(serial_, clock_));
  }
  Result<BmcIdentity> identity() override { return no(); }
  Result<PowerReading> power() override { return no(); }
  Result<std::vector<ResetAction>> reset_actions() override { return no(); }
  Status reset(ResetAction) override { return no(); }
  Result<std::vector<SensorReading>> sensors() override { return no(); }
  Result<std::vector<LogEvent>> events() override { return no(); }
  Status clear_events() override { return no(); }
  Result<std::vector<BmcUser>> users() override { return no(); }
  Status set_password(const std::string&, const Secret&) override { return no(); }
  Status set_user_enabled(const std::string&, bool) override { return no(); }
  Result<BmcSettings> settings() override { return no(); }
  Status change(const SettingsChange&) override { return no(); }

 private:
  static Error no() { return {ErrorCode::not_found, "not here", "n1"}; }
  std::shared_ptr<Serial> serial_;
  Clock& clock_;
};

class SerialConnector final : public BmcConnector {
 public:
  explicit SerialConnector(Clock& clock) : clock_(clock) {}
  Result<std::unique_ptr<Bmc>> dial(const Endpoint& endpoint, const std::string&, const Secret&) override {
    if (refuses.load()) return Error{ErrorCode::refused, "login refused", endpoint.device};
    return std::unique_ptr<Bmc>(std::make_unique<SerialBmc>(serial, clock_));
  }
  std::shared_ptr<Serial> serial = std::make_shared<Serial>();
  std::atomic<bool> refuses{false};

 private:
  Clock& clock_;
};

template <class TheClock>
struct Desk {
  explicit Desk(std::vector<std::string> program = {})
      : root(testing::TempDir() + "weft_console_" + std::to_string(::getpid()) + "_" +
             testing::UnitTest::GetInstance()->current_test_info()->name()),
        folder(root),
        inventory({target(std::move(program))}, {}) {
    fs::remove_all(root);
  }
  ~Desk() { fs::remove_all(root); }
  Desk(const Desk&) = delete;
  Desk& operator=(const Desk&) = delete;
  static Target target(std::vector<std::string> program) {
    Target target = fake_target("n1");
    target.endpoint.console = std::move(program);
    return target;
  }
  std::unique_ptr<ConsoleLog> log() { return std::move(ConsoleLog::open(folder, "n1", "alice", "", clock)).value(); }

  std::string root;    // removed with the desk
  std::string folder;  // in it
  TheClock clock;
  MemoryJournal journal;
  Inventory inventory;
  SerialConnector connector{clock};
  FakeCredentials credentials;
  Fleet fleet{inventory, connector, credentials, clock, journal};
};

TEST(ConsoleCapture, StopsAtThePattern) {
  Desk<ManualClock> desk;
  desk.connector.serial->say("GRUB\r\n");
  desk.connector.serial->say("train001 login: ");
  const auto log = desk.log();
  const Result<ConsoleCapture> capture = capture_console(desk.fleet, 0, milliseconds(60'000), "login:", *log);
  ASSERT_TRUE(capture.ok()) << capture.error().text();
  EXPECT_TRUE(capture->seen);
  EXPECT_EQ(capture->line, "train001 login: ");
  EXPECT_EQ(capture->bytes, 22U);
  EXPECT_THAT(capture->tail.back(), HasSubstr("| train001 login: "));
  const auto entries = desk.journal.read();
  ASSERT_EQ(entries->size(), 2U);
  EXPECT_EQ((*entries)[0].phase, Phase::begin);
  EXPECT_EQ((*entries)[1].phase, Phase::end);
  EXPECT_EQ(write_json_line((*entries)[1].detail), R"({"bytes_read": 22, "bytes_written": 0})");
}

TEST(ConsoleCapture, StopsAtTheTimeLimit) {
  Desk<ManualClock> desk;
  const auto log = desk.log();
  const Result<ConsoleCapture> capture = capture_console(desk.fleet, 0, milliseconds(3'000), "never", *log);
  ASSERT_TRUE(capture.ok());
  EXPECT_FALSE(capture->seen);
  EXPECT_GE(capture->took, milliseconds(3'000));
  EXPECT_LT(capture->took, milliseconds(3'300));
  EXPECT_FALSE(capture_console(desk.fleet, 0, milliseconds(10), "[", *log).ok());
}

TEST(ConsoleCapture, ReconnectsAfterADrop) {
  Desk<ManualClock> desk;
  desk.connector.serial->drops = 1;
  desk.connector.serial->opens_to_refuse = 0;
  desk.connector.serial->say("after\n");
  const auto log = desk.log();
  const Result<ConsoleCapture> capture = capture_console(desk.fleet, 0, milliseconds(60'000), "after", *log);
  ASSERT_TRUE(capture.ok());
  EXPECT_TRUE(capture->seen);
  EXPECT_EQ(capture->reopened, 1U);
  EXPECT_THAT(capture->tail,
              testing::Contains(HasSubstr("# the console is disconnected: SOL session lost; retrying in 1s")));
  EXPECT_THAT(capture->tail, testing::Contains(HasSubstr("# the console is connected again")));
}

TEST(ConsoleCapture, WaitsForABusyConsoleButNotForAWrongPassword) {
  Desk<ManualClock> desk;
  desk.connector.serial->opens_to_refuse = 3;
  desk.connector.serial->say("x\n");
  const auto log = desk.log();
  Result<ConsoleCapture> capture = capture_console(desk.fleet, 0, milliseconds(60'000), "x", *log);
  ASSERT_TRUE(capture.ok());
  EXPECT_TRUE(capture->seen);
  desk.connector.serial->opens_to_refuse = 1000;
  capture = capture_console(desk.fleet, 0, milliseconds(60'000), "x", *log);
  ASSERT_FALSE(capture.ok());
  EXPECT_EQ(capture.error().code, ErrorCode::conflict);
  desk.connector.refuses = true;
  const Duration before = desk.clock.now();
  EXPECT_EQ(capture_console(desk.fleet, 0, milliseconds(60'000), "x", *log).error().code, ErrorCode::refused);
  EXPECT_EQ(desk.clock.now(), before);
}

TEST(ConsoleCapture, ProgramProvidesTheConsole) {
  Desk<SystemClock> desk({"sh", "-c", "echo hello from a program; read line; echo got $line; sleep 5"});
  const auto log = desk.log();
  const Result<ConsoleCapture> capture = capture_console(desk.fleet, 0, milliseconds(5'000), "hello from", *log);
  ASSERT_TRUE(capture.ok()) << capture.error().text();
  EXPECT_TRUE(capture->seen);
  EXPECT_EQ(desk.connector.serial->opens, 0);  // the BMC was not contacted
}

TEST(ConsoleKeys, EscapeKeysWorkLikeSsh) {
  EscapeKeys keys;
  EXPECT_TRUE(keys.press("~.").leave);
  EscapeKeys typing;
  EXPECT_EQ(typing.press("ls ~.\r").send, "ls ~.\r");  // not at the start of a line
  EXPECT_TRUE(typing.press("~").send.empty());
  EXPECT_TRUE(typing.press("?").help);
  EXPECT_EQ(typing.press("~~x\r").send, "~x\r");
  EXPECT_TRUE(typing.press("~t").take);
  EXPECT_EQ(typing.press("~q").send, "~q");
  EXPECT_EQ(typing.press("\r~.rest").send, "\r");
}

// An attached user, in a thread, with a pipe as keyboard.
class Person {
 public:
  Person(Desk<SystemClock>& desk, std::string who, const ConsoleClientOptions& wishes = {}) : options_(wishes) {
    EXPECT_EQ(::pipe(keys_), 0);
    options_.folder = desk.folder;
    options_.who = std::move(who);
    options_.input = keys_[0];
    options_.output = [this](std::string_view bytes) { note(bytes); };
    options_.replayed = [this](std::string_view line) { note("<" + std::string(line) + ">"); };
    options_.note = [this](std::string_view text) { note("[" + std::string(text) + "]"); };
    thread_ = std::thread([this, &desk] { outcome_ = share_console(desk.fleet, 0, options_); });
  }
  ~Person() {
    leave();
    ::close(keys_[0]);
    ::close(keys_[1]);
  }
  Person(const Person&) = delete;
  Person& operator=(const Person&) = delete;

  void type(const std::string& text) {
    EXPECT_EQ(::write(keys_[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  void leave() {
    if (!thread_.joinable()) return;
    type("\r~.");
    thread_.join();
  }
  [[nodiscard]] std::string seen() {
    const std::lock_guard lock(mutex_);
    return seen_;
  }
  // Whether the text was seen within five seconds.
  [[nodiscard]] bool sees(const std::string& text) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(60), [&] { return seen_.find(text) != std::string::npos; });
  }
  void join() { thread_.join(); }
  [[nodiscard]] const Result<ConsoleOutcome>& outcome() const { return *outcome_; }

 private:
  void note(std::string_view text) {
    const std::lock_guard lock(mutex_);
    seen_ += text;
    changed_.notify_all();
  }
  ConsoleClientOptions options_;
  int keys_[2] = {-1, -1};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string seen_;
  std::optional<Result<ConsoleOutcome>> outcome_;
  std::thread thread_;
};

bool within_a_minute(const std::function<bool()>& holds) {
  for (int i = 0; i < 6'000; ++i) {
    if (holds()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

TEST(ConsoleHubConcurrent, SeveralReadAndOneWrites) {
  Desk<SystemClock> desk;
  desk.connector.serial->echo = true;
  Person alice(desk, "alice");
  ASSERT_TRUE(alice.sees("[alice has the write lock]"));
  desk.connector.serial->say("kernel: hello\r\n");
  ASSERT_TRUE(alice.sees("kernel: hello"));
  Person bob(desk, "bob");
  ASSERT_TRUE(bob.sees("| kernel: hello>"));  // replayed output
  ASSERT_TRUE(bob.sees("[alice has the write lock; ~t takes it over]"));
  Person eve(desk, "eve", {.view = true});
  ASSERT_TRUE(alice.sees("[eve joined (read-only)]"));
  EXPECT_EQ(desk.connector.serial->opens, 1);  // one session for three clients
  alice.type("uptime");
  ASSERT_TRUE(bob.sees("uptime"));
  ASSERT_TRUE(eve.sees("uptime"));
  bob.type("x");
  eve.type("y");
  ASSERT_TRUE(eve.sees("[read-only view; ~. disconnects]"));
  bob.type("\r~t");
  ASSERT_TRUE(alice.sees("[bob has the write lock, taken over from alice]"));
  bob.type("whoami");
  ASSERT_TRUE(alice.sees("whoami"));
  alice.type("z");
  ASSERT_TRUE(alice.sees("[bob has the write lock; ~t takes it over]"));
  EXPECT_EQ(desk.connector.serial->everything_heard(), "uptimewhoami");
}

TEST(ConsoleHubConcurrent, OpenerReceivesTheFirstByte) {
  Desk<SystemClock> desk;
  desk.connector.serial->say("BIOS\r\n");
  Person alice(desk, "alice", {.until = "BIOS"});
  alice.join();
  ASSERT_TRUE(alice.outcome().ok());
  EXPECT_EQ(alice.outcome()->end, ConsoleEnd::seen);
  EXPECT_THAT(alice.seen(), HasSubstr("BIOS\r\n"));
}

TEST(ConsoleHubConcurrent, RemainingClientTakesOver) {
  Desk<SystemClock> desk;
  auto alice = std::make_unique<Person>(desk, "alice");
  ASSERT_TRUE(alice->sees("[alice has the write lock]"));
  Person bob(desk, "bob");
  ASSERT_TRUE(bob.sees("[bob joined]"));
  alice.reset();
  ASSERT_TRUE(bob.sees("this command now owns the console session"));
  ASSERT_TRUE(bob.sees("[bob has the write lock]"));
  desk.connector.serial->say("still here\r\n");
  ASSERT_TRUE(bob.sees("still here"));
  Person carol(desk, "carol");
  ASSERT_TRUE(carol.sees("still here"));
  bob.leave();
  ASSERT_TRUE(bob.outcome().ok());
  EXPECT_EQ(bob.outcome()->end, ConsoleEnd::left);
  carol.leave();
  EXPECT_FALSE(fs::exists(desk.folder + "/n1.sock"));
  // Every attach and detach is in the journal.
  EXPECT_EQ(desk.journal.read()->size(), 6U);
  EXPECT_TRUE(open_operations(*desk.journal.read()).empty());
}

TEST(ConsoleHubConcurrent, HandlesUntilSendLimitAndTakeOver) {
  Desk<SystemClock> desk;
  desk.connector.serial->echo = true;
  Person waiter(desk, "waiter", {.send = "ping\r", .until = "pi.g"});
  waiter.join();
  ASSERT_TRUE(waiter.outcome().ok()) << waiter.outcome().error().text();
  EXPECT_EQ(waiter.outcome()->end, ConsoleEnd::seen);
  EXPECT_EQ(waiter.outcome()->line, "ping");
  EXPECT_EQ(waiter.outcome()->written, 5U);
  Person timed(desk, "timed", {.until = "never", .limit = milliseconds(300)});
  timed.join();
  EXPECT_EQ(timed.outcome()->end, ConsoleEnd::time_over);
  Person first(desk, "first");
  ASSERT_TRUE(first.sees("[first has the write lock]"));
  Person thief(desk, "thief", {.take = true});
  ASSERT_TRUE(first.sees("[thief has the write lock, taken over from first]"));
}

TEST(ConsoleHubConcurrent, DeadHolderLeavesNoLock) {
  Desk<SystemClock> desk;
  ASSERT_TRUE(fs::create_directories(desk.folder));
  // What a killed holder leaves: a socket without a listener, and a lock file that is not locked.
  const Result<int> dead = listen_at(desk.folder, "n1");
  ASSERT_TRUE(dead.ok()) << dead.error().text();
  ::close(*dead);
  Person alice(desk, "alice");
  EXPECT_TRUE(alice.sees("[alice has the write lock]"));
}

TEST(ConsoleHubConcurrent, InvalidFramesDisconnectOnlyTheirSender) {
  Desk<SystemClock> desk;
  Person alice(desk, "alice");
  ASSERT_TRUE(alice.sees("[alice has the write lock]"));
  for (const std::string& rubbish : {std::string(1000, '\xff'), std::string("GET / HTTP/1.1\r\n\r\n"),
                                     frame_bytes(FrameType::input, "before hello"), std::string("H\xff\xff\xff\xff")}) {
    const Result<int> guest = connect_to(desk.folder, "n1");
    ASSERT_TRUE(guest.ok());
    std::string unsent = rubbish;
    (void)write_available(*guest, unsent);
    std::string answer;
    EXPECT_TRUE(within_a_minute([&] { return !read_available(*guest, answer); }));  // it is disconnected
    ::close(*guest);
  }
  desk.connector.serial->say("fine");
  EXPECT_TRUE(alice.sees("fine"));
  EXPECT_EQ(desk.connector.serial->everything_heard(), "");
}

TEST(ConsoleHubConcurrent, SlowClientLosesOutputButDoesNotBlockTheConsole) {
  Desk<SystemClock> desk;
  Person alice(desk, "alice");
  ASSERT_TRUE(alice.sees("[alice has the write lock]"));
  const Result<int> slow = connect_to(desk.folder, "n1");
  ASSERT_TRUE(slow.ok());
  std::string hello = frame_bytes(FrameType::hello, "view\n0\nslow");
  ASSERT_TRUE(write_available(*slow, hello));
  ASSERT_TRUE(alice.sees("[slow joined"));
  // More than the buffer for a client, at the rate of one that reads.
  for (int i = 0; i < 30; ++i) {
    desk.connector.serial->say(std::string(80'000, 'x') + "\npart " + std::to_string(i) + ".\n");
    ASSERT_TRUE(alice.sees("part " + std::to_string(i) + "."));
  }
  std::string heard;
  EXPECT_TRUE(within_a_minute([&] {
    (void)read_available(*slow, heard);
    if (heard.size() > kMaxFrame * 2) heard.erase(0, heard.size() - kMaxFrame);
    return heard.find("bytes skipped: this view is too slow") != std::string::npos;
  }));
  ::close(*slow);
}

TEST(ConsoleHubConcurrent, LongFolderPathWorks) {
  Desk<SystemClock> desk;
  desk.folder += "/" + std::string(120, 'd');
  Person alice(desk, "alice");
  EXPECT_TRUE(alice.sees("[alice has the write lock]"));
}

TEST(ConsoleHubConcurrent, WrongPasswordIsReportedAtOnce) {
  Desk<SystemClock> desk;
  desk.connector.refuses = true;
  Person alice(desk, "alice");
  alice.join();
  ASSERT_FALSE(alice.outcome().ok());
  EXPECT_EQ(alice.outcome().error().code, ErrorCode::refused);
}

}  // namespace
}  // namespace weft::oob
