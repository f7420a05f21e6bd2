#include "cli/oob/firmware_update.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/file.h"
#include "base/hash.h"
#include "cli/framework/option_reader.h"
#include "cli/oob/device_commands.h"
#include "cli/oob/input.h"
#include "cli/oob/status.h"
#include "oob/firmware/run.h"

namespace weft::cli {
namespace {

constexpr std::size_t kMaxImage = 1U << 30U;  // images of whole machines have a few hundred MB
constexpr std::uint32_t kMaxBatch = 64;

std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// Empty after an error was reported.
std::optional<oob::FirmwareImage> read_image(Context& context, const std::string& path, Exit& code) {
  Result<std::string> bytes = read_file(path, kMaxImage);
  if (bytes.ok() && bytes->empty()) bytes = Error{ErrorCode::invalid_input, "the image is empty", path};
  if (!bytes.ok()) {
    code = context.failed(bytes.error());
    return std::nullopt;
  }
  std::string hash = sha256(*bytes);
  return oob::FirmwareImage{file_name(path), std::move(bytes).value(), std::move(hash), {}};
}

// False after an error was reported.
bool read_images(Context& context, oob::UpdateOptions& options, bool required, Exit& code) {
  const std::string path = context.arguments().value("image-file");
  options.image.uri = context.arguments().value("image-uri");
  if (!path.empty() && !options.image.uri.empty()) {
    code = context.usage_error("--image-file and --image-uri exclude each other");
    return false;
  }
  if (required && path.empty() && options.image.uri.empty()) {
    code =
        context.usage_error("no image is given", {"give --image-file FILE, or --image-uri URI for BMCs that fetch it"});
    return false;
  }
  if (!path.empty()) {
    std::optional<oob::FirmwareImage> image = read_image(context, path, code);
    if (!image) return false;
    options.image = *std::move(image);
  }
  const std::string rollback = context.arguments().value("rollback-image");
  if (!rollback.empty()) options.rollback = read_image(context, rollback, code);
  return rollback.empty() || options.rollback.has_value();
}

// False after an error was reported.
bool read_options(Context& context, oob::UpdateRequest& request, bool required, Exit& code) {
  OptionReader reader(context.arguments());
  oob::UpdateOptions& options = request.options;
  if (const auto time = reader.time("deadline")) options.deadline = *time;
  if (const auto time = reader.time("quiet-time")) options.quiet = *time;
  if (const auto time = reader.time("poll")) options.look_every = *time;
  if (const auto batch = reader.integer("batch", 1, kMaxBatch)) request.batch = static_cast<std::uint32_t>(*batch);
  if (!reader.ok()) {
    code = context.usage_error(reader.problem(), {reader.hint()});
    return false;
  }
  const std::string time = context.arguments().value("apply-time");
  if (time == "immediate") options.apply_time = oob::ApplyTime::immediate;
  if (time == "on-reset") options.apply_time = oob::ApplyTime::on_reset;
  options.component = context.arguments().value("component");
  options.expected = context.arguments().value("expect");
  options.force = context.arguments().has("force");
  request.reason = context.arguments().value("reason");
  return read_images(context, options, required, code);
}

Exit exit_of(const oob::UpdateReport& report) {
  if (report.all_done() && report.ended) return Exit::ok;
  const bool dark = std::none_of(report.devices.begin(), report.devices.end(), [](const oob::UpdatedDevice& device) {
    return device.earlier || device.outcome.reached;
  });
  return dark ? Exit::unavailable : Exit::partial;
}

Exit deliver(Context& context, const Result<oob::UpdateReport>& report) {
  if (!report.ok()) return context.failed(report.error());
  return context.deliver(oob::update_document(*report, is_for_machines(context.output_format())), exit_of(*report));
}

Exit preview(Context& context, const OobSetup& setup, oob::Fleet& fleet, const oob::UpdateRequest& request) {
  Document document;
  document.kind = "oob-firmware-plan";
  TableSection table{"plan", "Plan", {{"device", "Device"}, {"rack", "Rack"}, {"update", "Update"}}, {}};
  std::size_t refused = 0;
  for (const std::uint32_t target : request.targets) {
    const Result<std::string> plan = oob::preview_update(fleet, target, request.options);
    if (!plan.ok()) ++refused;
    const oob::Target& device = setup.inventory().targets()[target];
    table.rows.push_back({device.name, device.rack, plan.ok() ? *plan : "refused: " + plan.error().message});
  }
  document.sections.emplace_back(std::move(table));
  document.notes.push_back(fmt::format("image SHA-256: {}", request.options.image.sha256.empty()
                                                                ? std::string("fetched by the BMC, not known")
                                                                : request.options.image.sha256));
  return context.deliver(document, refused == 0 ? Exit::ok : Exit::refused);
}

Exit resume(Context& context, const std::optional<oob::FirmwareBaseline>& baseline) {
  if (context.arguments().words().size() != 2)
    return context.usage_error("--resume takes no HOSTS: they come from the journal", {"give only the cluster file"});
  Exit code = Exit::ok;
  const std::unique_ptr<OobSetup> setup = OobSetup::open(context, true, code, 1);
  if (setup == nullptr) return code;
  oob::UpdateRequest request;
  if (!read_options(context, request, false, code)) return code;
  if (baseline) request.options.baseline = &*baseline;
  return deliver(context, oob::resume_updates(setup->fleet(), context.arguments().value("resume"), request));
}

}  // namespace

std::vector<Option> firmware_update_options() {
  const std::string section = "Update";
  const oob::UpdateOptions standard;
  return {
      {.name = "image-file", .value = "FILE", .help = "the image to install", .hint = Hint::file, .section = section},
      {.name = "image-uri",
       .value = "URI",
       .help = "where the BMC fetches the image (SimpleUpdate)",
       .section = section},
      {.name = "component",
       .value = "COMPONENT",
       .help = "component to update, as listed; patterns with * and ?",
       .fallback = "what the image contains",
       .section = section},
      {.name = "expect",
       .value = "VERSION",
       .help = "the version that must be read afterwards",
       .fallback = "any other than before",
       .section = section},
      {.name = "apply-time",
       .value = "WHEN",
       .help = "when the BMC applies the image",
       .choices = {{"immediate", "at once"}, {"on-reset", "at the next reset: ends as staged"}},
       .section = section},
      {.name = "rollback-image",
       .value = "FILE",
       .help = "image to install if the update is proven to have failed",
       .hint = Hint::file,
       .section = section},
      {.name = "batch",
       .value = "N",
       .help = "machines at the same time, of different racks",
       .fallback = "1",
       .section = section},
      {.name = "force",
       .help = "also on machines that are powered on, or for a component that is not updateable",
       .section = section},
      {.name = "deadline",
       .value = "TIME",
       .help = "deadline per machine; nothing is sent after it",
       .fallback = to_text(standard.deadline),
       .section = section},
      {.name = "quiet-time",
       .value = "TIME",
       .help = "how long a BMC must answer with the old version before that counts",
       .fallback = to_text(standard.quiet),
       .section = section},
      {.name = "poll",
       .value = "TIME",
       .help = "time between two reads of a task or a version",
       .fallback = to_text(standard.look_every),
       .section = section},
      {.name = "open", .help = "list incomplete updates of the journal; needs no cluster file", .section = section},
      {.name = "resume",
       .value = "ID",
       .help = "continue an incomplete update; an image that may have been sent is not sent again",
       .section = section},
  };
}

Exit list_open_updates(Context& context) {
  oob::SystemClock clock;
  const std::string path = oob_journal_path(oob_state_folder(context));
  const Result<std::unique_ptr<oob::Journal>> journal = oob::open_journal(path, user_at_host(context.io()), clock);
  if (!journal.ok()) return context.failed(journal.error());
  const Result<std::vector<oob::OpenUpdate>> open = oob::open_updates(**journal);
  if (!open.ok()) return context.failed(open.error());
  return context.deliver(oob::open_updates_document(*open));
}

Exit run_firmware_update(Context& context, const std::optional<oob::FirmwareBaseline>& baseline) {
  if (context.arguments().has("resume")) return resume(context, baseline);
  if (context.arguments().word(2).empty())
    return context.usage_error("missing HOSTS", {"name the machines, or give all", usage_of(context.command())});
  Exit code = Exit::ok;
  oob::UpdateRequest request;
  if (!read_options(context, request, true, code)) return code;
  if (baseline) request.options.baseline = &*baseline;
  const std::unique_ptr<OobSetup> setup = OobSetup::open(context, true, code, 1);
  if (setup == nullptr) return code;
  request.targets = select_with_bmc(context, *setup);
  if (const std::optional<Exit> stop = setup->permit(context, oob::kFirmwareVerb, request.targets, kDeviceLimit))
    return *stop;
  if (setup->terms().dry_run) return preview(context, *setup, setup->fleet(), request);
  Result<oob::UpdateReport> report = Error{};
  {
    OobProgress line(context);
    request.progress = [&line](std::uint32_t finished, std::uint32_t total) {
      line.show(fmt::format("{} of {} machines", finished, total));
    };
    report = oob::run_updates(setup->fleet(), request);
  }
  return deliver(context, report);
}

}  // namespace weft::cli
