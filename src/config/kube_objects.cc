#include "config/kube_objects.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/json.h"
#include "base/quantity.h"
#include "base/text.h"
#include "base/utf8.h"
#include "config/host_readers.h"
#include "config/host_text.h"

namespace weft::config {
namespace {

constexpr int kMaxListDepth = 4;  // a List inside a List is legal, but not used in practice

void split_api_version(std::string_view text, KubeObject& object) {
  const std::size_t slash = text.find('/');
  object.api_group = slash == std::string_view::npos ? std::string() : std::string(text.substr(0, slash));
  object.api_version = slash == std::string_view::npos ? std::string(text) : std::string(text.substr(slash + 1));
}

void read_object(const Sources& sources, YamlNode node, int depth, ConfigSet& set, Diagnostics& diagnostics) {
  if (node.kind != YamlNode::Kind::mapping || node.find("kind") == nullptr || node.find("apiVersion") == nullptr) {
    diagnostics.warning(node.place, "not a Kubernetes object: `apiVersion` or `kind` is missing");
    return;
  }
  KubeObject object;
  object.kind = text_of(node.find("kind"));
  object.place = node.place;
  split_api_version(text_of(node.find("apiVersion")), object);
  const YamlNode* items = node.find("items");
  if (object.kind == "List" || (object.kind.ends_with("List") && items != nullptr)) {
    if (depth >= kMaxListDepth) {
      diagnostics.error(node.place, "lists of objects are nested too deeply");
      return;
    }
    for (YamlEntry& entry : node.entries) {
      if (entry.key != "items") continue;
      for (YamlNode& item : entry.value.items) read_object(sources, std::move(item), depth + 1, set, diagnostics);
    }
    return;
  }
  object.name = text_of(node_at(&node, "metadata.name"));
  if (object.name.empty()) object.name = text_of(node_at(&node, "metadata.generateName"));
  object.space = text_of(node_at(&node, "metadata.namespace"));
  object.tree = std::move(node);
  read_kube_apps(sources, object, set, diagnostics);
  read_kube_networks(sources, object, set, diagnostics);
  read_kube_nics(object, set, diagnostics);
  set.objects.push_back(std::move(object));
}

// The location of a text inside a manifest: its line 1 follows `first`, shifted by `indent`; or all of it at one
// location.
struct Embedding {
  SourceLocation first;
  std::uint32_t indent = 0;
  bool literal = false;

