#include "model/format.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/random.h"
#include "base/test_places.h"
#include "base/text.h"
#include "base/yaml.h"
#include "model/spec.h"

namespace weft::model {
namespace {

struct Formatted {
  std::optional<std::string> text;
  std::string problems;
};

Formatted format_text(const std::string& text) {
  Sources sources;
  Diagnostics diagnostics;
  const FileId file = sources.add("a.yaml", text);
  Formatted out;
  out.text = format_file(sources, file, diagnostics);
  out.problems = render_all(diagnostics, sources, false);
  return out;
}

std::string effective(const std::string& text) {
  Sources sources;
  Diagnostics diagnostics;
  const auto root = parse_yaml(sources, sources.add("a.yaml", text), diagnostics);
  if (!root) return "not YAML: " + text;
  const std::optional<Spec> spec = read_spec(*root, diagnostics);
  return spec ? write_effective(*spec) : render_all(diagnostics, sources, false);
}

constexpr const char* kPools = "pools: [{name: a, role: training, server: hgx-h100, count: 2}]\n";

TEST(Format, OrdersKeysAndKeepsComments) {
  const Formatted out = format_text(
      "# The cluster of the lab.\n"
      "\n"
      "# Servers.\n"
      "pools:   # all of them\n"
      "    # the first\n"
      "    - server: 'hgx-h100'   # by A\n"
      "      count: 2\n"
      "      # its name\n"
      "      name: \"a\"\n"
      "      role: training\n"
      "      # end of a\n"
      "    # end of the pools\n"
      "\n"
      "\n"
      "site: {row_length: 4,  # short\n"
      "  feeds: 2}\n"
      "name: x   # short\n"
      "weft: 1\n"
      "# the end\n");
  ASSERT_TRUE(out.text.has_value()) << out.problems;
  EXPECT_EQ(*out.text,
            "# The cluster of the lab.\n"
            "\n"
            "weft: 1\n"
            "name: x  # short\n"
            "\n"
            "site:\n"
            "  feeds: 2\n"
            "  row_length: 4  # short\n"
            "\n"
            "# Servers.\n"
            "pools:  # all of them\n"
            "  # the first\n"
            "  # its name\n"
            "  - name: a\n"
            "    role: training\n"
            "    server: hgx-h100  # by A\n"
            "    count: 2\n"
            "    # end of a\n"
            "  # end of the pools\n"
            "# the end\n");
}

TEST(Format, ChoosesBlocksForWhatDoesNotFit) {
  std::string many;
  for (int i = 0; i < 20; ++i) many += fmt::format("{}nvidia.com/gpu{}=x:NoSchedule", i == 0 ? "" : ", ", i);
  const std::string text = fmt::format(
      "weft: 1\nname: x\npools:\n  - {{name: a, role: training, server: hgx-h100, count: 2, taints: [{}]}}\n", many);
  const Formatted out = format_text(text);
  ASSERT_TRUE(out.text.has_value()) << out.problems;
  EXPECT_NE(out.text->find("    taints:\n      - nvidia.com/gpu0=x:NoSchedule\n"), std::string::npos) << *out.text;
  EXPECT_EQ(effective(*out.text), effective(text));
}

TEST(Format, KeepsBlockText) {
  const std::string text = std::string("job: 1\nname: j\nnodes: 2\ncommand:\n  - sh\n  - -c\n  - |-  # two lines\n") +
                           "        echo a\n          echo b\n\n        echo c\n  - >-\n     folded\n     text\n";
  const Formatted out = format_text(text);
  ASSERT_TRUE(out.text.has_value()) << out.problems;
  EXPECT_EQ(*out.text,
            "job: 1\nname: j\nnodes: 2\ncommand:\n  - sh\n  - -c\n  - |-  # two lines\n"
            "    echo a\n      echo b\n\n    echo c\n  - >-\n    folded\n    text\n");
}

TEST(Format, RefusesWhatItCannotKeep) {
  const std::string good = std::string("weft: 1\nname: x\n") + kPools;
  ASSERT_TRUE(format_text(good).text.has_value()) << format_text(good).problems;
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"%YAML 1.1\n---\n" + good, "a.yaml:1:1"},
      {good + "...\n", "a.yaml:4:1"},
      {"weft: 1\nname: &a x\n" + std::string(kPools), "a.yaml:2:7"},
      {"weft: 1\nname: !!str x\n" + std::string(kPools), "a.yaml:2:7"},
      {good + "---\nweft: 1\n", "a.yaml:4:1"},
      {"weft: 1\r" + good.substr(8), "a.yaml:1:8"},
      {"job: 1\nname: j\nnodes: 1\ncommand:\n  - |2\n      a\n", "a.yaml:5:5"},
      {good + "nam: y\n", "a.yaml:4:1"},
      {good + "name: y\n", "a.yaml:4:1"},
      {"weft: 1\nname: x\npools: [\n", "a.yaml:"},
      {"hosts: []\n", "a.yaml:1:1"},
      {"", "a.yaml:1:1"},
      {"- a\n", "a.yaml:1:1"},
  };
  for (const auto& [text, place] : cases) {
    const Formatted out = format_text(text);
    EXPECT_FALSE(out.text.has_value()) << text;
    EXPECT_TRUE(out.problems.starts_with(place)) << text << out.problems;
  }
}

