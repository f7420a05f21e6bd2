// Shapes of the answers of the API: for each name in RouteRow::answer, which sections a document has, and which members
// with which types. For the OpenAPI document and the page of the API; a test compares them with what the views render.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/value.h"

namespace weft::serve {

// Types of a member, as a set. An integer is also a number of JSON; `absent`: the member may be null.
enum class MemberType : std::uint8_t { text = 1, integer = 2, number = 4, boolean = 8, absent = 16 };
class MemberTypes {
 public:
  constexpr MemberTypes(MemberType type)
      : bits_(static_cast<std::uint8_t>(type)) {}  // NOLINT(google-explicit-constructor)
  [[nodiscard]] constexpr bool has(MemberType type) const { return (bits_ & static_cast<std::uint8_t>(type)) != 0; }
  friend constexpr MemberTypes operator|(MemberTypes a, MemberTypes b) {
    a.bits_ = static_cast<std::uint8_t>(a.bits_ | b.bits_);
    return a;
  }

 private:
  std::uint8_t bits_ = 0;
};
[[nodiscard]] constexpr MemberTypes operator|(MemberType a, MemberType b) { return MemberTypes(a) | MemberTypes(b); }

struct MemberShape {
  std::string_view key;
  MemberTypes types = MemberType::text;
  std::string_view about;
  bool is_optional = false;  // not in every answer
};

struct SectionShape {
  std::string_view key;
  bool is_table = false;  // an array of objects; otherwise one object
  std::string_view about;
  std::vector<MemberShape> members;
  bool is_optional = false;
};

struct AnswerShape {
  enum class Form : std::uint8_t { document, text, events, object };
  std::string_view name;
  std::string_view about;
  std::vector<std::string_view> kinds;  // values of the member `kind`
  std::vector<SectionShape> sections;
  Form form = Form::document;
  std::string_view media_type = "application/json";
  // Of the form `object`, which is no document and may be nested: schema and example.
  Value schema = {};
  Value example = {};
};

[[nodiscard]] std::span<const AnswerShape> answer_shapes();
// Those of out-of-band management, which are part of the above.
[[nodiscard]] std::vector<AnswerShape> oob_shapes();
// nullptr: no shape has this name.
[[nodiscard]] const AnswerShape* find_shape(std::span<const AnswerShape> shapes, std::string_view name);

// JSON Schema (2020-12, as OpenAPI 3.1 uses it) of the answer as JSON; of events, of the data of one event.
[[nodiscard]] Value shape_schema(const AnswerShape& shape);
// A valid answer: every section, with one row.
[[nodiscard]] Value shape_example(const AnswerShape& shape);

}  // namespace weft::serve
