#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "base/text.h"
#include "config/config_set.h"
#include "config/host_text.h"

namespace weft::config {
namespace {

constexpr std::size_t kMaxLines = 20'000;  // enough to detect the kind
constexpr std::size_t kMaxKeys = 2'000;

bool is_binary(std::string_view text) {
  for (const char c : text.substr(0, 4096)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte == 0 || (byte < 0x20 && c != '\t' && c != '\n' && c != '\r' && c != '\f' && c != '\x1b')) return true;
  }
  return false;
}

std::string_view base_name(std::string_view path) {
  const std::size_t slash = path.find_last_of('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

// Non-empty lines, as views.
std::vector<std::string_view> content_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  for (std::size_t start = 0; start < text.size() && lines.size() < kMaxLines;) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    std::string_view line = text.substr(start, end - start);
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ' || line.back() == '\t')) line.remove_suffix(1);
    if (!trim(line, kLineSpaces).empty()) lines.push_back(line);
    start = end + 1;
  }
  return lines;
}

// Keys of a JSON text down to `depth` levels of objects, without a full parse: "PORT", "lldp".
std::vector<std::string_view> json_keys(std::string_view text, int depth) {
  std::vector<std::string_view> keys;
  int level = 0;
  for (std::size_t at = 0; at < text.size() && keys.size() < kMaxKeys; ++at) {
    const char c = text[at];
    if (c == '{' || c == '[') ++level;
    if (c == '}' || c == ']') --level;
    if (c != '"') continue;
    const std::size_t start = at + 1;
    for (++at; at < text.size() && text[at] != '"'; ++at) {
      if (text[at] == '\\') ++at;
    }
    const std::size_t end = std::min(at, text.size());
    const std::size_t next = text.find_first_not_of(" \t\r\n", std::min(at + 1, text.size()));
    if (level <= depth && next != std::string_view::npos && text[next] == ':') {
      keys.push_back(text.substr(start, end - start));
    }
  }
  return keys;
}

bool has(const std::vector<std::string_view>& list, std::string_view wanted) {
  return std::find(list.begin(), list.end(), wanted) != list.end();
}

// Tables of SONiC's configuration database have upper-case names.
bool is_sonic_table(std::string_view key) {
  static constexpr std::array kTables = {
      "DEVICE_METADATA", "PORT",         "PORT_QOS_MAP",   "DSCP_TO_TC_MAP", "TC_TO_QUEUE_MAP",
      "QUEUE",           "BUFFER_PG",    "BUFFER_PROFILE", "BUFFER_POOL",    "WRED_PROFILE",
      "SCHEDULER",       "PFC_WD",       "INTERFACE",      "VLAN",           "LOOPBACK_INTERFACE",
      "BGP_NEIGHBOR",    "CABLE_LENGTH", "FEATURE",        "MGMT_INTERFACE", "ACL_TABLE",
      "PORTCHANNEL",     "VRF",          "STATIC_ROUTE",   "SYSLOG_SERVER",  "TC_TO_PRIORITY_GROUP_MAP"};
  return std::find(kTables.begin(), kTables.end(), key) != kTables.end();
}

// MGMT_VRF_CONFIG, NTP_SERVER: tables that are not in the list above.
bool is_capitals(std::string_view key) {
  return key.size() > 2 && key.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == std::string_view::npos;
}

// A table contains rows: {"NCCL_DEBUG": "INFO"} is a list of variables.
bool holds_rows(std::string_view text, std::string_view key) {
  const auto after = static_cast<std::size_t>(key.data() - text.data()) + key.size();
  const std::size_t value = text.find_first_not_of("\": \t\r\n", after);
  return value != std::string_view::npos && text[value] == '{';
}

std::optional<ConfigKind> detect_json(std::string_view text) {
  const char first = text[text.find_first_not_of(" \t\r\n")];
  if (first != '{' && first != '[') return std::nullopt;
  const auto keys = json_keys(text, first == '[' ? 2 : 1);
  if (has(keys, "apiVersion") && has(keys, "kind")) return ConfigKind::kubernetes;
  if (has(keys, "schema_version") && has(keys, "interfaces")) return ConfigKind::host_facts;
  if (has(keys, "lldp")) return ConfigKind::lldp;
  if (std::any_of(keys.begin(), keys.end(), is_sonic_table)) return ConfigKind::sonic;
  const auto is_table = [&](std::string_view key) { return is_capitals(key) && holds_rows(text, key); };
  if (first == '{' && !keys.empty() && std::all_of(keys.begin(), keys.end(), is_table)) return ConfigKind::sonic;
  if (first == '[' && has(keys, "set")) return ConfigKind::nvue;
  if (first == '{' && has(keys, "set") && has(keys, "header")) return ConfigKind::nvue;
  return std::nullopt;
}

std::size_t count_starting(const std::vector<std::string_view>& lines, std::string_view start) {
  return static_cast<std::size_t>(
      std::count_if(lines.begin(), lines.end(), [&](std::string_view line) { return line.starts_with(start); }));
}

bool any_contains(const std::vector<std::string_view>& lines, std::string_view part) {
  return std::any_of(lines.begin(), lines.end(), [&](std::string_view line) { return contains(line, part); });
}

// As typed, or copied from a terminal with its prompt.
bool has_nvue_commands(const std::vector<std::string_view>& lines) {
  return count_starting(lines, "nv set ") + count_starting(lines, "nv set\t") > 0 || any_contains(lines, "$ nv set ");
}

std::optional<ConfigKind> detect_yaml(const std::vector<std::string_view>& lines) {
  bool version = false;
  bool kind = false;
  for (std::string_view line : lines) {
    if (line.starts_with("- ") || line.starts_with("  ")) line.remove_prefix(2);  // members of a list
    version = version || line.starts_with("apiVersion:") || line.starts_with("\"apiVersion\":");
    kind = kind || line.starts_with("kind:") || line.starts_with("\"kind\":");
    if (version && kind) return ConfigKind::kubernetes;
  }
  // NVUE's dump (`nv config show`) is a list of one mapping; a startup file has - header: before it.
  if (count_starting(lines, "- set:") + count_starting(lines, "- header:") > 0) return ConfigKind::nvue;
  if (has_nvue_commands(lines)) return ConfigKind::nvue;
  if (count_starting(lines, "set:") == 1 &&
      (any_contains(lines, "  interface:") || any_contains(lines, "  qos:") || any_contains(lines, "  system:"))) {
    return ConfigKind::nvue;
  }
  return std::nullopt;
}

std::optional<ConfigKind> detect_neighbors(const std::vector<std::string_view>& lines) {
  for (const std::string_view line : lines) {
    if (contains(line, "LocalPort") && contains(line, "RemoteDevice")) return ConfigKind::lldp;
    if (contains(line, "Device ID") && contains(line, "Local Intf")) return ConfigKind::lldp;
    if (line.starts_with("Local Port id:")) return ConfigKind::lldp;
    if (line.starts_with("# Topology file: generated") || line.starts_with("switchguid=0x") ||
        line.starts_with("caguid=0x")) {
      return ConfigKind::ibnetdiscover;
    }
    if (contains(line, "==(") && contains(line, ")==>")) return ConfigKind::iblinkinfo;
  }
  return std::nullopt;
}

// EOS resembles NX-OS but has no reader: matches line beginnings that only EOS uses.
bool looks_like_eos(const std::vector<std::string_view>& lines) {
  static constexpr std::array kOnlyEos = {"vrf instance ",   "mlag configuration",  "service routing protocols model ",
                                          "management api ", "management ssh",      "logging vrf ",
                                          "ntp server vrf ", "ip name-server vrf ", "dns domain ",
                                          "! device: "};
  return std::any_of(lines.begin(), lines.end(), [](std::string_view line) {
    return std::any_of(kOnlyEos.begin(), kOnlyEos.end(), [&](const char* start) { return line.starts_with(start); });
  });
}

// Line beginnings of an NX-OS running config.
bool looks_like_nxos(const std::vector<std::string_view>& lines) {
  std::size_t score = 0;
  for (const std::string_view line : lines) {
    if (line.starts_with("!Command: show running-config") || line.starts_with("class-map type ") ||
        line.starts_with("policy-map type ") || line.starts_with("vrf context ") || line.starts_with("feature ") ||
        line.starts_with("vpc domain ")) {
      score += 2;
    } else if (line.starts_with("interface ") || line.starts_with("hostname ") || line.starts_with("router bgp ") ||
               line.starts_with("system qos") || line.starts_with("vlan ") || line.starts_with("switchname ") ||
               line.starts_with("username ")) {
      ++score;
    }
    if (score >= 2) return true;
  }
  return false;
}

// FRR and MLNX-OS share keywords with NX-OS, but with other meanings; each has a line that NX-OS never has.
bool is_kin_of_nxos(const std::vector<std::string_view>& lines) {
  return std::any_of(lines.begin(), lines.end(), [](std::string_view line) {
    return line.starts_with("frr defaults ") || line.starts_with("frr version ") || line.starts_with("ib sm") ||
           line.starts_with("no ib sm");
  });
}

bool is_nic_command(std::string_view line) {
  line = trim(line, kLineSpaces);
  if (line.front() == '#') return false;
  return contains(line, "mlnx_qos ") || contains(line, "cma_roce_tos ") || contains(line, "mlxconfig ") ||
         contains(line, "/traffic_class") || contains(line, "/ecn/roce_") ||
         ((line.starts_with("ethtool ") || contains(line, " ethtool ")) && contains(line, " -A ")) ||
         (contains(line, "ip link set ") && contains(line, " mtu "));
}

bool is_nvme_line(std::string_view line) {
  line = trim(line, kLineSpaces);
  if (line.front() == '#') return false;
  const bool connects = contains(line, "nvme connect");
  const bool discovery = (line.starts_with("--") || line.starts_with("-t")) &&
                         (contains(line, "traddr") || contains(line, " -a ")) &&
                         (contains(line, "transport") || line.starts_with("-t"));
  return connects || discovery;
}

std::optional<ConfigKind> detect_script(const std::vector<std::string_view>& lines) {
  for (const std::string_view line : lines) {
    if (line.starts_with("#SBATCH ") || line.starts_with("#SBATCH\t")) return ConfigKind::sbatch;
  }
  for (const std::string_view line : lines) {
    if (is_nic_command(line)) return ConfigKind::nic_script;
  }
  for (const std::string_view line : lines) {
    if (is_nvme_line(line)) return ConfigKind::nvme;
  }
  return std::nullopt;
}

// The key of "Key=value" or "key = value", in lower case; "" if the line has another form.
std::string key_of(std::string_view line) {
  line = trim(line, kLineSpaces);
  const std::size_t equals = line.find('=');
  if (equals == std::string_view::npos) return {};
  const std::string_view key = trim(line.substr(0, equals), kLineSpaces);
  return key.find_first_of(" \t(") == std::string_view::npos ? to_lower(key) : std::string();
}

// Such a file consists of settings: a single line of the kind appears in many texts about Slurm.
bool consists_of_settings(const std::vector<std::string_view>& lines) {
  std::size_t content = 0;
  std::size_t settings = 0;
  for (const std::string_view line : lines) {
    if (trim(line, kLineSpaces).front() == '#') continue;
    ++content;
    if (!key_of(line).empty() || to_lower(trim(line, kLineSpaces)).starts_with("include ")) ++settings;
  }
  return settings * 2 > content;
}

std::optional<ConfigKind> detect_slurm(std::string_view path, const std::vector<std::string_view>& lines) {
  if (!consists_of_settings(lines)) return std::nullopt;
  bool cgroup = false;
  bool gres = false;
  bool nodes = false;
  for (const std::string_view line : lines) {
    const std::string key = key_of(line);
    if (key == "clustername" || key == "slurmctldhost" || key == "selecttype" || key == "partitionname" ||
        key == "slurmctldport" || key == "accountingstoragetype" || key == "schedulertype") {
      return ConfigKind::slurm;
    }
    cgroup = cgroup || key.starts_with("constrain") || key == "cgroupplugin" || key == "cgroupautomount";
    gres = gres || key == "autodetect" || (key == "name" && contains(line, "Name=gpu")) ||
           (key == "nodename" && contains(line, " Name="));
    nodes = nodes || key == "nodename";
  }
  if (cgroup) return ConfigKind::cgroup;
  if (gres) return ConfigKind::gres;
  if (nodes) return base_name(path) == "gres.conf" ? ConfigKind::gres : ConfigKind::slurm;
  return std::nullopt;
}

bool is_sysctl_line(std::string_view line) {
  line = trim(line, kLineSpaces);
  if (!line.empty() && line.front() == '-') line.remove_prefix(1);
  if (line.starts_with("sysctl -w ")) line.remove_prefix(10);
  for (const char* lead : {"net.", "net/", "kernel.", "vm.", "fs.", "dev.", "user."}) {
    if (line.starts_with(lead) && line.find('=') != std::string_view::npos) return true;
  }
  return false;
}

// "/srv/data 10.0.0.0/8(ro)": a path and clients, at least one with options in parentheses.
bool is_exports_line(std::string_view line) {
  const auto words = split_at_spaces(line, kLineSpaces);
  if (words.size() < 2 || (words[0].front() != '/' && words[0].front() != '"')) return false;
  if (words.size() == 2 && words[1] == "*") return true;
  return std::any_of(words.begin() + 1, words.end(), [](std::string_view word) {
    return word.back() == ')' && word.front() != '(' && contains(word, "(");
  });
}

bool is_mount_line(std::string_view line) {
  const auto words = split_at_spaces(line, kLineSpaces);
  if (words.size() >= 5 && has(words, "on") && has(words, "type") && words.back().back() == ')') return true;
  if (words.size() < 4 || words.size() > 7) return false;
  const bool point = words[1].front() == '/' || words[1] == "none" || words[1] == "swap";
  static constexpr std::array kTypes = {"nfs",    "nfs4", "ext4", "xfs",   "tmpfs", "lustre", "beegfs",
                                        "gpfs",   "weka", "vfat", "swap",  "btrfs", "ceph",   "proc",
                                        "wekafs", "none", "auto", "sysfs", "zfs",   "cifs"};
  return point && std::find(kTypes.begin(), kTypes.end(), words[2]) != kTypes.end();
}

bool is_environment_line(std::string_view line) {
  line = trim(line, kLineSpaces);
  if (line.starts_with("export ")) line = trim(line.substr(7), kLineSpaces);
  return !host_text::assignment(line).first.empty();
}

// A shell or interpreter script. The content of its here-documents (manifests, a slurm.conf) is not a file yet.
bool is_program(std::string_view path, const std::vector<std::string_view>& lines) {
  if (path.ends_with(".sh") || path.ends_with(".bash") || path.ends_with(".py")) return true;
  // A license may precede the line that names the interpreter.
  const auto head = lines.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(lines.size(), 10));
  return std::any_of(lines.begin(), head, [](std::string_view line) { return line.starts_with("#!/"); });
}

