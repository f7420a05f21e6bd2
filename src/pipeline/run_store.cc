#include "pipeline/run_store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "base/file.h"
#include "base/text.h"
#include "base/utf8.h"
#include "oob/durable/file.h"
#include "oob/durable/private_folder.h"

namespace weft::pipeline {
namespace {

constexpr int kMaxRuns = 1'000'000;
constexpr std::size_t kMaxStateBytes = 64U << 20U;

Result<std::string> new_token() {
  std::array<unsigned char, 16> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    return Error{ErrorCode::unavailable, "the system has no random numbers", {}};
  }
  std::string token;
  for (const unsigned char byte : bytes) token += fmt::format("{:02x}", byte);
  return token;
}

bool is_run_name(std::string_view name) {
  const auto plain = [](char c) { return is_letter_or_digit(c) || c == '-' || c == '_'; };
  return !name.empty() && name.size() <= 80 && is_letter_or_digit(name.front()) &&
         std::all_of(name.begin(), name.end(), plain);
}

}  // namespace

std::string RunStore::path(const std::string& run, const char* file) const {
  return fmt::format("{}/{}/{}", folder_, run, file);
}

Result<std::vector<std::string>> RunStore::list() const {
  std::error_code problem;
  std::vector<std::string> names;
  std::filesystem::directory_iterator at(folder_, problem);
  if (problem == std::errc::no_such_file_or_directory) return names;
  for (; !problem && at != std::filesystem::directory_iterator(); at.increment(problem)) {
    const std::string name = at->path().filename().string();
    struct stat info {};
    if (is_run_name(name) && ::stat(path(name, "run.json").c_str(), &info) == 0) names.push_back(name);
  }
  if (problem) return Error{ErrorCode::unavailable, "cannot be read: " + problem.message(), folder_};
  std::sort(names.begin(), names.end());
  return names;
}

Result<RunState> RunStore::load(const std::string& run) const {
  const Error unknown{ErrorCode::not_found, fmt::format("there is no run {}", in_backticks(run)), folder_};
  if (!is_run_name(run)) return unknown;
  const std::string file = path(run, "run.json");
  const Result<std::string> text = read_file(file, kMaxStateBytes);
  if (!text.ok()) return text.error().code == ErrorCode::not_found ? unknown : text.error();
  Result<RunState> state = parse_run_state(*text);
  if (!state.ok()) return Error{state.error().code, state.error().message, file};
  return state;
}

Status RunStore::create(RunState& state, const std::string& pipeline) const {
  Result<std::string> token = new_token();
  if (!token.ok()) return token.error();
  if (Status made = oob::make_private_folder(folder_); !made.ok()) return made;
  for (int number = 1; number < kMaxRuns; ++number) {
    const std::string name = fmt::format("{}-{}", pipeline, number);
    const std::string run_folder = fmt::format("{}/{}", folder_, name);
    if (::mkdir(run_folder.c_str(), 0700) != 0) {
      if (errno == EEXIST) continue;
      return Error{ErrorCode::unavailable, "cannot be created: " + std::generic_category().message(errno), run_folder};
    }
    if (Status synced = oob::sync_folder_of(run_folder); !synced.ok()) return synced;
    state.name = name;
    state.token = *token;
    return save(state);
  }
  return Error{ErrorCode::refused, "too many runs of this pipeline", folder_};
}

Status RunStore::save(const RunState& state) const {
  return oob::replace_file(path(state.name, "run.json"), write_run_state(state));
}

Result<std::set<std::string>> RunStore::cancel_requests(const std::string& run) const {
  const std::string file = path(run, "cancel");
  struct stat info {};
  if (::stat(file.c_str(), &info) != 0 && errno == ENOENT) return std::set<std::string>();
  const Result<std::string> text = read_file(file, kMaxStateBytes);
  if (!text.ok()) return text.error();
  std::set<std::string> steps;
  for (const std::string_view line : split_lines(*text)) steps.emplace(line);
  return steps;
}

Status RunStore::request_cancel(const std::string& run, const std::set<std::string>& steps) const {
  // Two requests at a time must not lose one.
  const std::string gate = path(run, "cancel.lock");
  const Result<FileDescriptor> file = oob::open_file(gate, O_RDWR | O_CREAT, 0600);
  if (!file.ok()) return file.error();
  if (Status locked = oob::lock(*file, oob::LockKind::exclusive, gate, oob::kLockLimit); !locked.ok()) return locked;
  const oob::HeldLock held(*file);
  Result<std::set<std::string>> all = cancel_requests(run);
  if (!all.ok()) return all.error();
  all->insert(steps.begin(), steps.end());
  return oob::replace_file(path(run, "cancel"), join(*all, "\n") + "\n");
}

Result<FileDescriptor> RunStore::lock(const std::string& run) const {
  return oob::lock_file(path(run, "lock"), fmt::format("process {}", ::getpid()));
}

}  // namespace weft::pipeline
