#include "model/load.h"

#include "base/file.h"
#include "model/yaml_file.h"

namespace weft::model {
namespace {

void load_catalog_into(Loaded& loaded, const std::vector<std::string>& catalog_files) {
  auto catalog = std::make_shared<Catalog>(Catalog::built_in(loaded.sources, loaded.diagnostics));
  for (const std::string& path : catalog_files) {
    auto text = read_yaml_file(path);
    if (!text.ok()) {
      loaded.read_error = text.error().text();
      return;
    }
    const FileId file = loaded.sources.add(path, std::move(*text));
    const auto root = parse_yaml(loaded.sources, file, loaded.diagnostics);
    if (root) catalog->add(*root, loaded.diagnostics);
  }
  if (!loaded.diagnostics.has_errors()) catalog->check(loaded.diagnostics);
  if (!loaded.diagnostics.has_errors()) loaded.catalog = std::move(catalog);
}

void compile_text(Loaded& loaded, std::string shown_path, std::string text) {
  const FileId file = loaded.sources.add(std::move(shown_path), std::move(text));
  const auto root = parse_yaml(loaded.sources, file, loaded.diagnostics);
  if (!root) return;
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
    loaded->read_error = text.error().text();
    return loaded;
  }
  compile_text(*loaded, path == "-" ? "<standard input>" : path, std::move(*text));
  return loaded;
}

}  // namespace weft::model
