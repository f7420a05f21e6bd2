// Writes and reads the host facts of `weft discover`. Default values are omitted from the file.
#include <fmt/format.h>

#include "base/json.h"
#include "base/quoting.h"
#include "base/text.h"
#include "config/live_facts.h"
#include "config/live_text.h"

namespace weft::config {
namespace {

constexpr std::size_t kMaxInterfaces = 100'000;

// One object on one line, keys in insertion order.
class ObjectLine {
 public:
  void text(std::string_view key, std::string_view value) {
    if (!value.empty()) raw(key, json_quote(value));
  }
  void number(std::string_view key, std::int64_t value, std::int64_t usual) {
    if (value != usual) raw(key, std::to_string(value));
  }
  void truth(std::string_view key, bool value) {
    if (value) raw(key, "true");
  }
  void raw(std::string_view key, std::string_view value) {
    if (!body_.empty()) body_ += ", ";
    body_ += json_quote(key);
    body_ += ": ";
    body_ += value;
  }
  [[nodiscard]] std::string done() const { return "{" + body_ + "}"; }

 private:
  std::string body_;
};

std::string addresses_text(const HostInterface& interface) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < interface.addresses.size(); ++i) {
    const int length = i < interface.prefixes.size() ? interface.prefixes[i].length : 32;
    parts.push_back(json_quote(fmt::format("{}/{}", to_text(interface.addresses[i]), length)));
  }
  return "[" + join(parts, ", ") + "]";
}

std::string interface_text(const HostInterface& interface) {
  ObjectLine line;
  line.text("name", interface.name);
  line.text("address", interface.address);
  line.text("driver", interface.driver);
  line.text("pci", interface.pci);
  line.text("pci_device", interface.pci_device);
  line.text("state", interface.state);
  line.number("speed_mbps", interface.speed_mbps, 0);
  line.number("mtu", interface.mtu, 0);
  line.number("numa", interface.numa, -1);
  line.number("vfs", interface.vfs, -1);
  line.number("vfs_max", interface.vfs_max, -1);
  line.truth("physical", interface.physical);
  line.truth("virtual_function", interface.virtual_function);
  line.text("rdma_device", interface.rdma_device);
  line.text("link_layer", interface.link_layer);
  line.text("lldp_system", interface.lldp_system);
  line.text("lldp_port", interface.lldp_port);
  if (!interface.addresses.empty()) line.raw("addresses", addresses_text(interface));
  line.truth("default_route", interface.default_route);
  if (!interface.pause_counters.empty()) {
    ObjectLine counters;
    for (const auto& [name, value] : interface.pause_counters) counters.raw(name, std::to_string(value));
    line.raw("pause_counters", counters.done());
  }
  if (!interface.gid_indices_rocev2.empty()) {
    std::vector<std::string> indices;
    for (const int index : interface.gid_indices_rocev2) indices.push_back(std::to_string(index));
    line.raw("gid_indices_rocev2", "[" + join(indices, ", ") + "]");
  }
  return line.done();
}

std::string list_text(const std::vector<std::string>& lines) {
  return lines.empty() ? "[]" : "[\n    " + join(lines, ",\n    ") + "\n  ]";
}

// Reads members of objects; a value of the wrong type is reported and the default kept.
class Reader {
 public:
  explicit Reader(Diagnostics& diagnostics) : diagnostics_(diagnostics) {}