  [[nodiscard]] SourceLocation map(const SourceLocation& inner) const {
    if (!literal || !inner.known() || inner.line == 0) return first;
    const std::uint32_t column = std::min<std::uint32_t>(inner.column + indent, 65535);
    return {first.file, static_cast<std::uint16_t>(column), first.line + inner.line};
  }
};

Embedding embedding_of(const Sources& sources, const YamlNode& node) {
  Embedding embedding;
  embedding.first = node.place;
  const std::string_view line = sources.line(node.place.file, node.place.line);
  const std::size_t column = node.place.column == 0 ? 0 : node.place.column - 1U;
  if (!node.quoted || column >= line.size() || line[column] != '|') return embedding;
  embedding.literal = true;
  for (std::uint32_t next = 1; next <= 50; ++next) {
    const std::string_view content = sources.line(node.place.file, node.place.line + next);
    const std::size_t start = content.find_first_not_of(' ');
    if (start == std::string_view::npos) continue;
    embedding.indent = static_cast<std::uint32_t>(start);
    break;
  }
  // With an indentation indicator the block may be indented less than its first line; this affects only columns.
  return embedding;
}

void move_places(YamlNode& node, const Embedding& embedding) {
  node.place = embedding.map(node.place);
  for (YamlNode& item : node.items) move_places(item, embedding);
  for (YamlEntry& entry : node.entries) {
    entry.key_place = embedding.map(entry.key_place);
    move_places(entry.value, embedding);
  }
}

// The first tag of a Helm, Go or Jinja template; a location without a line if the text has none.
SourceLocation first_tag(FileId file, std::string_view text) {
  const std::size_t at = std::min(text.find("{{"), text.find("{%"));
  if (at == std::string_view::npos) return {file, 0, 0};
  const std::size_t before = text.substr(0, at).rfind('\n');
  const std::size_t column = before == std::string_view::npos ? at + 1 : at - before;
  const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
  return {file, static_cast<std::uint16_t>(std::min<std::size_t>(column, 65535)), static_cast<std::uint32_t>(line)};
}

// The documents of a stream. Quoted tags are ordinary text (Prometheus rules contain them); if tags make the text
// invalid YAML, it is a template, and the parser's errors would not help.
std::vector<YamlNode> read_documents(const Sources& sources, FileId file, Diagnostics& diagnostics) {
  Diagnostics attempt;
  std::vector<YamlNode> documents = parse_yaml_stream(sources, file, attempt);
  const SourceLocation tag = attempt.has_errors() ? first_tag(file, sources.text(file)) : SourceLocation{};
  for (Diagnostic& diagnostic : attempt.sorted()) {
    if (tag.line == 0 || diagnostic.severity != Severity::error) diagnostics.add(std::move(diagnostic));
  }
  if (tag.line != 0) {
    diagnostics.warning(tag, "ignored: this is a template, not a Kubernetes object",
                        "render it first, for example with `helm template` or `kustomize build`", 2);
  }
  return documents;
}

}  // namespace

void read_kubernetes(const Sources& sources, FileId file, ConfigSet& set, Diagnostics& diagnostics) {
  const std::string_view text = sources.text(file);
  const std::size_t start = text.find_first_not_of(" \t\r\n");
  if (start != std::string_view::npos && text[start] == '{') {
    // One JSON object; a stream of them, such as the output of several `kubectl get -o json` calls, is parsed as YAML.
    Diagnostics attempt;
    if (auto root = parse_json(sources, file, attempt)) {
      for (Diagnostic& diagnostic : attempt.sorted()) diagnostics.add(std::move(diagnostic));
      read_object(sources, std::move(*root), 0, set, diagnostics);
      return;
    }
  }
  for (YamlNode& document : read_documents(sources, file, diagnostics)) {
    read_object(sources, std::move(document), 0, set, diagnostics);
  }
}

std::optional<YamlNode> parse_embedded_json(const Sources& sources, const YamlNode& node, Diagnostics& diagnostics) {
  if (node.kind != YamlNode::Kind::scalar) return std::nullopt;
  const Embedding embedding = embedding_of(sources, node);
  Sources inner;
  Diagnostics found;
  const FileId file = inner.add("embedded", node.scalar);
  std::optional<YamlNode> root = parse_json(inner, file, found);
  for (Diagnostic diagnostic : found.sorted()) {
    diagnostic.place = embedding.map(diagnostic.place);
    diagnostic.message = "in this JSON text: " + diagnostic.message;
    diagnostics.add(std::move(diagnostic));
  }
  if (root) move_places(*root, embedding);
  return root;
}

const YamlNode* node_at(const YamlNode* node, std::string_view path) {
  while (node != nullptr && !path.empty()) {
    const std::size_t dot = path.find('.');
    node = node->find(path.substr(0, dot));
    path = dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
  }
  return node;
}

std::string_view text_of(const YamlNode* node) {
  return node != nullptr && node->kind == YamlNode::Kind::scalar ? std::string_view(node->scalar) : std::string_view();
}

std::string selector_text(const YamlNode* mapping) {
  std::string out;
  if (mapping == nullptr) return out;
  for (const YamlEntry& entry : mapping->entries) {
    if (!out.empty()) out += ',';
    out += entry.key + "=" + std::string(text_of(&entry.value));
  }
  return out;
}

Setting<std::string> text_setting(const YamlNode* node, std::string path) {
  if (node == nullptr || node->kind != YamlNode::Kind::scalar) return {};
  return {node->scalar, node->place, std::move(path)};
}

Setting<std::int64_t> integer_setting(const YamlNode* node, std::string path) {
  if (node == nullptr || node->kind != YamlNode::Kind::scalar) return {};
  const auto value = parse_integer(node->scalar);
  if (!value) return {};
  return {*value, node->place, std::move(path)};
}

Setting<bool> boolean_setting(const YamlNode* node, std::string path) {
  const std::string_view text = text_of(node);
  if (text != "true" && text != "false" && text != "True" && text != "False") return {};
  return {text == "true" || text == "True", node->place, std::move(path)};
}

std::optional<Ipv4Prefix> subnet_of(std::string_view text) {
  text = trim(text, kLineSpaces);
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const auto address = parse_ipv4(text.substr(0, std::min(slash, text.find('-'))));
  const auto length = parse_integer(text.substr(slash + 1));
  if (!address || !length || *length < 0 || *length > 32) return std::nullopt;
  const std::uint32_t mask = *length == 0 ? 0 : ~std::uint32_t{0} << (32 - *length);
  return Ipv4Prefix{{address->bits & mask}, static_cast<std::uint8_t>(*length)};
}

}  // namespace weft::config
