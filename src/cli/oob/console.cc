#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "cli/framework/option_reader.h"
#include "cli/oob/input.h"
#include "cli/oob/raw_terminal.h"
#include "cli/operate/oob_remote.h"
#include "oob/console/client.h"

namespace weft::cli {
namespace {

constexpr std::int64_t kMaxLines = 1000;

struct ConsoleRequest {
  std::optional<Duration> limit;
  std::string until;
  std::string send;
  std::size_t replay = 25;
  bool log_only = false;
};

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// \r, \n, \t, \e, \\ and \xNN; empty if another letter follows a backslash.
std::optional<std::string> unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      out += text[i];
      continue;
    }
    if (++i == text.size()) return std::nullopt;
    switch (text[i]) {
      case 'r':
        out += '\r';
        break;
      case 'n':
        out += '\n';
        break;
      case 't':
        out += '\t';
        break;
      case 'e':
        out += '\x1b';
        break;
      case '\\':
        out += '\\';
        break;
      case 'x': {
        const int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
        const int low = i + 2 < text.size() ? hex_digit(text[i + 2]) : -1;
        if (high < 0 || low < 0) return std::nullopt;
        out += static_cast<char>(high * 16 + low);
        i += 2;
        break;
      }
      default:
        return std::nullopt;
    }
  }
  return out;
}

ConsoleRequest read_request(OptionReader& reader) {
  ConsoleRequest request;
  const Arguments& arguments = reader.arguments();
  request.limit = reader.time("for");
  request.until = arguments.value("until-text");
  request.log_only = arguments.has("log-only");
  if (const auto lines = reader.integer("lines", 0, kMaxLines)) request.replay = static_cast<std::size_t>(*lines);
  if (!request.until.empty()) {
    const Result<oob::ConsoleMatcher> matcher = oob::ConsoleMatcher::make(request.until);
    if (!matcher.ok()) reader.bad("until-text", matcher.error().text());
  }
  const std::optional<std::string> send = unescaped(arguments.value("send"));
  if (!send) reader.bad("send", "a backslash must be followed by r, n, t, e, \\ or xNN");
  if (send) request.send = *send;
  if (arguments.has("view") && (arguments.has("take") || !request.send.empty()))
    reader.fail("--view is read-only and cannot be combined with --take or --send");
  if (request.log_only && (arguments.has("take") || arguments.has("view") || !request.send.empty()))
    reader.fail("--log-only can be combined only with --for, --until-text and --lines");
  return request;
}

oob::ConsoleClientOptions client_options(Context& context, OobSetup& setup, const ConsoleRequest& request) {
  oob::ConsoleClientOptions options;
  options.folder = setup.state() + "/consoles";
  options.who = setup.who();
  options.why = context.arguments().value("reason");
  options.view = context.arguments().has("view");
  options.take = context.arguments().has("take");
  options.replay = request.replay;
  options.send = request.send;
  options.until = request.until;
  if (request.limit) options.limit = *request.limit;
  return options;
}

// Raw bytes, for a terminal.
Exit run_interactive(Context& context, OobSetup& setup, const ConsoleRequest& request) {
  Io& io = context.io();
  oob::ConsoleClientOptions options = client_options(context, setup, request);
  options.input = STDIN_FILENO;
  options.output = [&](std::string_view bytes) { (void)io.write_out(bytes); };
  options.replayed = [&](std::string_view line) { (void)io.write_out(fmt::format("{}\r\n", line)); };
  options.note = [&](std::string_view text) { (void)io.write_out(fmt::format("\r\n[weft: {}]\r\n", text)); };
  context.note(fmt::format("console of {}; ~? at the start of a line for help, ~. to leave",
                           setup.inventory().targets()[setup.chosen().front()].name));
  const Result<oob::ConsoleOutcome> outcome = [&] {
    const RawTerminal terminal(STDIN_FILENO);
    return oob::share_console(setup.fleet(), setup.chosen().front(), options);
  }();
  if (!outcome.ok()) return context.failed(outcome.error());
  context.note("closed the console");
  return Exit::ok;
}

// Lines with timestamps, for files and other programs.
Exit run_capture(Context& context, OobSetup& setup, ConsoleRequest request) {
  Io& io = context.io();
  if (!context.arguments().has("lines")) request.replay = 0;
  oob::ConsoleClientOptions options = client_options(context, setup, request);
  const auto print = [&](std::string_view line) { (void)io.write_out(fmt::format("{}\n", line)); };
  oob::ConsoleLines lines(setup.clock(), print);
  options.output = [&](std::string_view bytes) {
    lines.tick();
    lines.feed(bytes);
  };
  options.replayed = print;
  options.note = [&](std::string_view text) { context.note(text); };
  const Result<oob::ConsoleOutcome> outcome = oob::share_console(setup.fleet(), setup.chosen().front(), options);
  lines.flush();
  if (!outcome.ok()) return context.failed(outcome.error());
  if (request.until.empty() || outcome->end == oob::ConsoleEnd::seen) return Exit::ok;
  return context.failed({ErrorCode::timeout, fmt::format("`{}` was not found in the output", request.until),
                         setup.inventory().targets()[setup.chosen().front()].name});
}

struct Logged {
  std::string problem;
  oob::ConsoleCapture capture;
};

