#include "world/local/cordon_marks.h"

#include <utility>

#include "base/file.h"
#include "base/text.h"
#include "world/local/part_plan.h"

namespace weft::world {

Status CordonMarks::load() {
  const Result<std::string> text = read_file(path_);
  if (!text.ok()) {
    if (text.error().code == ErrorCode::not_found) return {};
    return text.error();
  }
  for (const std::string_view line : split_lines(*text)) {
    const std::size_t tab = line.find('\t');
    if (tab == std::string_view::npos) return Error{ErrorCode::invalid_input, "has a line without an owner", path_};
    marks_[std::string(line.substr(0, tab))] = line.substr(tab + 1);
  }
  return {};
}

Status CordonMarks::set(const std::string& node, const std::string& owner, bool cordon) {
  const std::string key = encode_file_name(node);
  std::map<std::string, std::string> marks = marks_;
  const std::string current = owner_of(node);
  if (cordon && current.empty()) {
    marks[key] = owner;
  } else if (!cordon && current == owner) {
    marks.erase(key);
  } else {
    return {};
  }
  return store(marks);
}

std::string CordonMarks::owner_of(const std::string& node) const {
  const auto found = marks_.find(encode_file_name(node));
  return found == marks_.end() ? "" : found->second;
}

Status CordonMarks::store(const std::map<std::string, std::string>& marks) {
  std::string text;
  for (const auto& [node, owner] : marks) {
    text += node;
    text += '\t';
    text += owner;
    text += '\n';
  }
  if (Status written = write_file(path_, text); !written.ok()) return written;
  marks_ = marks;
  return {};
}

}  // namespace weft::world
