#include "oob/firmware/baseline.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/text.h"
#include "base/utf8.h"
#include "base/wildcard.h"
#include "base/yaml.h"
#include "oob/bmc/version.h"
#include "oob/bmc/yaml_mapping.h"

namespace weft::oob {
namespace {

constexpr std::size_t kMaxText = 400;  // bytes of one value

class BaselineReader {
 public:
  explicit BaselineReader(Diagnostics& diagnostics) : diagnostics_(diagnostics) {}

  FirmwareBaseline read(const YamlNode& root) {
    FirmwareBaseline baseline;
    if (!check_mapping(root, {"weft_firmware", "components", "advisories"}, diagnostics_)) return baseline;
    const YamlNode* version = root.find("weft_firmware");
    if (version == nullptr || version->scalar != "1")
      diagnostics_.error(version == nullptr ? root.place : version->place, "`weft_firmware: 1` is missing");
    for (const YamlNode* item : items_of(root, "components")) baseline.components.push_back(read_wanted(*item));
    std::set<std::string> seen;
    for (const YamlNode* item : items_of(root, "advisories")) {
      baseline.advisories.push_back(read_advisory(*item));
      const std::string& id = baseline.advisories.back().id;
      if (!id.empty() && !seen.insert(id).second)
        diagnostics_.error(item->place, "the id " + in_backticks(id) + " is defined twice");
    }
    return baseline;
  }

 private:
  std::vector<const YamlNode*> items_of(const YamlNode& parent, std::string_view key) {
    std::vector<const YamlNode*> items;
    const YamlNode* list = parent.find(key);
    if (list == nullptr || list->kind == YamlNode::Kind::null) return items;
    if (list->kind != YamlNode::Kind::sequence) {
      diagnostics_.error(list->place, fmt::format("`{}` must be a list", key));
      return items;
    }
    items.reserve(list->items.size());
    for (const YamlNode& item : list->items) items.push_back(&item);
    return items;
  }

  std::string text(const YamlNode& parent, std::string_view key, bool required = false) {
    const YamlNode* node = parent.find(key);
    if (node == nullptr) {
      if (required) diagnostics_.error(parent.place, fmt::format("`{}` is missing", key));
      return {};
    }
    if (node->kind == YamlNode::Kind::scalar && !node->scalar.empty() && node->scalar.size() <= kMaxText)
      return node->scalar;
    diagnostics_.error(node->place, fmt::format("`{}` must be a text of 1 to {} bytes", key, kMaxText));
    return {};
  }

  std::string version(const YamlNode& parent, std::string_view key) {
    std::string given = text(parent, key);
    if (!given.empty() && std::none_of(given.begin(), given.end(), is_digit))
      diagnostics_.error(parent.find(key)->place, "a version must contain digits");
    return given;
  }

  ComponentPattern pattern(const YamlNode& node) {
    return {text(node, "vendor"), text(node, "model"), text(node, "component", true)};
  }

  WantedVersion read_wanted(const YamlNode& node) {
    WantedVersion wanted;
    if (!check_mapping(node, {"vendor", "model", "component", "wanted", "minimum"}, diagnostics_)) return wanted;
    wanted.what = pattern(node);
    wanted.wanted = text(node, "wanted");
    wanted.minimum = version(node, "minimum");
    if (wanted.wanted.empty() == wanted.minimum.empty())
      diagnostics_.error(node.place, "a component needs one of `wanted` and `minimum`");
    return wanted;
  }

  FirmwareAdvisory read_advisory(const YamlNode& node) {
    FirmwareAdvisory advisory;
    if (!check_mapping(node, {"id", "title", "severity", "url", "affects"}, diagnostics_)) return advisory;
    advisory.id = text(node, "id", true);
    advisory.title = text(node, "title", true);
    advisory.url = text(node, "url", true);
    const std::string severity = text(node, "severity", true);
    if (severity == "error") advisory.severity = Severity::error;
    if (severity == "note") advisory.severity = Severity::note;
    if (!severity.empty() && severity != "error" && severity != "warning" && severity != "note")
      diagnostics_.error(node.find("severity")->place,
                         "severity is error, warning or note, not " + in_backticks(severity));
    for (const YamlNode* item : items_of(node, "affects")) advisory.affects.push_back(read_affected(*item));
    if (advisory.affects.empty()) diagnostics_.error(node.place, "`affects` must be a list of what is affected");
    return advisory;
  }

  AffectedVersions read_affected(const YamlNode& node) {
    AffectedVersions affected;
    if (!check_mapping(node, {"vendor", "model", "component", "versions"}, diagnostics_)) return affected;
    affected.what = pattern(node);
    const YamlNode* versions = node.find("versions");
    if (versions == nullptr) {
      diagnostics_.error(node.place, "`versions` is missing", "a range, `any` or `unknown`");
      return affected;
    }
    if (versions->kind == YamlNode::Kind::scalar && (versions->scalar == "any" || versions->scalar == "unknown")) {
      affected.any = versions->scalar == "any";
      affected.unknown = !affected.any;
      return affected;
    }
    if (!check_mapping(*versions, {"from", "below", "at"}, diagnostics_)) return affected;
    affected.from = version(*versions, "from");
    affected.below = version(*versions, "below");
    affected.at = version(*versions, "at");
    const bool has_range = !affected.from.empty() || !affected.below.empty();
    if (has_range == !affected.at.empty())
      diagnostics_.error(versions->place, "a range needs `from`, `below` or both; a single version only `at`");
    return affected;
  }

