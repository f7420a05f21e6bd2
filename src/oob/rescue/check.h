// Evaluates a check once. Read-only.
#pragma once

#include <string>
#include <vector>

#include "oob/rescue/actions.h"
#include "oob/rescue/folder.h"
#include "oob/rescue/plan.h"
#include "oob/rescue/record.h"

namespace weft::oob {

struct RescueVerdict {
  bool holds = false;
  std::string seen{};  // what was observed; for a failed check, what is missing
};

class RescueChecker {
 public:
  RescueChecker(RescueActions& hands, Clock& clock, const RescueFolder& folder, const RescueRecord& record)
      : hands_(hands), clock_(clock), folder_(folder), record_(record) {}

  // Whether all hold now, evaluated in order; stops at the first that fails. `limit` is the timeout of each.
  [[nodiscard]] RescueVerdict all(const std::vector<RescueCheck>& checks, Duration limit);

 private:
  [[nodiscard]] RescueVerdict look(const RescueCheck& check, Duration limit);
  [[nodiscard]] RescueVerdict look_power(const RescueCheck& check);
  [[nodiscard]] RescueVerdict look_command(const RescueCheck& check, Duration limit);
  [[nodiscard]] RescueVerdict look_console(const RescueCheck& check);
  [[nodiscard]] RescueVerdict look_port(const RescueCheck& check, Duration limit);
  [[nodiscard]] RescueVerdict look_ping(const RescueCheck& check, Duration limit);
  [[nodiscard]] RescueVerdict look_since(const RescueCheck& check);
  [[nodiscard]] RescueVerdict look_lines(const RescueCheck& check);
  [[nodiscard]] RescueVerdict look_config(const RescueCheck& check);
  [[nodiscard]] Result<std::string> brought(const std::string& step) const;

  RescueActions& hands_;
  Clock& clock_;
  const RescueFolder& folder_;
  const RescueRecord& record_;
};

// "NN-step.host.config": file name of a stored config.
[[nodiscard]] std::string kept_config_name(const std::string& step, const std::string& host);
// The config that `from` refers to for a host: a step's backup, or a stored version.
[[nodiscard]] Result<std::string> wanted_config(RescueActions& hands, const RescueFolder& folder,
                                                const std::string& from, const std::string& host);

}  // namespace weft::oob
