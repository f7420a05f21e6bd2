#include "serve/submit/srun.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/asset.h"
#include "base/text.h"
#include "base/utf8.h"
#include "serve/submit/shell_scan.h"
#include "serve/submit/slurm_formats.h"

namespace weft::serve {
namespace {

enum class Use { flag, value, refused };  // what follows an option of srun: nothing or "=value", a value; or not at all

struct SrunOption {
  std::string_view name;
  char letter;  // '\0': none
  Use use;
  std::string_view reason = {};  // why it is refused
};

constexpr std::string_view kPart = "every node of the job runs the script; srun cannot choose among them";
constexpr std::string_view kRedirect = "redirect the output in the script instead";

// Options of srun(1), Slurm 22.05, and of pyxis. The prelude reads the first two kinds when the script runs.
constexpr SrunOption kSrunOptions[] = {
    {"accel-bind", '\0', Use::value},
    {"account", 'A', Use::value},
    {"acctg-freq", '\0', Use::value},
    {"chdir", 'D', Use::value},
    {"comment", '\0', Use::value},
    {"container-image", '\0', Use::value},
    {"container-mounts", '\0', Use::value},
    {"container-mount-home", '\0', Use::flag},
    {"container-name", '\0', Use::value},
    {"container-workdir", '\0', Use::value},
    {"container-writable", '\0', Use::flag},
    {"cpu-bind", '\0', Use::value},
    {"cpus-per-gpu", '\0', Use::value},
    {"cpus-per-task", 'c', Use::value},
    {"disable-status", 'X', Use::flag},
    {"distribution", 'm', Use::value},
    {"exact", '\0', Use::flag},
    {"exclusive", '\0', Use::flag},
    {"export", '\0', Use::value},
    {"gpu-bind", '\0', Use::value},
    {"gpus", 'G', Use::value},
    {"gpus-per-node", '\0', Use::value},
    {"gpus-per-task", '\0', Use::value},
    {"gres", '\0', Use::value},
    {"gres-flags", '\0', Use::value},
    {"hint", '\0', Use::value},
    {"job-name", 'J', Use::value},
    {"jobid", '\0', Use::value},
    {"kill-on-bad-exit", 'K', Use::flag},
    {"label", 'l', Use::flag},
    {"mem", '\0', Use::value},
    {"mem-bind", '\0', Use::value},
    {"mem-per-cpu", '\0', Use::value},
    {"mem-per-gpu", '\0', Use::value},
    {"mpi", '\0', Use::value},
    {"no-container-mount-home", '\0', Use::flag},
    {"no-kill", 'k', Use::flag},
    {"nodes", 'N', Use::value},
    {"ntasks", 'n', Use::value},
    {"ntasks-per-node", '\0', Use::value},
    {"overlap", '\0', Use::flag},
    {"partition", 'p', Use::value},
    {"propagate", '\0', Use::flag},
    {"qos", 'q', Use::value},
    {"quiet", 'Q', Use::flag},
    {"threads-per-core", '\0', Use::value},
    {"time", 't', Use::value},
    {"unbuffered", 'u', Use::flag},
    {"verbose", 'v', Use::flag},
    {"wait", 'W', Use::value},
    {"bcast", '\0', Use::refused, "copy the program in the script instead"},
    {"constraint", 'C', Use::refused, kPart},
    {"error", 'e', Use::refused, kRedirect},
    {"exclude", 'x', Use::refused, kPart},
    {"het-group", '\0', Use::refused, "heterogeneous jobs are not supported"},
    {"input", 'i', Use::refused, "redirect the input in the script instead"},
    {"multi-prog", '\0', Use::refused, "every task runs the same program"},
    {"nodelist", 'w', Use::refused, kPart},
    {"ntasks-per-gpu", '\0', Use::refused, "use --ntasks-per-node"},
    {"open-mode", '\0', Use::refused, kRedirect},
    {"output", 'o', Use::refused, kRedirect},
    {"pty", '\0', Use::refused, "a batch job has no terminal"},
    {"relative", 'r', Use::refused, kPart},
    {"task-epilog", '\0', Use::refused, "call it in the script instead"},
    {"task-prolog", '\0', Use::refused, "call it in the script instead"},
    {"x11", '\0', Use::refused, "a batch job has no display"},
};

// Commands of Slurm that no function of the prelude replaces.
constexpr std::string_view kSlurmCommands[] = {"sacct",  "sacctmgr", "salloc",   "sattach", "sbatch", "sbcast",
                                               "sdiag",  "sinfo",    "smap",     "sprio",   "squeue", "sreport",
                                               "sshare", "sstat",    "strigger", "sgather"};
constexpr std::string_view kMpiLaunchers[] = {"mpirun", "mpiexec", "orterun", "prun"};
// They start a program, and srun is a function of the shell.
constexpr std::string_view kWrappers[] = {"exec", "env",    "nohup",  "timeout", "nice",    "xargs", "command",
                                          "sudo", "setsid", "stdbuf", "numactl", "taskset", "ssh"};
constexpr std::string_view kShells[] = {"sh", "bash", "dash", "zsh", "eval", "ssh"};
// Commands that may run on every node without a difference.
constexpr std::string_view kHarmless[] = {
    ":",        "[",      "[[",     "alias",    "cd",         "conda", "declare",  "echo",     "env",    "exit",
    "export",   "false",  "for",    "hash",     "kill",       "local", "ml",       "module",   "printf", "pwd",
    "readonly", "return", "seq",    "set",      "shift",      "shopt", "sleep",    "source",   ".",      "test",
    "trap",     "true",   "ulimit", "umask",    "unset",      "wait",  "date",     "hostname", "head",   "done",
    "fi",       "esac",   "case",   "function", "nvidia-smi", "break", "continue", "in"};

template <class Names>
bool is_one_of(std::string_view name, const Names& names) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

const SrunOption* srun_option(std::string_view name, char letter) {
  for (const SrunOption& option : kSrunOptions) {
    if (letter != '\0' ? option.letter == letter : option.name == name) return &option;
  }
  return nullptr;
}

std::vector<std::string_view> srun_names() {
  std::vector<std::string_view> names;
  for (const SrunOption& option : kSrunOptions) names.push_back(option.name);
  return names;
}

// "-N | --nodes | ...": a pattern of `case`.
std::string case_pattern(Use use) {
  std::vector<std::string> names;
  for (const SrunOption& option : kSrunOptions) {
    if (option.use != use) continue;
    if (option.letter != '\0') names.push_back(fmt::format("-{}", option.letter));
    names.push_back(fmt::format("--{}", option.name));
  }
  return join(names, " | ");
}

class ScriptChecker {
 public:
  ScriptChecker(const SubmitContext& context, const JobDraft& draft) : context_(context), draft_(draft) {}

