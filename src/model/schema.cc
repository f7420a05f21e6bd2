#include "model/schema.h"

#include <fmt/format.h>

#include <cctype>
#include <set>

namespace weft::model {
namespace {

// A scalar's text; otherwise reports the expected type.
const std::string* scalar_text(const YamlNode& node, Diagnostics& diagnostics, std::string_view expected) {
  if (node.kind == YamlNode::Kind::scalar) return &node.scalar;
  diagnostics.error(node.place, fmt::format("expected {}, found {}", expected, describe_kind(node)));
  return nullptr;
}

template <class T, class Parse>
bool read_quantity(const YamlNode& node, Diagnostics& diagnostics, T& out, std::string_view expected, Parse parse) {
  const std::string* text = scalar_text(node, diagnostics, expected);
  if (text == nullptr) return false;
  auto parsed = parse(*text);
  if (!parsed.ok()) {
    diagnostics.error(node.place, parsed.error().message, {}, text->size());
    return false;
  }
  out = parsed.value();
  return true;
}

ValueType text_type(std::string name, std::string pattern = {}) {
  ValueType type;
  type.name = std::move(name);
  type.pattern = std::move(pattern);
  return type;
}

std::string hint_for(std::string_view unknown_key, const std::vector<Field>& fields) {
  std::vector<std::string_view> keys;
  keys.reserve(fields.size());
  for (const Field& field : fields) keys.push_back(field.key);
  std::string hint = did_you_mean(unknown_key, keys);
  if (!hint.empty()) return hint;
  hint = "known keys:";
  for (const std::string_view key : keys) hint += " " + std::string(key);
  return hint;
}

}  // namespace

bool Codec<std::string>::read(const YamlNode& node, Diagnostics& diagnostics, std::string& out) {
  const std::string* text = scalar_text(node, diagnostics, "text");
  if (text == nullptr) return false;
  if (text->size() > 4096) {
    diagnostics.error(node.place, "text is longer than 4096 bytes");
    return false;
  }
  out = *text;
  return true;
}
void Codec<std::string>::write(const std::string& value, YamlWriter& writer) { writer.scalar(yaml_quote(value)); }
ValueType Codec<std::string>::describe() { return text_type("text"); }

bool Codec<std::int64_t>::read(const YamlNode& node, Diagnostics& diagnostics, std::int64_t& out) {
  const std::string* text = scalar_text(node, diagnostics, "a whole number");
  if (text == nullptr) return false;
  auto parsed = parse_integer(*text);
  if (!parsed.ok() || node.quoted) {
    diagnostics.error(node.place, fmt::format("expected a whole number, found `{}`", *text), {}, text->size());
    return false;
  }
  out = parsed.value();
  return true;
}
void Codec<std::int64_t>::write(const std::int64_t& value, YamlWriter& writer) { writer.scalar(std::to_string(value)); }
ValueType Codec<std::int64_t>::describe() {
  ValueType type;
  type.shape = ValueType::Shape::integer;
  return type;
}

bool Codec<bool>::read(const YamlNode& node, Diagnostics& diagnostics, bool& out) {
  const std::string* text = scalar_text(node, diagnostics, "true or false");
  if (text == nullptr) return false;
  if (node.quoted || (*text != "true" && *text != "false")) {
    diagnostics.error(node.place, fmt::format("expected true or false, found `{}`", *text), {}, text->size());
    return false;
  }
  out = *text == "true";
  return true;
}
void Codec<bool>::write(const bool& value, YamlWriter& writer) { writer.scalar(value ? "true" : "false"); }
ValueType Codec<bool>::describe() {
  ValueType type;
  type.shape = ValueType::Shape::boolean;
  return type;
}

bool Codec<Name>::read(const YamlNode& node, Diagnostics& diagnostics, Name& out) {
  const std::string* text = scalar_text(node, diagnostics, "a name");
  if (text == nullptr) return false;
  bool good = !text->empty() && text->size() <= 63;
  for (const char c : *text) {
    const auto byte = static_cast<unsigned char>(c);
    good = good && (std::isalnum(byte) != 0 || c == '-' || c == '_' || c == '.');
  }
  if (!good || std::isalnum(static_cast<unsigned char>(text->front())) == 0) {
    diagnostics.error(node.place, fmt::format("`{}` is not a name", *text),
                      "a name consists of letters, digits, '-', '_' and '.', starts with a letter or digit, and has at "
                      "most 63 characters",
                      text->size());
    return false;
  }
  out.text = *text;
  return true;
}
void Codec<Name>::write(const Name& value, YamlWriter& writer) { writer.scalar(yaml_quote(value.text)); }
ValueType Codec<Name>::describe() { return text_type("a name", "^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$"); }

#define WEFT_QUANTITY_CODEC(Type, parse, print, expected, pattern)                                       \
  bool Codec<Type>::read(const YamlNode& node, Diagnostics& diagnostics, Type& out) {                    \
    return read_quantity(node, diagnostics, out, expected, [](std::string_view t) { return parse(t); }); \
  }                                                                                                      \
  void Codec<Type>::write(const Type& value, YamlWriter& writer) { writer.scalar(print(value)); }        \
  ValueType Codec<Type>::describe() { return text_type(expected, pattern); }

WEFT_QUANTITY_CODEC(Bytes, parse_bytes, to_text, "a size such as 9000, 80GB or 10Ti", "^[0-9.]+ ?([KMGTPk]i?B?|B)?$")
WEFT_QUANTITY_CODEC(BitRate, parse_bit_rate, to_text, "a rate such as 100G, 400G or 1.6T", "^[0-9.]+[KMGT]")
WEFT_QUANTITY_CODEC(Duration, parse_duration, to_text, "a time such as 100ms, 5m or 12w",
                    "^[0-9.]+(ns|us|ms|s|m|h|d|w)$")
WEFT_QUANTITY_CODEC(Power, parse_power, to_text, "a power such as 700W or 10.2kW", "^[0-9.]+[kMm]?W$")
WEFT_QUANTITY_CODEC(Length, parse_length, to_text, "a length such as 3m, 50cm or 2km", "^[0-9.]+(mm|cm|m|km)$")
WEFT_QUANTITY_CODEC(Flops, parse_flops, to_text, "a speed such as 989TF or 1.979PF", "^[0-9.]+[MGTPE]")
WEFT_QUANTITY_CODEC(Money, parse_money, to_text, "an amount such as 1200 or 1200.50", "^[0-9]+(\\.[0-9]{1,2})?$")
WEFT_QUANTITY_CODEC(Ratio, parse_ratio, to_text, "a ratio such as 1:1, 2:1 or 4:3", "^[0-9.]+(:[0-9]+)?$")
WEFT_QUANTITY_CODEC(Ipv4, parse_ipv4, to_text, "an IPv4 address", "^[0-9.]+$")
WEFT_QUANTITY_CODEC(Ipv4Prefix, parse_ipv4_prefix, to_text, "an IPv4 subnet such as 10.60.0.0/16", "^[0-9.]+/[0-9]+$")
WEFT_QUANTITY_CODEC(Ipv6Prefix, parse_ipv6_prefix, to_text, "an IPv6 subnet such as fd00::/48",
                    "^[0-9a-fA-F:.]+/[0-9]+$")
#undef WEFT_QUANTITY_CODEC

bool Codec<ByteRate>::read(const YamlNode& node, Diagnostics& diagnostics, ByteRate& out) {
  return read_quantity(node, diagnostics, out.per_second, "a throughput such as 40GB/s",
                       [](std::string_view text) { return parse_byte_rate(text); });
}
void Codec<ByteRate>::write(const ByteRate& value, YamlWriter& writer) {
  writer.scalar(byte_rate_text(value.per_second));
}
ValueType Codec<ByteRate>::describe() { return text_type("a throughput such as 40GB/s", "^[0-9.]+[KMGTP]?B/s$"); }

namespace {

Result<Breakout> parse_breakout(std::string_view text) {
  const Error bad{ErrorCode::invalid_input,
                  fmt::format("`{}` is not a breakout: expected ports and speed such as 1x800G or 2x400G", text),
                  {}};
  const std::size_t x = text.find('x');
  if (x == std::string_view::npos) return bad;
  auto ports = parse_integer(text.substr(0, x));
  auto speed = parse_bit_rate(text.substr(x + 1));
  if (!ports.ok() || !speed.ok() || ports.value() < 1 || ports.value() > 16 || speed->count() <= 0) return bad;
  return Breakout{static_cast<int>(ports.value()), speed.value()};
}

// The name of a choice that had another one: files with that one are still read.
std::string_view present_name(std::string_view name) { return name == "fibre" ? "fiber" : name; }

}  // namespace

std::string to_text(const Breakout& breakout) { return fmt::format("{}x{}", breakout.ports, to_text(breakout.speed)); }

bool Codec<Breakout>::read(const YamlNode& node, Diagnostics& diagnostics, Breakout& out) {
  return read_quantity(node, diagnostics, out, "a breakout such as 2x400G", parse_breakout);
}
void Codec<Breakout>::write(const Breakout& value, YamlWriter& writer) { writer.scalar(to_text(value)); }
ValueType Codec<Breakout>::describe() { return text_type("a breakout such as 2x400G", "^[0-9]+x[0-9.]+[KMGT]$"); }

int read_choice(const YamlNode& node, Diagnostics& diagnostics, const std::vector<std::string>& names) {
  std::string listed;
  for (const std::string& name : names) listed += (listed.empty() ? "" : ", ") + name;
  const std::string* text = scalar_text(node, diagnostics, "one of " + listed);
  if (text == nullptr) return -1;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == *text || names[i] == present_name(*text)) return static_cast<int>(i);
  }
  const std::vector<std::string_view> candidates(names.begin(), names.end());
  const std::string_view near = nearest(*text, candidates);
  std::string hint = near.empty() ? "one of " + listed : fmt::format("did you mean `{}`?", near);
  diagnostics.error(node.place, fmt::format("invalid value `{}`", *text), std::move(hint), text->size());
  return -1;
}

