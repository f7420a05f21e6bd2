// A document in the data model that JSON and YAML share: null, booleans, numbers, text, lists and ordered maps. Files
// for other programs are built as a Value and written by one emitter, so that no string can inject syntax. For parsing,
// see yaml.h and json.h.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace weft {

class Value {
 public:
  struct Entry;
  using List = std::vector<Value>;
  using Map = std::vector<Entry>;

  // Defined below, where Entry is complete; clang 14 requires it.
  Value();  // null
  Value(const Value& other);
  Value(Value&& other) noexcept;
  Value& operator=(const Value& other);
  Value& operator=(Value&& other) noexcept;
  ~Value();
  template <class T>
  requires std::same_as<T, bool> Value(T truth);  // NOLINT(google-explicit-constructor)
  template <class T>
  requires(std::integral<T> && !std::same_as<T, bool> && !std::same_as<T, char>)
      Value(T number);           // NOLINT(google-explicit-constructor)
  Value(double number);          // NOLINT(google-explicit-constructor)
  Value(std::string text);       // NOLINT(google-explicit-constructor)
  Value(std::string_view text);  // NOLINT(google-explicit-constructor)
  Value(const char* text);       // NOLINT(google-explicit-constructor)
  Value(List items);             // NOLINT(google-explicit-constructor)
  Value(Map entries);            // NOLINT(google-explicit-constructor)

  [[nodiscard]] static Value list(std::initializer_list<Value> items = {});
  [[nodiscard]] static Value map(std::initializer_list<Entry> entries = {});
  // A list of texts.
  [[nodiscard]] static Value texts(std::span<const std::string> items);

  [[nodiscard]] bool is_null() const { return std::holds_alternative<std::monostate>(state_); }
  [[nodiscard]] bool is_list() const { return std::holds_alternative<List>(state_); }
  [[nodiscard]] bool is_map() const { return std::holds_alternative<Map>(state_); }
  [[nodiscard]] bool is_text() const { return std::holds_alternative<std::string>(state_); }
  [[nodiscard]] const List& items() const;
  [[nodiscard]] const Map& entries() const;
  [[nodiscard]] const std::string& text() const;
  [[nodiscard]] bool empty() const;  // null, or a list or map without members
  [[nodiscard]] const Value* find(std::string_view key) const;

  // For a map (null becomes one): the value under the key; a missing key is appended with null.
  Value& operator[](std::string_view key);
  // The same for chaining: Value::map().set("a", 1).set("b", 2). The value of an existing key is replaced in place.
  Value& set(std::string_view key, Value value) &;
  Value&& set(std::string_view key, Value value) &&;
  // Appends a key that must be new, without a lookup: for maps with thousands of entries.
  Value& put(std::string key, Value value);
  // For a list (null becomes one).
  Value& add(Value value);

  [[nodiscard]] const auto& state() const { return state_; }

 private:
  std::variant<std::monostate, bool, std::int64_t, double, std::string, List, Map> state_;
};

struct Value::Entry {
  std::string key;
  Value value;
};

inline Value::Value() = default;
inline Value::Value(const Value& other) = default;
inline Value::Value(Value&& other) noexcept = default;
inline Value& Value::operator=(const Value& other) = default;
inline Value& Value::operator=(Value&& other) noexcept = default;
inline Value::~Value() = default;
template <class T>
requires std::same_as<T, bool> Value::Value(T truth) : state_(truth) {}
template <class T>
requires(std::integral<T> && !std::same_as<T, bool> && !std::same_as<T, char>) Value::Value(T number)
    : state_(static_cast<std::int64_t>(number)) {}
inline Value::Value(double number) : state_(number) {}
inline Value::Value(std::string text) : state_(std::move(text)) {}
inline Value::Value(std::string_view text) : state_(std::string(text)) {}
inline Value::Value(const char* text) : state_(std::string(text)) {}
inline Value::Value(List items) : state_(std::move(items)) {}
inline Value::Value(Map entries) : state_(std::move(entries)) {}
inline Value Value::list(std::initializer_list<Value> items) { return Value(List(items)); }
inline Value Value::map(std::initializer_list<Entry> entries) { return Value(Map(entries)); }

// RFC 8259, `indent` spaces per level, one line for empty containers and for lists and maps of scalars that fit; ends
// with a newline. Text is UTF-8: invalid bytes become U+FFFD.
[[nodiscard]] std::string write_json(const Value& value, int indent = 2);
// The same on one line, without the newline: for JSON embedded in another file.
[[nodiscard]] std::string write_json_line(const Value& value);

// Block style, two spaces per level; text is quoted if YAML 1.1 or 1.2 would not read it as text, multi-line text is a
// literal block; ends with a newline.
[[nodiscard]] std::string write_yaml(const Value& value);
// Documents separated by "---"; `heading` lines become comments at the top.
[[nodiscard]] std::string write_yaml(std::span<const Value> documents, std::string_view heading = {});

}  // namespace weft
