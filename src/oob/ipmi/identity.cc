#include "oob/ipmi/identity.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>

#include "oob/ipmi/lazy_freeipmi.h"

namespace weft::oob {
namespace {

constexpr std::uint8_t kGetDeviceId = 0x01;       // section 20.1
constexpr std::uint8_t kGetSystemGuid = 0x37;     // section 22.14
constexpr std::uint8_t kGetInventoryInfo = 0x10;  // section 34.1
constexpr std::uint8_t kReadInventory = 0x11;     // section 34.2
// The required areas are at the start; vendors fill the rest of large memories with other data.
constexpr std::size_t kMaxInventory = 2048;
constexpr std::uint8_t kInventoryPart = 16;  // every BMC can return this much at once

struct CloseInventory {
  void operator()(ipmi_fru_ctx_t context) const { ipmi_fru_ctx_destroy(context); }
};

// IPMI sends the GUID least significant byte first (section 20.8); the text form is the reverse.
std::string guid_text(const IpmiBytes& guid) {
  if (guid.size() < 16 || std::all_of(guid.begin(), guid.begin() + 16, [](std::uint8_t byte) { return byte == 0; })) {
    return {};
  }
  std::string text;
  for (std::size_t i = 0; i < 16; ++i) {
    text += fmt::format("{:02x}", guid[15 - i]);
    if (i == 3 || i == 5 || i == 7 || i == 9) text += '-';
  }
  return text;
}

std::string manufacturer_name(std::uint32_t number) {
  std::array<char, 256> name{};
  if (ipmi_iana_enterprise_numbers_string(number, name.data(), static_cast<unsigned int>(name.size() - 1)) > 0) {
    return name.data();
  }
  return fmt::format("enterprise {}", number);
}

std::string field_text(ipmi_fru_ctx_t context, const ipmi_fru_field_t& field) {
  if (field.type_length_field_length == 0) return {};
  std::array<char, IPMI_FRU_AREA_STRING_MAX + 1> text{};
  unsigned int size = IPMI_FRU_AREA_STRING_MAX;
  if (ipmi_fru_type_length_field_to_string(context, field.type_length_field, field.type_length_field_length,
                                           IPMI_FRU_LANGUAGE_CODE_ENGLISH, text.data(), &size) < 0) {
    return {};
  }
  std::string clean(text.data());
  std::replace_if(
      clean.begin(), clean.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  while (!clean.empty() && clean.back() == ' ') clean.pop_back();
  return clean;
}

Result<IpmiBytes> read_inventory(IpmiSession& session) {
  const Result<IpmiBytes> info = session.command(
      {.function = kNetStorage, .command = kGetInventoryInfo, .data = {0}, .what = "read the inventory"});
  if (!info) return info.error();
  if (info->size() < 3) return IpmiBytes();
  const std::size_t whole = std::min(std::size_t{(*info)[0]} | (std::size_t{(*info)[1]} << 8U), kMaxInventory);
  const bool words = ((*info)[2] & 1) != 0;  // addressed in two-byte words
  IpmiBytes inventory;
  while (inventory.size() < whole) {
    const std::size_t at = words ? inventory.size() / 2 : inventory.size();
    const Result<IpmiBytes> part =
        session.command({.function = kNetStorage,
                         .command = kReadInventory,
                         .data = {0, static_cast<std::uint8_t>(at & 0xFF), static_cast<std::uint8_t>(at >> 8),
                                  words ? std::uint8_t{kInventoryPart / 2} : kInventoryPart},
                         .what = "read the inventory"});
    if (!part) return part.error();
    if (part->size() < 2) break;  // a count without data: the end
    const std::size_t got = std::min(part->size() - 1, whole - inventory.size());
    inventory.insert(inventory.end(), part->begin() + 1, part->begin() + 1 + static_cast<std::ptrdiff_t>(got));
    if (words && got % 2 != 0) break;
  }
  return inventory;
}

}  // namespace

void parse_ipmi_inventory(const IpmiBytes& inventory, BmcIdentity& identity) {
  const std::unique_ptr<ipmi_fru_ctx, CloseInventory> context(ipmi_fru_ctx_create(nullptr));
  if (!context || inventory.empty()) return;
  if (ipmi_fru_open_device_id_with_buffer(context.get(), inventory.data(),
                                          static_cast<unsigned int>(inventory.size())) < 0) {
    return;
  }
  IpmiBytes area(IPMI_FRU_AREA_SIZE_MAX + 1);
  do {
    unsigned int type = 0;
    unsigned int size = 0;
    if (ipmi_fru_read_data_area(context.get(), &type, &size, area.data(), IPMI_FRU_AREA_SIZE_MAX) < 0) continue;
    if (type != IPMI_FRU_AREA_TYPE_PRODUCT_INFO_AREA || size == 0) continue;
    std::array<ipmi_fru_field_t, 7> fields{};
    std::uint8_t language = 0;
    if (ipmi_fru_product_info_area(context.get(), area.data(), size, &language, &fields[0], &fields[1], &fields[2],
                                   &fields[3], &fields[4], &fields[5], &fields[6], nullptr, 0) < 0) {
      continue;
    }
    const auto take = [&](std::size_t field, std::string& to) {
      if (std::string text = field_text(context.get(), fields[field]); !text.empty()) to = std::move(text);
    };
    take(0, identity.manufacturer);
    take(1, identity.model);
    take(4, identity.serial);
  } while (ipmi_fru_next(context.get()) == 1);
}

Result<BmcIdentity> read_ipmi_identity(IpmiSession& session) {
  const Result<IpmiBytes> device = session.command({.command = kGetDeviceId, .what = "read the device id"});
  if (!device) return device.error();
  if (device->size() < 11) {
    return Error{ErrorCode::invalid_input, "the BMC sent a truncated device id", session.options().device};
  }
  BmcIdentity identity;
  // The minor revision is in binary coded decimal.
  identity.firmware = fmt::format("{}.{:02x}", (*device)[2] & 0x7F, (*device)[3]);
  identity.manufacturer =
      manufacturer_name(static_cast<std::uint32_t>((*device)[6] | ((*device)[7] << 8) | (((*device)[8] & 0x0F) << 16)));
  const Result<IpmiBytes> guid = session.command({.command = kGetSystemGuid, .what = "read the system's GUID"});
  if (guid) identity.uuid = guid_text(*guid);
  if (!guid && guid.error().code == ErrorCode::timeout) return guid.error();
  const Result<IpmiBytes> inventory = read_inventory(session);
  if (inventory) parse_ipmi_inventory(*inventory, identity);
  if (!inventory && inventory.error().code == ErrorCode::timeout) return inventory.error();
  return identity;
}

}  // namespace weft::oob
