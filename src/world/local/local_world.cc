#include "world/local/local_world.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <limits>
#include <system_error>

#include "base/file.h"
#include "base/random.h"
#include "base/text.h"
#include "world/local/cgroup.h"
#include "world/local/engine_state.h"

namespace weft::world {
namespace {

using control::AttemptName;
using control::ReplyKind;

constexpr Duration kNodeReportInterval = sched::seconds(10);
constexpr Duration kMaxGrace = sched::seconds(30LL * 24 * 3600);  // keeps deadlines within their type

Result<control::BootId> read_boot_id() {
  const Result<std::string> text = read_file("/proc/sys/kernel/random/boot_id");
  if (!text.ok()) return text.error();
  const control::BootId boot = hash64(trim(*text));
  return boot == 0 ? 1 : boot;
}

// Whether the part has ended and its record is older than that.
bool is_expired(const PartFolder& folder, Duration age) {
  struct stat info {};
  if (::stat(folder.path().c_str(), &info) != 0) return false;
  if (std::time(nullptr) - info.st_mtim.tv_sec <= age.count() / 1'000'000'000) return false;
  const Result<PartDecision> decision = folder.read_decision();
  if (decision.ok() && *decision == PartDecision::sealed) return true;
  const Result<std::optional<ExitRecord>> record = folder.read_exit();
  return record.ok() && record->has_value();
}

}  // namespace

Result<std::unique_ptr<LocalWorld>> LocalWorld::open(const LocalOptions& options) {
  if (Status checked = check_node_names(options.nodes); !checked.ok()) return checked.error();
  const Result<control::BootId> boot = read_boot_id();
  if (!boot.ok()) return boot.error();
  const Result<std::string> made = make_engine_state(options.state);
  if (!made.ok()) return made.error();
  const std::string& state = *made;
  Result<FileDescriptor> lock = options.shared ? Result<FileDescriptor>(FileDescriptor()) : lock_engine_state(state);
  if (!lock.ok()) return lock.error();
  PlanContext context{state, options.nodes, *boot, {}, options.log_bytes, std::max(options.log_files, 1)};
  if (options.cgroups) {
    const std::string own = find_own_cgroup();
    const std::string path = fmt::format("{}/weft-{:016x}", own, hash64(state));
    if (!own.empty() && is_usable_cgroup(path)) context.cgroup = path;
  }
  std::unique_ptr<LocalWorld> world(new LocalWorld(options, std::move(context), std::move(lock).value()));
  if (Status loaded = world->load(); !loaded.ok()) return loaded.error();
  return world;
}

LocalWorld::LocalWorld(const LocalOptions& options, PlanContext context, FileDescriptor lock)
    : options_(options),
      context_(std::move(context)),
      lock_(std::move(lock)),
      checkpoints_(options.helper),
      cordons_(context_.state + "/cordons") {}

LocalWorld::~LocalWorld() {
  if (uses_cgroups()) ::rmdir(context_.cgroup.c_str());  // if no part runs in it
}

Status LocalWorld::load() {
  if (Status loaded = cordons_.load(); !loaded.ok()) return loaded;
  const std::string attempts = context_.state + "/attempts";
  for (const std::string& entry : list_folder(attempts)) {
    if (const std::optional<AttemptName> name = parse_attempt_name(entry))
      load_attempt(fmt::format("{}/{}", attempts, entry), *name);
  }
  return {};
}

void LocalWorld::load_attempt(const std::string& path, const AttemptName& name) {
  const std::vector<std::string> entries = list_folder(path);
  const auto expired = [&](const std::string& entry) {
    return is_expired(PartFolder(path + "/" + entry), options_.keep_ended);
  };
  if (std::all_of(entries.begin(), entries.end(), expired)) {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
    return;
  }
  for (std::uint32_t node = 0; node < context_.nodes.size(); ++node) {
    if (std::binary_search(entries.begin(), entries.end(), encode_file_name(context_.nodes[node])))
      part_of(name, sched::NodeId{node});
  }
}

std::string LocalWorld::part_path(const AttemptName& name, sched::NodeId node) const {
  return fmt::format("{}/attempts/{}/{}", context_.state, to_text(name),
                     encode_file_name(context_.nodes[index_of(node)]));
}

LocalPart& LocalWorld::part_of(const AttemptName& name, sched::NodeId node) {
  return parts_.try_emplace({name, node}, part_path(name, node), name, node, context_.boot).first->second;
}

void LocalWorld::reply(control::OperationId operation, ReplyKind kind, std::string text) {
  pending_.emplace_back(control::CommandReply{operation, kind, std::move(text)});
}

Status LocalWorld::check_node(sched::NodeId node) const {
  if (index_of(node) < context_.nodes.size()) return {};
  return Error{ErrorCode::invalid_input, fmt::format("this machine has no node {}", index_of(node)), {}};
}

std::int64_t LocalWorld::free_bytes() const {
  struct statvfs info {};
  if (::statvfs(context_.state.c_str(), &info) != 0) return std::numeric_limits<std::int64_t>::max();
  return static_cast<std::int64_t>(info.f_bavail) * static_cast<std::int64_t>(info.f_frsize);
}

void LocalWorld::send(const control::Command& command, sched::Moment now) {
  std::visit([&](const auto& one) { handle(one, now); }, command);
}

Status LocalWorld::prepare(const std::vector<std::pair<sched::NodeId, PartPlan>>& plans,
                           std::vector<PreparedPart>& prepared) {
  for (const auto& [node, plan] : plans) {
    const PartFolder folder(part_path(plan.name, node));
    const Result<PartDecision> decision = folder.read_decision();
    if (!decision.ok()) return decision.error();
    if (*decision == PartDecision::sealed)
      return Error{
          ErrorCode::conflict, fmt::format("attempt {} is sealed on node {}", to_text(plan.name), plan.node), {}};
  }
  for (const auto& [node, plan] : plans) {
    PreparedPart& part = prepared.emplace_back(PreparedPart{node, PartFolder(part_path(plan.name, node)), {}, false});
    part.created = ::access(part.folder.path().c_str(), F_OK) != 0;
    if (Status made = make_folders(part.folder.path(), 0700); !made.ok()) return made;
    Result<FileDescriptor> lock = part.folder.lock();
    if (!lock.ok() && lock.error().code == ErrorCode::conflict) continue;
    if (!lock.ok()) return lock.error();
    const Result<PartDecision> decision = part.folder.read_decision();
    if (!decision.ok()) return decision.error();
    if (*decision != PartDecision::none) continue;
    if (Status made = part.folder.prepare(plan); !made.ok()) return made;
    part.lock = std::move(lock).value();
  }
  return {};
}

// After the first supervisor nothing can be taken back: a part that cannot be started is sealed and reported.
Status LocalWorld::start_prepared(const AttemptName& name, std::vector<PreparedPart>& prepared) {
  bool started =
      std::any_of(prepared.begin(), prepared.end(), [](const PreparedPart& part) { return !part.lock.ok(); });
  for (PreparedPart& part : prepared) {
    LocalPart* known = nullptr;
    if (part.lock.ok()) {
      const Result<pid_t> supervisor = start_supervisor(options_.helper, part.folder.path(), part.lock);
      if (!supervisor.ok() && !started) return supervisor.error();
      started = true;
      known = &part_of(name, part.node);
      known->expect_start(supervisor.ok() ? *supervisor : 0);
      part.lock.close();  // the supervisor has it
    } else {
      known = &part_of(name, part.node);
    }
    known->report_again();
  }
  return {};
}

void LocalWorld::handle(const control::StartAttempt& command, sched::Moment /*now*/) {
  const auto plans = make_plans(command, context_);
  if (!plans.ok()) return reply(command.operation, ReplyKind::permanent, plans.error().text());
  const bool is_new = std::none_of(plans->begin(), plans->end(), [&](const auto& plan) {
    return ::access(part_path(command.name, plan.first).c_str(), F_OK) == 0;
  });
  if (const std::int64_t free = free_bytes(); is_new && free < options_.min_free_bytes) {
    return reply(command.operation, ReplyKind::transient,
                 fmt::format("disk full: {} MiB free in {}", free >> 20, context_.state));
  }
  std::vector<PreparedPart> prepared;
  Status status = prepare(*plans, prepared);
  if (status.ok()) status = start_prepared(command.name, prepared);
  if (status.ok()) {
    return reply(command.operation, ReplyKind::accepted, is_new ? "" : "continues an earlier start");
  }
  if (status.error().code == ErrorCode::conflict) {
    for (const auto& [node, plan] : *plans) part_of(command.name, node).report_again();
    return reply(command.operation, ReplyKind::permanent, status.error().text());
  }
  const bool runs = std::any_of(prepared.begin(), prepared.end(), [](const PreparedPart& part) {
    const Result<PartDecision> decision = part.folder.read_decision();
    const Result<bool> locked = part.folder.is_locked();
    return !decision.ok() || *decision != PartDecision::none || !locked.ok() || (*locked && !part.lock.ok());
  });
  if (runs) {
    // An earlier command, of an engine that was killed, started some of the parts. The others are sealed and reported.
    for (PreparedPart& part : prepared) part.lock.close();
    for (const auto& [node, plan] : *plans) part_of(command.name, node).expect_start(0);
    return reply(command.operation, ReplyKind::accepted, status.error().text());
  }
  for (PreparedPart& part : prepared) {
    if (part.created) part.folder.discard();
  }
  reply(command.operation, ReplyKind::transient, status.error().text());
}

void LocalWorld::handle(const control::StopAttempt& command, sched::Moment now) {
  for (const sched::NodeId node : command.nodes) {
    if (const Status known = check_node(node); !known.ok())
      return reply(command.operation, ReplyKind::permanent, known.error().text());
  }
  const std::int64_t begin = monotonic_ns();
  const Duration grace = std::clamp(command.grace, Duration(0), kMaxGrace);
  StopRequest request{command.operation, begin, begin + grace.count(), false};
  bool ask_by_file = false;
  for (const sched::NodeId node : command.nodes) {
    const Result<PartPlan> plan = part_of(command.name, node).folder().read_plan();
    if (!command.checkpoint || !plan.ok()) continue;
    ask_by_file = ask_by_file || plan->notice_file;
    request.notice = request.notice || plan->notice_file || plan->notice_signal > 0;
  }
  if (request.notice) request.terminate_at = begin + grace.count() / 2;
  if (ask_by_file)
    (void)write_request_file(context_.state, command.name,
                             command.operation);  // without it, the grace period is shorter
  std::string problem;
  for (const sched::NodeId node : command.nodes) {
    LocalPart& part = part_of(command.name, node);
    part.report_again();
    if (const Status stopped = part.stop(request); !stopped.ok()) problem = stopped.error().text();
  }
  const auto awaited = awaited_.find(command.name);
  if (request.notice && (awaited == awaited_.end() || awaited->second.stop.operation != command.operation)) {
    awaited_[command.name] = {request, command.nodes, now.count()};
    checkpoints_.hurry(command.name);
  }
  reply(command.operation, problem.empty() ? ReplyKind::accepted : ReplyKind::transient, problem);
}

void LocalWorld::handle(const control::RequestCheckpoint& command, sched::Moment /*now*/) {
  std::string problem = fmt::format("attempt {} does not run here", to_text(command.name));
  ReplyKind kind = ReplyKind::permanent;
  bool asked_by_file = false;
  for (auto& [key, part] : parts_) {
    if (key.first != command.name) continue;
    const Result<PartPlan> plan = part.folder().read_plan();
    if (!plan.ok()) continue;
    if (!plan->notice_file && plan->notice_signal <= 0) {
      problem = "the job cannot be asked for a checkpoint";
      continue;
    }
    Status asked;
    if (plan->notice_signal > 0) asked = part.notify(command.operation);
    if (plan->notice_file && !std::exchange(asked_by_file, true))
      asked = write_request_file(context_.state, command.name, command.operation);
    kind = asked.ok() ? ReplyKind::accepted : ReplyKind::transient;
    problem = asked.ok() ? "" : asked.error().text();
    if (!asked.ok()) break;
  }
  reply(command.operation, kind, problem);
}

void LocalWorld::handle(const control::VerifyCheckpoint& command, sched::Moment /*now*/) {
  if (command.spec == nullptr) return reply(command.operation, ReplyKind::permanent, "the command has no job");
  CheckpointWatch::Verification request;
  request.operation = command.operation;
  request.job = command.job;
  request.uid = command.spec->uid;
  request.gid = command.spec->gid;
  request.directories = job_checkpoint_directories(*command.spec, command.job);
  const std::string prefix = fmt::format("{}.", command.job);
  const std::vector<std::string> attempts = list_folder(context_.state + "/attempts");
  request.may_be_missing =
      std::none_of(attempts.begin(), attempts.end(), [&](const std::string& name) { return name.starts_with(prefix); });
  checkpoints_.verify(request);
  reply(command.operation, ReplyKind::accepted);
}

// Commands do not outlive this process, so a start of an earlier term cannot arrive: the term needs no file.
void LocalWorld::handle(const control::QueryInventory& command, sched::Moment /*now*/) {
  term_ = std::max(term_, command.term);
  ++inventories_;
}

void LocalWorld::handle(const control::CordonNode& command, sched::Moment now) {
  if (const Status known = check_node(command.node); !known.ok())
    return reply(command.operation, ReplyKind::permanent, known.error().text());
  const std::string& node = context_.nodes[index_of(command.node)];
  const Status set = cordons_.set(node, fmt::format("weft:{}", command.session), command.cordon);
  if (!set.ok()) return reply(command.operation, ReplyKind::transient, set.error().text());
  reply(command.operation, ReplyKind::accepted);
  const std::string owner = cordons_.owner_of(node);
  pending_.emplace_back(control::CordonReport{command.node, !owner.empty(), owner, now});
}

void LocalWorld::handle(const control::PowerCycle& command, sched::Moment /*now*/) {
  reply(command.operation, ReplyKind::permanent, "engine local has no BMC");
}

void LocalWorld::handle(const control::RepairNode& command, sched::Moment /*now*/) {
  reply(command.operation, ReplyKind::permanent, "engine local does not repair nodes");
}

void LocalWorld::handle(const control::ValidateNode& command, sched::Moment now) {
  if (const Status known = check_node(command.node); !known.ok())
    return reply(command.operation, ReplyKind::permanent, known.error().text());
  reply(command.operation, ReplyKind::accepted);
  pending_.emplace_back(control::ValidationReport{command.operation, command.node, context_.boot, true,
                                                  "engine local has no acceptance checks", now});
}

void LocalWorld::handle(const control::LeaseOrder& order, sched::Moment) {
  reply(order.operation, ReplyKind::permanent, "engine local shares its nodes with no other engine");
}

void LocalWorld::poll(sched::Moment now, std::vector<control::Event>& events) {
  std::move(pending_.begin(), pending_.end(), std::back_inserter(events));
  pending_.clear();
  report_nodes(now, events);
  update_parts(now, events);
  checkpoints_.poll(now, events);
  stop_after_checkpoints();
  for (; inventories_ > 0; --inventories_) events.emplace_back(take_inventory(now));
}

void LocalWorld::report_nodes(sched::Moment now, std::vector<control::Event>& events) {
  const bool clock_went_back = now < nodes_reported_at_;
  if (nodes_reported_ && !clock_went_back && now - nodes_reported_at_ < kNodeReportInterval) return;
  nodes_reported_ = true;
  nodes_reported_at_ = now;
  control::NodeReport report;
  report.boot = context_.boot;
  report.observed = now;
  if (const std::int64_t free = free_bytes(); free < options_.min_free_bytes) {
    report.health = control::Health::degraded;
    report.signal = fmt::format("disk full: {} MiB free in {}", free >> 20, context_.state);
  }
  for (std::uint32_t node = 0; node < context_.nodes.size(); ++node) {
    report.node = sched::NodeId{node};
    events.emplace_back(report);
  }
}

void LocalWorld::watch_checkpoints_of(const LocalPart& part) {
  const Result<PartPlan> plan = part.folder().read_plan();
  if (plan.ok()) checkpoints_.add(part.name(), plan->checkpoints, plan->uid, plan->gid);
}

void LocalWorld::update_parts(sched::Moment now, std::vector<control::Event>& events) {
  for (auto at = parts_.begin(); at != parts_.end();) {
    const std::size_t before = events.size();
    const LocalPart::Progress progress = at->second.update(now, events);
    if (progress == LocalPart::Progress::running && events.size() > before) watch_checkpoints_of(at->second);
    if (progress != LocalPart::Progress::over) {
      ++at;
      continue;
    }
    const AttemptName name = at->first.first;
    at = parts_.erase(at);
    // Parts of an attempt are next to each other.
    const bool is_last =
        (at == parts_.end() || at->first.first != name) && (at == parts_.begin() || std::prev(at)->first.first != name);
    if (is_last) {
      checkpoints_.end(name);
      awaited_.erase(name);
    }
  }
}

// A checkpoint that was asked for before a stop has been written: nothing more to wait for.
void LocalWorld::stop_after_checkpoints() {
  for (auto at = awaited_.begin(); at != awaited_.end();) {
    auto& [name, awaited] = *at;
    if (checkpoints_.last_written_ns(name) < awaited.since_ns) {
      ++at;
      continue;
    }
    awaited.stop.terminate_at = monotonic_ns();
    for (const sched::NodeId node : awaited.nodes) {
      if (const auto part = parts_.find({name, node}); part != parts_.end()) (void)part->second.stop(awaited.stop);
    }
    at = awaited_.erase(at);
  }
}

control::Inventory LocalWorld::take_inventory(sched::Moment now) const {
  control::Inventory inventory;
  inventory.observed = now;
  for (std::uint32_t node = 0; node < context_.nodes.size(); ++node)
    inventory.nodes.push_back({sched::NodeId{node}, context_.boot, {}, term_});
  for (const auto& [key, part] : parts_) inventory.nodes[index_of(key.second)].running.push_back(key.first);
  return inventory;
}

}  // namespace weft::world
