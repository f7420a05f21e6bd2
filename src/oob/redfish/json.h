// JSON as BMCs send it, read tolerantly: the bytes become a Value within bounds, and a member that is absent or of
// another type than expected is simply "not told". Whoever needs a member says so itself. Nothing here knows Redfish
// beyond the look of its resource paths.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/value.h"

namespace weft::oob {

// Redfish resources nest about ten deep; the deepest of DMTF's mockups (DSP2043) has 13 levels.
inline constexpr std::size_t kMaxJsonDepth = 40;
// A page of a thousand log entries with thirty members each stays below a quarter of it.
inline constexpr std::size_t kMaxJsonNodes = 200'000;
// What is kept of one text for people.
inline constexpr std::size_t kMaxTextBytes = 256;

// RFC 8259 text to a value; invalid_input when it is not JSON, too deep or too large. Of a key given twice the first
// is found.
[[nodiscard]] Result<Value> read_json_reply(std::string_view text);

// The member at the end of a path of keys; null pointer when there is none.
[[nodiscard]] const Value* member(const Value& value, std::initializer_list<std::string_view> keys);
// The same for a path written with slashes: "Oem/Weft/Syslog/Servers".
[[nodiscard]] const Value* member_at(const Value& value, std::string_view path);

// The text of a member as it came; empty when absent or of another type.
[[nodiscard]] std::string raw_text(const Value& value, std::initializer_list<std::string_view> keys);
// The same for people: printable, without blanks around it, at most kMaxTextBytes.
[[nodiscard]] std::string clean_text(const Value& value, std::initializer_list<std::string_view> keys);
[[nodiscard]] std::string clean(std::string_view text);
[[nodiscard]] std::optional<double> number(const Value& value, std::initializer_list<std::string_view> keys);
[[nodiscard]] std::optional<bool> truth(const Value& value, std::initializer_list<std::string_view> keys);
// Items of a list; none when absent or no list.
[[nodiscard]] const Value::List& list(const Value& value, std::initializer_list<std::string_view> keys);
// The texts in a list, printable; other items are passed over.
[[nodiscard]] std::vector<std::string> texts(const Value& value, std::initializer_list<std::string_view> keys);

// Whether a path that a BMC gave may be asked of it: below /redfish/, no host, no "..", no blanks or controls, at most
// 512 bytes. (DSP0266, section "URI": resources live below /redfish/v1/.)
[[nodiscard]] bool is_trusted_path(std::string_view path);
// The trusted path in a member, "" when there is none; a fragment ("#/Fans/0") is cut off. When the member is a map,
// its @odata.id.
[[nodiscard]] std::string path_of(const Value& value, std::initializer_list<std::string_view> keys);

}  // namespace weft::oob
