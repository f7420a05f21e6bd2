#include "control/job_spec.h"

#include <fmt/format.h>

#include <array>
#include <limits>

#include "control/fields.h"

namespace weft::control {
namespace {

// Every number of a job specification: its key in the journal and where it is kept. One table for both directions.
struct NumberField {
  std::string_view key;
  std::int64_t (*get)(const JobSpec&);
  bool (*set)(JobSpec&, const FieldReader&);
};

template <auto Member>
struct OfShape {
  static auto& of(JobSpec& spec) { return spec.shape.*Member; }
  static const auto& of(const JobSpec& spec) { return spec.shape.*Member; }
};
template <auto Member>
struct OfTask {
  static auto& of(JobSpec& spec) { return spec.shape.task.*Member; }
  static const auto& of(const JobSpec& spec) { return spec.shape.task.*Member; }
};
template <auto Member>
struct OfCheckpoint {
  static auto& of(JobSpec& spec) { return spec.checkpoint.*Member; }
  static const auto& of(const JobSpec& spec) { return spec.checkpoint.*Member; }
};
template <auto Member>
struct OfRestart {
  static auto& of(JobSpec& spec) { return spec.restart.*Member; }
  static const auto& of(const JobSpec& spec) { return spec.restart.*Member; }
};
template <auto Member>
struct OfSpec {
  static auto& of(JobSpec& spec) { return spec.*Member; }
  static const auto& of(const JobSpec& spec) { return spec.*Member; }
};

template <class Path>
constexpr NumberField number_at(std::string_view key) {
  return {key, [](const JobSpec& spec) { return static_cast<std::int64_t>(Path::of(spec)); },
          [](JobSpec& spec, const FieldReader& reader) {
            auto& value = Path::of(spec);
            using Value = std::remove_reference_t<decltype(value)>;
            if constexpr (std::is_same_v<Value, bool>) {
              int flag = 0;
              if (!reader.number(flag) || flag < 0 || flag > 1) return false;
              value = flag == 1;
              return true;
            } else if constexpr (std::is_enum_v<Value>) {
              return reader.choice(value, static_cast<std::underlying_type_t<Value>>(
                                              std::is_same_v<Value, sched::Level>        ? sched::kLevels
                                              : std::is_same_v<Value, lease::LeaseOwner> ? lease::kLeaseOwners
                                                                                         : 3));
            } else {
              return reader.number(value);
            }
          }};
}
template <class Path>
constexpr NumberField duration_at(std::string_view key) {
  return {key, [](const JobSpec& spec) { return Path::of(spec).count(); },
          [](JobSpec& spec, const FieldReader& reader) {
            std::int64_t count = 0;
            if (!reader.number(count)) return false;
            Path::of(spec) = Duration(count);
            return true;
          }};
}

constexpr NumberField kNumbers[] = {
    number_at<OfShape<&sched::Job::priority>>("priority"),
    number_at<OfShape<&sched::Job::tasks>>("tasks"),
    number_at<OfShape<&sched::Job::min_tasks>>("min_tasks"),
    number_at<OfTask<&sched::Request::cpu>>("cpu"),
    number_at<OfTask<&sched::Request::memory_mib>>("memory"),
    number_at<OfTask<&sched::Request::gpus>>("gpus"),
    number_at<OfTask<&sched::Request::gpu_milli>>("gpu_milli"),
    number_at<OfTask<&sched::Request::functions>>("functions"),
    number_at<OfTask<&sched::Request::scratch_gib>>("scratch"),
    number_at<OfShape<&sched::Job::required>>("required"),
    number_at<OfShape<&sched::Job::preferred>>("preferred"),
    duration_at<OfShape<&sched::Job::preference_wait>>("preference_wait"),
    number_at<OfShape<&sched::Job::segment>>("segment"),
    number_at<OfShape<&sched::Job::segment_level>>("segment_level"),
    duration_at<OfShape<&sched::Job::limit>>("limit"),
    number_at<OfShape<&sched::Job::preemptible>>("preemptible"),
    number_at<OfShape<&sched::Job::inference>>("inference"),
    duration_at<OfShape<&sched::Job::grace>>("grace"),
    duration_at<OfShape<&sched::Job::checkpoint_interval>>("shape_interval"),
    duration_at<OfShape<&sched::Job::restart_cost>>("restart_cost"),
    number_at<OfShape<&sched::Job::checkpoint_on_notice>>("on_notice"),
    duration_at<OfCheckpoint<&CheckpointPolicy::interval>>("interval"),
    duration_at<OfCheckpoint<&CheckpointPolicy::write_time>>("write_time"),
    number_at<OfCheckpoint<&CheckpointPolicy::notice>>("notice"),
    number_at<OfCheckpoint<&CheckpointPolicy::notice_signal>>("signal"),
    number_at<OfRestart<&RestartPolicy::max_failures>>("max_failures"),
    duration_at<OfRestart<&RestartPolicy::backoff>>("backoff"),
    duration_at<OfRestart<&RestartPolicy::max_backoff>>("max_backoff"),
    number_at<OfRestart<&RestartPolicy::on_success_only>>("final_failure"),
    number_at<OfSpec<&JobSpec::uid>>("uid"),
    number_at<OfSpec<&JobSpec::gid>>("gid"),
    number_at<OfSpec<&JobSpec::engine>>("engine"),
};

struct TextField {
  std::string_view key;
  std::string& (*at)(JobSpec&);
};
constexpr TextField kTexts[] = {
    {"name", [](JobSpec& spec) -> std::string& { return spec.shape.name; }},
    {"tenant", [](JobSpec& spec) -> std::string& { return spec.shape.tenant; }},
    {"user", [](JobSpec& spec) -> std::string& { return spec.shape.user; }},
    {"directory", [](JobSpec& spec) -> std::string& { return spec.directory; }},
    {"output", [](JobSpec& spec) -> std::string& { return spec.output; }},
    {"image", [](JobSpec& spec) -> std::string& { return spec.image; }},
};

bool read_mask(const FieldReader& reader, sched::Request& task) {
  if (reader.key() == "models") return reader.unsigned_number(task.models);
  if (reader.key() == "pools") return reader.unsigned_number(task.pools);
  if (reader.key() == "mig") {
    std::uint32_t packed = 0;
    if (!reader.number(packed) || packed > 0xFFFFU) return false;
    task.mig = {static_cast<std::uint8_t>(packed >> 8U), static_cast<std::uint8_t>(packed & 0xFFU)};
    return true;
  }
  return false;
}

bool read_field(const FieldReader& reader, JobSpec& spec) {
  for (const NumberField& field : kNumbers) {
    if (field.key == reader.key()) return field.set(spec, reader);
  }
  for (const TextField& field : kTexts) {
    if (field.key != reader.key()) continue;
    field.at(spec) = reader.text();
    return true;
  }
  if (reader.key() == "argument") {
    spec.command.push_back(reader.text());
  } else if (reader.key() == "volume") {
    spec.checkpoint.volumes.push_back(reader.text());
  } else if (reader.key() == "env") {
    const std::string text = reader.text();
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos) return false;
    spec.environment.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  } else {
    return read_mask(reader, spec.shape.task);
  }
  return true;
}

std::string problem_of_environment(const JobSpec& spec) {
  for (const auto& [name, value] : spec.environment) {
    if (name.empty() || name.find('=') != std::string::npos || name.find('\0') != std::string::npos ||
        value.find('\0') != std::string::npos) {
      return fmt::format("invalid environment variable `{}`", name);
    }
  }
  return {};
}

}  // namespace

