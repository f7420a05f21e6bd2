// A fake cluster for rescue tests: hosts with power, consoles, ports, configs, and a process that can be killed at
// every journal write and every side effect.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/test_places.h"
#include "model/load.h"
#include "oob/rescue/run.h"
#include "oob/rescue/runbook_store.h"

namespace weft::oob {

// The process died here.
struct Killed {};

// Counts the kill points of a run, and kills it at one of them.
struct KillSwitch {
  int at = -1;  // never
  int passed = 0;
  void point() {
    if (passed++ == at) throw Killed{};
  }
};

// An entry is durable when append() returned, and may be durable if the process died in it.
class FakeJournal final : public Journal {
 public:
  explicit FakeJournal(KillSwitch& kill) : kill_(kill) {}
  [[nodiscard]] Status append(JournalEntry entry) override {
    kill_.point();
    if (broken) return Error{ErrorCode::unavailable, "no space left on device", "journal"};
    entry.number = entries.size() + 1;
    entries.push_back(std::move(entry));
    kill_.point();
    return {};
  }
  [[nodiscard]] Result<std::vector<JournalEntry>> read() const override { return entries; }
  [[nodiscard]] const std::string& path() const override { return path_; }
  [[nodiscard]] std::string head() const override { return {}; }

  std::vector<JournalEntry> entries;
  bool broken = false;

 private:
  KillSwitch& kill_;
  std::string path_;
};

struct FakeHost {
  PowerState state = PowerState::on;
  bool answers = true;  // its BMC responds
  bool hung = false;    // its OS hangs until rebooted
  bool loops = false;   // boot loop while its config is not "good"
  bool stuck = false;   // accepts power verbs and does nothing
  int boots = 0;        // disruptive ones: cycle and reset
  int offs = 0;
  int ons = 0;
  int installs = 0;
  std::string config = "good";
};

class FakeRescueActions final : public RescueActions {
 public:
  FakeRescueActions(const RescueHosts& hosts, KillSwitch& kill, Clock& clock) : kill_(kill), clock_(clock) {
    const std::vector<Target>& targets = hosts.inventory().targets();
    for (std::uint32_t i = 0; i < targets.size(); ++i) {
      world[targets[i].name];
      for (const char* at : {"bmc", "oob", "frontend"}) {
        if (const Result<std::string> address = hosts.address(i, at); address.ok())
          by_address[*address] = targets[i].name;
      }
    }
  }

  [[nodiscard]] RescuePowerAnswer power(const RescuePowerCall& call) override {
    kill_.point();
    EXPECT_FALSE(begun.contains(call.operation)) << "one id, sent twice";
    begun.insert(call.operation);
    kill_.point();
    return carry_out(call);
  }

  // Like the power loop: steps without an intent are sent now, steps with one are judged by boot ids if the BMC reports
  // them.
  [[nodiscard]] std::optional<RescuePowerAnswer> recall_power(const RescuePowerCall& call) override {
    if (!begun.contains(call.operation)) return std::nullopt;
    if (const auto end = ended.find(call.operation); end != ended.end()) return end->second;
    if (blind && !sent[call.operation].empty())
      return RescuePowerAnswer{RescuePowerEnd::unknown, "the BMC tells no boot id", {}};
    return carry_out(call);
  }

  [[nodiscard]] std::vector<RescueHostAnswer> status(const std::vector<std::string>& hosts) override {
    std::vector<RescueHostAnswer> answers;
    for (const std::string& name : hosts) {
      const FakeHost& host = world.at(name);
      answers.push_back({host.answers, host.state, host.answers ? "" : "no route"});
    }
    return answers;
  }

  [[nodiscard]] Result<RescueConsoleAnswer> console(const std::string& name, Duration time,
                                                    const std::function<bool(const std::string&)>& until,
                                                    const std::function<void(std::string_view)>& sink) override {
    const FakeHost& host = world.at(name);
    if (!host.answers || no_console) return Error{ErrorCode::unavailable, "no serial over LAN", name};
    RescueConsoleAnswer answer;
    std::vector<std::string> pieces = {"GRUB loading\r\n", "Starting kernel\r\n"};
    if (host.loops && host.config != "good") {
      pieces.insert(pieces.end(), {"panic\r\n", "GRUB loading\r\n"});
    } else {
      pieces.emplace_back(name + " login: ");
    }
    for (const std::string& piece : pieces) {
      kill_.point();
      sink(piece);
      answer.text += piece;
      answer.seen = until(answer.text);
      if (answer.seen) return answer;
    }
    (void)clock_.sleep(time);
    return answer;
  }