bool expect_list(const YamlNode& node, Diagnostics& diagnostics) {
  if (node.kind == YamlNode::Kind::sequence) return true;
  diagnostics.error(node.place, fmt::format("expected a list, found {}", describe_kind(node)));
  return false;
}

bool expect_mapping(const YamlNode& node, Diagnostics& diagnostics) {
  if (node.kind == YamlNode::Kind::mapping) return true;
  diagnostics.error(node.place, fmt::format("expected a mapping, found {}", describe_kind(node)));
  return false;
}

void Field::read(const YamlNode& node, Diagnostics& diagnostics, void* record) const {
  if (type.shape == ValueType::Shape::integer && node.kind == YamlNode::Kind::scalar && !node.quoted) {
    auto parsed = parse_integer(node.scalar);
    if (parsed.ok() && (parsed.value() < type.minimum || parsed.value() > type.maximum)) {
      diagnostics.error(
          node.place,
          fmt::format("`{}` must be between {} and {}, found {}", key, type.minimum, type.maximum, node.scalar), {},
          node.scalar.size());
      return;
    }
  }
  codec_->read(node, diagnostics, static_cast<char*>(record) + offset_);
}

void Schema::add(std::string_view key, std::string_view help, const FieldCodec& codec, std::size_t offset) {
  fields_.emplace_back(key, help, codec, offset);
}

