#include "serve/submit/shell_scan.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "serve/submit/draft.h"

namespace weft::serve {
namespace {

constexpr int kMaxDepth = 40;  // of $(...) in $(...)
// They begin a compound command or negate one; the command follows.
constexpr std::string_view kLead[] = {"do", "then", "else", "elif", "if", "while", "until", "!", "{", "}", "time"};

class ShellScanner {
 public:
  ShellScanner(std::string_view text, FileId file) : text_(text), file_(file) {}

  ShellScan scan() {
    scan_list('\0');
    return std::move(out_);
  }

 private:
  struct HereDocument {
    std::string end;
    bool tabs = false;  // <<-: leading tabs are removed
  };
  // A command being read. $(...) inside a word reads others before it is complete.
  struct State {
    ShellCommand command;
    ShellWord word;
    bool in_word = false;
    bool redirect = false;  // the next word is a file
    int parentheses = 0;
  };

  [[nodiscard]] bool at_end() const { return at_ >= text_.size(); }
  [[nodiscard]] char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  [[nodiscard]] SourceLocation here() const { return place_at(file_, line_, at_ - line_start_ + 1); }
  char advance() {
    const char c = text_[at_++];
    if (c == '\n') {
      ++line_;
      line_start_ = at_;
    }
    return c;
  }

  static void end_word(State& state) {
    if (state.in_word) {
      if (!state.redirect) state.command.words.push_back(std::move(state.word));
      state.redirect = false;
    }
    state.word = {};
    state.in_word = false;
  }
  void end_command(State& state) {
    end_word(state);
    state.redirect = false;
    auto& words = state.command.words;
    const auto first = std::find_if(words.begin(), words.end(), [](const ShellWord& word) {
      return std::find(std::begin(kLead), std::end(kLead), word.text) == std::end(kLead);
    });
    words.erase(words.begin(), first);
    if (!words.empty()) out_.commands.push_back(std::move(state.command));
    state.command = {};
  }
  void start_word(State& state) const {
    if (!state.in_word) state.word.place = here();
    state.in_word = true;
  }
  void add(State& state, char c) const {
    start_word(state);
    state.word.text += c;
  }

  // Commands up to `end`: ')' or '`', or to the end of the text.
  void scan_list(char end) {
    ++depth_;
    State state;
    while (!at_end()) {
      if (step(state, end)) break;
    }
    end_command(state);
    --depth_;
  }

  // Reads one character or construct; true at the end of the list.
  bool step(State& state, char end) {
    const char c = peek();
    if (end == '`' && c == '`') {
      advance();
      return true;
    }
    switch (c) {
      case ' ':
      case '\t':
      case '\r':
        advance();
        end_word(state);
        return false;
      case '\n':
        advance();
        end_command(state);
        skip_here_documents();
        return false;
      case '#':
        if (state.in_word) break;
        while (!at_end() && peek() != '\n') advance();
        return false;
      case '\\':
        advance();
        if (peek() == '\n' || at_end()) {
          if (!at_end()) advance();
        } else {
          add(state, advance());
        }
        return false;
      case '\'':
        scan_single(state);
        return false;
      case '"':
        scan_double(state);
        return false;
      case '$':
      case '`':
        scan_expansion(state, false);
        return false;
      case '<':
      case '>':
        scan_redirect(state);
        return false;
      case ';':
      case '|':
        advance();
        end_command(state);
        return false;
      case '&':
        scan_ampersand(state);
        return false;
      case '(':
        return open_parenthesis(state);
      case ')':
        return close_parenthesis(state, end);
      default:
        break;
    }
    start_word(state);
    state.word.text += advance();
    return false;
  }

  bool open_parenthesis(State& state) {
    end_word(state);
    if (state.command.words.empty() && peek(1) == '(') {
      skip_arithmetic();
      return false;
    }
    advance();
    ++state.parentheses;
    end_command(state);
    return false;
  }

  bool close_parenthesis(State& state, char end) {
    advance();
    end_command(state);
    if (state.parentheses > 0) {
      --state.parentheses;
      return false;
    }
    return end == ')';
  }

  void scan_ampersand(State& state) {
    advance();
    if (peek() == '>') {  // &> file
      end_word(state);
      return;
    }
    end_command(state);
  }

  void scan_single(State& state) {
    const SourceLocation start = here();
    start_word(state);
    advance();
    while (!at_end() && peek() != '\'') state.word.text += advance();
    if (at_end()) {
      out_.unterminated.push_back(start);
    } else {
      advance();
    }
  }

