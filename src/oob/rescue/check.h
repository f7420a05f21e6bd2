// Looks whether a check holds, once. Nothing it does changes anything.
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
  std::string seen{};  // what was seen; of a check that does not hold, what is missing
};

class RescueChecker {
 public:
  RescueChecker(RescueActions& hands, Clock& clock, const RescueFolder& folder, const RescueRecord& record)
      : hands_(hands), clock_(clock), folder_(folder), record_(record) {}

  // All of them hold now, looked at in order; stops at the first that does not. `limit` bounds each look.
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

// "NN-step.host.config": where a kept config lies.
[[nodiscard]] std::string kept_config_name(const std::string& step, const std::string& host);
// The config that `from` means for a host: of a step's backup, or of the kept ones.
[[nodiscard]] Result<std::string> wanted_config(RescueActions& hands, const RescueFolder& folder,
                                                const std::string& from, const std::string& host);

}  // namespace weft::oob
