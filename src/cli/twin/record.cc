// weft twin record: what happened on a real cluster, as a recording to replay or to edit.
#include "cli/twin/recording_input.h"

namespace weft::cli {
namespace {

Exit run_record(Context& context) {
  const Arguments& arguments = context.arguments();
  const std::size_t words = arguments.has("plain") ? 1 : 2;
  if (arguments.words().size() != words) {
    return context.usage_error("missing SOURCE or cluster",
                               {"usage: weft twin record CLUSTER SOURCE, or --plain SERVERSxGPUS SOURCE"});
  }
  SchedInput machine;
  if (const auto exit = open_sched_machine(context, arguments.word(0), machine)) return *exit;
  RecordingInput input;
  if (const auto exit = open_recording(context, machine, arguments.words().back(), input)) return *exit;
  if (input.is_file) {
    return context.usage_error(arguments.words().back() + " is a recording already",
                               {"give a state directory of weft serve, or a table of sacct"});
  }
  for (const std::string& note : input.notes) context.note(note);
  return context.deliver(twin::write_recording(input.spec));
}

}  // namespace

Command twin_record_command() {
  Command command;
  command.name = "twin record";
  command.summary = "Write a recording of what happened on a real cluster";
  command.usage = "CLUSTER SOURCE [OPTIONS]";
  command.description = {
      "Reads the journal of `weft serve` or Slurm's accounting and writes a recording: jobs with their times, "
      "incidents, "
      "repair times, and what came of them. `weft twin replay` plays it, or the source itself. People can edit it: "
      "`weft schema recording`. What is assumed or left out is said on standard error.",
      "SOURCE is a state directory of `weft serve` (the server may run; nothing is written there), or a table that "
      "`sacct --allusers --duplicates --parsable2 --format "
      "JobID,User,JobName,Submit,Start,End,State,NodeList,AllocTRES` prints. "
      "Slurm prints local time without an offset: set TZ=UTC for it.",
      "A recording has no commands, environment variables or paths of the jobs."};
  command.examples = {
      {"weft twin record cluster.yaml ~/.local/state/weft/NAME -f october.recording.yaml", "The journal of weft serve"},
      {"weft twin record cluster.yaml sacct.txt --incidents tickets.csv -f october.recording.yaml",
       "Slurm's accounting, and the incidents from tickets"},
  };
  Argument cluster = cluster_argument_or({"plain"});
  cluster.help = "the cluster file; omitted with --plain";
  command.arguments = {
      cluster, {.name = "SOURCE", .help = "state directory or table of sacct", .hint = Hint::file, .required = false}};
  command.options = recording_source_options();
  for (const Option& option : sched_input_options()) {
    if (option.name == "plain") command.options.push_back(option);
  }
  for (const Option& option : {file_option(), catalog_option()}) command.options.push_back(option);
  command.run = run_record;
  return command;
}

}  // namespace weft::cli
