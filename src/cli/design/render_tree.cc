#include "cli/design/render_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <unordered_map>

#include "base/file.h"
#include "base/folder.h"
#include "base/hash.h"
#include "render/switches/system.h"

namespace weft::cli {
namespace {

namespace fs = std::filesystem;

unsigned mode_bits(const std::string& mode) {
  unsigned bits = 0;
  for (const char c : mode) bits = bits * 8 + static_cast<unsigned>(c - '0');
  return bits & 0777U;
}

// Writes each file immediately and keeps only its manifest line.
class TreeSink : public render::FileSink {
 public:
  TreeSink(FolderWriter& folder, render::Manifest& manifest) : folder_(folder), manifest_(manifest) {}

  void begin(std::string_view target) { target_ = target; }
  void add(render::RenderedFile file) override {
    if (!status_.ok()) return;
    status_ = folder_.add(file.path, file.content, mode_bits(file.mode));
    manifest_.files.push_back(render::manifest_entry(file, target_));
  }
  void note(std::string text) override { manifest_.notes.push_back(fmt::format("{}: {}", target_, text)); }
  void left_out(std::string text) override { manifest_.left_out.push_back(fmt::format("{}: {}", target_, text)); }
  [[nodiscard]] const Status& status() const { return status_; }

 private:
  FolderWriter& folder_;
  render::Manifest& manifest_;
  std::string target_;
  Status status_;
};

Status refuse_to_lose(const std::string& folder) {
  const Result<std::vector<std::string>> changes = own_changes(folder);
  if (!changes.ok()) return changes.error();
  if (changes->empty()) return {};
  std::string list;
  constexpr std::size_t kShown = 5;
  for (std::size_t i = 0; i < std::min(changes->size(), kShown); ++i) list += (i > 0 ? ", " : "") + (*changes)[i];
  if (changes->size() > kShown) list += fmt::format(" and {} more", changes->size() - kShown);
  return Error{ErrorCode::refused,
               fmt::format("contains files not written by weft: {}; choose another folder, or give --force", list),
               folder};
}

// Switches whose OS no target supports.
void note_unknown_systems(const model::Cluster& cluster, render::Manifest& manifest) {
  std::map<std::string, std::size_t> counts;
  for (const model::DeviceGroup& group : cluster.groups()) {
    if (group.kind != model::DeviceKind::network_switch || group.count == 0) continue;
    const std::string_view system = render::system_of(cluster, group);
    const bool known = system == "sonic" || system == "cumulus" || system == "nxos" || system == "eos" ||
                       cluster.fabric(group.fabric).network == model::NetworkKind::infiniband;
    if (!known) counts[std::string(system)] += group.count;
  }
  for (const auto& [system, count] : counts) {
    manifest.left_out.push_back(fmt::format("{} {} {} {}, which weft does not render", count,
                                            count == 1 ? "switch" : "switches", count == 1 ? "runs" : "run", system));
  }
}

}  // namespace

Result<std::vector<std::string>> own_changes(const std::string& folder) {
  std::error_code failed;
  if (!fs::exists(fs::symlink_status(folder, failed))) return std::vector<std::string>();
  if (!fs::is_directory(folder, failed)) return Error{ErrorCode::refused, "exists and is not a folder", folder};
  std::unordered_map<std::string, std::string> known;  // path to hash
  const std::string manifest_path = folder + "/" + std::string(render::kManifestName);
  if (fs::exists(manifest_path, failed)) {
    const Result<std::string> text = read_file(manifest_path, 1U << 30U);
    if (!text.ok()) return text.error();
    const Result<render::Manifest> manifest = render::read_manifest(*text, manifest_path);
    if (!manifest.ok()) return manifest.error();
    for (const render::ManifestEntry& entry : manifest->files) known.emplace(entry.path, entry.sha256);
  }
  std::vector<std::string> changes;
  for (fs::recursive_directory_iterator entry(folder, failed), end; !failed && entry != end; entry.increment(failed)) {
    if (entry->is_directory(failed) && !entry->is_symlink(failed)) continue;
    const std::string relative = entry->path().lexically_relative(folder).generic_string();
    if (relative == render::kManifestName) continue;
    const auto found = known.find(relative);
    bool changed = found == known.end();
    if (!changed) {
      const Result<std::string> text = read_file(entry->path().string(), 1U << 30U);
      changed = !text.ok() || sha256(*text) != found->second;
    }
    if (changed) changes.push_back(relative);
  }
  if (failed) return Error{ErrorCode::unavailable, "cannot be read: " + failed.message(), folder};
  std::sort(changes.begin(), changes.end());
  return changes;
}

Result<render::Manifest> render_tree(const render::RenderInput& input, const RenderRequest& request) {
  if (!request.force) {
    const Status safe = refuse_to_lose(request.folder);
    if (!safe.ok()) return safe.error();
  }
  Result<FolderWriter> folder = FolderWriter::begin(request.folder);
  if (!folder.ok()) return folder.error();
  render::Manifest manifest;
  manifest.cluster = input.cluster.name();
  TreeSink sink(*folder, manifest);
  for (const render::RenderTarget* target : request.targets) {
    if (!target->applies(input)) continue;
    if (request.progress) request.progress(*target);
    manifest.targets.emplace_back(target->name);
    sink.begin(target->name);
    target->render(input, sink);
    if (!sink.status().ok()) return sink.status().error();
  }
  note_unknown_systems(input.cluster, manifest);
  sink.begin(render::kJobsTarget);
  for (const auto& [name, text] : request.jobs) {
    render::RenderedFile file;
    file.path = "jobs/" + name + ".job.yaml";
    file.content = text;
    file.consumer = "weft";
    file.stage = render::Stage::workloads;
    sink.add(std::move(file));
  }
  if (!sink.status().ok()) return sink.status().error();
  manifest.options = input.options.chosen();
  render::finish(manifest, input.cluster);
  const Status listed = folder->add(render::kManifestName, render::write_manifest(manifest));
  if (!listed.ok()) return listed.error();
  const Status placed = folder->commit();
  if (!placed.ok()) return placed.error();
  return manifest;
}

}  // namespace weft::cli