std::string_view to_text(CheckpointNotice notice) {
  constexpr std::array<std::string_view, 3> names = {"none", "signal", "file"};
  return names[static_cast<std::size_t>(notice)];
}

std::string to_text(const JobSpec& spec) {
  static const JobSpec defaults;
  FieldWriter writer;
  JobSpec& mutable_spec = const_cast<JobSpec&>(spec);  // NOLINT: the accessors of the table are shared with the reader
  for (const TextField& field : kTexts) writer.text(field.key, field.at(mutable_spec));
  for (const NumberField& field : kNumbers) writer.number(field.key, field.get(spec), field.get(defaults));
  const sched::Request& task = spec.shape.task;
  if (task.models != 0) writer.text("models", fmt::format("{}", task.models));
  if (task.pools != 0) writer.text("pools", fmt::format("{}", task.pools));
  writer.number("mig", (task.mig.slices << 8U) | task.mig.starts);
  for (const std::string& argument : spec.command) writer.list("argument", {argument});
  writer.list("volume", spec.checkpoint.volumes);
  for (const auto& [name, value] : spec.environment) writer.text("env", fmt::format("{}={}", name, value));
  return writer.take();
}

Result<JobSpec> parse_job_spec(std::string_view text) {
  JobSpec spec;
  FieldReader reader(text);
  while (reader.next()) {
    if (!read_field(reader, spec)) {
      return Error{ErrorCode::invalid_input,
                   fmt::format("job specification: unknown field or invalid value: {}={}", reader.key(), reader.raw()),
                   {}};
    }
  }
  if (reader.malformed()) return Error{ErrorCode::invalid_input, "job specification: malformed field", {}};
  return spec;
}

std::string problem_of(const JobSpec& spec) {
  if (std::string problem = sched::problem_of(spec.shape); !problem.empty()) return problem;
  if (spec.command.empty() || spec.command.front().empty()) return "the job has no command";
  for (const std::string& argument : spec.command) {
    if (argument.find('\0') != std::string::npos) return "an argument of the command contains a NUL byte";
  }
  if (spec.image.find_first_of(std::string_view(" \t\r\n\0", 5)) != std::string::npos)
    return "the container image has a space or a control character";
  if (spec.checkpoint.volumes.size() > 2) return "checkpoints are written to at most two volumes";
  for (const std::string& volume : spec.checkpoint.volumes) {
    if (volume.empty() || volume.front() != '/')
      return fmt::format("checkpoint volume `{}` is not an absolute path", volume);
  }
  if (spec.checkpoint.interval < Duration() || spec.checkpoint.write_time <= Duration()) {
    return "checkpoint times must be positive";
  }
  if (spec.restart.max_failures < 0 || spec.restart.backoff < Duration() || spec.restart.max_backoff < Duration()) {
    return "restart limits must not be negative";
  }
  return problem_of_environment(spec);
}

}  // namespace weft::control
