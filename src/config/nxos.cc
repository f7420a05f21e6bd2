// NX-OS running config: lines, blocks, and top-level commands.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/utf8.h"
#include "config/number_list.h"
#include "config/nxos_reader.h"

namespace weft::config {
namespace nxos {
namespace {

// Words that start a top-level line. Only needed for texts without indentation, where nothing else ends a block.
constexpr std::string_view kTopWords[] = {
    "interface", "vlan",          "hostname",     "switchname", "feature",  "class-map",     "policy-map",
    "system",    "router",        "logging",      "ntp",        "username", "snmp-server",   "tacacs-server",
    "aaa",       "radius-server", "object-group", "hardware",   "version",  "vdc",           "line",
    "boot",      "banner",        "route-map",    "copp",       "clock",    "spanning-tree", "install"};

// Words that never start a top-level line: they belong to the open block even if the file omits their indentation
// (commands pasted from a script, an unindented `class` under its policy-map).
constexpr std::string_view kBlockWords[] = {"match",     "class",         "set",        "service-policy",
                                            "bandwidth", "random-detect", "switchport", "mtu",
                                            "pause",     "shutdown",      "description"};

bool only_in_block(const ConfigLine& line) {
  const std::size_t at = line.at(0) == "no" ? 1 : 0;
  if (line.at(at) == "priority-flow-control") return line.at(at + 1) == "mode";
  return std::any_of(std::begin(kBlockWords), std::end(kBlockWords), [&](auto known) { return line.at(at) == known; });
}

}  // namespace

Reader::Reader(std::string_view text, FileId file, Diagnostics& diagnostics)
    : lines_(split_lines(text, file)), diagnostics_(diagnostics) {
  out_.dialect = Dialect::nxos;
  out_.file = file;
}

void Reader::warn(const ConfigLine& line, std::size_t word, std::string message) {
  const std::size_t length = std::max<std::size_t>(1, line.at(word).size());
  diagnostics_.warning(line.place(word), std::move(message), {}, length);
}

// A policy that several ports use is read once per port; its errors are reported once.
void Reader::error_once(const SourceLocation& place, std::string message) {
  if (reported_.insert(place).second) diagnostics_.error(place, std::move(message));
}

// Lines apply to ranges of interfaces and VLANs, so a hostile file could cause far more work than its size suggests:
// beyond a limit that no real switch reaches, the rest is skipped.
bool Reader::spend(std::size_t work, const ConfigLine& line) {
  constexpr std::size_t kMaxWork = 20'000'000;
  if (work_ > kMaxWork) return false;
  work_ += work;
  if (work_ > kMaxWork) warn(line, 0, "ranges in this file expand to too many items; the rest is ignored");
  return work_ <= kMaxWork;
}

// Strips a terminal log's prompt: "leaf1# show run", "leaf1(config-if)# mtu 9216".
bool Reader::prepare(ConfigLine& line) {
  const std::string_view first = line.at(0);
  if (first.starts_with('!') || first.starts_with('#')) return false;  // `first` is empty for an empty pair of quotes
  if (first.size() > 1 && first.back() == '#') {
    line.drop(1);
    if (line.size() == 0) return false;
  }
  const std::string_view word = line.at(0);
  if (word == "show" || word == "copy" || word == "end" || equals_ignoring_case(word, "Building") ||
      word == "configure")
    return false;
  const bool free_text = abbreviates(word, "description", 4) || word == "banner" || word == "username";
  for (std::size_t i = 1; i < line.size() && !free_text; ++i) {
    if (line.words[i] != "!" && line.words[i] != "#") continue;
    line.text = line.text.substr(0, line.columns[i] - line.indent - 1);
    line.text = line.text.substr(0, line.text.find_last_not_of(" \t") + 1);
    line.words.resize(i);
    line.columns.resize(i);
  }
  return true;
}

void Reader::skip_banner(std::size_t& i) {
  const std::string_view delimiter = lines_[i].at(2).substr(0, 1);
  if (delimiter.empty() || lines_[i].rest(2).find(delimiter, 1) != std::string_view::npos) return;
  for (std::size_t j = i + 1; j < lines_.size(); ++j) {
    if (lines_[j].text.find(delimiter) == std::string_view::npos) continue;
    i = j;
    return;
  }
}

std::optional<SwitchConfig> Reader::read() {
  indented_ = std::any_of(lines_.begin(), lines_.end(), [](const ConfigLine& line) {
    return line.indent > 0 && line.text.front() != '!' && line.text.front() != '#';
  });
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    ConfigLine& line = lines_[i];
    if (!prepare(line)) continue;
    if (line.at(0) == "banner") {
      skip_banner(i);
      continue;
    }
    take(line);
  }
  if (recognized_ == 0) {
    diagnostics_.error({out_.file, 0, 0}, "not an NX-OS configuration: no supported line found");
    return std::nullopt;
  }
  finish();
  return std::move(out_);
}

void Reader::take(const ConfigLine& line) {
  if (line.at(0) == "exit") {
    if (block_ == Block::interface) block_ = Block::global;
    return;
  }
  if (line.indent == 0 && only_in_block(line)) flat_ = true;
  const bool by_indent = indented_ && !(flat_ && line.indent == 0);
  bool inside = block_ != Block::global && (by_indent ? line.indent > 0 : true);
  if (inside && !by_indent) {
    const std::string_view word = line.at(0) == "no" ? line.at(1) : line.at(0);
    const bool top = std::any_of(std::begin(kTopWords), std::end(kTopWords),
                                 [&](auto known) { return equals_ignoring_case(word, known); });
    const bool context = word == "vrf" && line.at(1) == "context";
    const bool list = word == "ip" && (line.at(1) == "access-list" || (line.at(1) == "route" && block_ != Block::vrf));
    const bool domain = word == "vpc" && line.at(1) == "domain";
    inside = !(top || context || list || domain) || (block_ == Block::vlan && word == "name");
  }
  if (inside && take_in_block(line)) {
    ++recognized_;
    return;
  }
  if (inside && by_indent) {
    ++out_.skipped;
    return;
  }
  if (!inside) {
    block_ = Block::global;
    flat_ = false;
  }
  if (open_block(line) || take_global(line)) {
    ++recognized_;
  } else {
    ++out_.skipped;
    if (!inside) block_ = Block::other;
  }
}

bool Reader::open_block(const ConfigLine& line) {
  const std::string_view word = line.at(0);
  if (abbreviates(word, "interface", 3)) return open_interface(line);
  if (word == "vlan" && line.at(1) != "configuration" && line.at(1) != "dot1Q") return take_vlan(line);
  if (word == "vrf" && line.at(1) == "context") {
    block_ = Block::vrf;
    block_name_ = line.at(2);
    const auto same = [&](const VrfConfig& vrf) { return vrf.name == block_name_; };
    const auto known = std::find_if(out_.vrfs.begin(), out_.vrfs.end(), same);
    vrf_ = static_cast<std::size_t>(known - out_.vrfs.begin());
    if (known == out_.vrfs.end()) out_.vrfs.push_back({block_name_, line.place(), {}, {}});
    return true;
  }
  if (word == "class-map") return open_class_map(line);
  if (word == "policy-map") return open_policy_map(line);
  if (word == "system" && line.at(1) == "qos") {
    block_ = Block::system_qos;
    return true;
  }
  if (word == "router" && line.at(1) == "bgp") {
    block_ = Block::bgp;
    bgp_vrf_.clear();
    neighbor_ = nullptr;
    in_template_ = false;
    return take_bgp(line);
  }
  if ((word == "ip" && line.at(1) == "access-list") || word == "object-group") return open_acl(line);
  if (word == "vpc" && line.at(1) == "domain") {
    block_ = Block::vpc;
    out_.vpc = {true, line.place(), fmt::format("vpc domain {}", line.at(2))};
    return true;
  }
  if (word == "aaa" && line.at(1) == "group" && line.at(2) == "server") {
    block_ = Block::aaa_group;
    aaa_groups_[std::string(line.at(4))] = line.at(3);
    return true;
  }
  return false;
}

bool Reader::take_in_block(const ConfigLine& line) {
  switch (block_) {
    case Block::interface:
      return take_interface(line);
    case Block::vlan:
      if (line.at(0) != "name") return false;
      if (!spend(vlans_.size(), line)) return true;
      for (const std::size_t vlan : vlans_) out_.vlans[vlan].name = line.rest(1);
      return true;
    case Block::vrf:
      return take_vrf(line);
    case Block::class_map:
      return take_match(line);
    case Block::policy_map:
      return take_policy(line);
    case Block::system_qos:
      return take_service_policy(line, system_);
    case Block::bgp:
      return take_bgp(line);
    case Block::acl:
      return take_acl(line);
    case Block::object_group:
      return take_group_entry(line);
    case Block::vpc:
      return take_vpc(line);
    case Block::aaa_group:
    case Block::other:
    case Block::global:
      break;
  }
  return false;
}

bool Reader::take_vlan(const ConfigLine& line) {
  const auto ids = parse_number_list(line.at(1), 1, 4094);
  if (!ids) {
    warn(line, 1, fmt::format("{} is not a VLAN id or range between 1 and 4094", in_backticks(line.at(1))));
    return true;
  }
  block_ = Block::vlan;
  vlans_.clear();
  if (!spend(ids->size() + 4094, line)) return true;
  for (const int id : *ids) {
    std::size_t& index = vlan_index_[id];  // 1 + position
    if (index == 0) {
      out_.vlans.push_back({id, {}, line.place(1)});
      index = out_.vlans.size();
    }
    vlans_.push_back(index - 1);
  }
  return true;
}

bool Reader::take_global(const ConfigLine& line) {
  const bool no = line.at(0) == "no";
  const std::string_view word = line.at(no ? 1 : 0);
  if (word == "hostname" || word == "switchname") {
    if (!no) out_.hostname = {std::string(line.at(1)), line.place(1), std::string(word)};
    return true;
  }
  if (word == "priority-flow-control") return take_global_pfc(line);
  if (word == "feature") return take_feature(line, no);
  if (word == "ip" && line.at(no ? 2 : 1) == "route") return no || take_route(line, 2, {});
  if (word == "ip" && line.at(1) == "load-sharing") {
    const auto seed = std::find(line.words.begin(), line.words.end(), "universal-id");
    if (seed == line.words.end() || seed + 1 == line.words.end()) return true;
    if (const auto value = parse_digits(*(seed + 1))) {
      out_.ecmp_seed = true;
      out_.ecmp_seed_value = {*value, line.place(), "ip load-sharing universal-id"};
    }
    return true;
  }
  return take_management(line, no);
}

void Reader::finish() {
  finish_bgp();
  finish_interfaces();
  finish_qos();
  std::sort(out_.vlans.begin(), out_.vlans.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
  for (AclConfig& acl : out_.acls) {
    std::stable_sort(acl.rules.begin(), acl.rules.end(),
                     [](const auto& a, const auto& b) { return a.sequence < b.sequence; });
  }
  ManagementConfig& management = out_.management;
  if (!management.telnet.known())
    management.telnet = vendor_default(false, "telnet is disabled on NX-OS unless `feature telnet` is set");
  if (!management.lldp.known())
    management.lldp = vendor_default(false, "LLDP is disabled on NX-OS unless `feature lldp` is set");
  if (management.aaa_methods.empty()) {
    management.aaa_methods.push_back(
        vendor_default<std::string>("local", "NX-OS authenticates local users by default"));
  }
  if (out_.vpc.known() && !out_.vpc_keepalive_vrf.known()) {
    out_.vpc_keepalive_vrf =
        vendor_default<std::string>("management", "a vPC keepalive uses the management VRF by default");
  }
}

}  // namespace nxos

std::optional<SwitchConfig> read_nxos(const Sources& sources, FileId file, Diagnostics& diagnostics) {
  return nxos::Reader(sources.text(file), file, diagnostics).read();
}

}  // namespace weft::config
