// The rules that weft ships (assets/health/rules.yaml): every Xid has a rule, and what the rules do agrees with the
// table of published signals, reference/health_signals.csv, but for the listed differences. That every signal of the
// readers has a rule is tested beside them: readers/signal_coverage_test.cc.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/test_prerequisites.h"
#include "base/text.h"
#include "health/core/rules.h"

namespace weft::health {
namespace {

const std::string kTable = "reference/health_signals.csv";

Signal signal_of(std::string name, std::vector<SignalDetail> details = {}) {
  Signal signal;
  signal.name = std::move(name);
  signal.details = std::move(details);
  return signal;
}

// Says by itself what a signal means: no test of details, no repetition.
bool is_plain(const Rule& rule) { return rule.where.empty() && rule.at_least == 1; }

std::vector<const Rule*> rules_matching(const Signal& signal) {
  std::vector<const Rule*> out;
  for (const Rule& rule : default_rules().rules) {
    if (rule.matches(signal)) out.push_back(&rule);
  }
  return out;
}

std::vector<std::string> plain_rules(const std::string& name) {
  std::vector<std::string> out;
  for (const Rule* rule : rules_matching(signal_of(name))) {
    if (is_plain(*rule)) out.push_back(rule->id);
  }
  return out;
}

// The rules for one event, without those that need several; the most severe ones only.
std::vector<std::string> judge(const Signal& signal) {
  Severity worst = Severity::info;
  for (const Rule* rule : rules_matching(signal)) {
    if (rule->at_least == 1) worst = std::max(worst, rule->severity);
  }
  std::vector<std::string> out;
  for (const Rule* rule : rules_matching(signal)) {
    if (rule->at_least == 1 && rule->severity == worst) out.push_back(rule->id);
  }
  return out;
}

std::string name_of(Action action) {
  for (const auto& [name, each] : choices_of(Action{})) {
    if (each == action) return std::string(name);
  }
  return {};
}

std::vector<std::vector<std::string>> parse_csv(std::string_view text) {
  std::vector<std::vector<std::string>> rows{{""}};
  bool quoted = false;
  for (const char c : text) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      rows.back().emplace_back();
    } else if (c == '\n' && !quoted) {
      rows.push_back({""});
    } else if (c != '\r') {
      rows.back().back() += c;
    }
  }
  if (rows.back().size() == 1) rows.pop_back();
  return rows;
}

// "xid:39-41;85" names xid:39, xid:40, xid:41, xid:85. None if the text is not a list of codes.
std::vector<std::string> codes_of(const std::string& text) {
  std::vector<std::string> out;
  const std::size_t colon = text.find(':');
  const std::string family = text.substr(0, std::min(colon, text.size()));
  if (family != "xid" && family != "sxid") return {};
  for (const std::string_view each : split(std::string_view(text).substr(colon + 1), ';')) {
    if (each.empty() || each.find_first_not_of("0123456789-") != std::string_view::npos) return {};
    const std::size_t dash = each.find('-');
    const int from = std::stoi(std::string(each.substr(0, dash)));
    const int to = dash == std::string_view::npos ? from : std::stoi(std::string(each.substr(dash + 1)));
    for (int code = from; code <= to; ++code) out.push_back(fmt::format("{}:{}", family, code));
  }
  return out;
}

// What the rules do first, by the table's class of action.
const std::map<std::string, Action>& first_actions() {
  static const std::map<std::string, Action> actions{
      {"app_restart", Action::restart_application},
      {"ignore", Action::ignore},
      {"informational", Action::ignore},
      {"with_48", Action::ignore},         // a detail of Xid 48
      {"decode_subcode", Action::ignore},  // Xids 144 to 150: the fatal ones have rules with `where`
      {"non-fatal", Action::ignore},
      {"correlate", Action::ignore},
      {"gpu_reset", Action::reset_gpu},
      {"decode_registers", Action::reset_gpu},  // Xid 74: the registers have rules with `where`
      {"potentially fatal", Action::reset_gpu},
      {"workflow: see 63/64/94/95/171/172", Action::reset_gpu},
      {"node_reboot", Action::reboot},
      {"vm_restart", Action::reboot},
      {"read_recovery_action", Action::check},  // Xid 154: each action has a rule with `where`
      {"check_uvm", Action::check},
      {"mechanical", Action::ask_people},
      {"software_update", Action::ask_people},
      {"support", Action::ask_people},
      {"unknown -> isolate", Action::ask_people},
  };
  return actions;
}

