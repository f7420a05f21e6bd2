// A document in the data model that JSON and YAML share: null, booleans, numbers, text, lists and maps that keep their
// order. What other programs read is built as a Value and written by one emitter, so that no name, however odd, can
// break out of its place. Reading is yaml.h's and json.h's.
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

  // Defined below: Entry is complete only then, and clang 14 wants it so.
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

  // Of a map (null becomes one): the value under the key, added at the end as null when there is none.
  Value& operator[](std::string_view key);
  // The same as a chain: Value::map().set("a", 1).set("b", 2). An existing key is replaced in its place.
  Value& set(std::string_view key, Value value) &;
  Value&& set(std::string_view key, Value value) &&;
  // Adds a key that is not there yet, without looking: for maps of thousands.
  Value& put(std::string key, Value value);
  // Of a list (null becomes one).
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

// RFC 8259, `indent` blanks a level, one line for empty containers and for lists and maps of scalars that fit; ends
// with a newline. Text is UTF-8: bytes that are not become U+FFFD.
[[nodiscard]] std::string write_json(const Value& value, int indent = 2);
// The same on one line, without the newline: a configuration inside another.
[[nodiscard]] std::string write_json_line(const Value& value);

// Block style, two blanks a level, texts quoted wherever YAML 1.1 or 1.2 would read something else, several lines as a
// literal block; ends with a newline.
[[nodiscard]] std::string write_yaml(const Value& value);
// Documents with "---" between; `heading` lines become comments at the top.
[[nodiscard]] std::string write_yaml(std::span<const Value> documents, std::string_view heading = {});

}  // namespace weft
