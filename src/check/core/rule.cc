#include "check/core/rule.h"

#include <algorithm>
#include <iterator>

#include "base/check.h"

namespace weft::check {

const std::vector<RuleArea>& rule_areas() {
  static const std::vector<RuleArea> areas = {
      {"BE", "backend fabric"},
      {"FE", "frontend fabric and services"},
      {"HO", "hosts, pods and jobs as configured"},
      {"HW", "servers, GPUs, racks and optics"},
      {"IS", "isolation between fabrics"},
      {"LV", "actual compared with designed state"},
      {"OB", "out-of-band network and BMCs"},
      {"OP", "operations and the check itself"},
      {"QO", "lossless classes, marking and buffers"},
      {"RE", "single points of failure and recovery"},
      {"RN", "rendered trees compared with the cluster file"},
      {"SC", "scheduling and tenants"},
      {"SE", "security"},
      {"ST", "storage"},
  };
  return areas;
}

const std::vector<Rule>& all_rules() {
  static const std::vector<Rule> rules = [] {
    std::vector<Rule> all;
    for (auto table :
         {backend_rules, storage_rules, frontend_rules, hardware_rules, qos_rules, isolation_rules, resilience_rules,
          oob_rules, scheduling_rules, security_rules, operations_rules, host_rules, live_rules, rendered_rules}) {
      std::vector<Rule> some = table();
      std::move(some.begin(), some.end(), std::back_inserter(all));
    }
    std::sort(all.begin(), all.end(), [](const Rule& a, const Rule& b) { return a.id < b.id; });
    for (std::size_t i = 1; i < all.size(); ++i) CHECK(all[i - 1].id != all[i].id, "two rules have the same id");
    return all;
  }();
  return rules;
}

const Rule* find_rule(std::string_view id) {
  std::string upper(id);
  for (char& c : upper) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  const std::vector<Rule>& rules = all_rules();
  const auto found = std::lower_bound(rules.begin(), rules.end(), std::string_view(upper),
                                      [](const Rule& rule, std::string_view wanted) { return rule.id < wanted; });
  return found != rules.end() && found->id == upper ? &*found : nullptr;
}

}  // namespace weft::check
