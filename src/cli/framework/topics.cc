#include "cli/framework/command.h"

namespace weft::cli {
namespace {

Topic exit_codes() {
  return {.name = "exit-codes",
          .summary = "What the exit code says",
          .entries = {{"0", "all is well"},
                      {"1", "weft did what was asked and found something amiss (`checklist`: an item is not done)"},
                      {"2", "the command line or an input file is wrong; standard error says where"},
                      {"3", "done in part: some targets failed, or a simulation was stopped before its end"},
                      {"4", "refused: it would break a rule that needs an explicit consent"},
                      {"5",
                       "something needed is not available or timed out, the result could not be written (a full disk), "
                       "or weft itself failed"},
                      {"134", "weft stopped itself (`internal error`): a defect, please report it"}},
          .notes = {"A reader that closes the pipe early (`| head`) is no error."}};
}

Topic environment() {
  return {.name = "environment",
          .summary = "Environment variables that weft reads",
          .entries = {{"NO_COLOR", "when set and not empty, no colour unless --color always says otherwise"},
                      {"TERM", "`dumb` means no colour, like NO_COLOR"}},
          .notes = {"Options win over the environment, the environment over defaults."}};
}

Topic formats() {
  return {.name = "formats",
          .summary = "What --output can be",
          .entries = {{"table", "aligned columns for people (the default)"},
                      {"wide", "the same with more columns"},
                      {"json", "one object with `schema_version`, `kind`, the sections by name, and `notes`"},
                      {"yaml", "the same content as json"},
                      {"ndjson", "one JSON object a line for each row"},
                      {"csv", "RFC 4180, one line for each row, the column names first"}},
          .notes = {"Machine formats carry every column, and numbers as numbers in the unit that the column's name "
                    "ends with. Keys may be added within a schema_version; none is renamed or dropped.",
                    "`weft show effective` is YAML, or JSON with json and ndjson. Pictures are SVG and take no "
                    "--output. Cluster files are YAML; `weft schema` prints their JSON Schema for editors."}};
}

}  // namespace

const std::vector<Topic>& all_topics() {
  static const std::vector<Topic> topics = {exit_codes(), environment(), formats()};
  return topics;
}

}  // namespace weft::cli