TEST(Format, ChangesTheExamplesOnce) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(source_dir() + "/examples")) {
    const std::string name = entry.path().filename().string();
    if (!name.ends_with(".yaml")) continue;
    const std::string text = read_file(entry.path().string()).value_or("");
    const bool cluster = contains(text, "\nweft: 1\n");
    if (!cluster && !contains(text, "\njob: 1\n")) continue;
    ++files;
    const Formatted once = format_text(text);
    ASSERT_TRUE(once.text.has_value()) << name << once.problems;
    const Formatted twice = format_text(*once.text);
    EXPECT_EQ(once.text, twice.text) << name;
    if (cluster) {
      EXPECT_EQ(effective(*once.text), effective(text)) << name;
    }
  }
  EXPECT_GE(files, 6);
}

// Cluster files in every layout: random order of keys, styles, indentation, quotes, comments and blank lines. A comment
// names the key that it belongs to.
class RandomFile {
 public:
  explicit RandomFile(std::uint64_t seed) : random_(seed, "format") {}

  std::string make() {
    write_mapping({{"weft", "1"},
                   {"name", "x"},
                   {"site", "{feeds,row_length,rack}"},
                   {"pools", "[]"},
                   {"tenants", "[]"},
                   {"workload", "{training_percent,data}"}},
                  0, "");
    return text_;
  }

 private:
  using Entries = std::vector<std::pair<std::string, std::string>>;

  std::string next_comment(const std::string& key) { return fmt::format("# {} {}", key, ++comments_); }

  void shuffle(Entries& entries) {
    for (std::size_t i = entries.size(); i > 1; --i) std::swap(entries[i - 1], entries[random_.below(i)]);
  }

  std::string scalar(const std::string& value) {
    const std::uint64_t style = is_digit(value[0]) ? 0 : random_.below(3);
    return style == 0 ? value : style == 1 ? "'" + value + "'" : "\"" + value + "\"";
  }

  static std::string value_of(const std::string& key) {
    static const std::map<std::string, std::string> values = {
        {"feeds", "2"},          {"row_length", "4"}, {"rack", "rack-48u"},        {"role", "training"},
        {"server", "hgx-h100"},  {"count", "3"},      {"training_percent", "100"}, {"data", "better"},
        {"priority", "research"}};
    const auto found = values.find(key);
    return found == values.end() ? "v" : found->second;
  }

  static Entries entries_of(const std::string& list) {
    Entries out;
    const std::string keys = list.substr(1, list.size() - 2);
    for (const std::string_view key : split(keys, ',')) out.emplace_back(std::string(key), value_of(std::string(key)));
    return out;
  }

  void above(const std::string& key, std::size_t indentation) {
    if (random_.chance(0.2)) text_ += "\n";
    if (random_.chance(0.1)) text_ += "   \n";
    if (random_.chance(0.3)) text_ += std::string(indentation, ' ') + next_comment(key) + "\n";
    if (random_.chance(0.1)) text_ += "\n";
  }

