#include "cli/oob/repeat.h"

#include <fmt/format.h>

#include <string>

#include "base/human_format.h"
#include "cli/framework/option_reader.h"
#include "cli/operate/server_client.h"

namespace weft::cli {
namespace {

constexpr Duration kMinInterval = milliseconds(1'000);
constexpr Duration kMaxInterval = milliseconds(3'600'000);

class Repeater {
 public:
  Repeater(Context& context, OobSetup& setup, Duration interval)
      : context_(context), clock_(setup.clock()), interval_(interval) {}

  Exit run(const ReadFunction& read) {
    end_with_the_reader();
    Exit outcome = Exit::ok;
    do {
      const std::optional<Reading> reading = read();
      if (!reading) return Exit::usage;
      if (clock_.stopped()) break;  // what was read is not complete
      outcome = reading->outcome;
      if (const Exit printed = print(context_.rendered(reading->document)); printed != Exit::ok) return printed;
    } while (clock_.sleep(interval_));
    return outcome;
  }

 private:
  Exit print(std::string text) {
    const bool is_screen = context_.io().out_is_terminal;
    if (text == shown_ && !is_screen) return Exit::ok;
    const std::string time = format_utc_seconds(clock_.wall_ms());
    shown_ = text;
    if (!is_screen) return context_.deliver(fmt::format("{}\n{}\n", time, text));
    return context_.deliver(
        fmt::format("\x1b[H\x1b[2J{}\nread {}, again every {}; Ctrl-C to stop\n", text, time, to_text(interval_)));
  }

  Context& context_;
  oob::Clock& clock_;
  Duration interval_;
  std::string shown_;
};

}  // namespace

std::vector<Option> repeat_options() {
  return {watch_option(),
          {.name = "interval", .value = "TIME", .help = "with --watch: time between two readings", .fallback = "30s"}};
}

bool is_repeated(const Context& context) {
  return find_option(context.command(), "watch") != nullptr && context.arguments().has("watch");
}

Exit deliver_readings(Context& context, OobSetup& setup, const ReadFunction& read) {
  if (!is_repeated(context)) {
    const std::optional<Reading> reading = read();
    return reading ? context.deliver(reading->document, reading->outcome) : Exit::usage;
  }
  const OutputFormat format = context.output_format();
  if (format != OutputFormat::table && format != OutputFormat::wide)
    return context.usage_error("--watch prints tables; for programs, run the command again");
  OptionReader reader(context.arguments());
  const Duration interval = reader.time("interval").value_or(milliseconds(30'000));
  if (reader.ok() && (interval < kMinInterval || interval > kMaxInterval))
    reader.bad("interval", "a time from 1 s to 1 h is expected");
  if (!reader.ok()) return context.usage_error(reader.problem(), {reader.hint()});
  return Repeater(context, setup, interval).run(read);
}

}  // namespace weft::cli
