// Schemas: tables that describe the keys of a file once, for the parser (every error with its location), the JSON
// Schema for editors, and the writer behind `weft show --effective`. A record is a plain struct of Sourced<> members;
// its table lists key, member, meaning and constraint. The tables themselves are in spec_schema.cc and
// catalog_schema.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/diagnostic.h"
#include "base/ip.h"
#include "base/quantity.h"
#include "base/quoting.h"
#include "base/yaml.h"
#include "model/sourced.h"

namespace weft::model {

class Schema;

// The type of a key's value, for messages, documentation and JSON Schema.
struct ValueType {
  enum class Shape { text, integer, boolean, choice, list, table, record };
  Shape shape = Shape::text;
  std::string name;                  // "a rate such as 400G"
  std::string pattern;               // regular expression for editors; empty for none
  std::int64_t minimum = INT64_MIN;  // integers
  std::int64_t maximum = INT64_MAX;
  std::vector<std::string> choices;    // of a choice
  std::shared_ptr<ValueType> element;  // of a list, or of the values of a mapping with free keys
  const Schema* record = nullptr;
};

// YAML output. Lines are kept separate from their comments so that comments can be aligned or dropped.
class YamlWriter {
 public:
  void scalar(std::string_view text) { pending_ += std::string(text); }
  void key(std::string_view name);
  void begin_item();
  void end_item();
  void open();  // one level deeper
  void close();
  void comment(std::string_view text);  // at the end of the current line
  void note(std::string_view text);     // a line of its own, at the current depth
  void blank();
  [[nodiscard]] std::string finish();

 private:
  struct Line {
    std::string text;
    std::string comment;
  };
  void flush();
  std::vector<Line> lines_;
  std::string pending_;
  std::string pending_comment_;
  int depth_ = 0;
  bool item_ = false;
};

// How a Sourced<T> is read and written, with T erased: one table per T, so that the hundreds of keys share code.
struct FieldCodec {
  ValueType (*describe)();
  void (*read)(const YamlNode& node, Diagnostics& diagnostics, void* sourced);
  void (*write)(const void* sourced, YamlWriter& writer);
  Origin (*origin)(const void* sourced);
};

// One key of a record, with the member's type erased.
class Field {
 public:
  Field(std::string_view key_name, std::string_view help_text, const FieldCodec& codec, std::size_t offset)
      : key(key_name), help(help_text), type(codec.describe()), codec_(&codec), offset_(offset) {}

  // Reads a value; reports an integer outside [type.minimum, type.maximum] at its location.
  void read(const YamlNode& node, Diagnostics& diagnostics, void* record) const;
  void write(const void* record, YamlWriter& writer) const {  // the value alone, after its key
    codec_->write(static_cast<const char*>(record) + offset_, writer);
  }
  [[nodiscard]] Origin origin(const void* record) const {
    return codec_->origin(static_cast<const char*>(record) + offset_);
  }

  std::string_view key;
  std::string_view help;
  bool required = false;
  ValueType type;

 private:
  const FieldCodec* codec_;
  std::size_t offset_;  // of the member in its record, in bytes
};

class Schema {
 public:
  Schema(std::string_view name, std::string_view help) : name_(name), help_(help) {}

  [[nodiscard]] std::string_view name() const { return name_; }
  [[nodiscard]] std::string_view help() const { return help_; }
  [[nodiscard]] const std::vector<Field>& fields() const { return fields_; }
  // `offset` of the member in its record, in bytes.
  void add(std::string_view key, std::string_view help, const FieldCodec& codec, std::size_t offset);
  [[nodiscard]] Field& last() { return fields_.back(); }

  // Reads a mapping into `record`; reports unknown, repeated and missing keys and every invalid value, and continues.
  void read(const YamlNode& node, Diagnostics& diagnostics, void* record) const;
  void write(const void* record, YamlWriter& writer) const;
  // Whether none of its keys has a value.
  [[nodiscard]] bool empty(const void* record) const;