// Where the rules differ from the table on purpose.
const std::map<std::string, Action>& differences() {
  static const std::map<std::string, Action> actions{
      {"xid:63", Action::reset_gpu},  // recorded only, like `ignore`; the reset at the next idle time is written down
      {"sxid:12028", Action::check},  // gpud reboots for both though NVIDIA calls them nonfatal: checks decide
      {"sxid:19084", Action::check},
  };
  return actions;
}

// The rules of the rows that are not codes. No rule: what keeps it from being one.
const std::map<std::string, std::vector<std::string>>& rules_of_rows() {
  static const std::map<std::string, std::vector<std::string>> rules{
      {"xid:any, 5 times in 24 h on one GPU", {"repeated-fatal", "repeated-repair"}},
      {"xid: still there after 2 reboots", {"returned", "returned-twice", "returned-repeatedly"}},
      {"xid set that evicts (Azure)", {"xid-48", "xid-63", "xid-92", "xid-unused"}},  // decided in notes
      {"xid set that is not critical (Meta)", {"xid-13", "xid-63", "xid-109"}},       // decided in notes
      {"nvml recovery action (DCGM 1523)", {"recovery-action", "xid-154-reset"}},
      {"row remap pending (DCGM 396)", {"remap-pending"}},
      {"row remap failed (DCGM 395)", {"remap-failed"}},
      {"row remaps total", {"remap-total-uncorrectable", "remap-total-correctable"}},
      {"retired pages (before Ampere)", {"retired-pages-limit", "retired-pages-rising", "retired-pages-warning"}},
      {"single-bit ECC (DCGM 310)", {"ecc-corrected"}},
      {"SRAM threshold (DCGM 346)", {"sram-threshold"}},
      {"ECC counters (Azure)", {"ecc-corrected-total", "ecc-uncorrected-total"}},
      {"GPU temperature (DCGM 150), HBM (140), slowdown (158), shutdown (159), margin (153)",
       {"temperature-margin-none", "temperature-margin-low"}},
      {"hw slowdown events", {"hardware-slowdown", "hardware-thermal-slowdown"}},
      {"clock event mask (DCGM 112)",
       {"hardware-slowdown", "hardware-thermal-slowdown", "power-brake", "software-power-cap",
        "software-thermal-slowdown"}},
      {"hw power brake 0x80, 3 polls in a row", {"power-brake"}},
      {"thermal / power violation (DCGM 241 / 240)", {"thermal-violation", "power-violation"}},
      {"power draw GB200/GB300", {"power-draw-high", "power-draw-low"}},
      {"PCIe replays (DCGM 202)", {"pcie-replays"}},
      {"PCIe generation / width (DCGM 237 / 238)", {}},  // needs what the slot should train to: active checks
      {"kernel PCIe AER", {"aer-corrected", "aer-corrected-rate", "aer-nonfatal", "aer-fatal"}},
      {"NVLink CRC flit (409), replay (429), recovery (439)",
       {"nvlink-crc", "nvlink-crc-some", "nvlink-replay", "nvlink-recovery"}},
      {"NVLink effective BER (1217/1218)", {"nvlink-bit-errors"}},
      {"NVLink recovery failed (1212)", {"nvlink-recovery-failed"}},
      {"NVLinks inactive", {}},  // no reader counts them: active checks
      {"fabric manager (170)", {"fabric-manager-failed", "fabric-manager-stopped"}},
      {"ib:link_downed", {"ib-link-downed", "ib-link-downed-twice"}},
      {"ib:excessive_buffer_overrun_errors", {"ib-buffer-overrun"}},
      {"ib:local_link_integrity_errors", {"ib-link-integrity"}},
      {"ib:rnr_nak_retry_err", {"ib-rnr-retries"}},
      {"ib:symbol_error", {"ib-symbol-errors", "ib-symbol-errors-burst"}},
      {"ib:link_error_recovery", {"ib-link-recovery"}},
      {"ib:port_rcv_errors", {"ib-receive-errors"}},
      {"ib:local_ack_timeout_err", {"ib-ack-timeouts"}},
      {"ib:port_xmit_discards", {"ib-transmit-discards"}},
      {"ib:roce_slow_restart", {"ib-slow-restarts"}},
      {"ib:carrier_changes", {"carrier-changes"}},
      {"ib: port down", {"ib-port-not-active", "carrier-lost", "ib-link-downed"}},
      {"ib: flap", {"link-flaps"}},
      {"ib: drop", {"ib-port-not-active"}},
      {"network alerts (ByteRobust)", {"link-down-twice", "ib-link-downed-twice"}},
      {"rdma transport timeout", {}},  // a formula: why the rules of links leave running work alone
      {"mlx5 driver log patterns", {"nic-tx-timeout", "nic-tx-timeout-repeated", "nic-fatal"}},
      {"sel: Uncorrectable error", {"sel-memory-uncorrected", "sel-bus-fatal"}},
      {"sel: Critical Interrupt, PCI SERR", {"sel-pci-serr"}},
      {"sel: power supply lost / redundancy lost", {"sel-psu-lost", "sel-psu-redundancy"}},
      {"sel: fan or temperature threshold crossed",
       {"sel-fan-failed", "sel-temperature-warning", "sel-temperature-critical"}},
      {"bmc silent", {"bmc-silent"}},
      {"job: no step within k x median step", {"job-hang"}},
      {"job: NaN or loss spike on one rank", {"job-nan-loss"}},
  };
  return rules;
}

