#include <algorithm>
#include <string_view>
#include <utility>

#include "base/document.h"
#include "model/yaml_layout.h"

namespace weft::model {
namespace {

constexpr std::size_t kWidth = 120;
constexpr std::size_t kWidestAligned = 70;  // longer lines do not move the comments of their neighbors

bool has_comments(const YamlLayout& node) {
  if (!node.foot.empty() || !node.block.empty()) return true;
  return std::any_of(node.entries.begin(), node.entries.end(), [](const YamlLayoutEntry& entry) {
    return !entry.lead.empty() || !entry.trailing.empty() || has_comments(entry.value);
  });
}

std::string flow_text(const YamlLayout& node) {
  if (node.kind == YamlLayout::Kind::scalar) return node.text;
  const bool mapping = node.kind == YamlLayout::Kind::mapping;
  std::string out(1, mapping ? '{' : '[');
  for (const YamlLayoutEntry& entry : node.entries) {
    if (out.size() > 1) out += ", ";
    const std::string value = flow_text(entry.value);
    if (mapping) out += entry.key + (value.empty() ? ":" : ": ");
    out += value;
  }
  return out += mapping ? '}' : ']';
}

class LayoutWriter {
 public:
  std::string write(YamlDocument& document) {
    for (const YamlComment& comment : document.head) add_comment(0, comment);
    if (document.explicit_start) add("---");
    if (document.blank_after_head && !document.head.empty()) add("");
    if (document.root.kind == YamlLayout::Kind::scalar) {
      if (!document.root.text.empty()) add(document.root.text);
    } else {
      document.root.flow = false;
      write_entries(document.root, 0, {});
    }
    return finish();
  }

 private:
  struct Line {
    std::string text;
    std::string comment{};
  };

  void add(std::string text, std::string comment = {}) { lines_.push_back({std::move(text), std::move(comment)}); }
  void add_blank() {
    if (!lines_.empty() && !(lines_.back().text.empty() && lines_.back().comment.empty())) add("");
  }
  void add_comment(std::size_t indentation, const YamlComment& comment) {
    if (comment.blank) add_blank();
    add(std::string(indentation, ' ') + comment.text);
  }

  // `start` is what the first line has instead of its indentation: the dashes of the items around it.
  void write_entries(YamlLayout& node, std::size_t indentation, const std::string& start) {
    for (std::size_t i = 0; i < node.entries.size(); ++i) {
      YamlLayoutEntry& entry = node.entries[i];
      const bool inline_start = i == 0 && !start.empty();
      if (!inline_start) {
        hoist_comments(entry);
        write_above(entry, indentation);
      }
      const std::string line = inline_start ? start : std::string(indentation, ' ');
      if (node.kind == YamlLayout::Kind::mapping) {
        write_value(entry, indentation, line + entry.key + ":", true);
      } else {
        write_value(entry, indentation, line + "-", false);
      }
    }
    for (const YamlComment& comment : node.foot) add_comment(indentation, comment);
  }

  // The first key of an item is on the line of its dash: what is above the key goes above the dash.
  static void hoist_comments(YamlLayoutEntry& entry) {
    for (YamlLayoutEntry* inner = &entry; inner->key.empty() && inner->value.kind != YamlLayout::Kind::scalar &&
                                          !inner->value.entries.empty() && !inner->value.flow;) {
      YamlLayoutEntry& first = inner->value.entries.front();
      if (!inner->trailing.empty()) entry.lead.push_back({std::exchange(inner->trailing, {}), false});
      for (YamlComment& comment : first.lead) entry.lead.push_back(std::move(comment));
      first.lead.clear();
      inner = &first;
    }
  }

  void write_above(const YamlLayoutEntry& entry, std::size_t indentation) {
    for (const YamlComment& comment : entry.lead) {
      add_comment(indentation, {comment.text, comment.blank && !first_});
      first_ = false;
    }
    if (entry.blank && !first_) add_blank();
    first_ = false;
  }

  void write_value(YamlLayoutEntry& entry, std::size_t indentation, std::string line, bool has_key) {
    YamlLayout& value = entry.value;
    const bool collection = value.kind != YamlLayout::Kind::scalar;
    if (!collection || value.entries.empty() || value.flow) {
      const std::string text = flow_text(value);
      add(line + (text.empty() ? "" : " ") + text, entry.trailing);
      for (const std::string& more : value.block) add(more.empty() ? "" : std::string(indentation + 2, ' ') + more);
      return;
    }
    if (has_key) {
      add(std::move(line), entry.trailing);
      first_ = true;
      return write_entries(value, indentation + 2, {});
    }
    write_entries(value, indentation + 2, line + " ");
  }

  // Trailing comments of neighboring lines begin in one column.
  std::string finish() {
    std::string out;
    for (std::size_t i = 0; i < lines_.size();) {
      std::size_t end = i;
      std::size_t column = 0;
      for (; end < lines_.size() && !lines_[end].comment.empty(); ++end) {
        const std::size_t width = display_width(lines_[end].text);
        if (width <= kWidestAligned) column = std::max(column, width);
      }
      if (end == i) out += lines_[i++].text + '\n';
      for (; i < end; ++i) {
        const std::size_t width = display_width(lines_[i].text);
        out += lines_[i].text + std::string(width < column ? column - width + 2 : 2, ' ') + lines_[i].comment + '\n';
      }
    }
    return out;
  }

  std::vector<Line> lines_;
  bool first_ = true;  // nothing is above in this block: no blank line
};

// A flow collection becomes a block if it has comments inside or does not fit on its line. `column`: where it begins.
void choose_style(YamlLayout& node, std::size_t column, std::size_t indentation, bool in_flow) {
  if (node.kind == YamlLayout::Kind::scalar) return;
  if (node.flow && (has_comments(node) || column + flow_text(node).size() > kWidth)) node.flow = in_flow;
  if (node.entries.empty()) node.flow = true;
  for (YamlLayoutEntry& entry : node.entries) {
    const std::size_t start = indentation + (node.kind == YamlLayout::Kind::mapping ? entry.key.size() + 2 : 2);
    choose_style(entry.value, start, indentation + 2, node.flow);
  }
}

}  // namespace

std::string write_yaml_layout(YamlDocument document) {
  document.root.flow = false;
  for (YamlLayoutEntry& entry : document.root.entries) {
    const bool mapping = document.root.kind == YamlLayout::Kind::mapping;
    choose_style(entry.value, mapping ? entry.key.size() + 2 : 2, 2, false);
  }
  return LayoutWriter().write(document);
}

}  // namespace weft::model