std::size_t count_if_content(const std::vector<std::string_view>& lines, bool (*test)(std::string_view)) {
  std::size_t count = 0;
  for (const std::string_view line : lines) {
    if (trim(line, kLineSpaces).front() != '#' && test(line)) ++count;
  }
  return count;
}

// Files with one record per line: the kind that more than half of the lines match.
std::optional<ConfigKind> detect_lines(std::string_view path, const std::vector<std::string_view>& lines) {
  const std::size_t content = count_if_content(lines, [](std::string_view) { return true; });
  if (content == 0) return std::nullopt;
  const auto most = [&](bool (*test)(std::string_view)) { return count_if_content(lines, test) * 2 > content; };
  if (most(is_sysctl_line)) return ConfigKind::sysctl;
  if (most(is_mount_line)) return ConfigKind::mounts;
  if (most(is_exports_line)) return ConfigKind::exports;
  if (count_if_content(lines, is_environment_line) == content) {
    const std::string_view name = base_name(path);
    if (name == "slurm.conf") return ConfigKind::slurm;
    if (name == "gres.conf") return ConfigKind::gres;
    if (name == "cgroup.conf") return ConfigKind::cgroup;
    return ConfigKind::environment;
  }
  return std::nullopt;
}

// Guides and program sources quote all kinds of configuration.
bool is_prose_or_source(std::string_view path) {
  const std::string name = to_lower(base_name(path));
  for (const char* ending : {".md", ".markdown", ".rst", ".adoc", ".html", ".htm", ".tex", ".ipynb", ".go",  ".rs",
                             ".c",  ".cc",       ".cpp", ".h",    ".java", ".js",  ".ts",  ".rb",    ".lua", ".tf"}) {
    if (name.ends_with(ending)) return true;
  }
  return name.starts_with("dockerfile") || name == "makefile";
}

