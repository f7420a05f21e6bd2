// Follows a plan: looks whether a step is needed and may be done, writes down what it is about to do, does it, waits
// for the evidence, writes that down. The journal is the only state, so a run can be taken up after the tool was killed
// at any point: what is finished is not repeated, and what is dangerous is never sent twice without proof that the
// first time did nothing.
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
  std::string resume{};     // id of the rescue to take up; empty: a new one
  std::string operation{};  // id of a new one; empty: drawn
  std::string state{};      // the rescue's folder is STATE/rescue/ID
  std::string reason{};
  std::set<std::string> confirmed{};               // steps that a person says are done
  std::set<std::string> repeated{};                // steps that a person says to send again
  std::function<bool(const RescueStep&)> ask{};    // a person at hand; none: nobody
  std::function<void(const std::string&)> tell{};  // what happens, line by line
};

enum class RescueEnd : std::uint8_t {
  done,
  partial,  // to the end, but a step that may fail did
  failed,   // stopped at a step; its way back was taken where it has one
  waiting,  // for a person
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
  std::vector<std::string> person{};  // what a person must do
};

// Errors: refused (the plan leans on what it rescues; the file changed since the rescue began; it is over), conflict
// (another process follows it), unavailable (the journal cannot be written: nothing more is done then).
[[nodiscard]] Result<RescueReport> run_rescue(const RescuePlan& plan, RescueActions& hands, Journal& journal,
                                              Clock& clock, const RescueTerms& terms);

[[nodiscard]] Document rescue_report_document(const RescueReport& report);
// The same for the post-mortem, as Markdown.
[[nodiscard]] std::string rescue_report_markdown(const RescueReport& report);

}  // namespace weft::oob
