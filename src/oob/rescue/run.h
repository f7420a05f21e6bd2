// Runs a plan: for each step, checks whether it is needed and allowed, journals the intent, runs it, waits for the
// evidence and journals that. The journal is the only state, so a run can be resumed after the tool was killed at any
// point: finished steps are not repeated, and dangerous actions are never sent twice without proof that the first
// attempt had no effect.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "base/document.h"
#include "oob/rescue/actions.h"
#include "oob/rescue/folder.h"
#include "oob/rescue/plan.h"
#include "oob/rescue/record.h"

namespace weft::oob {

struct RescueTerms {
  std::string resume{};     // id of the rescue to resume; empty: a new one
  std::string operation{};  // id of a new one; empty: generated
  std::string state{};      // the rescue's folder is STATE/rescue/ID
  std::string reason{};
  std::set<std::string> confirmed{};               // steps that the operator confirmed as done
  std::set<std::string> repeated{};                // steps that the operator allows to be sent again
  std::function<bool(const RescueStep&)> ask{};    // asks the operator; none: not interactive
  std::function<void(const std::string&)> tell{};  // receives progress, line by line
};

enum class RescueEnd : std::uint8_t {
  done,
  partial,  // ran to the end, but an optional step failed
  failed,   // stopped at a step; rolled back if the step has a rollback
  waiting,  // for the operator
  stopped   // by the operator; can be resumed
};
[[nodiscard]] std::string_view to_text(RescueEnd end);

struct RescueStepReport {
  std::string id{};
  std::string title{};
  RescueOutcome outcome = RescueOutcome::none;
  std::string why{};
  std::int64_t took_ms = 0;
  std::string file{};
};

struct RescueReport {
  std::string operation{};
  std::string runbook{};
  std::string cluster{};
  std::string folder{};
  RescueEnd end = RescueEnd::stopped;
  std::vector<RescueStepReport> steps{};
  std::vector<std::string> person{};  // what the operator must do
};

// Errors: refused (the plan depends on what it rescues; the file changed since the rescue began; it is over), conflict
// (another process runs it), unavailable (the journal cannot be written: the run stops).
[[nodiscard]] Result<RescueReport> run_rescue(const RescuePlan& plan, RescueActions& hands, Journal& journal,
                                              Clock& clock, const RescueTerms& terms);

[[nodiscard]] Document rescue_report_document(const RescueReport& report);
// The same for the post-mortem, as Markdown.
[[nodiscard]] std::string rescue_report_markdown(const RescueReport& report);

}  // namespace weft::oob
