// Input of the search: the goal, the limits, and what may be chosen.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/value.h"
#include "design/designer.h"
#include "design/prices.h"
#include "explore/candidate.h"
#include "explore/goal.h"
#include "model/catalog.h"
#include "twin/fault_model.h"

namespace weft::explore {

struct Limits {
  std::optional<Power> power;  // of the whole site, without cooling
  std::optional<Money> cost;   // needs prices

  [[nodiscard]] bool allow(const Figures& figures) const {
    return (!power || figures.power <= *power) && (!cost || (figures.cost && *figures.cost <= *cost));
  }
};

struct Question {
  Goal goal;
  // A job file with a training section; its nodes, parallelism, batch and steps are what is searched.
  Value job;
  std::optional<std::int64_t> batch_tokens;  // per step; none: see usual_batch()
  Limits limits;
  std::shared_ptr<const model::Catalog> catalog;
  const design::Prices* prices = nullptr;
  design::DesignRequest request;  // what is not searched
  std::vector<std::string> gpus;  // empty: every GPU of the catalog that a server has
  std::vector<model::NetworkKind> networks = {model::NetworkKind::ethernet, model::NetworkKind::infiniband};
  std::vector<Ratio> oversubscriptions = {Ratio{1, 1}, Ratio{2, 1}};
  std::vector<model::DataClass> data = {model::DataClass::good, model::DataClass::better, model::DataClass::best};
  std::optional<Duration> interval;    // between checkpoints; none: searched
  std::optional<std::int64_t> spares;  // none: searched
  twin::FaultModel faults;
  double fault_scale = 1;
  Duration simulated = Duration(std::int64_t{30} * 86'400 * 1'000'000'000);  // at most, of each run
  std::vector<std::uint64_t> seeds = {1, 2, 3};
  unsigned threads = 1;  // does not change the result
};

// Tokens per step that published runs of models of this size used.
[[nodiscard]] std::int64_t usual_batch(double parameters);

}  // namespace weft::explore
