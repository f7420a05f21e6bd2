#include <fmt/format.h>

#include <algorithm>

#include "model/catalog.h"
#include "sched/traces/reader.h"

namespace weft::sched {
namespace {

bool names(std::string_view models, std::string_view gpu) {
  for (std::size_t begin = 0; begin <= models.size();) {
    const std::size_t end = std::min(models.find('|', begin), models.size());
    if (models.substr(begin, end - begin) == gpu) return true;
    begin = end + 1;
  }
  return false;
}

struct Entry {
  std::string profile;
  std::string gpu;
  MigShape shape;
};

std::vector<Entry> load() {
  Sources sources;
  Diagnostics diagnostics;
  const model::Catalog catalog = model::Catalog::built_in(sources, diagnostics);
  std::vector<Entry> entries;
  for (const model::GpuModel& gpu : catalog.gpus()) {
    for (const model::MigProfile& profile : *gpu.mig) {
      MigShape shape;
      shape.slices = static_cast<std::uint8_t>(*profile.memory_slices);
      for (const std::int64_t start : *profile.starts) {
        shape.starts = static_cast<std::uint8_t>(shape.starts | (1U << static_cast<unsigned>(start)));
      }
      entries.push_back({*profile.name, gpu.id->text, shape});
    }
  }
  return entries;
}

}  // namespace

Result<MigShape> mig_named(std::string_view profile, std::string_view models) {
  static const std::vector<Entry> entries = load();
  std::vector<const Entry*> found;
  std::vector<std::string_view> known;
  bool named = false;
  for (const Entry& entry : entries) {
    known.push_back(entry.profile);
    if (entry.profile != profile) continue;
    const bool asked = names(models, entry.gpu);
    if (asked && !named) found.clear();
    named = named || asked;
    if (asked || !named) found.push_back(&entry);
  }
  if (found.empty()) {
    return Error{ErrorCode::invalid_input, fmt::format("no GPU has the MIG profile `{}`", profile.substr(0, 40)),
                 did_you_mean(profile, known)};
  }
  for (const Entry* entry : found) {
    if (entry->shape == found.front()->shape) continue;
    return Error{ErrorCode::invalid_input,
                 fmt::format("the MIG profile `{}` has {} memory slices on {} and {} on {}", profile,
                             found.front()->shape.slices, found.front()->gpu, entry->shape.slices, entry->gpu),
                 "name the GPU in `models`"};
  }
  return found.front()->shape;
}

}  // namespace weft::sched