// Codes on both sides of every limit of a range: between two limits the answer is the same.
std::set<std::int64_t> limits_of(std::string_view family, std::int64_t last) {
  std::set<std::int64_t> codes{0, last};
  for (const Rule& rule : default_rules().rules) {
    for (const SignalPattern& pattern : rule.signals) {
      if (pattern.family != family) continue;
      const bool one = !pattern.name.empty();
      const std::int64_t from = one ? std::stoll(pattern.name) : pattern.from;
      const std::int64_t to = one ? from : pattern.to;
      for (const std::int64_t code : {from - 1, from, to, to + 1}) {
        if (code >= 0 && code <= last) codes.insert(code);
      }
    }
  }
  return codes;
}

TEST(ShippedRules, EveryXidHasOneRule) {
  std::set<std::int64_t> codes = limits_of("xid", 9999);
  for (int code = 0; code <= 200; ++code) codes.insert(code);
  for (const std::int64_t code : codes) {
    const std::vector<std::string> rules = plain_rules(fmt::format("xid:{}", code));
    EXPECT_EQ(rules.size(), 1U) << "xid:" << code << ": " << join(rules, ", ");
  }
  EXPECT_EQ(plain_rules("xid:79"), std::vector<std::string>{"xid-79"});
}

TEST(ShippedRules, XidsWithoutMeaningAreUnknownNotHealthy) {
  for (const int code : {1, 58, 61, 138, 173, 9999}) {
    const Rule* rule = default_rules().find(plain_rules(fmt::format("xid:{}", code)).at(0));
    EXPECT_EQ(rule->severity, Severity::degraded) << code;
    EXPECT_EQ(rule->actions, std::vector<Action>{Action::ask_people}) << code;
  }
}

TEST(ShippedRules, SxidsHaveOneRuleEach) {
  for (const std::int64_t code : limits_of("sxid", 99999)) {
    const Signal signal = signal_of(fmt::format("sxid:{}", code));  // its severity is not known
    EXPECT_EQ(rules_matching(signal).size(), 1U) << signal.name;
  }
}

TEST(ShippedRules, NoiseNeverRemovesANode) {
  for (const int code :
       {8, 11, 13, 25, 31, 32, 37, 38, 39, 43, 44, 45, 60, 63, 66, 68, 69, 80, 92, 93, 121, 142, 162}) {
    for (const Rule* rule : rules_matching(signal_of(fmt::format("xid:{}", code)))) {
      EXPECT_EQ(rule->severity, Severity::info) << rule->id;
    }
  }
  for (const Rule& rule : default_rules().rules) {
    if (rule.actions == std::vector<Action>{Action::ignore}) EXPECT_EQ(rule.severity, Severity::info) << rule.id;
    if (rule.severity == Severity::fatal) EXPECT_NE(rule.actions.front(), Action::ignore) << rule.id;
    if (rule.severity == Severity::fatal) EXPECT_NE(rule.scope, Scope::job) << rule.id;
  }
}

