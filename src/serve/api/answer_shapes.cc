#include "serve/api/answer_shapes.h"

#include <algorithm>
#include <utility>

namespace weft::serve {
namespace {

Value type_schema(MemberTypes types) {
  static constexpr std::pair<MemberType, std::string_view> kNames[] = {{MemberType::text, "string"},
                                                                       {MemberType::integer, "integer"},
                                                                       {MemberType::number, "number"},
                                                                       {MemberType::boolean, "boolean"},
                                                                       {MemberType::absent, "null"}};
  Value::List names;
  for (const auto& [type, name] : kNames) {
    if (types.has(type)) names.emplace_back(name);
  }
  return names.size() == 1 ? names.front() : Value(names);
}

Value members_schema(const std::vector<MemberShape>& members) {
  Value properties = Value::map();
  Value required = Value::list();
  for (const MemberShape& member : members) {
    properties.put(std::string(member.key),
                   Value::map().set("type", type_schema(member.types)).set("description", member.about));
    if (!member.is_optional) required.add(member.key);
  }
  Value schema = Value::map().set("type", "object").set("properties", std::move(properties));
  if (!required.empty()) schema.set("required", std::move(required));
  return schema;
}

Value member_example(const MemberShape& member) {
  static constexpr std::pair<std::string_view, std::string_view> kTexts[] = {{"state", "running"},
                                                                             {"name", "train"},
                                                                             {"user", "ada"},
                                                                             {"actor", "ada"},
                                                                             {"tenant", "research"},
                                                                             {"node", "train001"},
                                                                             {"nodes", "train[001-004]"},
                                                                             {"object", "train001"},
                                                                             {"operation", "node.drain"},
                                                                             {"reason", "PFC storm"},
                                                                             {"role", "user"},
                                                                             {"method", "browser"},
                                                                             {"message", "done"},
                                                                             {"token", "weft_t_4k2j8x0qa1zz"},
                                                                             {"address", "192.0.2.7"},
                                                                             {"phase", "intent"}};
  static constexpr std::string_view kTimes[] = {"time",  "submitted", "since", "started",        "expires", "created",
                                                "asked", "from",      "until", "expected_start", "observed"};
  if (member.types.has(MemberType::integer)) return 8;
  if (member.types.has(MemberType::number)) return 8.0;
  if (member.types.has(MemberType::boolean)) return true;
  if (std::find(std::begin(kTimes), std::end(kTimes), member.key) != std::end(kTimes)) return "2026-11-16T02:03:04Z";
  for (const auto& [key, text] : kTexts) {
    if (member.key == key) return text;
  }
  return member.types.has(MemberType::absent) ? Value() : Value("");
}

Value members_example(const std::vector<MemberShape>& members) {
  Value example = Value::map();
  for (const MemberShape& member : members) {
    if (!member.is_optional) example.put(std::string(member.key), member_example(member));
  }
  return example;
}

}  // namespace

const AnswerShape* find_shape(std::span<const AnswerShape> shapes, std::string_view name) {
  const auto found =
      std::find_if(shapes.begin(), shapes.end(), [&](const AnswerShape& each) { return each.name == name; });
  return found == shapes.end() ? nullptr : &*found;
}

Value shape_schema(const AnswerShape& shape) {
  if (shape.form == AnswerShape::Form::object) return Value(shape.schema).set("description", shape.about);
  if (shape.form == AnswerShape::Form::text) return Value::map().set("type", "string");
  if (shape.form == AnswerShape::Form::events)
    return members_schema(shape.sections.front().members).set("description", shape.about);
  Value kinds = Value::list();
  for (const std::string_view kind : shape.kinds) kinds.add(kind);
  Value properties = Value::map();
  properties.put("schema_version", Value::map().set("type", "integer").set("description", "version of the format: 1"));
  properties.put("kind", Value::map().set("type", "string").set("enum", std::move(kinds)));
  Value required = Value::list({"schema_version", "kind"});
  for (const SectionShape& section : shape.sections) {
    Value schema = members_schema(section.members);
    if (section.is_table) schema = Value::map().set("type", "array").set("items", std::move(schema));
    schema.set("description", section.about);
    properties.put(std::string(section.key), std::move(schema));
    if (!section.is_optional) required.add(section.key);
  }
  properties.put("notes", Value::map()
                              .set("type", "array")
                              .set("items", Value::map().set("type", "string"))
                              .set("description", "sentences for people"));
  required.add("notes");
  return Value::map()
      .set("type", "object")
      .set("description", shape.about)
      .set("properties", std::move(properties))
      .set("required", std::move(required));
}

Value shape_example(const AnswerShape& shape) {
  if (shape.form == AnswerShape::Form::object) return shape.example;
  if (shape.form == AnswerShape::Form::text) return "step 100: loss 2.31\n";
  if (shape.form == AnswerShape::Form::events) return members_example(shape.sections.front().members);
  Value example = Value::map().set("schema_version", 1).set("kind", shape.kinds.front());
  for (const SectionShape& section : shape.sections) {
    if (section.is_optional) continue;
    Value members = members_example(section.members);
    example.put(std::string(section.key),
                section.is_table ? Value(Value::List{std::move(members)}) : std::move(members));
  }
  example.set("notes", Value::list());
  return example;
}

}  // namespace weft::serve
