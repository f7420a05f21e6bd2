// Links from reports, merged and compared with the cabling plan. Internal to check/.
#pragma once

#include <vector>

#include "check/live/internal.h"

namespace weft::check {

// A link from a report. Ends are ordered by the plan's ids, so the reports from both ends are equal.
struct LiveLink {
  LiveEnd a;
  LiveEnd b;
  bool from_a = false;  // reported by a's own device
  bool from_b = false;
  SourceLocation place;        // the first report
  SourceLocation other_place;  // the other end's report, if any
  std::int64_t rate_mbps = 0;
  bool dropped = false;  // superseded by another report of the same port
  bool told = false;     // already part of a difference
};

class LiveWiring {
 public:
  explicit LiveWiring(const LiveContext& parts);
  void compare();

 private:
  void add_lldp(const config::LldpReport& report);
  void add_host_neighbors();
  void add_infiniband(const config::IbFabric& fabric);
  void add(LiveEnd local, LiveEnd remote, const SourceLocation& place, bool both, std::int64_t rate_mbps);
  void infer(LiveEnd& unknown, const LiveEnd& known) const;
  void merge();
  void drop_contradictions();

  void classify_link(std::size_t index);
  void check_planned(std::size_t index);
  void judge_half(LiveLink& link, const LiveEnd& known, const LiveEnd& other);
  bool find_swap(std::size_t index);
  void judge_rate(const LiveLink& link);
  void check_cables();
  void report_missing(const model::Cable& cable);
  void note_inferred_ports() const;
  void check_silent_group(const model::DeviceGroup& group);

  [[nodiscard]] bool reported(model::DeviceId device) const { return report_[model::index_of(device)].known(); }
  [[nodiscard]] bool is_planned(const LiveLink& link) const;
  [[nodiscard]] std::string end_text(const LiveEnd& end) const;
  [[nodiscard]] LiveKind kind_of(const LiveLink& link) const;
  LiveDifference& add_difference(LiveKind kind, const LiveLink& link, const LiveEnd& about);
  [[nodiscard]] bool could_be_missed(const model::Cable& cable) const;

  const LiveContext& parts_;
  const model::Cluster& cluster_;
  std::vector<LiveLink> links_;
  std::vector<std::uint32_t> at_;       // link of each port + 1; 0: none
  std::vector<SourceLocation> report_;  // by device: start of its neighbor list, if it sent one
  std::vector<bool> touched_;           // by port: mentioned in a report
  std::vector<bool> seen_;              // by device: mentioned in some report
  std::vector<bool> awaited_;           // by device: a reporting device has a cable to it
};

}  // namespace weft::check
