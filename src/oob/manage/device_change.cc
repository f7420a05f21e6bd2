#include "oob/manage/device_change.h"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace weft::oob {

std::string_view to_text(Ending ending) {
  switch (ending) {
    case Ending::done:
      return "done";
    case Ending::already:
      return "already so";
    case Ending::refused:
      return "refused";
    case Ending::not_done:
      return "not done";
    case Ending::would:
      return "would do";
    case Ending::unknown:
      break;
  }
  return "unknown";
}

Status ActionLog::write(Phase phase, Value detail) {
  if (dry_run_) return {};
  JournalEntry entry;
  entry.operation = operation_;
  entry.phase = phase;
  entry.verb = verb_;
  entry.device = device_;
  entry.detail = std::move(detail);
  return journal_.append(std::move(entry));
}

Status ActionLog::intent(Value detail) { return write(Phase::intent, std::move(detail)); }
Status ActionLog::seen(Value detail) { return write(Phase::seen, std::move(detail)); }

// One operation: begin entry, devices, end entry.
class ActionRunner {
 public:
  using Step = std::function<DeviceEnding(OpenBmc& open, std::uint32_t target, ActionLog& log)>;

  ActionRunner(const Fleet& fleet, const ActionOrder& order, std::span<const std::uint32_t> targets)
      : fleet_(fleet), order_(order), targets_(targets), operation_(new_operation_id()), endings_(targets.size()) {}

  Result<std::vector<DeviceEnding>> run(const Step& step) {
    const Status begun = begin();
    if (!begun.ok()) return begun.error();
    for (std::size_t i = 0; i < targets_.size(); ++i) {
      endings_[i] = {targets_[i], Ending::not_done, "skipped: the command was stopped"};
    }
    (void)fan_out_over(fleet_, targets_.size(), [&](std::uint32_t i) { endings_[i] = one(targets_[i], step); });
    const Status ended = end();
    if (!ended.ok()) {  // the results are still reported
      for (DeviceEnding& ending : endings_)
        ending.what += fmt::format("; the journal could not be closed: {}", ended.error().message);
    }
    return std::move(endings_);
  }

 private:
  Status begin() {
    std::vector<std::uint32_t> all(targets_.begin(), targets_.end());
    ActionLog log(fleet_.journal, operation_, order_.verb, {}, order_.dry_run);
    return log.write(Phase::begin, Value::map({{"devices", fleet_.inventory.fold(all)},
                                               {"count", all.size()},
                                               {"reason", order_.reason},
                                               {"what", order_.detail}}));
  }

  Status end() {
    std::array<std::size_t, 6> counts{};
    for (const DeviceEnding& ending : endings_) ++counts[static_cast<std::size_t>(ending.ending)];
    Value detail = Value::map();
    for (std::size_t i = 0; i < counts.size(); ++i) {
      if (counts[i] > 0) detail.put(std::string(to_text(static_cast<Ending>(i))), Value(counts[i]));
    }
    ActionLog log(fleet_.journal, operation_, order_.verb, {}, order_.dry_run);
    return log.write(Phase::end, std::move(detail));
  }

  DeviceEnding one(std::uint32_t target, const Step& step) {
    ActionLog log(fleet_.journal, operation_, order_.verb, fleet_.inventory.targets()[target].name, order_.dry_run);
    DeviceEnding ending;
    Result<OpenBmc> open = open_patiently(fleet_, target);
    if (open.ok()) {
      ending = step(*open, target, log);
      open->bmc.reset();
    } else {
      ending = {target, Ending::not_done, reason_of(open.error())};
    }
    ending.target = target;
    const Status written =
        log.write(Phase::outcome, Value::map({{"ending", to_text(ending.ending)}, {"what", ending.what}}));
    if (!written.ok()) ending.what += fmt::format("; not in the journal: {}", written.error().message);
    return ending;
  }

  const Fleet& fleet_;
  const ActionOrder& order_;
  std::span<const std::uint32_t> targets_;
  std::string operation_;
  std::vector<DeviceEnding> endings_;
};

Result<std::vector<DeviceEnding>> run_action(
    const Fleet& fleet, const ActionOrder& order, std::span<const std::uint32_t> targets,
    const std::function<DeviceEnding(OpenBmc& open, std::uint32_t target, ActionLog& log)>& step) {
  return ActionRunner(fleet, order, targets).run(step);
}

Document endings_document(const Inventory& inventory, std::string_view kind, const std::vector<DeviceEnding>& endings) {
  constexpr std::array kWorstFirst = {Ending::unknown, Ending::not_done, Ending::refused,
                                      Ending::would,   Ending::done,     Ending::already};
  Document document;
  document.kind = kind;
  TableSection table{"endings", "", {}, {}};
  table.columns = {{.key = "ending", .title = "Ending"},
                   {.key = "devices", .title = "Devices"},
                   {.key = "count", .title = "Count", .align = Column::Align::right},
                   {.key = "what", .title = "Details"}};
  for (const Ending ending : kWorstFirst) {
    Consolidation reasons;
    for (const DeviceEnding& device : endings) {
      if (device.ending == ending) reasons.add(device.what, device.target);
    }
    for (const FoldedRow& row : reasons.rows()) {
      table.rows.push_back(
          {to_text(ending), inventory.fold(row.targets), static_cast<std::uint64_t>(row.targets.size()), row.key});
    }
  }
  document.sections.emplace_back(std::move(table));
  return document;
}

}  // namespace weft::oob
