#include "render/core/statements.h"

#include <algorithm>
#include <map>

#include "base/json.h"
#include "base/yaml.h"

namespace weft::render {
namespace {

constexpr YamlLimits kLimits{.bytes = 1U << 30U, .nodes = 40'000'000, .depth = 64};

// Lists of named items are compared by name, not by position: removing one does not change all that follow.
std::string item_key(const YamlNode& item, std::size_t index) {
  for (const char* name : {"name", "key", "path", "device", "host"}) {
    const YamlNode* found = item.find(name);
    if (found != nullptr && found->kind == YamlNode::Kind::scalar) return "[" + found->scalar + "]";
  }
  return "[" + std::to_string(index) + "]";
}

class Flattener {
 public:
  explicit Flattener(std::vector<Statement>& out) : out_(out) {}

  void walk(const std::string& key, const YamlNode& node) {
    if (node.kind == YamlNode::Kind::mapping && !node.entries.empty()) {
      for (const YamlEntry& entry : node.entries) walk(key.empty() ? entry.key : key + "." + entry.key, entry.value);
    } else if (node.kind == YamlNode::Kind::sequence && !node.items.empty()) {
      walk_list(key, node);
    } else {
      out_.push_back({key, scalar_text(node), node.place.line});
    }
  }

 private:
  static std::string scalar_text(const YamlNode& node) {
    if (node.kind == YamlNode::Kind::mapping) return "{}";
    if (node.kind == YamlNode::Kind::sequence) return "[]";
    return node.kind == YamlNode::Kind::null ? "null" : node.scalar;
  }
  void walk_list(const std::string& key, const YamlNode& node) {
    const bool scalars = std::all_of(node.items.begin(), node.items.end(),
                                     [](const YamlNode& item) { return item.kind == YamlNode::Kind::scalar; });
    if (scalars) {
      std::string joined;
      for (const YamlNode& item : node.items) joined += (joined.empty() ? "" : ", ") + item.scalar;
      out_.push_back({key, std::move(joined), node.place.line});
      return;
    }
    std::map<std::string, int> seen;
    for (std::size_t i = 0; i < node.items.size(); ++i) {
      std::string item = item_key(node.items[i], i);
      const int times = seen[item]++;
      if (times > 0) item += "#" + std::to_string(times + 1);
      walk(key + item, node.items[i]);
    }
  }

  std::vector<Statement>& out_;
};

// "Deployment team-beta/chat" for Kubernetes objects, the number for other documents.
std::string document_key(const YamlNode& document, std::size_t index, std::size_t count) {
  const YamlNode* kind = document.find("kind");
  const YamlNode* metadata = document.find("metadata");
  const YamlNode* name = metadata != nullptr ? metadata->find("name") : nullptr;
  if (kind == nullptr || name == nullptr) return count == 1 ? "" : "document " + std::to_string(index + 1);
  const YamlNode* space = metadata->find("namespace");
  return kind->scalar + " " + (space != nullptr ? space->scalar + "/" : "") + name->scalar;
}

bool flatten_json(std::string_view text, std::vector<Statement>& out) {
  Sources sources;
  Diagnostics diagnostics;
  const FileId file = sources.add("", std::string(text));
  const auto tree = parse_json(sources, file, diagnostics, kLimits);
  if (!tree) return false;
  Flattener(out).walk("", *tree);
  return true;
}

bool flatten_yaml(std::string_view text, std::vector<Statement>& out) {
  Sources sources;
  Diagnostics diagnostics;
  const FileId file = sources.add("", std::string(text));
  const std::vector<YamlNode> documents = parse_yaml_stream(sources, file, diagnostics, kLimits);
  if (diagnostics.has_errors()) return false;
  for (std::size_t i = 0; i < documents.size(); ++i) {
    Flattener(out).walk(document_key(documents[i], i, documents.size()), documents[i]);
  }
  return true;
}

template <class EachLine>
void for_lines(std::string_view text, EachLine each) {
  std::uint32_t number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    while (!line.empty() && (line.back() == ' ' || line.back() == '\r' || line.back() == '\t')) line.remove_suffix(1);
    each(line, ++number);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

bool is_comment(std::string_view line) { return line.empty() || line.front() == '!' || line.front() == '#'; }

// A command belongs to the nearest line above that is indented less.
void flatten_commands(std::string_view text, std::vector<Statement>& out) {
  struct Open {
    std::size_t indent;
    std::string key;
  };
  std::vector<Open> open;
  for_lines(text, [&](std::string_view line, std::uint32_t number) {
    const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
    const std::string_view words = line.substr(indent);
    if (is_comment(words) || words == "exit" || words == "end") return;
    while (!open.empty() && open.back().indent >= indent) open.pop_back();
    std::string key = open.empty() ? std::string(words) : open.back().key + " > " + std::string(words);
    out.push_back({key, {}, number});
    open.push_back({indent, std::move(key)});
  });
}

void flatten_lines(std::string_view text, std::vector<Statement>& out) {
  for_lines(text, [&](std::string_view line, std::uint32_t number) {
    if (!line.empty()) out.push_back({std::string(line), {}, number});
  });
}

}  // namespace

TextForm form_of(std::string_view path, std::string_view text) {
  const auto ends = [&](std::string_view suffix) { return path.ends_with(suffix); };
  if (ends(".json") || ends(".conflist")) return TextForm::json;
  if (ends(".yaml") || ends(".yml")) return TextForm::yaml;
  if (ends(".cfg") || ends(".nv") || ends("frr.conf")) return TextForm::commands;
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && text[first] == '{') return TextForm::json;
  if (text.find("\ninterface ") != std::string_view::npos) return TextForm::commands;
  return TextForm::lines;
}

std::vector<Statement> statements_of(TextForm form, std::string_view /*path*/, std::string_view text) {
  std::vector<Statement> out;
  const bool read =
      form == TextForm::json ? flatten_json(text, out) : form == TextForm::yaml && flatten_yaml(text, out);
  if (!read) {
    out.clear();
    if (form == TextForm::commands) {
      flatten_commands(text, out);
    } else {
      flatten_lines(text, out);
    }
  }
  std::stable_sort(out.begin(), out.end(), [](const Statement& a, const Statement& b) { return a.key < b.key; });
  return out;
}

}  // namespace weft::render
