// What a running command works with: its arguments, its streams, and the habits that all commands share (how an error
// is said, where the result goes, how files are loaded and their diagnostics printed).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/document.h"
#include "cli/framework/command.h"
#include "cli/framework/io.h"
#include "cli/framework/parser.h"
#include "config/config_set.h"
#include "model/load.h"

namespace weft::cli {

class Context {
 public:
  Context(Io& io, const Command& command, const Arguments& arguments);

  [[nodiscard]] const Command& command() const { return command_; }
  [[nodiscard]] const Arguments& arguments() const { return arguments_; }
  [[nodiscard]] bool quiet() const { return quiet_; }
  [[nodiscard]] bool verbose() const { return verbose_; }
  [[nodiscard]] std::string today() const { return io_.today ? io_.today() : std::string(); }
  [[nodiscard]] Io& io() const { return io_; }  // for progress; results go through deliver()
  [[nodiscard]] bool colors_result() const;     // whether the result goes to someone who wants color

  // The command line asks for something that cannot be: says so, with hints, on standard error.
  Exit usage_error(std::string_view problem, const std::vector<std::string>& hints = {});
  // Something outside went wrong: "weft: where: message".
  Exit failed(const Error& error);
  // A sentence on standard error, unless --quiet.
  void note(std::string_view text);
  // The same, only with --verbose.
  void detail(std::string_view text);

  // Hands over the result, to --file or standard output. Gives `outcome` when that worked.
  Exit deliver(std::string_view text, Exit outcome = Exit::ok);
  // A document in the format of --output.
  Exit deliver(const Document& document, Exit outcome = Exit::ok);
  [[nodiscard]] OutputFormat output_format() const;

  // The built-in catalog with the files of --catalog.
  [[nodiscard]] std::unique_ptr<model::Loaded> open_catalog() const;
  // Reads and compiles a cluster file. Says nothing yet: see report().
  [[nodiscard]] std::unique_ptr<model::Loaded> open_cluster(const std::string& path) const;
  // Prints what readers could not make sense of, on standard error, unless --quiet.
  void note_problems(const Diagnostics& problems, const Sources& sources);
  // Prints what there is to say of the files that were read. True when they can be used.
  [[nodiscard]] bool report(const model::Loaded& loaded);

 private:
  [[nodiscard]] bool colored(bool is_terminal) const;

  Io& io_;
  const Command& command_;
  const Arguments& arguments_;
  bool quiet_ = false;
  bool verbose_ = false;
};

[[nodiscard]] Exit exit_code_of(ErrorCode code);

// Reads every PATH or DEVICE=PATH. What cannot be read at all goes to the diagnostics of `loaded` (and ends the
// command); lines that make no sense go to `config.problems` (and are findings).
void read_configs(const std::vector<std::string>& paths, model::Loaded& loaded, config::ConfigSet& config);

}  // namespace weft::cli
