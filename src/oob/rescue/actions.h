// What a rescue can do to the world. The executor sees only this; behind it stand the closed power loop, consoles,
// programs and the switches' configs, and in tests a made-up cluster. Every call blocks until it is over or its time
// limit has passed. None may keep a secret in an answer.
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

// How a power operation ended, all hosts together.
enum class RescuePowerEnd : std::uint8_t {
  done,
  not_done,  // proven: on those that are not done nothing was changed
  unknown    // it may have happened
};
struct RescuePowerAnswer {
  RescuePowerEnd end = RescuePowerEnd::unknown;
  std::string text{};               // "32 done; train004 not done: ..."
  std::vector<std::string> rest{};  // of not_done: the hosts on which nothing was changed
};

struct RescueHostAnswer {
  bool answered = false;
  PowerState state = PowerState::unknown;
  std::string why{};  // of no answer
};

struct RescueConsoleAnswer {
  std::string text{};
  bool seen = false;  // the pattern that ends it
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
  // Takes up a power operation that a process before this one may have begun. Nothing: it never began, so nothing was
  // sent.
  [[nodiscard]] virtual std::optional<RescuePowerAnswer> recall_power(const RescuePowerCall& call) = 0;
  // One answer a host, in order. No answer is an answer.
  [[nodiscard]] virtual std::vector<RescueHostAnswer> status(const std::vector<std::string>& hosts) = 0;
  // Listens until `time` has passed or `until` returns true for what came so far. `sink` gets every piece as it comes.
  [[nodiscard]] virtual Result<RescueConsoleAnswer> console(const std::string& host, Duration time,
                                                            const std::function<bool(const std::string&)>& until,
                                                            const std::function<void(std::string_view)>& sink) = 0;
  [[nodiscard]] virtual Result<RescueRunAnswer> run(const std::vector<std::string>& words, Duration limit) = 0;
  // Whether a TCP connection to each address is taken.
  [[nodiscard]] virtual std::vector<bool> connect(const std::vector<std::string>& addresses, std::uint16_t port,
                                                  Duration limit) = 0;
  [[nodiscard]] virtual Result<std::string> config_now(const std::string& host) = 0;
  // A version of the kept configs: "good", "latest", "before", a time, or its name. Those that the rescue keeps by
  // itself do not count.
  [[nodiscard]] virtual Result<std::string> config_kept(const std::string& host, const std::string& which) = 0;
  [[nodiscard]] virtual Status install_config(const std::string& host, const std::string& config) = 0;
  // Whether two configs of the host mean the same (lines that a switch writes by itself do not count).
  [[nodiscard]] virtual bool same_config(const std::string& host, const std::string& a, const std::string& b) = 0;
};

}  // namespace weft::oob
