#include "cli/health/rules_file.h"

#include "model/yaml_file.h"

namespace weft::cli {

Option health_rules_option() {
  return {.name = "rules",
          .value = "FILE",
          .help = "rules file (see `weft schema health`) [default: built in]",
          .hint = Hint::file};
}

std::optional<Exit> read_health_rules(Context& context, std::shared_ptr<const health::Rules>& rules) {
  if (!context.arguments().has("rules")) {
    rules = std::make_shared<const health::Rules>(health::default_rules());
    return std::nullopt;
  }
  const std::string path = context.arguments().value("rules");
  Result<std::string> text = model::read_yaml_file(path);
  if (!text.ok()) return context.failed(text.error());
  model::Loaded loaded;
  const FileId file = loaded.sources.add(path, std::move(text).value());
  std::optional<health::Rules> read = health::read_rules(loaded.sources, file, loaded.diagnostics);
  if (!context.report(loaded) || !read) return Exit::usage;
  rules = std::make_shared<const health::Rules>(*std::move(read));
  return std::nullopt;
}

}  // namespace weft::cli
