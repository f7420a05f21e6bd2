#include "world/kube/kube_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <type_traits>

#include "base/utf8.h"
#include "kube/json_fields.h"
#include "world/kube/pod_facts.h"

namespace weft::world {
namespace {

constexpr Duration kObservePeriod = milliseconds(2'000);
constexpr Duration kDrainLasts = milliseconds(150'000);    // longer than two periods in which the controller repeats it
constexpr Duration kEvictionPeriod = milliseconds(5'000);  // as kubectl drain waits
constexpr std::size_t kMaxEvictions = 20;                  // per round: the watches must be read meanwhile
constexpr Duration kNoteLasts = milliseconds(3'600'000);
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
    std::is_same_v<Command, control::PowerCycle> || std::is_same_v<Command, control::RepairNode> ||
    std::is_same_v<Command, control::ValidateNode>;

}  // namespace

KubeWatch::KubeWatch(kube::Client& client, KubeOptions options, const std::string& only_namespace)
    : client_(client),
      names_(options.pods.nodes),
      engine_(options.pods.engine),
      world_(client, keep_everything(std::move(options))),
      pods_(client, kube::ReflectorOptions{kube::kPods, {only_namespace, {}, {}}}),
      nodes_(client, kube::ReflectorOptions{kube::kNodes}) {}

void KubeWatch::send(const control::Command& command, sched::Moment now) {
  std::visit(
      [&](const auto& one) {
        using Kind = std::decay_t<decltype(one)>;
        if constexpr (kIsOfNodes<Kind>) {
          if constexpr (std::is_same_v<Kind, control::CordonNode>) {
            if (one.evict && index_of(one.node) < names_.size()) {
              const Duration until = client_.clock().now() + kDrainLasts;
              const std::lock_guard lock(mutex_);
              Drain& drain = drains_[names_[index_of(one.node)]];
              if (drain.session != one.session) drain = {};
              drain.session = one.session;
              drain.until = until;
              replies_.emplace_back(control::CommandReply{one.operation, control::ReplyKind::accepted, {}});
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
  world_.poll(now, held_);
  // A kubelet that is ready says nothing of GPUs and the kernel: before the first look at them no node is known to be
  // healthy, and a repair that a restart interrupted has not ended. Reports are held back together, as nodes that are
  // known and not heard would look like a failure of the whole cluster.
  std::vector<control::Event> reports;
  if (findings_ != nullptr) reports = std::exchange(held_, {});
  // Cordons before health: a node that somebody else cordoned is not judged as if it were in service.
  std::stable_partition(reports.begin(), reports.end(), [](const control::Event& event) {
    return std::holds_alternative<control::CordonReport>(event);
  });
  for (control::Event& event : reports) {
    if (auto* report = std::get_if<control::NodeReport>(&event); report != nullptr) {
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
  drain_nodes();
  world_.work(wait);
}

void KubeWatch::note(const std::string& key, std::string text) {
  const Duration now = client_.clock().now();
  if (now - noted_since_ > kNoteLasts) {
    noted_.clear();
    noted_since_ = now;
  }
  if (!noted_.insert(key + text).second) return;
  const std::lock_guard lock(mutex_);
  notes_.push_back(std::move(text));
}

std::vector<std::string> KubeWatch::take_notes() {
  const std::lock_guard lock(mutex_);
  return std::exchange(notes_, {});
}

// Whether the node still has the taint of the session. Removing it ends the drain.
bool KubeWatch::is_marked(const std::string& node, control::SessionId session) const {
  const Value* object = nodes_.store().find({"", node});
  if (object == nullptr) return false;
  for (const Value& taint : kube::list(*object, {"spec", "taints"})) {
    if (kube::raw_text(taint, {"key"}) == kSessionTaint &&
        kube::raw_text(taint, {"value"}) == taint_value(engine_, session))
      return true;
  }
  return false;
}

// Only with both watches open: a pod may be on another node since, and the taint may be gone.
void KubeWatch::drain_nodes() {
  if (!pods_.is_watching() || !nodes_.is_watching()) return;
  const Duration now = client_.clock().now();
  std::vector<std::string> due;
  {
    const std::lock_guard lock(mutex_);
    for (auto at = drains_.begin(); at != drains_.end();) {
      Drain& drain = at->second;
      const bool over = now > drain.until || !is_marked(at->first, drain.session);
      if (!over && now >= drain.next) {
        due.push_back(at->first);
        drain.next = now + kEvictionPeriod;
      }
      at = over ? drains_.erase(at) : std::next(at);
    }
  }
  for (const std::string& node : due) evict_pods(node);
}

void KubeWatch::evict_pods(const std::string& node) {
  std::size_t count = 0;
  for (const auto& [name, stored] : pods_.store().objects()) {
    const Value& pod = *stored.object;
    if (kube::raw_text(pod, {"spec", "nodeName"}) != node || has_ended(pod)) continue;
    if (kube::member(pod, {"metadata", "deletionTimestamp"}) != nullptr) continue;  // it was asked
    const PodOwner owner = pod_owner(pod);
    if (owner == PodOwner::node) continue;
    if (owner == PodOwner::nothing) {
      note(name.text(), fmt::format("pod {} on {} has no controller that would make another: it runs until its end",
                                    printable(name.text()), node));
      continue;
    }
    if (++count > kMaxEvictions) return;
    evict_pod(node, pod);
  }
}

void KubeWatch::evict_pod(const std::string& node, const Value& pod) {
  const kube::ObjectName name{kube::raw_text(pod, {"metadata", "namespace"}),
                              kube::raw_text(pod, {"metadata", "name"})};
  const std::string uid = kube::raw_text(pod, {"metadata", "uid"});
  const std::string shown = fmt::format("pod {} on {}", printable(name.text()), node);
  const Result<kube::EvictionOutcome> outcome = client_.evict(name, uid);
  if (!outcome.ok()) return note(uid, fmt::format("{} cannot be evicted: {}", shown, outcome.error().text()));
  switch (outcome->state) {
    case kube::EvictionState::accepted:
      return note(uid, fmt::format("{} is evicted", shown));
    case kube::EvictionState::gone:
    case kube::EvictionState::replaced:
    case kube::EvictionState::throttled:
      return;
    case kube::EvictionState::budget:
    case kube::EvictionState::ambiguous:
      return note(
          uid, fmt::format("{} is not evicted yet, {}: {}", shown, to_text(outcome->state), printable(outcome->text)));
  }
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
