#include "world/slurm/attempt_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <ctime>

#include "base/file.h"
#include "base/file_descriptor.h"
#include "base/process.h"
#include "base/text.h"
#include "world/local/engine_state.h"
#include "world/local/part_folder.h"
#include "world/slurm/batch_job.h"

namespace weft::world {
namespace {

constexpr std::size_t kMaxLog = 64U << 10U;
constexpr std::size_t kMaxText = 200;
constexpr std::size_t kMaxPlan = 16U << 20U;
constexpr std::int32_t kNotStarted = 71;  // of the task script

std::string plan_file(const std::string& state, const control::AttemptName& name) {
  return fmt::format("{}/attempts/{}", state, to_text(name));
}

// The user may write to it but, in a folder of weft, not replace it.
Status create_for_user(const std::string& path, std::uint32_t uid, std::uint32_t gid) {
  const FileDescriptor file = open_descriptor(path, O_WRONLY | O_CREAT | O_NOFOLLOW, 0644);
  if (!file.ok()) return disk_error(errno, "create", path);
  if (::geteuid() == 0 && ::fchown(file.get(), uid, gid) != 0) return disk_error(errno, "set the owner of", path);
  return {};
}

Status make_checkpoint_directories(const AttemptFiles& files) {
  if (files.helper.empty() || files.plan.checkpoints.empty()) return {};
  ProcessRequest request;
  request.words = files.helper;
  request.words.insert(request.words.end(),
                       {"prepare", std::to_string(files.plan.uid), std::to_string(files.plan.gid)});
  request.words.insert(request.words.end(), files.plan.checkpoints.begin(), files.plan.checkpoints.end());
  const Result<ProcessOutcome> outcome = run_process(request);
  if (!outcome.ok()) return Error{ErrorCode::unavailable, outcome.error().text(), {}};
  const std::string problem = outcome->out.substr(0, outcome->out.find('\0'));
  if (outcome->code != 0 || !problem.empty()) return Error{ErrorCode::unavailable, problem, {}};
  return {};
}

std::string read_head(const std::string& path, std::size_t limit) {
  const FileDescriptor file = open_descriptor(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
  if (!file.ok()) return {};
  std::string text(limit, '\0');
  std::size_t size = 0;
  while (size < limit) {
    const ssize_t got = ::read(file.get(), text.data() + size, limit - size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    size += static_cast<std::size_t>(got);
  }
  text.resize(size);
  return text;
}

std::optional<std::int32_t> parse_code(std::string_view text) {
  std::int32_t code = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), code);
  if (error != std::errc() || end != text.data() + text.size() || code < 0 || code > 255) return std::nullopt;
  return code;
}

// strsignal(3), as srun prints it.
std::optional<std::int32_t> code_of(std::string_view what) {
  constexpr std::string_view kExited = "Exited with exit code ";
  if (what.starts_with(kExited)) return parse_code(what.substr(kExited.size()));
  constexpr std::pair<std::string_view, std::int32_t> kSignals[] = {
      {"Hangup", 129},     {"Interrupt", 130},          {"Quit", 131},       {"Illegal instruction", 132},
      {"Aborted", 134},    {"Bus error", 135},          {"Killed", 137},     {"Floating point exception", 136},
      {"Terminated", 143}, {"Segmentation fault", 139}, {"Broken pipe", 141}};
  for (const auto& [name, code] : kSignals) {
    if (what.starts_with(name)) return code;
  }
  return std::nullopt;
}

std::string describe(std::string_view what, std::optional<std::int32_t> code) {
  if (code && *code > 128 && !what.starts_with("Exited")) return fmt::format("killed by signal {}", *code - 128);
  if (code) return fmt::format("exit status {}", *code);
  return std::string(what.substr(0, kMaxText));
}

}  // namespace

Status prepare_files(const AttemptFiles& files) {
  const std::string folder = files.state + "/ends";
  if (Status made = make_folders(folder, 0755); !made.ok()) return made;
  if (::chmod(folder.c_str(), 0755) != 0) return disk_error(errno, "set the mode of", folder);
  if (Status written = write_file(plan_file(files.state, files.plan.name), encode_plan(files.plan)); !written.ok())
    return written;
  std::vector<std::string> paths = files.logs;
  paths.push_back(end_file(files.state, files.plan.name));
  paths.push_back(batch_log(files.state, files.plan.name));
  for (const std::string& path : paths) {
    if (Status created = create_for_user(path, files.plan.uid, files.plan.gid); !created.ok()) return created;
  }
  return make_checkpoint_directories(files);
}

Result<PartPlan> load_plan(const std::string& state, const control::AttemptName& name) {
  const Result<std::string> text = read_file(plan_file(state, name), kMaxPlan);
  if (!text.ok()) return text.error();
  Result<PartPlan> plan = parse_plan(*text);
  if (plan.ok() && plan->name != name)
    return Error{ErrorCode::invalid_input, "is the plan of another attempt", plan_file(state, name)};
  return plan;
}

EndRecord parse_srun_log(std::string_view text) {
  constexpr std::string_view kPrefix = "srun: error: ";
  constexpr std::string_view kOwn = "weft: ";
  for (const std::string_view line : split_lines(text)) {
    if (line.starts_with(std::string(kOwn) + "rank "))
      return {std::nullopt, kNotStarted, std::string(line.substr(kOwn.size(), kMaxText))};
    if (!line.starts_with(kPrefix)) continue;
    const std::string_view rest = line.substr(kPrefix.size());
    const std::size_t first = rest.find(": task");
    if (first == std::string_view::npos) continue;
    const std::size_t second = rest.find(": ", first + 2);
    if (second == std::string_view::npos) continue;
    const std::string_view node = rest.substr(0, first);
    const std::string_view tasks = rest.substr(first + 6, second - first - 6);  // " 2" or "s 1,3"
    const std::string_view what = rest.substr(second + 2);
    const std::optional<std::int32_t> code = code_of(what);
    const std::string_view number = trim(tasks.starts_with('s') ? tasks.substr(1) : tasks);
    std::string sentence = fmt::format("rank{} {} on {}: {}", tasks.starts_with('s') ? "s" : "",
                                       number.substr(0, kMaxText), node.substr(0, kMaxText), describe(what, code));
    return {std::nullopt, code, std::move(sentence)};
  }
  return {};
}

EndRecord read_end(const std::string& state, const control::AttemptName& name) {
  EndRecord record = parse_srun_log(read_head(batch_log(state, name), kMaxLog));
  record.status = parse_code(trim(read_head(end_file(state, name), 16)));
  return record;
}

std::vector<control::AttemptName> load_attempt_names(const std::string& state, Duration keep) {
  std::vector<control::AttemptName> names;
  for (const std::string& entry : list_folder(state + "/attempts")) {
    const std::optional<control::AttemptName> name = parse_attempt_name(entry);
    struct stat info {};
    const std::string path = fmt::format("{}/attempts/{}", state, entry);
    if (!name || ::stat(path.c_str(), &info) != 0) continue;
    const std::int64_t age = std::time(nullptr) - info.st_mtim.tv_sec;
    const std::string ended = trim(read_head(end_file(state, *name), 16)).empty() ? "" : "yes";
    if (!ended.empty() && age > keep.count() / 1'000'000'000) {
      ::unlink(path.c_str());
      ::unlink(end_file(state, *name).c_str());
      continue;
    }
    names.push_back(*name);
  }
  return names;
}

}  // namespace weft::world
