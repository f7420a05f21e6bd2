// weft man: manual pages of weft, of each command and of each file format.
#include "cli/framework/man.h"

#include <optional>

#include "base/text.h"
#include "base/utf8.h"
#include "cli/about/formats.h"
#include "cli/about/page_files.h"
#include "cli/framework/completion.h"
#include "cli/framework/context.h"

namespace weft::cli {
namespace {

Exit write_all(Context& context, const std::string& folder) {
  if (context.arguments().has("file") || !context.arguments().words().empty())
    return context.usage_error("--directory writes every page: leave out the name of a page and --file");
  std::vector<PageFile> files = {{"man1/weft.1", main_man_page(format_pages())}};
  for (const Command& command : all_commands())
    files.push_back({"man1/" + man_page_name(command.name) + ".1", command_man_page(command)});
  for (const std::string& group : group_names()) {
    if (find_command(group) == nullptr) files.push_back({"man1/" + man_page_name(group) + ".1", group_man_page(group)});
  }
  for (const FileFormat& format : file_formats())
    files.push_back({"man5/" + format_page_name(format) + ".5", format_man_page(format)});
  return write_pages(context, folder, files);
}

// The page of a command ("oob status"), of a group ("oob") or of a format ("weft-cluster"). A page's own name, such as
// "weft-oob-status", is the command's too.
std::optional<std::string> find_page(const std::string& name) {
  if (name.empty() || name == "weft") return main_man_page(format_pages());
  for (const FileFormat& format : file_formats()) {
    if (format_page_name(format) == name && find_command(format.name) == nullptr) {
      if (commands_of_group(format.name).empty()) return format_man_page(format);
    }
    if (format_page_name(format) + ".5" == name) return format_man_page(format);
  }
  for (const Command& command : all_commands()) {
    if (command.name == name || man_page_name(command.name) == name) return command_man_page(command);
  }
  for (const std::string& group : group_names()) {
    if (group == name || man_page_name(group) == name) return group_man_page(group);
  }
  return std::nullopt;
}

Exit run_man(Context& context) {
  const std::string folder = context.arguments().value("directory");
  if (!folder.empty()) return write_all(context, folder);
  const std::string name = join(context.arguments().words(), " ");
  const std::optional<std::string> page = find_page(name);
  if (page.has_value()) return context.deliver(*page);
  std::vector<std::string_view> known;
  for (const Command& command : all_commands()) known.push_back(command.name);
  return context.usage_error("no manual page is named " + in_backticks(name),
                             {did_you_mean(name, known), "run `weft help` for a list of commands"});
}

}  // namespace

Command man_command() {
  Command command;
  command.name = "man";
  command.summary = "Print a manual page in roff";
  command.usage = "[COMMAND | PAGE] [OPTIONS]";
  command.description = {
      "Without an argument, weft(1). The pages of commands are in section 1, those of file formats in section 5. Where "
      "weft is installed, `man weft-oob-status` and `man 5 weft-cluster` show them."};
  command.examples = {{"weft man | man -l -", "View weft(1)"},
                      {"weft man oob status | man -l -", "View weft-oob-status(1)"},
                      {"weft man weft-cluster.5 | man -l -", "View the keys of a cluster file"},
                      {"weft man --directory ~/.local/share/man", "Install all pages"}};
  std::vector<Choice> formats;
  for (const FileFormat& format : file_formats())
    formats.push_back({format_page_name(format) + ".5", std::string(format.purpose)});
  command.arguments = {{.name = "PAGE",
                        .help = "a command, such as `oob status`, or the page of a file format",
                        .choices = std::move(formats),
                        .required = false,
                        .repeatable = true,
                        .open = true}};
  command.options = {file_option(),
                     {.name = "directory",
                      .value = "DIR",
                      .help = "write all pages below this folder, to man1/ and man5/",
                      .hint = Hint::file}};
  command.run = run_man;
  return command;
}

}  // namespace weft::cli
