#include "cli/design/price_file.h"

#include "base/yaml.h"
#include "model/yaml_file.h"

namespace weft::cli {

std::optional<design::Prices> read_price_file(model::Loaded& loaded, const std::string& path) {
  Result<std::string> text = model::read_yaml_file(path);
  if (!text.ok()) {
    loaded.read_error = text.error();
    return std::nullopt;
  }
  const FileId file = loaded.sources.add(path == "-" ? "standard input" : path, std::move(text).value());
  const std::optional<YamlNode> root = parse_yaml(loaded.sources, file, loaded.diagnostics);
  if (!root.has_value()) return std::nullopt;
  return design::read_prices(*root, *loaded.catalog, loaded.diagnostics);
}

}  // namespace weft::cli
