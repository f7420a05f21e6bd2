// weft watch: prints what happens, as the journal records it.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/framework/option_reader.h"
#include "cli/operate/server_client.h"
#include "serve/api/api.h"

namespace weft::cli {
namespace {

std::string event_line(Context& context, const serve::ServerEvent& event) {
  if (context.output_format() == OutputFormat::ndjson || context.output_format() == OutputFormat::json) {
    return event.data + "\n";
  }
  const nlohmann::json json = nlohmann::json::parse(event.data, nullptr, false);
  const auto time = json.is_object() ? json.find("time") : json.end();
  const auto text = json.is_object() ? json.find("text") : json.end();
  if (time == json.end() || text == json.end() || !time->is_string() || !text->is_string()) return event.data + "\n";
  return fmt::format("{} {:>6} {}\n", time->get<std::string>(), event.id, text->get<std::string>());
}

Exit run_watch(Context& context) {
  OptionReader reader(context.arguments());
  const std::optional<std::int64_t> since = reader.integer("record", 0, INT64_MAX);
  const std::optional<std::int64_t> job = reader.integer("job", 1, INT64_MAX);
  if (!reader.ok()) return context.usage_error(reader.problem(), {reader.hint()});
  const ServerClient client(context);
  const Result<serve::HttpResponse> now = client.get(target_of("/server"));
  if (!now.ok()) return context.failed(now.error());
  const std::uint64_t from = since ? static_cast<std::uint64_t>(*since) : sequence_of(*now);
  serve::Target target;
  if (job) target.query.emplace_back("job", std::to_string(*job));
  end_with_the_reader();
  Exit printed = Exit::ok;
  const Status followed = client.follow(target, from, [&](const serve::ServerEvent& event) {
    printed = context.deliver(event_line(context, event));
    return printed == Exit::ok;
  });
  return followed.ok() ? printed : context.failed(followed.error());
}

}  // namespace

Command watch_command() {
  Command command;
  command.name = "watch";
  command.summary = "Print what happens, as the journal records it";
  command.usage = "[--job JOB] [--record N] [OPTIONS]";
  command.description = {
      "One line per journal record, with its number, until Ctrl-C. Reconnects when the server restarts, and misses "
      "nothing: --record continues after one that was seen before."};
  command.examples = {{"weft watch --job 7", "What happens to job 7"},
                      {"weft watch --record 0 -o ndjson", "All records that are kept, for a program"}};
  command.options = with_server_options(
      {{.name = "job", .letter = 'j', .value = "JOB", .help = "only this job"},
       {.name = "record", .value = "N", .help = "begin after this record", .fallback = "the last one"},
       stream_output_option()});
  command.run = run_watch;
  return command;
}

}  // namespace weft::cli