// A thermal warning takes the node out of service, and the category power is for the hardware brake.
TEST(ShippedRules, CategoriesCountWhatTheyAreFor) {
  const Rules& rules = default_rules();
  const auto score = [&](Category category) { return 100 - rules.weights[static_cast<int>(category)]; };
  EXPECT_LT(score(Category::thermal), rules.cordon_below);
  EXPECT_GE(score(Category::memory), rules.cordon_below);
  EXPECT_GE(score(Category::power), rules.cordon_below);
  std::set<std::string> thermal;
  for (const Rule& rule : rules.rules) {
    if (rule.category == Category::thermal) thermal.insert(rule.id);
    if (rule.category == Category::power) {
      EXPECT_TRUE(rule.mask == 0x80 || rule.id.starts_with("hgx-power-brake")) << rule.id;
    }
    if (rule.mask == 0x4) EXPECT_EQ(rule.severity, Severity::info) << rule.id;
  }
  EXPECT_EQ(thermal, (std::set<std::string>{"temperature-margin-none", "hardware-slowdown", "hardware-thermal-slowdown",
                                            "sel-temperature-critical", "hgx-overtemperature"}));
}

TEST(ShippedRules, NvlinkErrorsAreDecoded) {
  using Ids = std::vector<std::string>;
  const auto nvlink = [](int code, const std::string& severity) {
    return judge(signal_of(fmt::format("xid:{}", code), {{"unit", "NETIR"}, {"severity", severity}}));
  };
  for (int code = 144; code <= 150; ++code) {
    EXPECT_EQ(nvlink(code, "nonfatal"), Ids{fmt::format("xid-{}", code)});
    EXPECT_EQ(nvlink(code, ""), Ids{"nvlink5-unknown"});
    EXPECT_EQ(default_rules().find(nvlink(code, "fatal").at(0))->actions.front(), Action::reset_gpu) << code;
  }
  EXPECT_EQ(nvlink(145, "fatal"), Ids{"nvlink5-fatal"});
  EXPECT_EQ(nvlink(148, "fatal"), Ids{"nvlink5-fatal-unlisted"});
  EXPECT_EQ(nvlink(149, "fatal"), Ids{"nvlink5-link-fatal"});
  EXPECT_EQ(nvlink(150, "fatal"), Ids{"nvlink5-firmware-fatal"});

  EXPECT_EQ(judge(signal_of("xid:74")), Ids{"xid-74"});
  EXPECT_EQ(judge(signal_of("xid:74", {{"reg0", "0x200000"}})), (Ids{"xid-74", "xid-74-signal-integrity"}));
  EXPECT_EQ(judge(signal_of("xid:74", {{"reg0", "0x0"}, {"reg3", "0x40000"}})), Ids{"xid-74-fabric-reset"});
  // Twelve conditions on registers, as NVSentinel has them.
  const auto& rules = default_rules().rules;
  EXPECT_EQ(std::count_if(rules.begin(), rules.end(), [](const Rule& rule) { return rule.id.starts_with("xid-74-"); }),
            12);
}

TEST(ShippedRules, TheRecoveryActionOfTheDriverIsFollowed) {
  using Ids = std::vector<std::string>;
  const auto action = [](const std::string& value) { return judge(signal_of("xid:154", {{"action", value}})); };
  EXPECT_EQ(action("0"), Ids{"xid-154"});
  EXPECT_EQ(action("1"), Ids{"xid-154-reset"});
  EXPECT_EQ(action("2"), Ids{"xid-154-reboot"});
  EXPECT_EQ(action("3"), Ids{"xid-154-drain-p2p"});
  EXPECT_EQ(action("4"), Ids{"xid-154-drain-reset"});
  EXPECT_EQ(action("5"), Ids{"xid-154-imex"});
  EXPECT_EQ(action("6"), Ids{"xid-154-bus-reset"});
  EXPECT_EQ(action("7"), Ids{"xid-154-reboot"});
  EXPECT_EQ(action(""), Ids{"xid-154-unknown"});
}

TEST(ShippedRules, AgreeWithThePublishedTable) {
  WEFT_NEEDS_DATA(kTable);
  const Result<std::string> text = read_file(test_data_dir() + "/" + kTable);
  ASSERT_TRUE(text.ok());
  const auto rows = parse_csv(*text);
  ASSERT_GT(rows.size(), 100U);
  std::set<std::string> seen;
  std::set<std::string> different;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    ASSERT_EQ(rows[i].size(), 6U) << i;
    const std::string& signal = rows[i][0];
    const std::vector<std::string> codes = codes_of(signal);
    if (codes.empty()) {
      EXPECT_TRUE(rules_of_rows().contains(signal)) << "no rule for the row " << signal;
      seen.insert(signal);
      continue;
    }
    for (const std::string& code : codes) {
      const std::vector<std::string> ids = plain_rules(code);
      ASSERT_EQ(ids.size(), 1U) << code;
      const Rule& rule = *default_rules().find(ids[0]);
      EXPECT_NE(rule.id, "xid-unused") << code;
      const auto expected = first_actions().find(rows[i][2]);
      ASSERT_NE(expected, first_actions().end()) << code << ": unknown class of action " << rows[i][2];
      const auto difference = differences().find(code);
      if (difference != differences().end()) different.insert(code);
      const Action first = difference != differences().end() ? difference->second : expected->second;
      EXPECT_EQ(name_of(rule.actions.front()), name_of(first)) << code << ", rule " << rule.id;
      EXPECT_NE(difference != differences().end() ? expected->second : Action::power_cycle, first)
          << code << " does not differ any more";
    }
  }
  for (const auto& [signal, ids] : rules_of_rows()) {
    EXPECT_TRUE(seen.contains(signal)) << "the table has no row " << signal;
    for (const std::string& id : ids) EXPECT_NE(default_rules().find(id), nullptr) << id;
  }
  EXPECT_EQ(different.size(), differences().size());
}

