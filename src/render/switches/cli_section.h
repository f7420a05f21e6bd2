// Command-line configuration (NX-OS, EOS) as sections of lines made of tokens. A token is exactly one word: text with
// spaces, control characters or other line-breaking characters is rejected together with its line, so that nothing from
// a file can become a command. Handles indentation and separators, not the meaning of commands.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "base/ip.h"

namespace weft::render {

// One word of a command, or the free text that ends one.
class CliToken {
 public:
  CliToken(const char* text) : text_(text) {}                     // NOLINT(google-explicit-constructor)
  CliToken(std::string_view text) : text_(text) {}                // NOLINT(google-explicit-constructor)
  CliToken(std::string text) : text_(std::move(text)) {}          // NOLINT(google-explicit-constructor)
  CliToken(Ipv4 address) : text_(to_text(address)) {}             // NOLINT(google-explicit-constructor)
  CliToken(const Ipv4Prefix& prefix) : text_(to_text(prefix)) {}  // NOLINT(google-explicit-constructor)
  template <std::integral Number>
  CliToken(Number number) : text_(std::to_string(number)) {}  // NOLINT(google-explicit-constructor)

  // The rest of a line: spaces are kept, anything but printable ASCII becomes '.', at most `longest` characters. Only
  // for commands whose argument extends to the end of the line (description, remark, name).
  [[nodiscard]] static CliToken rest(std::string_view text, std::size_t longest = 80);

  [[nodiscard]] const std::string& text() const { return text_; }
  // Printable ASCII without spaces, '?' (help at a terminal), '"' and a leading '!' or '#' (comments).
  [[nodiscard]] bool valid() const;

 private:
  std::string text_;
  bool rest_ = false;
};

using CliTokens = std::initializer_list<CliToken>;

struct CliStyle {
  std::size_t indent = 2;
  std::string_view separator;         // a line between top-level sections: "" (NX-OS) or "!" (EOS)
  std::string_view nested_separator;  // a line before a nested section; none for ""
};
inline constexpr CliStyle kNxosStyle{2, "", ""};
inline constexpr CliStyle kEosStyle{3, "!", "!"};

class CliWriter {
 public:
  explicit CliWriter(const CliStyle& style) : style_(style) {}

  // A command. Rejected lines are omitted and listed in refused().
  void line(CliTokens tokens);
  // Opens a block; lines are indented below it until the section object is destroyed. If the heading is rejected, so
  // are its lines.
  class Section {
   public:
    explicit Section(CliWriter& writer) : writer_(writer) {}
    Section(const Section&) = delete;
    Section& operator=(const Section&) = delete;
    ~Section() { writer_.close(); }

   private:
    CliWriter& writer_;
  };
  [[nodiscard]] Section section(CliTokens tokens);
  // Between groups of top-level lines, and of lines in a block.
  void separate();
  void separate_nested();
  void comment(std::string_view text);

  [[nodiscard]] const std::vector<std::string>& refused() const { return refused_; }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  bool put(CliTokens tokens);
  void close();

  CliStyle style_;
  std::string text_;
  std::size_t depth_ = 0;
  std::size_t skip_ = 0;  // open blocks whose heading was rejected
  bool after_comment_ = false;
  std::vector<std::string> refused_;
};

// "1-4,7": numbers in order, without duplicates.
[[nodiscard]] std::string cli_ranges(std::vector<std::uint32_t> numbers);

}  // namespace weft::render
