#include "oob/redfish/oem_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>
#include <variant>

#include "base/ip.h"
#include "oob/redfish/json.h"

namespace weft::oob {
namespace {

bool is_on(const SettingPlace& place, const Value& value) {
  if (const auto* told = std::get_if<bool>(&value.state())) return *told;
  return value.is_text() && value.text() == place.on;
}

Value switched(const SettingPlace& place, bool on) {
  if (place.on.empty()) return {on};
  return on ? Value(place.on) : Value(place.off);
}

void put_at(Value& root, std::string_view path, Value value) {
  Value* here = &root;
  for (;;) {
    const std::size_t slash = path.find('/');
    here = &(*here)[path.substr(0, slash)];
    if (slash == std::string_view::npos) break;
    path.remove_prefix(slash + 1);
  }
  *here = std::move(value);
}

// Values that BMCs use for "none".
bool is_nothing(std::string_view text) { return text.empty() || text == "0.0.0.0" || text == "::"; }

std::string text_in(const Value* value) {
  return value != nullptr && value->is_text() ? clean(value->text()) : std::string();
}

std::string subnet_text(const std::string& address, const std::string& mask) {
  const Result<Ipv4> base = parse_ipv4(address);
  const Result<Ipv4> bits = parse_ipv4(mask);
  if (!base.ok() || !bits.ok()) return address + "/" + mask;
  const int length = std::countl_one(bits->bits);
  // A non-contiguous mask is not a subnet, but the BMC uses it anyway.
  if (length + std::countr_zero(bits->bits) < 32) return address + "/" + mask;
  return to_text(Ipv4Prefix{{base->bits & bits->bits}, static_cast<std::uint8_t>(length)});
}

// Normalizes a subnet: a single address is a /32.
Result<Ipv4Prefix> subnet_of(std::string_view text) {
  if (const Result<Ipv4> one = parse_ipv4(text); one.ok()) return Ipv4Prefix{*one, 32};
  return parse_ipv4_prefix(text);
}

std::optional<std::vector<std::string>> read_subnets(const SettingPlace& place, const Value& resource) {
  std::vector<std::string> out;
  bool told = false;
  for (std::size_t i = 0; i < place.addresses.size(); ++i) {
    const Value* address = member_at(resource, place.addresses[i]);
    const Value* mask = member_at(resource, place.masks[i]);
    const Value* on = member_at(resource, place.switches[i]);
    if (address == nullptr || mask == nullptr || on == nullptr) continue;
    told = true;
    if (is_on(place, *on)) out.push_back(subnet_text(text_in(address), text_in(mask)));
  }
  return told ? std::optional(std::move(out)) : std::nullopt;
}

Error no_room(std::size_t room, std::size_t wanted) {
  return Error{ErrorCode::invalid_input, fmt::format("supports at most {} entries, not {}", room, wanted), {}};
}

Result<Value> write_subnets(const SettingPlace& place, const Value& resource, const std::vector<std::string>& wanted) {
  Value patch = Value::map();
  std::size_t room = 0;
  for (std::size_t i = 0; i < place.addresses.size(); ++i) {
    if (member_at(resource, place.addresses[i]) == nullptr) continue;
    const bool used = room < wanted.size();
    if (used) {
      const Result<Ipv4Prefix> subnet = subnet_of(wanted[room]);
      if (!subnet.ok()) return Error{ErrorCode::invalid_input, "supports only IPv4 subnets: " + wanted[room], {}};
      const std::uint32_t mask = subnet->length == 0 ? 0 : ~std::uint32_t{0} << (32U - subnet->length);
      put_at(patch, place.addresses[i], to_text(subnet->base));
      put_at(patch, place.masks[i], to_text(Ipv4{mask}));
    }
    put_at(patch, place.switches[i], switched(place, used));
    ++room;
  }
  if (wanted.size() > room) return no_room(room, wanted.size());
  return patch;
}

// A list of maps that exists in the resource has a fixed number of slots.
Result<Value> write_list(const SettingPlace& place, const Value* now, const std::vector<std::string>& wanted) {
  if (place.item.empty()) return Value::texts(wanted);
  const std::size_t room = now == nullptr || now->items().empty() ? wanted.size() : now->items().size();
  if (wanted.size() > room) return no_room(room, wanted.size());
  Value list = Value::list();
  for (std::size_t i = 0; i < room; ++i) {
    list.add(Value::map().set(place.item, i < wanted.size() ? Value(wanted[i]) : Value()));
  }
  return list;
}

struct Compared {
  std::string_view name;
  bool asked = false;
  bool known = false;
  bool same = false;
};

std::vector<std::string> sorted(std::vector<std::string> items) {
  for (std::string& item : items) {
    if (const Result<Ipv4Prefix> subnet = subnet_of(item); subnet.ok()) item = to_text(*subnet);
  }
  std::sort(items.begin(), items.end());
  return items;
}

Compared compare(std::string_view name, const std::optional<bool>& wanted, const std::optional<bool>& now) {
  return {name, wanted.has_value(), now.has_value(), wanted == now};
}
Compared compare(std::string_view name, const std::optional<std::vector<std::string>>& wanted,
                 const std::optional<std::vector<std::string>>& now) {
  const bool both = wanted.has_value() && now.has_value();
  return {name, wanted.has_value(), now.has_value(), both && sorted(*wanted) == sorted(*now)};
}

std::vector<Compared> compare_all(const SettingsChange& change, const BmcSettings& now) {
  return {compare("IPMI over LAN", change.ipmi_over_lan, now.ipmi_over_lan),
          compare("HTTP", change.http, now.http),
          compare("SSH", change.ssh, now.ssh),
          compare("SNMP", change.snmp, now.snmp),
          compare("syslog", change.syslog, now.syslog),
          compare("firewall", change.firewall, now.firewall),
          compare("NTP", change.ntp, now.ntp)};
}

template <class Predicate>
std::string names_where(const std::vector<Compared>& all, Predicate predicate) {
  std::string out;
  for (const Compared& one : all) {
    if (!one.asked || !predicate(one)) continue;
    out += out.empty() ? "" : ", ";
    out += one.name;
  }
  return out;
}

}  // namespace

std::optional<std::vector<std::string>> read_setting(const SettingPlace& place, const Value& resource) {
  if (!place.addresses.empty()) return read_subnets(place, resource);
  std::vector<std::string> out;
  bool told = false;
  const auto keep = [&](std::string text) {
    if (!is_nothing(text) && out.size() < 64) out.push_back(std::move(text));
  };
  const Value* list = place.list.empty() ? nullptr : member_at(resource, place.list);
  if (list != nullptr && list->is_list()) {
    told = true;
    for (const Value& item : list->items()) keep(text_in(place.item.empty() ? &item : member(item, {place.item})));
  } else {
    for (const std::string& field : place.fields) {
      const Value* value = member_at(resource, field);
      told = told || value != nullptr;
      keep(text_in(value));
    }
  }
  const Value* enable = place.enable.empty() ? nullptr : member_at(resource, place.enable);
  if (enable != nullptr && !is_on(place, *enable)) {
    told = true;
    out.clear();
  }
  return told ? std::optional(std::move(out)) : std::nullopt;
}

Result<Value> write_setting(const SettingPlace& place, const Value& resource, const std::vector<std::string>& wanted) {
  if (!place.addresses.empty()) return write_subnets(place, resource, wanted);
  Value patch = Value::map();
  const Value* now = place.list.empty() ? nullptr : member_at(resource, place.list);
  if (now != nullptr && !now->is_list()) now = nullptr;
  if (now != nullptr || place.fields.empty()) {
    Result<Value> list = write_list(place, now, wanted);
    if (!list.ok()) return list.error();
    put_at(patch, place.list, std::move(list).value());
  } else {
    if (wanted.size() > place.fields.size()) return no_room(place.fields.size(), wanted.size());
    for (std::size_t i = 0; i < place.fields.size(); ++i) {
      put_at(patch, place.fields[i], Value(i < wanted.size() ? wanted[i] : std::string()));
    }
  }
  if (!place.enable.empty()) put_at(patch, place.enable, switched(place, !wanted.empty()));
  return patch;
}

Value protocol_change(const SettingsChange& change) {
  Value body = Value::map();
  const auto put = [&](std::string_view name, const std::optional<bool>& wanted) {
    if (wanted) body.set(name, Value::map().set("ProtocolEnabled", Value(*wanted)));
  };
  put("IPMI", change.ipmi_over_lan);
  put("HTTP", change.http);
  put("SSH", change.ssh);
  put("SNMP", change.snmp);
  if (change.ntp) {
    Value ntp = Value::map().set("ProtocolEnabled", Value(!change.ntp->empty()));
    if (!change.ntp->empty()) ntp.set("NTPServers", Value::texts(*change.ntp));
    body.set("NTP", std::move(ntp));
  }
  return body;
}

std::string unknown_settings(const SettingsChange& change, const BmcSettings& settings) {
  return names_where(compare_all(change, settings), [](const Compared& one) { return !one.known; });
}

std::string untaken_settings(const SettingsChange& change, const BmcSettings& settings) {
  return names_where(compare_all(change, settings), [](const Compared& one) { return !one.same; });
}

std::optional<bool> any_interface_enabled(const std::vector<Value>& interfaces) {
  std::optional<bool> any;
  for (const Value& one : interfaces) {
    if (const std::optional<bool> enabled = truth(one, {"InterfaceEnabled"})) any = any.value_or(false) || *enabled;
  }
  return any;
}

}  // namespace weft::oob
