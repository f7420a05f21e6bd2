#include "cli/framework/fault_file.h"

#include "model/yaml_file.h"

namespace weft::cli {

std::optional<Exit> read_fault_file(Context& context, model::Loaded& loaded, twin::FaultModel& faults) {
  if (!context.arguments().has("faults")) {
    faults = twin::default_faults();
    return std::nullopt;
  }
  const std::string path = context.arguments().value("faults");
  Result<std::string> text = model::read_yaml_file(path);
  if (!text.ok()) return context.failed(text.error());
  const FileId file = loaded.sources.add(path, std::move(text).value());
  std::optional<twin::FaultModel> model = twin::read_faults(loaded.sources, file, loaded.diagnostics);
  if (!context.report(loaded) || !model) return Exit::usage;
  loaded.diagnostics = Diagnostics();
  faults = *std::move(model);
  return std::nullopt;
}

}  // namespace weft::cli
