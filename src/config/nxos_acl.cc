// NX-OS: IPv4 access lists and the address groups they use.
#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.h"
#include "config/number_list.h"
#include "config/nxos_reader.h"

namespace weft::config::nxos {
namespace {

constexpr std::size_t kMaxRules = 100'000;
constexpr std::size_t kMaxGroup = 1024;

struct Named {
  std::string_view name;
  int number;
};

constexpr Named kProtocols[] = {{"icmp", 1}, {"igmp", 2}, {"tcp", 6},    {"udp", 17},  {"gre", 47},
                                {"esp", 50}, {"ahp", 51}, {"eigrp", 88}, {"ospf", 89}, {"pim", 103}};
constexpr Named kPorts[] = {{"ftp", 21},       {"ssh", 22},    {"telnet", 23}, {"smtp", 25},
                            {"tacacs", 49},    {"domain", 53}, {"bootps", 67}, {"bootpc", 68},
                            {"tftp", 69},      {"www", 80},    {"ntp", 123},   {"snmp", 161},
                            {"snmptrap", 162}, {"bgp", 179},   {"https", 443}, {"syslog", 514}};

template <std::size_t N>
std::optional<int> number_named(std::string_view word, const Named (&names)[N], int high) {
  for (const Named& known : names) {
    if (word == known.name) return known.number;
  }
  const auto number = parse_digits(word);
  return number && *number <= high ? std::optional(static_cast<int>(*number)) : std::nullopt;
}

}  // namespace

bool Reader::open_acl(const ConfigLine& line) {
  if (line.at(0) == "object-group") {
    block_ = line.at(1) == "ip" && line.at(2) == "address" ? Block::object_group : Block::other;
    block_name_ = line.at(3);
    if (block_ == Block::object_group) groups_[block_name_];
    return true;
  }
  block_ = Block::acl;
  // IOS writes `ip access-list extended NAME`.
  const std::size_t word = line.at(2) == "extended" ? 3 : 2;
  AclConfig& acl = out_.acls.emplace_back();
  acl.name = line.at(word);
  acl.place = line.place();
  return true;
}

bool Reader::take_group_entry(const ConfigLine& line) {
  ConfigLine entry = line;
  if (parse_digits(entry.at(0)) && entry.size() > 1) entry.drop(1);
  std::size_t word = 0;
  const auto found = endpoint(entry, word, false);
  std::vector<Ipv4Prefix>& group = groups_[block_name_];
  if (found && group.size() < kMaxGroup) group.insert(group.end(), found->prefixes.begin(), found->prefixes.end());
  return true;
}

// any | host A | A/len | A wildcard | addrgroup NAME, and then ports.
std::optional<Reader::Endpoint> Reader::endpoint(const ConfigLine& line, std::size_t& word, bool ports) {
  Endpoint end;
  const std::string_view first = line.at(word);
  std::optional<Ipv4Prefix> prefix;
  if (first == "any") {
    prefix = Ipv4Prefix{};
    word += 1;
  } else if (first == "host") {
    prefix = prefix_of(fmt::format("{}/32", line.at(word + 1)));
    word += 2;
  } else if (first == "addrgroup" || first == "object-group") {
    const auto group = groups_.find(line.at(word + 1));
    if (group != groups_.end()) end.prefixes = group->second;
    word += 2;
  } else if (first.find('/') != std::string_view::npos) {
    prefix = prefix_of(first);
    word += 1;
  } else {
    prefix = prefix_of_mask(first, line.at(word + 1), true);
    word += 2;
  }
  if (prefix) end.prefixes.push_back(*prefix);
  if (end.prefixes.empty()) {
    warn(line, std::min(word, line.size()) - 1, fmt::format("invalid address {}", in_backticks(first)));
    return std::nullopt;
  }
  if (ports) take_ports(line, word, end);
  return end;
}

void Reader::take_ports(const ConfigLine& line, std::size_t& word, Endpoint& end) {
  const std::string_view operation = line.at(word);
  const auto port = number_named(line.at(word + 1), kPorts, 65535);
  if (operation != "eq" && operation != "range" && operation != "lt" && operation != "gt" && operation != "neq") return;
  end.ports_given = true;
  word += 2;
  const int number = port.value_or(0);
  if (!port || operation == "neq") {
    end.unclear = true;
  } else if (operation == "eq") {
    end.low = end.high = number;
  } else if (operation == "lt") {
    end.high = std::max(0, number - 1);
  } else if (operation == "gt") {
    end.low = std::min(65535, number + 1);
  } else {
    const auto last = number_named(line.at(word), kPorts, 65535);
    word += 1;
    end.low = number;
    end.high = last.value_or(65535);
    end.unclear = !last || end.high < end.low;
  }
}

// [10] permit|deny PROTOCOL SOURCE [PORTS] DESTINATION [PORTS] [...]
bool Reader::take_acl(const ConfigLine& line) {
  if (out_.acls.empty()) return false;
  AclConfig& acl = out_.acls.back();
  const auto numbered = parse_digits(line.at(0));
  std::size_t word = numbered ? 1 : 0;
  const std::string_view action = line.at(word);
  if (action == "remark" || line.at(0) == "statistics" || line.at(0) == "fragments") return true;
  if (action != "permit" && action != "deny") return false;
  AclRule rule;
  rule.place = line.place();
  rule.permit = action == "permit";
  rule.sequence = numbered.value_or(acl.rules.empty() ? 10 : acl.rules.back().sequence + 10);
  const std::string_view protocol = line.at(++word);
  if (protocol != "ip" && protocol != "ipv4") {
    const auto number = number_named(protocol, kProtocols, 255);
    if (!number) {
      warn(line, word, fmt::format("unsupported protocol {}", in_backticks(protocol)));
      return true;
    }
    rule.protocol = number.value_or(-1);
  }
  ++word;
  const bool ports = rule.protocol == 6 || rule.protocol == 17;
  const auto source = endpoint(line, word, ports);
  const auto destination = source ? endpoint(line, word, ports) : std::nullopt;
  if (!source || !destination) return true;
  bool narrowed = source->ports_given || destination->unclear;
  for (; word < line.size(); ++word) narrowed = narrowed || line.at(word) != "log";
  // A rule with further conditions matches fewer packets than it appears to: a permit is kept, a deny must be ignored.
  if (!rule.permit && narrowed) {
    ++out_.skipped;
    return true;
  }
  rule.port_low = destination->unclear ? 0 : destination->low;
  rule.port_high = destination->unclear ? 65535 : destination->high;
  for (const Ipv4Prefix& from : source->prefixes) {
    for (const Ipv4Prefix& to : destination->prefixes) {
      if (acl.rules.size() >= kMaxRules || !spend(1, line)) return true;
      rule.source = from;
      rule.destination = to;
      acl.rules.push_back(rule);
    }
  }
  return true;
}

}  // namespace weft::config::nxos
