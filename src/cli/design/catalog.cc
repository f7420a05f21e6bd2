// weft catalog: the hardware that weft knows.
#include <fmt/format.h>

#include "base/utf8.h"
#include "cli/framework/catalog_view.h"
#include "cli/framework/context.h"

namespace weft::cli {
namespace {

Exit run_list(Context& context) {
  const std::unique_ptr<model::Loaded> loaded = context.open_catalog();
  if (!context.report(*loaded)) return Exit::usage;
  CHECK(loaded->catalog != nullptr, "no catalogue and no reason why");
  return context.deliver(catalog_list_view(*loaded->catalog, context.arguments().word(0)));
}

Exit run_item(Context& context) {
  const std::unique_ptr<model::Loaded> loaded = context.open_catalog();
  if (!context.report(*loaded)) return Exit::usage;
  CHECK(loaded->catalog != nullptr, "no catalogue and no reason why");
  const std::string id = context.arguments().word(0);
  const std::optional<Document> document = catalog_item_view(*loaded->catalog, id);
  if (document.has_value()) return context.deliver(*document);
  return context.usage_error("there is no item " + in_backticks(id),
                             {did_you_mean(id, catalog_ids(*loaded->catalog)), "`weft catalog list` lists them"});
}

Exit run_check(Context& context) {
  const std::vector<std::string>& files = context.arguments().words();
  const std::unique_ptr<model::Loaded> loaded = model::load_catalog(files);
  if (!context.report(*loaded)) return Exit::usage;
  CHECK(loaded->catalog != nullptr, "no catalogue and no reason why");
  std::string text;
  for (const std::string& file : files) text += fmt::format("{}: ok\n", printable(file));
  return context.deliver(text);
}

Command list_command() {
  Command command;
  command.name = "catalog list";
  command.summary = "List the hardware that weft knows";
  command.usage = "[TABLE] [OPTIONS]";
  command.description = {"`weft catalog` alone means the same."};
  command.examples = {{"weft catalog list", "Everything"},
                      {"weft catalog list switches -o wide", "Switches, with vendor and source"},
                      {"weft catalog list gpus --catalog mine.yaml", "GPUs, your own among them"}};
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
  command.summary = "Show one item with every fact and its source";
  command.usage = "ID [OPTIONS]";
  command.examples = {{"weft catalog show h100-sxm", "All that is known of a GPU"},
                      {"weft catalog show h100-sxm -o wide", "The same with what each fact means"}};
  command.arguments = {{.name = "ID", .help = "an id from `weft catalog list`", .hint = Hint::item}};
  command.options = {output_option(), catalog_option(), file_option()};
  command.run = run_item;
  return command;
}

Command file_check_command() {
  Command command;
  command.name = "catalog check";
  command.summary = "Check catalogue files of your own";
  command.usage = "FILE...";
  command.description = {
      "Reads the files on top of the built-in catalogue and checks that everything adds up: ports to the radix, "
      "breakouts to the lanes of a cage, MIG slices to the GPU, and a known source for every fact. Use them with "
      "--catalog."};
  command.examples = {{"weft catalog check mine.yaml", "Before using it"}};
  command.arguments = {{.name = "FILE", .help = "catalogue files", .hint = Hint::file, .repeatable = true}};
  command.run = run_check;
  return command;
}

}  // namespace

std::vector<Command> catalog_commands() { return {list_command(), item_command(), file_check_command()}; }

}  // namespace weft::cli
