#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "cli/design/findings.h"
#include "cli/framework/build_info.h"

namespace weft::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string dumped(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"; }

Json place_json(const SourceLocation& place, const Sources& sources) {
  if (!place.known()) return nullptr;
  return {{"file", sources.path(place.file)}, {"line", place.line}, {"column", place.column}};
}

Json finding_json(const check::Finding& finding, const Sources& sources) {
  Json json = {{"rule", finding.rule->id},
               {"severity", severity_text(finding.severity)},
               {"message", finding.message},
               {"subject", finding.subject},
               {"place", place_json(finding.place, sources)},
               {"fix", finding.fix.empty() ? std::string(finding.rule->fix) : finding.fix},
               {"fingerprint", check::fingerprint(finding)},
               {"related", Json::array()}};
  for (const check::Finding::Related& related : finding.related) {
    json["related"].push_back({{"text", related.text}, {"place", place_json(related.place, sources)}});
  }
  return json;
}

const char* sarif_level(Severity severity) {
  return severity == Severity::error ? "error" : severity == Severity::warning ? "warning" : "note";
}

// Relative references: characters other than RFC 3986's unreserved set and "/" are percent-encoded.
std::string uri_of(const std::string& path) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::string uri = path.starts_with("/") ? "file://" : "";
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                       c == '.' || c == '_' || c == '~' || c == '/';
    if (plain) {
      uri += c;
    } else {
      uri += '%';
      uri += kHex[byte >> 4U];
      uri += kHex[byte & 15U];
    }
  }
  return uri;
}

Json sarif_location(const SourceLocation& place, std::uint16_t length, const Sources& sources) {
  Json physical = {{"artifactLocation", {{"uri", uri_of(sources.path(place.file))}}}};
  if (place.line > 0) {
    physical["region"] = {{"startLine", place.line}, {"startColumn", std::max<int>(place.column, 1)}};
    if (length > 1) physical["region"]["endColumn"] = std::max<int>(place.column, 1) + length;
  }
  return {{"physicalLocation", std::move(physical)}};
}

Json sarif_rules() {
  Json rules = Json::array();
  for (const check::Rule& rule : check::all_rules()) {
    rules.push_back({{"id", rule.id},
                     {"shortDescription", {{"text", rule.title}}},
                     {"fullDescription", {{"text", rule.reason}}},
                     {"help", {{"text", std::string(rule.fix) + ". Source: " + std::string(rule.source)}}},
                     {"defaultConfiguration", {{"level", sarif_level(rule.severity)}}},
                     {"properties", {{"tags", Json::array({rule.id.substr(0, 2)})}}}});
  }
  return rules;
}

Json sarif_result(const check::Finding& finding, const Sources& sources, const std::string& reason) {
  const auto index = static_cast<std::size_t>(finding.rule - check::all_rules().data());
  Json result = {{"ruleId", finding.rule->id},
                 {"ruleIndex", index},
                 {"level", sarif_level(finding.severity)},
                 {"message", {{"text", finding.message}}},
                 {"partialFingerprints", {{"weft/v1", check::fingerprint(finding)}}}};
  Json location = finding.place.known() ? sarif_location(finding.place, finding.length, sources) : Json::object();
  if (!finding.subject.empty()) {
    location["logicalLocations"] = Json::array({{{"name", finding.subject}, {"kind", "resource"}}});
  }
  result["locations"] = Json::array({std::move(location)});
  Json related = Json::array();
  for (const check::Finding::Related& other : finding.related) {
    if (!other.place.known()) continue;
    Json entry = sarif_location(other.place, 1, sources);
    entry["id"] = related.size();
    entry["message"] = {{"text", other.text}};
    related.push_back(std::move(entry));
  }
  if (!related.empty()) result["relatedLocations"] = std::move(related);
  if (!reason.empty()) {
    result["suppressions"] = Json::array({{{"kind", "inSource"}, {"justification", reason}}});
  }
  return result;
}

}  // namespace

std::string findings_json(const FindingsContext& context) {
  const check::CheckResult& result = context.result;
  Json json = {{"schema_version", 1},
               {"kind", "findings"},
               {"summary",
                {{"errors", result.count(Severity::error)},
                 {"warnings", result.count(Severity::warning)},
                 {"notes", result.count(Severity::note)},
                 {"suppressed", result.suppressed.size()},
                 {"known", result.known},
                 {"rules_run", result.rules_run},
                 {"rules_passed_over", result.rules_passed_over}}},
               {"findings", Json::array()},
               {"suppressed", Json::array()}};
  if (context.live != nullptr) {
    const check::CableCount& cables = context.live->cables();
    json["live"] = {{"cables",
                     {{"planned", cables.planned},
                      {"matching", cables.matching},
                      {"certain", cables.certain},
                      {"differing", cables.differing},
                      {"missing", cables.missing},
                      {"not_reported", cables.not_reported}}},
                    {"notes", context.live->notes()}};
  }
  for (const check::Finding& finding : result.findings)
    json["findings"].push_back(finding_json(finding, context.sources));
  for (const check::Finding& finding : result.suppressed) {
    Json entry = finding_json(finding, context.sources);
    entry["reason"] = finding.fix;
    entry["fix"] = finding.rule->fix;
    json["suppressed"].push_back(std::move(entry));
  }
  return dumped(json);
}

std::string findings_sarif(const FindingsContext& context) {
  Json results = Json::array();
  for (const check::Finding& finding : context.result.findings) {
    results.push_back(sarif_result(finding, context.sources, {}));
  }
  for (const check::Finding& finding : context.result.suppressed) {
    results.push_back(sarif_result(finding, context.sources, finding.fix));
  }
  const Json driver = {{"name", "weft"},
                       {"version", build_info().version},
                       {"semanticVersion", build_info().version},
                       {"rules", sarif_rules()}};
  const Json run = {{"tool", {{"driver", driver}}}, {"columnKind", "utf16CodeUnits"}, {"results", std::move(results)}};
  return dumped({{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
                 {"version", "2.1.0"},
                 {"runs", Json::array({run})}});
}

std::string write_baseline(const check::CheckResult& result) {
  std::vector<std::pair<std::string, std::string>> entries;
  for (const check::Finding& finding : result.findings) {
    entries.emplace_back(check::fingerprint(finding),
                         std::string(finding.rule->id) + " " + finding.subject + ": " + finding.message);
  }
  std::sort(entries.begin(), entries.end());
  Json json = {{"schema_version", 1}, {"kind", "baseline"}, {"known", Json::object()}};
  for (const auto& [print, text] : entries) json["known"][print] = text;
  return dumped(json);
}

Result<std::set<std::string>> read_baseline(const std::string& path) {
  const Result<std::string> text = read_file(path);
  if (!text.ok()) return text.error();
  const Json json = Json::parse(*text, nullptr, false);
  const auto wrong = [&](const char* what) { return Error{ErrorCode::invalid_input, what, path}; };
  if (json.is_discarded()) return wrong("not JSON");
  if (!json.is_object() || json.value("kind", Json()) != "baseline") {
    return wrong("not a baseline: `weft check --write-baseline FILE` writes one");
  }
  if (json.value("schema_version", Json()) != 1)
    return wrong(
        "the baseline was written by an incompatible version of weft; write it again with `weft check --write-baseline "
        "FILE`");
  if (!json.contains("known") || !json["known"].is_object()) return wrong("`known` is missing");
  std::set<std::string> known;
  for (const auto& [print, value] : json["known"].items()) known.insert(print);
  return known;
}

}  // namespace weft::cli
