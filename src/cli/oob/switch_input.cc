#include "cli/oob/switch_input.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/host_range.h"
#include "cli/framework/option_reader.h"

namespace weft::cli {

std::vector<Option> oob_switch_options() {
  const std::string section = "Switch access";
  std::vector<Option> options;
  for (Option& option : oob_options()) {
    const bool shared = option.name == "endpoints" || option.name == "state" || option.name == "fanout" ||
                        option.name == "syslog" || option.name == "ca";
    if (!shared) continue;
    option.section = section;
    options.push_back(std::move(option));
  }
  const std::vector<Option> own = {
      {.name = "jump", .value = "HOST", .help = "SSH jump host", .section = section},
      {.name = "user", .value = "NAME", .help = "login name; default: that of ssh", .section = section},
      {.name = "via",
       .value = "COMMAND",
       .help = "command used instead of ssh, with the placeholders {host}, {address}, {user} and {command}",
       .section = section},
      {.name = "timeout",
       .value = "TIME",
       .help = "timeout of one command on a switch",
       .fallback = "1m",
       .section = section}};
  return joined(std::move(options), own);
}

std::unique_ptr<SwitchSetup> SwitchSetup::open(Context& context, Exit& code, OobUse use) {
  std::unique_ptr<SwitchSetup> setup(new SwitchSetup());
  setup->oob_ = OobSetup::open(context, false, code);
  if (setup->oob_ == nullptr) return nullptr;
  OobSetup& oob = *setup->oob_;
  setup->switches_ = oob::switches_among(oob.cluster(), oob.inventory(), oob.chosen());
  if (setup->switches_.empty()) {
    code = context.usage_error("none of these devices is a switch", {"use `switches` for all switches"});
    return nullptr;
  }
  OptionReader reader(context.arguments());
  const std::optional<Duration> timeout = reader.time("timeout");
  const std::optional<std::int64_t> width = reader.integer("fanout", 1, oob::kMaxFanOut);
  if (!reader.ok()) {
    code = context.usage_error(reader.problem(), {reader.hint()});
    return nullptr;
  }
  Result<std::unique_ptr<oob::SwitchTransport>> transport =
      oob::open_transport({.words = context.arguments().value("via"),
                           .jump = context.arguments().value("jump"),
                           .user = context.arguments().value("user")},
                          oob.clock());
  if (!transport.ok()) {
    code = context.usage_error(transport.error().text());
    return nullptr;
  }
  if (!oob.open_journal_alone(context, code, use)) return nullptr;
  setup->transport_ = std::move(transport).value();
  setup->store_ = std::make_unique<oob::ConfigStore>(oob.state() + "/switches", oob.who(), oob.clock());
  setup->fleet_ = std::make_unique<oob::SwitchFleet>(
      oob::SwitchFleet{*setup->transport_, *setup->store_, oob.clock(), oob.journal()});
  if (width) setup->fleet_->width = static_cast<int>(*width);
  if (timeout) setup->fleet_->command_limit = *timeout;
  return setup;
}

std::vector<std::uint32_t> SwitchSetup::switch_targets() const {
  std::vector<std::uint32_t> targets;
  targets.reserve(switches_.size());
  for (const oob::SwitchDevice& device : switches_) {
    if (const auto target = oob_->inventory().find(device.name)) targets.push_back(*target);
  }
  return targets;
}

std::optional<Exit> SwitchSetup::note(Context& context, const std::string& verb) {
  std::vector<std::string> names;
  names.reserve(switches_.size());
  for (const oob::SwitchDevice& device : switches_) names.push_back(device.name);
  oob::JournalEntry entry;
  entry.operation = oob::new_operation_id();
  entry.verb = verb;
  entry.detail = Value::map({{"hosts", fold_hosts(std::move(names))}});
  const Status written = oob_->journal().append(std::move(entry));
  if (written.ok()) return std::nullopt;
  return context.failed(written.error());
}

Exit deliver_with_texts(Context& context, const Document& document, const std::vector<std::string>& texts,
                        Exit outcome) {
  const OutputFormat format = context.output_format();
  const bool table = format == OutputFormat::table || format == OutputFormat::wide;
  if (!table || texts.empty()) return context.deliver(document, outcome);
  std::string text = write(document, {.format = format, .color = context.colors_result()});
  for (const std::string& piece : texts) text += "\n" + piece;
  return context.deliver(text, outcome);
}

std::string short_version(const std::string& version) { return version.substr(0, 12); }

}  // namespace weft::cli
