#include "cli/framework/command.h"

namespace weft::cli {
namespace {

Topic exit_codes() {
  return {.name = "exit-codes",
          .summary = "What the exit codes mean",
          .entries = {{"0", "success"},
                      {"1",
                       "the command ran and found something: problems, differences, unformatted files, a `not done` "
                       "item of the checklist; each command's help says what"},
                      {"2", "the command line or an input file is invalid; the location is on standard error"},
                      {"3", "partial result: some targets failed, or a simulation was stopped before its end"},
                      {"4", "refused: the action needs explicit consent, such as --yes, --reason or --limit"},
                      {"5",
                       "a resource is unavailable or timed out, the result could not be written (disk full), or weft "
                       "itself failed"},
                      {"134", "weft aborted with `internal error`: a bug, please report it"}},
          .notes = {"A reader that closes the pipe early (`| head`) does not cause an error."}};
}

Topic environment() {
  return {
      .name = "environment",
      .summary = "Environment variables that weft reads",
      .entries =
          {{"WEFT_CLUSTER", "cluster file of commands that are given none; see `weft help cluster-file`"},
           {"COLUMNS",
            "width that tables fit into, also on a pipe; default: the width of the terminal, and on a pipe any. "
            "`-o wide` is never fitted"},
           {"WEFT_PAGER, PAGER, LESS",
            "shell command that shows results longer than the terminal, `cat` for none: WEFT_PAGER, else "
            "`defaults: pager:` of the configuration file, else PAGER, else less (with LESS=FRX unless LESS is set)"},
           {"NO_COLOR", "if set and not empty, disables color unless --color always is given"},
           {"TERM", "`dumb` disables color, like NO_COLOR"},
           {"WEFT_SERVER, WEFT_CONTEXT, WEFT_SOCKET",
            "server of the commands that talk to `weft serve`, as --server, --context and --socket; the first one "
            "that is set counts. Default: the current context of `weft context list`, else the local socket"},
           {"WEFT_TOKEN", "token for a remote server, instead of the login of `weft login`"},
           {"WEFT_CA", "CA certificates (PEM) that prove a remote server, instead of the context's"},
           {"WEFT_CONFIG",
            "configuration file with contexts and defaults of options; default: $XDG_CONFIG_HOME/weft/config.yaml or "
            "~/.config/weft/config.yaml"},
           {"WEFT_STATE",
            "folder of the journal, console logs and backups of the `oob` commands, unless --state is given; "
            "default: $XDG_STATE_HOME/weft or ~/.local/state/weft"},
           {"WEFT_ANCHOR",
            "file with a second record of where that journal ends, so that a journal that was cut is found; default: "
            "the state folder's path with .anchor at its end"},
           {"WEFT_VAULT_COMMAND",
            "program, with arguments, that reads and writes credentials of the form vault:PATH; it finds PATH in "
            "WEFT_VAULT_PATH. Default: `vault kv get -field=document PATH`, read-only"},
           {"any NAME", "a credential or token of the form env:NAME is read from NAME, or NAME_USER and NAME_PASSWORD"},
           {"WEFT_GATE", "folder of this node's lease gate, unless --gate is given"},
           {"WEFT_NAMESPACES", "state folder of `weft namespace`, unless --state is given"},
           {"SLURM_CONF", "configuration file of Slurm, unless --slurm-conf is given"},
           {"SLURM_JOB_ID", "job that `weft namespace wait` runs in; Slurm sets it"},
           {"KUBECONFIG", "kubeconfig, unless --kubeconfig is given; default: ~/.kube/config"},
           {"KUBERNETES_SERVICE_HOST, KUBERNETES_SERVICE_PORT",
            "API server, for a weft that runs in a pod with a service account; Kubernetes sets them"},
           {"HOME, XDG_CONFIG_HOME, XDG_STATE_HOME, XDG_RUNTIME_DIR",
            "folders of the configuration file, of state, and of the local socket of a user's server"},
           {"TMPDIR", "where a journal is copied to while it is read; default: /tmp"},
           {"PATH", "where weft finds the programs that it runs: ssh, vault, sbatch and others"},
           {"NOTIFY_SOCKET", "where `weft serve` reports that it is ready; systemd sets it"},
           {"SUDO_USER", "who called sudo: the journal of `weft oob` names both users"},
           {"WEFT_ON_BEHALF_OF, WEFT_SERVE_OPERATION, WEFT_PROGRESS",
            "set by `weft serve` for the `weft oob` commands that it runs: user, operation, and progress by line"}},
      .notes = {"Options override environment variables, which override the configuration file (`defaults: {cluster: "
                "PATH, output: FORMAT, color: WHEN, pager: COMMAND}`), which overrides the defaults."}};
}

Topic formats() {
  return {.name = "formats",
          .summary = "Formats for --output",
          .entries = {{"table", "aligned columns (the default)"},
                      {"wide", "the same with more columns"},
                      {"json", "one object with `schema_version`, `kind`, the sections by name, and `notes`"},
                      {"yaml", "the same content as json"},
                      {"ndjson", "one JSON object per row, each on its own line"},
                      {"csv", "RFC 4180, one line per row, column names in the first line"}},
          .notes = {"json, yaml, ndjson and csv have every column; numbers are plain numbers in the unit that the "
                    "column's name ends with. Keys may be added within a schema_version; none is renamed or removed.",
                    "`weft show effective` prints YAML, or JSON with json and ndjson. Diagrams are SVG and take no "
                    "--output. Cluster files are YAML; `weft schema` prints their JSON Schema for editors."}};
}

Topic cluster_file() {
  return {
      .name = "cluster-file",
      .summary = "Which cluster file a command uses",
      .entries = {{"CLUSTER", "the file on the command line, or - for standard input"},
                  {"WEFT_CLUSTER", "else the file that this environment variable names"},
                  {"weft.yaml", "else this file in the current folder, or in the nearest folder above that has one"},
                  {"defaults: cluster:", "else the file that the configuration file names"}},
      .notes = {"With a default, `weft show racks` and `weft oob status train007` are complete: a word in the place of "
                "CLUSTER is taken as a file if it is `-`, has a `/`, ends in .yaml or .yml, or names a file here.",
                "Folders above count while they belong to you or root. Commands that change devices print which "
                "default file they use; others do with --verbose. Options that replace the cluster file, such as "
                "--topology, switch the default off."}};
}

}  // namespace

const std::vector<Topic>& all_topics() {
  static const std::vector<Topic> topics = {exit_codes(), cluster_file(), environment(), formats()};
  return topics;
}

}  // namespace weft::cli
