// Texts of messages from a service's registries (DSP0266, "Message registries"; DSP8010 MessageRegistry): entries of
// some logs have only a MessageId and arguments, or a text whose placeholders were not filled. Pure functions.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/value.h"

namespace weft::oob {

struct MessageId {
  std::string registry{};  // "iLOEvents.3.7", with its version
  std::string key{};       // "ServerPoweredOn"
};
// Nothing if the text is not that of a message in a registry: vendors also write numbers.
[[nodiscard]] std::optional<MessageId> parse_message_id(std::string_view text);

// Whether the text of a log entry has to be looked up, and what for.
struct MessageNeed {
  MessageId id;
  std::vector<std::string> arguments;
};
[[nodiscard]] std::optional<MessageNeed> message_need(const Value& entry);

// The path of a registry, of a MessageRegistryFile resource in English or in the first language; empty if it is not
// this registry's, or stored elsewhere. A registry of the same name with another version counts: `exact` is false then.
struct RegistryPlace {
  std::string path{};
  bool exact = false;
};
[[nodiscard]] RegistryPlace registry_place(const Value& file, std::string_view registry);

using MessageTexts = std::map<std::string, std::string, std::less<>>;
// Texts by key, with placeholders.
[[nodiscard]] MessageTexts parse_message_registry(const Value& value);
// Nothing if an argument is missing.
[[nodiscard]] std::optional<std::string> fill_message(std::string_view text, const std::vector<std::string>& arguments);

}  // namespace weft::oob