  [[nodiscard]] Result<RescueRunAnswer> run(const std::vector<std::string>& words, Duration) override {
    kill_.point();
    runs[words.front()] += 1;
    last_words = words;
    if (words.front() == "ping") return RescueRunAnswer{system_answers(by_address[words.back()]) ? 0 : 1, {}, {}};
    const auto found = programs.find(words.front());
    if (found == programs.end()) return Error{ErrorCode::not_found, "no such program", words.front()};
    kill_.point();
    return found->second(words);
  }

  [[nodiscard]] std::vector<bool> connect(const std::vector<std::string>& addresses, std::uint16_t, Duration) override {
    std::vector<bool> taken;
    for (const std::string& address : addresses) taken.push_back(system_answers(by_address[address]));
    return taken;
  }

  [[nodiscard]] Result<std::string> config_now(const std::string& name) override {
    if (!system_answers(name)) return Error{ErrorCode::unavailable, "no answer", name};
    return world.at(name).config;
  }
  [[nodiscard]] Result<std::string> config_kept(const std::string& name, const std::string& which) override {
    if (which != "good") return Error{ErrorCode::not_found, "nothing is kept under " + which, name};
    return std::string("good");
  }
  [[nodiscard]] Status install_config(const std::string& name, const std::string& config) override {
    kill_.point();
    FakeHost& host = world.at(name);
    host.installs += 1;
    if (!refuses_config.contains(name)) host.config = config;
    installs.push_back(name);
    kill_.point();
    return {};
  }
  [[nodiscard]] bool same_config(const std::string&, const std::string& a, const std::string& b) override {
    return a == b;
  }

  std::map<std::string, FakeHost> world;
  std::map<std::string, std::string> by_address;
  std::map<std::string, std::function<RescueRunAnswer(const std::vector<std::string>&)>> programs;
  std::map<std::string, int> runs;
  std::vector<std::string> last_words;
  std::vector<std::string> order;     // hosts in the order of power verbs
  std::vector<std::string> installs;  // in order
  std::set<std::string> refuses_config;
  std::set<std::string> begun;
  std::map<std::string, std::set<std::string>> sent;  // by operation
  std::map<std::string, RescuePowerAnswer> ended;
  bool blind = false;
  bool answers_unknown = false;
  bool no_console = false;

