// Computes a FailureAnalysis: evaluates every failure domain of every kind with a LossMeter and records the worst of
// each kind. Internal to check/.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "check/failures/failure_analysis.h"

namespace weft::check {

class FailureSurvey {
 public:
  FailureSurvey(const model::Cluster& cluster, FailureAnalysis& out);
  void run();

 private:
  using Devices = std::vector<model::DeviceId>;
  // One kind of failure, during evaluation of its domains.
  struct FailureQuery {
    Failure failure;
    bool first = true;
  };
  static constexpr std::int32_t kMember = -2;  // in role_: control plane member; otherwise a storage system, or -1

  void find_control();
  void find_storage();
  void find_power();
  void find_weakness(model::FabricKind fabric);
  void find_uplinks(const design::FabricGraph& graph, std::uint32_t node, FabricWeakness& out) const;

  void site_failures();
  void feed_failures();
  void rack_failures();
  void pdu_failures();
  void supply_failures();
  void switch_failures(model::FabricKind fabric);
  void cable_failures(model::FabricKind fabric);
  void server_failures();
  void controller_failures();
  void manager_failures();

  design::Loss evaluate(FailureQuery& query, const std::string& name, const Devices& failed,
                        const std::vector<model::CableId>& cut = {});
  void record(FailureQuery query);
  [[nodiscard]] static FailureQuery make_query(std::string kind, std::optional<model::FabricKind> fabric = std::nullopt,
                                               bool single = true);

  const model::Cluster& cluster_;
  FailureAnalysis& out_;
  design::LossMeter meter_;
  std::vector<std::int32_t> role_;
};

}  // namespace weft::check
