#include "config/nic_parameters.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "base/quantity.h"
#include "base/text.h"
#include "base/utf8.h"
#include "config/host_text.h"

namespace weft::config {
namespace {

// Decimal, or hexadecimal after 0x as accepted by mlxconfig.
std::optional<std::int64_t> number_in(std::string_view text, std::int64_t low, std::int64_t high) {
  std::optional<std::int64_t> value;
  if (text.starts_with("0x") && text.size() > 2 && text.size() <= 10) {
    std::int64_t sum = 0;
    for (const char c : text.substr(2)) {
      const std::size_t digit = std::string_view("0123456789abcdef").find(c >= 'A' && c <= 'F' ? char(c + 32) : c);
      if (digit == std::string_view::npos) return std::nullopt;
      sum = sum * 16 + static_cast<std::int64_t>(digit);
    }
    value = sum;
  } else if (const auto parsed = parse_integer(text)) {
    value = *parsed;
  }
  if (!value || *value < low || *value > high) return std::nullopt;
  return value;
}

template <class T>
void set_number(std::string_view text, std::int64_t high, const SourceLocation& place, std::string path,
                Setting<T>& out, Diagnostics& diagnostics) {
  const auto value = number_in(trim(text, kLineSpaces), 0, high);
  if (!value) {
    diagnostics.warning(place,
                        fmt::format("{} of `{}` is not a number between 0 and {}", in_backticks(text), path, high));
    return;
  }
  out = {static_cast<T>(*value), place, std::move(path)};
}

}  // namespace

void set_trust(std::string_view text, const SourceLocation& place, std::string path, NicConfig& nic,
               Diagnostics& diagnostics) {
  const std::string word = to_lower(trim(text, kLineSpaces));
  if (word == "dscp") {
    nic.trust = {model::TrustMode::dscp, place, std::move(path)};
  } else if (word == "pcp") {
    nic.trust = {model::TrustMode::pcp, place, std::move(path)};
  } else {
    diagnostics.warning(place, fmt::format("unsupported trust mode {}: expected `dscp` or `pcp`", in_backticks(text)));
  }
}

void set_pfc(std::string_view text, const SourceLocation& place, const std::string& path, NicConfig& nic,
             Diagnostics& diagnostics) {
  const auto parts = split(trim(text, kLineSpaces), ',');
  bool good = parts.size() == nic.pfc.size();
  for (const std::string_view part : parts) good = good && (part == "0" || part == "1");
  if (!good) {
    diagnostics.warning(place,
                        fmt::format("PFC list {} must have eight comma-separated 0/1 values", in_backticks(text)));
    return;
  }
  for (std::size_t i = 0; i < nic.pfc.size(); ++i) nic.pfc[i] = {parts[i] == "1", place, path};
}

void set_tos(std::string_view text, const SourceLocation& place, std::string path, NicConfig& nic,
             Diagnostics& diagnostics) {
  set_number(text, 255, place, std::move(path), nic.tos, diagnostics);
}

void set_cnp_dscp(std::string_view text, const SourceLocation& place, std::string path, NicConfig& nic,
                  Diagnostics& diagnostics) {
  set_number(text, 63, place, std::move(path), nic.cnp_dscp, diagnostics);
}

void set_cnp_priority(std::string_view text, const SourceLocation& place, std::string path, NicConfig& nic,
                      Diagnostics& diagnostics) {
  set_number(text, 7, place, std::move(path), nic.cnp_priority, diagnostics);
}

void set_firmware_parameter(std::string_view name, std::string_view value, const SourceLocation& place, NicConfig& nic,
                            Diagnostics& diagnostics) {
  std::string path(name);
  if (name == "CNP_DSCP_P1") {
    set_cnp_dscp(value, place, std::move(path), nic, diagnostics);
  } else if (name == "CNP_802P_PRIO_P1") {
    set_cnp_priority(value, place, std::move(path), nic, diagnostics);
  } else if (name == "ROCE_CC_PRIO_MASK_P1") {
    set_number(value, 255, place, std::move(path), nic.cc_priority_mask, diagnostics);
  } else if (name == "NUM_OF_VFS") {
    set_number(value, 4096, place, std::move(path), nic.virtual_functions, diagnostics);
  } else if (name == "LINK_TYPE_P1") {
    const bool infiniband = value == "1" || value.starts_with("IB");
    nic.link_type = {infiniband ? "Infiniband" : "Ethernet", place, std::move(path)};
  }
}

}  // namespace weft::config