  void text(const YamlNode& object, std::string_view key, std::string& out) {
    const YamlNode* node = scalar(object, key);
    if (node != nullptr) out = node->scalar;
  }
  void number(const YamlNode& object, std::string_view key, std::int64_t& out) {
    const YamlNode* node = scalar(object, key);
    if (node == nullptr) return;
    const auto value = live_text::number_of(node->scalar);
    if (value && !node->quoted) {
      out = *value;
    } else {
      diagnostics_.error(node->place, fmt::format("`{}` must be a whole number", key));
    }
  }
  void truth(const YamlNode& object, std::string_view key, bool& out) {
    const YamlNode* node = scalar(object, key);
    if (node == nullptr) return;
    if (node->scalar == "true" || node->scalar == "false") {
      out = node->scalar == "true";
    } else {
      diagnostics_.error(node->place, fmt::format("`{}` must be true or false", key));
    }
  }
  // The items of a list; empty if it is missing or not a list.
  const std::vector<YamlNode>& list(const YamlNode& object, std::string_view key) {
    static const std::vector<YamlNode> kNone;
    const YamlNode* node = object.find(key);
    if (node == nullptr || node->kind == YamlNode::Kind::null) return kNone;
    if (node->kind == YamlNode::Kind::sequence) return node->items;
    diagnostics_.error(node->place, fmt::format("`{}` must be a list, not {}", key, describe_kind(*node)));
    return kNone;
  }
  const std::vector<YamlEntry>& members(const YamlNode& object, std::string_view key) {
    static const std::vector<YamlEntry> kNone;
    const YamlNode* node = object.find(key);
    if (node == nullptr || node->kind == YamlNode::Kind::null) return kNone;
    if (node->kind == YamlNode::Kind::mapping) return node->entries;
    diagnostics_.error(node->place, fmt::format("`{}` must be an object, not {}", key, describe_kind(*node)));
    return kNone;
  }
  void wrong(const YamlNode& node, std::string message) { diagnostics_.error(node.place, std::move(message)); }

 private:
  const YamlNode* scalar(const YamlNode& object, std::string_view key) {
    const YamlNode* node = object.find(key);
    if (node == nullptr || node->kind == YamlNode::Kind::null) return nullptr;
    if (node->kind == YamlNode::Kind::scalar) return node;
    diagnostics_.error(node->place, fmt::format("`{}` must be a single value, not {}", key, describe_kind(*node)));
    return nullptr;
  }

  Diagnostics& diagnostics_;
};

// "10.60.0.2/27": the host's own address and the network it is in.
void read_address(const YamlNode& node, Reader& reader, HostInterface& interface) {
  const std::string_view text = node.scalar;
  const std::size_t slash = text.find('/');
  const auto address = parse_ipv4(text.substr(0, slash));
  const auto length =
      slash == std::string_view::npos ? std::optional<int>(32) : live_text::number_of<int>(text.substr(slash + 1));
  if (node.kind != YamlNode::Kind::scalar || !address.ok() || !length || *length < 0 || *length > 32) {
    if (text.find(':') == std::string_view::npos) reader.wrong(node, "expected an address such as 10.60.0.2/27");
    return;  // IPv6 is not compared
  }
  const std::uint32_t mask = *length == 0 ? 0 : ~std::uint32_t{0} << static_cast<unsigned>(32 - *length);
  interface.addresses.push_back(address.value());
  interface.prefixes.push_back(Ipv4Prefix{Ipv4{address->bits & mask}, static_cast<std::uint8_t>(*length)});
}

void read_interface_lists(const YamlNode& node, Reader& reader, HostInterface& interface) {
  for (const YamlNode& item : reader.list(node, "addresses")) read_address(item, reader, interface);
  for (const YamlEntry& entry : reader.members(node, "pause_counters")) {
    if (const auto value = live_text::number_of(entry.value.scalar)) {
      interface.pause_counters.emplace_back(entry.key, *value);
    } else {
      reader.wrong(entry.value, "a counter must be a whole number");
    }
  }
  for (const YamlNode& item : reader.list(node, "gid_indices_rocev2")) {
    const auto index = live_text::number_of<int>(item.scalar);
    if (index && *index >= 0) {
      interface.gid_indices_rocev2.push_back(*index);
    } else {
      reader.wrong(item, "an index must be a whole number");
    }
  }
}

HostInterface read_interface(const YamlNode& node, Reader& reader) {
  HostInterface interface;
  interface.place = node.place;
  reader.text(node, "name", interface.name);
  reader.text(node, "address", interface.address);
  reader.text(node, "driver", interface.driver);
  reader.text(node, "pci", interface.pci);
  reader.text(node, "pci_device", interface.pci_device);
  reader.text(node, "state", interface.state);
  reader.number(node, "speed_mbps", interface.speed_mbps);
  reader.number(node, "mtu", interface.mtu);
  reader.number(node, "numa", interface.numa);
  reader.number(node, "vfs", interface.vfs);
  reader.number(node, "vfs_max", interface.vfs_max);
  reader.truth(node, "physical", interface.physical);
  reader.truth(node, "virtual_function", interface.virtual_function);
  reader.text(node, "rdma_device", interface.rdma_device);
  reader.text(node, "link_layer", interface.link_layer);
  reader.text(node, "lldp_system", interface.lldp_system);
  reader.text(node, "lldp_port", interface.lldp_port);
  reader.truth(node, "default_route", interface.default_route);
  read_interface_lists(node, reader, interface);
  return interface;
}

