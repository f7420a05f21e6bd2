#include "world/slurm/slurm_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <set>

#include "base/host_range.h"
#include "base/text.h"
#include "world/local/engine_state.h"
#include "world/slurm/cordon_call.h"
#include "world/slurm/engine_instance.h"
#include "world/slurm/guarded_client.h"
#include "world/slurm/slurm_observed.h"

namespace weft::world {
namespace {

using control::ReplyKind;

constexpr Duration kMaxListPeriod = sched::seconds(20);  // the controller takes silence of a minute for an outage
constexpr Duration kMinListPeriod = milliseconds(200);
constexpr int kListLoadFactor = 10;  // lists take at most this share of the time

std::vector<std::string> watched_names(const std::vector<sched::NodeShape>& nodes) {
  std::vector<std::string> names;
  names.reserve(nodes.size());
  for (const sched::NodeShape& node : nodes) names.push_back(node.name);
  return names;
}

Status check_watched_nodes(const SlurmWatchOptions& options, const std::vector<SlurmNode>& nodes) {
  std::set<std::string> known;
  for (const SlurmNode& node : nodes) known.insert(node.name);
  std::vector<std::string> missing;
  for (const sched::NodeShape& node : options.nodes) {
    if (!known.contains(node.name)) missing.push_back(node.name);
  }
  if (missing.empty()) return {};
  return Error{ErrorCode::invalid_input,
               fmt::format("Slurm has no node {}: names of the cluster file must be Slurm's NodeName",
                           fold_hosts(std::move(missing))),
               {}};
}

// Slurm is asked again before an ambiguous outcome has consequences: the controller repeats what has no report.
ReplyKind reply_kind(ErrorCode code) {
  if (code == ErrorCode::unavailable) return ReplyKind::transient;
  return code == ErrorCode::timeout ? ReplyKind::ambiguous : ReplyKind::permanent;
}

GuardedClient::Permits permits_of(const SlurmWatchOptions& options) {
  auto positions = std::make_shared<std::map<std::string, sched::NodeId>>();
  for (std::uint32_t n = 0; n < options.nodes.size(); ++n) (*positions)[options.nodes[n].name] = sched::NodeId{n};
  return [positions, stages = options.stages](control::Stage stage, const std::string& node) {
    const auto found = positions->find(node);
    return found != positions->end() && stages.allows(stage, found->second);
  };
}

}  // namespace

Result<std::unique_ptr<SlurmWatch>> SlurmWatch::open(const SlurmWatchOptions& options,
                                                     const std::shared_ptr<SlurmClient>& client) {
  if (Status checked = check_node_names(watched_names(options.nodes)); !checked.ok()) return checked.error();
  const Result<std::string> state = make_engine_state(options.state);
  if (!state.ok()) return state.error();
  Result<FileDescriptor> lock = lock_engine_state(*state);
  if (!lock.ok()) return lock.error();
  const Result<std::string> instance = load_engine_instance(*state);
  if (!instance.ok()) return instance.error();
  const Result<std::vector<SlurmNode>> nodes = client->list_nodes();
  if (!nodes.ok()) return nodes.error();
  if (Status checked = check_watched_nodes(options, *nodes); !checked.ok()) return checked.error();
  std::unique_ptr<SlurmWatch> world(new SlurmWatch(options, *state, fmt::format("{}-{}", options.cluster, *instance),
                                                   std::move(lock).value(), client));
  if (Status loaded = world->nodes_.load(); !loaded.ok()) return loaded.error();
  return world;
}

SlurmWatch::SlurmWatch(const SlurmWatchOptions& options, const std::string& state, const std::string& cluster,
                       FileDescriptor lock, const std::shared_ptr<SlurmClient>& client)
    : options_(options),
      lock_(std::move(lock)),
      cluster_(cluster),
      nodes_(watched_names(options.nodes), cluster, state + "/boots"),
      calls_(std::make_shared<GuardedClient>(client, permits_of(options)), options.threads) {}

void SlurmWatch::log(std::string_view text) const {
  if (options_.log) options_.log(text);
}

void SlurmWatch::send(const control::Command& command, sched::Moment now) {
  std::visit([&](const auto& one) { handle(one, now); }, command);
}

void SlurmWatch::poll(sched::Moment now, std::vector<control::Event>& events) {
  calls_.collect();
  request_lists(now);
  if (!options_.threads) calls_.collect();
  std::move(pending_.begin(), pending_.end(), std::back_inserter(events));
  pending_.clear();
}

void SlurmWatch::reply(control::OperationId operation, ReplyKind kind, std::string text) {
  pending_.emplace_back(control::CommandReply{operation, kind, std::move(text)});
}

template <class Command>
void SlurmWatch::handle(const Command& command, sched::Moment /*now*/) {
  reply(command.operation, ReplyKind::permanent, "watch mode: Slurm runs the jobs");
}

void SlurmWatch::handle(const control::QueryInventory& command, sched::Moment /*now*/) {
  term_ = std::max(term_, command.term);
  inventory_wanted_ = lists_wanted_ = true;
}

void SlurmWatch::handle(const control::CordonNode& command, sched::Moment now) {
  if (index_of(command.node) >= nodes_.size())
    return reply(command.operation, ReplyKind::permanent, fmt::format("there is no node {}", index_of(command.node)));
  if (command.evict) return evict(command);
  const std::string rule = judge_node(nodes_.seen(command.node)).rule;
  const std::string reason = nodes_.drain_reason(command.session, rule.empty() ? "repair" : rule);
  // A copy: the call shares nothing with this object.
  const auto table = std::make_shared<NodeTable>(std::vector<std::string>{}, cluster_, "");
  CordonCall call{nodes_.name(command.node), reason, command.cordon,
                  [table](const SlurmNode& node) { return table->cordon_owner(node); },
                  fmt::format("weft:{}", command.session)};
  calls_.add(std::move(call), [this, command, now](const Result<std::vector<SlurmNode>>& nodes) {
    lists_wanted_ = true;
    if (!nodes.ok()) return reply(command.operation, reply_kind(nodes.error().code), nodes.error().text());
    reply(command.operation, ReplyKind::accepted);
    const SlurmNode* node = find_slurm_node(*nodes, nodes_.name(command.node));
    if (node == nullptr) return;
    const std::string owner = nodes_.cordon_owner(*node);
    pending_.emplace_back(control::CordonReport{command.node, !owner.empty(), owner, now});
  });
}

// Jobs that Slurm may not requeue run on: their end is waited for. The command is repeated while jobs are there, and a
// job is requeued once.
void SlurmWatch::evict(const control::CordonNode& command) {
  std::vector<std::string> jobs;
  const std::string& name = nodes_.name(command.node);
  const ObservedNode* node = observation_.cluster ? observation_.cluster->find_node(name) : nullptr;
  if (node == nullptr) return reply(command.operation, ReplyKind::transient, "the jobs of the node are not known yet");
  auto& [operation, asked] = evicted_[command.node];
  if (operation != command.operation) asked.clear();
  operation = command.operation;
  for (const std::uint32_t j : node->jobs) {
    const ObservedJob& job = observation_.cluster->jobs[j];
    if (!asked.insert(job.id).second) continue;
    if (job.can_requeue) {
      jobs.push_back(job.id);
    } else {
      log(fmt::format("job {} on {} may not be requeued: it runs until its end", job.id, name));
    }
  }
  calls_.add(
      [jobs, name](SlurmClient& client) {
        Status worst;
        for (const std::string& job : jobs) {
          const Status requeued = client.requeue(job, name);
          if (!requeued.ok() && requeued.error().code != ErrorCode::not_found) worst = requeued;
        }
        return worst;
      },
      [this, operation = command.operation](const Status& requeued) {
        lists_wanted_ = true;
        requeued.ok() ? reply(operation, ReplyKind::accepted)
                      : reply(operation, reply_kind(requeued.error().code), requeued.error().text());
      });
}

void SlurmWatch::handle(const control::PowerCycle& command, sched::Moment /*now*/) {
  reply(command.operation, ReplyKind::permanent, "engine slurm has no BMC");
}

void SlurmWatch::handle(const control::RepairNode& command, sched::Moment /*now*/) {
  reply(command.operation, ReplyKind::permanent, "engine slurm does not repair nodes");
}

void SlurmWatch::handle(const control::ValidateNode& command, sched::Moment now) {
  if (index_of(command.node) >= nodes_.size())
    return reply(command.operation, ReplyKind::permanent, fmt::format("there is no node {}", index_of(command.node)));
  reply(command.operation, ReplyKind::accepted);
  const bool passed = nodes_.answers(command.node);
  pending_.emplace_back(control::ValidationReport{command.operation, command.node, nodes_.boot(command.node), passed,
                                                  passed ? "Slurm can use the node" : "Slurm cannot use the node",
                                                  now});
}

void SlurmWatch::request_lists(sched::Moment now) {
  const Duration usual = std::max(options_.period, std::min(list_took_ * kListLoadFactor, kMaxListPeriod));
  const Duration wait = lists_wanted_ ? std::max(kMinListPeriod, list_took_) : usual;
  const bool due = listed_at_ == sched::Moment() || now < listed_at_ || now - listed_at_ >= wait;
  if (listing_ || !due) return;
  listing_ = true;
  lists_wanted_ = false;
  listed_at_ = now;
  calls_.add(
      [now](SlurmClient& client) {
        const auto begin = std::chrono::steady_clock::now();
        Lists lists;
        Result<std::vector<ObservedJob>> jobs = client.list_observed_jobs();
        if (jobs.ok()) lists.nodes = client.list_nodes();
        if (!jobs.ok()) lists.problem = jobs.error().text();
        if (!lists.nodes.ok()) lists.problem = lists.nodes.error().text();
        if (lists.problem.empty()) {
          std::vector<ObservedNode> nodes;
          for (const SlurmNode& node : *lists.nodes) nodes.push_back(observe_node(node));
          lists.cluster = make_observed("Slurm", now, std::move(jobs).value(), std::move(nodes));
        }
        lists.notes = client.take_notes();
        const auto took = std::chrono::steady_clock::now() - begin;
        lists.took = Duration(std::chrono::duration_cast<std::chrono::nanoseconds>(took).count());
        return lists;
      },
      [this, now](Lists lists) { apply(std::move(lists), now); });
}

void SlurmWatch::apply(Lists lists, sched::Moment observed) {
  listing_ = false;
  for (const std::string& note : lists.notes) log(note);
  const bool failed = lists.cluster == nullptr;
  if (failed && observation_.problem.empty())
    log(fmt::format("Slurm does not answer: {}. Nothing is concluded from it", lists.problem));
  if (!failed && !observation_.problem.empty()) log("Slurm answers again");
  observation_.problem = lists.problem;
  list_took_ = failed ? Duration(0) : lists.took;  // a call that failed took its deadline
  if (failed) return;
  observation_.cluster = std::move(lists.cluster);
  if (const Status applied = nodes_.apply(*lists.nodes, observed); !applied.ok()) {
    log(applied.error().text());
    return;
  }
  report_nodes();
  if (inventory_wanted_) take_inventory(observed);
}

// Drains before health: a node that somebody else drained is not judged as if it were in service.
void SlurmWatch::report_nodes() {
  std::vector<control::Event> events;
  nodes_.report(events);
  std::stable_partition(events.begin(), events.end(), [](const control::Event& event) {
    return std::holds_alternative<control::CordonReport>(event);
  });
  for (control::Event& event : events) {
    if (auto* report = std::get_if<control::NodeReport>(&event); report != nullptr) {
      const SlurmNode& seen = nodes_.seen(report->node);
      if (!seen.name.empty() && report->signal != "Slurm does not list it") {
        NodeFinding finding = judge_node(seen);
        const bool silent = finding.health == control::Health::healthy && !nodes_.answers(report->node);
        if (!silent) {
          report->health = finding.health;
          report->signal = std::move(finding.signal);
        }
      }
      const ObservedNode* node = observation_.cluster->find_node(nodes_.name(report->node));
      report->work = node == nullptr ? 0 : static_cast<std::uint32_t>(node->jobs.size());
    }
    pending_.push_back(std::move(event));
  }
}

void SlurmWatch::take_inventory(sched::Moment observed) {
  control::Inventory inventory;
  inventory.observed = observed;
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    const sched::NodeId node{i};
    if (nodes_.answers(node)) inventory.nodes.push_back({node, nodes_.boot(node), {}, term_});
  }
  inventory_wanted_ = false;
  if (!inventory.nodes.empty()) pending_.emplace_back(std::move(inventory));
}

}  // namespace weft::world
