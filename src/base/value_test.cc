#include "base/value.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "base/random.h"
#include "base/yaml.h"

namespace weft {
namespace {

Value sample() {
  return Value::map({{"name", "pod16"},
                     {"count", 16},
                     {"ratio", 0.5},
                     {"on", true},
                     {"nothing", Value()},
                     {"empty", Value::map()},
                     {"rails", Value::list({1, 2, 3})},
                     {"hosts", Value::list({Value::map({{"name", "a"}, {"port", 1}}), Value::map({{"name", "b"}})})}});
}

TEST(Value, WritesJson) {
  EXPECT_EQ(write_json(sample()), R"({
  "name": "pod16",
  "count": 16,
  "ratio": 0.5,
  "on": true,
  "nothing": null,
  "empty": {},
  "rails": [1, 2, 3],
  "hosts": [
    {"name": "a", "port": 1},
    {"name": "b"}
  ]
}
)");
  EXPECT_EQ(write_json_line(Value::map({{"a", Value::list({1, "x"})}, {"b", 2.0}})), R"({"a": [1, "x"], "b": 2.0})");
}

TEST(Value, WritesYaml) {
  EXPECT_EQ(write_yaml(sample()), R"(name: pod16
count: 16
ratio: 0.5
"on": true
nothing: null
empty: {}
rails: [1, 2, 3]
hosts:
- name: a
  port: 1
- name: b
)");
  const Value documents[] = {Value::map({{"a", 1}}), Value::map({{"script", "set -e\nrun\n"}})};
  EXPECT_EQ(write_yaml(documents, "Two of them\n\nthe second a script"),
            "# Two of them\n#\n# the second a script\na: 1\n---\nscript: |\n  set -e\n  run\n");
}

// Text that YAML 1.1 parsers (Kubernetes, Ansible) would read as another type is quoted.
TEST(Value, QuotesTextThatWouldChangeItsType) {
  for (const char* text : {"yes",   "No",       "on", "y",  "null", "~",  "1",    "0400",       "1e3", "0x1f",
                           "1_000", "12:30:45", ".5", "",   " a",   "a ", "a: b", "a #b",       "- a", "@a",
                           "`a`",   "%a",       "[a", "{a", "*a",   "&a", "!a",   "2026-11-15", "1.0", ".inf"}) {
    EXPECT_EQ(write_yaml(Value::map({{"k", text}})), "k: " + write_json_line(Value(text)) + "\n") << text;
  }
  for (const char* text : {"10.60.0.1", "10.60.0.0/26", "10Ti", "300s", "a:b", "/etc/x", "train[0", "nvidia.com/gpu"}) {
    const std::string written = write_yaml(Value::map({{"k", text}}));
    if (std::string_view(text) != "train[0") {
      EXPECT_EQ(written, std::string("k: ") + text + "\n");
    }
  }
}

std::string odd_text(RandomStream& random) {
  static constexpr std::string_view kParts[] = {
      "a",   "yes", "1", " ", "\n",  ":",   "#",  "- ", "\"", "'",     "\\",
      "\t",  "é",   "{", "}", "[",   "]",   ",",  "|",  ">",  "&",     "*",
      "!",   "%",   "@", "`", "0x1", "1.5", "\r", "~",  "?",  "---\n", "\xE2\x80\xA8",
      "\x01"};
  std::string text;
  for (std::uint64_t n = random.below(7); n > 0; --n) text += kParts[random.below(std::size(kParts))];
  return text;
}

Value odd_value(RandomStream& random, int depth) {
  const std::uint64_t kind = random.below(depth > 3 ? 5 : 7);
  if (kind == 5) {
    Value list = Value::list();
    for (std::uint64_t n = random.below(4); n > 0; --n) list.add(odd_value(random, depth + 1));
    return list;
  }
  if (kind == 6) {
    Value map = Value::map();
    for (std::uint64_t n = random.below(4); n > 0; --n) map[odd_text(random)] = odd_value(random, depth + 1);
    return map;
  }
  if (kind == 0) return static_cast<std::int64_t>(random.below(1000)) - 500;
  if (kind == 1) return random.below(2) == 0;
  return odd_text(random);
}

bool same(const Value& value, const YamlNode& node) {
  if (value.is_list()) {
    if (node.kind != YamlNode::Kind::sequence || node.items.size() != value.items().size()) return false;
    for (std::size_t i = 0; i < node.items.size(); ++i) {
      if (!same(value.items()[i], node.items[i])) return false;
    }
    return true;
  }
  if (value.is_map()) {
    if (node.kind != YamlNode::Kind::mapping || node.entries.size() != value.entries().size()) return false;
    for (std::size_t i = 0; i < node.entries.size(); ++i) {
      if (node.entries[i].key != value.entries()[i].key || !same(value.entries()[i].value, node.entries[i].value))
        return false;
    }
    return true;
  }
  if (value.is_text()) return node.kind == YamlNode::Kind::scalar && node.scalar == value.text();
  return node.kind == YamlNode::Kind::scalar && !node.quoted && node.scalar == write_json_line(value);
}

TEST(Value, ParsersReadBackWhatWasWritten) {
  RandomStream random(7, "value");
  for (int i = 0; i < 4000; ++i) {
    const Value value = Value::map({{"k", odd_value(random, 0)}});
    for (const bool yaml : {true, false}) {
      Sources sources;
      Diagnostics diagnostics;
      const std::string text = yaml ? write_yaml(value) : write_json(value);
      const FileId file = sources.add("x", text);
      const auto tree = yaml ? parse_yaml(sources, file, diagnostics) : parse_json(sources, file, diagnostics);
      ASSERT_TRUE(tree.has_value()) << text << render_all(diagnostics, sources, false);
      ASSERT_TRUE(same(value, *tree)) << text;
    }
  }
}

}  // namespace
}  // namespace weft
