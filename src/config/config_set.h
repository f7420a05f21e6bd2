// All configuration given to weft, sorted by kind. A file's kind is detected from its content, not its name; `kind_of`
// returns it.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "config/host_config.h"
#include "config/live_facts.h"
#include "config/switch_config.h"

namespace weft::config {

enum class ConfigKind : std::uint8_t {
  unknown,
  sonic,
  nxos,
  nvue,
  kubernetes,
  sbatch,
  environment,
  slurm,
  gres,
  cgroup,
  sysctl,
  exports,
  mounts,
  nvme,
  nic_script,
  host_facts,
  lldp,
  ibnetdiscover,
  iblinkinfo,
  manifest,  // of a tree that `weft render` wrote
};
[[nodiscard]] std::string_view to_text(ConfigKind kind);

struct ConfigSet {
  struct File {
    FileId file = 0;
    ConfigKind kind = ConfigKind::unknown;
    std::string applies_to;  // device name or wildcard from the command line; "": detect from the file
    std::string path{};      // as shown to users; a file may be named after its device
  };
  std::vector<File> files;
  std::vector<SwitchConfig> switches;
  std::vector<NicConfig> nics;
  std::vector<AttachmentConfig> attachments;
  std::vector<SriovPolicyConfig> sriov;
  std::vector<AppConfig> apps;
  std::vector<KubeObject> objects;
  std::vector<SettingsFile> settings;
  std::vector<HostFacts> hosts;
  std::vector<LldpReport> lldp;
  std::vector<IbFabric> infiniband;
  // A tree that `weft render` wrote. Files in it without a reader are kept for comparison.
  struct Tree {
    std::string folder;  // as shown to users
    FileId manifest = 0;
    std::map<std::string, FileId, std::less<>> files{};  // by path below the folder
  };
  std::vector<Tree> trees;
  Diagnostics problems;  // what the readers could not parse, for the rule that reports it

  [[nodiscard]] bool empty() const { return files.empty() && trees.empty(); }
  [[nodiscard]] const File* file(FileId id) const;
};

// Detects the kind from the text. `path` only breaks ties (slurm.conf, .sbatch, .env).
[[nodiscard]] ConfigKind detect_kind(std::string_view path, std::string_view text);

// Reads "PATH" or "DEVICE=PATH" into the set: a file, or all files below a directory in name order, except hidden ones.
// An unrecognized file is an error if named directly, and skipped with a note below a directory.
void read_config(const std::string& argument, Sources& sources, ConfigSet& set, Diagnostics& diagnostics);
// The same for a text in memory; `tree` if it is part of a rendered tree whose manifest was read before.
void read_config_text(std::string shown_path, std::string text, Sources& sources, ConfigSet& set,
                      Diagnostics& diagnostics, std::string applies_to = {}, ConfigSet::Tree* tree = nullptr);

}  // namespace weft::config
