#include "world/gate/node_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "base/file.h"
#include "base/text.h"

namespace weft::world {
namespace {

namespace fs = std::filesystem;

Error failure(const std::string& path, const std::error_code& problem) {
  return {ErrorCode::unavailable, fmt::format("cannot be read: {}", problem.message()), path};
}

bool is_number(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// slurmd names its steps so; the process `slurmstepd infinity`, which only keeps a cgroup, is not one of them.
Result<std::vector<std::string>> find_slurm_steps(const std::string& proc) {
  std::vector<std::string> steps;
  std::error_code problem;
  std::size_t processes = 0;
  for (fs::directory_iterator each(proc, problem), end; !problem && each != end; each.increment(problem)) {
    if (!is_number(each->path().filename().string())) continue;
    ++processes;
    std::ifstream file(each->path() / "cmdline", std::ios::binary);  // gone: the process has ended
    const std::string title(std::istreambuf_iterator<char>(file), {});
    if (!title.starts_with("slurmstepd: [")) continue;
    steps.push_back(title.substr(0, std::min(title.find('\0'), title.find(']') + 1)));
  }
  if (problem) return failure(proc, problem);
  if (processes == 0) return Error{ErrorCode::unavailable, "lists no process: is it mounted?", proc};
  std::sort(steps.begin(), steps.end());
  return steps;
}

// A step listens on the socket NODE_JOB.STEP in its slurmd's spool directory; a socket in the list has a process.
Result<std::vector<std::string>> find_spool_steps(const std::string& proc, const std::string& spool) {
  const std::string path = proc + "/net/unix";
  const Result<std::string> text = read_file(path, 64U << 20U);
  if (!text.ok()) return text.error();
  std::set<std::string> steps;
  for (const std::string_view line : split_lines(*text)) {
    const std::size_t at = line.find(' ' + spool + '/');
    if (at == std::string_view::npos) continue;
    const std::string_view name = line.substr(at + spool.size() + 2);
    const std::size_t dot = name.rfind('.');
    const std::size_t mark = name.rfind('_');
    if (dot == std::string_view::npos || mark == std::string_view::npos || mark > dot) continue;
    if (!is_number(name.substr(mark + 1, dot - mark - 1)) || !is_number(name.substr(dot + 1))) continue;
    steps.insert(fmt::format("step {} of Slurm", name.substr(mark + 1)));
  }
  return std::vector<std::string>(steps.begin(), steps.end());
}

// Pods with GPUs by the kubelet's file. No file: the kubelet has never given out a device here.
Result<std::set<std::string>> find_gpu_pods(const std::string& path) {
  std::error_code problem;
  if (!fs::exists(path, problem)) {
    if (problem) return failure(path, problem);
    return std::set<std::string>();
  }
  const Result<std::string> text = read_file(path, 64U << 20U);
  if (!text.ok()) return text.error();
  const nlohmann::json root = nlohmann::json::parse(*text, nullptr, false);
  const auto data = root.is_object() ? root.find("Data") : root.end();
  if (data == root.end() || !data->is_object() || !data->contains("PodDeviceEntries")) {
    return Error{ErrorCode::invalid_input, "is not a kubelet's checkpoint of devices", path};
  }
  std::set<std::string> pods;
  const nlohmann::json& entries = (*data)["PodDeviceEntries"];
  if (entries.is_null()) return pods;
  if (!entries.is_array()) return Error{ErrorCode::invalid_input, "PodDeviceEntries is not a list", path};
  for (const nlohmann::json& entry : entries) {
    if (!entry.is_object() || !entry.contains("PodUID") || !entry["PodUID"].is_string() ||
        !entry.contains("ResourceName") || !entry["ResourceName"].is_string()) {
      return Error{ErrorCode::invalid_input, "an entry has no PodUID or ResourceName", path};
    }
    const std::string resource = entry["ResourceName"];
    if (resource.find("/gpu") != std::string::npos || resource.find("/mig-") != std::string::npos)
      pods.insert(entry["PodUID"].get<std::string>());
  }
  return pods;
}

// A cgroup whose processes cannot be read may have some.
bool has_processes(const fs::path& cgroup) {
  const Result<std::string> text = read_file((cgroup / "cgroup.procs").string(), 64U << 20U);
  return text.ok() ? !text->empty() : text.error().code != ErrorCode::not_found;
}

// Paths of the cgroups below `folder` that belong to pods and have processes. Empty ones do not count: with hybrid
// hierarchies, runc and the kubelet leave those of version 2 behind. One that ends meanwhile does not hide the others.
Status add_pod_cgroups(const fs::path& folder, bool of_pods, int depth, std::vector<std::string>& found) {
  constexpr int kMaxDepth = 5;  // of "kubepods"; containers may have cgroups of their own, at any depth
  std::error_code problem;
  for (fs::directory_iterator each(folder, problem), end; !problem && each != end; each.increment(problem)) {
    std::error_code ignored;
    if (!each->is_directory(ignored) || each->is_symlink(ignored)) continue;
    const bool inside = of_pods || each->path().filename().string().find("kubepods") != std::string::npos;
    if (!inside && depth >= kMaxDepth) continue;
    // The systemd driver writes "kubepods-pod4f3c_....slice", the other one "pod4f3c-...".
    if (inside && has_processes(each->path())) found.push_back(replace_all(each->path().string(), "_", "-"));
    if (Status below = add_pod_cgroups(each->path(), inside, depth + 1, found); !below.ok()) return below;
  }
  const bool ended = depth > 0 && problem == std::errc::no_such_file_or_directory;
  return problem && !ended ? Status(failure(folder.string(), problem)) : Status();
}

}  // namespace

Result<NodeSteps> find_node_steps(const StepQuery& query) {
  const Result<std::vector<std::string>> steps =
      query.spool.empty() ? find_slurm_steps(query.proc) : find_spool_steps(query.proc, query.spool);
  if (!steps.ok()) return steps.error();
  const Result<std::set<std::string>> pods = find_gpu_pods(query.kubelet);
  if (!pods.ok()) return pods.error();
  std::vector<std::string> running = *steps;
  NodeSteps found;
  found.slurm = static_cast<std::uint32_t>(steps->size());
  if (!pods->empty()) {
    std::vector<std::string> cgroups;
    if (Status listed = add_pod_cgroups(query.cgroups, false, 0, cgroups); !listed.ok()) return listed.error();
    for (const std::string& pod : *pods) {
      const bool lives = std::any_of(cgroups.begin(), cgroups.end(), [&](const std::string& path) {
        return path.find("pod" + pod) != std::string::npos;
      });
      if (!lives) continue;
      ++found.kubernetes;
      running.push_back("pod " + pod);
    }
  }
  constexpr std::size_t kMaxShown = 3;
  for (std::size_t i = 0; i < std::min(running.size(), kMaxShown); ++i)
    found.text += (found.text.empty() ? "" : ", ") + running[i];
  if (running.size() > kMaxShown) append_format(found.text, " and {} more", running.size() - kMaxShown);
  return found;
}

}  // namespace weft::world
