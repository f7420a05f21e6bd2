// Sections of the HTML page of a job, one function per section. Internal to life/page.cc.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/document.h"
#include "workload/result/life.h"

namespace weft::workload::page {

inline constexpr std::size_t kSpans = 20'000;        // drawn at most
inline constexpr std::size_t kTracks = 120;          // drawn at most
inline constexpr std::size_t kHeatBytes = 1U << 20;  // all heat maps together

// For texts and attributes in double quotes.
[[nodiscard]] std::string escaped(std::string_view text);
// A table of the document without its wide columns, in a box that scrolls horizontally if needed.
[[nodiscard]] std::string table_html(const TableSection& table);
[[nodiscard]] std::string facts_html(const FactsSection& facts);

[[nodiscard]] std::string states_picture(const LifeResult& life);
[[nodiscard]] std::string search_box();
// The events of each state, folded, each with what is known of it.
[[nodiscard]] std::string state_events(const LifeResult& life);
// JSON: {"name of an operation": [["what", "value"], ...]}, for the spans of the timeline.
[[nodiscard]] std::string operations_json(const LifeResult& life);
[[nodiscard]] std::string step_bar(const StepParts& parts);
[[nodiscard]] std::string memory_bar(const MemoryUse& memory);
[[nodiscard]] std::string tail_histogram(const Tail& tail);
[[nodiscard]] std::string change_bars(const Verdict& verdict);
[[nodiscard]] std::string heat_maps(const LifeResult& life);
// The canvas, its buttons, the data for the script, and a table of the tracks for screen readers.
[[nodiscard]] std::string timeline_html(const LifeResult& life);

}  // namespace weft::workload::page
