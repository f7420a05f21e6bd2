#include "hostprobe/kernel_network.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>

#include "base/file_descriptor.h"
#include "base/text.h"
#include "config/live_text.h"

namespace weft::hostprobe {
namespace {

using config::live_text::number_of;

constexpr std::uint32_t kMaxStatistics = 65'536;
constexpr const char* kCopyFolder = "sos_commands/networking/";

config::HostInterface* find(config::HostFacts& facts, std::string_view name) {
  const auto at = std::find_if(facts.interfaces.begin(), facts.interfaces.end(),
                               [&](const config::HostInterface& interface) { return interface.name == name; });
  return at == facts.interfaces.end() ? nullptr : &*at;
}

void add_address(config::HostInterface& interface, std::uint32_t address, int length) {
  const std::uint32_t mask = length == 0 ? 0 : ~std::uint32_t{0} << static_cast<unsigned>(32 - length);
  interface.addresses.push_back(Ipv4{address});
  interface.prefixes.push_back(Ipv4Prefix{Ipv4{address & mask}, static_cast<std::uint8_t>(length)});
}

std::uint32_t ipv4_bits(const sockaddr* address) {
  sockaddr_in in{};
  std::memcpy(&in, address, sizeof in);
  return ntohl(in.sin_addr.s_addr);
}

void ask_addresses(config::HostFacts& facts) {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) {
    facts.not_read.emplace_back("addresses: getifaddrs failed");
    return;
  }
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> guard(list, ::freeifaddrs);
  for (const ifaddrs* at = list; at != nullptr; at = at->ifa_next) {
    if (at->ifa_addr == nullptr || at->ifa_netmask == nullptr || at->ifa_addr->sa_family != AF_INET) continue;
    config::HostInterface* interface = find(facts, at->ifa_name);
    if (interface == nullptr) continue;
    add_address(*interface, ipv4_bits(at->ifa_addr), std::popcount(ipv4_bits(at->ifa_netmask)));
  }
}

// "2: ens1f0np0    inet 10.60.0.2/27 brd 10.60.0.31 scope global ens1f0np0"
void copied_addresses(const std::string& text, config::HostFacts& facts) {
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    const auto words = split_at_spaces(rest.substr(0, end), kTabsAndSpaces);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    if (words.size() < 4 || words[2] != "inet") continue;
    config::HostInterface* interface = find(facts, words[1].substr(0, words[1].find('@')));
    const std::size_t slash = words[3].find('/');
    const auto address = parse_ipv4(words[3].substr(0, slash));
    const auto length =
        slash == std::string_view::npos ? std::optional<int>(32) : number_of<int>(words[3].substr(slash + 1));
    if (interface == nullptr || !address.ok() || !length || *length < 0 || *length > 32) continue;
    add_address(*interface, address->bits, *length);
  }
}

bool is_pause_counter(std::string_view name) {
  return name.find("pause") != std::string_view::npos || name.find("pfc") != std::string_view::npos;
}

void add_counter(config::HostInterface& interface, std::string_view name, std::uint64_t value) {
  if (value == 0 || !is_pause_counter(name)) return;
  const auto most = static_cast<std::uint64_t>(INT64_MAX);
  interface.pause_counters.emplace_back(std::string(name), static_cast<std::int64_t>(std::min(value, most)));
}

// The ioctl of ethtool(8): how many statistics, their names, their values.
class EthtoolSocket {
 public:
  EthtoolSocket() : fd_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {}
  [[nodiscard]] bool ok() const { return fd_.ok(); }

  [[nodiscard]] bool ask(const std::string& interface, void* command) const {
    ifreq request{};
    if (interface.size() >= sizeof request.ifr_name) return false;
    std::memcpy(request.ifr_name, interface.c_str(), interface.size());
    request.ifr_data = static_cast<char*>(command);
    return ::ioctl(fd_.get(), SIOCETHTOOL, &request) == 0;
  }