void read_gpus(const YamlNode& root, Reader& reader, HostFacts& facts) {
  for (const YamlNode& item : reader.list(root, "gpus")) {
    HostGpu gpu;
    reader.text(item, "pci", gpu.pci);
    reader.text(item, "name", gpu.name);
    reader.number(item, "numa", gpu.numa);
    facts.gpus.push_back(std::move(gpu));
  }
}

}  // namespace

std::string write_host_facts(const HostFacts& facts) {
  std::vector<std::string> interfaces;
  for (const HostInterface& interface : facts.interfaces) interfaces.push_back(interface_text(interface));
  std::vector<std::string> gpus;
  for (const HostGpu& gpu : facts.gpus) {
    ObjectLine line;
    line.text("pci", gpu.pci);
    line.text("name", gpu.name);
    line.number("numa", gpu.numa, -1);
    gpus.push_back(line.done());
  }
  std::vector<std::string> sysctls;
  for (const auto& [key, value] : facts.sysctls) sysctls.push_back(json_quote(key) + ": " + json_quote(value));
  std::vector<std::string> not_read;
  for (const std::string& line : facts.not_read) not_read.push_back(json_quote(line));
  return fmt::format(
      "{{\n  \"schema_version\": 1,\n  \"kind\": \"host\",\n  \"host\": {},\n  \"kernel\": {},\n"
      "  \"interfaces\": {},\n  \"gpus\": {},\n  \"sysctls\": {},\n  \"not_read\": {}\n}}\n",
      json_quote(facts.host), json_quote(facts.kernel), list_text(interfaces), list_text(gpus),
      sysctls.empty() ? "{}" : "{\n    " + join(sysctls, ",\n    ") + "\n  }", list_text(not_read));
}

std::optional<HostFacts> read_host_facts(const Sources& sources, FileId file, Diagnostics& diagnostics) {
  const auto root = parse_json(sources, file, diagnostics);
  if (!root) return std::nullopt;
  const YamlNode* kind = root->find("kind");
  const YamlNode* version = root->find("schema_version");
  if (root->kind != YamlNode::Kind::mapping || kind == nullptr || kind->scalar != "host") {
    diagnostics.error(root->place, "not a file written by `weft discover`: `kind` is not \"host\"");
    return std::nullopt;
  }
  if (version == nullptr || version->scalar != "1") {
    diagnostics.error(version == nullptr ? root->place : version->place, "unsupported `schema_version`: expected 1");
    return std::nullopt;
  }
  Reader reader(diagnostics);
  HostFacts facts;
  facts.file = file;
  facts.place = root->place;
  if (const YamlNode* host = root->find("host")) facts.place = host->place;
  reader.text(*root, "host", facts.host);
  if (facts.host.empty()) facts.host = live_text::device_of_path(sources.path(file));
  reader.text(*root, "kernel", facts.kernel);
  const auto& interfaces = reader.list(*root, "interfaces");
  for (std::size_t i = 0; i < interfaces.size() && i < kMaxInterfaces; ++i) {
    facts.interfaces.push_back(read_interface(interfaces[i], reader));
  }
  read_gpus(*root, reader, facts);
  if (const YamlNode* gpus = root->find("gpus")) facts.gpus_place = gpus->place;
  for (const YamlEntry& entry : reader.members(*root, "sysctls")) {
    facts.sysctls.emplace_back(entry.key, entry.value.scalar);
    facts.sysctl_places.push_back(entry.key_place);
  }
  for (const YamlNode& item : reader.list(*root, "not_read")) facts.not_read.push_back(item.scalar);
  return facts;
}

}  // namespace weft::config
