#include "world/kube/kube_watch.h"

#include <algorithm>
#include <iterator>
#include <type_traits>

#include "kube/json_fields.h"

namespace weft::world {
namespace {

constexpr Duration kObservePeriod = milliseconds(2'000);
constexpr Duration kPatience = milliseconds(120'000);  // longer than the restart of a kubelet or a container runtime

// Nothing is removed: objects of earlier attempts may be there.
KubeOptions keep_everything(KubeOptions options) {
  options.keep_ended = sched::seconds(100LL * 365 * 24 * 3600);
  options.cleanup_interval = options.keep_ended;
  return options;
}

template <class Command>
constexpr bool kIsOfNodes =
    std::is_same_v<Command, control::QueryInventory> || std::is_same_v<Command, control::CordonNode> ||
    std::is_same_v<Command, control::PowerCycle> || std::is_same_v<Command, control::ValidateNode>;

}  // namespace

KubeWatch::KubeWatch(kube::Client& client, KubeOptions options, const std::string& only_namespace)
    : client_(client),
      names_(options.pods.nodes),
      world_(client, keep_everything(std::move(options))),
      pods_(client, kube::ReflectorOptions{kube::kPods, {only_namespace, {}, {}}}),
      nodes_(client, kube::ReflectorOptions{kube::kNodes}) {}

void KubeWatch::send(const control::Command& command, sched::Moment now) {
  std::visit(
      [&](const auto& one) {
        using Kind = std::decay_t<decltype(one)>;
        if constexpr (kIsOfNodes<Kind>) {
          if constexpr (std::is_same_v<Kind, control::CordonNode>) {
            if (one.evict) {
              replies_.emplace_back(control::CommandReply{one.operation, control::ReplyKind::permanent,
                                                          "engine kubernetes does not evict pods in watch mode"});
              return;
            }
          }
          world_.send(command, now);
        } else {
          replies_.emplace_back(control::CommandReply{one.operation, control::ReplyKind::permanent,
                                                      "watch mode: Kubernetes runs the jobs"});
        }
      },
      command);
}

void KubeWatch::poll(sched::Moment now, std::vector<control::Event>& events) {
  {
    const Duration clock = client_.clock().now();
    const std::lock_guard lock(mutex_);
    times_ = {now, clock};
    observation_ = fresh_;
    findings_ = fresh_findings_;
  }
  std::vector<control::Event> reports;
  world_.poll(now, reports);
  // Cordons before health: a node that somebody else cordoned is not judged as if it were in service.
  std::stable_partition(reports.begin(), reports.end(), [](const control::Event& event) {
    return std::holds_alternative<control::CordonReport>(event);
  });
  for (control::Event& event : reports) {
    if (auto* report = std::get_if<control::NodeReport>(&event); report != nullptr && findings_ != nullptr) {
      const std::string& name = names_.at(index_of(report->node));
      const auto found = findings_->find(name);
      if (found != findings_->end() && found->second.health != control::Health::healthy) {
        report->health = found->second.health;
        report->signal = found->second.signal;
      }
      const ObservedNode* node = observation_.cluster ? observation_.cluster->find_node(name) : nullptr;
      report->work = node == nullptr ? 0 : static_cast<std::uint32_t>(node->jobs.size());
    }
    events.push_back(std::move(event));
  }
  std::move(replies_.begin(), replies_.end(), std::back_inserter(events));
  replies_.clear();
}

void KubeWatch::work(Duration wait) {
  std::vector<kube::ObjectChange> changes;
  nodes_.step(milliseconds(10), changes);
  pods_.step(milliseconds(10), changes);
  changed_ = changed_ || !changes.empty();
  observe();
  world_.work(wait);
}

// What is shown is the present only while both watches are open; otherwise the last observation stays, with its age.
void KubeWatch::observe() {
  const bool current = pods_.is_watching() && nodes_.is_watching();
  const std::string problem = !nodes_.problem().empty() ? nodes_.problem() : pods_.problem();
  const Duration now = client_.clock().now();
  {
    const std::lock_guard lock(mutex_);
    fresh_.problem = current ? std::string() : problem;
    // What happened meanwhile is not known.
    if (!current) passing_.clear();
    if (!current || !times_) return;
  }
  if (observed_at_ && now - *observed_at_ < kObservePeriod) return;
  std::vector<const Value*> pods;
  std::vector<const Value*> nodes;
  for (const auto& [name, stored] : pods_.store().objects()) pods.push_back(stored.object.get());
  for (const auto& [name, stored] : nodes_.store().objects()) nodes.push_back(stored.object.get());
  sched::Moment observed{};
  std::shared_ptr<const ObservedCluster> cluster;
  {
    const std::lock_guard lock(mutex_);
    observed = times_->first + (now - times_->second);
    cluster = fresh_.cluster;
  }
  if (!changed_ && cluster != nullptr) {  // the same objects, seen again
    auto again = std::make_shared<ObservedCluster>(*cluster);
    again->observed = observed;
    cluster = std::move(again);
  } else {
    cluster = make_observed("Kubernetes", observed, observe_pods(pods), observe_nodes(nodes, pods));
  }
  auto findings = std::make_shared<Findings>();
  for (const Value* node : nodes) {
    const std::string name = kube::raw_text(*node, {"metadata", "name"});
    KubeFinding finding = judge_kube_node(*node);
    if (!finding.must_last) passing_.erase(name);
    const Duration since = finding.must_last ? passing_.try_emplace(name, now).first->second : now;
    if (finding.must_last && now - since < kPatience) finding = {};
    (*findings)[name] = std::move(finding);
  }
  changed_ = false;
  observed_at_ = now;
  const std::lock_guard lock(mutex_);
  fresh_.cluster = std::move(cluster);
  fresh_findings_ = std::move(findings);
}

std::string KubeWatch::problem() const { return world_.problem(); }

}  // namespace weft::world
