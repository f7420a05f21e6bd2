// Command line of one out-of-band operation: parameters of a request, checked against the verb's table and the
// inventory, become arguments of weft's own executable. No shell is involved. A value is always written as
// --NAME=VALUE, or it is a name of the table or the inventory behind "--": no value can become an option, a file or
// another command.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "oob/bmc/inventory.h"
#include "serve/oob/verbs.h"

namespace weft::serve {

// By name, as text: of booleans "true" or "false", of lists joined by commas. Also the parameters of the path.
using OobValues = std::map<std::string, std::string, std::less<>>;

// What the server's administrator configures; never part of a request. Empty: the command's default.
struct OobConfig {
  std::string executable = "/proc/self/exe";  // the same version, even if the file was replaced
  std::string cluster_file;
  std::vector<std::string> catalogs;
  std::string state;  // folder of the out-of-band journal
  std::string endpoints;
  std::string credentials;  // a reference, which is not a secret
  std::string ca;
  std::string syslog;
  std::string advisories;
  std::string host_probe;  // command that prints a host's boot ID
  std::string jump;
  std::string login;  // on switches
  std::string via;    // command used instead of ssh
  bool insecure = false;
};

// A checked request.
struct OobCall {
  const OobVerb* verb = nullptr;
  OobValues values;                    // canonical: equal calls have equal values
  std::vector<std::uint32_t> targets;  // named by "devices"
  std::string hosts;                   // the same as one word; "" if the verb has no devices
  std::vector<std::string> words;      // before CLUSTER
  std::vector<std::string> options;
};

// Error: what is wrong with the parameter `where`.
[[nodiscard]] Result<OobCall> check_oob_call(const OobVerb& verb, const OobValues& values,
                                             const oob::Inventory& inventory);
// What is wrong with a text of a request, "" if nothing: one line of printable UTF-8.
[[nodiscard]] std::string find_text_problem(std::string_view text, std::uint64_t max_bytes);

enum class OobMode : std::uint8_t { plan, execute };
// Of a verb that is planned by a list, OobMode::plan is the command that lists.
[[nodiscard]] std::vector<std::string> oob_command_line(const OobConfig& config, const OobCall& call, OobMode mode,
                                                        const std::string& reason);

// Variables of this process that `weft oob` reads, and those of the credentials' reference; nothing else is inherited.
// `on_behalf_of` and `operation` name the person and the operation in the journal.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> oob_environment(const OobConfig& config,
                                                                               const std::string& on_behalf_of,
                                                                               const std::string& operation);

}  // namespace weft::serve
