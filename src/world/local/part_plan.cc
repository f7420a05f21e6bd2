#include "world/local/part_plan.h"

#include <fmt/format.h>

#include <charconv>

#include "base/random.h"
#include "base/text.h"

namespace weft::world {
namespace {

using control::CheckpointNotice;
using control::JobSpec;
using control::StartAttempt;

constexpr std::string_view kPlanFormat = "weft part plan 1";

class FieldWriter {
 public:
  void add(std::string_view text) {
    out_ += text;
    out_ += '\0';
  }
  void add(std::int64_t number) { add(std::to_string(number)); }
  void add(const std::vector<std::string>& texts) {
    add(static_cast<std::int64_t>(texts.size()));
    for (const std::string& text : texts) add(text);
  }
  [[nodiscard]] std::string finish() && { return std::move(out_); }

 private:
  std::string out_;
};

class FieldReader {
 public:
  explicit FieldReader(std::string_view text) : left_(text) {}
  std::string text() {
    const std::size_t end = left_.find('\0');
    if (end == std::string_view::npos) {
      failed_ = true;
      return {};
    }
    std::string field(left_.substr(0, end));
    left_.remove_prefix(end + 1);
    return field;
  }
  template <class Number>
  Number number() {
    const std::string field = text();
    Number value = 0;
    const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
    if (error != std::errc() || end != field.data() + field.size()) failed_ = true;
    return failed_ ? Number{0} : value;
  }
  std::size_t count() {
    const auto value = number<std::size_t>();
    if (value > left_.size()) failed_ = true;  // every item takes at least one byte
    return failed_ ? 0 : value;
  }
  std::vector<std::string> texts() {
    std::vector<std::string> items(count());
    for (std::string& item : items) item = text();
    return items;
  }
  [[nodiscard]] bool ok() const { return !failed_; }
  [[nodiscard]] bool at_end() const { return left_.empty(); }

