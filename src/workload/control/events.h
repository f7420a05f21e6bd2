// Collects the events of a state in order and computes the utilization of each medium. A helper for the control-plane
// states: it models capacities, not protocols.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "workload/result/life.h"

namespace weft::workload {

class StateBuilder {
 public:
  StateBuilder(int number, std::string name, SimTime start);
  // Capacity of the job's links to a medium, one direction, all servers together (bytes/s).
  void capacity(Medium medium, double bytes_per_second);

  struct Step {
    std::string what;
    std::string protocol;
    Medium medium = Medium::host;
    double seconds = 0;
    double bytes = 0;  // all servers together
    std::string detail;
  };
  // Starts when the previous event ends.
  void then(Step step);
  // Starts `after` seconds after the start of the previous event; the next event waits for both.
  void beside(Step step, double after);

  [[nodiscard]] LifeState finish(Medium main) const;

 private:
  void add(Step step, double start);

  LifeState state_;
  std::vector<Step> steps_;
  std::vector<double> starts_;
  std::array<double, kMedia> capacities_{};
  double now_ = 0;
};

// Capacity of these servers' links to a fabric, or of the head nodes' links if the servers have none. Bytes/s.
[[nodiscard]] double fabric_capacity(const model::Cluster& cluster, const std::vector<model::DeviceId>& hosts,
                                     model::FabricKind fabric);

}  // namespace weft::workload