  std::string after(const std::string& key) { return random_.chance(0.3) ? "  " + next_comment(key) : ""; }

  void write_mapping(Entries entries, std::size_t indentation, const std::string& start) {
    shuffle(entries);
    bool first = !start.empty();
    for (const auto& [key, value] : entries) {
      if (!first) above(key, indentation);
      const std::string line =
          (first ? start : std::string(indentation, ' ')) + (random_.chance(0.1) ? "\"" + key + "\"" : key) + ":";
      first = false;
      if (value == "[]") {
        write_list(key, indentation, line);
      } else if (value[0] == '{' && random_.chance(0.5)) {
        write_flow(entries_of(value), indentation, line + " ", key);
      } else if (value[0] == '{') {
        text_ += line + after(key) + "\n";
        write_mapping(entries_of(value), indentation + 1 + random_.below(4), "");
      } else {
        text_ += line + " " + scalar(value) + after(key) + "\n";
      }
    }
    if (indentation > 0 && random_.chance(0.2)) text_ += std::string(indentation, ' ') + next_comment("foot") + "\n";
  }

  void write_flow(Entries entries, std::size_t indentation, const std::string& start, const std::string& owner) {
    shuffle(entries);
    text_ += start + "{";
    const bool lines = random_.chance(0.5);
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const auto& [key, value] = entries[i];
      text_ += key + ": " + scalar(value) + (i + 1 < entries.size() ? "," : "");
      text_ += lines ? after(key) + "\n" + std::string(indentation + 3, ' ') : " ";
    }
    text_ += "}" + after(owner) + "\n";
  }

  void write_list(const std::string& key, std::size_t indentation, const std::string& line) {
    text_ += line + after(key) + "\n";
    const std::size_t at = indentation + random_.below(4);  // YAML allows the key's own column
    const std::uint64_t count = 1 + random_.below(3);
    for (std::uint64_t i = 0; i < count; ++i) {
      above("item", at);
      Entries entries = key == "pools" ? entries_of("{role,server,count}") : entries_of("{priority}");
      entries.emplace_back("name", fmt::format("n{}", i));
      const std::string start = std::string(at, ' ') + "- ";
      if (random_.chance(0.4)) {
        write_flow(std::move(entries), at, start, "item");
      } else {
        write_mapping(std::move(entries), at + 2, start);
      }
    }
  }

  RandomStream random_;
  std::string text_;
  int comments_ = 0;
};

std::vector<std::string> comments_in(const std::string& text) {
  std::vector<std::string> out;
  for (const std::string_view line : split_lines(text)) {
    const std::size_t at = line.find("# ");
    if (at != std::string_view::npos) out.emplace_back(trim_end(line.substr(at)));
  }
  std::sort(out.begin(), out.end());
  return out;
}

// A comment at the end of a line is at the end of the same key's line afterwards.
void expect_at_its_key(const std::string& line, const std::string& text) {
  const std::size_t at = line.find("  # ");
  const std::size_t name = at + 4;
  if (at == std::string::npos || trim(line.substr(0, at)).empty()) return;
  const std::string key = line.substr(name, line.find(' ', name) - name);
  if (key == "item" || key == "foot") return;
  EXPECT_NE(line.substr(0, at).find(key), std::string::npos) << line << "\n" << text;
}

TEST(Format, KeepsMeaningAndCommentsOfRandomFiles) {
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    const std::string text = RandomFile(seed).make();
    const Formatted once = format_text(text);
    ASSERT_TRUE(once.text.has_value()) << seed << once.problems << text;
    EXPECT_EQ(effective(*once.text), effective(text)) << text << "\n" << *once.text;
    EXPECT_EQ(comments_in(*once.text), comments_in(text)) << seed;
    for (const std::string_view line : split_lines(*once.text)) {
      expect_at_its_key(std::string(line), *once.text);
      EXPECT_EQ(line, trim_end(line));
    }
    EXPECT_EQ(format_text(*once.text).text, once.text) << text;
    ASSERT_FALSE(testing::Test::HasFailure()) << seed;
  }
}

}  // namespace
}  // namespace weft::model
