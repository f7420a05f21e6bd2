// weft schema: JSON Schemas of the files that weft reads, for editors.
#include "cli/framework/context.h"
#include "design/prices.h"
#include "model/catalog.h"
#include "model/job.h"
#include "model/spec.h"

namespace weft::model {

// Defined next to their tables.
template <>
const Schema& schema_of<Spec>();
template <>
const Schema& schema_of<CatalogFile>();
template <>
const Schema& schema_of<design::Prices>();
template <>
const Schema& schema_of<JobSpec>();

}  // namespace weft::model

namespace weft::cli {

namespace {

Exit run_schema(Context& context) {
  const std::string which = context.arguments().word(0);
  std::string text = which == "catalog"
                         ? model::json_schema(model::schema_of<model::CatalogFile>(), "weft catalog file")
                     : which == "job"    ? model::json_schema(model::schema_of<model::JobSpec>(), "weft job file")
                     : which == "prices" ? model::json_schema(model::schema_of<design::Prices>(), "weft price file")
                                         : model::json_schema(model::schema_of<model::Spec>(), "weft cluster file");
  if (!text.ends_with('\n')) text += '\n';
  return context.deliver(text);
}

}  // namespace

Command schema_command() {
  Command command;
  command.name = "schema";
  command.summary = "Print the JSON Schema of a file format";
  command.usage = "[FORMAT] [OPTIONS]";
  command.description = {
      "An editor with a YAML language server uses it to complete and validate cluster files. Put this line at the top "
      "of a cluster file: # yaml-language-server: $schema=cluster.schema.json"};
  command.examples = {{"weft schema > cluster.schema.json", "For cluster files"},
                      {"weft schema catalog -f catalog.schema.json", "For catalog files"}};
  command.arguments = {{.name = "FORMAT",
                        .help = "file format [default: cluster]",
                        .choices = {{"cluster", "cluster files"},
                                    {"catalog", "catalog files, for --catalog"},
                                    {"job", "job files, for `weft render --job`"},
                                    {"prices", "price files, for `weft show bom --prices`"}},
                        .required = false}};
  command.options = {file_option()};
  command.run = run_schema;
  return command;
}

}  // namespace weft::cli
