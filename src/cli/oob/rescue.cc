// weft rescue: list, show, plan, run and resume runbooks.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <map>

#include "base/file.h"
#include "cli/framework/context.h"
#include "cli/framework/default_cluster.h"
#include "cli/oob/input.h"
#include "cli/operate/oob_remote.h"
#include "oob/rescue/fleet.h"
#include "oob/rescue/run.h"
#include "oob/rescue/runbook_store.h"

namespace weft::cli {
namespace {

// Devices that a rescue may interrupt without --limit: a rack of servers and the switches of a rail.
constexpr std::uint32_t kDefaultLimit = 64;
constexpr std::string_view kLast = "last";

enum class Wish : std::uint8_t { list, show, plan, run, resume };

struct Asked {
  Wish wish = Wish::plan;
  std::string name;
  std::string cluster;  // the cluster file
  std::string resume;   // id, or "last"
};

bool is_runbook(const std::string& name) {
  const std::vector<std::string> names = oob::runbook_names();
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Two forms: NAME CLUSTER --run, and run NAME CLUSTER.
Result<Asked> read_words(Context& context) {
  const Arguments& arguments = context.arguments();
  const std::vector<std::pair<std::string_view, Wish>> verbs = {
      {"list", Wish::list}, {"show", Wish::show}, {"plan", Wish::plan}, {"run", Wish::run}, {"resume", Wish::resume}};
  Asked asked;
  std::size_t at = 0;
  const std::string first = arguments.word(0);
  if (first.empty()) asked.wish = Wish::list;
  for (const auto& [word, wish] : verbs) {
    if (first != word) continue;
    asked.wish = wish;
    at = 1;
  }
  const int flags = static_cast<int>(arguments.has("plan")) + static_cast<int>(arguments.has("run")) +
                    static_cast<int>(arguments.has("resume"));
  if (flags > 1 || (flags == 1 && at == 1 && !(asked.wish == Wish::resume && arguments.has("resume"))))
    return Error{ErrorCode::invalid_input, "--plan, --run and --resume are mutually exclusive", {}};
  if (arguments.has("run")) asked.wish = Wish::run;
  if (arguments.has("resume")) asked.wish = Wish::resume;
  if (asked.wish == Wish::resume)
    asked.resume = arguments.has("resume") ? arguments.value("resume") : std::string(kLast);
  asked.name = arguments.word(at);
  asked.cluster = arguments.word(at + 1);
  const bool on_server = !arguments.server_option().empty();  // which has its own cluster file
  std::size_t wanted = asked.wish == Wish::list ? at : at + 1;
  if (asked.wish != Wish::list && asked.wish != Wish::show && !on_server) ++wanted;
  if (arguments.words().size() > wanted)
    return Error{ErrorCode::invalid_input, fmt::format("unexpected argument `{}`", arguments.word(wanted)), {}};
  if (asked.wish == Wish::list) return asked;
  if (asked.name.empty()) return Error{ErrorCode::invalid_input, "missing runbook name", {}};
  if (asked.wish == Wish::show || on_server) return asked;
  if (is_runbook(asked.cluster) && names_cluster_file(asked.name))
    return Error{ErrorCode::invalid_input, "CLUSTER must follow NAME", {}};
  if (asked.cluster.empty()) asked.cluster = context.default_cluster();
  return asked;
}

Exit list_books(Context& context) {
  Document document;
  document.kind = "runbooks";
  TableSection table{.key = "runbooks", .title = "Runbooks", .columns = {}, .rows = {}};
  table.columns = {{"name", "Name"},
                   {"title", "Purpose"},
                   {"steps", "Steps", Column::Align::right},
                   {"parameters", "Required parameters"},
                   {"when", "When", Column::Align::left, true}};
  for (const std::string& name : oob::runbook_names()) {
    Sources sources;
    Diagnostics diagnostics;
    const Result<oob::Runbook> book = oob::open_runbook(name, sources, diagnostics);
    if (!book.ok()) return context.failed(book.error());
    std::vector<std::string> required;
    for (const oob::RunbookParameter& parameter : book->parameters) {
      if (!parameter.fallback) required.push_back(parameter.name);
    }
    table.rows.push_back({book->name, book->title, book->steps.size(), fmt::format("{}", fmt::join(required, ", ")),
                          fmt::format("{}", fmt::join(book->when, "; "))});
  }
  document.sections.emplace_back(std::move(table));
  return context.deliver(document);
}

Exit show_book(Context& context, const std::string& name) {
  if (const std::optional<std::string> text = oob::runbook_text(name)) return context.deliver(*text);
  // A user's own file is checked, and shown if it is valid.
  Sources sources;
  Diagnostics diagnostics;
  const Result<oob::Runbook> book = oob::open_runbook(name, sources, diagnostics);
  context.note_problems(diagnostics, sources);
  if (!book.ok()) return context.failed(book.error());
  return context.deliver(sources.text(1));
}

Result<std::map<std::string, std::string>> read_settings(const Arguments& arguments) {
  std::map<std::string, std::string> settings;
  for (const std::string& given : arguments.values("set")) {
    const std::size_t equals = given.find('=');
    if (equals == std::string::npos || equals == 0)
      return Error{ErrorCode::invalid_input, fmt::format("--set {}: must be KEY=VALUE", given), {}};
    if (!settings.emplace(given.substr(0, equals), given.substr(equals + 1)).second)
      return Error{ErrorCode::invalid_input, fmt::format("--set {} is specified twice", given.substr(0, equals)), {}};
  }
  return settings;
}

// Selects the rescue, and the parameters it began with.
Result<oob::RescueRecord> find_rescue(const oob::Journal& journal, const std::string& book, const std::string& id) {
  const Result<std::vector<oob::JournalEntry>> entries = journal.read();
  if (!entries.ok()) return entries.error();
  if (id != kLast) {
    std::optional<oob::RescueRecord> record = oob::read_rescue(*entries, id);
    if (!record) return Error{ErrorCode::not_found, fmt::format("the journal contains no rescue `{}`", id), {}};
    return std::move(*record);
  }
  std::vector<oob::RescueRecord> open = oob::open_rescues(*entries, book);
  if (open.empty()) return Error{ErrorCode::not_found, fmt::format("no rescue with `{}` is incomplete", book), {}};
  if (open.size() == 1) return std::move(open.front());
  std::vector<std::string> ids;
  ids.reserve(open.size());
  for (const oob::RescueRecord& record : open) ids.push_back(record.operation);
  return Error{ErrorCode::conflict,
               fmt::format("several rescues are incomplete; choose one with --resume: {}", fmt::join(ids, ", ")),
               {}};
}

bool ask_person(Context& context, const oob::RescueStep& step) {
  context.io().write_err(fmt::format("{} [y/N] ", step.action.text));
  std::string answer;
  return static_cast<bool>(std::getline(std::cin, answer)) && (answer == "y" || answer == "yes");
}

oob::RescueTerms read_terms(Context& context, const OobSetup& setup) {
  oob::RescueTerms terms;
  const Arguments& arguments = context.arguments();
  terms.state = setup.state();
  terms.reason = arguments.value("reason");
  terms.confirmed = {arguments.values("confirm").begin(), arguments.values("confirm").end()};
  terms.repeated = {arguments.values("repeat").begin(), arguments.values("repeat").end()};
  terms.tell = [&context](const std::string& text) { context.note(text); };
  if (context.io().err_is_terminal && ::isatty(STDIN_FILENO) == 1)
    terms.ask = [&context](const oob::RescueStep& step) { return ask_person(context, step); };
  return terms;
}

Exit exit_of(oob::RescueEnd end) {
  switch (end) {
    case oob::RescueEnd::done:
      return Exit::ok;
    case oob::RescueEnd::partial:
      return Exit::partial;
    case oob::RescueEnd::waiting:
      return Exit::refused;
    case oob::RescueEnd::failed:
    case oob::RescueEnd::stopped:
      break;
  }
  return Exit::unavailable;
}

Exit follow(Context& context, OobSetup& setup, const oob::RescuePlan& plan, const oob::RescueTerms& terms) {
  const Arguments& arguments = context.arguments();
  const Result<std::unique_ptr<oob::SwitchTransport>> transport = oob::open_transport(
      {.words = arguments.value("via"), .jump = arguments.value("jump"), .user = arguments.value("user")},
      setup.clock());
  if (!transport.ok()) return context.usage_error(transport.error().text());
  oob::ConfigStore store(setup.state() + "/switches", "weft rescue", setup.clock());
  oob::FleetRescueHands hands({.fleet = setup.fleet(),
                               .cluster = setup.cluster(),
                               .transport = **transport,
                               .store = store,
                               .consoles = setup.state() + "/consoles"});
  const Result<oob::RescueReport> report = oob::run_rescue(plan, hands, setup.fleet().journal, setup.clock(), terms);
  if (!report.ok()) return context.failed(report.error());
  if (const Status kept = write_file(report->folder + "/report.md", oob::rescue_report_markdown(*report)); !kept.ok())
    context.note(kept.error().text());
  return context.deliver(oob::rescue_report_document(*report), exit_of(report->end));
}

// A resumed rescue keeps the parameters it began with.
Exit prepare_resume(Context& context, OobSetup& setup, const oob::Runbook& book, const Asked& asked,
                    std::map<std::string, std::string>& settings, oob::RescueTerms& terms) {
  if (!settings.empty())
    return context.usage_error("--set cannot be combined with --resume: the parameters come from the journal",
                               {"omit --set"});
  const Result<oob::RescueRecord> record = find_rescue(setup.fleet().journal, book.name, asked.resume);
  if (!record.ok()) return context.failed(record.error());
  for (const auto& [name, value] : record->parameters) settings[name] = value;
  terms.resume = record->operation;
  if (terms.reason.empty()) terms.reason = record->reason;
  return Exit::ok;
}

Exit run_book(Context& context, const Asked& asked) {
  Result<std::map<std::string, std::string>> settings = read_settings(context.arguments());
  if (!settings.ok()) return context.usage_error(settings.error().message);
  Sources sources;
  Diagnostics diagnostics;
  const Result<oob::Runbook> book = oob::open_runbook(asked.name, sources, diagnostics);
  if (!book.ok()) {
    context.note_problems(diagnostics, sources);
    return context.failed(book.error());
  }
  const bool acts = asked.wish != Wish::plan && !context.arguments().has("dry-run");
  Exit code = Exit::ok;
  const std::unique_ptr<OobSetup> setup = OobSetup::open(context, acts, code, OobWords{asked.cluster, {}});
  if (setup == nullptr) return code;
  oob::RescueTerms terms = read_terms(context, *setup);
  if (acts && asked.wish == Wish::resume) {
    code = prepare_resume(context, *setup, *book, asked, *settings, terms);
    if (code != Exit::ok) return code;
  }
  const oob::RescueHosts hosts(setup->cluster(), setup->inventory());
  const std::optional<oob::RescuePlan> plan = oob::make_rescue_plan(*book, hosts, *settings, diagnostics);
  if (!plan) {
    context.io().write_err(render_all(diagnostics, sources, false));
    return Exit::usage;
  }
  if (!acts || plan->refused())
    return context.deliver(oob::rescue_plan_document(*plan, hosts), plan->refused() ? Exit::refused : Exit::ok);
  if (asked.wish == Wish::run && plan->dangerous()) {
    if (const std::optional<Exit> no = setup->permit(context, "rescue." + plan->runbook, plan->hit, kDefaultLimit))
      return *no;
  }
  return follow(context, *setup, *plan, terms);
}

Exit run_rescue_command(Context& context) {
  const Result<Asked> asked = read_words(context);
  if (!asked.ok()) return context.usage_error(asked.error().message, {usage_of(context.command())});
  if (asked->wish == Wish::list) return list_books(context);
  if (asked->wish == Wish::show) return show_book(context, asked->name);
  if (asked->cluster.empty()) return context.missing_cluster(usage_of(context.command()));
  return run_book(context, *asked);
}

// The one form that the API's table has: a runbook, and what is asked as an option.
Exit run_rescue_on_server(Context& context) {
  const Result<Asked> asked = read_words(context);
  if (!asked.ok()) return context.usage_error(asked.error().message, {"with a server, leave CLUSTER out"});
  OobLine line = read_oob_line(context);
  for (const char* option : {"plan", "run", "resume"}) line.options.erase(option);
  line.words.clear();
  if (asked->wish == Wish::list) line.words = {"list"};
  if (asked->wish == Wish::show) line.words = {"show"};
  if (!asked->name.empty()) line.words.push_back(asked->name);
  if (asked->wish == Wish::plan || asked->wish == Wish::run) line.options["run"] = {""};
  if (asked->wish == Wish::resume) line.options["resume"] = {asked->resume};
  return run_oob_line(context, line, asked->wish == Wish::plan);
}

std::vector<Option> rescue_options() {
  const std::string section = "Rescue";
  const std::string reaching = "Switch access";
  return {{.name = "plan", .help = "show the plan without doing anything (the default)", .section = section},
          {.name = "run", .help = "execute the runbook", .section = section},
          {.name = "resume",
           .value = "ID",
           .help = "continue an incomplete rescue; `last`: the only incomplete one",
           .section = section},
          {.name = "set",
           .value = "KEY=VALUE",
           .help = "parameter of the runbook; may be repeated",
           .repeatable = true,
           .section = section},
          {.name = "confirm",
           .value = "STEP",
           .help = "mark this step as done manually; may be repeated",
           .repeatable = true,
           .section = section},
          {.name = "repeat",
           .value = "STEP",
           .help = "send this step again; may be repeated",
           .repeatable = true,
           .section = section},
          {.name = "jump", .value = "HOST", .help = "SSH jump host", .section = reaching},
          {.name = "user", .value = "NAME", .help = "login name; default: that of ssh", .section = reaching},
          {.name = "via",
           .value = "COMMAND",
           .help = "command used instead of ssh, with the placeholders {host}, {address}, {user} and {command}",
           .section = reaching}};
}

}  // namespace

Command rescue_command() {
  Command command;
  command.name = "rescue";
  command.summary = "Execute a recovery runbook over the out-of-band network";
  command.usage = "NAME CLUSTER [--plan | --run | --resume ID] [OPTIONS]";
  command.description = {
      "A runbook is a YAML file with steps; each has preconditions, one action, evidence of success, a time limit and "
      "a rollback. weft includes pfc-storm, scheduler-dead, tor-boot-loop, bad-config-push and cold-start; give a path "
      "for your own. `weft rescue list` lists them, `weft rescue show NAME` prints one.",
      "The plan lists all hosts and commands before anything is changed. It is refused if a step depends on what it "
      "recovers: a frontend address while the frontend is down, a switch reachable only through itself, the last jump "
      "host.",
      "Every step is written to the journal before it is sent. Continue an interrupted run with --resume: finished "
      "steps are not repeated, and a cycle or reset is never sent twice without proof that the first had no effect; "
      "without proof the operator decides (--confirm, --repeat). Console logs, outputs and a report are stored in "
      "STATE/rescue/ID.",
      "Exit code 0 if done, 3 if an optional step failed, 4 if refused or waiting for the operator, 5 if a step failed "
      "or the run was stopped."};
  command.examples = {
      {"weft rescue list", "List the included runbooks"},
      {"weft rescue pfc-storm cluster.yaml --set tor=be-leaf003 --plan", "Show the plan"},
      {"weft rescue pfc-storm cluster.yaml --set tor=be-leaf003 --run --reason 'storm on rail 3' --yes", "Execute it"},
      {"weft rescue pfc-storm cluster.yaml --resume last", "Continue after the jump host failed"},
      {"weft rescue show cold-start -f mine.yaml", "Copy a runbook for editing; use it with weft rescue ./mine.yaml"}};
  command.arguments = {
      {.name = "NAME",
       .help = "a runbook, optionally preceded by list, show, plan, run or resume",
       .choices = choices_named({"list", "show", "plan", "run", "resume"}),
       .hint = Hint::file,
       .required = false,
       .open = true},
      {.name = "CLUSTER",
       .help = "a cluster file [default: see `weft help cluster-file`]",
       .hint = Hint::file,
       .required = false},
      {.name = "MORE", .help = "the cluster file, if a verb precedes NAME", .hint = Hint::file, .required = false}};
  command.options = joined(joined(rescue_options(), oob_action_options()),
                           joined({output_option(), file_option(), catalog_option()}, oob_options()));
  command.run = run_rescue_command;
  offer_on_server(command, run_rescue_on_server);
  return command;
}

}  // namespace weft::cli
