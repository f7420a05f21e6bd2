#include "serve/submit/kube_volumes.h"

#include <fmt/format.h>

#include "base/text.h"
#include "base/utf8.h"
#include "model/job.h"

namespace weft::serve {
namespace {

constexpr FieldRule kMountFields[] = {{"name"},
                                      {"mountPath"},
                                      {"readOnly"},
                                      {"mountPropagation", FieldUse::ignored},
                                      {"recursiveReadOnly", FieldUse::ignored},
                                      {"subPath", FieldUse::refused, "the whole volume is mounted on the host"},
                                      {"subPathExpr", FieldUse::refused, "the whole volume is mounted on the host"}};

constexpr std::string_view kRankFolder = "/etc/weft";  // of manifests that weft renders

struct Mount {
  std::string path;
  SourceLocation place;
  bool read_only = false;
};

class VolumeChecker {
 public:
  VolumeChecker(const SubmitContext& context, KubePod& pod) : context_(context), pod_(pod) {}

  void check(const YamlNode* volumes, const YamlNode* mounts) {
    const std::span<const YamlNode> known = read_items(context_, volumes, "volumes");
    for (const YamlNode& item : read_items(context_, mounts, "volumeMounts")) {
      if (!check_fields(context_, item, "the mount", kMountFields)) continue;
      const std::optional<std::string> name = read_text(context_, field_of(&item, "name"), "name");
      const YamlNode* path = field_of(&item, "mountPath");
      const std::optional<std::string> target = read_text(context_, path, "mountPath");
      if (!name || !target) {
        context_.error(item.place, "a mount needs `name` and `mountPath`");
        continue;
      }
      const YamlNode* volume = find_volume(known, *name);
      if (volume == nullptr) {
        context_.error(item.place, fmt::format("the pod has no volume {}", in_backticks(*name)));
        continue;
      }
      const bool read_only = read_boolean(context_, field_of(&item, "readOnly"), "readOnly").value_or(false);
      check_mount(*volume, {without_slash(*target), path->place, read_only});
    }
  }

 private:
  static std::string without_slash(std::string path) {
    while (path.size() > 1 && path.back() == '/') path.pop_back();
    return path;
  }

  static const YamlNode* find_volume(std::span<const YamlNode> volumes, std::string_view name) {
    for (const YamlNode& volume : volumes) {
      const YamlNode* own = field_of(&volume, "name");
      if (own != nullptr && own->scalar == name) return &volume;
    }
    return nullptr;
  }

  void check_mount(const YamlNode& volume, const Mount& mount) {
    if (volume.find("emptyDir") != nullptr) return check_empty_dir(mount);
    if (const YamlNode* host = field_of(&volume, "hostPath")) return check_host_path(*host, mount);
    if (const YamlNode* claim = field_of(&volume, "persistentVolumeClaim")) return check_claim(*claim, mount);
    std::string kind = "of this kind";
    for (const YamlEntry& entry : volume.entries) {
      if (entry.key != "name") kind = entry.key;
    }
    context_.error(
        mount.place,
        fmt::format("nothing is mounted at {}: a {} volume is only in Kubernetes", in_backticks(mount.path), kind), {},
        mount.path.size());
  }

  void check_empty_dir(const Mount& mount) {
    if (mount.path == "/dev/shm" || mount.path == kRankFolder || mount.path == "/tmp" ||
        mount.path.starts_with("/tmp/")) {
      return;
    }
    context_.error(mount.place, fmt::format("no empty directory is created at {}", in_backticks(mount.path)),
                   "use a directory below /tmp", mount.path.size());
  }

  void check_host_path(const YamlNode& host, const Mount& mount) {
    const std::optional<std::string> path = read_text(context_, field_of(&host, "path"), "path");
    if (path && without_slash(*path) == mount.path) return add_checkpoints(volume_at(mount.path), mount);
    context_.error(mount.place,
                   fmt::format("{} is at {} on the host, and would not be found", in_backticks(mount.path),
                               in_backticks(path.value_or(""))),
                   "mount it at the same path", mount.path.size());
  }

  // The volume of the cluster file that hosts mount at this path.
  [[nodiscard]] const model::VolumeSpec* volume_at(std::string_view path) const {
    for (const model::StorageSpec& system : context_.cluster.spec().storage.value) {
      for (const model::VolumeSpec& volume : system.volumes.value) {
        if (model::default_mount_path(context_.cluster.spec(), volume) == path) return &volume;
      }
    }
    return nullptr;
  }

  void check_claim(const YamlNode& claim, const Mount& mount) {
    const std::string name = read_text(context_, field_of(&claim, "claimName"), "claimName").value_or("");
    const model::VolumeSpec* volume = volume_at(mount.path);
    if (volume != nullptr && to_dns_label(volume->name->text) == name) return add_checkpoints(volume, mount);
    std::string hint = "the volumes of the cluster are at";
    for (const model::StorageSpec& system : context_.cluster.spec().storage.value) {
      for (const model::VolumeSpec& each : system.volumes.value) {
        const std::string path = model::default_mount_path(context_.cluster.spec(), each);
        if (to_dns_label(each.name->text) == name) {
          return context_.error(
              mount.place,
              fmt::format("claim {} is not at {} on the hosts", in_backticks(name), in_backticks(mount.path)),
              fmt::format("mount it at `{}`", path), mount.path.size());
        }
        hint += fmt::format(" {}", path);
      }
    }
    context_.error(mount.place,
                   fmt::format("claim {} is not a volume of the cluster: nothing would be at {}", in_backticks(name),
                               in_backticks(mount.path)),
                   std::move(hint), mount.path.size());
  }

  void add_checkpoints(const model::VolumeSpec* volume, const Mount& mount) {
    if (volume == nullptr || volume->purpose.value != model::VolumePurpose::checkpoint || mount.read_only) return;
    pod_.checkpoint_paths.push_back(mount.path);
  }

  const SubmitContext& context_;
  KubePod& pod_;
};

}  // namespace

void check_volumes(const SubmitContext& context, const YamlNode* volumes, const YamlNode* mounts, KubePod& pod) {
  VolumeChecker(context, pod).check(volumes, mounts);
}

}  // namespace weft::serve