  Diagnostics& diagnostics_;
};

bool fits(const std::string& pattern, const std::string& text) {
  return pattern.empty() || wildcard_match(pattern, text, LetterCase::ignored);
}

enum class Fit : std::uint8_t { no, maybe, yes };

Fit in_range(const AffectedVersions& affected, const std::string& version) {
  if (affected.any) return Fit::yes;
  if (affected.unknown) return Fit::maybe;
  if (!affected.at.empty()) {
    const auto order = compare_versions(version, affected.at);
    return !order ? Fit::maybe : *order == 0 ? Fit::yes : Fit::no;
  }
  Fit fit = Fit::yes;
  for (const auto& [bound, is_lower] : {std::pair{&affected.from, true}, {&affected.below, false}}) {
    if (bound->empty()) continue;
    const auto order = compare_versions(version, *bound);
    if (!order) {
      fit = Fit::maybe;
    } else if (is_lower ? *order < 0 : *order >= 0) {
      return Fit::no;
    }
  }
  return fit;
}

std::optional<FirmwareFinding> judge_wanted(const WantedVersion& wanted, const std::string& version) {
  const bool exact = !wanted.wanted.empty();
  const std::string& expected = exact ? wanted.wanted : wanted.minimum;
  const std::string rule = exact ? "wanted" : "minimum";
  const auto order = compare_versions(version, expected);
  if (order && (exact ? *order == 0 : *order >= 0)) return std::nullopt;
  if (!order && !exact) {
    return FirmwareFinding{Severity::note, rule, "the order of its version and the minimum is not known", expected, {}};
  }
  return FirmwareFinding{
      Severity::warning, rule, exact ? "is not the wanted version" : "is below the minimum", expected, {}};
}

std::optional<FirmwareFinding> judge_advisory(const FirmwareAdvisory& advisory, const BmcIdentity& identity,
                                              const std::string& catalog_model, const FirmwareItem& item) {
  Fit fit = Fit::no;
  std::string fixed;
  for (const AffectedVersions& affected : advisory.affects) {
    if (!is_about(affected.what, identity, catalog_model, item)) continue;
    const Fit one = in_range(affected, item.version);
    if (one > fit) fixed = affected.below;
    fit = std::max(fit, one);
  }
  if (fit == Fit::no) return std::nullopt;
  const bool sure = fit == Fit::yes;
  return FirmwareFinding{sure ? advisory.severity : Severity::note, advisory.id,
                         sure ? advisory.title : "may apply, the version does not tell: " + advisory.title, fixed,
                         advisory.url};
}

}  // namespace

std::optional<FirmwareBaseline> read_baseline(const Sources& sources, FileId file, Diagnostics& diagnostics) {
  const std::size_t before = diagnostics.error_count();
  const std::optional<YamlNode> root = parse_yaml(sources, file, diagnostics);
  if (!root) return std::nullopt;
  FirmwareBaseline baseline = BaselineReader(diagnostics).read(*root);
  if (diagnostics.error_count() > before) return std::nullopt;
  return baseline;
}

bool is_about(const ComponentPattern& what, const BmcIdentity& identity, const std::string& catalog_model,
              const FirmwareItem& item) {
  const bool model = fits(what.model, identity.model) || fits(what.model, catalog_model);
  return model && fits(what.vendor, identity.manufacturer) && names_component(what.component, item);
}

std::string describe_pattern(const ComponentPattern& what) {
  std::string text = what.component.empty() ? "any component" : in_backticks(what.component);
  if (!what.vendor.empty() || !what.model.empty()) text += " of";
  if (!what.vendor.empty()) text += " " + in_backticks(what.vendor);
  if (!what.model.empty()) text += " " + in_backticks(what.model);
  return text;
}

bool names_component(const std::string& pattern, const FirmwareItem& item) {
  return fits(pattern, item.component) || fits(pattern, item.id) || fits(pattern, item.name);
}

bool is_running(const FirmwareItem& item) { return !item.previous && item.state != "Absent"; }

std::vector<FirmwareFinding> judge_firmware(const FirmwareBaseline& baseline, const BmcIdentity& identity,
                                            const std::string& catalog_model, const FirmwareItem& item) {
  std::vector<FirmwareFinding> findings;
  if (!is_running(item) || item.version.empty()) return findings;
  for (const WantedVersion& wanted : baseline.components) {
    if (!is_about(wanted.what, identity, catalog_model, item)) continue;
    if (auto finding = judge_wanted(wanted, item.version)) findings.push_back(*std::move(finding));
  }
  for (const FirmwareAdvisory& advisory : baseline.advisories) {
    if (auto finding = judge_advisory(advisory, identity, catalog_model, item)) findings.push_back(*std::move(finding));
  }
  return findings;
}

}  // namespace weft::oob
