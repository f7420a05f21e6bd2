// Interface of all side effects of a rescue. The executor uses only this; implementations are the closed power loop,
// consoles, programs and switch configs, and a fake cluster in tests. Every call blocks until it is done or its timeout
// has passed. Results must not contain secrets.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "oob/bmc/bmc.h"
#include "oob/durable/clock.h"
#include "oob/rescue/runbook_file.h"

namespace weft::oob {

struct RescuePowerCall {
  RunbookPower verb = RunbookPower::on;
  std::vector<std::string> hosts{};
  std::string operation{};  // the power operation's own id in the journal: known before it begins
  std::string reason{};
  Duration limit{};
};

// Result of a power operation, for all hosts together.
enum class RescuePowerEnd : std::uint8_t {
  done,
  not_done,  // verified: nothing was changed on hosts that are not done
  unknown    // it may have happened
};
struct RescuePowerAnswer {
  RescuePowerEnd end = RescuePowerEnd::unknown;
  std::string text{};               // "32 done; train004 not done: ..."
  std::vector<std::string> rest{};  // for not_done: the hosts on which nothing was changed
};

struct RescueHostAnswer {
  bool answered = false;
  PowerState state = PowerState::unknown;
  std::string why{};  // reason, if there was no response
};

struct RescueConsoleAnswer {
  std::string text{};
  bool seen = false;  // the pattern that ends the capture was seen
};

struct RescueRunAnswer {
  int code = 0;
  std::string out{};
  std::string err{};
};

class RescueActions {
 public:
  RescueActions() = default;
  RescueActions(const RescueActions&) = delete;
  RescueActions& operator=(const RescueActions&) = delete;
  virtual ~RescueActions() = default;

  [[nodiscard]] virtual RescuePowerAnswer power(const RescuePowerCall& call) = 0;
  // Resumes a power operation that an earlier process may have begun. Empty: it never began, so nothing was sent.
  [[nodiscard]] virtual std::optional<RescuePowerAnswer> recall_power(const RescuePowerCall& call) = 0;
  // One result per host, in order. No response is a valid result.
  [[nodiscard]] virtual std::vector<RescueHostAnswer> status(const std::vector<std::string>& hosts) = 0;
  // Captures until `time` has passed or `until` returns true for the output so far. `sink` receives every chunk as it
  // arrives.
  [[nodiscard]] virtual Result<RescueConsoleAnswer> console(const std::string& host, Duration time,
                                                            const std::function<bool(const std::string&)>& until,
                                                            const std::function<void(std::string_view)>& sink) = 0;
  [[nodiscard]] virtual Result<RescueRunAnswer> run(const std::vector<std::string>& words, Duration limit) = 0;
  // Whether each address accepts a TCP connection.
  [[nodiscard]] virtual std::vector<bool> connect(const std::vector<std::string>& addresses, std::uint16_t port,
                                                  Duration limit) = 0;
  [[nodiscard]] virtual Result<std::string> config_now(const std::string& host) = 0;
  // A version of the stored configs: "good", "latest", "before", a time, or its name. Versions stored by the rescue
  // itself do not count.
  [[nodiscard]] virtual Result<std::string> config_kept(const std::string& host, const std::string& which) = 0;
  [[nodiscard]] virtual Status install_config(const std::string& host, const std::string& config) = 0;
  // Whether two configs of the host are equivalent (lines that the switch generates do not count).
  [[nodiscard]] virtual bool same_config(const std::string& host, const std::string& a, const std::string& b) = 0;
};

}  // namespace weft::oob