 private:
  FileDescriptor fd_;
};

std::uint32_t statistics_of(const EthtoolSocket& socket, const std::string& interface) {
  ethtool_drvinfo info{};
  info.cmd = ETHTOOL_GDRVINFO;
  if (!socket.ask(interface, &info)) return 0;
  return std::min(info.n_stats, kMaxStatistics);
}

void ask_counters(const EthtoolSocket& socket, config::HostInterface& interface) {
  const std::uint32_t count = statistics_of(socket, interface.name);
  if (count == 0) return;
  // Both structures end in an array of `count` entries; 8-byte units keep their alignment.
  std::vector<std::uint64_t> names((sizeof(ethtool_gstrings) + std::size_t{count} * ETH_GSTRING_LEN) / 8 + 1);
  auto* strings = reinterpret_cast<ethtool_gstrings*>(names.data());
  strings->cmd = ETHTOOL_GSTRINGS;
  strings->string_set = ETH_SS_STATS;
  strings->len = count;
  std::vector<std::uint64_t> values(sizeof(ethtool_stats) / 8 + 1 + count);
  auto* statistics = reinterpret_cast<ethtool_stats*>(values.data());
  statistics->cmd = ETHTOOL_GSTATS;
  statistics->n_stats = count;
  if (!socket.ask(interface.name, strings) || !socket.ask(interface.name, statistics)) return;
  const std::uint32_t got = std::min({count, strings->len, statistics->n_stats});
  for (std::uint32_t i = 0; i < got; ++i) {
    const auto* name = reinterpret_cast<const char*>(strings->data + std::size_t{i} * ETH_GSTRING_LEN);
    add_counter(interface, std::string_view(name, ::strnlen(name, ETH_GSTRING_LEN)), statistics->data[i]);
  }
}

// "     rx_prio3_pause: 12"
void copied_counters(const std::string& text, config::HostInterface& interface) {
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    const std::size_t colon = line.rfind(':');
    if (colon == std::string_view::npos) continue;
    const auto value = number_of<std::uint64_t>(trim(line.substr(colon + 1)));
    if (value) add_counter(interface, trim(line.substr(0, colon)), *value);
  }
}

}  // namespace

void read_addresses(const ProbeFiles& files, config::HostFacts& facts) {
  if (files.live()) {
    ask_addresses(facts);
  } else if (const auto text = files.text(std::string(kCopyFolder) + "ip_-o_addr")) {
    copied_addresses(*text, facts);
  } else {
    facts.not_read.push_back(fmt::format("addresses: no {}ip_-o_addr in this copy", kCopyFolder));
  }
}

void read_default_routes(const ProbeFiles& files, config::HostFacts& facts) {
  const auto text = files.text("proc/net/route");
  if (!text) {
    facts.not_read.emplace_back("routes: /proc/net/route cannot be read");
    return;
  }
  // Iface Destination Gateway Flags RefCnt Use Metric Mask ...; addresses are hexadecimal.
  std::string_view rest = *text;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    const auto words = split_at_spaces(rest.substr(0, end), kTabsAndSpaces);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    if (words.size() < 8 || words[1] != "00000000" || words[7] != "00000000") continue;
    if (config::HostInterface* interface = find(facts, words[0])) interface->default_route = true;
  }
}

void read_pause_counters(const ProbeFiles& files, config::HostFacts& facts) {
  if (files.live()) {
    const EthtoolSocket socket;
    if (!socket.ok()) {
      facts.not_read.emplace_back("statistics: no socket to query drivers");
      return;
    }
    for (config::HostInterface& interface : facts.interfaces) {
      if (interface.physical) ask_counters(socket, interface);
    }
    return;
  }
  for (config::HostInterface& interface : facts.interfaces) {
    if (const auto text = files.text(std::string(kCopyFolder) + "ethtool_-S_" + interface.name)) {
      copied_counters(*text, interface);
    }
  }
}

}  // namespace weft::hostprobe