  void scan_double(State& state) {
    const SourceLocation start = here();
    start_word(state);
    advance();
    while (!at_end() && peek() != '"') {
      if (peek() == '\\') {
        advance();
        if (!at_end()) state.word.text += advance();
      } else if (peek() == '$' || peek() == '`') {
        scan_expansion(state, true);
      } else {
        state.word.text += advance();
      }
    }
    if (at_end()) {
      out_.unterminated.push_back(start);
    } else {
      advance();
    }
  }

  void scan_expansion(State& state, bool quoted) {
    start_word(state);
    state.word.expands = true;
    state.word.text += peek();
    if (peek() == '`') {
      advance();
      if (depth_ < kMaxDepth) scan_list('`');
      return;
    }
    advance();
    if (peek() == '(' && peek(1) == '(') {
      state.word.text += "(())";
      skip_arithmetic();
    } else if (peek() == '(') {
      state.word.text += "()";
      advance();
      if (depth_ < kMaxDepth) scan_list(')');
    } else if (peek() == '{') {
      skip_braces(state);
    } else if (peek() == '\'' && !quoted) {  // $'...'
      skip_ansi_quote(state);
    }
  }

  void skip_ansi_quote(State& state) {
    advance();
    while (!at_end() && peek() != '\'') {
      if (peek() == '\\') advance();
      if (!at_end()) state.word.text += advance();
    }
    if (!at_end()) advance();
  }

  void skip_braces(State& state) {
    int open = 0;
    while (!at_end()) {
      const char c = advance();
      state.word.text += c;
      if (c == '\\' && !at_end()) state.word.text += advance();
      if (c == '{') ++open;
      if (c == '}' && --open == 0) return;
    }
  }

  void skip_arithmetic() {
    int open = 0;
    while (!at_end()) {
      const char c = advance();
      if (c == '(') ++open;
      if (c == ')' && --open == 0) return;
    }
  }

  void scan_redirect(State& state) {
    // "2>": the number is not an argument.
    if (state.in_word && std::all_of(state.word.text.begin(), state.word.text.end(), is_digit)) {
      state.word = {};
      state.in_word = false;
    }
    end_word(state);
    const char c = advance();
    if (c == '<' && peek() == '<' && peek(1) == '<') {  // here-string
      advance();
      advance();
    } else if (c == '<' && peek() == '<') {
      advance();
      start_here_document();
      return;
    } else if (peek() == '(') {  // <(command)
      advance();
      if (depth_ < kMaxDepth) scan_list(')');
      return;
    } else {
      while (peek() == '>' || peek() == '&' || peek() == '|') advance();
    }
    state.redirect = true;
  }

  void start_here_document() {
    HereDocument document;
    if (peek() == '-') {
      document.tabs = true;
      advance();
    }
    while (peek() == ' ' || peek() == '\t') advance();
    while (!at_end() && !contains(" \t\r\n;|&<>()", std::string_view(&text_[at_], 1))) {
      const char c = advance();
      if (c != '\'' && c != '"' && c != '\\') document.end += c;
    }
    if (!document.end.empty()) documents_.push_back(std::move(document));
  }

  void skip_here_documents() {
    for (const HereDocument& document : std::exchange(documents_, {})) {
      while (!at_end()) {
        const std::size_t end = std::min(text_.find('\n', at_), text_.size());
        std::string_view line = text_.substr(at_, end - at_);
        if (document.tabs) line.remove_prefix(std::min(line.find_first_not_of('\t'), line.size()));
        const bool last = line == document.end;
        while (at_ < end) advance();
        if (!at_end()) advance();
        if (last) break;
      }
    }
  }

  std::string_view text_;
  FileId file_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
  std::size_t line_start_ = 0;
  int depth_ = 0;
  std::vector<HereDocument> documents_;
  ShellScan out_;
};

}  // namespace

ShellScan scan_shell(std::string_view text, FileId file) { return ShellScanner(text, file).scan(); }

std::size_t skip_assignments(const ShellCommand& command) {
  std::size_t i = 0;
  while (i < command.words.size()) {
    const std::string& text = command.words[i].text;
    const std::size_t equals = text.find('=');
    std::string_view name = std::string_view(text).substr(0, equals);
    if (name.ends_with("+")) name.remove_suffix(1);
    if (equals == std::string::npos || !is_variable_name(name)) break;
    ++i;
  }
  return i;
}

}  // namespace weft::serve
