// OP: deployment and daily operations, and suppressions (which the checker itself evaluates).
#include <fmt/format.h>

#include <cstdlib>
#include <map>

#include "check/core/rule.h"
#include "check/core/rule_tools.h"

namespace weft::check {
namespace {

const model::OperationsSpec& operations(const CheckInput& input) { return input.spec().operations.value; }

void check_manual_configuration(const CheckInput& input, Report& report) {
  if (operations(input).configuration.value == model::Handling::automatic) return;
  report.at(operations(input).configuration, operations(input).place, "operations",
            fmt::format("{} devices are configured manually", input.cluster().devices().size()));
}

void check_manual_repair(const CheckInput& input, Report& report) {
  if (operations(input).remediation.value == model::Handling::automatic) return;
  report.at(operations(input).remediation, operations(input).place, "operations",
            "unhealthy nodes are found and drained manually");
}

void check_monitoring(const CheckInput& input, Report& report) {
  if (operations(input).monitoring.value) return;
  report.at(operations(input).monitoring, operations(input).place, "operations", "monitoring is disabled");
}

void check_gpu_monitoring(const CheckInput& input, Report& report) {
  if (operations(input).gpu_metrics.value || input.cluster().gpu_count() == 0) return;
  report.at(operations(input).gpu_metrics, operations(input).place, "operations", "GPU metrics are disabled");
}

void check_recovery_test(const CheckInput& input, Report& report) {
  bool training = false;
  for (const model::PoolSpec& pool : input.spec().pools.value)
    training = training || pool.role.value == model::PoolRole::training;
  if (!training || operations(input).checkpoint_recovery_tested.value) return;
  report.at(operations(input).checkpoint_recovery_tested, operations(input).place, "operations",
            "restart from a checkpoint has not been tested");
}

const model::Sourced<model::ChecklistState>* item(const CheckInput& input, std::string_view id) {
  for (const auto& [name, state] : input.spec().checklist.value) {
    if (name == id) return &state;
  }
  return nullptr;
}

void check_procurement_order(const CheckInput& input, Report& report) {
  const model::Sourced<model::ChecklistState>* gpus = item(input, "procurement.gpus");
  const model::Sourced<model::ChecklistState>* switches = item(input, "procurement.switches");
  if (gpus == nullptr || gpus->value != model::ChecklistState::done) return;
  if (switches != nullptr && switches->value == model::ChecklistState::done) return;
  report.add("procurement", gpus->place, "GPUs are ordered but switches are not");
}

void check_pool_mix(const CheckInput& input, Report& report) {
  const model::WorkloadSpec& work = input.spec().workload.value;
  if (!work.inference_percent.from_file() && !work.training_percent.from_file()) return;
  std::int64_t inference = 0;
  std::int64_t all = 0;
  for (const model::PoolSpec& pool : input.spec().pools.value) {
    if (!is_gpu_pool(pool)) continue;
    all += gpus_of(input.cluster(), pool);
    if (pool.role.value == model::PoolRole::inference) inference += gpus_of(input.cluster(), pool);
  }
  if (all == 0) return;
  const std::int64_t share = 100 * inference / all;
  const std::int64_t planned =
      work.inference_percent.from_file() ? work.inference_percent.value : 100 - work.training_percent.value;
  const bool both = work.inference_percent.from_file() && work.training_percent.from_file();
  const std::int64_t sum = work.inference_percent.value + work.training_percent.value;
  if (both && sum != 100) {
    report.at(work.training_percent, work.place, "workload",
              fmt::format("training and inference add up to {} % of the workload", sum));
    return;
  }
  if (std::llabs(share - planned) <= 15) return;
  report.at(work.inference_percent, work.place, "workload",
            fmt::format("the workload is {} % inference, but {} % of the GPUs are in inference pools", planned, share));
}

// Equal problems of one file are one finding: an error in a template repeats for every port.
void check_unreadable_config_lines(const CheckInput& input, Report& report) {
  struct Group {
    Diagnostic first;
    std::size_t count = 0;
  };
  std::vector<Group> groups;
  std::map<std::pair<FileId, std::string>, std::size_t> known;
  for (const Diagnostic& problem : input.config().problems.sorted()) {
    const auto [at, fresh] = known.try_emplace({problem.place.file, problem.message}, groups.size());
    if (fresh) groups.push_back({problem, 0});
    ++groups[at->second].count;
  }
  for (Group& group : groups) {
    std::string message = group.first.message;
    if (group.count > 1) message += fmt::format(" ({} times)", group.count);
    Finding& finding = report.add(input.sources().path(group.first.place.file), group.first.place, std::move(message));
    finding.severity = group.first.severity;
    finding.length = group.first.length;
    finding.fix = group.first.hint;
  }
}

}  // namespace

std::vector<Rule> operations_rules() {  // NOLINT(readability-function-size): a table
  return {
      {.id = "OP001",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "a suppression matches nothing",
       .reason = "It remains after the cause is fixed and hides the next finding of the same kind.",
       .source = "common practice of compilers and linters: unused suppressions are findings",
       .fix = "remove it from `suppress:`",
       .example = {.file = "pod16.yaml",
                   .from = "",
                   .to = "\nsuppress:\n  - {rule: BE001, reason: \"one switch for now\"}\n"},
       .run = nullptr},
      {.id = "OP002",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "a suppression has expired",
       .reason = "It was accepted until a date that has passed; the finding is reported again.",
       .source = "suppressions have an optional expiry date so that exceptions end",
       .fix = "fix the cause, or accept it again and change `until`",
       .example = {.file = "pod16.yaml",
                   .from = "",
                   .to = "\nsuppress:\n  - {rule: BE001, reason: \"until the spines arrive\", until: 2020-01-31}\n"},
       .run = nullptr},
      {.id = "OP003",
       .severity = Severity::error,
       .needs = RuleNeeds::design,
       .title = "a suppression names an unknown rule",
       .reason = "A misspelled id suppresses no finding.",
       .source = "`weft rules` lists all ids",
       .fix = "correct the id",
       .example = {.file = "pod16.yaml",
                   .from = "",
                   .to = "\nsuppress:\n  - {rule: BE999, reason: \"a slip of the pen\"}\n"},
       .run = nullptr},
      {.id = "OP004",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "devices are configured manually",
       .reason =
           "This works for 8 servers but not for 80: configurations diverge, and a host cannot be rebuilt reliably.",
       .source = "Building Enterprise AI Infrastructure (Pabba, 2026), Most Common Mistakes: manual day-2 operations; "
                 "infrastructure as code from day one",
       .fix = "set `operations.configuration: automatic` and use the output of `weft render`",
       .example = {.file = "pod16.yaml", .from = "configuration: automatic", .to = "configuration: manual"},
       .run = check_manual_configuration},
      {.id = "OP005",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "repair is manual",
       .reason = "A node with a failing GPU keeps failing jobs until an operator notices it.",
       .source = "Building Enterprise AI Infrastructure (Pabba, 2026), Most Common Mistakes: manual day-2 operations; "
                 "automated health scoring and draining",
       .fix = "set `operations.remediation: automatic`",
       .example = {.file = "pod16.yaml", .from = "remediation: automatic", .to = "remediation: manual"},
       .run = check_manual_repair},
      {.id = "OP006",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "monitoring is disabled",
       .reason = "Underused GPUs, pause storms and slow paths appear in metrics days before users report them.",
       .source =
           "Building Enterprise AI Infrastructure (Pabba, 2026), The Architect's Checklist, phase 5: observability",
       .fix = "set `operations.monitoring: true`",
       .example = {.file = "pod16.yaml", .from = "monitoring: true", .to = "monitoring: false"},
       .run = check_monitoring},
      {.id = "OP007",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "GPU metrics are disabled",
       .reason = "Single-bit errors, throttling and idle NVLink are visible only in DCGM counters.",
       .source = "Building Enterprise AI Infrastructure (Pabba, 2026), critical DCGM metrics",
       .fix = "set `operations.gpu_metrics: true`",
       .example = {.file = "pod16.yaml", .from = "gpu_metrics: true", .to = "gpu_metrics: false"},
       .run = check_gpu_monitoring},
      {.id = "OP008",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "checkpoint recovery has not been tested",
       .reason = "Without a test, a broken recovery is discovered only after the first failure, for example 72 hours "
                 "into a run.",
       .source = "Building Enterprise AI Infrastructure (Pabba, 2026), Most Common Mistakes: not testing checkpoint "
                 "recovery before production",
       .fix = "kill a test job, restart it from its checkpoint, then set `operations.checkpoint_recovery_tested: true`",
       .example = {.file = "pod16.yaml",
                   .from = "checkpoint_recovery_tested: true",
                   .to = "checkpoint_recovery_tested: false"},
       .run = check_recovery_test},
      {.id = "OP009",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "GPUs were ordered before the network",
       .reason = "Switches and optics have lead times of 12 to 16 weeks; GPUs that arrive earlier cannot be used.",
       .source = "Building Enterprise AI Infrastructure (Pabba, 2026), Most Common Mistakes: buying GPUs before "
                 "designing the network",
       .fix = "order the switches now; `weft show bom` lists the parts",
       .example = {.file = "pod16.yaml", .from = "", .to = "\nchecklist: {procurement.gpus: done}\n"},
       .run = check_procurement_order},
      {.id = "OP010",
       .severity = Severity::note,
       .needs = RuleNeeds::design,
       .title = "the pools do not match the workload",
       .reason = "The ratio of training to inference is the first decision of a design; if the pools differ from it, "
                 "one side queues while the other is idle.",
       .source = "Building Enterprise AI Infrastructure (Pabba, 2026), The Architect's Checklist, phase 1: define the "
                 "training to inference ratio",
       .fix = "move servers between pools or correct `workload`",
       .example = {.file = "pod16.yaml",
                   .from = "  training_percent: 80\n  inference_percent: 20\n",
                   .to = "  training_percent: 30\n  inference_percent: 70\n"},
       .run = check_pool_mix},
      {.id = "OP011",
       .severity = Severity::error,
       .needs = RuleNeeds::config,
       .title = "a configuration line is invalid for its program",
       .reason = "The program rejects it, ignores it or interprets it differently than intended; a CLI that bypasses "
                 "the schema accepts it until the next restart.",
       .source = "SONiC YANG models; sonic-buildimage issue 27865: the CLI accepts values that the models reject",
       .fix = "correct the line",
       .example = {.file = "running/be-train-u001-leaf1.json",
                   .from = "\"POLL_INTERVAL\": \"200\"",
                   .to = "\"POLL_INTERVAL\": \"800\""},
       .run = check_unreadable_config_lines},
  };
}

}  // namespace weft::check