  ScriptUse check() {
    const ShellScan scan = scan_shell(context_.sources.text(context_.file), context_.file);
    for (const SourceLocation& place : scan.unterminated) context_.error(place, "unterminated quote");
    for (const ShellCommand& command : scan.commands) check_command(command);
    if (draft_.nodes.value > 1) warn_about_nodes();
    return use_;
  }

 private:
  void check_command(const ShellCommand& command) {
    const std::size_t first = skip_assignments(command);
    if (first == command.words.size()) return;
    const ShellWord& word = command.words[first];
    const std::string_view name = std::string_view(word.text).substr(word.text.find_last_of('/') + 1);
    if (name == "srun" || name == "scontrol" || name == "scancel") {
      if (name.size() != word.text.size()) {
        return context_.error(word.place, fmt::format("{} is called by its path", in_backticks(word.text)),
                              fmt::format("write `{}`: weft provides it as a function", name), word.text.size());
      }
      if (name == "srun") return check_srun(command, first + 1);
      return name == "scontrol" ? check_scontrol(command, first) : check_scancel(command, first);
    }
    if (is_one_of(name, kSlurmCommands)) {
      return context_.error(word.place, fmt::format("`{}` is not supported: the job does not run in Slurm", name), {},
                            word.text.size());
    }
    if (is_one_of(name, kMpiLaunchers)) {
      return context_.error(word.place, fmt::format("`{}` would start the whole program on every node", name),
                            "start it with srun", word.text.size());
    }
    check_hidden_srun(command, first, name);
    if (!other_.known() && !is_one_of(name, kHarmless) && !contains(name, "()") && !word.text.ends_with("=")) {
      other_ = word.place;
      other_name_ = word.text;
    }
  }

