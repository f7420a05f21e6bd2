#include "config/config_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/file.h"
#include "base/utf8.h"
#include "config/host_readers.h"
#include "config/kube_objects.h"

namespace weft::config {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxDepth = 16;
constexpr std::size_t kMaxFiles = 65'000;
constexpr std::size_t kMaxBytes = 64U << 20U;                           // of one file
constexpr std::size_t kMaxTotal = std::size_t{2} * 1024 * 1024 * 1024;  // of all below one directory

template <class T>
void take(std::optional<T> value, std::vector<T>& into) {
  if (value) into.push_back(std::move(*value));
}

// Calls the reader of `kind`.
void read_as(ConfigKind kind, const Sources& sources, FileId file, ConfigSet& set, Diagnostics& diagnostics) {
  using Settings = SettingsFile::Kind;
  switch (kind) {
    case ConfigKind::unknown:
    case ConfigKind::manifest:
      return;
    case ConfigKind::sonic:
      return take(read_sonic(sources, file, diagnostics), set.switches);
    case ConfigKind::nxos:
      return take(read_nxos(sources, file, diagnostics), set.switches);
    case ConfigKind::nvue:
      return take(read_nvue(sources, file, diagnostics), set.switches);
    case ConfigKind::kubernetes:
      return read_kubernetes(sources, file, set, diagnostics);
    case ConfigKind::sbatch:
      return read_sbatch(sources, file, set, diagnostics);
    case ConfigKind::environment:
      return read_environment(sources, file, set, diagnostics);
    case ConfigKind::nic_script:
      return read_nic_script(sources, file, set, diagnostics);
    case ConfigKind::slurm:
      return read_settings(Settings::slurm, sources, file, set, diagnostics);
    case ConfigKind::gres:
      return read_settings(Settings::gres, sources, file, set, diagnostics);
    case ConfigKind::cgroup:
      return read_settings(Settings::cgroup, sources, file, set, diagnostics);
    case ConfigKind::sysctl:
      return read_settings(Settings::sysctl, sources, file, set, diagnostics);
    case ConfigKind::exports:
      return read_settings(Settings::exports, sources, file, set, diagnostics);
    case ConfigKind::mounts:
      return read_settings(Settings::mounts, sources, file, set, diagnostics);
    case ConfigKind::nvme:
      return read_settings(Settings::nvme, sources, file, set, diagnostics);
    case ConfigKind::host_facts:
      return take(read_host_facts(sources, file, diagnostics), set.hosts);
    case ConfigKind::lldp:
      return take(read_lldp(sources, file, diagnostics), set.lldp);
    case ConfigKind::ibnetdiscover:
      return take(read_ibnetdiscover(sources, file, diagnostics), set.infiniband);
    case ConfigKind::iblinkinfo:
      return take(read_iblinkinfo(sources, file, diagnostics), set.infiniband);
  }
}

void note(Diagnostics& diagnostics, std::string message) {
  Diagnostic diagnostic;
  diagnostic.severity = Severity::note;
  diagnostic.message = std::move(message);
  diagnostics.add(std::move(diagnostic));
}

// Reads the files of one argument.
class ArgumentReader {
 public:
  ArgumentReader(std::string applies_to, Sources& sources, ConfigSet& set, Diagnostics& diagnostics)
      : applies_to_(std::move(applies_to)), sources_(sources), set_(set), diagnostics_(diagnostics) {}

  void enter(ConfigSet::Tree* tree) { tree_ = tree; }

  void read_text(std::string path, std::string text, bool below_directory) {
    if (tree_ != nullptr) return read_in_tree(std::move(path), std::move(text));
    const ConfigKind kind = detect_kind(path, text);
    if (kind == ConfigKind::unknown && below_directory) {
      note(diagnostics_, fmt::format("ignored {}: unsupported configuration format", in_backticks(path)));
      return;
    }
    const FileId file = sources_.add(std::move(path), std::move(text));
    if (file == 0) {
      diagnostics_.error({}, "too many files: at most 65,535 are read");
      return;
    }
    if (kind == ConfigKind::unknown) {
      diagnostics_.error({file, 0, 0}, "unsupported configuration format",
                         "`weft help check` lists the supported formats");
      return;
    }
    set_.files.push_back({file, kind, applies_to_, sources_.path(file)});
    read_as(kind, sources_, file, set_, diagnostics_);
  }

  void read_file_at(const std::string& path, bool below_directory) {
    auto text = read_file(path, kMaxBytes);
    if (!text) {
      diagnostics_.error({}, text.error().text());
      return;
    }
    total_ += text->size();
    read_text(path, std::move(*text), below_directory);
  }

  void read_directory(const fs::path& root) {
    std::error_code error;
    const fs::path real = fs::canonical(root, error);
    if (error) {
      diagnostics_.error({}, fmt::format("{}: {}", root.string(), error.message()));
      return;
    }
    root_ = real;
    const std::string folder = root.string() + (root.string().back() == '/' ? "" : "/");
    open_tree(folder);
    walk(root, 0);
    if (tree_ != nullptr) set_.trees.push_back(std::move(own_tree_));
    tree_ = nullptr;
  }

 private:
  // A folder with a weft manifest is read according to that manifest.
  void open_tree(const std::string& folder) {
    auto text = read_file(folder + "manifest.json", kMaxBytes * 16);
    if (!text || detect_kind("manifest.json", *text) != ConfigKind::manifest) return;
    own_tree_.folder = folder;
    own_tree_.manifest = sources_.add(folder + "manifest.json", std::move(*text));
    tree_ = &own_tree_;
  }

