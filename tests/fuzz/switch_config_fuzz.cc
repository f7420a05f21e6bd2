// Bytes as a switch configuration. The first byte selects the dialect. Any result must be consistent enough for a
// checker to index with: classes, queues and groups within their arrays, QoS settings within their list.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/check.h"
#include "config/switch_config.h"

namespace weft {
namespace {

template <std::size_t N>
void check_range(const std::array<config::Setting<int>, N>& settings, int limit) {
  for (const config::Setting<int>& setting : settings) {
    CHECK(setting.value >= 0 && setting.value < limit, "a class stays in its range");
    CHECK(!setting.given() || setting.place.known(), "what a file says has a place");
  }
}

void check_config(const config::SwitchConfig& config) {
  CHECK(!config.qos.empty(), "a port with nothing of its own is known");
  for (const config::InterfaceConfig& interface : config.interfaces) {
    CHECK(interface.qos < config.qos.size(), "an interface's quality of service exists");
    CHECK(interface.own.size() == interface.addresses.size(), "an address stands beside each prefix");
    CHECK(interface.parts >= 1 && interface.part >= 0, "pieces are counted");
  }
  for (const config::PortQos& qos : config.qos) {
    check_range(qos.dscp_to_class, config::kClasses);
    check_range(qos.pcp_to_class, config::kClasses);
    check_range(qos.class_to_group, config::kClasses);
    check_range(qos.class_to_queue, config::kClasses);
    check_range(qos.pfc_to_group, config::kClasses);
    check_range(qos.pfc_to_queue, config::kClasses);
    check_range(qos.rewrite, config::kDscps);
  }
  for (const config::AclConfig& acl : config.acls) {
    for (std::size_t i = 1; i < acl.rules.size(); ++i) {
      CHECK(acl.rules[i - 1].sequence <= acl.rules[i].sequence, "rules are in order");
    }
  }
}

void run_switch_config(std::uint8_t dialect, std::string text) {
  Sources sources;
  Diagnostics diagnostics;
  const FileId file = sources.add("switch", std::move(text));
  const auto read = dialect % 3 == 0 ? config::read_sonic : dialect % 3 == 1 ? config::read_nxos : config::read_nvue;
  const auto config = read(sources, file, diagnostics);
  CHECK(config.has_value() || diagnostics.has_errors(), "a file that cannot be read says why");
  (void)render_all(diagnostics, sources, false);
  if (config) check_config(*config);
}

}  // namespace
}  // namespace weft

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0 || size > 65536) return 0;
  weft::run_switch_config(data[0], std::string(data + 1, data + size));
  return 0;
}
