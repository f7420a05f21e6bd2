// Context of a running command: its arguments, its streams, and shared behavior (error messages, output of results,
// loading files and printing their diagnostics).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/document.h"
#include "cli/framework/command.h"
#include "cli/framework/default_cluster.h"
#include "cli/framework/io.h"
#include "cli/framework/parser.h"
#include "cli/framework/user_config.h"
#include "config/config_set.h"
#include "model/load.h"

namespace weft::cli {

class Context {
 public:
  Context(Io& io, const Command& command, const Arguments& arguments, UserDefaults defaults = {});

  [[nodiscard]] const Command& command() const { return command_; }
  [[nodiscard]] const Arguments& arguments() const { return arguments_; }
  [[nodiscard]] bool quiet() const { return quiet_; }
  [[nodiscard]] bool verbose() const { return verbose_; }
  [[nodiscard]] std::string today() const { return io_.today ? io_.today() : std::string(); }
  [[nodiscard]] Io& io() const { return io_; }     // for progress; results go through deliver()
  [[nodiscard]] bool colors_result() const;        // whether the result is printed in color
  [[nodiscard]] std::size_t result_width() const;  // columns that its tables may use; 0: any number

  // Usage error: printed with hints on standard error.
  Exit usage_error(std::string_view problem, const std::vector<std::string>& hints = {});
  // Error outside the command line: "weft: where: message".
  Exit failed(const Error& error);
  // Prints a note on standard error, unless --quiet.
  void note(std::string_view text);
  // The same, only with --verbose.
  void detail(std::string_view text);

  // The default cluster file, or "". For commands that find their arguments themselves; parse_line() does for others,
  // and run_weft() then says which file it inserted.
  [[nodiscard]] std::string default_cluster();
  void use_default_cluster(DefaultCluster cluster);
  // Usage error: no cluster file is given, and there is no default one.
  Exit missing_cluster(const std::string& usage);

  // Writes the result to --file or standard output, on a terminal through the pager if it is long. Returns `outcome` on
  // success.
  Exit deliver(std::string_view text, Exit outcome = Exit::ok);
  // A document in the format of --output.
  Exit deliver(const Document& document, Exit outcome = Exit::ok);
  // The document as deliver() writes it.
  [[nodiscard]] std::string rendered(const Document& document) const;
  [[nodiscard]] OutputFormat output_format() const;

  // The built-in catalog with the files of --catalog.
  [[nodiscard]] std::unique_ptr<model::Loaded> open_catalog() const;
  // Reads and compiles a cluster file. Prints nothing yet: see report().
  [[nodiscard]] std::unique_ptr<model::Loaded> open_cluster(const std::string& path) const;
  // Prints parse problems on standard error, unless --quiet.
  void note_problems(const Diagnostics& problems, const Sources& sources);
  // Prints the diagnostics of the files read. True if they can be used.
  [[nodiscard]] bool report(const model::Loaded& loaded);

 private:
  [[nodiscard]] bool colored(bool is_terminal) const;
  [[nodiscard]] std::string explain_unreadable(const Error& error) const;  // further lines
  [[nodiscard]] bool to_file() const;                                      // --file
  Status print(std::string_view text);

  Io& io_;
  const Command& command_;
  const Arguments& arguments_;
  UserDefaults defaults_;
  DefaultCluster default_cluster_;  // if it is used
  bool quiet_ = false;
  bool verbose_ = false;
};

[[nodiscard]] Exit exit_code_of(ErrorCode code);

// Reads every PATH or DEVICE=PATH. Unreadable files go to the diagnostics of `loaded` (and end the command); invalid
// lines go to `config.problems` (and are findings).
void read_configs(const std::vector<std::string>& paths, model::Loaded& loaded, config::ConfigSet& config);

}  // namespace weft::cli
