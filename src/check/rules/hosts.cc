// HO: hosts, pods and jobs as configured. The rules are in hosts_*.cc, by topic.
#include <utility>

#include "check/core/host_rule_tools.h"

namespace weft::check {

std::vector<Rule> host_rules() {
  std::vector<Rule> all;
  for (auto part : {host_network_rules, host_job_rules, host_placement_rules, host_service_rules, host_policy_rules,
                    host_slurm_rules, host_file_rules}) {
    for (const Rule& rule : part()) all.push_back(rule);
  }
  return all;
}

}  // namespace weft::check
