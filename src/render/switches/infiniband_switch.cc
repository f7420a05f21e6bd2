// Management configuration of InfiniBand switches: name, address, time, log. The fabric itself is configured by the
// subnet manager. Commands follow NVIDIA's user manuals for MLNX-OS 3.11 and NVOS 25.02.
#include <fmt/format.h>

#include "render/switches/infiniband_plan.h"

namespace weft::render::ib {
namespace {

// Lines of commands; control characters, which could start another command, are removed.
class Commands {
 public:
  void add(std::string_view line) {
    for (const char c : line) text_ += static_cast<unsigned char>(c) < 0x20 || c == 0x7F ? '?' : c;
    text_ += '\n';
  }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

std::string netmask(std::uint8_t length) {
  return to_text(Ipv4{length == 0 ? 0U : ~std::uint32_t{0} << (32U - length)});
}

// Free text of the cluster file is used as a command argument only if it is one word without shell metacharacters.
bool is_word(const std::string& text) {
  if (text.empty()) return false;
  for (const char c : text) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == ':';
    if (!plain) return false;
  }
  return true;
}

}  // namespace

std::string switch_config(const RenderInput& input, const Fabric& fabric, model::DeviceId id) {
  const model::Cluster& cluster = input.cluster;
  const std::string& system = fabric.spec->system.value;
  const model::OobSpec& oob = cluster.spec().fabrics->oob.value;
  const Ipv4 address = cluster.oob_address(id);
  const std::string& name = cluster.name_of(id);
  const std::string syslog = oob.syslog.has_value() && is_word(oob.syslog.value) ? oob.syslog.value : std::string();
  Commands out;
  if (system == "mlnx-os") {
    out.add(fmt::format("hostname {}", name));
    out.add("no interface mgmt0 dhcp");
    if (address != Ipv4{}) {
      out.add(fmt::format("interface mgmt0 ip address {} {}", to_text(address), netmask(oob.subnet->length)));
    }
    if (!syslog.empty()) out.add(fmt::format("logging {}", syslog));
    out.add("no ib sm");
    return comment_heading(cluster, fmt::format("{}: MLNX-OS commands", name)) + out.take();
  }
  if (system == "nvos") {
    out.add(fmt::format("nv set system hostname {}", name));
    out.add("nv set interface eth0 ip dhcp-client state disabled");
    if (address != Ipv4{}) {
      out.add(fmt::format("nv set interface eth0 ip address {}/{}", to_text(address), oob.subnet->length));
    }
    if (!syslog.empty()) out.add(fmt::format("nv set system syslog server {}", syslog));
    return comment_heading(cluster, fmt::format("{}: NVOS commands", name)) + out.take();
  }
  return {};
}

}  // namespace weft::render::ib
