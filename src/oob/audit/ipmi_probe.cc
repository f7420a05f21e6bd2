#include "oob/audit/ipmi_probe.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <functional>
#include <utility>

#include "base/socket.h"

namespace weft::oob {
namespace {

// IPMI 2.0, table 13-1: RMCP version 1.0, reserved, no acknowledgement, then the class.
constexpr std::array<std::uint8_t, 3> kRmcp = {0x06, 0x00, 0xFF};
constexpr std::uint8_t kClassAsf = 0x06;
constexpr std::uint8_t kClassIpmi = 0x07;
constexpr std::array<std::uint8_t, 4> kAsfNumber = {0x00, 0x00, 0x11, 0xBE};  // IANA 4542, big endian
constexpr std::uint8_t kPing = 0x80;
constexpr std::uint8_t kPong = 0x40;
constexpr std::uint8_t kBmcAddress = 0x20;     // section 5.1
constexpr std::uint8_t kRemoteConsole = 0x81;  // software id of a remote console, section 5.5
constexpr std::uint8_t kAppRequest = 0x06 << 2U;
constexpr std::uint8_t kAppResponse = 0x07 << 2U;
constexpr std::uint8_t kGetAuthCapabilities = 0x38;
constexpr std::uint8_t kGetCipherSuites = 0x54;
constexpr std::uint8_t kThisChannel = 0x0E;
constexpr std::uint8_t kAdministrator = 0x04;
constexpr std::size_t kSessionHeader = 14;  // RMCP 4, authentication type 1, sequence 4, session 4, length 1
constexpr std::size_t kListChunk = 16;
constexpr std::uint8_t kListEntries = 64;  // the index has six bits
constexpr int kTries = 2;                  // UDP loses datagrams
constexpr std::uint8_t kTag = 0x57;

// The two's complement that makes the sum zero (section 13.8).
std::uint8_t checksum(std::span<const std::uint8_t> bytes) {
  unsigned sum = 0;
  for (const std::uint8_t byte : bytes) sum += byte;
  return static_cast<std::uint8_t>((0x100U - (sum & 0xFFU)) & 0xFFU);
}

// An IPMI request outside any session, in the packet format of IPMI 1.5 (section 13.6).
Bytes8 sessionless(std::uint8_t command, std::uint8_t sequence, std::span<const std::uint8_t> data) {
  Bytes8 message = {kBmcAddress, kAppRequest};
  message.push_back(checksum(message));
  const Bytes8 body_start = {kRemoteConsole, static_cast<std::uint8_t>((sequence & 0x3FU) << 2U), command};
  Bytes8 body = body_start;
  body.insert(body.end(), data.begin(), data.end());
  body.push_back(checksum(body));
  message.insert(message.end(), body.begin(), body.end());
  Bytes8 packet(kRmcp.begin(), kRmcp.end());
  packet.push_back(kClassIpmi);
  packet.insert(packet.end(), 9, 0);  // authentication none, sequence 0, session 0
  packet.push_back(static_cast<std::uint8_t>(message.size()));
  packet.insert(packet.end(), message.begin(), message.end());
  return packet;
}

bool starts_with_rmcp(std::span<const std::uint8_t> reply, std::uint8_t class_of_message) {
  return reply.size() >= 4 && reply[0] == kRmcp[0] && reply[2] == kRmcp[2] && reply[3] == class_of_message;
}

// The data of a reply to `command` after its completion code, if that is 0 and all checksums are valid.
std::optional<std::span<const std::uint8_t>> data_of(std::span<const std::uint8_t> reply, std::uint8_t command,
                                                     std::uint8_t sequence) {
  if (!starts_with_rmcp(reply, kClassIpmi) || reply.size() < kSessionHeader + 8) return std::nullopt;
  for (std::size_t i = 4; i < kSessionHeader - 1; ++i) {
    if (reply[i] != 0) return std::nullopt;  // not outside a session
  }
  const std::size_t length = reply[kSessionHeader - 1];
  // Some BMCs pad a datagram by a byte (section 13.6, table 13-8: legacy pad).
  if (length < 8 || reply.size() < kSessionHeader + length || reply.size() > kSessionHeader + length + 1)
    return std::nullopt;
  const auto message = reply.subspan(kSessionHeader, length);
  if (message[0] != kRemoteConsole || message[1] != kAppResponse || checksum(message.first(2)) != message[2])
    return std::nullopt;
  const auto body = message.subspan(3);
  if (checksum(body.first(body.size() - 1)) != body.back()) return std::nullopt;
  if (body[0] != kBmcAddress || body[1] != static_cast<std::uint8_t>((sequence & 0x3FU) << 2U) || body[2] != command)
    return std::nullopt;
  if (body[3] != 0) return std::nullopt;  // completion code
  return body.subspan(4, body.size() - 5);
}

// A UDP socket connected to one address.
class Line {
 public:
  Status open(const std::string& host, std::uint16_t port) {
    const Lookup found = look_up_host(host, port, SOCK_DGRAM);
    if (found.error != 0) return Error{ErrorCode::unavailable, "the host name does not resolve", host};
    Connection made = connect_socket(*found.list, Deadline());  // UDP: connect() does not block
    if (!made.ok()) return Error{ErrorCode::unavailable, "no route to the host", host};
    socket_ = std::move(made.socket);
    return {};
  }

