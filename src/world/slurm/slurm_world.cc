#include "world/slurm/slurm_world.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/host_range.h"
#include "base/text.h"
#include "world/local/engine_state.h"
#include "world/slurm/engine_instance.h"

namespace weft::world {
namespace {

constexpr std::size_t kSubmitters = 4;  // sbatch mostly waits

Error invalid(std::string message) { return {ErrorCode::invalid_input, std::move(message), {}}; }

// Every node of the cluster file must be there, with as many GPUs: weft places by that file.
Status check_nodes(const SlurmOptions& options, const std::vector<SlurmNode>& nodes, BatchContext& context) {
  std::map<std::string, const SlurmNode*, std::less<>> by_name;
  for (const SlurmNode& node : nodes) by_name[node.name] = &node;
  std::vector<std::string> missing;
  for (const sched::NodeShape& shape : options.nodes) {
    const auto found = by_name.find(shape.name);
    if (found == by_name.end()) {
      missing.push_back(shape.name);
      continue;
    }
    const SlurmNode& node = *found->second;
    if (static_cast<std::int64_t>(node.gpus) < shape.gpus)
      return invalid(fmt::format("node {} has {} GPUs in Slurm (gres) and {} in the cluster file", shape.name,
                                 node.gpus, shape.gpus));
    const auto& partitions = node.partitions;
    if (!options.partition.empty() &&
        std::find(partitions.begin(), partitions.end(), options.partition) == partitions.end())
      return invalid(fmt::format("node {} is not in Slurm's partition {}", shape.name, options.partition));
    context.hosts.push_back({node.address.empty() ? node.name : node.address, node.cpus, node.memory_mib});
  }
  if (missing.empty()) return {};
  return invalid(fmt::format("Slurm has no node {}: names of the cluster file must be Slurm's NodeName",
                             fold_hosts(std::move(missing))));
}

Status choose_partition(const std::vector<SlurmPartition>& partitions, BatchContext& context) {
  for (const SlurmPartition& partition : partitions) {
    if (context.partition.empty() ? !partition.is_default : partition.name != context.partition) continue;
    context.partition = partition.name;
    context.max_minutes = partition.max_minutes;
    return {};
  }
  return invalid(context.partition.empty() ? "Slurm has no default partition: name one with --partition"
                                           : fmt::format("Slurm has no partition {}", context.partition));
}

std::vector<std::string> names_of(const std::vector<sched::NodeShape>& nodes) {
  std::vector<std::string> names;
  names.reserve(nodes.size());
  for (const sched::NodeShape& node : nodes) names.push_back(node.name);
  return names;
}

}  // namespace

Result<std::unique_ptr<SlurmWorld>> SlurmWorld::open(const SlurmOptions& options, std::shared_ptr<SlurmClient> client) {
  if (Status checked = check_node_names(names_of(options.nodes)); !checked.ok()) return checked.error();
  const Result<std::string> state = make_engine_state(options.state);
  if (!state.ok()) return state.error();
  Result<FileDescriptor> lock = options.shared ? Result<FileDescriptor>(FileDescriptor()) : lock_engine_state(*state);
  if (!lock.ok()) return lock.error();
  const Result<std::string> instance = load_engine_instance(*state);
  if (!instance.ok()) return instance.error();
  BatchContext context;
  context.cluster = fmt::format("{}-{}", options.cluster, *instance);
  context.state = *state;
  context.partition = options.partition;
  context.nodes = options.nodes;
  const Result<std::vector<SlurmNode>> nodes = client->list_nodes();
  if (!nodes.ok()) return nodes.error();
  if (Status checked = check_nodes(options, *nodes, context); !checked.ok()) return checked.error();
  const Result<std::vector<SlurmPartition>> partitions = client->list_partitions();
  if (!partitions.ok()) return partitions.error();
  if (Status chosen = choose_partition(*partitions, context); !chosen.ok()) return chosen.error();
  std::unique_ptr<SlurmWorld> world(
      new SlurmWorld(options, std::move(context), std::move(lock).value(), std::move(client)));
  if (Status loaded = world->load(); !loaded.ok()) return loaded.error();
  return world;
}

SlurmWorld::SlurmWorld(const SlurmOptions& options, BatchContext context, FileDescriptor lock,
                       std::shared_ptr<SlurmClient> client)
    : options_(options),
      context_(std::move(context)),
      lock_(std::move(lock)),
      nodes_(names_of(options.nodes), context_.cluster, context_.state + "/boots"),
      checkpoints_(options.helper),
      pace_({options.min_period, options.busy_period, options.idle_period}),
      submissions_(client, options.threads ? kSubmitters : 0),
      calls_(std::move(client), options.threads ? 1 : 0) {}

Status SlurmWorld::load() {
  if (Status loaded = nodes_.load(); !loaded.ok()) return loaded;
  for (const control::AttemptName& name : load_attempt_names(context_.state, options_.keep_ended)) {
    const Result<PartPlan> plan = load_plan(context_.state, name);
    if (!plan.ok()) {
      log(fmt::format("attempt {}: {}", to_text(name), plan.error().text()));
      continue;
    }
    SlurmAttempt& attempt = attempts_[name];
    attempt.name = name;
    attempt.plan = *plan;
    attempt.nodes = nodes_of(plan->node);
  }
  return {};
}

void SlurmWorld::log(std::string_view text) const {
  if (options_.log) options_.log(text);
}

void SlurmWorld::send(const control::Command& command, sched::Moment now) {
  now_ = std::max(now_, now);
  pace_.note_change(now_);
  std::visit([&](const auto& one) { handle(one, now); }, command);
}

void SlurmWorld::poll(sched::Moment now, std::vector<control::Event>& events) {
  now_ = std::max(now_, now);
  submissions_.collect();
  calls_.collect();
  send_releases();
  advance_stops(now);
  request_lists(now);
  if (!options_.threads) {
    submissions_.collect();
    calls_.collect();
    send_releases();
    calls_.collect();
  }
  checkpoints_.poll(now, pending_);
  std::move(pending_.begin(), pending_.end(), std::back_inserter(events));
  pending_.clear();
}

bool SlurmWorld::is_busy() const {
  if (inventory_round_ != 0 || !blocked_.empty()) return true;
  return std::any_of(attempts_.begin(), attempts_.end(),
                     [](const auto& entry) { return entry.second.step != SlurmAttempt::Step::over; });
}

void SlurmWorld::request_lists(sched::Moment now) {
  const Duration wait = lists_wanted_ ? pace_.short_wait() : pace_.wait(is_busy(), now);
  const bool due = listed_at_ == sched::Moment() || now < listed_at_ || now - listed_at_ >= wait;
  if (listing_ || !due) return;
  listing_ = true;
  lists_wanted_ = false;
  listed_at_ = now;
  const std::uint64_t round = ++round_;
  calls_.add(
      [prefix = comment_prefix(context_.cluster)](SlurmClient& client) {
        const auto begin = std::chrono::steady_clock::now();
        Lists lists;
        lists.jobs = client.list_jobs(prefix);
        if (lists.jobs.ok()) lists.nodes = client.list_nodes();
        lists.notes = client.take_notes();
        const auto took = std::chrono::steady_clock::now() - begin;
        lists.took = Duration(std::chrono::duration_cast<std::chrono::nanoseconds>(took).count());
        return lists;
      },
      [this, now, round](Lists lists) { apply(std::move(lists), now, round); });
}

void SlurmWorld::note_reachable(const Lists& lists) {
  for (const std::string& note : lists.notes) log(note);
  const bool reachable = lists.jobs.ok() && lists.nodes.ok();
  if (reachable && !reachable_) log("Slurm answers again");
  if (!reachable && reachable_) {
    const Error& error = lists.jobs.ok() ? lists.nodes.error() : lists.jobs.error();
    log(fmt::format("Slurm does not answer: {}. Running jobs continue; nothing is concluded from it", error.text()));
  }
  reachable_ = reachable;
}

// The jobs were listed before the nodes: a node that answers now answered after a job was seen to have ended.
void SlurmWorld::apply(Lists lists, sched::Moment observed, std::uint64_t round) {
  listing_ = false;
  note_reachable(lists);
  pace_.note_list(reachable_ ? lists.took : Duration(0));
  if (!reachable_) return;
  if (const Status applied = nodes_.apply(*lists.nodes, observed); !applied.ok()) {
    log(applied.error().text());
    return;
  }
  applied_ = round;
  apply_jobs(std::move(lists.jobs).value());
  nodes_.report(pending_);
  report_parts(observed);
  if (inventory_round_ != 0 && inventory_round_ <= round) take_inventory(observed);
  std::erase_if(attempts_, [&](const auto& entry) {
    return entry.second.step == SlurmAttempt::Step::over && entry.second.listed_round != applied_;
  });
}

// Nodes that do not answer are left out: nothing is known of them. So are those with a job that may still start.
void SlurmWorld::take_inventory(sched::Moment observed) {
  control::Inventory inventory;
  inventory.observed = observed;
  std::map<sched::NodeId, std::vector<control::AttemptName>> running;
  for (const auto& [name, attempt] : attempts_) {
    if (!attempt.job || attempt.absent_since != 0 || attempt.job->nodes.empty()) continue;
    for (const sched::NodeId node : nodes_of(attempt.job->nodes)) {
      if (!attempt.sealed.contains(node)) running[node].push_back(name);
    }
  }
  bool complete = true;
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    const sched::NodeId node{i};
    complete = complete && !blocked_.contains(node);
    if (!nodes_.answers(node) || blocked_.contains(node)) continue;
    inventory.nodes.push_back({node, nodes_.boot(node), running[node], term_});
  }
  if (complete) inventory_round_ = 0;  // otherwise the next round answers for the others
  if (!inventory.nodes.empty()) pending_.emplace_back(std::move(inventory));
}

std::vector<sched::NodeId> SlurmWorld::nodes_of(std::string_view list) const {
  std::vector<sched::NodeId> nodes;
  if (list.empty()) return nodes;
  const Result<std::vector<std::string>> names = expand_hosts(list);
  if (!names.ok()) return nodes;
  for (const std::string& name : *names) {
    if (const sched::NodeId* node = nodes_.find(name)) nodes.push_back(*node);
  }
  return nodes;
}

}  // namespace weft::world
