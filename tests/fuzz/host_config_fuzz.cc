// Bytes as configuration of hosts and jobs. The first byte selects the file name, which breaks ties in format
// detection; the rest is the text. All locations must point into the text, and parsing again must give the same result.
// host_rules_fuzz.cc runs the rules on it.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "config/config_set.h"

namespace weft {
namespace {

constexpr std::string_view kNames[] = {"x",           "a.yaml",    "a.json",      "slurm.conf", "gres.conf",
                                       "cgroup.conf", "exports",   "fstab",       "job.sbatch", "nccl.conf",
                                       "sysctl.conf", "nic.sh",    "connect.sh",  "a.env",      "be-leaf1.json",
                                       "leaf.cfg",    "leaf.nvue", "topology.ib", "lldp.json",  "discovery.conf"};

std::size_t content_of(const config::ConfigSet& set) {
  return set.files.size() + set.switches.size() + set.nics.size() + set.attachments.size() + set.sriov.size() +
         set.apps.size() + set.objects.size() + set.settings.size() + set.hosts.size() + set.lldp.size() +
         set.infiniband.size();
}

void check_place(const SourceLocation& place, const Sources& sources) {
  if (!place.known() || place.line == 0) return;
  CHECK(place.file == 1, "a place is in the file that was read");
  const std::string_view line = sources.line(place.file, place.line);
  CHECK(place.column <= line.size() + 1, "a place lies in its line");
}

void check_places(const config::ConfigSet& set, const Sources& sources) {
  for (const config::AppConfig& app : set.apps) {
    check_place(app.place, sources);
    for (const auto& variable : app.environment) check_place(variable.value.place, sources);
    for (const auto& network : app.networks) {
      CHECK(network.place.line <= sources.text(1).size() + 1, "a network is in the file");
    }
  }
  for (const config::SettingsFile& file : set.settings) {
    for (const auto& entry : file.entries) check_place(entry.place, sources);
  }
  for (const config::KubeObject& object : set.objects) check_place(object.place, sources);
  for (const config::NicConfig& nic : set.nics) {
    CHECK(!nic.tos.known() || (*nic.tos >= 0 && *nic.tos <= 255), "a type of service is a byte");
    CHECK(!nic.cnp_dscp.known() || (*nic.cnp_dscp >= 0 && *nic.cnp_dscp <= 63), "a DSCP has six bits");
  }
  for (const config::AttachmentConfig& attachment : set.attachments) {
    for (const auto& subnet : attachment.subnets) CHECK(subnet.value.length <= 32, "a prefix has at most 32 bits");
  }
}

void run_host_config(std::string_view name, const std::string& text) {
  Sources sources;
  config::ConfigSet set;
  Diagnostics diagnostics;
  config::read_config_text(std::string(name), text, sources, set, diagnostics);
  CHECK(set.files.size() <= 1, "one text is one file");
  CHECK(set.files.empty() == (config::detect_kind(name, text) == config::ConfigKind::unknown),
        "what is not recognized is not kept");
  check_places(set, sources);
  (void)render_all(diagnostics, sources, false);
  Sources again_sources;
  config::ConfigSet again;
  Diagnostics again_diagnostics;
  config::read_config_text(std::string(name), text, again_sources, again, again_diagnostics);
  CHECK(content_of(again) == content_of(set), "reading it again gives the same");
  CHECK(again_diagnostics.error_count() == diagnostics.error_count(), "and the same errors");
}

}  // namespace
}  // namespace weft

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0 || size > 16384) return 0;
  const std::size_t names = std::size(weft::kNames);
  weft::run_host_config(weft::kNames[data[0] % names], std::string(data + 1, data + size));
  return 0;
}
