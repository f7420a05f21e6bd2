#include "oob/audit/advisories.h"

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

// ---- reading ----

class AdvisoryReader {
 public:
  explicit AdvisoryReader(Diagnostics& diagnostics) : diagnostics_(diagnostics) {}

  std::vector<Advisory> read(const YamlNode& root) {
    std::vector<Advisory> all;
    if (!check_mapping(root, {"weft_advisories", "advisories"}, diagnostics_)) return all;
    const YamlNode* version = root.find("weft_advisories");
    if (version == nullptr || version->scalar != "1")
      diagnostics_.error(version == nullptr ? root.place : version->place, "`weft_advisories: 1` is missing");
    const YamlNode* list = root.find("advisories");
    if (list == nullptr || list->kind != YamlNode::Kind::sequence) {
      diagnostics_.error(list == nullptr ? root.place : list->place, "`advisories` must be a list");
      return all;
    }
    std::set<std::string> seen;
    all.reserve(list->items.size());
    for (const YamlNode& item : list->items) {
      Advisory advisory = read_one(item);
      if (!advisory.id.empty() && !seen.insert(advisory.id).second)
        diagnostics_.error(item.place, "the id " + in_backticks(advisory.id) + " is defined twice");
      all.push_back(std::move(advisory));
    }
    return all;
  }

 private:
  std::string text(const YamlNode& node, std::string_view name) {
    if (node.kind != YamlNode::Kind::scalar || node.scalar.empty() || node.scalar.size() > kMaxText) {
      diagnostics_.error(node.place, fmt::format("`{}` must be a text of 1 to {} bytes", name, kMaxText));
      return {};
    }
    return node.scalar;
  }

  std::string required(const YamlNode& parent, std::string_view key) {
    const YamlNode* node = parent.find(key);
    if (node != nullptr) return text(*node, key);
    diagnostics_.error(parent.place, fmt::format("`{}` is missing", key));
    return {};
  }

  std::string optional(const YamlNode& parent, std::string_view key) {
    const YamlNode* node = parent.find(key);
    return node == nullptr ? std::string() : text(*node, key);
  }

  Advisory read_one(const YamlNode& node) {
    Advisory advisory;
    if (!check_mapping(node, {"id", "title", "severity", "source", "affects"}, diagnostics_)) return advisory;
    advisory.id = required(node, "id");
    advisory.title = required(node, "title");
    advisory.source = required(node, "source");
    advisory.severity = severity_of(node);
    const YamlNode* affects = node.find("affects");
    if (affects == nullptr || affects->kind != YamlNode::Kind::sequence || affects->items.empty()) {
      diagnostics_.error(affects == nullptr ? node.place : affects->place,
                         "`affects` must be a list of what is affected");
      return advisory;
    }
    advisory.affects.reserve(affects->items.size());
    for (const YamlNode& item : affects->items) advisory.affects.push_back(read_affected(item));
    return advisory;
  }

  Severity severity_of(const YamlNode& node) {
    const std::string name = required(node, "severity");
    if (name == "error") return Severity::error;
    if (name == "note") return Severity::note;
    if (!name.empty() && name != "warning")
      diagnostics_.error(node.find("severity")->place, "severity is error, warning or note, not " + in_backticks(name));
    return Severity::warning;
  }

  Affected read_affected(const YamlNode& node) {
    Affected affected;
    if (!check_mapping(node, {"manufacturer", "model", "firmware", "with"}, diagnostics_)) return affected;
    if (const YamlNode* makers = node.find("manufacturer"); makers != nullptr) {
      if (makers->kind == YamlNode::Kind::sequence) {
        for (const YamlNode& item : makers->items) affected.manufacturers.push_back(text(item, "manufacturer"));
      } else {
        affected.manufacturers.push_back(text(*makers, "manufacturer"));
      }
    }
    if (affected.manufacturers.empty()) diagnostics_.error(node.place, "`manufacturer` is missing (\"*\" for all)");
    affected.model = optional(node, "model");
    const std::string with = optional(node, "with");
    affected.only_with_ipmi = with == "ipmi";
    if (!with.empty() && with != "ipmi")
      diagnostics_.error(node.find("with")->place, "`with` must be `ipmi`, not " + in_backticks(with));
    read_firmware(node, affected);
    return affected;
  }

