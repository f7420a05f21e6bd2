#include "render/switches/nvue_commands.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/quoting.h"
#include "base/text.h"

namespace weft::render::nvue_render {
namespace {

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("-_.,:/").find(c) != std::string_view::npos;
}

}  // namespace

void Commands::comment(std::string_view text) {
  text_ += "\n# ";
  for (const char c : text) text_ += is_control(c) ? ' ' : c;
  text_ += '\n';
}

void Commands::word(std::string_view word) {
  text_ += ' ';
  if (!word.empty() && std::all_of(word.begin(), word.end(), is_plain)) {
    text_ += word;
    return;
  }
  std::string text(word);
  text.erase(std::remove_if(text.begin(), text.end(), is_control), text.end());
  text_ += shell_quote_always(text);
}

void Commands::set(std::initializer_list<std::string_view> words) {
  text_ += "nv set";
  for (const std::string_view one : words) word(one);
  text_ += '\n';
}

// The caller builds `place` from plain words.
void Commands::set_at(std::string_view place, std::initializer_list<std::string_view> words) {
  text_ += "nv set ";
  text_ += place;
  for (const std::string_view one : words) word(one);
  text_ += '\n';
}

std::string port_name(const SwitchPort& port) {
  return port.pieces() == 1 ? fmt::format("swp{}", port.cage + 1)
                            : fmt::format("swp{}s{}", port.cage + 1, port.piece());
}

std::string number_list(const std::vector<int>& ascending) {
  std::string out;
  for (std::size_t i = 0; i < ascending.size();) {
    std::size_t last = i;
    while (last + 1 < ascending.size() && ascending[last + 1] == ascending[last] + 1) ++last;
    if (!out.empty()) out += ',';
    out += last == i ? std::to_string(ascending[i]) : fmt::format("{}-{}", ascending[i], ascending[last]);
    i = last + 1;
  }
  return out;
}

std::string port_names(const std::vector<const SwitchPort*>& ports) {
  // Ranges of breakout ports in one cage, "s0-1"; then ranges of cages with the same breakout ports.
  struct Run {
    std::uint32_t first = 0;
    std::uint32_t last = 0;
    std::string pieces;
  };
  std::vector<Run> runs;
  for (std::size_t i = 0; i < ports.size();) {
    const std::uint32_t cage = ports[i]->cage;
    std::size_t end = i;
    while (end + 1 < ports.size() && ports[end + 1]->cage == cage &&
           ports[end + 1]->piece() == ports[end]->piece() + 1) {
      ++end;
    }
    std::string pieces;
    if (ports[i]->pieces() > 1) {
      pieces = i == end ? fmt::format("s{}", ports[i]->piece())
                        : fmt::format("s{}-{}", ports[i]->piece(), ports[end]->piece());
    }
    if (!runs.empty() && runs.back().last + 1 == cage && runs.back().pieces == pieces) {
      runs.back().last = cage;
    } else {
      runs.push_back({cage, cage, std::move(pieces)});
    }
    i = end + 1;
  }
  std::string out;
  for (const Run& run : runs) {
    if (!out.empty()) out += ',';
    out += run.first == run.last ? fmt::format("swp{}{}", run.first + 1, run.pieces)
                                 : fmt::format("swp{}-{}{}", run.first + 1, run.last + 1, run.pieces);
  }
  return out;
}

}  // namespace weft::render::nvue_render