 private:
  std::string_view left_;
  bool failed_ = false;
};

Error refusal(std::string message) { return {ErrorCode::invalid_input, std::move(message), {}}; }

std::string find_problem(const StartAttempt& command, const PlanContext& context) {
  if (command.spec == nullptr) return "the command has no job";
  if (command.slots.empty() || command.slots.size() != command.boots.size())
    return fmt::format("the command has {} slots and {} boot ids", command.slots.size(), command.boots.size());
  for (std::size_t i = 0; i < command.slots.size(); ++i) {
    const std::uint32_t node = index_of(command.slots[i].node);
    if (node >= context.nodes.size()) return fmt::format("this machine has no node {}", node);
    if (command.boots[i] != context.boot)
      return fmt::format("node {} has been rebooted: its boot id is {:016x}, the command is for {:016x}",
                         context.nodes[node], context.boot, command.boots[i]);
  }
  if (std::string problem = find_user_problem(*command.spec); !problem.empty()) return problem;
  if (command.checkpoint_path.find('\0') != std::string::npos) return "the path of the checkpoint contains a NUL byte";
  return find_text_problem(*command.spec);
}

}  // namespace

PartPlan make_common_plan(const StartAttempt& command, const PlanContext& context) {
  const JobSpec& spec = *command.spec;
  PartPlan plan;
  plan.name = command.name;
  plan.boot = context.boot;
  plan.uid = spec.uid;
  plan.gid = spec.gid;
  plan.directory = spec.directory;
  plan.command = spec.command;
  plan.checkpoints = job_checkpoint_directories(spec, command.name.job);
  if (spec.checkpoint.notice == CheckpointNotice::signal) plan.notice_signal = spec.checkpoint.notice_signal;
  plan.notice_file = spec.checkpoint.notice == CheckpointNotice::file;
  plan.user_logs = !spec.output.empty();
  plan.log_bytes = context.log_bytes;
  plan.log_files = context.log_files;
  return plan;
}

std::string encode_plan(const PartPlan& plan) {
  FieldWriter out;
  out.add("start");
  out.add(kPlanFormat);
  out.add(std::to_string(plan.name.job));
  out.add(std::to_string(plan.name.attempt));
  out.add(plan.node);
  out.add(std::to_string(plan.boot));
  out.add(plan.marker);
  out.add(plan.cgroup);
  out.add(std::int64_t{plan.uid});
  out.add(std::int64_t{plan.gid});
  out.add(plan.directory);
  out.add(plan.command);
  out.add(plan.checkpoints);
  out.add(std::int64_t{plan.notice_signal});
  out.add(std::int64_t{plan.notice_file});
  out.add(std::int64_t{plan.user_logs});
  out.add(plan.log_bytes);
  out.add(std::int64_t{plan.log_files});
  out.add(static_cast<std::int64_t>(plan.ranks.size()));
  for (const RankPlan& rank : plan.ranks) {
    out.add(std::int64_t{rank.rank});
    out.add(rank.environment);
    out.add(rank.log);
  }
  out.add("end");
  return std::move(out).finish();
}

Result<PartPlan> parse_plan(std::string_view text) {
  FieldReader in(text);
  PartPlan plan;
  const bool begins = in.text() == "start" && in.text() == kPlanFormat;
  if (!begins) return refusal("is not the plan of a part, or of another version of weft");
  plan.name.job = in.number<control::JobNumber>();
  plan.name.attempt = in.number<control::AttemptNumber>();
  plan.node = in.text();
  plan.boot = in.number<control::BootId>();
  plan.marker = in.text();
  plan.cgroup = in.text();
  plan.uid = in.number<std::uint32_t>();
  plan.gid = in.number<std::uint32_t>();
  plan.directory = in.text();
  plan.command = in.texts();
  plan.checkpoints = in.texts();
  plan.notice_signal = in.number<std::int32_t>();
  plan.notice_file = in.number<int>() != 0;
  plan.user_logs = in.number<int>() != 0;
  plan.log_bytes = in.number<std::int64_t>();
  plan.log_files = in.number<std::int32_t>();
  plan.ranks.resize(in.count());
  for (RankPlan& rank : plan.ranks) {
    rank.rank = in.number<std::int32_t>();
    rank.environment = in.texts();
    rank.log = in.text();
  }
  if (in.text() != "end" || !in.ok() || !in.at_end()) return refusal("the plan of the part is damaged");
  return plan;
}

Result<std::vector<std::pair<sched::NodeId, PartPlan>>> make_plans(const StartAttempt& command,
                                                                   const PlanContext& context) {
  if (std::string problem = find_problem(command, context); !problem.empty()) return refusal(std::move(problem));
  const GangLayout layout = make_layout(command.slots);
  const EnvironmentContext environment{context.state, context.nodes, "127.0.0.1"};
  const PartPlan common = make_common_plan(command, context);
  Variables variables = common_variables(command, environment, layout);
  std::vector<std::pair<sched::NodeId, PartPlan>> plans;
  for (std::size_t node_rank = 0; node_rank < layout.nodes.size(); ++node_rank) {
    const sched::NodeId node = layout.nodes[node_rank];
    PartPlan plan = common;
    plan.node = context.nodes[index_of(node)];
    const std::string part = fmt::format("{}.{}", to_text(command.name), encode_file_name(plan.node));
    // The state directory makes it unique among all engines that ever ran on this machine.
    const std::string unique = fmt::format("{:016x}.{}", hash64(context.state), part);
    plan.marker = "WEFT_PART=" + unique;
    if (!context.cgroup.empty()) plan.cgroup = context.cgroup + "/" + part;
    variables["WEFT_PART"] = unique;
    for (std::size_t task = 0; task < command.slots.size(); ++task) {
      if (command.slots[task].node != node) continue;
      for (auto& [name, value] : rank_variables(command, environment, layout, task)) variables[name] = value;
      RankPlan rank{static_cast<std::int32_t>(task), {}, log_file(command, context.state, std::to_string(task))};
      for (const auto& [name, value] : variables) rank.environment.push_back(fmt::format("{}={}", name, value));
      plan.ranks.push_back(std::move(rank));
    }
    plans.emplace_back(node, std::move(plan));
  }
  return plans;
}

std::string encode_file_name(std::string_view name) {
  std::string text;
  for (const char c : name) {
    const bool plain = is_letter_or_digit(c) || c == '-' || c == '_' || (c == '.' && !text.empty());
    text += plain ? std::string(1, c) : fmt::format("%{:02x}", static_cast<unsigned char>(c));
  }
  return text;
}

}  // namespace weft::world
