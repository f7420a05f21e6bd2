// A running rescue. Private to rescue/run.cc and rescue/step.cc.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "oob/rescue/check.h"
#include "oob/rescue/run.h"

namespace weft::oob {

class RescueRunner {
 public:
  RescueRunner(const RescuePlan& plan, RescueActions& hands, Journal& journal, Clock& clock, const RescueTerms& terms)
      : plan_(plan), hands_(hands), journal_(journal), clock_(clock), terms_(terms) {}

  [[nodiscard]] Result<RescueReport> run();

 private:
  enum class Did : std::uint8_t { ok, failed, unknown, stopped };
  struct Act {
    Did did = Did::failed;
    std::string text;
    std::string file;
  };
  // Empty: continue with the next step.
  using Next = std::optional<RescueEnd>;

  [[nodiscard]] Status begin();
  [[nodiscard]] Status take_up();
  [[nodiscard]] Status open_folder();
  [[nodiscard]] RescueEnd follow();
  [[nodiscard]] RescueReport report(RescueEnd end) const;

  // rescue/step.cc
  [[nodiscard]] Next take(const RescueStep& step);
  [[nodiscard]] Next answered(const RescueStep& step);
  [[nodiscard]] Next over(const RescueStep& step);
  [[nodiscard]] Next start(const RescueStep& step);
  [[nodiscard]] Next confirm(const RescueStep& step);
  // `only`: hosts of a power step to act on, or all.
  [[nodiscard]] Next send(const RescueStep& step, const std::vector<std::string>& only = {});
  [[nodiscard]] Next recover(const RescueStep& step);
  [[nodiscard]] Next recover_power(const RescueStep& step);
  [[nodiscard]] Next acted(const RescueStep& step, const Act& act);
  [[nodiscard]] Next prove(const RescueStep& step, bool or_ask);
  [[nodiscard]] Next fail(const RescueStep& step, const std::string& why);
  [[nodiscard]] Next go_back(const RescueStep& step, const std::string& why);
  [[nodiscard]] Next ask(const RescueStep& step, const std::string& why);
  [[nodiscard]] Next close(const RescueStep& step, RescueOutcome outcome, const std::string& why);
  [[nodiscard]] std::optional<std::string> unmet(const RescueStep& step);

  // rescue/act.cc
  [[nodiscard]] Act act(const RescueStep& step, const RescueAction& action, bool back);
  [[nodiscard]] Act act_power(const RescueStep& step, const RescueAction& action, const std::string& operation,
                              const std::vector<std::string>& only);
  [[nodiscard]] RescuePowerCall power_call(const RescueStep& step, const RescueAction& action,
                                           const std::string& operation, const std::vector<std::string>& only) const;
  [[nodiscard]] Act act_console(const RescueStep& step, const RescueAction& action);
  [[nodiscard]] Act act_run(const RescueStep& step, const RescueAction& action, bool back);
  [[nodiscard]] Act act_wait(const RescueStep& step, const RescueAction& action);
  [[nodiscard]] Act act_backup(const RescueStep& step, const RescueAction& action);
  [[nodiscard]] Act act_restore(const RescueStep& step, const RescueAction& action, bool back);
  [[nodiscard]] Act act_reach(const RescueStep& step, const RescueAction& action);
  [[nodiscard]] Act restore_one(const RescueStep& step, const RescueAction& action, const std::string& host, bool back);

  // False if the journal failed: `broken_` has the error, and nothing more may be done.
  [[nodiscard]] bool log(Phase phase, const RescueStep& step, const Value& detail);
  [[nodiscard]] bool log_operation(Phase phase, Value detail);
  void tell(const std::string& text) const;
  [[nodiscard]] Duration left(const RescueStep& step) const;
  [[nodiscard]] std::string file_name(const RescueStep& step, std::string_view ending) const;
  [[nodiscard]] RescueStepRecord& record(const RescueStep& step) { return record_.steps[step.id]; }

  const RescuePlan& plan_;
  RescueActions& hands_;
  Journal& journal_;
  Clock& clock_;
  const RescueTerms& terms_;
  RescueRecord record_;
  std::unique_ptr<RescueFolder> folder_;
  Duration started_;  // of the current step
  bool partial_ = false;
  std::vector<std::string> person_;
  Status broken_;
};

}  // namespace weft::oob
