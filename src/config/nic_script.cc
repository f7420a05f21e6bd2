#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/quantity.h"
#include "base/text.h"
#include "config/host_readers.h"
#include "config/host_text.h"
#include "config/kube_objects.h"
#include "config/nic_parameters.h"

namespace weft::config {
namespace {

using host_text::Command;
using host_text::option;

class ScriptReader {
 public:
  ScriptReader(NicConfig& nic, Diagnostics& diagnostics) : nic_(nic), diagnostics_(diagnostics) {}

  void read(const Command& command, const SourceLocation& place) {
    std::string program = command[0];
    const std::size_t slash = program.find_last_of('/');
    if (slash != std::string::npos) program.erase(0, slash + 1);
    if (program == "mlnx_qos") {
      read_mlnx_qos(command, place);
    } else if (program == "cma_roce_tos") {
      read_cma_roce_tos(command, place);
    } else if (program == "mlxconfig") {
      read_mlxconfig(command, place);
    } else if (program == "ethtool") {
      read_ethtool(command, place);
    } else if (program == "ip" || program == "ifconfig") {
      read_mtu(command, place);
    } else if (program == "echo" || program == "printf") {
      read_echo(command, place);
    }
  }

 private:
  void name_interface(std::string_view name) {
    if (name.empty() || name.front() == '$' || name.front() == '-') return;  // only known when the script runs
    if (std::find(nic_.interfaces.begin(), nic_.interfaces.end(), name) == nic_.interfaces.end()) {
      nic_.interfaces.emplace_back(name);
    }
  }

  void read_mlnx_qos(const Command& command, const SourceLocation& place) {
    std::string storage;
    for (const char* name : {"-i", "--interface"}) {
      if (const std::string* interface = option(command, name, storage)) name_interface(*interface);
    }
    if (const std::string* trust = option(command, "--trust", storage)) {
      set_trust(*trust, place, "mlnx_qos --trust", nic_, diagnostics_);
    }
    for (const char* name : {"-f", "--pfc"}) {
      if (const std::string* pfc = option(command, name, storage)) {
        set_pfc(*pfc, place, "mlnx_qos --pfc", nic_, diagnostics_);
      }
    }
  }

  void read_cma_roce_tos(const Command& command, const SourceLocation& place) {
    std::string storage;
    if (const std::string* device = option(command, "-d", storage)) name_interface(*device);
    if (const std::string* tos = option(command, "-t", storage)) {
      set_tos(*tos, place, "cma_roce_tos -t", nic_, diagnostics_);
    }
  }

  void read_mlxconfig(const Command& command, const SourceLocation& place) {
    std::string storage;
    for (const char* name : {"-d", "--dev"}) {
      if (const std::string* device = option(command, name, storage)) name_interface(*device);
    }
    for (const std::string& word : command) {
      const auto [name, value] = host_text::assignment(word);
      if (!name.empty()) set_firmware_parameter(name, value, place, nic_, diagnostics_);
    }
  }

  // ethtool -A IF autoneg off rx off tx off
  void read_ethtool(const Command& command, const SourceLocation& place) {
    if (command.size() < 3 || (command[1] != "-A" && command[1] != "--pause")) return;
    name_interface(command[2]);
    for (std::size_t i = 3; i + 1 < command.size(); ++i) {
      if (command[i] != "rx" && command[i] != "tx") continue;
      const bool on = command[i + 1] == "on";
      if (!nic_.global_pause.known() || on || nic_.global_pause.place != place) {
        nic_.global_pause = {on, place, "ethtool -A"};
      }
      if (on) return;  // either direction is enough
    }
  }

  // ip link set [dev] IF ... mtu N; ifconfig IF mtu N
  void read_mtu(const Command& command, const SourceLocation& place) {
    for (std::size_t i = 1; i + 1 < command.size(); ++i) {
      if (command[i] != "mtu") continue;
      const auto value = parse_integer(command[i + 1]);
      if (value && *value > 0 && *value < 65536) nic_.mtu = {*value, place, "mtu"};
    }
    for (std::size_t i = 1; i < command.size(); ++i) {
      if (command[i] == "link" || command[i] == "set" || command[i] == "dev") continue;
      name_interface(command[i]);
      break;
    }
  }

  void read_echo(const Command& command, const SourceLocation& place) {
    const auto redirect = std::find(command.begin(), command.end(), ">");
    if (redirect == command.end() || redirect + 1 == command.end() || redirect - command.begin() < 2) return;
    const std::string& target = *(redirect + 1);
    std::string_view value = *(redirect - 1);
    if (value.starts_with("tclass=")) value.remove_prefix(7);
    if (contains(target, "/traffic_class")) {
      set_tos(value, place, "tc/1/traffic_class", nic_, diagnostics_);
    } else if (contains(target, "/cnp_dscp")) {
      set_cnp_dscp(value, place, "ecn/roce_np/cnp_dscp", nic_, diagnostics_);
    } else if (contains(target, "/cnp_802p_prio")) {
      set_cnp_priority(value, place, "ecn/roce_np/cnp_802p_prio", nic_, diagnostics_);
    } else if (contains(target, "/ecn/roce_")) {
      if (!nic_.ecn.known() || value == "1") nic_.ecn = {value == "1", place, "ecn/roce_np/enable"};
    } else if (contains(target, "/sriov_numvfs") || contains(target, "/mlx5_num_vfs")) {
      set_firmware_parameter("NUM_OF_VFS", value, place, nic_, diagnostics_);
    } else {
      return;
    }
    name_device_in(target);
  }

  // /sys/class/net/NAME/... and /sys/class/infiniband/NAME/...
  void name_device_in(std::string_view path) {
    for (const std::string_view lead : {"/sys/class/net/", "/sys/class/infiniband/", "/sys/kernel/config/rdma_cm/"}) {
      if (!path.starts_with(lead)) continue;
      const std::string_view rest = path.substr(lead.size());
      name_interface(rest.substr(0, rest.find('/')));
    }
  }

  NicConfig& nic_;
  Diagnostics& diagnostics_;
};

}  // namespace

void read_nic_script(const Sources& sources, FileId file, ConfigSet& set, Diagnostics& diagnostics) {
  NicConfig nic;
  const std::string& path = sources.path(file);
  const std::size_t slash = path.find_last_of('/');
  nic.name = slash == std::string::npos ? path : path.substr(slash + 1);
  nic.place = {file, 1, 1};
  ScriptReader reader(nic, diagnostics);
  for (const host_text::Line& line : host_text::lines_of(sources, file, '#')) {
    for (const Command& command : host_text::commands_of(line.text)) reader.read(command, line.place);
  }
  set.nics.push_back(std::move(nic));
}

}  // namespace weft::config