Document log_document(OobSetup& setup, const std::vector<Logged>& results, bool waits) {
  TableSection table{.key = "consoles", .title = "Consoles", .columns = {{"host", "Host"}}, .rows = {}};
  table.columns.push_back({"bytes", "Bytes", Column::Align::right});
  table.columns.push_back({"reopened", "Reconnects", Column::Align::right});
  if (waits) table.columns.push_back({"seen", "Found"});
  table.columns.push_back({"line", "Line"});
  table.columns.push_back({"log", "Log"});
  table.columns.push_back({"message", "Message"});
  for (std::size_t i = 0; i < results.size(); ++i) {
    const std::string& name = setup.inventory().targets()[setup.chosen()[i]].name;
    std::vector<Cell> row = {name, results[i].capture.bytes, results[i].capture.reopened};
    if (waits) row.emplace_back(results[i].capture.seen);
    row.insert(row.end(),
               {results[i].capture.line, fmt::format("{}/consoles/{}.log", setup.state(), name), results[i].problem});
    table.rows.push_back(std::move(row));
  }
  Document document{.kind = "oob-console", .sections = {}, .notes = {}};
  document.sections.emplace_back(std::move(table));
  return document;
}

// All in parallel, each into its own log, until the time is over or the command is stopped.
Exit run_logs(Context& context, OobSetup& setup, const ConsoleRequest& request) {
  const auto count = static_cast<std::uint32_t>(setup.chosen().size());
  if (count > static_cast<std::uint32_t>(oob::kMaxFanOut))
    return context.usage_error(fmt::format("{} consoles exceed the maximum of {} per process", count, oob::kMaxFanOut));
  std::vector<Logged> results(count);
  (void)oob::fan_out(count, static_cast<int>(count), setup.clock(), [&](std::uint32_t i) {
    const std::uint32_t target = setup.chosen()[i];
    Result<std::unique_ptr<oob::ConsoleLog>> log =
        oob::ConsoleLog::open(setup.state() + "/consoles", setup.inventory().targets()[target].name, setup.who(),
                              context.arguments().value("reason"), setup.clock());
    if (!log.ok()) {
      results[i].problem = log.error().message;
      return;
    }
    Result<oob::ConsoleCapture> capture =
        oob::capture_console(setup.fleet(), target, request.limit.value_or(Duration(0)), request.until, **log);
    if (!capture.ok()) {
      results[i].problem = capture.error().message;
    } else {
      results[i].capture = std::move(capture).value();
    }
  });
  const auto failed = static_cast<std::size_t>(
      std::count_if(results.begin(), results.end(), [](const Logged& logged) { return !logged.problem.empty(); }));
  const bool all_seen =
      std::all_of(results.begin(), results.end(), [](const Logged& logged) { return logged.capture.seen; });
  Exit outcome = Exit::ok;
  if (!request.until.empty() && !all_seen) outcome = Exit::unavailable;
  if (failed > 0) outcome = failed == results.size() ? Exit::unavailable : Exit::partial;
  return context.deliver(log_document(setup, results, !request.until.empty()), outcome);
}

Exit run_console(Context& context) {
  OptionReader reader(context.arguments());
  const ConsoleRequest request = read_request(reader);
  if (!reader.ok()) return context.usage_error(reader.problem(), {reader.hint()});
  Exit code = Exit::ok;
  const std::unique_ptr<OobSetup> setup = OobSetup::open(context, true, code);
  if (setup == nullptr) return code;
  if (request.log_only) return run_logs(context, *setup, request);
  if (setup->chosen().size() != 1)
    return context.usage_error(fmt::format("only one console at a time can be opened, not {}", setup->chosen().size()),
                               {"use --log-only to log several consoles"});
  if (request.limit || !request.until.empty()) return run_capture(context, *setup, request);
  if (::isatty(STDIN_FILENO) != 1 || !context.io().out_is_terminal)
    return context.usage_error("standard input or output is not a terminal",
                               {"use --for TIME or --until-text TEXT to capture without a terminal"});
  return run_interactive(context, *setup, request);
}

}  // namespace

Command oob_console_command() {
  Command command;
  command.name = "oob console";
  command.summary = "Open a shared, logged serial console";
  command.usage = "CLUSTER HOSTS [--view] [--for TIME] [--until-text TEXT] [OPTIONS]";
  command.description = {
      "Uses Serial over LAN, or the program given in the endpoints file. All output goes to STATE/consoles/HOST.log "
      "with a timestamp per line and without control characters. The first session opens the console, later ones "
      "attach to it: one session has the write lock, the others are read-only; --take or ~t takes over the write lock, "
      "and all sessions are notified. If the first session ends, another one takes over; the console is closed with "
      "the last session. A dropped connection is reopened.",
      "With --for or --until-text it captures without a terminal: exit code 0 if the text was found, 5 if it was not "
      "found in time. --log-only accepts several hosts."};
  command.examples = {
      {"weft oob console cluster.yaml train001", "Interactive console"},
      {"weft oob console cluster.yaml train001 --until-text 'login:' --for 10m", "Wait for the login prompt"},
      {"weft oob console cluster.yaml '@train' --log-only --for 1h", "Log a pool for an hour"}};
  command.arguments = {cluster_argument(), oob_hosts_argument()};
  command.options =
      joined({{.name = "view", .help = "read-only"},
              {.name = "take", .help = "take over the write lock"},
              {.name = "lines", .value = "N", .help = "lines of the log to show at the start", .fallback = "25"},
              {.name = "for", .value = "TIME", .help = "stop after this time"},
              {.name = "until-text", .value = "TEXT", .help = "stop when a line matches this regular expression"},
              {.name = "send", .value = "TEXT", .help = "send this at the start; \\r is the Enter key"},
              {.name = "log-only", .help = "log several hosts without showing their output"},
              {.name = "reason", .value = "TEXT", .help = "reason; written to the journal and the log"},
              output_option(),
              file_option(),
              catalog_option()},
             oob_options());
  command.run = run_console;
  offer_on_server(command);
  return command;
}

}  // namespace weft::cli
