// PCI addresses as kernels and drivers print them: "0000:3b:00.0", without the function, without the domain, or with
// one of eight digits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weft::health {

struct PciAddress {
  std::uint32_t domain = 0;
  std::uint32_t bus = 0;
  std::uint32_t device = 0;
  std::uint32_t function = 0;
};

// Removes an address from the front of `text`. nullopt, with nothing removed: there is none.
[[nodiscard]] std::optional<PciAddress> take_pci_address(std::string_view& text);

// A requester ID, "00e8": eight bits of bus, five of device, three of function; in the domain of the port that saw it.
[[nodiscard]] PciAddress from_requester_id(std::uint32_t domain, std::uint32_t id);

[[nodiscard]] std::string format_pci_device(const PciAddress& address);    // "0000:3b:00"
[[nodiscard]] std::string format_pci_function(const PciAddress& address);  // "0000:3b:00.0"

}  // namespace weft::health