  void read_in_tree(std::string path, std::string text) {
    const std::string relative = path.substr(std::min(tree_->folder.size(), path.size()));
    if (relative == "manifest.json") return;
    ConfigKind kind = has_reader(relative) ? detect_kind(path, text) : ConfigKind::unknown;
    if (relative.starts_with("nxos/")) kind = ConfigKind::nxos;
    const FileId file = sources_.add(std::move(path), std::move(text));
    if (file == 0) {
      diagnostics_.error({}, "too many files: at most 65,535 are read");
      return;
    }
    tree_->files.emplace(relative, file);
    if (kind == ConfigKind::unknown) return;
    set_.files.push_back({file, kind, applies_to_, sources_.path(file)});
    read_as(kind, sources_, file, set_, diagnostics_);
  }
  // Whether a reader exists for the target; other files only look similar (FRR resembles NX-OS).
  static bool has_reader(std::string_view relative) {
    for (const char* target : {"sonic/", "nvue/", "nxos/", "kubernetes/", "slurm/", "host/"}) {
      if (relative.starts_with(target)) return true;
    }
    return false;
  }

  void walk(const fs::path& directory, int depth) {
    if (depth > kMaxDepth) {
      diagnostics_.error({},
                         fmt::format("{}: directories are nested more than {} deep", directory.string(), kMaxDepth));
      return;
    }
    std::error_code error;
    std::vector<fs::path> entries;
    for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
      if (entries.size() > kMaxFiles) break;
      if (it->path().filename().string().front() != '.') entries.push_back(it->path());
    }
    if (error) {
      diagnostics_.error({}, fmt::format("{}: {}", directory.string(), error.message()));
      return;
    }
    std::sort(entries.begin(), entries.end());
    for (const fs::path& entry : entries) {
      if (stopped_) return;
      visit(entry, depth);
    }
  }

  void visit(const fs::path& entry, int depth) {
    std::error_code error;
    const fs::file_status link = fs::symlink_status(entry, error);
    if (!error && fs::is_symlink(link) && !stays_inside(entry)) {
      note(diagnostics_,
           fmt::format("ignored {}: the link points outside the directory", in_backticks(entry.string())));
      return;
    }
    const fs::file_status status = error ? link : fs::status(entry, error);
    if (error) {
      diagnostics_.error({}, fmt::format("{}: {}", entry.string(), error.message()));
    } else if (fs::is_directory(status)) {
      walk(entry, depth + 1);
    } else if (fs::is_regular_file(status)) {
      if (++files_ > kMaxFiles || total_ > kMaxTotal) {
        diagnostics_.error({}, fmt::format("{}: more than {} files or {} bytes in one directory", root_.string(),
                                           kMaxFiles, kMaxTotal));
        stopped_ = true;
        return;
      }
      read_file_at(entry.string(), true);
    }
  }

  // Links to files below the same directory are followed; links to directories could form cycles.
  [[nodiscard]] bool stays_inside(const fs::path& link) const {
    std::error_code error;
    const fs::path target = fs::canonical(link, error);
    if (error || fs::is_directory(target, error)) return false;
    const auto [end, rest] = std::mismatch(root_.begin(), root_.end(), target.begin(), target.end());
    (void)rest;
    return end == root_.end();
  }

  std::string applies_to_;
  Sources& sources_;
  ConfigSet& set_;
  Diagnostics& diagnostics_;
  fs::path root_;
  std::size_t files_ = 0;
  std::size_t total_ = 0;
  bool stopped_ = false;
  ConfigSet::Tree own_tree_;
  ConfigSet::Tree* tree_ = nullptr;
};

}  // namespace

const ConfigSet::File* ConfigSet::file(FileId id) const {
  // Files are sorted by id.
  const auto found = std::lower_bound(files.begin(), files.end(), id,
                                      [](const File& file, FileId wanted) { return file.file < wanted; });
  return found != files.end() && found->file == id ? &*found : nullptr;
}

void read_config(const std::string& argument, Sources& sources, ConfigSet& set, Diagnostics& diagnostics) {
  std::error_code error;
  std::string path = argument;
  std::string applies_to;
  const std::size_t equals = argument.find('=');
  if (equals != std::string::npos && equals > 0 && !fs::exists(argument, error)) {
    applies_to = argument.substr(0, equals);
    path = argument.substr(equals + 1);
  }
  ArgumentReader reader(std::move(applies_to), sources, set, diagnostics);
  if (fs::is_directory(path, error)) {
    const std::size_t files_before = set.files.size();
    const std::size_t errors_before = diagnostics.error_count();
    reader.read_directory(path);
    // A wrong path would otherwise look like a configuration without problems.
    if (set.files.size() == files_before && diagnostics.error_count() == errors_before)
      diagnostics.error({}, fmt::format("{}: no file in it is a configuration that weft reads", path),
                        "`weft check --help` lists what is read");
  } else {
    reader.read_file_at(path, false);
  }
  link_address_pools(set);
}

void read_config_text(std::string shown_path, std::string text, Sources& sources, ConfigSet& set,
                      Diagnostics& diagnostics, std::string applies_to, ConfigSet::Tree* tree) {
  ArgumentReader reader(std::move(applies_to), sources, set, diagnostics);
  reader.enter(tree);
  reader.read_text(std::move(shown_path), std::move(text), false);
  link_address_pools(set);
}

}  // namespace weft::config
