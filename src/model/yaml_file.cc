#include "model/yaml_file.h"

#include <fmt/format.h>

#include "base/file.h"

namespace weft::model {

Result<std::string> read_yaml_file(const std::string& path) {
  Result<std::string> text = read_file(path, kMaxYamlFile);
  // read_file() knows the limit in bytes alone.
  const bool too_large = !text.ok() && text.error().message.find("larger than") != std::string::npos;
  if (!too_large) return text;
  return Error{text.error().code,
               fmt::format("is larger than {} MiB, the limit for a YAML file; nothing was read", kMaxYamlFile >> 20U),
               text.error().where};
}

}  // namespace weft::model