// A plan is made of several ladders, in the order of how much the actions disturb: one in another order is not
// followed.
TEST(ShippedRules, LaddersAscend) {
  for (const Rule& rule : default_rules().rules) {
    const auto& ladder = rule.actions;
    EXPECT_EQ(std::adjacent_find(ladder.begin(), ladder.end(), std::greater_equal<>()), ladder.end()) << rule.id;
    // Every action is followed by a validation, so checks are a step of their own only at the beginning.
    EXPECT_EQ(std::count(ladder.begin() + 1, ladder.end(), Action::check), 0) << rule.id;
  }
}

// Absent parts, and what a BMC says of unknown sensors and links, are noise: healthy machines report it.
TEST(ShippedRules, NoiseOfBmcsNeverRemovesANode) {
  const auto worst = [](const std::string& name) {
    Severity out = Severity::info;
    for (const Rule* rule : rules_matching(signal_of(name))) {
      EXPECT_EQ(rule->category, Category::none) << rule->id;
      out = std::max(out, rule->severity);
    }
    return out;
  };
  for (const char* name : {"sel:drive_absent", "sel:psu_absent", "sel:fan_absent", "sel:sensor_warning", "sel:temp_low",
                           "sel:bus_corrected", "hgx:power_cap", "hgx:sync_boost", "hgx:ecc_corrected"}) {
    EXPECT_EQ(worst(name), Severity::info) << name;
  }
  for (const char* name : {"sel:sensor_critical", "sel:log_full", "sel:fan_slow", "hgx:part_missing",
                           "hgx:link_down_flag", "hgx:health_flag", "hgx:resource_error", "hgx:firmware_error"}) {
    EXPECT_EQ(worst(name), Severity::warning) << name;
  }
  const std::vector<const Rule*> leak = rules_matching(signal_of("sel:leak"));
  ASSERT_EQ(leak.size(), 1U);
  EXPECT_EQ(leak[0]->severity, Severity::fatal);
  EXPECT_EQ(leak[0]->scope, Scope::rack);
  EXPECT_EQ(leak[0]->actions, std::vector<Action>{Action::ask_people});
}

// A root port and its device write a line each for one error, a bond and its port for one outage.
TEST(ShippedRules, CountWhatIsReportedTwiceOnce) {
  const auto counted = [](const Signal& signal) {
    std::vector<std::string> out;
    for (const Rule* rule : rules_matching(signal)) {
      if (rule->at_least > 1) out.push_back(rule->id);
    }
    return out;
  };
  using Ids = std::vector<std::string>;
  EXPECT_EQ(counted(signal_of("aer:corrected", {{"line", "port"}})), Ids{});
  EXPECT_EQ(counted(signal_of("aer:corrected", {{"line", "device"}})), Ids{"aer-corrected-rate"});
  EXPECT_EQ(counted(signal_of("link:down", {{"bond", "bond0"}})), Ids{});
  EXPECT_EQ(counted(signal_of("link:down")), (Ids{"link-down-twice", "link-flaps"}));
}

// Titles are statements that fit one line, notes are sentences, and every rule names its source.
TEST(ShippedRules, AreReadable) {
  for (const Rule& rule : default_rules().rules) {
    EXPECT_LE(rule.title.size(), 90U) << rule.id;
    EXPECT_NE(rule.title.back(), '.') << rule.id;
    EXPECT_GE(rule.source.size(), 4U) << rule.id;
    EXPECT_TRUE(rule.note.empty() || rule.note.back() == '.') << rule.id;
  }
}

}  // namespace
}  // namespace weft::health
