// IPv4 and IPv6 addresses and prefixes: parsing, printing, arithmetic. No sockets.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace weft {

struct Ipv4 {
  std::uint32_t bits = 0;  // host order; 0 means "none" where an address is optional
  friend auto operator<=>(const Ipv4&, const Ipv4&) = default;
};

struct Ipv4Prefix {
  Ipv4 base;  // host bits are zero
  std::uint8_t length = 0;

  [[nodiscard]] std::uint64_t size() const { return std::uint64_t{1} << (32 - length); }
  [[nodiscard]] bool contains(Ipv4 address) const;
  [[nodiscard]] bool contains(const Ipv4Prefix& other) const;
  [[nodiscard]] bool overlaps(const Ipv4Prefix& other) const;
  // The n-th address; n < size().
  [[nodiscard]] Ipv4 at(std::uint64_t n) const;
  // The n-th sub-prefix of the given length.
  [[nodiscard]] Ipv4Prefix sub(std::uint8_t sub_length, std::uint64_t n) const;
  friend bool operator==(const Ipv4Prefix&, const Ipv4Prefix&) = default;
};

struct Ipv6 {
  std::array<std::uint16_t, 8> groups{};
  friend auto operator<=>(const Ipv6&, const Ipv6&) = default;
};

struct Ipv6Prefix {
  Ipv6 base;
  std::uint8_t length = 0;
  friend bool operator==(const Ipv6Prefix&, const Ipv6Prefix&) = default;
};

[[nodiscard]] Result<Ipv4> parse_ipv4(std::string_view text);
[[nodiscard]] Result<Ipv4Prefix> parse_ipv4_prefix(std::string_view text);  // rejects host bits, names the right base
[[nodiscard]] Result<Ipv6> parse_ipv6(std::string_view text);
[[nodiscard]] Result<Ipv6Prefix> parse_ipv6_prefix(std::string_view text);

[[nodiscard]] std::string to_text(Ipv4 address);
[[nodiscard]] std::string to_text(const Ipv4Prefix& prefix);
[[nodiscard]] std::string to_text(const Ipv6& address);  // RFC 5952 form
[[nodiscard]] std::string to_text(const Ipv6Prefix& prefix);

}  // namespace weft
