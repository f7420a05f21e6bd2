#include "oob/rescue/runbook_store.h"

#include <fmt/format.h>

#include "base/file.h"
#include "base/utf8.h"
#include "oob/rescue/runbook_embedded.h"

namespace weft::oob {
namespace {

constexpr std::size_t kLongestFile = 1U << 20U;

// "pfc-storm" of "runbooks/pfc-storm.yaml"
std::string name_of(std::string_view path) {
  path.remove_prefix(path.rfind('/') + 1);
  return std::string(path.substr(0, path.rfind('.')));
}

}  // namespace

std::vector<std::string> runbook_names() {
  std::vector<std::string> names;
  names.reserve(kEmbeddedRunbooksSize);
  for (std::size_t i = 0; i < kEmbeddedRunbooksSize; ++i) names.push_back(name_of(kEmbeddedRunbooks[i].path));
  return names;
}

std::optional<std::string> runbook_text(const std::string& name) {
  for (std::size_t i = 0; i < kEmbeddedRunbooksSize; ++i) {
    const EmbeddedFile& file = kEmbeddedRunbooks[i];
    if (name_of(file.path) == name) return std::string(file.text, file.size);
  }
  return std::nullopt;
}

Result<Runbook> open_runbook(const std::string& name, Sources& sources, Diagnostics& diagnostics) {
  const bool is_file = name.find('/') != std::string::npos || name.ends_with(".yaml") || name.ends_with(".yml");
  FileId file = 0;
  if (is_file) {
    Result<std::string> text = read_file(name, kLongestFile);
    if (!text.ok()) return text.error();
    file = sources.add(name, std::move(text).value());
  } else {
    std::optional<std::string> text = runbook_text(name);
    if (!text) {
      const std::vector<std::string> names = runbook_names();
      std::string hint = did_you_mean(name, {names.begin(), names.end()});
      if (hint.empty()) hint = fmt::format("there are {}", fmt::join(names, ", "));
      return Error{ErrorCode::not_found,
                   fmt::format("unknown runbook {}; {}; give your own file by its path", in_backticks(name), hint),
                   {}};
    }
    file = sources.add(fmt::format("runbooks/{}.yaml", name), std::move(*text));
  }
  std::optional<Runbook> book = read_runbook(sources, file, diagnostics);
  if (!book) return Error{ErrorCode::invalid_input, "the runbook cannot be used", sources.path(file)};
  return std::move(*book);
}

}  // namespace weft::oob
