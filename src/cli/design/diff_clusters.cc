#include "cli/design/diff_clusters.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/file.h"
#include "base/human_format.h"
#include "base/text.h"
#include "inspect/cluster_diff.h"
#include "inspect/describe.h"
#include "inspect/diff_view.h"
#include "inspect/spec_diff.h"

namespace weft::cli {
namespace {

constexpr std::size_t kShownRows = 20;  // of a table; machine formats have all

}  // namespace

bool is_cluster_file(const std::string& path) {
  if (path == "-") return true;
  std::error_code failed;
  if (!std::filesystem::is_regular_file(path, failed)) return false;
  const Result<std::string> text = read_file(path);
  if (!text.ok()) return false;
  const auto has_key = [](std::string_view line) {
    for (const std::string_view key : {"weft", "\"weft\"", "'weft'"}) {
      if (line.starts_with(key) && trim(line.substr(key.size())).starts_with(':')) return true;
    }
    return false;
  };
  const std::string_view start = trim(*text);
  if (start.starts_with('{') && has_key(trim(start.substr(1)))) return true;  // JSON
  const std::vector<std::string_view> lines = split_lines(*text);
  return std::any_of(lines.begin(), lines.end(), has_key);  // not indented: a key of the top level
}

Exit run_diff_clusters(Context& context, const std::string& before_path, const std::string& after_path) {
  const Arguments& arguments = context.arguments();
  for (const char* option : {"target", "job", "set"}) {
    if (arguments.has(option)) {
      return context.usage_error(
          fmt::format("--{} does not apply to two cluster files", option),
          {"it selects rendered files: give a folder of `weft render` instead of the second file"});
    }
  }
  if (before_path == "-" && after_path == "-") {
    return context.usage_error("only one file can be read from standard input");
  }
  const std::unique_ptr<model::Loaded> before = context.open_cluster(before_path);
  const bool before_usable = context.report(*before);
  const std::unique_ptr<model::Loaded> after = context.open_cluster(after_path);
  if (!context.report(*after) || !before_usable) return Exit::usage;

  const inspect::ClusterDiff diff = inspect::compare_clusters(*before->cluster, *after->cluster);
  const std::vector<inspect::SettingChange> settings = inspect::compare_settings(*before, *after);
  const OutputFormat format = context.output_format();
  const bool for_people = format == OutputFormat::table || format == OutputFormat::wide;
  const inspect::DiffInput input{*before->cluster, *after->cluster, settings, diff};
  Document document = inspect::diff_document(input, for_people);
  if (for_people && !arguments.has("all")) inspect::limit_rows(document, kShownRows);
  const std::size_t addresses = inspect::renumbered(diff);
  if (addresses > 0) {
    context.note(
        fmt::format("warning: {} of existing devices CHANGE", grouped_plural(addresses, "address", "addresses")));
  }
  return context.deliver(document, settings.empty() && diff.empty() ? Exit::ok : Exit::findings);
}

}  // namespace weft::cli
