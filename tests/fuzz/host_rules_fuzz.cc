// Bytes as configuration of hosts and jobs, parsed as in host_config_fuzz.cc, for the rules about hosts: each runs on
// any parsed input, and every finding has a message.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "check/core/rule.h"
#include "config/config_set.h"

namespace weft {
namespace {

constexpr std::string_view kNames[] = {"x",       "a.yaml", "a.json",     "slurm.conf", "gres.conf",   "cgroup.conf",
                                       "exports", "fstab",  "job.sbatch", "nccl.conf",  "sysctl.conf", "nic.sh"};

void run_host_rules(std::string_view name, const std::string& text) {
  static const std::vector<check::Rule> kRules = check::host_rules();
  Sources sources;
  config::ConfigSet set;
  Diagnostics diagnostics;
  config::read_config_text(std::string(name), text, sources, set, diagnostics);
  const check::CheckInput input(nullptr, set, sources, false);
  check::Report report;
  for (const check::Rule& rule : kRules) {
    report.begin(rule);
    rule.run(input, report);
  }
  for (const check::Finding& finding : report.findings()) CHECK(!finding.message.empty(), "a finding has a message");
}

}  // namespace
}  // namespace weft

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0 || size > 16384) return 0;
  const std::size_t names = std::size(weft::kNames);
  weft::run_host_rules(weft::kNames[data[0] % names], std::string(data + 1, data + size));
  return 0;
}
