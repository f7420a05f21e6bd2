// Bytes as a runbook, parsed, planned on an example cluster and described. Any input must yield a plan or a list of
// diagnostics; a runbook that parses is planned or rejected with a reason; the same bytes give the same digest.
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/check.h"
#include "base/file.h"
#include "base/test_places.h"
#include "model/load.h"
#include "oob/rescue/plan.h"

namespace weft::oob {
namespace {

struct Site {
  std::unique_ptr<model::Loaded> loaded;
  std::optional<Inventory> inventory;
  std::unique_ptr<RescueHosts> hosts;
};

const Site& pod16() {
  static const Site site = [] {
    Site made;
    const auto text = read_file(source_dir() + "/examples/pod16.yaml");
    CHECK(text.ok(), "the example is there");
    made.loaded = model::load_cluster_text("pod16.yaml", text.value_or(""));
    CHECK(made.loaded->cluster != nullptr, "the example compiles");
    Diagnostics diagnostics;
    made.inventory = make_inventory(*made.loaded->cluster, diagnostics);
    CHECK(made.inventory.has_value(), "the example has an inventory");
    made.hosts = std::make_unique<RescueHosts>(*made.loaded->cluster, *made.inventory);
    return made;
  }();
  return site;
}

// Parameters without a default get a value that often fits.
std::map<std::string, std::string> settings_for(const Runbook& book) {
  std::map<std::string, std::string> settings;
  for (const RunbookParameter& parameter : book.parameters) {
    if (parameter.fallback) continue;
    const bool text = parameter.kind == RunbookKind::text || parameter.kind == RunbookKind::pattern;
    settings[parameter.name] = parameter.kind == RunbookKind::duration ? "5m"
                               : parameter.kind == RunbookKind::number ? "22"
                               : text                                  ? "x"
                                                                       : "be-train-u001-leaf3";
  }
  return settings;
}

void run_runbook(const std::string& text) {
  Sources sources;
  Diagnostics diagnostics;
  const std::optional<Runbook> book = read_runbook(sources, sources.add("runbook.yaml", text), diagnostics);
  CHECK(book.has_value() != diagnostics.has_errors(), "a file that cannot be read says why");
  (void)render_all(diagnostics, sources, false);
  if (!book) return;
  const RescueHosts& hosts = *pod16().hosts;
  const std::map<std::string, std::string> settings = settings_for(*book);
  const std::optional<RescuePlan> plan = make_rescue_plan(*book, hosts, settings, diagnostics);
  CHECK(plan.has_value() != diagnostics.has_errors(), "a runbook that cannot be planned says why");
  (void)render_all(diagnostics, sources, false);
  if (!plan) return;
  (void)write(rescue_plan_document(*plan, hosts), {.format = OutputFormat::json});
  const std::optional<RescuePlan> again = make_rescue_plan(*book, hosts, settings, diagnostics);
  CHECK(again.has_value() && again->digest == plan->digest, "the same file gives the same plan");
}

}  // namespace
}  // namespace weft::oob

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 16384) return 0;
  weft::oob::run_runbook(std::string(data, data + size));
  return 0;
}
