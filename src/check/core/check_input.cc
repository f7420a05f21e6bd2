#include "check/core/check_input.h"

#include <fmt/format.h>

#include "base/check.h"
#include "check/core/check_analyses.h"
#include "check/core/rule.h"

namespace weft::check {

CheckInput::CheckInput(const model::Cluster* cluster, const config::ConfigSet& config, const Sources& sources,
                       bool live)
    : cluster_(cluster), config_(config), sources_(sources), live_(live), analyses_(std::make_unique<Analyses>()) {}

CheckInput::~CheckInput() = default;

const model::Cluster& CheckInput::cluster() const {
  CHECK(cluster_ != nullptr, "a rule that needs the cluster ran without one");
  return *cluster_;
}

Finding& Report::add(std::string subject, const SourceLocation& place, std::string message) {
  CHECK(rule_ != nullptr, "a finding was added outside of a rule");
  Finding finding;
  finding.rule = rule_;
  finding.severity = rule_->severity;
  finding.message = std::move(message);
  finding.subject = std::move(subject);
  finding.place = place;
  findings_.push_back(std::move(finding));
  return findings_.back();
}

// FNV-1a, 64 bits (Fowler, Noll, Vo): simple and identical on every platform; not a cryptographic hash.
std::string fingerprint(const Finding& finding) {
  std::uint64_t hash = 0xCBF29CE484222325U;
  const auto mix = [&hash](std::string_view text) {
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
    hash = (hash ^ 0xFFU) * 0x100000001B3U;  // so that "a","bc" and "ab","c" differ
  };
  mix(finding.rule == nullptr ? std::string_view() : finding.rule->id);
  mix(finding.subject);
  mix(finding.message);
  return fmt::format("{:016x}", hash);
}

}  // namespace weft::check
