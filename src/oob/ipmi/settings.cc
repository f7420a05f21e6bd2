#include "oob/ipmi/settings.h"

#include <algorithm>
#include <array>

#include "oob/ipmi/probe.h"

namespace weft::oob {
namespace {

constexpr std::uint8_t kThisChannel = 0x0E;
constexpr std::uint8_t kGetChannelCiphers = 0x54;  // section 22.15.1
constexpr std::uint8_t kSetChannelAccess = 0x40;   // section 22.22
constexpr std::uint8_t kGetChannelAccess = 0x41;   // section 22.23
constexpr std::uint8_t kGetLanParameter = 0x02;    // section 23.2
constexpr std::uint8_t kCipherEntries = 23;        // table 23-4
constexpr std::uint8_t kCipherPrivileges = 24;
constexpr std::size_t kRecordBytes = 16;  // maximum size of a part of the list in one response
constexpr std::uint8_t kMaxParts = 0x40;

// The whole list of records, part by part. not_found: the BMC does not support the command.
Result<IpmiBytes> cipher_records(IpmiSession& session) {
  IpmiBytes records;
  for (std::uint8_t part = 0; part < kMaxParts; ++part) {
    const Result<IpmiBytes> answer = session.command({.command = kGetChannelCiphers,
                                                      .data = {kThisChannel, 0, static_cast<std::uint8_t>(0x80 | part)},
                                                      .what = "read the cipher suites"});
    if (!answer) return answer.error();
    if (!answer->empty()) records.insert(records.end(), answer->begin() + 1, answer->end());
    if (answer->size() < 1 + kRecordBytes) break;  // a part that is not full is the last
  }
  return records;
}

// The entries of the LAN parameters, except those that no privilege level may use (level 0 of parameter 24).
Result<std::vector<int>> cipher_entries(IpmiSession& session) {
  const auto read = [&](std::uint8_t parameter) {
    return session.command({.function = kNetTransport,
                            .command = kGetLanParameter,
                            .data = {kThisChannel, parameter, 0, 0},
                            .what = "read the cipher suites"});
  };
  const Result<IpmiBytes> entries = read(kCipherEntries);
  if (!entries) return entries.error();
  const Result<IpmiBytes> levels = read(kCipherPrivileges);
  if (!levels && levels.error().code == ErrorCode::timeout) return levels.error();
  std::vector<int> suites;
  // Parameter revision and a reserved byte, then one byte per suite, or half a byte in the other parameter.
  for (std::size_t i = 2; i < entries->size() && i < 2 + 16; ++i) {
    const std::size_t nibble = i - 2;
    const std::size_t at = 2 + nibble / 2;
    const bool told = levels && at < levels->size();
    const int level = told ? ((*levels)[at] >> (nibble % 2 == 0 ? 0 : 4)) & 0x0F : 1;
    if (level != 0) suites.push_back((*entries)[i]);
  }
  std::sort(suites.begin(), suites.end());
  suites.erase(std::unique(suites.begin(), suites.end()), suites.end());
  return suites;
}

Status set_access(IpmiSession& session, bool on, std::uint8_t where) {
  const Result<IpmiBytes> now = session.command(
      {.command = kGetChannelAccess, .data = {kThisChannel, where}, .what = "read the channel's access"});
  if (!now) return now.error();
  if (now->empty())
    return Error{ErrorCode::invalid_input, "the BMC sent truncated channel access data", session.options().device};
  // Bits 2 to 0: 0 disabled, 2 always available. Bits 5 to 3 and the privilege limit are unchanged.
  const auto mode = static_cast<std::uint8_t>((where << 6) | ((*now)[0] & 0x38) | (on ? 2 : 0));
  const Result<IpmiBytes> set = session.command({.command = kSetChannelAccess,
                                                 .data = {kThisChannel, mode, 0},
                                                 .what = on ? "enable IPMI over LAN" : "disable IPMI over LAN"});
  return set ? Status() : Status(set.error());
}

}  // namespace

// A record is a tag (C0h: standard, C1h: vendor-specific, with three more bytes), the suite's id, and its algorithms,
// which have bit 7 or 6 set or are below 40h.
std::vector<int> parse_cipher_records(const IpmiBytes& records) {
  std::vector<int> suites;
  for (std::size_t i = 0; i + 1 < records.size(); ++i) {
    if (records[i] == 0xC0) {
      suites.push_back(records[i + 1]);
      ++i;
    } else if (records[i] == 0xC1) {
      i += 4;  // a vendor-specific suite: its id is meaningless to others
    }
  }
  std::sort(suites.begin(), suites.end());
  suites.erase(std::unique(suites.begin(), suites.end()), suites.end());
  return suites;
}

Result<BmcSettings> read_ipmi_settings(IpmiSession& session) {
  BmcSettings settings;
  settings.ipmi_over_lan = true;  // this came over it
  // Some BMCs never answer one of these requests; each costs at most the request limit, and the other results remain
  // valid.
  if (const Result<IpmiBytes> records = cipher_records(session); records) {
    settings.cipher_suites = parse_cipher_records(*records);
  }
  if (settings.cipher_suites.empty()) {
    if (Result<std::vector<int>> entries = cipher_entries(session); entries) settings.cipher_suites = *entries;
  }
  return settings;
}

Status change_ipmi_settings(IpmiSession& session, const SettingsChange& change, const Endpoint& endpoint) {
  if (change.http || change.ssh || change.snmp || change.syslog || change.firewall || change.ntp) {
    return Error{ErrorCode::not_found, "IPMI has no such setting; only IPMI over LAN can be enabled or disabled",
                 endpoint.device};
  }
  if (!change.ipmi_over_lan) return {};
  constexpr std::uint8_t kKept = 1;  // non-volatile: applies after the BMC's next restart
  constexpr std::uint8_t kNow = 2;
  if (const Status kept = set_access(session, *change.ipmi_over_lan, kKept); !kept) return kept.error();
  Status now = set_access(session, *change.ipmi_over_lan, kNow);
  if (now.ok() || *change.ipmi_over_lan || now.error().code != ErrorCode::timeout) return now;
  // Once disabled, the BMC may not respond any more. Then silence is the evidence.
  return probe_ipmi(endpoint).ok() ? now : Status();
}

}  // namespace weft::oob
