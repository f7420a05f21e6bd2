// weft show: the views of a compiled cluster.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "base/file.h"
#include "base/utf8.h"
#include "cli/design/price_file.h"
#include "cli/design/yaml_json.h"
#include "cli/framework/context.h"
#include "cli/framework/default_cluster.h"
#include "cli/framework/suggestions.h"
#include "design/bom.h"
#include "design/checklist.h"
#include "design/cluster_page.h"
#include "design/pictures.h"
#include "design/sizing.h"
#include "design/views.h"
#include "model/yaml_file.h"

namespace weft::cli {
namespace {

using MaybeFabric = std::optional<model::FabricKind>;

// One of `document` and `picture`, or neither for the view that run_show handles itself.
struct View {
  const char* name;
  const char* help;
  Document (*document)(const model::Cluster&, MaybeFabric) = nullptr;
  std::string (*picture)(const model::Cluster&) = nullptr;
  bool by_fabric = false;
};

template <Document (*Make)(const model::Cluster&)>
Document whole(const model::Cluster& cluster, MaybeFabric /*fabric*/) {
  return Make(cluster);
}

template <model::FabricKind Fabric>
std::string drawn(const model::Cluster& cluster) {
  return design::fabric_svg(cluster, Fabric);
}

constexpr const char* kEffective = "effective";
constexpr const char* kBom = "bom";
constexpr const char* kPage = "page";

const std::vector<View>& views() {
  static const std::vector<View> all = {
      {"summary", "summary of the cluster (the default)", whole<design::summary_view>},
      {kEffective, "the cluster file with all defaults filled in"},
      {"racks", "racks with their load and power", whole<design::racks_view>},
      {"nodes", "servers with rack, pool and addresses", whole<design::nodes_view>},
      {"switches", "switches with tier, rack and ports", design::switches_view, nullptr, true},
      {"cables", "one row per link: both ends, cable, length, speed", design::cables_view, nullptr, true},
      {"ports", "one row per cabled port", design::ports_view, nullptr, true},
      {"addresses", "one row per address", design::addresses_view, nullptr, true},
      {"subnets", "the IP plan", whole<design::subnets_view>},
      {"domains", "failure domains: devices that fail together", whole<design::failure_domains_view>},
      {kBom, "bill of materials, in purchase order (--prices)"},
      {"storage", "storage throughput compared with the demand of the GPUs", whole<design::storage_view>},
      {"vf", "virtual functions per pool", whole<design::vf_view>},
      {"mig", "MIG partitions of the GPUs", whole<design::mig_view>},
      {"svg-racks", "diagram of the racks", nullptr, design::racks_svg},
      {"svg-backend", "diagram of the backend", nullptr, drawn<model::FabricKind::backend>},
      {"svg-storage", "diagram of the storage network", nullptr, drawn<model::FabricKind::storage>},
      {"svg-frontend", "diagram of the frontend", nullptr, drawn<model::FabricKind::frontend>},
      {"svg-oob", "diagram of the out-of-band network", nullptr, drawn<model::FabricKind::oob>},
      {kPage, "web page with all diagrams: zoom, search, cables of a device", nullptr, design::cluster_page},
  };
  return all;
}

const View* find_view(std::string_view name) {
  for (const View& view : views()) {
    if (view.name == name) return &view;
  }
  return nullptr;
}

std::vector<std::string> view_names(bool (*wanted)(const View&)) {
  std::vector<std::string> names;
  for (const View& view : views()) {
    if (wanted(view)) names.emplace_back(view.name);
  }
  return names;
}

std::vector<std::string> fabric_names() {
  std::vector<std::string> names;
  names.reserve(model::kFabrics);
  for (int i = 0; i < model::kFabrics; ++i) names.emplace_back(model::to_text(static_cast<model::FabricKind>(i)));
  return names;
}

MaybeFabric chosen_fabric(const Arguments& arguments) {
  const std::vector<std::string> names = fabric_names();
  const auto found = std::find(names.begin(), names.end(), arguments.value("fabric"));
  if (found == names.end()) return std::nullopt;
  return static_cast<model::FabricKind>(found - names.begin());
}

struct Request {
  const View* view = nullptr;  // null: usage error, already reported
  std::string path;
};

std::string suggest_view(const std::string& word) {
  const std::vector<std::string> names = view_names([](const View&) { return true; });
  return did_you_mean(word, {names.begin(), names.end()});
}

// [VIEW] CLUSTER, also with one missing or both swapped.
Request read_words(Context& context) {
  const Arguments& arguments = context.arguments();
  const std::string first = arguments.word(0);
  const std::string second = arguments.word(1);
  const bool effective = arguments.has("effective");
  const View* view = find_view(first);
  const View* preset = find_view(effective ? kEffective : "summary");
  if (arguments.words().empty() || (arguments.words().size() == 1 && view != nullptr)) {
    const std::string path = context.default_cluster();
    if (!path.empty()) return {view != nullptr ? view : preset, path};
    context.missing_cluster(view != nullptr ? fmt::format("usage: weft show {} CLUSTER", first)
                                            : usage_of(context.command()));
    return {};
  }
  if (arguments.words().size() == 1) {
    const std::string hint = suggest_view(first);
    const bool is_word = !std::filesystem::exists(first) && !names_cluster_file(first);
    if (is_word || (!hint.empty() && !std::filesystem::exists(first))) {
      const std::vector<std::string> names = view_names([](const View&) { return true; });
      context.usage_error(fmt::format("{} is neither a file nor a view", in_backticks(first)),
                          {hint, suggest_file(first), hint.empty() ? "views: " + listed(names) : ""});
      return {};
    }
    return {preset, first};
  }
  if (view == nullptr && find_view(second) != nullptr) {
    context.usage_error("the view must precede the cluster file",
                        {fmt::format("weft show {} {}", second, printable(first, 60))});
    return {};
  }
  if (view == nullptr) {
    const std::vector<std::string> names = view_names([](const View&) { return true; });
    const bool exchanged = names_cluster_file(first) && !names_cluster_file(second);
    const std::string& given = exchanged ? second : first;
    context.usage_error("unknown view " + in_backticks(given),
                        {suggest_view(given), exchanged ? fmt::format("weft show VIEW {}", printable(first, 60)) : "",
                         "views: " + listed(names)});
    return {};
  }
  if (effective && view->name != std::string_view(kEffective)) {
    context.usage_error(fmt::format("--effective cannot be combined with the view `{}`", view->name));
    return {};
  }
  return {view, second};
}

// Whether the options fit the view; reports if not.
bool options_fit(Context& context, const View& view) {
  const Arguments& arguments = context.arguments();
  if (arguments.has("fabric") && !view.by_fabric) {
    const std::vector<std::string> names = view_names([](const View& each) { return each.by_fabric; });
    context.usage_error(fmt::format("--fabric does not apply to `{}`", view.name),
                        {"it applies to the views " + listed(names)});
    return false;
  }
  if (arguments.has("prices") && view.name != std::string_view(kBom)) {
    context.usage_error(fmt::format("--prices applies to the view `bom`, not to `{}`", view.name));
    return false;
  }
  if (arguments.has("output") && view.picture != nullptr) {
    context.usage_error(fmt::format("`{}` is {}: --output does not apply", view.name,
                                    view.name == std::string_view(kPage) ? "a web page" : "an SVG diagram"),
                        {"to write it to a file: -f FILE"});
    return false;
  }
  if (view.name == std::string_view(kEffective) && context.output_format() == OutputFormat::csv) {
    context.usage_error("`effective` is nested data: --output must be yaml, json or ndjson, not csv");
    return false;
  }
  const std::vector<std::string>& catalogs = arguments.values("catalog");
  const auto stdin_uses =
      std::count(catalogs.begin(), catalogs.end(), "-") + (arguments.value("prices") == "-" ? 1 : 0);
  if (stdin_uses > 1 || (stdin_uses == 1 && arguments.words().back() == "-")) {
    context.usage_error("only one file can be read from standard input");
    return false;
  }
  return true;
}

Exit show_effective(Context& context, const model::Cluster& cluster) {
  const std::string text = model::write_effective(cluster.spec());
  const OutputFormat format = context.output_format();
  if (format != OutputFormat::json && format != OutputFormat::ndjson) return context.deliver(text);
  Sources sources;
  Diagnostics diagnostics;
  const std::optional<YamlNode> root = parse_yaml(sources, sources.add("effective", text), diagnostics);
  CHECK(root.has_value(), "the effective file is not YAML");
  return context.deliver(yaml_to_json(*root, format == OutputFormat::ndjson));
}

Exit run_show(Context& context) {
  const Request request = read_words(context);
  if (request.view == nullptr || !options_fit(context, *request.view)) return Exit::usage;
  const View& view = *request.view;
  const std::unique_ptr<model::Loaded> loaded = context.open_cluster(request.path);
  std::optional<design::Prices> prices;
  if (context.arguments().has("prices") && loaded->catalog != nullptr) {
    prices = read_price_file(*loaded, context.arguments().value("prices"));
  }
  if (!context.report(*loaded)) return Exit::usage;
  CHECK(loaded->cluster != nullptr, "no cluster and no diagnostic");
  const model::Cluster& cluster = *loaded->cluster;
  if (view.picture != nullptr) return context.deliver(view.picture(cluster));
  if (view.document != nullptr) return context.deliver(view.document(cluster, chosen_fabric(context.arguments())));
  if (view.name == std::string_view(kEffective)) return show_effective(context, cluster);
  const design::Prices* price_list = prices.has_value() ? &*prices : nullptr;
  return context.deliver(design::bom_view(cluster, design::make_bom(cluster, price_list), price_list));
}

Exit run_checklist(Context& context) {
  const std::unique_ptr<model::Loaded> loaded = context.open_cluster(context.arguments().word(0));
  if (!context.report(*loaded)) return Exit::usage;
  CHECK(loaded->cluster != nullptr, "no cluster and no diagnostic");
  const std::vector<design::ChecklistItem> items = design::checklist(*loaded->cluster);
  const bool strict = context.arguments().has("strict");
  const bool all_done = std::none_of(items.begin(), items.end(), [&](const design::ChecklistItem& item) {
    return item.state == design::ItemState::not_done || (strict && item.state == design::ItemState::unknown);
  });
  return context.deliver(design::checklist_view(*loaded->cluster), all_done ? Exit::ok : Exit::findings);
}

}  // namespace

Command show_command() {
  Command command;
  command.name = "show";
  command.summary = "Show a compiled cluster: summary, racks, cables, addresses";
  command.usage = "[VIEW] CLUSTER [OPTIONS]";
  command.description = {
      "Reads the cluster file, fills in defaults, validates and compiles it. Errors in the file are reported on "
      "standard error with line and column; the exit code is then 2."};
  command.examples = {
      {"weft show cluster.yaml", "Summary of the cluster"},
      {"weft show cables cluster.yaml --fabric backend -o csv -f cables.csv", "Backend cables for a spreadsheet"},
      {"weft show bom cluster.yaml --prices prices.yaml", "Bill of materials with prices and lead times"},
      {"weft show effective cluster.yaml | less", "The cluster file with all defaults filled in"},
      {"weft show svg-racks cluster.yaml -f racks.svg", "A diagram of the racks"},
      {"weft show page cluster.yaml -f cluster.html", "All diagrams as a web page, with zoom and search"},
      {"weft show nodes cluster.yaml -o json | jq -r '.nodes[].host'", "Host names for a script"},
  };
  Argument view = {
      .name = "VIEW", .help = "the view [default: summary]", .hint = Hint::file, .required = false, .open = true};
  for (const View& each : views()) view.choices.push_back({each.name, each.help});
  // VIEW is optional, so read_words() counts the arguments and finds the default cluster file.
  command.arguments = {view, optional_cluster_argument()};
  command.options = {
      output_option(),
      {.name = "fabric",
       .value = "FABRIC",
       .help =
           "only this network; for the views " + listed(view_names([](const View& each) { return each.by_fabric; })),
       .choices = choices_named(fabric_names())},
      {.name = "prices", .value = "FILE", .help = "price file for `bom`; see `weft schema prices`", .hint = Hint::file},
      {.name = "effective", .help = "the same as the view `effective`"},
      catalog_option(),
      file_option(),
  };
  command.run = run_show;
  return command;
}

Command checklist_command() {
  Command command;
  command.name = "checklist";
  command.summary = "Check a cluster file against the five-phase deployment plan";
  command.usage = "CLUSTER [OPTIONS]";
  command.description = {
      "Design, procurement, infrastructure, platform, observability: each item is done, not done, or cannot be "
      "determined from the file, with the reason. State what the file cannot show under `checklist:` in the file.",
      "Exit code 1 if an item is `not done`. Items that are `unknown` do not count, unless --strict is given: then the "
      "exit code is 0 only if every item is done."};
  command.examples = {
      {"weft checklist cluster.yaml", "Show the state of each item"},
      {"weft checklist cluster.yaml --strict -o json", "For a script: succeeds once every item is done"}};
  command.arguments = {cluster_argument()};
  command.options = {output_option(),
                     {.name = "strict", .help = "exit code 1 for items that are `unknown`, too"},
                     catalog_option(),
                     file_option()};
  command.run = run_checklist;
  return command;
}

}  // namespace weft::cli
