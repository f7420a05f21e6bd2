#include "explore/platform.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "explore/build.h"
#include "explore/estimate.h"

namespace weft::explore {
namespace {

constexpr double kUsualShare = 0.4;  // of the peak that large models reach: where the search of sizes begins
constexpr double kMaxNodes = 100'000;
constexpr int kTries = 8;
constexpr double kMargin = 1.1;  // what a simulation may take longer than its lower bound
// Sizes, relative to the one that would meet the deadline without failures.
constexpr std::array<double, 6> kSizes = {1.04, 1.12, 1.25, 1.5, 2.0, 3.0};

double unit_of(double nodes) { return std::exp2(std::max(0.0, std::floor(std::log2(std::max(1.0, nodes))) - 4)); }

// One line: of a message that quotes a file, the error in it.
std::string brief_problem(std::string message) {
  if (message.starts_with("candidate: ")) message.erase(0, 11);  // the name of the cluster
  const std::size_t end = message.find('\n');
  if (end == std::string::npos) return message;
  constexpr std::string_view kError = "error: ";
  const std::size_t error = message.find(kError, end);
  if (error == std::string::npos) return message.substr(0, end);
  const std::size_t from = error + kError.size();
  return message.substr(from, message.find('\n', from) - from);
}

class Explorer {
 public:
  Explorer(const Question& question, PlatformResult& result, const workload::ModelShape& shape, std::int64_t batch)
      : question_(question), result_(result), shape_(shape), batch_(batch) {}

  void run() {
    if (!open()) return;
    const std::optional<double> least = nodes_for_deadline();
    if (!least) return;
    std::set<std::int64_t> sizes;
    for (const double factor : kSizes) sizes.insert(round_nodes_up(*least * factor));
    evaluate(*sizes.begin());
    const double limit = nodes_within_limits();
    // What is beyond the limits is not looked at, except for what is needed to say what the deadline takes.
    for (const std::int64_t size : sizes) {
      if (static_cast<double>(size) > limit && is_probably_in_time()) break;
      evaluate(size);
    }
    if (limit<kMaxNodes&& static_cast<double>(*sizes.rbegin())> limit) evaluate_within(limit);
  }

 private:
  // The largest size within the limits, of which `guess` is an estimate, and one a little smaller.
  void evaluate_within(double guess) {
    std::int64_t size = round_nodes_down(guess);
    for (int tries = 0; tries < kTries; ++tries) {
      evaluate(size);
      if (fits(size)) {
        evaluate(round_nodes_down(static_cast<double>(size) * 0.93));
        return;
      }
      if (size == 1) return;
      size = round_nodes_down(std::min(static_cast<double>(size) - 1, std::floor(static_cast<double>(size) * 0.9)));
    }
  }

  [[nodiscard]] bool fits(std::int64_t nodes) const {
    return std::any_of(result_.candidates.begin(), result_.candidates.end(), [&](const Candidate& each) {
      return each.choice.nodes == nodes && question_.limits.allow(each.figures);
    });
  }

  bool exclude(std::string why) {
    result_.excluded = std::move(why);
    return false;
  }

  // A small cluster of these servers: everything that a layout depends on.
  bool open() {
    Choice choice;
    choice.gpu = result_.gpu;
    choice.network = result_.network;
    choice.nodes = 2;
    Result<design::DesignAnswer> sample =
        design::design_cluster(request_of(question_, choice, "sample"), question_.catalog);
    if (!sample.ok()) return exclude(brief_problem(sample.error().message));
    sample_ = sample->cluster;
    for (const model::DeviceGroup& group : sample_->groups()) {
      if (group.server != nullptr && group.server->gpus.value > 0) server_ = group.server;
    }
    if (server_ == nullptr) return exclude("no server has GPUs");
    result_.server = server_->id->text;
    const model::GpuModel* gpu = sample_->catalog().gpu(server_->gpu.value);
    if (gpu == nullptr) return exclude("the GPU is not in the catalog");
    const Result<workload::GpuRates> rates = workload::GpuRates::of(*gpu);
    if (!rates.ok()) return exclude(rates.error().message);
    Layout layout;
    layout.global_batch = batch_;
    BuiltCandidate built;
    built.cluster = sample_;
    built.job_file = job_file(question_, choice, layout, shape_.sequence);
    const Result<model::JobSpec> job = read_job(built);
    if (!job.ok()) return exclude(job.error().message);
    precision_ = job->training->precision.value;
    if (precision_ == model::Precision::fp8 && !rates->has_fp8()) return exclude("has no FP8 units");
    peak_ = rates->peak(precision_);
    layouts_ = std::make_unique<LayoutSearch>(*sample_, *server_, *rates, *job, batch_);
    return true;
  }