  // Retransmits until `is_reply` accepts a datagram or the attempts are used up. False at once if the port is closed.
  bool ask(const Bytes8& request, Duration wait, const std::function<bool(std::span<const std::uint8_t>)>& is_reply) {
    for (int attempt = 0; attempt < kTries; ++attempt) {
      if (send(socket_.get(), request.data(), request.size(), 0) < 0 && errno == ECONNREFUSED) return false;
      const auto deadline = std::chrono::steady_clock::now() + std::chrono::nanoseconds(wait.count());
      while (wait_until_ready(socket_.get(), POLLIN, deadline) == 0) {
        std::array<std::uint8_t, 512> buffer{};
        const ssize_t got = recv(socket_.get(), buffer.data(), buffer.size(), 0);
        if (got < 0 && errno == ECONNREFUSED) return false;  // ICMP: port unreachable
        if (got < 0) continue;
        if (is_reply({buffer.data(), static_cast<std::size_t>(got)})) return true;
      }
    }
    return false;
  }

 private:
  FileDescriptor socket_;
};

void ask_suites(Line& line, Duration wait, IpmiProbe& probe) {
  Bytes8 records;
  for (std::uint8_t index = 0; index < kListEntries; ++index) {
    const auto sequence = static_cast<std::uint8_t>((index + 2U) & 0x3FU);
    std::optional<Bytes8> chunk;
    const bool answered = line.ask(cipher_suites_request(sequence, index), wait, [&](auto reply) {
      chunk = read_cipher_suites(reply, sequence);
      return chunk.has_value();
    });
    if (!answered) return;  // an incomplete list is discarded
    probe.answered = true;
    records.insert(records.end(), chunk->begin(), chunk->end());
    if (chunk->size() < kListChunk) break;
  }
  if (std::optional<std::vector<int>> suites = suites_of(records)) probe.suites = std::move(*suites);
}

}  // namespace

Bytes8 presence_ping(std::uint8_t tag) {
  Bytes8 packet(kRmcp.begin(), kRmcp.end());
  packet.push_back(kClassAsf);
  packet.insert(packet.end(), kAsfNumber.begin(), kAsfNumber.end());
  packet.insert(packet.end(), {kPing, tag, 0, 0});
  return packet;
}

bool is_presence_pong(std::span<const std::uint8_t> reply, std::uint8_t tag) {
  constexpr std::size_t kSize = 12 + 16;
  if (!starts_with_rmcp(reply, kClassAsf) || reply.size() < kSize) return false;
  if (!std::equal(kAsfNumber.begin(), kAsfNumber.end(), reply.begin() + 4)) return false;
  if (reply[8] != kPong || reply[9] != tag || reply[11] != 16) return false;
  return (reply[20] & 0x80U) != 0;  // supported entities: IPMI
}

Bytes8 auth_capabilities_request(std::uint8_t sequence) {
  const std::array<std::uint8_t, 2> data = {0x80U | kThisChannel, kAdministrator};  // 80h: include IPMI 2.0 data
  return sessionless(kGetAuthCapabilities, sequence, data);
}

std::optional<AuthCapabilities> read_auth_capabilities(std::span<const std::uint8_t> reply, std::uint8_t sequence) {
  const auto data = data_of(reply, kGetAuthCapabilities, sequence);
  if (!data || data->size() != 8) return std::nullopt;
  AuthCapabilities capabilities;
  capabilities.no_authentication = ((*data)[1] & 0x01U) != 0;
  capabilities.anonymous_login = ((*data)[2] & 0x01U) != 0;
  capabilities.null_users = ((*data)[2] & 0x02U) != 0;
  capabilities.ipmi_2_0 = ((*data)[1] & 0x80U) != 0 && ((*data)[3] & 0x02U) != 0;
  return capabilities;
}

Bytes8 cipher_suites_request(std::uint8_t sequence, std::uint8_t index) {
  // Payload type 0 is IPMI; 80h requests the list by suite.
  const std::array<std::uint8_t, 3> data = {kThisChannel, 0x00, static_cast<std::uint8_t>(0x80U | (index & 0x3FU))};
  return sessionless(kGetCipherSuites, sequence, data);
}

std::optional<Bytes8> read_cipher_suites(std::span<const std::uint8_t> reply, std::uint8_t sequence) {
  const auto data = data_of(reply, kGetCipherSuites, sequence);
  if (!data || data->empty() || data->size() > 1 + kListChunk) return std::nullopt;
  return Bytes8(data->begin() + 1, data->end());  // after the channel number
}

std::optional<std::vector<int>> suites_of(std::span<const std::uint8_t> records) {
  constexpr std::uint8_t kStandard = 0xC0;
  constexpr std::uint8_t kMakers = 0xC1;
  std::vector<int> suites;
  for (std::size_t i = 0; i < records.size();) {
    const bool standard = records[i] == kStandard;
    if (!standard && records[i] != kMakers) return std::nullopt;
    const std::size_t header = standard ? 2 : 5;  // start, number, and the vendor's IANA number
    if (records.size() - i < header) return std::nullopt;
    if (standard) suites.push_back(records[i + 1]);
    // The algorithms: tags 00 authentication, 01 integrity, 10 confidentiality in the two upper bits.
    for (i += header; i < records.size() && (records[i] & 0xC0U) != 0xC0U;) ++i;
  }
  std::sort(suites.begin(), suites.end());
  suites.erase(std::unique(suites.begin(), suites.end()), suites.end());
  return suites;
}

Result<IpmiProbe> probe_open_ipmi(const std::string& host, std::uint16_t port, Duration wait) {
  Line line;
  const Status opened = line.open(host, port);
  if (!opened.ok()) return opened.error();
  IpmiProbe probe;
  std::optional<AuthCapabilities> capabilities;
  constexpr std::uint8_t kSequence = 1;
  if (line.ask(auth_capabilities_request(kSequence), wait, [&](auto reply) {
        capabilities = read_auth_capabilities(reply, kSequence);
        return capabilities.has_value();
      })) {
    probe.answered = true;
    probe.anonymous_login = capabilities->anonymous_login;
    ask_suites(line, wait, probe);
    return probe;
  }
  probe.answered = line.ask(presence_ping(kTag), wait, [](auto reply) { return is_presence_pong(reply, kTag); });
  return probe;
}

}  // namespace weft::oob
