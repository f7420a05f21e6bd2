#include "config/host_text.h"

#include <algorithm>
#include <cstddef>

#include "base/text.h"

namespace weft::config::host_text {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

bool is_name_character(char c, bool first) {
  const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  return letter || (!first && c >= '0' && c <= '9');
}

SourceLocation place_of(FileId file, std::uint32_t line, std::string_view text) {
  std::size_t lead = 0;
  while (lead < text.size() && is_blank(text[lead])) ++lead;
  return {file, static_cast<std::uint16_t>(std::min<std::size_t>(lead + 1, 65535)), line};
}

bool joins_next(std::string_view text) {
  std::size_t slashes = 0;
  while (slashes < text.size() && text[text.size() - 1 - slashes] == '\\') ++slashes;
  return slashes % 2 == 1;
}

// Splits a shell line into words, character by character.
class ShellSplitter {
 public:
  ShellSplitter(std::string_view line, bool operators) : line_(line), operators_(operators) {}

  std::vector<Command> split() {
    for (at_ = 0; at_ < line_.size(); ++at_) {
      const char c = line_[at_];
      if (quote_ != '\0') {
        take_quoted(c);
      } else if (c == '#' && !in_word_) {
        break;
      } else {
        take(c);
      }
    }
    end_command();
    return std::move(commands_);
  }

 private:
  void take_quoted(char c) {
    if (c == quote_) {
      quote_ = '\0';
    } else if (c == '\\' && quote_ == '"' && at_ + 1 < line_.size()) {
      word_ += line_[++at_];
    } else {
      word_ += c;
    }
  }

  void take(char c) {
    if (c == '\'' || c == '"') {
      quote_ = c;
      in_word_ = true;
    } else if (c == '\\' && at_ + 1 < line_.size()) {
      word_ += line_[++at_];
      in_word_ = true;
    } else if (is_blank(c)) {
      end_word();
    } else if (operators_ && (c == ';' || c == '|' || (c == '&' && !after_redirect()))) {
      end_command();
    } else if (operators_ && c == '>') {
      end_word();
      command_.emplace_back(">");
      if (at_ + 1 < line_.size() && line_[at_ + 1] == '>') ++at_;
    } else {
      word_ += c;
      in_word_ = true;
    }
  }

  [[nodiscard]] bool after_redirect() const { return at_ > 0 && line_[at_ - 1] == '>'; }

  void end_word() {
    if (in_word_) command_.push_back(std::move(word_));
    word_.clear();
    in_word_ = false;
  }

  void end_command() {
    end_word();
    std::size_t first = 0;
    static constexpr std::string_view kLead[] = {"do", "then", "else", "sudo", "{", "(", "!", "if"};
    while (first < command_.size() && std::find(std::begin(kLead), std::end(kLead), command_[first]) != std::end(kLead))
      ++first;
    command_.erase(command_.begin(), command_.begin() + static_cast<std::ptrdiff_t>(first));
    if (!command_.empty()) commands_.push_back(std::move(command_));
    command_.clear();
  }

  std::string_view line_;
  bool operators_;
  std::size_t at_ = 0;
  char quote_ = '\0';
  bool in_word_ = false;
  std::string word_;
  Command command_;
  std::vector<Command> commands_;
};

}  // namespace

std::vector<Line> lines_of(std::string_view text, FileId file) {
  std::vector<Line> lines;
  std::uint32_t number = 0;
  bool join = false;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    std::string_view line = text.substr(start, end - start);
    ++number;
    start = end + 1;
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    const bool joins = joins_next(line) && start <= text.size();
    const std::string_view part = joins ? line.substr(0, line.size() - 1) : line;
    if (join) {
      lines.back().text += part;
    } else {
      lines.push_back({std::string(part), place_of(file, number, part)});
    }
    join = joins;
  }
  return lines;
}

std::vector<Line> lines_of(const Sources& sources, FileId file, char comment) {
  std::vector<Line> kept;
  for (Line& line : lines_of(sources.text(file), file)) {
    const std::string_view text = trim(line.text, kLineSpaces);
    if (text.empty() || (comment != '\0' && text.front() == comment)) continue;
    kept.push_back({std::string(text), line.place});
  }
  return kept;
}

std::string unquoted(std::string_view text) {
  if (text.size() >= 2 && (text.front() == '"' || text.front() == '\'') && text.back() == text.front()) {
    text = text.substr(1, text.size() - 2);
  }
  return std::string(text);
}

std::vector<Command> commands_of(std::string_view line) { return ShellSplitter(line, true).split(); }

Command quoted_words_of(std::string_view line) {
  std::vector<Command> all = ShellSplitter(line, false).split();
  return all.empty() ? Command() : std::move(all.front());
}

const std::string* option(const Command& command, std::string_view name, std::string& storage) {
  for (std::size_t i = 1; i < command.size(); ++i) {
    if (command[i] == name) return i + 1 < command.size() ? &command[i + 1] : nullptr;
    if (command[i].starts_with(name) && command[i].size() > name.size() && command[i][name.size()] == '=') {
      storage = command[i].substr(name.size() + 1);
      return &storage;
    }
  }
  return nullptr;
}

std::pair<std::string_view, std::string_view> assignment(std::string_view text) {
  std::size_t end = 0;
  while (end < text.size() && is_name_character(text[end], end == 0)) ++end;
  if (end == 0 || end >= text.size() || text[end] != '=') return {};
  return {text.substr(0, end), text.substr(end + 1)};
}

}  // namespace weft::config::host_text