  // The number of servers that would train on all tokens in time without failures; nullopt if no layout was found.
  std::optional<double> nodes_for_deadline() {
    const auto sequence = static_cast<double>(shape_.sequence);
    const double flops =
        workload::model_flops(shape_, shape_.sequence) / sequence * static_cast<double>(question_.goal.tokens);
    const double seconds = static_cast<double>(question_.goal.deadline.count()) / 1e9;
    const auto gpus = static_cast<double>(server_->gpus.value);
    double nodes = std::clamp(flops / (kUsualShare * peak_ * seconds * gpus), 1.0, kMaxNodes);
    for (int tries = 0; tries < 3; ++tries) {
      const std::optional<std::pair<std::int64_t, FoundLayout>> found = nearest_layout(nodes);
      if (!found) break;
      const double rate = found->second.tokens_per_second / static_cast<double>(found->first);
      const double wanted = static_cast<double>(question_.goal.tokens) / (rate * seconds);
      const bool settled = std::abs(wanted / nodes - 1) < 0.02;
      nodes = std::clamp(wanted, 1.0, kMaxNodes);
      if (settled || tries == 2) return nodes;
    }
    exclude(fmt::format("no layout of the model fits into the memory of about {} servers", round_nodes_up(nodes)));
    return std::nullopt;
  }

  // A model that does not fit needs more servers than its computation does.
  std::optional<std::pair<std::int64_t, FoundLayout>> nearest_layout(double nodes) {
    for (int tries = 0; tries < 8 && nodes <= kMaxNodes; ++tries, nodes *= 1.5) {
      const std::int64_t size = round_nodes_up(nodes);
      if (const std::optional<FoundLayout> found = layouts_->find(size)) return std::pair(size, *found);
    }
    return std::nullopt;
  }

  // By the power and cost of what was built so far, which grow about linearly; all if nothing limits it.
  [[nodiscard]] double nodes_within_limits() const {
    double limit = kMaxNodes;
    for (const Candidate& each : result_.candidates) {
      const auto nodes = static_cast<double>(each.choice.nodes);
      if (question_.limits.power) {
        const double share = static_cast<double>(question_.limits.power->count()) /
                             static_cast<double>(std::max<std::int64_t>(1, each.figures.power.count()));
        limit = std::min(limit, nodes * share);
      }
      if (question_.limits.cost && each.figures.cost) {
        const double share = static_cast<double>(question_.limits.cost->count()) /
                             static_cast<double>(std::max<std::int64_t>(1, each.figures.cost->count()));
        limit = std::min(limit, nodes * share);
      }
    }
    return limit;
  }

  [[nodiscard]] bool is_probably_in_time() const {
    return std::any_of(result_.candidates.begin(), result_.candidates.end(), [&](const Candidate& each) {
      return each.figures.optimistic_days * kMargin * 86'400e9 <= static_cast<double>(question_.goal.deadline.count());
    });
  }

  void evaluate(std::int64_t nodes) {
    if (nodes < 1 || !done_.insert(nodes).second) return;
    result_.considered += question_.oversubscriptions.size() * question_.data.size();
    const std::optional<FoundLayout> found = layouts_->find(nodes);
    if (!found) {
      if (result_.first_problem.empty())
        result_.first_problem = fmt::format("no layout of the model fits and divides the GPUs of {} servers", nodes);
      result_.unbuildable += question_.oversubscriptions.size() * question_.data.size();
      return;
    }
    const double out = mean_nodes_out(question_.faults, question_.fault_scale, nodes);
    const std::vector<std::int64_t> counts = spare_counts(out);
    for (const Ratio& ratio : question_.oversubscriptions) {
      for (const model::DataClass data : question_.data) {
        Candidate candidate;
        candidate.choice = {result_.gpu, result_.network, ratio, data, nodes, 0, Duration()};
        candidate.choice.spares = question_.spares.value_or(counts[std::min<std::size_t>(2, counts.size() - 1)]);
        if (question_.interval) candidate.choice.interval = *question_.interval;
        candidate.layout = found->layout;
        Result<Figures> figures = figures_of(question_, candidate.choice, candidate.layout);
        if (!figures.ok()) {
          ++result_.unbuildable;
          if (result_.first_problem.empty()) result_.first_problem = brief_problem(figures.error().message);
          continue;
        }
        candidate.figures = std::move(figures).value();
        result_.candidates.push_back(std::move(candidate));
      }
    }
  }

  const Question& question_;
  PlatformResult& result_;
  const workload::ModelShape& shape_;
  std::int64_t batch_;
  std::shared_ptr<const model::Cluster> sample_;
  const model::ServerModel* server_ = nullptr;
  model::Precision precision_ = model::Precision::bf16;
  double peak_ = 1;
  std::unique_ptr<LayoutSearch> layouts_;
  std::set<std::int64_t> done_;
};

}  // namespace

std::int64_t round_nodes_up(double nodes) {
  const double unit = unit_of(nodes);
  return static_cast<std::int64_t>(std::ceil(std::max(1.0, nodes) / unit - 1e-9) * unit);
}

std::int64_t round_nodes_down(double nodes) {
  const double unit = unit_of(nodes);
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(std::floor(nodes / unit + 1e-9) * unit));
}

PlatformResult explore_platform(const Question& question, const std::string& gpu, model::NetworkKind network,
                                const workload::ModelShape& shape, std::int64_t batch) {
  PlatformResult result;
  result.gpu = gpu;
  result.network = network;
  Explorer(question, result, shape, batch).run();
  return result;
}

}  // namespace weft::explore
