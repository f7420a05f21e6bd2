// Readers for LLDP neighbors (IEEE 802.1AB) as printed by lldpcli, SONiC and NX-OS.
#include <algorithm>
#include <array>
#include <map>

#include "base/json.h"
#include "base/text.h"
#include "config/live_facts.h"
#include "config/live_text.h"

namespace weft::config {

namespace live_text {

std::string device_of_path(std::string_view path) {
  static constexpr std::array<std::string_view, 13> kEndings = {
      ".json", ".json0",    ".txt",    ".lldp",  ".out",     ".log",      ".neighbors",
      ".host", ".keyvalue", ".detail", ".facts", ".lldpctl", ".neighbors"};
  const std::size_t slash = path.find_last_of('/');
  std::string_view name = slash == std::string_view::npos ? path : path.substr(slash + 1);
  for (bool again = true; again;) {
    again = false;
    for (const std::string_view ending : kEndings) {
      if (name.size() > ending.size() && name.ends_with(ending)) {
        name.remove_suffix(ending.size());
        again = true;
      }
    }
  }
  return std::string(name);
}

}  // namespace live_text

namespace {

using live_text::Line;

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// json0 wraps every value in a list of one, and names in {"value": ...}; json does neither.
const YamlNode* unwrap(const YamlNode* node) {
  while (node != nullptr && node->kind == YamlNode::Kind::sequence) {
    node = node->items.empty() ? nullptr : &node->items.front();
  }
  return node;
}

const YamlNode* member(const YamlNode* node, std::string_view key) {
  node = unwrap(node);
  if (node == nullptr || node->kind != YamlNode::Kind::mapping) return nullptr;
  return unwrap(node->find(key));
}

std::string text_of(const YamlNode* node) {
  if (node != nullptr && node->kind == YamlNode::Kind::mapping) node = member(node, "value");
  return node != nullptr && node->kind == YamlNode::Kind::scalar ? node->scalar : std::string();
}

// The chassis is {"name": {...}} in json, and {"id": ..., "name": ...} in json0 or if the neighbor has no name.
void read_chassis(const YamlNode* chassis, LldpNeighbor& neighbor) {
  if (chassis == nullptr || chassis->kind != YamlNode::Kind::mapping) return;
  if (chassis->find("id") == nullptr && chassis->entries.size() == 1) {
    neighbor.remote_system = chassis->entries.front().key;
    chassis = unwrap(&chassis->entries.front().value);
  } else {
    neighbor.remote_system = text_of(member(chassis, "name"));
  }
  neighbor.remote_chassis = text_of(member(chassis, "id"));
}

void add_json_neighbor(std::string local_port, const YamlNode& body, const SourceLocation& place, LldpReport& report) {
  LldpNeighbor neighbor;
  neighbor.local_port = std::move(local_port);
  neighbor.place = place;
  read_chassis(member(&body, "chassis"), neighbor);
  const YamlNode* port = member(&body, "port");
  neighbor.remote_port = text_of(member(port, "id"));
  neighbor.remote_port_description = text_of(member(port, "descr"));
  if (neighbor.local_port.empty()) return;
  if (neighbor.remote_system.empty() && neighbor.remote_chassis.empty()) return;
  report.neighbors.push_back(std::move(neighbor));
}

// One interface, either {"name": "eth0", ...} or {"eth0": {...}, ...}.
void read_json_interface(const YamlNode& node, LldpReport& report) {
  if (node.kind != YamlNode::Kind::mapping) return;
  if (node.find("chassis") != nullptr || node.find("port") != nullptr) {
    add_json_neighbor(text_of(member(&node, "name")), node, node.place, report);
    return;
  }
  for (const YamlEntry& entry : node.entries) add_json_neighbor(entry.key, entry.value, entry.key_place, report);
}

bool read_json_report(const Sources& sources, FileId file, Diagnostics& diagnostics, LldpReport& report) {
  const auto root = parse_json(sources, file, diagnostics);
  if (!root) return false;
  const YamlNode* top = unwrap(&*root);
  const YamlNode* lldp = top != nullptr && top->kind == YamlNode::Kind::mapping ? unwrap(top->find("lldp")) : nullptr;
  if (lldp == nullptr) {
    diagnostics.error(root->place, "no `lldp` object found; expected output of `lldpcli -f json show neighbors`");
    return false;
  }
  report.format = "lldpcli-json";
  const YamlNode* interfaces = lldp->kind == YamlNode::Kind::mapping ? lldp->find("interface") : nullptr;
  if (interfaces == nullptr) return true;  // no neighbors
  if (interfaces->kind == YamlNode::Kind::sequence) {
    for (const YamlNode& item : interfaces->items) read_json_interface(item, report);
  } else {
    read_json_interface(*interfaces, report);
  }
  return true;
}

// lldp.eth0.chassis.name=leaf1. Interface names may contain dots (eth0.100), so the name ends at a known keyword.
bool read_keyvalue(const std::vector<Line>& lines, LldpReport& report) {
  std::map<std::string, LldpNeighbor, std::less<>> found;
  for (const Line& line : lines) {
    if (!line.text.starts_with("lldp.")) continue;
    const std::size_t equals = line.text.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view key = line.text.substr(0, equals);
    const std::string value(trim(line.text.substr(equals + 1)));
    const std::size_t cut = std::min(key.find(".chassis."), key.find(".port."));
    if (cut == std::string_view::npos || cut <= 5) continue;
    auto [at, fresh] = found.try_emplace(std::string(key.substr(5, cut - 5)));
    if (fresh) at->second.place = line.place;
    const std::string_view what = key.substr(cut + 1);
    LldpNeighbor& neighbor = at->second;
    if (what == "chassis.name") neighbor.remote_system = value;
    if (what == "chassis.mac" || what == "chassis.local") neighbor.remote_chassis = value;
    if (what == "port.descr") neighbor.remote_port_description = value;
    if (what == "port.mac" || what == "port.ifname" || what == "port.local") neighbor.remote_port = value;
  }
  for (auto& [name, neighbor] : found) {
    neighbor.local_port = name;
    report.neighbors.push_back(std::move(neighbor));
  }
  report.format = "lldpcli-keyvalue";
  return !found.empty();
}

// Start of each column, from the dashes below the headings.
std::vector<std::size_t> columns_of(std::string_view dashes) {
  std::vector<std::size_t> starts;
  for (std::size_t i = 0; i < dashes.size(); ++i) {
    if (dashes[i] == '-' && (i == 0 || dashes[i - 1] != '-')) starts.push_back(i);
  }
  return starts;
}

std::string cell(std::string_view line, const std::vector<std::size_t>& starts, std::size_t column) {
  if (column >= starts.size() || starts[column] >= line.size()) return {};
  const std::size_t end = column + 1 < starts.size() ? starts[column + 1] : line.size();
  return std::string(trim(line.substr(starts[column], std::min(end, line.size()) - starts[column])));
}

// SONiC: LocalPort RemoteDevice RemotePortID Capability RemotePortDescr, a line of dashes, the rows, a line of dashes.
bool read_sonic_table(const std::vector<Line>& lines, LldpReport& report) {
  report.format = "sonic-table";
  std::vector<std::size_t> starts;
  bool heading = false;
  for (const Line& line : lines) {
    if (has(line.text, "LocalPort") && has(line.text, "RemoteDevice")) {
      heading = true;
      continue;
    }
    const bool dashes = trim(line.text).starts_with("--");
    if (heading && dashes && starts.empty()) {
      starts = columns_of(line.text);
      continue;
    }
    if (starts.empty()) continue;
    if (dashes || line.text.starts_with("Total entries")) break;
    LldpNeighbor neighbor;
    neighbor.local_port = cell(line.text, starts, 0);
    neighbor.remote_system = cell(line.text, starts, 1);
    neighbor.remote_port = cell(line.text, starts, 2);
    neighbor.remote_port_description = cell(line.text, starts, 4);
    neighbor.place = line.place;
    if (!neighbor.local_port.empty() && !neighbor.remote_system.empty()) report.neighbors.push_back(neighbor);
  }
  return heading && !starts.empty();
}

bool is_capability(std::string_view word) { return word.find_first_not_of("RBTCWPSO,-") == std::string_view::npos; }

// "name  Eth1/1  120  BR  Ethernet1/2"; the capability may be missing. `before` is a name too long for its column,
// printed on its own line.
void read_nxos_row(const Line& line, std::string& before, LldpReport& report) {
  const auto words = split_at_spaces(line.text, kTabsAndSpaces);
  if (words.size() == 1) {
    before = std::string(words.front());
    return;
  }
  for (std::size_t hold = 1; hold + 1 < words.size(); ++hold) {
    if (!live_text::number_of(words[hold])) continue;
    const std::size_t local = hold - 1;
    LldpNeighbor neighbor;
    neighbor.local_port = std::string(words[local]);
    neighbor.remote_system = local > 0 ? std::string(words.front()) : before;
    std::size_t port = hold + 1;
    if (port + 1 < words.size() && is_capability(words[port])) ++port;
    neighbor.remote_port = std::string(words[port]);
    neighbor.place = line.place;
    if (!neighbor.remote_system.empty()) report.neighbors.push_back(std::move(neighbor));
    break;
  }
  before.clear();
}

bool read_nxos_table(const std::vector<Line>& lines, LldpReport& report) {
  report.format = "nxos-table";
  bool heading = false;
  std::string before;
  for (const Line& line : lines) {
    if (has(line.text, "Device ID") && has(line.text, "Local Intf")) {
      heading = true;
    } else if (heading && line.text.starts_with("Total entries")) {
      break;
    } else if (heading) {
      read_nxos_row(line, before, report);
    }
  }
  return heading;
}

// "Key: value" lines; "Chassis id:" starts a neighbor.
bool read_nxos_detail(const std::vector<Line>& lines, LldpReport& report) {
  report.format = "nxos-detail";
  for (const Line& line : lines) {
    const std::size_t colon = line.text.find(':');
    if (colon == std::string_view::npos) continue;
    const std::string_view key = trim(line.text.substr(0, colon));
    std::string value(trim(line.text.substr(colon + 1)));
    if (value == "not advertised" || value == "null") value.clear();
    if (key == "Chassis id") {
      report.neighbors.emplace_back();
      report.neighbors.back().remote_chassis = value;
      report.neighbors.back().place = line.place;
    } else if (!report.neighbors.empty()) {
      LldpNeighbor& neighbor = report.neighbors.back();
      if (key == "Port id") neighbor.remote_port = value;
      if (key == "Local Port id") neighbor.local_port = value;
      if (key == "Port Description") neighbor.remote_port_description = value;
      if (key == "System Name") neighbor.remote_system = value;
    }
  }
  std::erase_if(report.neighbors, [](const LldpNeighbor& neighbor) { return neighbor.local_port.empty(); });
  return true;
}

// The system's name from the prompt of a captured session: "leaf1# show lldp neighbors", "admin@leaf1:~$ show lldp
// table".
std::string system_of_prompt(const std::vector<Line>& lines) {
  for (const Line& line : lines) {
    const std::size_t command = line.text.find("show lldp");
    if (command == std::string_view::npos || command == 0) continue;
    std::string_view prompt = trim(line.text.substr(0, command));
    if (prompt.empty()) continue;
    const char last = prompt.back();
    if (last != '#' && last != '>' && last != '$') continue;
    prompt.remove_suffix(1);
    if (const std::size_t at = prompt.find('@'); at != std::string_view::npos) prompt.remove_prefix(at + 1);
    prompt = trim(prompt.substr(0, prompt.find(':')));
    if (!prompt.empty() && !has(prompt, " ")) return std::string(prompt);
  }
  return {};
}

bool read_text_report(const Sources& sources, FileId file, Diagnostics& diagnostics, LldpReport& report) {
  const auto lines = live_text::lines_of(sources, file);
  const std::string_view text = sources.text(file);
  report.system = system_of_prompt(lines);
  if (has(text, "LocalPort") && has(text, "RemoteDevice") && read_sonic_table(lines, report)) return true;
  if (has(text, "Local Port id:")) return read_nxos_detail(lines, report);
  if (has(text, "Local Intf") && read_nxos_table(lines, report)) return true;
  if (has(text, "lldp.") && read_keyvalue(lines, report)) return true;
  diagnostics.error(SourceLocation{file, 1, 1}, "no LLDP neighbors in a supported format",
                    "supported: lldpcli -f json (or json0, keyvalue), SONiC's `show lldp table`, and NX-OS' `show lldp "
                    "neighbors` with or without `detail`");
  return false;
}

}  // namespace

std::optional<LldpReport> read_lldp(const Sources& sources, FileId file, Diagnostics& diagnostics) {
  LldpReport report;
  report.file = file;
  const std::string_view text = trim(sources.text(file));
  const bool json = !text.empty() && (text.front() == '{' || text.front() == '[');
  const bool good = json ? read_json_report(sources, file, diagnostics, report)
                         : read_text_report(sources, file, diagnostics, report);
  if (!good) return std::nullopt;
  if (report.system.empty()) report.system = live_text::device_of_path(sources.path(file));
  return report;
}

}  // namespace weft::config
