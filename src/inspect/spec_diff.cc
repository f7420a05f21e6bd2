#include "inspect/spec_diff.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/text.h"
#include "base/yaml.h"

namespace weft::inspect {
namespace {

// Lists whose order has no meaning. That of pools decides addresses, that of partitions Slurm's default.
constexpr std::string_view kUnordered[] = {"racks",     "cables",      "suppress",      "taints",
                                           "routes_to", "constraints", "cipher_suites", "pfc_priorities"};

bool is_unordered(std::string_view path) {
  const std::size_t dot = path.rfind('.');
  const std::string_view key = dot == std::string_view::npos ? path : path.substr(dot + 1);
  return std::find(std::begin(kUnordered), std::end(kUnordered), key) != std::end(kUnordered);
}

std::string one_line(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::null:
      return {};
    case YamlNode::Kind::scalar:
      return node.scalar;
    case YamlNode::Kind::sequence: {
      std::vector<std::string> items;
      for (const YamlNode& item : node.items) items.push_back(one_line(item));
      return "[" + join(items, ", ") + "]";
    }
    case YamlNode::Kind::mapping:
      break;
  }
  std::vector<std::string> entries;
  for (const YamlEntry& entry : node.entries) entries.push_back(entry.key + ": " + one_line(entry.value));
  return "{" + join(entries, ", ") + "}";
}

// A cluster file and its effective form, as trees.
struct ParsedSpec {
  Sources effective_sources;
  YamlNode effective;
  YamlNode file;
  const Sources* file_sources = nullptr;
  FileId effective_file = 0;

  explicit ParsedSpec(const model::Loaded& loaded) : file_sources(&loaded.sources) {
    Diagnostics ignored;  // both were read before
    effective_file = effective_sources.add("effective", model::write_effective(*loaded.spec));
    std::optional<YamlNode> root = parse_yaml(effective_sources, effective_file, ignored);
    CHECK(root.has_value(), "the effective file is not YAML");
    effective = std::move(*root);
    std::optional<YamlNode> written = parse_yaml(loaded.sources, loaded.spec->place.file, ignored);
    if (written.has_value()) file = std::move(*written);
  }
};

// The same setting in both trees; any part may be missing.
struct Setting {
  const YamlNode* effective = nullptr;
  const YamlNode* file = nullptr;
  std::uint32_t line = 0;  // of its key in the effective file

  [[nodiscard]] bool exists() const { return effective != nullptr && effective->kind != YamlNode::Kind::null; }
};

// What identifies an entry of a list; "" if nothing does.
std::string identity_of(const YamlNode& item) {
  if (item.kind == YamlNode::Kind::scalar) return item.scalar;
  if (item.kind != YamlNode::Kind::mapping) return {};
  for (const auto& keys : {std::vector<std::string_view>{"name"},
                           {"hosts"},
                           {"from", "to"},
                           {"rule", "subject"},
                           std::vector<std::string_view>{"rule"}}) {
    std::vector<std::string> parts;
    for (const std::string_view key : keys) {
      const YamlNode* value = item.find(key);
      if (value != nullptr && value->kind == YamlNode::Kind::scalar) parts.push_back(value->scalar);
    }
    if (parts.size() == keys.size()) return join(parts, " ");
  }
  return {};
}

class SettingComparison {
 public:
  SettingComparison(const ParsedSpec& before, const ParsedSpec& after) : before_(before), after_(after) {}

  std::vector<SettingChange> run() {
    compare("", {&before_.effective, &before_.file, 0}, {&after_.effective, &after_.file, 0});
    return std::move(changes_);
  }

 private:
  void compare(const std::string& path, const Setting& before, const Setting& after) {
    if (!before.exists() && !after.exists()) return;
    if (!before.exists() || !after.exists() || before.effective->kind != after.effective->kind) {
      return note(path, before, after);
    }
    switch (before.effective->kind) {
      case YamlNode::Kind::mapping:
        return compare_mappings(path, before, after);
      case YamlNode::Kind::sequence:
        return compare_lists(path, before, after);
      default:
        if (before.effective->scalar != after.effective->scalar) note(path, before, after);
    }
  }

  static Setting child(const Setting& of, const std::string& key) {
    Setting found;
    for (const YamlEntry& entry : of.effective->entries) {
      if (entry.key != key) continue;
      found.effective = &entry.value;
      found.line = entry.key_place.line;
    }
    if (of.file != nullptr) found.file = of.file->find(key);
    return found;
  }

  void compare_mappings(const std::string& path, const Setting& before, const Setting& after) {
    const std::string prefix = path.empty() ? path : path + ".";
    for (const YamlEntry& entry : before.effective->entries) {
      compare(prefix + entry.key, child(before, entry.key), child(after, entry.key));
    }
    for (const YamlEntry& entry : after.effective->entries) {
      if (before.effective->find(entry.key) == nullptr) compare(prefix + entry.key, {}, child(after, entry.key));
    }
  }

