#include "oob/redfish/message_registry.h"

#include <algorithm>

#include "base/text.h"
#include "base/utf8.h"
#include "oob/redfish/json.h"

namespace weft::oob {
namespace {

constexpr std::size_t kMaxKeys = 20'000;  // the registry of iDRAC has 6,000
constexpr std::size_t kMaxFilledBytes = 2048;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The name of a registry without its version.
std::string_view base_name(std::string_view registry) { return registry.substr(0, registry.find('.')); }

// The position of a placeholder such as %1, from `from` on.
std::size_t find_placeholder(std::string_view text, std::size_t from = 0) {
  for (std::size_t at = text.find('%', from); at != std::string_view::npos; at = text.find('%', at + 1)) {
    if (at + 1 < text.size() && is_digit(text[at + 1])) return at;
  }
  return std::string_view::npos;
}

}  // namespace

std::optional<MessageId> parse_message_id(std::string_view text) {
  // DSP0266, "MessageId format": RegistryName.MajorVersion.MinorVersion.MessageKey; older services add an errata
  // number.
  const std::size_t last = text.rfind('.');
  if (last == std::string_view::npos || last + 1 == text.size()) return std::nullopt;
  const std::string_view registry = text.substr(0, last);
  const std::string_view key = text.substr(last + 1);
  const std::size_t dots = static_cast<std::size_t>(std::count(registry.begin(), registry.end(), '.'));
  if (dots < 2 || registry.front() == '.' || std::all_of(key.begin(), key.end(), is_digit)) return std::nullopt;
  return MessageId{std::string(registry), std::string(key)};
}

std::optional<MessageNeed> message_need(const Value& entry) {
  const std::string id = raw_text(entry, {"MessageId"});
  const std::string text(trim(raw_text(entry, {"Message"})));
  if (!text.empty() && text != id && find_placeholder(text) == std::string::npos) return std::nullopt;
  std::optional<MessageId> parsed = parse_message_id(id);
  if (!parsed) return std::nullopt;
  MessageNeed need{*std::move(parsed), {}};
  for (const Value& argument : list(entry, {"MessageArgs"}))
    need.arguments.push_back(argument.is_text() ? argument.text() : std::string());
  return need;
}

RegistryPlace registry_place(const Value& file, std::string_view registry) {
  const std::string name = raw_text(file, {"Registry"});
  if (!equals_ignoring_case(base_name(name), base_name(registry))) return {};
  RegistryPlace place;
  place.exact = registry == name || registry.starts_with(name + ".");
  for (const Value& location : list(file, {"Location"})) {
    const bool is_english = raw_text(location, {"Language"}).starts_with("en");
    std::string path = path_of(location, {"Uri"});
    if (!path.empty() && (place.path.empty() || is_english)) place.path = std::move(path);
    if (is_english && !place.path.empty()) break;
  }
  return place;
}

MessageTexts parse_message_registry(const Value& value) {
  MessageTexts texts;
  const Value* messages = member(value, {"Messages"});
  if (messages == nullptr || !messages->is_map()) return texts;
  for (const Value::Entry& entry : messages->entries()) {
    if (texts.size() >= kMaxKeys) break;
    std::string text = raw_text(entry.value, {"Message"});
    if (!text.empty()) texts.emplace(entry.key, std::move(text));
  }
  return texts;
}

std::optional<std::string> fill_message(std::string_view text, const std::vector<std::string>& arguments) {
  std::string out;
  for (std::size_t at = find_placeholder(text); at != std::string_view::npos; at = find_placeholder(text)) {
    std::size_t number = 0;
    std::size_t end = at + 1;
    for (; end < text.size() && is_digit(text[end]) && number < 1000; ++end)
      number = number * 10 + static_cast<std::size_t>(text[end] - '0');
    if (number == 0 || number > arguments.size()) return std::nullopt;
    out.append(text.substr(0, at)).append(arguments[number - 1]);
    if (out.size() > kMaxFilledBytes) break;
    text.remove_prefix(end);
  }
  out.append(text);
  return printable(trim(out), kMaxFilledBytes);
}

}  // namespace weft::oob
