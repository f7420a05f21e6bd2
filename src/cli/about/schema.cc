// weft schema: JSON Schemas of the files that weft reads, for editors.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/about/formats.h"
#include "cli/about/page_files.h"
#include "cli/framework/context.h"
#include "cli/framework/paths.h"

namespace weft::cli {

namespace {

std::string schema_text(const FileFormat& format) {
  std::string text = model::json_schema(format.schema(), std::string(format.title));
  if (!text.ends_with('\n')) text += '\n';
  return text;
}

// The list in which editors and language servers look a schema up by the name of a file, in the format of
// schemastore.org. `base`: the URL of the folder that holds the schemas.
std::string schema_catalog(const std::string& base) {
  nlohmann::ordered_json catalog;
  catalog["$schema"] = "https://json.schemastore.org/schema-catalog.json";
  catalog["version"] = 1;
  catalog["schemas"] = nlohmann::ordered_json::array();
  for (const FileFormat& format : file_formats()) {
    nlohmann::ordered_json patterns = nlohmann::ordered_json::array();
    for (const std::string_view pattern : format.patterns) patterns.push_back(pattern);
    catalog["schemas"].push_back({{"name", format.title},
                                  {"description", format.purpose},
                                  {"fileMatch", patterns},
                                  {"url", fmt::format("{}/{}.schema.json", base, format.name)}});
  }
  return catalog.dump(2) + "\n";
}

Exit write_all(Context& context, const std::string& folder) {
  if (context.arguments().has("file") || !context.arguments().word(0).empty())
    return context.usage_error("--directory writes every schema: leave out FORMAT and --file");
  std::string base = context.arguments().value("url");
  if (base.empty()) base = "file://" + absolute_path(folder);
  while (base.ends_with('/')) base.pop_back();
  std::vector<PageFile> files = {{"catalog.json", schema_catalog(base)}};
  for (const FileFormat& format : file_formats())
    files.push_back({fmt::format("{}.schema.json", format.name), schema_text(format)});
  return write_pages(context, folder, files);
}

Exit run_schema(Context& context) {
  const std::string folder = context.arguments().value("directory");
  if (!folder.empty()) return write_all(context, folder);
  if (context.arguments().has("url")) return context.usage_error("--url needs --directory");
  const std::string which = context.arguments().word(0);
  return context.deliver(schema_text(*find_file_format(which.empty() ? "cluster" : which)));
}

}  // namespace

Command schema_command() {
  Command command;
  command.name = "schema";
  command.summary = "Print the JSON Schema of a file format";
  command.usage = "[FORMAT] [OPTIONS]";
  command.description = {
      "An editor with a YAML language server uses it to complete and validate cluster files. It finds the schema by a "
      "line of the file (`weft design` writes one; --schema says which) or by a pattern of file names in the editor's "
      "settings. The package installs all schemas in /usr/share/weft/schemas."};
  command.examples = {
      {"weft schema > cluster.schema.json", "For cluster files"},
      {"weft schema catalog -f catalog.schema.json", "For catalog files"},
      {"weft schema --directory /srv/www/weft --url https://docs.example.com/weft", "All of them, for a web server"}};
  std::vector<Choice> formats;
  for (const FileFormat& format : file_formats())
    formats.push_back({std::string(format.name), std::string(format.purpose)});
  command.arguments = {
      {.name = "FORMAT", .help = "file format [default: cluster]", .choices = formats, .required = false}};
  command.options = {file_option(),
                     {.name = "directory",
                      .value = "DIR",
                      .help = "write the schemas of all formats, and catalog.json, which lists them, to this folder",
                      .hint = Hint::file},
                     {.name = "url",
                      .value = "URL",
                      .help = "with --directory, where catalog.json says that the schemas are",
                      .fallback = "file:// and the folder"}};
  command.run = run_schema;
  return command;
}

}  // namespace weft::cli