ConfigKind detect_kind_of_text(std::string_view path, std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  if (is_binary(text) || text.find_first_not_of(" \t\r\n") == std::string_view::npos) return ConfigKind::unknown;
  if (const auto kind = detect_json(text)) return *kind;
  const auto lines = content_lines(text);
  if (is_program(path, lines)) {
    if (const auto kind = detect_script(lines)) return *kind;
    if (has_nvue_commands(lines)) return ConfigKind::nvue;
    return detect_lines(path, lines).value_or(ConfigKind::unknown);
  }
  for (const auto& detect : {detect_neighbors, detect_yaml}) {
    if (const auto kind = detect(lines)) return *kind;
  }
  if (is_kin_of_nxos(lines)) return ConfigKind::unknown;
  if (looks_like_nxos(lines)) return looks_like_eos(lines) ? ConfigKind::unknown : ConfigKind::nxos;
  if (const auto kind = detect_script(lines)) return *kind;
  if (const auto kind = detect_slurm(path, lines)) return *kind;
  return detect_lines(path, lines).value_or(ConfigKind::unknown);
}

}  // namespace

ConfigKind detect_kind(std::string_view path, std::string_view text) {
  if (text.substr(0, 200).find("\"kind\": \"weft-render\"") != std::string_view::npos) return ConfigKind::manifest;
  return is_prose_or_source(path) ? ConfigKind::unknown : detect_kind_of_text(path, text);
}