  // srun where the shell would look for a program.
  void check_hidden_srun(const ShellCommand& command, std::size_t first, std::string_view name) {
    const bool shell = is_one_of(name, kShells);
    if (!shell && !is_one_of(name, kWrappers)) return;
    for (std::size_t i = first + 1; i < command.words.size(); ++i) {
      const ShellWord& word = command.words[i];
      const std::vector<std::string_view> parts = split_at_spaces(word.text);
      if (word.text != "srun" && !(shell && is_one_of("srun", parts))) continue;
      return context_.error(word.place, fmt::format("srun inside `{}` is not supported", name),
                            "call srun directly: weft provides it as a function of the script");
    }
  }

  void check_scontrol(const ShellCommand& command, std::size_t first) {
    const auto text = [&](std::size_t i) {
      return first + i < command.words.size() ? std::string_view(command.words[first + i].text) : std::string_view();
    };
    if (text(1) == "requeue") {
      use_.requeues = true;
    } else if (text(1) != "show" || (text(2) != "hostnames" && text(2) != "hostname")) {
      context_.error(command.words[first].place, "only `scontrol show hostnames` and `scontrol requeue` are supported",
                     "the variables SLURM_* describe the job", 8);
    }
  }

  void check_scancel(const ShellCommand& command, std::size_t first) {
    for (std::size_t i = first + 1; i < command.words.size(); ++i) {
      const std::string& text = command.words[i].text;
      if (text.starts_with("--signal") || text == "-s") return;
    }
    context_.error(command.words[first].place, "only `scancel --signal=SIGNAL` is supported",
                   "to end the job, exit from the script", 7);
  }

  void check_srun(const ShellCommand& command, std::size_t i) {
    ++steps_;
    const SourceLocation place = command.words[i - 1].place;
    while (i < command.words.size()) {
      const ShellWord& word = command.words[i];
      if (word.expands && word.text.starts_with("$")) return;  // known only when it runs: the prelude checks it
      if (!word.text.starts_with("-") || word.text == "-") return;
      if (word.text == "--") {
        ++i;
        break;
      }
      i = check_option(command, i);
    }
    if (i >= command.words.size()) context_.error(place, "srun has no program to run", {}, 4);
  }

  // The index after the option and its value.
  std::size_t check_option(const ShellCommand& command, std::size_t i) {
    const ShellWord& word = command.words[i];
    const bool is_long = word.text.starts_with("--");
    const std::size_t equals = is_long ? word.text.find('=') : std::string::npos;
    const std::string name =
        is_long ? word.text.substr(2, equals == std::string::npos ? equals : equals - 2) : word.text.substr(1, 1);
    const SrunOption* option = srun_option(name, is_long ? '\0' : name.front());
    if (option == nullptr) {
      context_.error(word.place, fmt::format("unknown option {} of srun", in_backticks(word.text)),
                     is_long ? did_you_mean(name, srun_names()) : std::string(), word.text.size());
      return i + 1;
    }
    if (option->use == Use::refused) {
      context_.error(
          word.place, fmt::format("option `--{}` of srun is not supported: {}", option->name, option->reason),
          option->reason == kPart ? "for the address of the first node use $MASTER_ADDR" : "", word.text.size());
      // Its value may follow, and is not the program.
      return i + (is_long ? equals == std::string::npos : word.text.size() == 2 ? 1 : 0) + 1;
    }
    if (option->use == Use::flag) return i + 1;
    std::string value = is_long && equals != std::string::npos ? word.text.substr(equals + 1)
                        : is_long                              ? std::string()
                                                               : word.text.substr(2);
    std::size_t next = i + 1;
    bool expands = word.expands;
    if ((is_long && equals == std::string::npos) || (!is_long && word.text.size() == 2)) {
      if (next == command.words.size()) {
        context_.error(word.place, fmt::format("option {} of srun needs a value", in_backticks(word.text)));
        return next;
      }
      value = command.words[next].text;
      expands = command.words[next].expands;
      ++next;
    }
    if (!expands) check_value(*option, value, word.place);
    return next;
  }

