#include "model/load.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "base/file.h"
#include "model/yaml_file.h"

namespace weft::model {
namespace {

void load_catalog_into(Loaded& loaded, const std::vector<std::string>& catalog_files) {
  auto catalog = std::make_shared<Catalog>(Catalog::built_in(loaded.sources, loaded.diagnostics));
  for (const std::string& path : catalog_files) {
    auto text = read_yaml_file(path);
    if (!text.ok()) {
      loaded.read_error = text.error();
      return;
    }
    const FileId file = loaded.sources.add(path, std::move(*text));
    const auto root = parse_yaml(loaded.sources, file, loaded.diagnostics);
    if (root) catalog->add(*root, loaded.diagnostics);
  }
  if (!loaded.diagnostics.has_errors()) catalog->check(loaded.diagnostics);
  if (!loaded.diagnostics.has_errors()) loaded.catalog = std::move(catalog);
}

// "a job file": what a file without the key `weft` is, by its first key; "" if that is not known.
std::string_view other_format(const YamlNode& root) {
  constexpr std::pair<std::string_view, std::string_view> kFormats[] = {
      {"job", "a job file"},
      {"pipeline", "a pipeline file"},
      {"weft_access", "an access file"},
      {"weft_endpoints", "an endpoints file"},
      {"weft_firmware", "a list of firmware versions"},
      {"weft_runbook", "a runbook"},
      {"apiVersion", "a Kubernetes manifest"},
  };
  if (root.find("weft") != nullptr) return {};
  for (const auto& [key, format] : kFormats) {
    if (root.find(key) != nullptr) return format;
  }
  return {};
}

void compile_text(Loaded& loaded, std::string shown_path, std::string text) {
  const FileId file = loaded.sources.add(std::move(shown_path), std::move(text));
  const auto root = parse_yaml(loaded.sources, file, loaded.diagnostics);
  if (!root) return;
  if (const std::string_view format = other_format(*root); !format.empty()) {
    loaded.diagnostics.error(root->place, fmt::format("this is {}, not a cluster file", format),
                             "a cluster file has the key `weft: 1`");
    return;
  }
  std::optional<Spec> spec = read_spec(*root, loaded.diagnostics);
  if (!spec) return;
  resolve(*spec, *loaded.catalog, loaded.diagnostics);
  if (loaded.diagnostics.has_errors()) return;
  loaded.cluster = compile(*spec, loaded.catalog, loaded.diagnostics);
  loaded.spec = std::move(spec);
}

}  // namespace

std::unique_ptr<Loaded> load_catalog(const std::vector<std::string>& catalog_files) {
  auto loaded = std::make_unique<Loaded>();
  load_catalog_into(*loaded, catalog_files);
  return loaded;
}

std::unique_ptr<Loaded> load_cluster_text(std::string shown_path, std::string text,
                                          const std::vector<std::string>& catalog_files) {
  auto loaded = load_catalog(catalog_files);
  if (loaded->catalog) compile_text(*loaded, std::move(shown_path), std::move(text));
  return loaded;
}

std::unique_ptr<Loaded> load_cluster(const std::string& path, const std::vector<std::string>& catalog_files) {
  auto loaded = load_catalog(catalog_files);
  if (!loaded->catalog) return loaded;
  auto text = read_yaml_file(path);
  if (!text.ok()) {
    loaded->read_error = text.error();
    return loaded;
  }
  compile_text(*loaded, path == "-" ? "<standard input>" : path, std::move(*text));
  return loaded;
}

}  // namespace weft::model
