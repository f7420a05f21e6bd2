#include <fmt/format.h>

#include <utility>

#include "base/utf8.h"
#include "config/host_text.h"
#include "config/kube_objects.h"
#include "config/nic_parameters.h"

namespace weft::config {
namespace {

// Defaults of the NIC configuration operator if roceOptimized is enabled without QoS settings (its README and
// pkg/configuration/configvalidation.go).
constexpr const char* kDefault = "nic-configuration-operator default of roceOptimized: {}";

void apply_defaults(NicConfig& nic) {
  const auto why = [](std::string_view what) { return fmt::format(fmt::runtime(kDefault), what); };
  if (!nic.trust.known()) nic.trust = vendor_default(model::TrustMode::dscp, why("trust dscp"));
  if (!nic.tos.known()) nic.tos = vendor_default(0, why("ToS 0"));
  for (std::size_t i = 0; i < nic.pfc.size(); ++i) {
    if (!nic.pfc[i].known()) nic.pfc[i] = vendor_default(i == 3, why("PFC 0,0,0,1,0,0,0,0"));
  }
  if (!nic.cnp_dscp.known()) nic.cnp_dscp = vendor_default(4, why("CNP_DSCP 4"));
  if (!nic.cnp_priority.known()) nic.cnp_priority = vendor_default(6, why("CNP_802P_PRIO 6"));
  if (!nic.cc_priority_mask.known()) {
    nic.cc_priority_mask = vendor_default(std::int64_t{255}, why("ROCE_CC_PRIO_MASK 255"));
  }
}

void read_qos(const YamlNode& qos, NicConfig& nic, Diagnostics& diagnostics) {
  if (const YamlNode* trust = qos.find("trust")) {
    set_trust(text_of(trust), trust->place, "roceOptimized.qos.trust", nic, diagnostics);
  }
  if (const YamlNode* pfc = qos.find("pfc")) {
    set_pfc(text_of(pfc), pfc->place, "roceOptimized.qos.pfc", nic, diagnostics);
  }
  if (const YamlNode* tos = qos.find("tos")) {
    set_tos(text_of(tos), tos->place, "roceOptimized.qos.tos", nic, diagnostics);
  }
  nic.global_pause = boolean_setting(node_at(&qos, "pauseFrames.enabled"), "roceOptimized.qos.pauseFrames.enabled");
  nic.ecn = boolean_setting(node_at(&qos, "ecn.enabled"), "roceOptimized.qos.ecn.enabled");
}

void read_template(const KubeObject& object, ConfigSet& set, Diagnostics& diagnostics) {
  NicConfig nic;
  nic.name = object.name;
  nic.place = object.place;
  nic.node_selector = selector_text(object.at("spec.nodeSelector"));
  nic.nic_type = text_of(object.at("spec.nicSelector.nicType"));
  const YamlNode* spec = object.at("spec.template");
  if (spec == nullptr) {
    set.nics.push_back(std::move(nic));
    return;
  }
  nic.virtual_functions = integer_setting(spec->find("numVfs"), "numVfs");
  nic.link_type = text_setting(spec->find("linkType"), "linkType");
  nic.gpu_direct = boolean_setting(node_at(spec, "gpuDirectOptimized.enabled"), "gpuDirectOptimized.enabled");
  nic.roce_optimized = boolean_setting(node_at(spec, "roceOptimized.enabled"), "roceOptimized.enabled");
  if (const YamlNode* qos = node_at(spec, "roceOptimized.qos")) read_qos(*qos, nic, diagnostics);
  if (const YamlNode* list = spec->find("rawNvConfig")) {
    for (const YamlNode& item : list->items) {
      const YamlNode* value = item.find("value");
      if (value == nullptr) continue;
      set_firmware_parameter(text_of(item.find("name")), text_of(value), value->place, nic, diagnostics);
    }
  }
  if (nic.roce_optimized.known() && *nic.roce_optimized) apply_defaults(nic);
  set.nics.push_back(std::move(nic));
}

}  // namespace

void read_kube_nics(const KubeObject& object, ConfigSet& set, Diagnostics& diagnostics) {
  if (object.kind == "NicConfigurationTemplate") read_template(object, set, diagnostics);
}

}  // namespace weft::config