  void check_value(const SrunOption& option, const std::string& value, const SourceLocation& place) {
    const std::string_view name = option.name;
    const bool elastic = draft_.min_nodes.has_value() && draft_.min_nodes.value < draft_.nodes.value;
    if (name == "nodes" && (elastic || value != std::to_string(draft_.nodes.value))) {
      context_.error(
          place,
          fmt::format("srun on {} nodes, but the script runs on every node of the job ({})", in_backticks(value),
                      draft_.nodes.value),
          elastic ? "leave --nodes out: the job is elastic" : "for the address of the first node use $MASTER_ADDR");
    } else if (name == "ntasks" || name == "ntasks-per-node") {
      const std::optional<std::int64_t> count =
          read_count(context_, value, fmt::format("--{}", name), 1, sched::kMaxTasks, place);
      if (count && name == "ntasks" && !elastic && *count % draft_.nodes.value != 0) {
        context_.error(place,
                       fmt::format("{} tasks cannot be divided equally among {} nodes", *count, draft_.nodes.value));
      }
    } else if (name == "gpus-per-task") {
      if (const Result<GpuCount> count = parse_gpu_count(value); !count.ok()) {
        context_.error(place, count.error().message);
      }
    } else if (name == "mpi" && value != "none") {
      context_.error(place, fmt::format("--mpi={} is not supported: no process manager for MPI is started", value));
    } else if (name == "gpu-bind" && (contains(value, "map") || contains(value, "mask") || contains(value, "single") ||
                                      contains(value, "per_task"))) {
      context_.error(place, fmt::format("--gpu-bind={} is not supported", value), "use --gpus-per-task");
    } else if (name == "export" && equals_ignoring_case(value, "none")) {
      context_.error(place, "--export=NONE is not supported by srun");
    } else if (name.starts_with("container-image") && !warned_image_) {
      warned_image_ = true;
      context_.warn(place, fmt::format("the image {} is not used: the program runs on the host", in_backticks(value)));
    } else if (name == "container-mounts") {
      check_mounts(value, place);
    }
  }

  // Mounts at the path of the host are there without a container.
  void check_mounts(std::string_view value, const SourceLocation& place) {
    for (const std::string_view mount : split(value, ',')) {
      const std::vector<std::string_view> parts = split(mount, ':');
      if (parts.size() < 2 || parts[0] == parts[1]) continue;
      context_.error(place, fmt::format("{} would not be mounted at {}: the program runs on the host",
                                        in_backticks(parts[0]), in_backticks(parts[1])));
    }
  }

  void warn_about_nodes() {
    const std::string all = fmt::format("all {} nodes", draft_.nodes.value);
    if (steps_ == 0) {
      context_.warn(draft_.nodes.place.known() ? draft_.nodes.place : draft_.place,
                    fmt::format("the script runs on {}; Slurm would run it on the first node only", all),
                    "start what belongs on every node with srun, or request one node");
    } else if (other_.known()) {
      context_.warn(
          other_,
          fmt::format("{} runs on {}: weft runs the whole script once per node", in_backticks(other_name_), all),
          "for the first node only: [ \"$SLURM_NODEID\" = 0 ] && ...", other_name_.size());
    }
  }

  const SubmitContext& context_;
  const JobDraft& draft_;
  ScriptUse use_;
  int steps_ = 0;
  bool warned_image_ = false;
  SourceLocation other_;
  std::string other_name_;
};

}  // namespace

ScriptUse check_script(const SubmitContext& context, const JobDraft& draft) {
  return ScriptChecker(context, draft).check();
}

std::vector<std::string> script_command(const std::vector<std::string>& interpreter, std::string_view script,
                                        std::string_view name, const ScriptSettings& settings) {
  const std::string trap = settings.forwarded_signal.empty()
                               ? std::string()
                               : fmt::format("trap 'weft_signal {0}' {0}\n", settings.forwarded_signal);
  std::string prelude =
      fill_template(asset<"serve/srun_prelude.sh">(), {{"TASKS", std::to_string(settings.tasks_per_node)},
                                                       {"GPUS_PER_TASK", std::to_string(settings.gpus_per_task)},
                                                       {"FLAGS", case_pattern(Use::flag)},
                                                       {"OPTIONS", case_pattern(Use::value)},
                                                       {"TRAP", trap}});
  std::vector<std::string> command = interpreter;
  command.insert(command.end(), {"-c", std::move(prelude), std::string(name), std::string(script)});
  return command;
}

}  // namespace weft::serve