  void read_firmware(const YamlNode& node, Affected& affected) {
    const YamlNode* firmware = node.find("firmware");
    if (firmware == nullptr) {
      diagnostics_.error(node.place, "`firmware` is missing", "a range, `any` or `unknown`");
      return;
    }
    if (firmware->kind == YamlNode::Kind::scalar && (firmware->scalar == "any" || firmware->scalar == "unknown")) {
      affected.scope = firmware->scalar == "any" ? FirmwareScope::any : FirmwareScope::unknown;
      return;
    }
    affected.scope = FirmwareScope::ranges;
    if (firmware->kind == YamlNode::Kind::sequence && !firmware->items.empty()) {
      for (const YamlNode& item : firmware->items) affected.ranges.push_back(read_range(item));
    } else {
      affected.ranges.push_back(read_range(*firmware));
    }
  }

  FirmwareRange read_range(const YamlNode& node) {
    FirmwareRange range;
    if (!check_mapping(node, {"from", "below", "at"}, diagnostics_)) return range;
    for (const auto& [key, value] : {std::pair{"from", &range.from}, {"below", &range.below}, {"at", &range.at}}) {
      *value = optional(node, key);
      if (value->empty() || std::any_of(value->begin(), value->end(), is_digit)) continue;
      diagnostics_.error(node.find(key)->place, "a version must contain digits");
    }
    if (node.entries.empty() || (!range.at.empty() && (!range.from.empty() || !range.below.empty())))
      diagnostics_.error(node.place, "a range needs `from`, `below` or both; a single version only `at`");
    return range;
  }

  Diagnostics& diagnostics_;
};

// ---- judging ----

Verdict in_range(const FirmwareRange& range, std::string_view firmware) {
  if (!range.at.empty()) {
    const auto order = compare_versions(firmware, range.at);
    if (!order) return Verdict::cannot_tell;
    return *order == 0 ? Verdict::affected : Verdict::not_affected;
  }
  Verdict verdict = Verdict::affected;
  if (!range.below.empty()) {
    const auto order = compare_versions(firmware, range.below);
    if (!order) verdict = Verdict::cannot_tell;
    if (order && *order >= 0) return Verdict::not_affected;
  }
  if (!range.from.empty()) {
    const auto order = compare_versions(firmware, range.from);
    if (!order) verdict = Verdict::cannot_tell;
    if (order && *order < 0) return Verdict::not_affected;
  }
  return verdict;
}

Verdict judge_one(const Affected& affected, const BmcIdentity& identity, std::optional<bool> ipmi) {
  Verdict verdict = Verdict::affected;
  const auto weaken = [&](Verdict other) { verdict = std::min(verdict, other); };
  const bool every_maker = affected.manufacturers == std::vector<std::string>{"*"};
  const auto is_maker = [&](const std::string& pattern) {
    return wildcard_match(pattern, identity.manufacturer, LetterCase::ignored);
  };
  if (!every_maker && identity.manufacturer.empty()) weaken(Verdict::cannot_tell);
  if (!every_maker && !identity.manufacturer.empty() &&
      std::none_of(affected.manufacturers.begin(), affected.manufacturers.end(), is_maker))
    return Verdict::not_affected;
  if (!affected.model.empty()) {
    if (identity.model.empty()) weaken(Verdict::cannot_tell);
    if (!identity.model.empty() && !wildcard_match(affected.model, identity.model, LetterCase::ignored))
      return Verdict::not_affected;
  }
  if (affected.only_with_ipmi && !ipmi) weaken(Verdict::cannot_tell);
  if (affected.only_with_ipmi && ipmi == false) return Verdict::not_affected;
  if (affected.scope == FirmwareScope::unknown) weaken(Verdict::cannot_tell);
  if (affected.scope == FirmwareScope::ranges) {
    Verdict best = Verdict::not_affected;
    for (const FirmwareRange& range : affected.ranges) best = std::max(best, in_range(range, identity.firmware));
    weaken(best);
  }
  return verdict;
}

}  // namespace

std::optional<std::vector<Advisory>> read_advisories(const Sources& sources, FileId file, Diagnostics& diagnostics) {
  const std::size_t before = diagnostics.error_count();
  const std::optional<YamlNode> root = parse_yaml(sources, file, diagnostics);
  if (!root) return std::nullopt;
  std::vector<Advisory> advisories = AdvisoryReader(diagnostics).read(*root);
  if (diagnostics.error_count() > before) return std::nullopt;
  return advisories;
}

Verdict judge(const Advisory& advisory, const BmcIdentity& identity, std::optional<bool> ipmi) {
  Verdict worst = Verdict::not_affected;
  for (const Affected& affected : advisory.affects) worst = std::max(worst, judge_one(affected, identity, ipmi));
  return worst;
}

}  // namespace weft::oob