std::string_view to_text(ConfigKind kind) {
  switch (kind) {
    case ConfigKind::unknown:
      return "unknown";
    case ConfigKind::manifest:
      return "manifest of a rendered tree";
    case ConfigKind::sonic:
      return "SONiC configuration database";
    case ConfigKind::nxos:
      return "NX-OS configuration";
    case ConfigKind::nvue:
      return "NVUE configuration";
    case ConfigKind::kubernetes:
      return "Kubernetes objects";
    case ConfigKind::sbatch:
      return "sbatch script";
    case ConfigKind::environment:
      return "environment file";
    case ConfigKind::slurm:
      return "slurm.conf";
    case ConfigKind::gres:
      return "gres.conf";
    case ConfigKind::cgroup:
      return "cgroup.conf";
    case ConfigKind::sysctl:
      return "kernel settings";
    case ConfigKind::exports:
      return "NFS exports";
    case ConfigKind::mounts:
      return "mounts";
    case ConfigKind::nvme:
      return "NVMe connections";
    case ConfigKind::nic_script:
      return "NIC script";
    case ConfigKind::host_facts:
      return "host facts";
    case ConfigKind::lldp:
      return "LLDP neighbors";
    case ConfigKind::ibnetdiscover:
      return "ibnetdiscover output";
    case ConfigKind::iblinkinfo:
      return "iblinkinfo output";
  }
  return "unknown";
}

}  // namespace weft::config
