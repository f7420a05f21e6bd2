#include "base/ip.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "base/utf8.h"

namespace weft {
namespace {

Error invalid(std::string message) { return {ErrorCode::invalid_input, std::move(message), {}}; }

std::uint32_t mask_of(std::uint8_t length) { return length == 0 ? 0U : ~std::uint32_t{0} << (32U - length); }

// A decimal number of at most three digits, without leading zeros (some programs would read those as octal).
std::optional<std::uint32_t> scan_small_number(std::string_view text) {
  if (text.empty() || text.size() > 3 || (text.size() > 1 && text[0] == '0')) return std::nullopt;
  std::uint32_t value = 0;
  for (const char c : text) {
    if (!is_digit(c)) return std::nullopt;
    value = value * 10 + static_cast<std::uint32_t>(c - '0');
  }
  return value;
}

std::optional<Ipv4> scan_ipv4(std::string_view text) {
  std::uint32_t bits = 0;
  for (int part = 0; part < 4; ++part) {
    const std::size_t dot = part < 3 ? text.find('.') : text.size();
    if (dot == std::string_view::npos) return std::nullopt;
    const std::optional<std::uint32_t> octet = scan_small_number(text.substr(0, dot));
    if (!octet || *octet > 255) return std::nullopt;
    bits = (bits << 8U) | *octet;
    text.remove_prefix(part < 3 ? dot + 1 : dot);
  }
  return Ipv4{bits};
}

std::optional<std::uint16_t> scan_group(std::string_view text) {
  if (text.empty() || text.size() > 4) return std::nullopt;
  std::uint32_t value = 0;
  for (const char c : text) {
    std::uint32_t digit = 0;
    if (is_digit(c)) {
      digit = static_cast<std::uint32_t>(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      digit = static_cast<std::uint32_t>(c - 'a') + 10;
    } else if (c >= 'A' && c <= 'F') {
      digit = static_cast<std::uint32_t>(c - 'A') + 10;
    } else {
      return std::nullopt;
    }
    value = value * 16 + digit;
  }
  return static_cast<std::uint16_t>(value);
}

struct Groups {
  std::array<std::uint16_t, 8> values{};
  std::size_t count = 0;

  bool push(std::uint32_t value) {
    if (count == values.size()) return false;
    values[count++] = static_cast<std::uint16_t>(value);
    return true;
  }
};

// Groups separated by single colons; the last may be a dotted IPv4 address when `may_end_in_ipv4`.
std::optional<Groups> scan_groups(std::string_view text, bool may_end_in_ipv4) {
  Groups groups;
  if (text.empty()) return groups;
  while (true) {
    const std::size_t colon = text.find(':');
    const std::string_view part = text.substr(0, colon);
    const bool last = colon == std::string_view::npos;
    if (last && may_end_in_ipv4 && part.find('.') != std::string_view::npos) {
      const std::optional<Ipv4> tail = scan_ipv4(part);
      if (!tail || !groups.push(tail->bits >> 16U) || !groups.push(tail->bits & 0xFFFFU)) return std::nullopt;
      return groups;
    }
    const std::optional<std::uint16_t> group = scan_group(part);
    if (!group || !groups.push(*group)) return std::nullopt;
    if (last) return groups;
    text.remove_prefix(colon + 1);
  }
}

std::optional<Ipv6> scan_ipv6(std::string_view text) {
  const std::size_t gap = text.find("::");
  if (gap == std::string_view::npos) {
    const std::optional<Groups> all = scan_groups(text, true);
    if (!all || all->count != 8) return std::nullopt;
    return Ipv6{all->values};
  }
  const std::optional<Groups> head = scan_groups(text.substr(0, gap), false);
  const std::optional<Groups> tail = scan_groups(text.substr(gap + 2), true);
  if (!head || !tail || head->count + tail->count > 7) return std::nullopt;  // "::" replaces at least one group
  Ipv6 address{head->values};
  for (std::size_t i = 0; i < tail->count; ++i) address.groups[8 - tail->count + i] = tail->values[i];
  return address;
}

Ipv6 masked(const Ipv6& address, std::uint8_t length) {
  Ipv6 base;
  for (std::size_t i = 0; i < 8; ++i) {
    const std::size_t before = 16 * i;
    if (length <= before) break;
    const std::size_t kept = length - before;
    const std::uint32_t mask = kept >= 16 ? 0xFFFFU : (0xFFFFU << (16U - kept)) & 0xFFFFU;
    base.groups[i] = static_cast<std::uint16_t>(address.groups[i] & mask);
  }
  return base;
}

// The address and the length of "address/length", or nullopt if there is no valid length.
std::optional<std::pair<std::string_view, std::uint8_t>> split_prefix(std::string_view text, std::uint32_t max) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const std::optional<std::uint32_t> length = scan_small_number(text.substr(slash + 1));
  if (!length || *length > max) return std::nullopt;
  return std::pair{text.substr(0, slash), static_cast<std::uint8_t>(*length)};
}

// RFC 5952: the longest run of at least two zero groups, the first if there are several. {8, 0} if there is none.
std::pair<std::size_t, std::size_t> longest_zero_run(const Ipv6& address) {
  std::size_t best = 8;
  std::size_t best_count = 0;
  for (std::size_t i = 0; i < 8; ++i) {
    std::size_t count = 0;
    while (i + count < 8 && address.groups[i + count] == 0) ++count;
    if (count >= 2 && count > best_count) {
      best = i;
      best_count = count;
    }
  }
  return {best, best_count};
}

bool is_mapped_ipv4(const Ipv6& address) {
  for (std::size_t i = 0; i < 5; ++i) {
    if (address.groups[i] != 0) return false;
  }
  return address.groups[5] == 0xFFFF;
}

}  // namespace

bool Ipv4Prefix::contains(Ipv4 address) const { return (address.bits & mask_of(length)) == base.bits; }

bool Ipv4Prefix::contains(const Ipv4Prefix& other) const { return other.length >= length && contains(other.base); }

bool Ipv4Prefix::overlaps(const Ipv4Prefix& other) const { return contains(other) || other.contains(*this); }

Ipv4 Ipv4Prefix::at(std::uint64_t n) const {
  CHECK(n < size(), "address outside the prefix");
  return {base.bits + static_cast<std::uint32_t>(n)};
}

Ipv4Prefix Ipv4Prefix::sub(std::uint8_t sub_length, std::uint64_t n) const {
  CHECK(sub_length >= length && sub_length <= 32, "a sub-prefix is at least as long");
  CHECK(n < std::uint64_t{1} << (sub_length - length), "sub-prefix outside the prefix");
  return {{base.bits + static_cast<std::uint32_t>(n << (32U - sub_length))}, sub_length};
}

Result<Ipv4> parse_ipv4(std::string_view text) {
  const std::optional<Ipv4> address = scan_ipv4(text);
  if (address) return *address;
  return invalid(fmt::format("{} is not an IPv4 address: expected one such as 10.0.0.1", in_backticks(text)));
}

Result<Ipv4Prefix> parse_ipv4_prefix(std::string_view text) {
  const auto parts = split_prefix(text, 32);
  const std::optional<Ipv4> address = parts ? scan_ipv4(parts->first) : std::nullopt;
  if (!address) {
    return invalid(fmt::format("{} is not an IPv4 prefix: expected one such as 10.0.0.0/16", in_backticks(text)));
  }
  const Ipv4Prefix prefix = {{address->bits & mask_of(parts->second)}, parts->second};
  if (prefix.base == *address) return prefix;
  return invalid(fmt::format("{} has host bits set: the prefix is {}", in_backticks(text), to_text(prefix)));
}

Result<Ipv6> parse_ipv6(std::string_view text) {
  const std::optional<Ipv6> address = scan_ipv6(text);
  if (address) return *address;
  return invalid(fmt::format("{} is not an IPv6 address: expected one such as 2001:db8::1", in_backticks(text)));
}

Result<Ipv6Prefix> parse_ipv6_prefix(std::string_view text) {
  const auto parts = split_prefix(text, 128);
  const std::optional<Ipv6> address = parts ? scan_ipv6(parts->first) : std::nullopt;
  if (!address) {
    return invalid(fmt::format("{} is not an IPv6 prefix: expected one such as 2001:db8::/32", in_backticks(text)));
  }
  const Ipv6Prefix prefix = {masked(*address, parts->second), parts->second};
  if (prefix.base == *address) return prefix;
  return invalid(fmt::format("{} has host bits set: the prefix is {}", in_backticks(text), to_text(prefix)));
}

std::string to_text(Ipv4 address) {
  return fmt::format("{}.{}.{}.{}", address.bits >> 24U, (address.bits >> 16U) & 255U, (address.bits >> 8U) & 255U,
                     address.bits & 255U);
}

std::string to_text(const Ipv4Prefix& prefix) {
  return fmt::format("{}/{}", to_text(prefix.base), static_cast<unsigned>(prefix.length));
}

std::string to_text(const Ipv6& address) {
  if (is_mapped_ipv4(address)) {  // RFC 5952, section 5
    const std::uint32_t bits = (std::uint32_t{address.groups[6]} << 16U) | address.groups[7];
    return "::ffff:" + to_text(Ipv4{bits});
  }
  const auto [gap, gap_count] = longest_zero_run(address);
  std::string text;
  for (std::size_t i = 0; i < 8;) {
    if (i == gap) {
      text += "::";
      i += gap_count;
      continue;
    }
    if (!text.empty() && text.back() != ':') text += ':';
    text += fmt::format("{:x}", static_cast<unsigned>(address.groups[i++]));
  }
  return text;
}

std::string to_text(const Ipv6Prefix& prefix) {
  return fmt::format("{}/{}", to_text(prefix.base), static_cast<unsigned>(prefix.length));
}

}  // namespace weft
