#include <algorithm>

#include "model/schema.h"

namespace weft::model {

// A line consists of indentation, "- " for the first line of an item, "key:", and a scalar. It ends when the next key,
// item or level begins.
void YamlWriter::flush() {
  if (!pending_.empty() || !pending_comment_.empty())
    lines_.push_back({std::move(pending_), std::move(pending_comment_)});
  pending_.clear();
  pending_comment_.clear();
}

void YamlWriter::key(std::string_view name) {
  if (item_) {
    item_ = false;  // the first key of an item is on the line of its dash
  } else {
    flush();
    pending_.assign(static_cast<std::size_t>(std::max(0, depth_ - 1)) * 2, ' ');
  }
  pending_ += std::string(name) + ": ";
}

void YamlWriter::begin_item() {
  flush();
  pending_.assign(static_cast<std::size_t>(std::max(0, depth_ - 1)) * 2, ' ');
  pending_ += "- ";
  item_ = true;
}

void YamlWriter::end_item() { item_ = false; }

void YamlWriter::open() { ++depth_; }
void YamlWriter::close() { --depth_; }

void YamlWriter::comment(std::string_view text) { pending_comment_ = std::string(text); }

void YamlWriter::note(std::string_view text) {
  flush();
  lines_.push_back(
      {std::string(static_cast<std::size_t>(std::max(0, depth_ - 1)) * 2, ' ') + "# " + std::string(text), {}});
}

void YamlWriter::blank() {
  flush();
  lines_.push_back({});
}

std::string YamlWriter::finish() {
  flush();
  std::size_t column = 0;
  for (const Line& line : lines_) {
    if (!line.comment.empty() && line.text.size() <= 60) column = std::max(column, line.text.size());
  }
  std::string out;
  for (Line& line : lines_) {
    while (!line.text.empty() && line.text.back() == ' ') line.text.pop_back();
    out += line.text;
    if (!line.comment.empty()) {
      out.append(line.text.size() < column ? column - line.text.size() + 2 : 2, ' ');
      out += "# " + line.comment;
    }
    out += '\n';
  }
  return out;
}

}  // namespace weft::model