  // The entries of a list in the file have the order of the effective file.
  static Setting item(const Setting& of, std::size_t index) {
    const YamlNode& effective = of.effective->items[index];
    const bool written = of.file != nullptr && of.file->items.size() == of.effective->items.size();
    return {&effective, written ? &of.file->items[index] : nullptr, effective.place.line};
  }

  static std::vector<std::string> identities(const Setting& list) {
    std::vector<std::string> names;
    for (const YamlNode& each : list.effective->items) names.push_back(identity_of(each));
    std::vector<std::string> sorted = names;
    std::sort(sorted.begin(), sorted.end());
    const bool unique = std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end();
    return unique && (sorted.empty() || !sorted.front().empty()) ? names : std::vector<std::string>{};
  }

  void compare_lists(const std::string& path, const Setting& before, const Setting& after) {
    const std::vector<std::string> old_names = identities(before);
    const std::vector<std::string> new_names = identities(after);
    const bool records = std::any_of(before.effective->items.begin(), before.effective->items.end(), is_mapping) ||
                         std::any_of(after.effective->items.begin(), after.effective->items.end(), is_mapping);
    const bool named =
        old_names.size() == before.effective->items.size() && new_names.size() == after.effective->items.size();
    if (!records) {
      if (is_same_list(path, *before.effective, *after.effective)) return;
      return note(path, before, after);
    }
    if (!named) return compare_by_position(path, before, after);
    std::vector<std::string> kept_before;
    std::vector<std::string> kept_after;
    for (std::size_t i = 0; i < old_names.size(); ++i) {
      const auto found = std::find(new_names.begin(), new_names.end(), old_names[i]);
      const bool kept = found != new_names.end();
      if (kept) kept_before.push_back(old_names[i]);
      compare(path + "[" + old_names[i] + "]", item(before, i),
              kept ? item(after, static_cast<std::size_t>(found - new_names.begin())) : Setting{});
    }
    for (std::size_t i = 0; i < new_names.size(); ++i) {
      if (std::find(old_names.begin(), old_names.end(), new_names[i]) != old_names.end()) {
        kept_after.push_back(new_names[i]);
      } else {
        compare(path + "[" + new_names[i] + "]", {}, item(after, i));
      }
    }
    if (kept_before == kept_after || is_unordered(path)) return;
    SettingChange change = make_change(path, before, after);
    change.order = true;
    change.before.value = "[" + join(old_names, ", ") + "]";
    change.after.value = "[" + join(new_names, ", ") + "]";
    changes_.push_back(std::move(change));
  }

  static bool is_mapping(const YamlNode& node) { return node.kind == YamlNode::Kind::mapping; }

  static bool is_same_list(std::string_view path, const YamlNode& before, const YamlNode& after) {
    const auto texts = [&](const YamlNode& list) {
      std::vector<std::string> out;
      for (const YamlNode& each : list.items) out.push_back(one_line(each));
      if (is_unordered(path)) std::sort(out.begin(), out.end());
      return out;
    };
    return texts(before) == texts(after);
  }

  void compare_by_position(const std::string& path, const Setting& before, const Setting& after) {
    const std::size_t longest = std::max(before.effective->items.size(), after.effective->items.size());
    for (std::size_t i = 0; i < longest; ++i) {
      compare(path + "[" + std::to_string(i + 1) + "]",
              i < before.effective->items.size() ? item(before, i) : Setting{},
              i < after.effective->items.size() ? item(after, i) : Setting{});
    }
  }

  static SettingSide side(const ParsedSpec& spec, const Setting& setting) {
    SettingSide out;
    if (!setting.exists()) return out;
    const bool written = setting.file != nullptr && setting.file->kind != YamlNode::Kind::null;
    // A record that the file has is shown as written: its defaults would hide what matters.
    const bool as_written = written && setting.effective->kind == YamlNode::Kind::mapping;
    out.value = one_line(as_written ? *setting.file : *setting.effective);
    if (written) {
      out.origin = "file";
      out.place = spec.file_sources->describe(setting.file->place);
      return out;
    }
    const std::string_view line = trim_end(spec.effective_sources.line(spec.effective_file, setting.line));
    out.origin = line.ends_with("# derived") ? "derived" : "default";
    return out;
  }

  SettingChange make_change(const std::string& path, const Setting& before, const Setting& after) const {
    return {path, false, side(before_, before), side(after_, after)};
  }
  void note(const std::string& path, const Setting& before, const Setting& after) {
    changes_.push_back(make_change(path, before, after));
  }

  const ParsedSpec& before_;
  const ParsedSpec& after_;
  std::vector<SettingChange> changes_;
};

}  // namespace

std::vector<SettingChange> compare_settings(const model::Loaded& before, const model::Loaded& after) {
  CHECK(before.spec.has_value() && after.spec.has_value(), "compare_settings() of a file with errors");
  const ParsedSpec first(before);
  const ParsedSpec second(after);
  return SettingComparison(first, second).run();
}

}  // namespace weft::inspect
