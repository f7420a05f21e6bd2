#include "oob/switches/transport_systems.h"

#include <algorithm>

namespace weft::oob {
namespace {

// Header lines of a config in IOS-like systems; NX-OS and EOS write them with and without the space.
const std::vector<std::string_view> kCliNoise = {"!Command:",
                                                 "! Command:",
                                                 "!Time:",
                                                 "! Time:",
                                                 "!Running configuration last done at:",
                                                 "!NVRAM config last updated",
                                                 "! NVRAM config last updated",
                                                 "! Last configuration change",
                                                 "!Last configuration change",
                                                 "! No configuration change since last restart",
                                                 "! Startup-config last modified",
                                                 "!Startup config saved at:",
                                                 "! boot system",
                                                 "Building configuration",
                                                 "Current configuration :",
                                                 "ntp clock-period",
                                                 "! uptime",
                                                 "! Uptime"};
const std::vector<std::string_view> kCliRefused = {
    "% Invalid", "% Incomplete", "% Ambiguous", "% Permission", "% Access",
    "Invalid ",  "Syntax error", "ERROR:",      "Error:",       "% Error"};
const std::vector<std::string_view> kLinuxRefused = {
    "bash:", "-bash:", "sh:", "sudo:", "Error:", "Traceback", "usage:", "Usage:", "error:", "Failed"};

std::vector<SwitchSystem> make_systems() {
  std::vector<SwitchSystem> systems;
  // Cisco Nexus 9000 NX-OS System Management Guide, "Performing Configuration Replace": accepts a complete running
  // config and rolls back by itself if a command of it fails. Needs `feature scp-server` for the file.
  systems.push_back({.name = "nxos",
                     .title = "NX-OS",
                     .fetch = "show running-config",
                     .push = {{"scp -t bootflash:weft-restore.cfg", Feed::scp},
                              {"configure replace bootflash:weft-restore.cfg", Feed::nothing}},
                     .save = "copy running-config startup-config",
                     .noise = kCliNoise,
                     .refused = kCliRefused,
                     .rendered = "nxos/{device}.cfg"});
  // Arista EOS User Manual, "configure replace": the complete running config; `show running-config` ends in "end".
  systems.push_back({.name = "eos",
                     .title = "EOS",
                     .fetch = "show running-config",
                     .push = {{"scp -t /mnt/flash/weft-restore.cfg", Feed::scp},
                              {"configure replace flash:weft-restore.cfg", Feed::nothing}},
                     .save = "copy running-config startup-config",
                     .last_line = "end",
                     .noise = kCliNoise,
                     .refused = kCliRefused,
                     .rendered = "eos/{device}.cfg"});
  // SONiC Generic Configuration Updater: `config replace` brings the running database to the file, validated against
  // YANG, and rolls back to its checkpoint on failure.
  systems.push_back({.name = "sonic",
                     .title = "SONiC",
                     .shape = ConfigShape::json,
                     .fetch = "sonic-cfggen -d --print-data",
                     .push = {{"cat > /tmp/weft-restore.json", Feed::text},
                              {"sudo config replace /tmp/weft-restore.json", Feed::nothing}},
                     .save = "sudo config save -y",
                     .refused = kLinuxRefused,
                     .rendered = "sonic/{device}/config_db.json"});
  // NVUE (Cumulus Linux 5, NVOS): `nv config show` prints the applied revision in YAML, `nv config replace` creates the
  // pending revision from such a file, and `apply` applies it as one change.
  for (const std::string_view name : {"cumulus", "nvos"}) {
    systems.push_back(
        {.name = name,
         .title = name == "cumulus" ? "Cumulus Linux" : "NVOS",
         .shape = ConfigShape::nvue,
         .fetch = "nv config show",
         .push = {{"cat > /tmp/weft-restore.yaml", Feed::text},
                  {"nv config replace /tmp/weft-restore.yaml && nv config apply -y", Feed::nothing}},
         .save = "nv config save",
         .refused = kLinuxRefused,
         .rendered = name == "cumulus" ? "nvue/{device}/commands.nv" : "infiniband/{fabric}/{device}.cfg"});
  }
  // Junos CLI User Guide: `load override` discards the current config, `commit` makes the new one persistent.
  systems.push_back(
      {.name = "junos",
       .title = "Junos",
       .shape = ConfigShape::braces,
       .fetch = "show configuration | no-more",
       .push = {{"scp -t /var/tmp/weft-restore.conf", Feed::scp},
                {"configure exclusive; load override /var/tmp/weft-restore.conf; commit and-quit", Feed::nothing}},
       .noise = {"## Last commit:", "## Last changed:", "version "},
       .refused = {"error:", "syntax error", "unknown command", "missing "},
       .rendered = "junos/{device}.conf"});
  // MLNX-OS reads commands from standard input; a text config is merged into the running config and removes nothing.
  systems.push_back({.name = "mlnx-os",
                     .title = "MLNX-OS",
                     .fetch = "cli \"enable\" \"show running-config\"",
                     .push = {{"cli", Feed::script}},
                     .replaces = false,
                     .save = "cli \"enable\" \"configure terminal\" \"configuration write\"",
                     .opens = "enable\nconfigure terminal\n",
                     .closes = "exit\nexit\n",
                     .noise = {"## Generated at",
                               "## Hostname:", "## Product release:", "## Product name:", "## Running database", "##"},
                     .refused = {"% Unrecognized", "% Invalid", "% Ambiguous", "% Type", "% Insufficient"},
                     .rendered = "infiniband/{fabric}/{device}.cfg"});
  return systems;
}

}  // namespace

const std::vector<SwitchSystem>& switch_systems() {
  static const std::vector<SwitchSystem> systems = make_systems();
  return systems;
}

const SwitchSystem* find_switch_system(std::string_view name) {
  const std::vector<SwitchSystem>& systems = switch_systems();
  const auto found =
      std::find_if(systems.begin(), systems.end(), [&](const SwitchSystem& system) { return system.name == name; });
  return found == systems.end() ? nullptr : &*found;
}

}  // namespace weft::oob
