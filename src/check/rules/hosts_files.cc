// HO100 to HO119: exports, mounts, NVMe connections and kernel settings of hosts.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "base/ip.h"
#include "base/quantity.h"
#include "base/text.h"
#include "check/core/host_rule_tools.h"
#include "config/host_text.h"

namespace weft::check {
namespace {

template <class See>
void each_entry(const CheckInput& input, config::SettingsFile::Kind kind, See see) {
  for (const config::SettingsFile& file : input.config().settings) {
    if (file.kind != kind) continue;
    for (const config::SettingsFile::Entry& entry : file.entries) see(entry);
  }
}

// "client(options)"
struct Export {
  std::string_view client;
  std::vector<std::string_view> options;
};

Export export_of(const config::SettingsFile::Entry& entry) {
  Export out;
  const std::string_view value = entry.value;
  const std::size_t open = value.find('(');
  out.client = value.substr(0, open);
  if (open != std::string_view::npos) {
    out.options = split(value.substr(open + 1, value.size() - open - (value.back() == ')' ? 2 : 1)), ',');
  }
  return out;
}

bool has_option(const std::vector<std::string_view>& options, std::string_view wanted) {
  return std::find(options.begin(), options.end(), wanted) != options.end();
}

// The last of "sec=krb5p:krb5i"; "sys" if unset, the default in nfs(5) and exports(5).
std::string_view security_of(const std::vector<std::string_view>& options) {
  std::string_view found = "sys";
  for (const std::string_view option : options) {
    if (option.starts_with("sec=")) found = option.substr(4);
  }
  return found;
}

bool allows_sys(std::string_view flavours) { return flavours == "none" || contains(flavours, "sys"); }

void check_nfs_export_security(const CheckInput& input, Report& report) {
  each_entry(input, config::SettingsFile::Kind::exports, [&](const config::SettingsFile::Entry& entry) {
    const Export one = export_of(entry);
    if (!allows_sys(security_of(one.options))) return;
    report.add(entry.key, entry.place,
               fmt::format("`{}` trusts client-supplied UIDs from {} (sec=sys)", entry.key,
                           one.client.empty() ? "anyone" : one.client));
  });
}

void check_nfs_root_squash(const CheckInput& input, Report& report) {
  each_entry(input, config::SettingsFile::Kind::exports, [&](const config::SettingsFile::Entry& entry) {
    const Export one = export_of(entry);
    if (!has_option(one.options, "no_root_squash")) return;
    report.add(entry.key, entry.place,
               fmt::format("root on {} has root access to `{}` (no_root_squash)", one.client, entry.key));
  });
}

// The prefix of a client such as 10.70.0.0/16 or 10.70.1.2; host bits are allowed, as in exports(5).
std::optional<Ipv4Prefix> prefix_of(std::string_view client) {
  const std::size_t slash = client.find('/');
  const Result<Ipv4> address = parse_ipv4(client.substr(0, slash));
  if (!address.ok()) return std::nullopt;
  std::uint8_t length = 32;
  if (slash != std::string_view::npos) {
    const Result<Ipv4Prefix> any = parse_ipv4_prefix("0.0.0.0" + std::string(client.substr(slash)));
    const std::string_view digits = client.substr(slash + 1);
    if (digits.empty() || digits.size() > 2 || digits.find_first_not_of("0123456789") != std::string_view::npos) {
      return std::nullopt;
    }
    length = static_cast<std::uint8_t>(std::stoi(std::string(digits)));
    if (length > 32 || !any.ok()) return std::nullopt;
  }
  const std::uint32_t mask = length == 0 ? 0U : 0xFFFFFFFFU << (32U - length);
  return Ipv4Prefix{Ipv4{address->bits & mask}, length};
}

// Clients that are not on the storage network of the cluster file.
void check_nfs_export_network(const CheckInput& input, Report& report) {
  if (!input.has_cluster() || !input.cluster().fabric(model::FabricKind::storage).present) return;
  const std::vector<Ipv4Prefix>& subnets = input.spec().fabrics->storage->subnets.value;
  each_entry(input, config::SettingsFile::Kind::exports, [&](const config::SettingsFile::Entry& entry) {
    const std::string_view client = export_of(entry).client;
    if (client.find('.') == std::string_view::npos || client.ends_with("/0")) return;  // HO102, or a name
    const std::optional<Ipv4Prefix> prefix = prefix_of(client);
    if (!prefix.has_value() && client.find_first_not_of("0123456789./") != std::string_view::npos) return;
    const bool inside = prefix.has_value() && std::any_of(subnets.begin(), subnets.end(),
                                                          [&](const Ipv4Prefix& s) { return s.contains(*prefix); });
    if (inside) return;
    report.add(entry.key, entry.place,
               fmt::format("`{}` is exported to {}, which is not on the storage network", entry.key, client));
  });
}

void check_nfs_export_clients(const CheckInput& input, Report& report) {
  each_entry(input, config::SettingsFile::Kind::exports, [&](const config::SettingsFile::Entry& entry) {
    const std::string_view client = export_of(entry).client;
    const bool whole_internet = client.find('.') != std::string_view::npos && client.ends_with("/0");
    if (client != "*" && !client.empty() && !whole_internet) return;
    report.add(entry.key, entry.place,
               fmt::format("`{}` is exported to every host that can reach the server", entry.key));
  });
}

// "source type options" of a mount.
struct MountLine {
  std::string_view source;
  std::string_view type;
  std::vector<std::string_view> options;
};

MountLine mount_of(const config::SettingsFile::Entry& entry) {
  const auto words = split_at_spaces(entry.value, kLineSpaces);
  MountLine out;
  if (!words.empty()) out.source = words[0];
  if (words.size() > 1) out.type = words[1];
  if (words.size() > 2) out.options = split(words[2], ',');
  return out;
}

void check_nfs_mount_encryption(const CheckInput& input, Report& report) {
  each_entry(input, config::SettingsFile::Kind::mounts, [&](const config::SettingsFile::Entry& entry) {
    const MountLine mount = mount_of(entry);
    if (!mount.type.starts_with("nfs") || security_of(mount.options) == "krb5p") return;
    if (std::any_of(mount.options.begin(), mount.options.end(), [](std::string_view option) {
          return option.starts_with("xprtsec=") && option != "xprtsec=none";
        })) {
      return;
    }
    report.add(entry.key, entry.place,
               fmt::format("{} is mounted with sec={}: not encrypted", entry.key, security_of(mount.options)));
  });
}

void check_dataset_mount_mode(const CheckInput& input, Report& report) {
  each_entry(input, config::SettingsFile::Kind::mounts, [&](const config::SettingsFile::Entry& entry) {
    const MountLine mount = mount_of(entry);
    if (!sounds_like_dataset(input, entry.key) && !sounds_like_dataset(input, mount.source)) return;
    if (has_option(mount.options, "ro")) return;
    report.add(entry.key, entry.place, fmt::format("the dataset at {} is mounted read-write", entry.key));
  });
}

// The value of --name=value, --name value or -x value.
std::string option_of(const config::SettingsFile::Entry& entry, std::string_view name, std::string_view letter) {
  const auto words = split_at_spaces(entry.value, kLineSpaces);
  for (std::size_t i = 0; i < words.size(); ++i) {
    if ((words[i] == name || words[i] == letter) && i + 1 < words.size()) return std::string(words[i + 1]);
    if (words[i].starts_with(name) && words[i].size() > name.size() && words[i][name.size()] == '=') {
      return std::string(words[i].substr(name.size() + 1));
    }
  }
  return {};
}

void check_nvme_tcp_tls(const CheckInput& input, Report& report) {
  std::map<std::string, std::pair<SourceLocation, std::vector<std::string>>> by_target;
  each_entry(input, config::SettingsFile::Kind::nvme, [&](const config::SettingsFile::Entry& entry) {
    const bool discovery = !contains(entry.value, "connect");
    if (discovery || option_of(entry, "--transport", "-t") != "tcp") return;
    if (contains(entry.value, "--tls") || contains(entry.value, "--concat")) return;
    auto& [place, addresses] = by_target[option_of(entry, "--nqn", "-n")];
    if (!place.known()) place = entry.place;
    addresses.push_back(entry.key);
  });
  for (const auto& [target, seen] : by_target) {
    report.add(target, seen.first,
               fmt::format("`{}` is reached over TCP without TLS ({})", target, fmt::join(seen.second, ", ")));
  }
}

void check_storage_target_paths(const CheckInput& input, Report& report) {
  std::map<std::string, std::pair<SourceLocation, std::set<std::string>>> by_target;
  each_entry(input, config::SettingsFile::Kind::nvme, [&](const config::SettingsFile::Entry& entry) {
    const std::string target = option_of(entry, "--nqn", "-n");
    if (target.empty() || !contains(entry.value, "connect") || contains(entry.value, "connect-all")) return;
    auto& [place, addresses] = by_target[target];
    if (!place.known()) place = entry.place;
    addresses.insert(entry.key);
  });
  for (const auto& [target, seen] : by_target) {
    if (seen.second.size() > 1) continue;
    report.add(target, seen.first,
               fmt::format("`{}` is connected over one address, {}: no second path", target, *seen.second.begin()));
  }
}

std::size_t rails_of(const CheckInput& input) {
  if (input.has_cluster()) return input.cluster().fabric(model::FabricKind::backend).rails;
  return input.config().attachments.size();
}

void check_reverse_path_filter(const CheckInput& input, Report& report) {
  if (rails_of(input) < 2) return;
  for (const config::SettingsFile& file : input.config().settings) {
    if (file.kind != config::SettingsFile::Kind::sysctl) continue;
    const config::SettingsFile::Entry* all = file.find("net.ipv4.conf.all.rp_filter");
    const config::SettingsFile::Entry* fallback = file.find("net.ipv4.conf.default.rp_filter");
    // The kernel uses the larger of "all" and the interface's own value: 2 (loose) in "all" overrides 1.
    if (all != nullptr && all->value == "2") continue;
    const config::SettingsFile::Entry* strict = all != nullptr && all->value == "1" ? all : nullptr;
    if (strict == nullptr && fallback != nullptr && fallback->value == "1") strict = fallback;
    if (strict == nullptr) continue;
    report.add("rp_filter", strict->place,
               fmt::format("`{} = 1` drops packets that arrive on a different rail than the route back to their sender",
                           strict->key));
  }
}

void check_arp_settings(const CheckInput& input, Report& report) {
  if (rails_of(input) < 2) return;
  each_entry(input, config::SettingsFile::Kind::sysctl, [&](const config::SettingsFile::Entry& entry) {
    if (entry.key != "net.ipv4.conf.all.arp_ignore" || entry.value != "0") return;
    report.add("arp_ignore", entry.place, "every interface answers ARP requests for the addresses of all others");
  });
}

void check_tcp_ecn(const CheckInput& input, Report& report) {
  each_entry(input, config::SettingsFile::Kind::sysctl, [&](const config::SettingsFile::Entry& entry) {
    if (entry.key != "net.ipv4.tcp_ecn" || entry.value != "0") return;
    report.add("tcp_ecn", entry.place, "TCP ignores ECN marks set by switches");
  });
}

}  // namespace

std::vector<Rule> host_file_rules() {  // NOLINT(readability-function-size): a table
  constexpr auto kConfig = RuleNeeds::config;
  return {
      {.id = "HO100",
       .severity = Severity::error,
       .needs = kConfig,
       .title = "an NFS export trusts client-supplied UIDs",
       .reason = "With sec=sys the client supplies the user id: root on one node can read and change every checkpoint.",
       .source = "How to Build an AI Cluster That Won't Burn Down (Undercode), storage fabric: sec=krb5p, not just "
                 "sec=sys; exports(5): sys is the default",
       .fix = "export with `sec=krb5p`",
       .example = {.file = "running/exports",
                   .from = "10.70.224.0/24(rw,sec=krb5p,root_squash,sync)",
                   .to = "10.70.224.0/24(rw,sec=sys,root_squash,sync)"},
       .run = check_nfs_export_security},
      {.id = "HO101",
       .severity = Severity::error,
       .needs = kConfig,
       .title = "root on a client has root access to the export",
       .reason = "One compromised node can overwrite other tenants' files.",
       .source = "exports(5), no_root_squash",
       .fix = "export with `root_squash`",
       .example = {.file = "running/exports",
                   .from = "10.70.224.0/24(rw,sec=krb5p,root_squash,sync)",
                   .to = "10.70.224.0/24(rw,sec=krb5p,no_root_squash,sync)"},
       .run = check_nfs_root_squash},
      {.id = "HO102",
       .severity = Severity::error,
       .needs = kConfig,
       .title = "an export is open to every host",
       .reason = "Any host on the storage fabric can mount it.",
       .source = "How to Build an AI Cluster That Won't Burn Down (Undercode), storage: IP-based export controls",
       .fix = "list only the subnets that need access",
       .example = {.file = "running/exports", .from = "10.70.224.0/24(rw", .to = "*(rw"},
       .run = check_nfs_export_clients},
      {.id = "HO116",
       .severity = Severity::warning,
       .needs = RuleNeeds::both,
       .title = "an export is open to another network",
       .reason = "Data crosses networks that must be separate from storage, and hosts without a need for the data can "
                 "mount it.",
       .source =
           "How to Build an AI Cluster That Won't Burn Down (Undercode), storage: no routing to frontend or backend",
       .fix = "list only subnets of the storage network",
       .example = {.file = "running/exports", .from = "10.70.224.0/24(rw", .to = "10.20.50.0/24(rw"},
       .run = check_nfs_export_network},
      {.id = "HO103",
       .severity = Severity::warning,
       .needs = kConfig,
       .title = "files cross the storage fabric unencrypted",
       .reason = "Checkpoints and data can be read and changed in transit.",
       .source = "How to Build an AI Cluster That Won't Burn Down (Undercode), storage: mount -o vers=4.2,sec=krb5p",
       .fix = "mount with `sec=krb5p`",
       .example = {.file = "running/fstab", .from = "sec=krb5p,nconnect=8", .to = "sec=krb5,nconnect=8"},
       .run = check_nfs_mount_encryption},
      {.id = "HO104",
       .severity = Severity::warning,
       .needs = kConfig,
       .title = "a dataset is mounted read-write",
       .reason = "One faulty job can corrupt the data of all later runs without being noticed.",
       .source =
           "How to Build an AI Cluster That Won't Burn Down (Undercode), storage fabric: read-only dataset mounts",
       .fix = "mount it read-only (`ro`)",
       .example = {.file = "running/fstab", .from = "ro,noatime", .to = "rw,noatime"},
       .run = check_dataset_mount_mode},
      {.id = "HO105",
       .severity = Severity::warning,
       .needs = kConfig,
       .title = "NVMe over TCP runs without TLS",
       .reason = "Any host on the storage fabric can read and change blocks.",
       .source = "How to Build an AI Cluster That Won't Burn Down (Undercode), storage: NVMe over TCP with TLS",
       .fix = "connect with `--tls`",
       .example = {.file = "running/nvme-connect.sh",
                   .from = "--traddr=10.71.48.2 --trsvcid=4420 --nqn=nqn.2024-01.com.example:datasets --tls",
                   .to = "--traddr=10.71.48.2 --trsvcid=4420 --nqn=nqn.2024-01.com.example:datasets"},
       .run = check_nvme_tcp_tls},
      {.id = "HO106",
       .severity = Severity::warning,
       .needs = kConfig,
       .title = "a storage target has one path",
       .reason = "The failure of a link, a switch or a controller makes the volume unavailable to the host.",
       .source =
           "Container Networking Architecture for AI Workloads (Patel), storage: each host connects to both portals",
       .fix = "connect to the portal of each rail",
       .example = {.file = "running/nvme-connect.sh", .from = "--traddr=10.71.48.2", .to = "--traddr=10.70.48.2"},
       .run = check_storage_target_paths},
      {.id = "HO107",
       .severity = Severity::error,
       .needs = kConfig,
       .title = "strict reverse-path filtering with several rails",
       .reason =
           "Replies may leave by a different rail than the requests arrived on; the kernel drops them as spoofed.",
       .source =
           "Container Networking Architecture for AI Workloads (Patel), routing hygiene: disable strict rp_filter",
       .fix = "set rp_filter to 2 (loose) or 0",
       .example = {.file = "running/sysctl.conf",
                   .from = "net.ipv4.conf.all.rp_filter = 2",
                   .to = "net.ipv4.conf.all.rp_filter = 1"},
       .run = check_reverse_path_filter},
      {.id = "HO108",
       .severity = Severity::warning,
       .needs = kConfig,
       .title = "interfaces answer ARP for each other",
       .reason = "Peers resolve an address to the wrong NIC and send the traffic of all rails to one (ARP flux).",
       .source = "NVIDIA/nccl #1109; Linux ip-sysctl, arp_ignore",
       .fix = "set arp_ignore to 1 and arp_announce to 2",
       .example = {.file = "running/sysctl.conf", .from = "arp_ignore = 1", .to = "arp_ignore = 0"},
       .run = check_arp_settings},
      {.id = "HO109",
       .severity = Severity::note,
       .needs = kConfig,
       .title = "TCP ignores ECN marks",
       .reason = "Control and storage traffic over TCP does not slow down until packets are lost.",
       .source = "Container Networking Architecture for AI Workloads (Patel), node settings: net.ipv4.tcp_ecn=1",
       .fix = "set net.ipv4.tcp_ecn to 1",
       .example = {.file = "running/sysctl.conf", .from = "net.ipv4.tcp_ecn = 1", .to = "net.ipv4.tcp_ecn = 0"},
       .run = check_tcp_ecn},
  };
}

}  // namespace weft::check
