// A runbook resolved on a cluster: parameters filled in, hosts named and all command arguments final before anything is
// changed. The plan is what the operator approves and what runs; its digest is in the journal, so a resumed run is the
// approved one. rescue/path.h checks whether the plan depends on what it rescues.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/document.h"
#include "base/quantity.h"
#include "oob/rescue/hosts.h"
#include "oob/rescue/runbook_file.h"

namespace weft::oob {

struct RescueAction {
  RunbookDo kind = RunbookDo::note;
  RunbookPower verb = RunbookPower::on;
  std::vector<std::uint32_t> targets{};
  std::vector<std::string> hosts{};  // names of the targets
  std::vector<std::string> words{};
  std::string over{};
  std::string text{};
  std::string until{};
  Duration time{};
  std::string from{};

  [[nodiscard]] bool needs_hosts() const;
};

struct RescueCheck {
  RunbookSee kind = RunbookSee::reachable;
  std::vector<std::uint32_t> targets{};
  std::vector<std::string> hosts{};
  std::vector<std::string> addresses{};  // port, ping: one per host
  std::string at{};
  bool on = true;
  int share = 100;
  std::vector<std::string> words{};
  int code = 0;
  std::string matches{};
  std::string lacks{};
  std::string step{};
  std::string later{};
  std::string from{};
  std::uint16_t port = 0;
  Duration time{};
  int least = 1;
  int most = -1;
};

struct RescueBack {
  std::optional<RescueAction> action{};
  std::string tell{};
};

struct RescueStep {
  std::string id{};
  std::string title{};
  std::vector<std::string> after{};
  std::vector<RescueCheck> needs{};
  RescueAction action{};
  std::vector<RescueCheck> expect{};
  Duration within{};  // 0: none
  std::vector<RescueBack> back{};
  RunbookOnFailure on_failure = RunbookOnFailure::stop;
  bool danger = false;
  bool repeat_safe = true;
  std::vector<RescueCheck> skip_if{};
  bool absent = false;  // this cluster has no such device: the step is skipped
  std::string way{};    // out-of-band leaves that its hosts are connected to
};

enum class RescueSeverity : std::uint8_t { error, warning };
struct RescueFinding {
  RescueSeverity severity = RescueSeverity::error;
  std::string step{};
  std::string text{};
};

struct RescuePlan {
  std::string runbook{};
  std::string title{};
  std::string hash{};  // of the runbook's text
  std::string cluster{};
  std::vector<std::pair<std::string, std::string>> parameters{};  // in the file's order
  std::vector<RescueStep> steps{};
  std::vector<RescueFinding> findings{};
  Duration longest{};                 // every step at its timeout, and the longest rollback; manual steps not counted
  int people = 0;                     // manual steps
  std::vector<std::uint32_t> hit{};   // devices that lose power or change their config
  std::vector<std::uint32_t> felt{};  // servers behind affected switches
  std::string digest{};               // of all relevant members above

  [[nodiscard]] bool refused() const;
  [[nodiscard]] bool dangerous() const;
  [[nodiscard]] const RescueStep* find(std::string_view id) const;
};

// Timeout of a precondition: long enough for one retry of a slow BMC.
inline constexpr Duration kRescueNeedsLimit = milliseconds(30'000);

// `settings`: parameter and value, as given by the operator. Problems of the file are reported with their location,
// those of the settings without. A plan that depends on what it rescues is returned with findings.
[[nodiscard]] std::optional<RescuePlan> make_rescue_plan(const Runbook& book, const RescueHosts& hosts,
                                                         const std::map<std::string, std::string>& settings,
                                                         Diagnostics& diagnostics);

// For people: "power cycle", "run squeue --noheader", "console until `login:`".
// Short form: many hosts are counted instead of named.
enum class Wording : std::uint8_t { full, brief };
[[nodiscard]] std::string describe(const RescueAction& action, Wording wording = Wording::full);
[[nodiscard]] std::string describe(const RescueCheck& check, Wording wording = Wording::full);
[[nodiscard]] std::string describe(const std::vector<RescueCheck>& checks, Wording wording = Wording::full);
[[nodiscard]] std::string describe(const std::vector<RescueBack>& back, Wording wording = Wording::full);

[[nodiscard]] Document rescue_plan_document(const RescuePlan& plan, const RescueHosts& hosts);

}  // namespace weft::oob