void Schema::read(const YamlNode& node, Diagnostics& diagnostics, void* record) const {
  std::set<std::string_view> seen;
  for (const YamlEntry& entry : node.entries) {
    const Field* match = nullptr;
    for (const Field& field : fields_) {
      if (field.key == entry.key) match = &field;
    }
    if (match == nullptr) {
      // Later ones are only counted, and a file may have a million of them.
      std::string hint =
          diagnostics.error_count() < Diagnostics::kMaxKept ? hint_for(entry.key, fields_) : std::string();
      diagnostics.error(entry.key_place, fmt::format("unknown key `{}` in {}", entry.key, name_), std::move(hint),
                        entry.key.size());
      continue;
    }
    seen.insert(match->key);
    if (entry.value.kind == YamlNode::Kind::null) {
      diagnostics.error(entry.key_place, fmt::format("`{}` has no value", entry.key), "omit the key to use its default",
                        entry.key.size());
      continue;
    }
    match->read(entry.value, diagnostics, record);
  }
  for (const Field& field : fields_) {
    if (field.required && !seen.contains(field.key)) {
      diagnostics.error(node.place, fmt::format("{} needs `{}`", name_, field.key), std::string(field.help));
    }
  }
}

bool Schema::empty(const void* record) const {
  for (const Field& field : fields_) {
    if (field.origin(record) != Origin::unset) return false;
  }
  return true;
}

void Schema::write(const void* record, YamlWriter& writer) const {
  for (const Field& field : fields_) {
    const Origin origin = field.origin(record);
    if (origin == Origin::unset) continue;
    writer.key(field.key);
    const bool nested = field.type.shape == ValueType::Shape::record;
    if (!nested && origin == Origin::fallback) writer.comment("default");
    if (!nested && origin == Origin::derived) writer.comment("derived");
    field.write(record, writer);
  }
}

}  // namespace weft::model
