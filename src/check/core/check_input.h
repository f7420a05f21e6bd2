// The input of check rules, and the report that collects their findings. Analyses shared by several rules are computed
// on first use and cached.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "check/core/finding.h"
#include "config/config_set.h"
#include "model/cluster.h"

namespace weft::check {

class ClassTraces;      // qos/class_trace.h
class FailureAnalysis;  // failures/failure_analysis.h
class Lifeline;         // failures/lifeline.h
class Reachability;     // reach/reachability.h
class LiveComparison;   // live/comparison.h

class CheckInput {
 public:
  // `cluster` may be null: then only the given configuration is checked. All arguments must outlive this object.
  CheckInput(const model::Cluster* cluster, const config::ConfigSet& config, const Sources& sources, bool live);
  ~CheckInput();
  CheckInput(const CheckInput&) = delete;
  CheckInput& operator=(const CheckInput&) = delete;

  [[nodiscard]] bool has_cluster() const { return cluster_ != nullptr; }
  [[nodiscard]] const model::Cluster& cluster() const;
  [[nodiscard]] const model::Spec& spec() const { return cluster().spec(); }
  [[nodiscard]] const config::ConfigSet& config() const { return config_; }
  [[nodiscard]] const Sources& sources() const { return sources_; }
  [[nodiscard]] bool live() const { return live_; }  // also compare with the actual state

  [[nodiscard]] const ClassTraces& traces() const;
  [[nodiscard]] const FailureAnalysis& failures() const;
  [[nodiscard]] const Lifeline& lifeline() const;
  [[nodiscard]] const Reachability& reachability() const;
  [[nodiscard]] const LiveComparison& comparison() const;

 private:
  struct Analyses;
  const model::Cluster* cluster_;
  const config::ConfigSet& config_;
  const Sources& sources_;
  bool live_;
  std::unique_ptr<Analyses> analyses_;
};

// Collects findings. The checker sets it up for one rule at a time.
class Report {
 public:
  // Adds a finding of the current rule, with that rule's severity. The reference is valid until the next call.
  Finding& add(std::string subject, const SourceLocation& place, std::string message);
  // The same, located at the value in the cluster file (or at `otherwise` if the value is a default).
  // NOLINTBEGIN(performance-unnecessary-value-param): they are moved on
  template <class T>
  Finding& at(const model::Sourced<T>& given, const SourceLocation& otherwise, std::string subject,
              std::string message) {
    return add(std::move(subject), given.place.known() ? given.place : otherwise, std::move(message));
  }
  // NOLINTEND(performance-unnecessary-value-param)

  void begin(const Rule& rule) { rule_ = &rule; }
  [[nodiscard]] std::vector<Finding>& findings() { return findings_; }

 private:
  const Rule* rule_ = nullptr;
  std::vector<Finding> findings_;
};

}  // namespace weft::check
