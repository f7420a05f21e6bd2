// weft twin sweep: one operation for all combinations of some options' values.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "cli/twin/variants.h"

namespace weft::cli {
namespace {

constexpr std::size_t kMaxPoints = 10'000;

struct Axis {
  std::string option;
  bool is_switch = false;
  std::vector<std::string> values;
};

// "spares=0,2,4". Empty after reporting what is wrong.
std::optional<Axis> read_axis(OptionReader& reader, const std::string& text) {
  const std::size_t equals = text.find('=');
  Axis axis;
  axis.option = trim(std::string_view(text).substr(0, equals));
  if (equals == std::string::npos || axis.option.empty()) {
    reader.bad("over", fmt::format("`{}` is not OPTION=VALUE,VALUE,...", text), "for example: --over spares=0,2,4");
    return std::nullopt;
  }
  std::vector<std::string> names = {"cluster"};
  for (const Option& option : twin_input_options()) {
    if (option.name == "seed") continue;
    names.push_back(option.name);
    if (option.name == axis.option) axis.is_switch = option.value.empty();
  }
  if (std::find(names.begin(), names.end(), axis.option) == names.end()) {
    reader.bad("over", fmt::format("`{}` is not an option that can vary", axis.option), "one of " + listed(names));
    return std::nullopt;
  }
  for (const std::string_view part : split(std::string_view(text).substr(equals + 1), ',')) {
    std::string value(trim(part));
    const bool again = std::find(axis.values.begin(), axis.values.end(), value) != axis.values.end();
    if (value.empty() || again || (axis.is_switch && value != "yes" && value != "no")) {
      reader.bad("over", again           ? fmt::format("{}: `{}` is given twice", axis.option, value)
                         : value.empty() ? fmt::format("{}: a value is empty", axis.option)
                                         : fmt::format("{}: `{}` is not yes or no", axis.option, value));
      return std::nullopt;
    }
    axis.values.push_back(std::move(value));
  }
  return axis;
}

std::optional<std::vector<Axis>> read_axes(OptionReader& reader) {
  std::vector<Axis> axes;
  std::size_t points = 1;
  for (const std::string& text : reader.arguments().values("over")) {
    std::optional<Axis> axis = read_axis(reader, text);
    if (!axis) return std::nullopt;
    const auto same = [&](const Axis& other) { return other.option == axis->option; };
    if (std::any_of(axes.begin(), axes.end(), same)) {
      reader.bad("over", fmt::format("{} is given twice", axis->option));
      return std::nullopt;
    }
    points *= axis->values.size();
    axes.push_back(*std::move(axis));
    if (points <= kMaxPoints) continue;
    reader.bad("over", fmt::format("more than {} points", kMaxPoints));
    return std::nullopt;
  }
  if (!axes.empty()) return axes;
  reader.fail("no option to vary: give --over", "for example: --over spares=0,2,4,8");
  return std::nullopt;
}

// The point `index` of the grid; the last axis is the quickest.
VariantLine point_line(const std::vector<Axis>& axes, std::size_t index) {
  VariantLine line;
  line.point.resize(axes.size());
  for (std::size_t a = axes.size(); a-- > 0;) {
    line.point[a] = axes[a].values[index % axes[a].values.size()];
    index /= axes[a].values.size();
  }
  for (std::size_t a = 0; a < axes.size(); ++a) {
    line.name += fmt::format("{}{}={}", a == 0 ? "" : " ", axes[a].option, line.point[a]);
    if (!axes[a].is_switch) {
      line.words.push_back("--" + axes[a].option);
      line.words.push_back(line.point[a]);
    } else if (line.point[a] == "yes") {
      line.words.push_back("--" + axes[a].option);
    } else {
      line.without.insert(axes[a].option);
    }
  }
  return line;
}

Exit run_twin_sweep(Context& context) {
  OptionReader options(context.arguments());
  const std::optional<std::vector<Axis>> axes = read_axes(options);
  if (!axes) return context.usage_error(options.problem(), {options.hint()});
  std::size_t points = 1;
  std::vector<std::string> names;
  names.reserve(axes->size());
  for (const Axis& axis : *axes) {
    points *= axis.values.size();
    names.push_back(axis.option);
  }
  VariantReader reader(context);
  for (std::size_t i = 0; i < points; ++i) {
    if (const std::optional<Exit> exit = reader.read(point_line(*axes, i))) return *exit;
  }
  return reader.run(
      [&](const twin::Comparison& comparison, bool all) { return twin::sweep_document(comparison, names, all); });
}

}  // namespace

Command twin_sweep_command() {
  Command command;
  command.name = "twin sweep";
  command.summary = "Simulate an operation for all combinations of values";
  command.usage = "[CLUSTER] --over OPTION=VALUE,VALUE,... [OPTIONS]";
  command.description = {
      "OPTION is one of `weft twin run`, or cluster for cluster files; a switch is yes or no. Several --over give the "
      "cross product. All points run with the same seeds, so that points on one cluster meet the same faults. A point "
      "is marked as the best one only if its paired difference to the second best one is distinguishable from 0."};
  command.examples = {
      {"weft twin sweep cluster.yaml --over spares=0,2,4,8 --over interval=5m,10m,30m", "Spares and checkpoints"},
      {"weft twin sweep cluster.yaml --over fault-rate=0.5,1,2,4 --seeds 20 -o csv", "How ETTR depends on the faults"}};
  command.arguments = twin_arguments();
  command.options = {
      {.name = "over", .value = "OPTION=VALUES", .help = "an option with comma-separated values", .repeatable = true}};
  for (const Option& option : variant_options()) command.options.push_back(option);
  command.run = run_twin_sweep;
  return command;
}

}  // namespace weft::cli
