// What would change if one rendered file replaced another: per statement, with the effect of each change on traffic.
// Files are compared by meaning (core/statements.h), so layout and order do not matter.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "render/core/file_sink.h"
#include "render/core/statements.h"

namespace weft::render {

enum class ChangeKind : std::uint8_t { added, removed, changed };
[[nodiscard]] std::string_view to_text(ChangeKind kind);

struct Change {
  ChangeKind kind = ChangeKind::changed;
  std::string where;   // a Statement's key
  std::string before;  // value; "" for commands and lines
  std::string after;
  Risk risk = Risk::none;
  std::string_view effect;  // effect of applying it, human-readable
  std::uint32_t line = 0;   // in the old file; 0 if new
};

struct FileChanges {
  std::string path;
  std::string target;
  std::string device;
  ChangeKind kind = ChangeKind::changed;  // of the file as a whole
  std::vector<Change> changes;
  Risk risk = Risk::none;  // the highest of them
  std::string apply;
};

struct CompareOptions {
  // The old text was read from a device, which has more configuration than weft renders: anything outside the tables
  // and sections of the new text is not a difference.
  bool running = false;
};

// `target` determines the effect of a change; `own` is the effect of applying the whole file.
[[nodiscard]] std::vector<Change> compare_texts(std::string_view target, std::string_view path, std::string_view before,
                                                std::string_view after, Risk own, const CompareOptions& options = {});

// Effect of one change: the risk of the most specific matching table entry, or `own`.
struct Effect {
  Risk risk = Risk::none;
  std::string_view text;
};
[[nodiscard]] Effect effect_of(std::string_view target, std::string_view path, std::string_view key, Risk own);

}  // namespace weft::render