 private:
  std::string_view name_;
  std::string_view help_;
  std::vector<Field> fields_;
};

// Specialized per record type, next to its table.
template <class Record>
const Schema& schema_of();

template <class T>
concept RecordType = std::is_class_v<T> && requires(T t) {
  { t.place } -> std::convertible_to<SourceLocation>;
  typename T::IsRecord;
};

// How one C++ type is read, written and described. Leaf types are defined in schema.cc.
template <class T>
struct Codec;

#define WEFT_LEAF_CODEC(Type)                                                    \
  template <>                                                                    \
  struct Codec<Type> {                                                           \
    static bool read(const YamlNode& node, Diagnostics& diagnostics, Type& out); \
    static void write(const Type& value, YamlWriter& writer);                    \
    static ValueType describe();                                                 \
  }

// A name: letters, digits, '-', '_', '.', at most 63 bytes, starting with a letter or digit.
struct Name {
  std::string text;
  friend bool operator==(const Name&, const Name&) = default;
};
// Bytes per second: a separate type, so that a throughput cannot be mistaken for a size.
struct ByteRate {
  Bytes per_second;
};
// "2x400G": how many ports of which speed one cage carries.
struct Breakout {
  int ports = 1;
  BitRate speed;
  friend bool operator==(const Breakout&, const Breakout&) = default;
};

WEFT_LEAF_CODEC(std::string);
WEFT_LEAF_CODEC(std::int64_t);
WEFT_LEAF_CODEC(bool);
WEFT_LEAF_CODEC(Name);
WEFT_LEAF_CODEC(Bytes);
WEFT_LEAF_CODEC(ByteRate);
WEFT_LEAF_CODEC(BitRate);
WEFT_LEAF_CODEC(Duration);
WEFT_LEAF_CODEC(Power);
WEFT_LEAF_CODEC(Length);
WEFT_LEAF_CODEC(Flops);
WEFT_LEAF_CODEC(Money);
WEFT_LEAF_CODEC(Ratio);
WEFT_LEAF_CODEC(Breakout);
WEFT_LEAF_CODEC(Ipv4);
WEFT_LEAF_CODEC(Ipv4Prefix);
WEFT_LEAF_CODEC(Ipv6Prefix);
#undef WEFT_LEAF_CODEC

[[nodiscard]] std::string to_text(const Breakout& breakout);

// Enumerations list their values in a table: `std::vector<std::pair<std::string_view, E>> choices_of(E)`, found by ADL.
[[nodiscard]] int read_choice(const YamlNode& node, Diagnostics& diagnostics, const std::vector<std::string>& names);

template <class E>
requires std::is_enum_v<E>
struct Codec<E> {
  static bool read(const YamlNode& node, Diagnostics& diagnostics, E& out) {
    const auto& table = choices_of(E{});
    const int index = read_choice(node, diagnostics, names());
    if (index < 0) return false;
    out = table[static_cast<std::size_t>(index)].second;
    return true;
  }
  static void write(const E& value, YamlWriter& writer) { writer.scalar(text(value)); }
  static std::string_view text(E value) {
    for (const auto& [name, candidate] : choices_of(E{})) {
      if (candidate == value) return name;
    }
    return "?";
  }
  static std::vector<std::string> names() {
    std::vector<std::string> out;
    for (const auto& [name, value] : choices_of(E{})) out.emplace_back(name);
    return out;
  }
  static ValueType describe() {
    ValueType type;
    type.shape = ValueType::Shape::choice;
    type.choices = names();
    return type;
  }
};

template <class E>
requires std::is_enum_v<E>
[[nodiscard]] std::string_view text_of(E value) { return Codec<E>::text(value); }

[[nodiscard]] bool expect_list(const YamlNode& node, Diagnostics& diagnostics);
[[nodiscard]] bool expect_mapping(const YamlNode& node, Diagnostics& diagnostics);

template <class T>
struct Codec<std::vector<T>> {
  static bool read(const YamlNode& node, Diagnostics& diagnostics, std::vector<T>& out) {
    if (!expect_list(node, diagnostics)) return false;
    out.clear();
    for (const YamlNode& item : node.items) {
      T value{};
      if (Codec<T>::read(item, diagnostics, value)) out.push_back(std::move(value));
    }
    return true;
  }
  static void write(const std::vector<T>& list, YamlWriter& writer) {
    if (list.empty()) {
      writer.scalar("[]");
      return;
    }
    writer.open();
    for (const T& value : list) {
      writer.begin_item();
      Codec<T>::write(value, writer);
      writer.end_item();
    }
    writer.close();
  }
  static ValueType describe() {
    ValueType type;
    type.shape = ValueType::Shape::list;
    type.element = std::make_shared<ValueType>(Codec<T>::describe());
    return type;
  }
};

// A mapping with free keys, kept in file order.
template <class T>
using NamedValues = std::vector<std::pair<std::string, Sourced<T>>>;

template <class T>
struct Codec<NamedValues<T>> {
  static bool read(const YamlNode& node, Diagnostics& diagnostics, NamedValues<T>& out) {
    if (!expect_mapping(node, diagnostics)) return false;
    out.clear();
    for (const YamlEntry& entry : node.entries) {
      Sourced<T> given;
      if (!Codec<T>::read(entry.value, diagnostics, given.value)) continue;
      given.place = entry.key_place;
      given.origin = Origin::file;
      out.emplace_back(entry.key, std::move(given));
    }
    return true;
  }
  static void write(const NamedValues<T>& table, YamlWriter& writer) {
    if (table.empty()) {
      writer.scalar("{}");
      return;
    }
    writer.open();
    for (const auto& [key, given] : table) {
      writer.key(yaml_quote(key));
      Codec<T>::write(given.value, writer);
    }
    writer.close();
  }
  static ValueType describe() {
    ValueType type;
    type.shape = ValueType::Shape::table;
    type.element = std::make_shared<ValueType>(Codec<T>::describe());
    return type;
  }
};

// A list element that keeps its own location.
template <class T>
struct Codec<Sourced<T>> {
  static bool read(const YamlNode& node, Diagnostics& diagnostics, Sourced<T>& out) {
    if (!Codec<T>::read(node, diagnostics, out.value)) return false;
    out.place = node.place;
    out.origin = Origin::file;
    return true;
  }
  static void write(const Sourced<T>& given, YamlWriter& writer) { Codec<T>::write(given.value, writer); }
  static ValueType describe() { return Codec<T>::describe(); }
};

template <RecordType T>
struct Codec<T> {
  static bool read(const YamlNode& node, Diagnostics& diagnostics, T& out) {
    if (!expect_mapping(node, diagnostics)) return false;
    out.place = node.place;
    schema_of<T>().read(node, diagnostics, &out);
    return true;
  }
  static void write(const T& record, YamlWriter& writer) {
    if (schema_of<T>().empty(&record)) {
      writer.scalar("{}");
      return;
    }
    writer.open();
    schema_of<T>().write(&record, writer);
    writer.close();
  }
  static ValueType describe() {
    ValueType type;
    type.shape = ValueType::Shape::record;
    type.record = &schema_of<T>();
    return type;
  }
};

template <class T>
inline constexpr FieldCodec kFieldCodec{
    .describe = [] { return Codec<T>::describe(); },
    .read =
        [](const YamlNode& node, Diagnostics& diagnostics, void* sourced) {
          auto& given = *static_cast<Sourced<T>*>(sourced);
          given.place = node.place;
          if (Codec<T>::read(node, diagnostics, given.value)) given.origin = Origin::file;
        },
    .write = [](const void* sourced,
                YamlWriter& writer) { Codec<T>::write(static_cast<const Sourced<T>*>(sourced)->value, writer); },
    .origin = [](const void* sourced) { return static_cast<const Sourced<T>*>(sourced)->origin; },
};

// Builds the table of `Record`.
template <class Record>
class SchemaBuilder {
 public:
  SchemaBuilder(std::string_view name, std::string_view help) : schema_(name, help) {}

  template <class T>
  SchemaBuilder& field(std::string_view key, Sourced<T> Record::*member, std::string_view help) {
    const auto* start = reinterpret_cast<const char*>(&sample_);
    const auto* place = reinterpret_cast<const char*>(&(sample_.*member));
    schema_.add(key, help, kFieldCodec<T>, static_cast<std::size_t>(place - start));
    return *this;
  }
  // The key just added is required.
  SchemaBuilder& required() {
    schema_.last().required = true;
    return *this;
  }
  // The integer just added must be in [low, high].
  SchemaBuilder& range(std::int64_t low, std::int64_t high) {
    schema_.last().type.minimum = low;
    schema_.last().type.maximum = high;
    return *this;
  }

  Schema build() { return std::move(schema_); }

 private:
  Record sample_{};  // for the offsets of members
  Schema schema_;
};

// A JSON Schema (draft 2020-12) for files whose top level is `root`.
[[nodiscard]] std::string json_schema(const Schema& root, std::string_view title);

}  // namespace weft::model
