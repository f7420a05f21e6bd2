// weft catalog: the hardware in the catalog.
#include <fmt/format.h>

#include "base/utf8.h"
#include "cli/framework/catalog_view.h"
#include "cli/framework/context.h"

namespace weft::cli {
namespace {

Exit run_list(Context& context) {
  const std::unique_ptr<model::Loaded> loaded = context.open_catalog();
  if (!context.report(*loaded)) return Exit::usage;
  CHECK(loaded->catalog != nullptr, "no catalog and no diagnostic");
  return context.deliver(catalog_list_view(*loaded->catalog, context.arguments().word(0)));
}

Exit run_item(Context& context) {
  const std::unique_ptr<model::Loaded> loaded = context.open_catalog();
  if (!context.report(*loaded)) return Exit::usage;
  CHECK(loaded->catalog != nullptr, "no catalog and no diagnostic");
  const std::string id = context.arguments().word(0);
  const std::optional<Document> document = catalog_item_view(*loaded->catalog, id);
  if (document.has_value()) return context.deliver(*document);
  return context.usage_error("the catalog has no item " + in_backticks(id),
                             {did_you_mean(id, catalog_ids(*loaded->catalog)), "run `weft catalog list` for a list"});
}

Exit run_check(Context& context) {
  const std::vector<std::string>& files = context.arguments().words();
  const std::unique_ptr<model::Loaded> loaded = model::load_catalog(files);
  if (!context.report(*loaded)) return Exit::usage;
  CHECK(loaded->catalog != nullptr, "no catalog and no diagnostic");
  std::string text;
  for (const std::string& file : files) text += fmt::format("{}: ok\n", printable(file));
  return context.deliver(text);
}

Command list_command() {
  Command command;
  command.name = "catalog list";
  command.summary = "List the hardware in the catalog";
  command.usage = "[TABLE] [OPTIONS]";
  command.description = {"`weft catalog` is short for this command."};
  command.examples = {{"weft catalog list", "All tables"},
                      {"weft catalog list switches -o wide", "Switches, with vendor and source"},
                      {"weft catalog list gpus --catalog mine.yaml", "GPUs, including your own"}};
  command.arguments = {{.name = "TABLE",
                        .help = "only this table: " + listed(catalog_tables()),
                        .choices = choices_named(catalog_tables()),
                        .required = false}};
  command.options = {output_option(), catalog_option(), file_option()};
  command.run = run_list;
  command.group_default = true;
  return command;
}

Command item_command() {
  Command command;
  command.name = "catalog show";
  command.summary = "Show one catalog item with all facts and their sources";
  command.usage = "ID [OPTIONS]";
  command.examples = {{"weft catalog show h100-sxm", "All facts about a GPU"},
                      {"weft catalog show h100-sxm -o wide", "The same, with the meaning of each fact"}};
  command.arguments = {{.name = "ID", .help = "an id from `weft catalog list`", .hint = Hint::item}};
  command.options = {output_option(), catalog_option(), file_option()};
  command.run = run_item;
  return command;
}

Command file_check_command() {
  Command command;
  command.name = "catalog check";
  command.summary = "Validate your own catalog files";
  command.usage = "FILE...";
  command.description = {
      "Reads the files on top of the built-in catalog and checks that port counts match the radix, breakouts match the "
      "lanes of a cage, MIG slices fit the GPU, and every fact has a known source. Use the files with --catalog."};
  command.examples = {{"weft catalog check mine.yaml", "Validate a file before using it"}};
  command.arguments = {{.name = "FILE", .help = "catalog files", .hint = Hint::file, .repeatable = true}};
  command.run = run_check;
  return command;
}

}  // namespace

std::vector<Command> catalog_commands() { return {list_command(), item_command(), file_check_command()}; }

}  // namespace weft::cli
