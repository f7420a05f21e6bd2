// What would change if a rendered file took the place of another: statement by statement, with what each change does to
// traffic. Files are compared by meaning (core/statements.h), so that layout and order never show.
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
  std::string before;  // value; "" of commands and lines
  std::string after;
  Risk risk = Risk::none;
  std::string_view effect;  // what applying it does, for people
  std::uint32_t line = 0;   // in the old file; 0 for what is new
};

struct FileChanges {
  std::string path;
  std::string target;
  std::string device;
  ChangeKind kind = ChangeKind::changed;  // of the file as a whole
  std::vector<Change> changes;
  Risk risk = Risk::none;  // the worst of them
  std::string apply;
};

struct CompareOptions {
  // The old text was read from a device, which holds more than weft writes: what stands outside the tables and sections
  // of the new text is not a difference.
  bool running = false;
};

// `target` decides what a change does; `own` is what applying the whole file does.
[[nodiscard]] std::vector<Change> compare_texts(std::string_view target, std::string_view path, std::string_view before,
                                                std::string_view after, Risk own, const CompareOptions& options = {});

// What one change does: the risk of the most specific entry of the table for it, or `own`.
struct Effect {
  Risk risk = Risk::none;
  std::string_view text;
};
[[nodiscard]] Effect effect_of(std::string_view target, std::string_view path, std::string_view key, Risk own);

}  // namespace weft::render
