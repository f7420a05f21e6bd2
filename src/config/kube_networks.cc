#include <algorithm>
#include <map>
#include <utility>

#include "base/text.h"
#include "config/host_text.h"
#include "config/kube_objects.h"

namespace weft::config {
namespace {

constexpr std::string_view kResourceName = "k8s.v1.cni.cncf.io/resourceName";

// Plugins that modify an interface created by another plugin.
bool is_meta_plugin(std::string_view type) {
  for (const char* meta : {"rdma", "tuning", "sbr", "vrf", "bandwidth", "firewall", "portmap"}) {
    if (type == meta) return true;
  }
  return false;
}

void add_subnet(const YamlNode* node, AttachmentConfig& attachment) {
  if (node == nullptr) return;
  if (const auto prefix = subnet_of(text_of(node))) attachment.subnets.push_back({*prefix, node->place, "ipam.subnet"});
}

void add_route(const YamlNode& item, const YamlNode* gateway, AttachmentConfig& attachment) {
  const YamlNode* destination = item.find("dst");
  const std::string_view text = text_of(destination);
  const auto prefix = text == "default" ? std::optional<Ipv4Prefix>(Ipv4Prefix{}) : subnet_of(text);
  if (!prefix) return;
  AttachmentConfig::Route route;
  route.place = item.place;
  route.destination = *prefix;
  route.gateway = parse_ipv4(text_of(gateway)).value_or(Ipv4{});
  attachment.routes.push_back(route);
}

// "ranges": [[{"subnet", "gateway"}, ...], ...] of host-local; "ipRanges": [{"range"}] of whereabouts.
void read_ranges(const YamlNode& ipam, AttachmentConfig& attachment) {
  if (const YamlNode* ranges = ipam.find("ranges")) {
    for (const YamlNode& set : ranges->items) {
      for (const YamlNode& range : set.items) {
        add_subnet(range.find("subnet"), attachment);
        if (!attachment.gateway.known()) attachment.gateway = text_setting(range.find("gateway"), "ipam.gateway");
      }
    }
  }
  if (const YamlNode* ranges = ipam.find("ipRanges")) {
    for (const YamlNode& range : ranges->items) add_subnet(range.find("range"), attachment);
  }
  if (const YamlNode* addresses = ipam.find("addresses")) {
    for (const YamlNode& address : addresses->items) {
      add_subnet(address.find("address"), attachment);
      if (!attachment.gateway.known()) attachment.gateway = text_setting(address.find("gateway"), "ipam.gateway");
    }
  }
}

void read_ipam(const YamlNode* ipam, AttachmentConfig& attachment) {
  if (ipam == nullptr || ipam->kind != YamlNode::Kind::mapping) return;
  attachment.ipam = text_setting(ipam->find("type"), "ipam.type");
  attachment.gateway = text_setting(ipam->find("gateway"), "ipam.gateway");
  attachment.pool = text_setting(ipam->find("poolName"), "ipam.poolName");
  add_subnet(ipam->find("subnet"), attachment);
  add_subnet(ipam->find("range"), attachment);
  read_ranges(*ipam, attachment);
  if (const YamlNode* routes = ipam->find("routes")) {
    for (const YamlNode& route : routes->items) add_route(route, route.find("gw"), attachment);
  }
}

// One member of a plugin chain, or the whole configuration if it is not a chain.
void read_plugin(const YamlNode& plugin, AttachmentConfig& attachment) {
  const std::string_view type = text_of(plugin.find("type"));
  const bool meta = is_meta_plugin(type);
  if (!attachment.plugin.known() && !meta) attachment.plugin = text_setting(plugin.find("type"), "type");
  const Setting<std::int64_t> mtu = integer_setting(plugin.find("mtu"), "mtu");
  if (mtu.known()) attachment.mtu = mtu;  // a later `tuning` overrides the MTU set at creation
  const Setting<std::int64_t> vlan = integer_setting(plugin.find("vlan"), "vlan");
  if (vlan.known()) attachment.vlan = vlan;
  if (!meta) read_ipam(plugin.find("ipam"), attachment);
}

void read_definition(const Sources& sources, const KubeObject& object, ConfigSet& set, Diagnostics& diagnostics) {
  AttachmentConfig attachment;
  attachment.kind = object.kind;
  attachment.name = object.name;
  attachment.space = object.space;
  attachment.place = object.place;
  const YamlNode* annotations = object.at("metadata.annotations");
  if (annotations != nullptr) {
    attachment.resource = text_setting(annotations->find(kResourceName), std::string(kResourceName));
  }
  const YamlNode* config = object.at("spec.config");
  if (config != nullptr) {
    if (const auto root = parse_embedded_json(sources, *config, diagnostics)) {
      const YamlNode* plugins = root->find("plugins");
      if (plugins == nullptr) {
        read_plugin(*root, attachment);
      } else {
        for (const YamlNode& plugin : plugins->items) read_plugin(plugin, attachment);
      }
    }
  }
  set.attachments.push_back(std::move(attachment));
}

std::string_view plugin_of(std::string_view kind) {
  if (kind == "SriovNetwork") return "sriov";
  if (kind == "SriovIBNetwork") return "ib-sriov";
  if (kind == "OVSNetwork") return "ovs";
  if (kind == "HostDeviceNetwork") return "host-device";
  if (kind == "MacvlanNetwork") return "macvlan";
  if (kind == "IPoIBNetwork") return "ipoib";
  return {};
}

// Text with one JSON object or several comma-separated ones, the form of metaPlugins.
void read_meta_plugins(const Sources& sources, const YamlNode* node, AttachmentConfig& attachment,
                       Diagnostics& diagnostics) {
  if (node == nullptr || trim(text_of(node), kLineSpaces).empty()) return;
  YamlNode list = *node;
  list.scalar = "[" + list.scalar + "]";
  const auto root = parse_embedded_json(sources, list, diagnostics);
  if (!root) return;
  for (const YamlNode& plugin : root->items) read_plugin(plugin, attachment);
}

void read_network(const Sources& sources, const KubeObject& object, ConfigSet& set, Diagnostics& diagnostics) {
  const YamlNode* spec = object.at("spec");
  AttachmentConfig attachment;
  attachment.kind = object.kind;
  attachment.name = object.name;
  attachment.space = text_of(node_at(spec, "networkNamespace"));
  if (attachment.space.empty()) attachment.space = object.space;
  attachment.place = object.place;
  attachment.plugin = vendor_default(std::string(plugin_of(object.kind)), "what " + object.kind + " makes");
  if (spec != nullptr) {
    attachment.resource = text_setting(spec->find("resourceName"), "spec.resourceName");
    attachment.mtu = integer_setting(spec->find("mtu"), "spec.mtu");
    attachment.vlan = integer_setting(spec->find("vlan"), "spec.vlan");
    if (const YamlNode* ipam = spec->find("ipam"); ipam != nullptr && !trim(text_of(ipam), kLineSpaces).empty()) {
      if (const auto root = parse_embedded_json(sources, *ipam, diagnostics)) read_ipam(&*root, attachment);
    }
    read_meta_plugins(sources, spec->find("metaPlugins"), attachment, diagnostics);
  }
  set.attachments.push_back(std::move(attachment));
}

void read_policy(const KubeObject& object, ConfigSet& set) {
  const YamlNode* spec = object.at("spec");
  if (spec == nullptr) return;
  SriovPolicyConfig policy;
  policy.name = object.name;
  policy.place = object.place;
  policy.resource = text_setting(spec->find("resourceName"), "spec.resourceName");
  policy.virtual_functions = integer_setting(spec->find("numVfs"), "spec.numVfs");
  policy.mtu = integer_setting(spec->find("mtu"), "spec.mtu");
  policy.rdma = boolean_setting(spec->find("isRdma"), "spec.isRdma");
  if (!policy.rdma.known()) policy.rdma = vendor_default(false, "isRdma is false unless set");
  policy.device_type = text_setting(spec->find("deviceType"), "spec.deviceType");
  if (!policy.device_type.known()) policy.device_type = vendor_default(std::string("netdevice"), "deviceType default");
  policy.node_selector = selector_text(spec->find("nodeSelector"));
  if (const YamlNode* names = node_at(spec, "nicSelector.pfNames")) {
    for (const YamlNode& name : names->items) {
      Setting<std::string> setting = text_setting(&name, "spec.nicSelector.pfNames");
      if (setting.known()) policy.interfaces.push_back(std::move(setting));
    }
  }
  set.sriov.push_back(std::move(policy));
}

// Copies settings from the pool that an attachment names.
void take_from_pool(const KubeObject& pool, AttachmentConfig& attachment) {
  const YamlNode* spec = pool.at("spec");
  if (spec == nullptr) return;
  add_subnet(spec->find(pool.kind == "CIDRPool" ? "cidr" : "subnet"), attachment);
  const YamlNode* gateway = spec->find("gateway");
  if (!attachment.gateway.known()) attachment.gateway = text_setting(gateway, "spec.gateway");
  if (const YamlNode* routes = spec->find("routes")) {
    for (const YamlNode& route : routes->items) add_route(route, gateway, attachment);
  }
  const Setting<bool> is_default = boolean_setting(spec->find("defaultGateway"), "spec.defaultGateway");
  if (is_default.known() && *is_default) {
    AttachmentConfig::Route route;
    route.place = is_default.place;
    route.gateway = parse_ipv4(text_of(gateway)).value_or(Ipv4{});
    attachment.routes.push_back(route);
  }
}

bool is_pool(const KubeObject& object) {
  return object.api_group == "nv-ipam.nvidia.com" && (object.kind == "IPPool" || object.kind == "CIDRPool");
}

}  // namespace

void read_kube_networks(const Sources& sources, const KubeObject& object, ConfigSet& set, Diagnostics& diagnostics) {
  if (object.kind == "NetworkAttachmentDefinition") {
    read_definition(sources, object, set, diagnostics);
  } else if (object.kind == "SriovNetworkNodePolicy") {
    read_policy(object, set);
  } else if (!plugin_of(object.kind).empty()) {
    read_network(sources, object, set, diagnostics);
  }
}

void link_address_pools(ConfigSet& set) {
  std::map<std::string_view, const KubeObject*> pools;
  for (const KubeObject& object : set.objects) {
    if (is_pool(object)) pools[object.name] = &object;
  }
  for (AttachmentConfig& attachment : set.attachments) {
    if (!attachment.pool.known() || !attachment.subnets.empty()) continue;
    const auto found = pools.find(*attachment.pool);
    if (found != pools.end()) take_from_pool(*found->second, attachment);
  }
}

}  // namespace weft::config
