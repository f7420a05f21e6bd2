// weft oob watch: the events of a whole cluster as they happen.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/human_format.h"
#include "base/utf8.h"
#include "base/value.h"
#include "cli/oob/device_commands.h"
#include "oob/bmc/fan_out.h"
#include "oob/manage/event_watch.h"
#include "oob/manage/events_view.h"

namespace weft::cli {
namespace {

constexpr Duration kMinInterval = milliseconds(1'000);
constexpr Duration kMaxInterval = milliseconds(3'600'000);

// One line per event on standard output; for people, changes of a device's state on standard error.
class WatchPrinter {
 public:
  WatchPrinter(Context& context, OobSetup& setup, const std::vector<std::uint32_t>& targets)
      : context_(context),
        setup_(setup),
        for_machines_(is_for_machines(context.output_format())),
        at_least_(least_severity(context)) {
    for (const std::uint32_t target : targets) name_width_ = std::max(name_width_, display_width(name_of(target)));
  }

  void events(std::uint32_t target, const std::vector<oob::LogEvent>& events) {
    std::string lines;
    for (const oob::LogEvent& event : events) {
      if (oob::severity_of(event) < at_least_) continue;
      lines += for_machines_ ? write_json_line(as_value(target, event)) + "\n" : as_line(target, event);
    }
    print(lines);
  }
  void state(std::uint32_t target, oob::WatchState state, const std::string& why) {
    if (for_machines_) {
      Value value = Value::map({{"kind", "device"}, {"device", name_of(target)}, {"state", to_text(state)}});
      if (!why.empty()) value.put("why", why);
      return print(write_json_line(value) + "\n");
    }
    const std::string reason = why.empty() ? "" : ": " + printable(why, kMaxWhy);
    if (state == oob::WatchState::streaming || state == oob::WatchState::polling) {
      context_.detail(fmt::format("{}: {}", name_of(target), to_text(state)));
      if (std::exchange(troubled_[target], false)) context_.note(name_of(target) + ": answers again");
      return;
    }
    troubled_[target] = true;
    context_.note(fmt::format("{}: {}{}", name_of(target), to_text(state), reason));
  }
  void unread(std::uint32_t target, const oob::UnreadLog& log) {
    if (for_machines_) {
      return print(write_json_line(Value::map({{"kind", "unread_log"},
                                               {"device", name_of(target)},
                                               {"log", log.log},
                                               {"why", oob::reason_of(log.error)}})) +
                   "\n");
    }
    context_.note(fmt::format("{}: log {} cannot be read: {}", name_of(target), log.log, oob::reason_of(log.error)));
  }
  // The error of standard output, if it could not be written.
  [[nodiscard]] const Status& status() const { return status_; }

 private:
  static constexpr std::size_t kMaxWhy = 300;

  [[nodiscard]] const std::string& name_of(std::uint32_t target) const {
    return setup_.inventory().targets()[target].name;
  }

  void print(const std::string& lines) {
    if (lines.empty() || !status_.ok()) return;
    const Io& io = context_.io();
    status_ = io.write_out(lines);
    if (!status_.ok() || (io.output_ended && io.output_ended())) setup_.clock().stop();
  }

  [[nodiscard]] std::string as_line(std::uint32_t target, const oob::LogEvent& event) const {
    const std::optional<std::int64_t> time = oob::event_time(event);
    std::string line = fmt::format("{:<20}  {:<8}  {}", time ? format_utc_seconds(*time) : "-",
                                   to_text(oob::severity_of(event)), name_of(target));
    line.append(name_width_ - display_width(name_of(target)), ' ');
    for (const std::string& part : {event.log, event.source, oob::event_text(event)}) {
      if (!part.empty()) line += "  " + oob::told(part);
    }
    return line + "\n";
  }

  // As a row of `weft oob events`.
  [[nodiscard]] Value as_value(std::uint32_t target, const oob::LogEvent& event) const {
    const std::optional<std::int64_t> time = oob::event_time(event);
    Value value = Value::map({{"kind", "event"}, {"device", name_of(target)}});
    const auto put = [&](std::string_view key, const std::string& text) {
      value.put(std::string(key), text.empty() ? Value() : Value(text));
    };
    put("log", event.log);
    put("id", event.id);
    put("time", time ? format_utc(*time) : "");
    put("severity", std::string(to_text(event.severity)));
    put("state", event.state == oob::EventState::unknown ? "" : std::string(to_text(event.state)));
    put("source", event.source);
    put("message", event.message);
    put("message_id", event.message_id);
    put("resolution", event.resolution);
    value.put("count", event.count);
    return value;
  }

  Context& context_;
  OobSetup& setup_;
  const bool for_machines_;
  const oob::Health at_least_;
  std::size_t name_width_ = 0;
  std::map<std::uint32_t, bool> troubled_;
  Status status_;
};

Exit outcome_of(const std::vector<oob::WatchState>& states) {
  const auto answered = static_cast<std::size_t>(std::count_if(states.begin(), states.end(), [](oob::WatchState state) {
    return state == oob::WatchState::streaming || state == oob::WatchState::polling;
  }));
  if (answered == states.size()) return Exit::ok;
  return answered == 0 ? Exit::unavailable : Exit::partial;
}

Exit run_watch(Context& context) {
  OptionReader reader(context.arguments());
  oob::WatchOptions options;
  options.interval = reader.time("interval").value_or(options.interval);
  options.length = reader.time("for").value_or(Duration());
  if (reader.ok() && (options.interval < kMinInterval || options.interval > kMaxInterval))
    reader.bad("interval", "a time from 1 s to 1 h is expected");
  if (!reader.ok()) return context.usage_error(reader.problem(), {reader.hint()});
  Exit code = Exit::ok;
  const std::unique_ptr<OobSetup> setup = OobSetup::open(context, true, code, 0, OobUse::read);
  if (setup == nullptr) return code;
  options.since_ms = since_when(reader, setup->clock().wall_ms());
  if (!reader.ok()) return context.usage_error(reader.problem(), {reader.hint()});
  const std::vector<std::uint32_t> targets = select_with_bmc(context, *setup);
  if (targets.empty()) return Exit::ok;
  if (targets.size() > static_cast<std::size_t>(oob::kMaxFanOut))
    return context.usage_error(
        fmt::format("{} devices are too many for one watch: at most {}", targets.size(), oob::kMaxFanOut),
        {"name fewer of them, for example one rack: rack:R01"});
  context.note(fmt::format("following {}; press Ctrl-C to stop", plural(targets.size(), "device")));
  WatchPrinter printer(context, *setup, targets);
  const oob::WatchSink sink{
      [&](std::uint32_t target, const std::vector<oob::LogEvent>& events) { printer.events(target, events); },
      [&](std::uint32_t target, oob::WatchState state, const std::string& why) { printer.state(target, state, why); },
      [&](std::uint32_t target, const oob::UnreadLog& log) { printer.unread(target, log); }};
  const std::vector<oob::WatchState> states = oob::watch_events(setup->fleet(), targets, options, sink);
  if (!printer.status().ok()) return context.failed(printer.status().error());
  std::vector<std::uint32_t> unseen;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (states[i] == oob::WatchState::connecting) unseen.push_back(targets[i]);
  }
  if (!unseen.empty()) context.note("no answer before the end: " + setup->fold(unseen));
  return outcome_of(states);
}

}  // namespace

Command oob_watch_command() {
  Command command;
  command.name = "oob watch";
  command.summary = "Follow the events of all machines";
  command.usage = "CLUSTER [HOSTS] [--since WHEN] [--level LEVEL] [--for TIME] [OPTIONS]";
  command.description = {
      "One line per event, until Ctrl-C: its time by the clock of the BMC, the severity, the device, the log and the "
      "message. A Redfish service that sends events (EventService with ServerSentEventUri) is listened to, and its "
      "logs "
      "are read once per ten intervals for events that it did not send. The logs of other BMCs are read once per "
      "interval.",
      "Each event is reported once, whether it was sent, logged or both. A device that does not answer is named on "
      "standard error and dialed again; one that refuses the login is not, so that its account is not locked.",
      "json and ndjson: one object per line, of the kind event, device (a change of its state) or unread_log.",
      "Exit code 0 if all devices were being followed at the end, 3 if some were not, 5 if none was."};
  command.examples = {
      {"weft oob watch pod16.yaml --level warning", "Warnings as they happen"},
      {"weft oob watch pod16.yaml @train --since 1h -o ndjson", "For a program, beginning with the last hour's"}};
  command.arguments = {cluster_argument(), oob_hosts_argument()};
  command.options = joined({since_option("begin with the events in the logs since then: 2026-01-31, 12h, 7d"),
                            level_option(),
                            {.name = "interval",
                             .value = "TIME",
                             .help = "how often the logs of a BMC that sends no events are read",
                             .fallback = "30s"},
                            {.name = "for", .value = "TIME", .help = "stop after this time"},
                            stream_output_option(),
                            catalog_option()},
                           oob_options());
  command.run = run_watch;
  return command;
}

}  // namespace weft::cli
