// weft serve with engine local, as a user runs it: submit, watch, kill ranks and the server itself, damaged
// checkpoints, a full disk, other users, invalid requests. WEFT_KILLS sets how often the server is killed (25), with a
// quarter as many jobs.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>

#include "base/process.h"
#include "base/random.h"
#include "base/test_places.h"
#include "base/test_prerequisites.h"
#include "base/text.h"
#include "program.h"
#include "serve/http/client.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;
using testing_program::contents;
using testing_program::put;

constexpr const char* kCluster = R"(weft: 1
name: bench4
pools:
  - {name: train, role: training, server: hgx-h100, count: 5, per_rack: 1}
tenants:
  - {name: team-a}
)";

class Operate : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = "/tmp/weft_operate_XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
    state_ = root_ / "state";
    put(root_ / "cluster.yaml", kCluster);
    fs::create_directories(root_ / "a");
    fs::create_directories(root_ / "b");
  }

  void TearDown() override {
    stop_server(SIGKILL);
    kill_jobs();
    if (mounted_) ::umount2(state_.c_str(), MNT_DETACH);
    std::error_code ignored;
    fs::remove_all(root_, ignored);
  }

  void start_server(const char* start_timeout = "2m") {
    server_ = ::fork();
    if (server_ == 0) {
      const int log = ::open((root_ / "server.log").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
      ::dup2(log, STDOUT_FILENO);
      ::dup2(log, STDERR_FILENO);
      ::execl(weft_binary().c_str(), "weft", "serve", (root_ / "cluster.yaml").c_str(), "--state", state_.c_str(),
              "--socket", socket().c_str(), "--start-timeout", start_timeout, "-v", nullptr);
      ::_exit(127);
    }
  }

  int stop_server(int signal) {
    if (server_ <= 0) return -1;
    ::kill(server_, signal);
    int status = 0;
    ::waitpid(server_, &status, 0);
    server_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  // Until the server answers and every node is in service.
  void wait_ready() {
    for (;;) {
      const ProcessOutcome status = weft({"status", "-o", "json"});
      if (status.code == 0) {
        const json facts = json::parse(status.out)["server"];
        if (facts["nodes"] == facts["usable_nodes"]) return;
      }
      int ended = 0;
      ASSERT_EQ(::waitpid(server_, &ended, WNOHANG), 0) << contents(root_ / "server.log");
      pause();
    }
  }

  static void pause() { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }

  ProcessOutcome weft(std::vector<std::string> words, const std::string& input = {}) const {
    words.insert(words.begin(), weft_binary());
    ProcessRequest request;
    request.words = std::move(words);
    request.input = input;
    request.limit = milliseconds(600'000);
    request.environment = {{"WEFT_SOCKET", socket()}};
    const Result<ProcessOutcome> outcome = run_process(request);
    EXPECT_TRUE(outcome.ok()) << outcome.error().text();
    return outcome.ok() ? *outcome : ProcessOutcome{-1, "", ""};
  }

  std::string submit(const std::string& text, const std::string& name = "job.yaml") const {
    put(root_ / name, text);
    const ProcessOutcome outcome = weft({"job", "submit", "-q", (root_ / name).string()});
    if (outcome.code != 0) throw std::runtime_error(outcome.err);
    return std::string(trim(outcome.out));
  }

  json job(const std::string& number) const {
    const ProcessOutcome outcome = weft({"job", "show", number, "-o", "json"});
    if (outcome.code != 0) throw std::runtime_error(outcome.err);
    return json::parse(outcome.out)["job"];
  }

  // A gang that trains for `steps` and writes a checkpoint every five. After `pause_step` it waits for the file `go`.
  std::string training(int nodes, int steps, int pause_step = -1) const {
    return "job: 1\nname: tiny\ntenant: team-a\nnodes: " + std::to_string(nodes) + "\ncommand: [python3, " +
           source_dir() + "/examples/tiny_train.py, --steps, \"" + std::to_string(steps) +
           "\", --step-time, \"0.03\", --checkpoint-steps, \"5\", --pause-step, \"" + std::to_string(pause_step) +
           "\", --pause-file, " + (root_ / "go").string() + "]\ncheckpoint: {volumes: [" + (root_ / "a").string() +
           ", " + (root_ / "b").string() + "], notice: signal}\nrestart: {backoff: 100ms}\n";
  }

  // The processes of all ranks of a job that cannot end now.
  std::map<int, pid_t> ranks(const std::string& number, std::size_t count) const {
    for (;;) {
      std::map<int, pid_t> found = ranks(number);
      if (found.size() >= count) return found;
      pause();
    }
  }

  // Of the processes of a job: rank -> pid. A variable of its environment identifies them.
  std::map<int, pid_t> ranks(const std::string& number) const {
    std::map<int, pid_t> found;
    for (const fs::directory_entry& entry : fs::directory_iterator("/proc")) {
      const std::string name = entry.path().filename();
      if (name.find_first_not_of("0123456789") != std::string::npos) continue;
      const std::string variables = contents(entry.path() / "environ");
      if (!contains(variables, "WEFT_CHECKPOINT_REQUEST=" + state_.string())) continue;
      const std::string with_nul = std::string(1, '\0') + variables;
      if (!contains(with_nul, std::string(1, '\0') + "WEFT_JOB_ID=" + number + std::string(1, '\0'))) continue;
      const std::size_t at = with_nul.find(std::string(1, '\0') + "RANK=");
      if (at != std::string::npos) found[std::atoi(with_nul.c_str() + at + 6)] = std::atoi(name.c_str());
    }
    return found;
  }

  void kill_jobs() const {
    for (const fs::directory_entry& entry : fs::directory_iterator("/proc")) {
      const std::string name = entry.path().filename();
      if (name.find_first_not_of("0123456789") != std::string::npos) continue;
      const bool ours = contains(contents(entry.path() / "environ"), state_.string()) ||
                        contains(contents(entry.path() / "cmdline"), state_.string());
      if (ours && std::atoi(name.c_str()) != ::getpid()) ::kill(std::atoi(name.c_str()), SIGKILL);
    }
  }

  // Until the job has a checkpoint of at least this step, as weft sees it.
  void wait_for_step(const std::string& number, int step) {
    for (;;) {
      const json fields = job(number);
      if (fields.value("checkpoint_step", 0) >= step) return;
      ASSERT_NE(fields.value("state", ""), "failed") << fields.dump();
      pause();
    }
  }

  std::string events(const std::string& number) const {
    // `watch` does not end by itself: the stream is read until the job's end.
    std::string text;
    serve::FollowRequest request;
    request.endpoint = serve::Endpoint::unix_socket(socket());
    request.target = "/api/v1/events?job=" + number;
    request.last_event_id = 0;
    (void)serve::follow_events(request, [&](const serve::ServerEvent& event) {
      text += event.data + "\n";
      const bool succeeded = event.name == "attempt_ended" && contains(event.data, "succeeded");
      return !succeeded && event.name != "job_ended";
    });
    return text;
  }

  std::string socket() const { return (root_ / "s").string(); }

  fs::path root_;
  fs::path state_;
  pid_t server_ = 0;
  bool mounted_ = false;
};

TEST_F(Operate, AGangSurvivesTheKillOfARank) {
  start_server();
  wait_ready();
  const std::string number = submit(training(4, 60, 12));
  wait_for_step(number, 10);
  const std::map<int, pid_t> before = ranks(number, 4);
  ASSERT_EQ(::kill(before.at(2), SIGKILL), 0);
  put(root_ / "go", "");
  const ProcessOutcome waited = weft({"job", "wait", number});
  EXPECT_EQ(waited.code, 0) << waited.out << contents(root_ / "server.log");
  EXPECT_EQ(job(number)["attempt"], 2);
  const ProcessOutcome log = weft({"job", "logs", number, "--task", "3"});
  EXPECT_THAT(log.out, HasSubstr("rank 3 restored step "));
  const int restored = std::atoi(log.out.substr(log.out.find("restored step ") + 14).c_str());
  EXPECT_GE(restored, 10);
  EXPECT_THAT(weft({"job", "logs", number, "--attempt", "1", "--task", "0"}).out, HasSubstr("rank 0 step 10 "));
  const std::string history = events(number);
  EXPECT_THAT(history, HasSubstr("attempt 2 restores step-0000000000"));
  EXPECT_THAT(history, HasSubstr("killed by signal 9"));
  EXPECT_EQ(stop_server(SIGTERM), 0);
}

TEST_F(Operate, ADamagedCheckpointIsNotUsed) {
  start_server();
  wait_ready();
  const std::string number = submit(training(2, 40, 17));
  wait_for_step(number, 15);
  const std::map<int, pid_t> paused = ranks(number, 2);
  std::map<std::string, fs::path> found;  // by name: step-000000000015
  for (const char* volume : {"a", "b"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root_ / volume)) {
      if (entry.path().filename() == "state.json" && !contains(entry.path().string(), "/.tmp-"))
        found[entry.path().parent_path().filename()] = entry.path();
    }
  }
  ASSERT_GE(found.size(), 2U);
  const std::string newest = found.rbegin()->first;
  const std::string older = std::next(found.rbegin())->first;
  std::string bytes = contents(found.rbegin()->second);
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  put(found.rbegin()->second, bytes);
  for (const auto& [rank, pid] : paused) ::kill(pid, SIGKILL);
  put(root_ / "go", "");
  EXPECT_EQ(weft({"job", "wait", number}).code, 0);
  const std::string history = events(number);
  EXPECT_THAT(history, HasSubstr("attempt 2 restores " + older));
  const std::size_t rejected = history.find("rejected: ");
  ASSERT_NE(rejected, std::string::npos) << history;
  EXPECT_THAT(history.substr(rejected, history.find('\n', rejected) - rejected), HasSubstr(newest));
}

// A kill between the record of a start and the start itself leaves an attempt that never runs: it ends at the start
// timeout, and the next attempt follows. No attempt is ever started twice.
TEST_F(Operate, TheServerIsKilledAtRandomMoments) {
  const char* text = std::getenv("WEFT_KILLS");
  const int kills = text != nullptr ? std::atoi(text) : 25;
  const int jobs = std::max(2, kills / 4);
  start_server("3s");
  wait_ready();
  const std::string name = "$WEFT_JOB_ID $WEFT_ATTEMPT $RANK";
  put(root_ / "marks.yaml",
      "job: 1\nname: marks\ntenant: team-a\nnodes: 2\nrestart: {backoff: 100ms}\ncommand: [/bin/sh, -c, 'echo " + name +
          " >> " + (root_ / "starts").string() + "; sleep 0.3; echo " + name + " >> " + (root_ / "ends").string() +
          "']\n");
  std::thread submitter([&] {
    for (int i = 0; i < jobs; ++i) EXPECT_EQ(weft({"job", "submit", "-q", (root_ / "marks.yaml").string()}).code, 0);
  });
  RandomStream random(17, "operate kills");
  for (int i = 0; i < kills; ++i) {
    std::this_thread::sleep_for(std::chrono::microseconds(random.below(400'000)));
    EXPECT_EQ(stop_server(SIGKILL), 128 + SIGKILL) << contents(root_ / "server.log");
    start_server("3s");
  }
  submitter.join();
  std::vector<std::string> wait = {"job", "wait"};
  for (int i = 1; i <= jobs; ++i) wait.push_back(std::to_string(i));
  const ProcessOutcome waited = weft(wait);
  EXPECT_EQ(waited.code, 0) << waited.out << waited.err << contents(root_ / "server.log");
  EXPECT_NE(weft({"job", "show", std::to_string(jobs + 1)}).code, 0) << "a submission was executed twice";
  std::map<std::string, int, std::less<>> starts;
  std::map<std::string, int, std::less<>> ends;
  const std::string started = contents(root_ / "starts");
  const std::string ended = contents(root_ / "ends");
  for (const std::string_view line : split_lines(started)) EXPECT_EQ(++starts[std::string(line)], 1) << line;
  for (const std::string_view line : split_lines(ended)) EXPECT_EQ(++ends[std::string(line)], 1) << line;
  for (int i = 1; i <= jobs; ++i) {
    const int attempt = job(std::to_string(i))["attempt"];
    for (const char* rank : {" 0", " 1"}) {
      const std::string last = std::to_string(i) + " " + std::to_string(attempt) + rank;
      EXPECT_EQ(starts[last], 1) << last;
      EXPECT_EQ(ends[last], 1) << last;
    }
  }
  EXPECT_EQ(stop_server(SIGTERM), 0);
  start_server();  // the journal opens
  wait_ready();
}

TEST_F(Operate, AFullDiskLosesNothing) {
  fs::create_directories(state_);
  WEFT_NEEDS_ROOT();
  WEFT_NEEDS(::mount("weft-test", state_.c_str(), "tmpfs", 0, "size=64m") == 0, "mounts");
  mounted_ = true;
  start_server();
  wait_ready();
  const std::string done = submit("job: 1\nname: one\ntenant: team-a\nnodes: 1\ncommand: [/bin/true]\n");
  EXPECT_EQ(weft({"job", "wait", done}).code, 0);
  const std::string running =
      submit("job: 1\nname: two\ntenant: team-a\nnodes: 1\ncommand: [/bin/sh, -c, 'until test -e " +
             (root_ / "go").string() + "; do sleep 0.05; done']\n");
  while (job(running)["state"] != "running") pause();
  {
    std::ofstream filler(state_ / "filler", std::ios::binary);
    const std::string block(1 << 16, 'x');
    while (filler.write(block.data(), static_cast<std::streamsize>(block.size())).flush()) {
    }
  }
  {  // what is left of the last block
    std::ofstream rest(state_ / "rest", std::ios::binary);
    while (rest.put('x').flush()) {
    }
  }
  // SQLite may use space that it has allocated; after some requests none is left.
  ProcessOutcome refused;
  for (int i = 0; i < 10'000 && refused.code <= 0; ++i) {
    refused = weft({"node", i % 2 == 0 ? "drain" : "resume", "train001", "--reason", std::string(900, 'r')});
  }
  EXPECT_EQ(refused.code, 5);
  EXPECT_THAT(refused.err, HasSubstr("the journal cannot be written"));
  EXPECT_THAT(weft({"status"}).out, HasSubstr("full"));
  EXPECT_EQ(job(running)["state"], "running");
  put(root_ / "go", "");  // it ends while nothing can be written
  fs::remove(state_ / "filler");
  fs::remove(state_ / "rest");
  EXPECT_EQ(weft({"job", "wait", running}).code, 0);
  EXPECT_EQ(job(done)["state"], "done");
  EXPECT_THAT(weft({"status"}).out, HasSubstr("durable"));
  if (contains(weft({"node", "show", "train001"}).out, "Drained by")) {  // the request took effect later
    EXPECT_EQ(weft({"node", "resume", "train001"}).code, 0);
  }
  EXPECT_EQ(stop_server(SIGKILL), 128 + SIGKILL);
  start_server();
  wait_ready();
  EXPECT_EQ(job(running)["state"], "done");
}

TEST_F(Operate, ADrillRestoresOnOtherNodes) {
  start_server();
  wait_ready();
  const std::string number = submit(training(2, 100'000));
  wait_for_step(number, 5);
  EXPECT_EQ(weft({"drill", "run", "checkpoint"}).code, 2);
  const ProcessOutcome drill = weft({"drill", "run", "checkpoint", "--job", number});
  EXPECT_EQ(drill.code, 0) << drill.out << drill.err;
  EXPECT_THAT(drill.out, HasSubstr("drill passed: attempt 2 restored step-"));
  EXPECT_THAT(drill.out, HasSubstr("on train003, train004; attempt 1 had run on train001, train002"));
  EXPECT_EQ(weft({"job", "cancel", number, "--reason", "enough"}).code, 0);
  EXPECT_EQ(weft({"job", "wait", number}).code, 1);
  EXPECT_EQ(job(number)["state"], "canceled");
}

TEST_F(Operate, SeveralFilesAreSeveralJobs) {
  start_server();
  wait_ready();
  const auto file = [&](const std::string& name, const std::string& text) {
    put(root_ / name, text);
    return (root_ / name).string();
  };
  const std::string good = file("good.yaml", "job: 1\nname: one\nnodes: 1\ncommand: [/bin/true]\n");
  const std::string invalid = file("invalid.yaml", "job: 1\nname: x\nnodes: many\n");
  const ProcessOutcome both = weft({"job", "submit", "-q", good, good});
  EXPECT_EQ(both.code, 0) << both.err;
  EXPECT_EQ(both.out, "1\n2\n");
  const ProcessOutcome half = weft({"job", "submit", "-q", good, invalid, good});
  EXPECT_NE(half.code, 0);
  EXPECT_EQ(half.out, "3\n");
  EXPECT_THAT(half.err, HasSubstr("invalid.yaml"));
  EXPECT_THAT(weft({"job", "submit", "--key", "k", good, good}).err, HasSubstr("--key is for one file"));
  EXPECT_EQ(submit("job: 1\nname: one\nnodes: 1\ncommand: [/bin/true]\n"), "4");
}

TEST_F(Operate, JobsOfEveryFormat) {
  start_server();
  wait_ready();
  const std::string batch = submit(
      "#!/bin/bash\n#SBATCH --job-name=batch\n#SBATCH --nodes=2\n#SBATCH --account=team-a\n#SBATCH --gpus-per-node=8\n"
      "#SBATCH --output=" +
          (root_ / "batch.out").string() + "\nsrun hostname\necho node $SLURM_NODEID of $SLURM_NNODES\n",
      "job.sbatch");
  EXPECT_EQ(weft({"job", "wait", batch}).code, 0) << contents(root_ / "batch.out");
  EXPECT_THAT(contents(root_ / "batch.out"), HasSubstr("node 1 of 2"));
  const ProcessOutcome invalid = weft({"job", "submit", "-"}, "job: 1\nname: x\nnodes: many\n");
  EXPECT_EQ(invalid.code, 2);
  EXPECT_THAT(invalid.err, HasSubstr("standard input:3"));
}

TEST_F(Operate, ExplainsAndControlsWaitingJobs) {
  start_server();
  wait_ready();
  const std::string sleeper =
      "job: 1\nname: sleeper\ntenant: team-a\nnodes: 5\ntime_limit: 1h\ncommand: [sleep, \"600\"]\n";
  const std::string first = submit(sleeper);
  while (job(first)["state"] != "running") pause();
  const std::string second = submit(sleeper);
  const ProcessOutcome why = weft({"job", "why", second});
  EXPECT_EQ(why.code, 0);
  EXPECT_THAT(why.out, HasSubstr("Waits for"));
  EXPECT_THAT(why.out, HasSubstr("Changes that would start it sooner"));
  EXPECT_THAT(weft({"queue"}).out, HasSubstr("sleeper"));
  EXPECT_EQ(weft({"job", "hold", second, "--reason", "maintenance"}).code, 0);
  EXPECT_EQ(job(second)["state"], "held");
  EXPECT_THAT(weft({"job", "why", second}).out, HasSubstr("maintenance"));
  EXPECT_EQ(weft({"job", "hold", first}).code, 4);
  EXPECT_EQ(weft({"job", "release", second}).code, 0);
  EXPECT_EQ(weft({"node", "drain", "train00[1-2]", "--reason", "firmware"}).code, 0);
  EXPECT_THAT(weft({"node", "show", "train002"}).out, HasSubstr("firmware"));
  EXPECT_THAT(weft({"node", "list"}).out, HasSubstr("draining"));
  EXPECT_EQ(weft({"job", "cancel", first, second}).code, 0);
  EXPECT_EQ(weft({"job", "wait", first, second}).code, 1);
  EXPECT_THAT(weft({"node", "list"}).out, HasSubstr("drained"));
  EXPECT_EQ(weft({"node", "resume", "train00[1-2]"}).code, 0);
  EXPECT_EQ(weft({"node", "drain", "train900", "--reason", "test"}).code, 2);
  EXPECT_EQ(weft({"job", "show", "77"}).code, 2);
  EXPECT_THAT(weft({"job", "list", "--all", "-o", "csv"}).out, HasSubstr("canceled"));
  // A damaged journal: it does not start, and says so.
  EXPECT_EQ(stop_server(SIGTERM), 0);
  const fs::path journal = state_ / "journal" / "journal.db";
  std::string bytes = contents(journal);
  ASSERT_GT(bytes.size(), 8192U);
  for (std::size_t i = 4096; i < bytes.size(); i += 64) bytes[i] = static_cast<char>(~bytes[i]);
  put(journal, bytes);
  start_server();
  int status = 0;
  ::waitpid(server_, &status, 0);
  server_ = 0;
  EXPECT_EQ(WEXITSTATUS(status), 5);
  EXPECT_EQ(contents(journal), bytes);
}

TEST_F(Operate, NodesAreReservedForMaintenance) {
  start_server();
  wait_ready();
  const std::string number = submit(training(4, 100'000));
  wait_for_step(number, 5);
  EXPECT_EQ(weft({"node", "reserve", "fw", "train001", "--for", "1h", "--reason", "firmware"}).code, 0);
  EXPECT_EQ(weft({"node", "reserve", "fw", "train002", "--for", "1h"}).code, 4);
  EXPECT_EQ(weft({"node", "reserve", "odd", "train009", "--for", "1h"}).code, 2);
  EXPECT_EQ(weft({"node", "reserve", "odd", "train001"}).code, 2);
  EXPECT_EQ(weft({"node", "reserve", "odd", "train001", "--for", "500000w"}).code, 2);
  EXPECT_EQ(weft({"node", "reserve", "odd", "train001", "--for", "1h", "--in", "15000w"}).code, 2);
  EXPECT_EQ(weft({"node", "reserve", "odd/../name", "train001", "--for", "1h"}).code, 2);
  EXPECT_THAT(weft({"node", "reservations"}).out, HasSubstr("firmware"));
  for (;;) {  // the job moves away from the node
    const json fields = job(number);
    if (fields["attempt"] == 2 && fields["state"] == "running") break;
    pause();
  }
  EXPECT_EQ(job(number)["nodes"], "train[002-005]");
  EXPECT_THAT(weft({"node", "show", "train001"}).out, HasSubstr("fw"));
  EXPECT_EQ(weft({"node", "unreserve", "fw"}).code, 0);
  EXPECT_EQ(weft({"node", "unreserve", "fw"}).code, 2);
  EXPECT_EQ(weft({"job", "cancel", number}).code, 0);
}

TEST_F(Operate, OtherUsersMayOnlyChangeTheirOwnJobs) {
  WEFT_NEEDS_ROOT();
  start_server();
  wait_ready();
  fs::permissions(root_, fs::perms::all);
  const std::string number = submit("job: 1\nname: mine\ntenant: team-a\nnodes: 1\ncommand: [sleep, \"600\"]\n");
  const auto as_other = [&](std::vector<std::string> words) {
    std::vector<std::string> all = {"setpriv", "--reuid=65534",           "--regid=65534", "--clear-groups",
                                    "env",     "WEFT_SOCKET=" + socket(), weft_binary()};
    all.insert(all.end(), words.begin(), words.end());
    ProcessRequest request;
    request.words = std::move(all);
    const Result<ProcessOutcome> outcome = run_process(request);
    EXPECT_TRUE(outcome.ok());
    return outcome.ok() ? *outcome : ProcessOutcome{};
  };
  EXPECT_EQ(as_other({"job", "list"}).code, 0);
  EXPECT_THAT(as_other({"job", "show", number}).out, Not(HasSubstr("sleep")));
  EXPECT_EQ(as_other({"job", "cancel", number}).code, 4);
  EXPECT_EQ(as_other({"job", "logs", number}).code, 4);
  EXPECT_EQ(as_other({"node", "drain", "train001", "--reason", "test"}).code, 4);
  put(root_ / "own.yaml", "job: 1\nname: own\ntenant: team-a\nnodes: 1\ncommand: [/usr/bin/id, -un]\n");
  fs::permissions(root_ / "own.yaml", fs::perms::all);
  const ProcessOutcome own = as_other({"job", "submit", "-q", "--directory", "/tmp", (root_ / "own.yaml").string()});
  ASSERT_EQ(own.code, 0) << own.err;
  const std::string theirs(trim(own.out));
  EXPECT_EQ(weft({"job", "wait", theirs}).code, 0) << contents(root_ / "server.log");
  EXPECT_EQ(as_other({"job", "logs", theirs}).out, "nobody\n");
  EXPECT_EQ(weft({"job", "cancel", number}).code, 0);
}

TEST_F(Operate, EnginesNeedTheirFiles) {
  const std::string absent = (root_ / "none").string();
  const auto refused = [&](std::vector<std::string> more, const std::string& text) {
    std::vector<std::string> words = {"serve", (root_ / "cluster.yaml").string(), "--state", state_.string()};
    words.insert(words.end(), more.begin(), more.end());
    const ProcessOutcome outcome = weft(words);
    EXPECT_EQ(outcome.code, 2);
    EXPECT_THAT(outcome.err, HasSubstr(text));
    EXPECT_FALSE(fs::exists(state_));
  };
  refused({"--engine", "slurm", "--slurm-conf", absent}, absent + " cannot be read: No such file or directory");
  refused({"--engine", "slurm", "--slurm-token", absent}, "--slurm-token");
  refused({"--engine", "kubernetes", "--image", "x", "--kubeconfig", absent}, "--kubeconfig");
  refused({"--engine", "kubernetes"}, "--image");
  refused({"--image", "x"}, "needs --engine kubernetes");
}

TEST_F(Operate, InvalidRequests) {
  start_server();
  wait_ready();
  const auto status_of = [&](const std::string& method, const std::string& target, const std::string& body) {
    serve::ClientRequest request;
    request.endpoint = serve::Endpoint::unix_socket(socket());
    request.method = method;
    request.target = target;
    request.body = body;
    const Result<serve::HttpResponse> response = serve::send_request(request);
    return response.ok() ? response->status : -1;
  };
  EXPECT_EQ(status_of("POST", "/api/v1/jobs", "{\"text\": "), 400);
  EXPECT_EQ(status_of("POST", "/api/v1/jobs", "[]"), 400);
  EXPECT_EQ(status_of("POST", "/api/v1/jobs", "{\"text\": 7}"), 400);
  EXPECT_EQ(status_of("POST", "/api/v1/jobs", "{\"text\": \"x\", \"more\": \"y\"}"), 400);
  EXPECT_EQ(status_of("POST", "/api/v1/jobs", "{\"text\": \"job: 1\", \"directory\": \"here\"}"), 400);
  EXPECT_EQ(status_of("POST", "/api/v1/jobs", "{\"text\": \"job: 1\\nname: x\\nnodes: 0\\n\"}"), 422);
  EXPECT_EQ(status_of("POST", "/api/v1/jobs", std::string(9 << 20, 'x')), 413);
  EXPECT_EQ(status_of("POST", "/api/v1/jobs", std::string(64, '[')), 400);
  EXPECT_EQ(status_of("DELETE", "/api/v1/jobs", ""), 405);
  EXPECT_EQ(status_of("GET", "/v2/jobs", ""), 404);
  EXPECT_EQ(status_of("GET", "/api/v1/jobs/0", ""), 400);
  EXPECT_EQ(status_of("GET", "/api/v1/jobs/7%2F..", ""), 400);
  EXPECT_EQ(status_of("GET", "/api/v1/jobs/99999999999999999999", ""), 400);
  EXPECT_EQ(status_of("GET", "/api/v1/jobs?limit=-1", ""), 400);
  EXPECT_EQ(status_of("GET", "/api/v1/jobs?output=xml", ""), 400);
  EXPECT_EQ(status_of("GET", "/api/v1/jobs?state=odd", ""), 400);
  EXPECT_EQ(status_of("GET", "/api/v1/nodes/unknown", ""), 404);
  EXPECT_EQ(status_of("GET", "/api/v1/events?since=99999999", ""), 400);
  EXPECT_EQ(status_of("POST", "/api/v1/jobs/7/cancel", ""), 404);
  EXPECT_EQ(status_of("POST", "/api/v1/nodes/train001/drain", "{\"reason\": \"a\\u0007b\"}"), 400);
  EXPECT_EQ(status_of("GET", "/api/v1/server", ""), 200);
}

}  // namespace
}  // namespace weft