 private:
  RescuePowerAnswer carry_out(const RescuePowerCall& call) {
    RescuePowerAnswer answer{RescuePowerEnd::done, "done", {}};
    for (const std::string& name : call.hosts) {
      FakeHost& host = world.at(name);
      if (!sent[call.operation].contains(name)) {
        apply(host, call.verb);
        sent[call.operation].insert(name);
        order.push_back(name);
        kill_.point();
      }
      if (host.stuck) answer.rest.push_back(name);
    }
    (void)clock_.sleep(milliseconds(1'000));
    if (answers_unknown) return {RescuePowerEnd::unknown, "unknown", {}};
    if (!answer.rest.empty()) answer = {RescuePowerEnd::not_done, "state and boot id stayed as they were", answer.rest};
    ended[call.operation] = answer;
    kill_.point();
    return answer;
  }
  static void apply(FakeHost& host, RunbookPower verb) {
    host.boots += verb == RunbookPower::cycle || verb == RunbookPower::reset ? 1 : 0;
    host.offs += verb == RunbookPower::off ? 1 : 0;
    host.ons += verb == RunbookPower::on ? 1 : 0;
    if (host.stuck) return;
    host.state = verb == RunbookPower::off ? PowerState::off : PowerState::on;
    host.hung = false;
  }

 public:
  [[nodiscard]] bool system_answers(const std::string& name) const {
    const auto found = world.find(name);
    return found != world.end() && found->second.state == PowerState::on && !found->second.hung;
  }

 private:
  KillSwitch& kill_;
  Clock& clock_;
};

// A cluster of the examples, its inventory, and one rescue on it.
class RescueBench {
 public:
  explicit RescueBench(const std::string& example = "pod16") : RescueBench(example, {}) {}
  RescueBench(const std::string& example, const std::string& text) {
    loaded = load(example, text);
    inventory = make_inventory(*loaded->cluster, diagnostics);
    hosts = std::make_unique<RescueHosts>(*loaded->cluster, *inventory);
    hands = std::make_unique<FakeRescueActions>(*hosts, kill, clock);
    static int count = 0;
    // Thousands of small files that are synced one by one: on a memory file system if there is one.
    const std::string root = ::access("/dev/shm", W_OK) == 0 ? "/dev/shm/" : testing::TempDir();
    state = root + "weft-rescue-" + std::to_string(::getpid()) + "-" + std::to_string(count++);
  }
  ~RescueBench() {
    std::error_code ignored;
    std::filesystem::remove_all(state, ignored);
  }
  RescueBench(const RescueBench&) = delete;
  RescueBench& operator=(const RescueBench&) = delete;

  // A runbook shipped with weft.
  const RescuePlan& plan_shipped(const std::string& name, const std::map<std::string, std::string>& settings = {}) {
    const Result<Runbook> book = open_runbook(name, sources, diagnostics);
    EXPECT_TRUE(book.ok()) << render_all(diagnostics, sources, false);
    return plan_book(*book, settings);
  }
  const RescuePlan& plan_text(const std::string& text, const std::map<std::string, std::string>& settings = {}) {
    const std::optional<Runbook> book = read_runbook(sources, sources.add("mine.yaml", text), diagnostics);
    EXPECT_TRUE(book.has_value()) << render_all(diagnostics, sources, false);
    return plan_book(*book, settings);
  }
  const RescuePlan& plan_book(const Runbook& book, const std::map<std::string, std::string>& settings) {
    std::optional<RescuePlan> made = make_rescue_plan(book, *hosts, settings, diagnostics);
    EXPECT_TRUE(made.has_value()) << render_all(diagnostics, sources, false);
    plan = std::move(*made);
    return plan;
  }

  Result<RescueReport> run(RescueTerms terms = {}) {
    terms.state = state;
    terms.reason = "test";
    if (terms.resume.empty() && terms.operation.empty()) terms.operation = kId;
    return run_rescue(plan, *hands, journal, clock, terms);
  }
  Result<RescueReport> resume(RescueTerms terms = {}) {
    terms.resume = kId;
    return run(terms);
  }
  [[nodiscard]] static RescueOutcome outcome(const RescueReport& report, std::string_view id) {
    for (const RescueStepReport& step : report.steps) {
      if (step.id == id) return step.outcome;
    }
    ADD_FAILURE() << "no step " << id;
    return RescueOutcome::none;
  }
  // Compiled once for all tests: some create thousands of benches.
  static std::shared_ptr<const model::Loaded> load(const std::string& example, const std::string& text) {
    static std::map<std::string, std::shared_ptr<const model::Loaded>> known;
    std::shared_ptr<const model::Loaded>& made = known[example + text];
    if (made == nullptr) {
      const Result<std::string> file = text.empty() ? read_file(source_dir() + "/examples/" + example + ".yaml") : text;
      made = model::load_cluster_text(example + ".yaml", file.value_or(""));
      EXPECT_NE(made->cluster, nullptr) << render_all(made->diagnostics, made->sources, false);
    }
    return made;
  }
  FakeHost& host(const std::string& name) const { return hands->world.at(name); }

  static constexpr const char* kId = "00000000000000aa";
  KillSwitch kill;
  ManualClock clock;
  Sources sources;
  Diagnostics diagnostics;
  std::shared_ptr<const model::Loaded> loaded;
  std::optional<Inventory> inventory;
  std::unique_ptr<RescueHosts> hosts;
  std::unique_ptr<FakeRescueActions> hands;
  FakeJournal journal{kill};
  std::string state;
  RescuePlan plan;
};

}  // namespace weft::oob
