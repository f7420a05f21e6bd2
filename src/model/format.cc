#include "model/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "base/quoting.h"
#include "base/yaml.h"
#include "model/job.h"
#include "model/spec.h"
#include "model/yaml_layout.h"

namespace weft::model {

template <>
const Schema& schema_of<JobSpec>();
template <>
const Schema& schema_of<Spec>();

namespace {

struct FileKind {
  const Schema* schema = nullptr;
  // The file as written by the schema tables, with the values that it gives. Reports errors.
  std::optional<std::string> (*canonical)(const YamlNode& root, Diagnostics& diagnostics) = nullptr;
};

template <class Record>
std::optional<std::string> canonical_text(const YamlNode& root, Diagnostics& diagnostics) {
  const std::size_t before = diagnostics.error_count();
  Record record;
  Codec<Record>::read(root, diagnostics, record);
  if (diagnostics.error_count() != before) return std::nullopt;
  YamlWriter writer;
  writer.open();
  schema_of<Record>().write(&record, writer);
  writer.close();
  return writer.finish();
}

template <class Record>
FileKind file_kind() {
  return {&schema_of<Record>(), canonical_text<Record>};
}

std::optional<FileKind> kind_of(const YamlNode& root) {
  if (root.find("weft") != nullptr) return file_kind<Spec>();
  if (root.find("job") != nullptr) return file_kind<JobSpec>();
  return std::nullopt;
}

void order_keys(YamlLayout& node, const ValueType& type);

void order_keys(YamlLayout& node, const Schema& schema) {
  const auto index = [&](const YamlLayoutEntry& entry) {
    const std::vector<Field>& fields = schema.fields();
    return std::find_if(fields.begin(), fields.end(), [&](const Field& field) { return field.key == entry.name; }) -
           fields.begin();
  };
  std::stable_sort(node.entries.begin(), node.entries.end(),
                   [&](const YamlLayoutEntry& a, const YamlLayoutEntry& b) { return index(a) < index(b); });
  for (YamlLayoutEntry& entry : node.entries) {
    const auto at = static_cast<std::size_t>(index(entry));
    if (at < schema.fields().size()) order_keys(entry.value, schema.fields()[at].type);
  }
}

void order_keys(YamlLayout& node, const ValueType& type) {
  if (type.shape == ValueType::Shape::record && type.record != nullptr && node.kind == YamlLayout::Kind::mapping)
    return order_keys(node, *type.record);
  if (type.element == nullptr) return;
  for (YamlLayoutEntry& entry : node.entries) order_keys(entry.value, *type.element);
}

// Of all comments, in any order.
void collect_comments(const YamlLayout& node, std::vector<std::string>& out) {
  for (const YamlComment& comment : node.foot) out.push_back(comment.text);
  for (const YamlLayoutEntry& entry : node.entries) {
    for (const YamlComment& comment : entry.lead) out.push_back(comment.text);
    if (!entry.trailing.empty()) out.push_back(entry.trailing);
    collect_comments(entry.value, out);
  }
}

std::vector<std::string> comments_of(const YamlDocument& document) {
  std::vector<std::string> out;
  for (const YamlComment& comment : document.head) out.push_back(comment.text);
  collect_comments(document.root, out);
  std::sort(out.begin(), out.end());
  return out;
}

// The first value that differs, in another order of keys at most; null if none does.
const YamlNode* first_difference(const YamlNode& before, const YamlNode& after) {
  const bool same_quotes = before.quoted == after.quoted || is_plain_yaml_text(before.scalar) || !before.quoted;
  if (before.kind != after.kind || before.scalar != after.scalar || !same_quotes) return &before;
  if (before.items.size() != after.items.size() || before.entries.size() != after.entries.size()) return &before;
  for (std::size_t i = 0; i < before.items.size(); ++i) {
    if (const YamlNode* found = first_difference(before.items[i], after.items[i])) return found;
  }
  std::vector<const YamlEntry*> sorted;
  for (const YamlEntry& entry : after.entries) sorted.push_back(&entry);
  std::sort(sorted.begin(), sorted.end(), [](const YamlEntry* a, const YamlEntry* b) { return a->key < b->key; });
  for (const YamlEntry& entry : before.entries) {
    const auto other = std::lower_bound(sorted.begin(), sorted.end(), entry.key,
                                        [](const YamlEntry* a, const std::string& key) { return a->key < key; });
    if (other == sorted.end() || (*other)->key != entry.key) return &entry.value;
    if (const YamlNode* found = first_difference(entry.value, (*other)->value)) return found;
  }
  return nullptr;
}

std::optional<std::string> format_once(const Sources& sources, FileId file, const Schema& schema,
                                       Diagnostics& diagnostics, std::vector<std::string>& comments) {
  std::optional<YamlDocument> document = read_yaml_layout(sources, file, diagnostics);
  if (!document) return std::nullopt;
  comments = comments_of(*document);
  order_keys(document->root, schema);
  return write_yaml_layout(std::move(*document));
}

// Compares the formatted text with the file: values, comments, what the schema reads from it, and its own format.
class Verifier {
 public:
  Verifier(const YamlNode& before, const FileKind& kind, std::string canonical)
      : before_(before), kind_(kind), canonical_(std::move(canonical)) {}

  // The place of what would change, or nullopt.
  [[nodiscard]] std::optional<SourceLocation> change(const std::string& text,
                                                     const std::vector<std::string>& comments) const {
    Sources sources;
    Diagnostics diagnostics;
    const FileId file = sources.add("formatted", text);
    const std::optional<YamlNode> after = parse_yaml(sources, file, diagnostics);
    if (!after) return before_.place;
    if (const YamlNode* found = first_difference(before_, *after)) return found->place;
    const std::optional<std::string> canonical = kind_.canonical(*after, diagnostics);
    std::vector<std::string> kept;
    const std::optional<std::string> again = format_once(sources, file, *kind_.schema, diagnostics, kept);
    if (canonical != canonical_ || again != text || kept != comments) return before_.place;
    return std::nullopt;
  }

 private:
  const YamlNode& before_;
  const FileKind& kind_;
  std::string canonical_;
};

}  // namespace

std::optional<std::string> format_file(Sources& sources, FileId file, Diagnostics& diagnostics) {
  const std::optional<YamlNode> root = parse_yaml(sources, file, diagnostics);
  if (!root) return std::nullopt;
  const std::optional<FileKind> kind = kind_of(*root);
  if (!kind) {
    diagnostics.error({file, 1, 1}, "not a cluster file or a job file",
                      "a cluster file has the key `weft: 1`, a job file the key `job: 1`");
    return std::nullopt;
  }
  const std::optional<std::string> canonical = kind->canonical(*root, diagnostics);
  if (!canonical) return std::nullopt;
  std::vector<std::string> comments;
  std::optional<std::string> text = format_once(sources, file, *kind->schema, diagnostics, comments);
  if (!text) return std::nullopt;
  const std::optional<SourceLocation> changed = Verifier(*root, *kind, *canonical).change(*text, comments);
  if (changed) {
    diagnostics.error(*changed, "cannot be formatted without a change of its meaning or its comments",
                      "simplify how this is written; the file is unchanged");
    return std::nullopt;
  }
  return text;
}

}  // namespace weft::model
