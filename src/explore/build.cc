#include "explore/build.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/yaml.h"
#include "design/bom.h"
#include "explore/estimate.h"
#include "twin/life_job.h"
#include "workload/life/play_life.h"

namespace weft::explore {
namespace {

Error first_error(const Diagnostics& diagnostics) {
  for (const Diagnostic& each : diagnostics.sorted()) {
    if (each.severity == Severity::error) return {ErrorCode::invalid_input, each.message, {}};
  }
  return {ErrorCode::internal, "no error was reported", {}};
}

Result<model::JobSpec> parse_job(const std::string& text) {
  Sources sources;
  Diagnostics diagnostics;
  const FileId file = sources.add("job.yaml", text);
  const std::optional<YamlNode> root = parse_yaml(sources, file, diagnostics);
  std::optional<model::JobSpec> job = root ? model::read_job(*root, diagnostics) : std::nullopt;
  if (!job || diagnostics.has_errors()) return first_error(diagnostics);
  if (!job->training.has_value()) return Error{ErrorCode::invalid_input, "the job has no `training` section", {}};
  return *std::move(job);
}

double rate_of(const Question& question, const Choice& choice) {
  return interruptions_per_day(question.faults, question.fault_scale, choice.nodes);
}

void set_layout(const Layout& layout, Value& training) {
  Value parallel = Value::map();
  parallel.set("tensor", layout.tensor).set("pipeline", layout.pipeline);
  if (layout.interleave > 1) parallel.set("interleave", layout.interleave);
  if (layout.context > 1) parallel.set("context", layout.context);
  if (layout.expert > 1) parallel.set("expert", layout.expert);
  training.set("parallel", std::move(parallel));
  training.set("micro_batch", layout.micro_batch);
  training.set("global_batch", layout.global_batch);
  training.set("sharding", std::string(model::text_of(layout.sharding)));
  training.set("recompute", std::string(model::text_of(layout.recompute)));
}

}  // namespace

std::int64_t steps_for(std::int64_t tokens, std::int64_t global_batch, std::int64_t sequence) {
  const std::int64_t each = std::max<std::int64_t>(1, global_batch * sequence);
  return std::max<std::int64_t>(1, (tokens + each - 1) / each);
}

design::DesignRequest request_of(const Question& question, const Choice& choice, const std::string& name) {
  design::DesignRequest request = question.request;
  request.name = name;
  request.gpus.reset();
  request.power.reset();
  request.servers = choice.nodes + choice.spares;
  request.gpu = choice.gpu;
  request.network = choice.network;
  request.oversubscription = choice.oversubscription;
  request.data = choice.data;
  request.one_tenant = true;
  return request;
}

std::string job_file(const Question& question, const Choice& choice, const Layout& layout, std::int64_t sequence) {
  Value root = question.job;
  root.set("pool", "train");
  root.set("nodes", choice.nodes);
  Value& training = root["training"];
  set_layout(layout, training);
  training.set("steps", steps_for(question.goal.tokens, layout.global_batch, sequence));
  if (choice.interval.count() > 0) training["checkpoint"].set("interval", to_text(choice.interval));
  return write_yaml(root);
}

Result<workload::ModelShape> read_shape(const Question& question) {
  Value root = question.job;
  root.set("nodes", 1);  // a required key; the search decides it
  const Result<model::JobSpec> job = parse_job(write_yaml(root));
  if (!job.ok()) return job.error();
  Diagnostics diagnostics;
  const std::optional<workload::ModelShape> shape = workload::shape_of(job->training.value, diagnostics);
  if (!shape) {
    const std::vector<Diagnostic> found = diagnostics.sorted();
    if (found.empty()) return first_error(diagnostics);
    const std::string hint = found.front().hint.empty() ? "" : "; " + found.front().hint;
    return Error{ErrorCode::invalid_input, found.front().message + hint, {}};
  }
  return *shape;
}

Result<BuiltCandidate> build_candidate(const Question& question, const Choice& choice, const Layout& layout,
                                       const std::string& name) {
  Result<design::DesignAnswer> answer = design::design_cluster(request_of(question, choice, name), question.catalog);
  if (!answer.ok()) return answer.error();
  const Result<workload::ModelShape> shape = read_shape(question);
  if (!shape.ok()) return shape.error();
  BuiltCandidate built;
  built.cluster_file = std::move(answer->yaml);
  built.cluster = std::move(answer->cluster);
  built.job_file = job_file(question, choice, layout, shape->sequence);
  return built;
}

Result<model::JobSpec> read_job(const BuiltCandidate& built) {
  Result<model::JobSpec> job = parse_job(built.job_file);
  if (!job.ok()) return job;
  Diagnostics diagnostics;
  model::resolve(*job, *built.cluster, diagnostics);
  if (diagnostics.has_errors()) return first_error(diagnostics);
  return job;
}

void set_interval(const Question& question, const Choice& choice, Figures& figures) {
  // Whole steps, as weft sim life counts them.
  const std::int64_t steps = std::max<std::int64_t>(
      1, netsim::from_duration(choice.interval).count() / std::max<std::int64_t>(1, figures.step));
  figures.job.spec.checkpoint.interval = figures.job.step * steps;
  figures.optimistic_days = optimistic_days(figures.job, choice.interval, rate_of(question, choice));
}

Result<Figures> figures_of(const Question& question, Choice& choice, const Layout& layout) {
  const Result<BuiltCandidate> built = build_candidate(question, choice, layout, "candidate");
  if (!built.ok()) return built.error();
  const Result<model::JobSpec> job = read_job(*built);
  if (!job.ok()) return job.error();
  workload::LifeOptions options;
  options.what_ifs = options.timeline = options.heat_maps = false;
  options.iterations = 1;
  options.image_cached = 1;  // as weft twin run --job
  Diagnostics diagnostics;
  const std::optional<workload::LifeResult> life = workload::play_life(*built->cluster, *job, options, diagnostics);
  if (!life) return first_error(diagnostics);
  Figures figures;
  figures.gpus = life->gpus;
  figures.power = built->cluster->total_power();
  figures.racks = static_cast<std::int64_t>(built->cluster->racks().size());
  if (question.prices != nullptr) figures.cost = design::make_bom(*built->cluster, question.prices).total;
  figures.step = life->step.count();
  figures.steps = static_cast<std::int64_t>(life->steps);
  figures.mfu = life->mfu;
  figures.bound_by = life->verdict.bound_by;
  figures.job = twin::job_from_life(*life, *job);
  figures.ideal_days = static_cast<double>(figures.job.work.count()) / 86'400e9;
  if (choice.interval.count() == 0) {
    choice.interval = first_interval(figures.job, rate_of(question, choice));
  }
  set_interval(question, choice, figures);
  return figures;
}

}  // namespace weft::explore
