#include "oob/audit/advisories.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "base/text.h"
#include "base/utf8.h"
#include "base/wildcard.h"
#include "base/yaml.h"

namespace weft::oob {
namespace {

constexpr std::size_t kMaxText = 400;     // bytes of one value
constexpr std::size_t kMaxVersion = 128;  // bytes of a version; longer text is not a version
// A number this much longer than the other at the same position is a date or a build, not a version.
constexpr std::size_t kOtherKindDigits = 4;

// ---- versions ----

struct VersionPart {
  bool number = false;
  std::string text;  // digits without leading zeros, or letters in lower case
};

std::vector<VersionPart> parts_of(std::string_view text) {
  std::vector<VersionPart> parts;
  for (std::size_t i = 0; i < text.size();) {
    if (!is_digit(text[i]) && !is_letter(text[i])) {
      ++i;
      continue;
    }
    VersionPart part;
    part.number = is_digit(text[i]);
    for (; i < text.size() && (part.number ? is_digit(text[i]) : is_letter(text[i])); ++i)
      part.text += to_lower(text[i]);
    if (part.number) part.text.erase(0, std::min(part.text.find_first_not_of('0'), part.text.size() - 1));
    parts.push_back(std::move(part));
  }
  // Text before the first number is a name: "v", "BMC", "iDRAC".
  const auto first = std::find_if(parts.begin(), parts.end(), [](const VersionPart& part) { return part.number; });
  parts.erase(parts.begin(), first);
  return parts;
}

std::strong_ordering compare_numbers(const std::string& a, const std::string& b) {
  if (a.size() != b.size()) return a.size() <=> b.size();
  return a.compare(b) <=> 0;
}

// How a version compares with the same version followed by `rest`.
std::optional<std::strong_ordering> against_longer(const VersionPart& rest) {
  constexpr std::array<std::string_view, 6> kBefore = {"rc", "alpha", "beta", "pre", "dev", "preview"};
  if (rest.number) return std::strong_ordering::less;
  if (std::find(kBefore.begin(), kBefore.end(), rest.text) != kBefore.end()) return std::strong_ordering::greater;
  if (rest.text.size() == 1) return std::strong_ordering::less;  // "1.0a" is a fix of "1.0"
  return std::nullopt;
}

std::strong_ordering reversed(std::strong_ordering order) { return 0 <=> order; }

// ---- reading ----

class AdvisoryReader {
 public:
  explicit AdvisoryReader(Diagnostics& diagnostics) : diagnostics_(diagnostics) {}

  std::vector<Advisory> read(const YamlNode& root) {
    std::vector<Advisory> all;
    if (!is_mapping(root, {"weft_advisories", "advisories"})) return all;
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
  // Reports all problems, including unknown keys.
  bool is_mapping(const YamlNode& node, const std::vector<std::string_view>& keys) {
    if (node.kind != YamlNode::Kind::mapping) {
      diagnostics_.error(node.place, fmt::format("a mapping was expected, not {}", describe_kind(node)));
      return false;
    }
    for (const YamlEntry& entry : node.entries) {
      if (std::find(keys.begin(), keys.end(), entry.key) != keys.end()) continue;
      diagnostics_.error(entry.key_place, "unknown key " + in_backticks(entry.key), did_you_mean(entry.key, keys),
                         entry.key.size());
    }
    return true;
  }

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
    if (!is_mapping(node, {"id", "title", "severity", "source", "affects"})) return advisory;
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
    if (!is_mapping(node, {"manufacturer", "model", "firmware", "with"})) return affected;
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
    if (!is_mapping(node, {"from", "below", "at"})) return range;
    for (const auto& [key, value] : {std::pair{"from", &range.from}, {"below", &range.below}, {"at", &range.at}}) {
      *value = optional(node, key);
      if (value->empty() || !parts_of(*value).empty()) continue;
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

std::optional<std::strong_ordering> compare_versions(std::string_view a, std::string_view b) {
  if (a.size() > kMaxVersion || b.size() > kMaxVersion) return std::nullopt;
  const std::vector<VersionPart> left = parts_of(a);
  const std::vector<VersionPart> right = parts_of(b);
  if (left.empty() || right.empty()) return std::nullopt;
  const auto size_of = [](const VersionPart& part) { return part.text.size(); };
  const std::size_t apart =
      std::max(size_of(left[0]), size_of(right[0])) - std::min(size_of(left[0]), size_of(right[0]));
  if (apart >= kOtherKindDigits) return std::nullopt;
  for (std::size_t i = 0; i < std::min(left.size(), right.size()); ++i) {
    if (left[i].number != right[i].number) {
      // "1.0-rc1" against "1.0.1": the word is compared as at the end.
      const VersionPart& word = left[i].number ? right[i] : left[i];
      const auto order = against_longer(word);
      if (!order || *order == std::strong_ordering::less) return std::nullopt;
      return left[i].number ? std::strong_ordering::greater : std::strong_ordering::less;
    }
    const std::strong_ordering order =
        left[i].number ? compare_numbers(left[i].text, right[i].text) : left[i].text.compare(right[i].text) <=> 0;
    if (order != 0) return order;
  }
  if (left.size() == right.size()) return std::strong_ordering::equal;
  if (left.size() < right.size()) return against_longer(right[left.size()]);
  const auto order = against_longer(left[right.size()]);
  if (!order) return std::nullopt;
  return reversed(*order);
}

Verdict judge(const Advisory& advisory, const BmcIdentity& identity, std::optional<bool> ipmi) {
  Verdict worst = Verdict::not_affected;
  for (const Affected& affected : advisory.affects) worst = std::max(worst, judge_one(affected, identity, ipmi));
  return worst;
}

}  // namespace weft::oob
