// Links as reports show them, merged and held against the cabling plan. Internal to check/.
#pragma once

#include <vector>

#include "check/live/parts.h"

namespace weft::check {

// A link that somebody saw. Ends are in the order of the plan's ids, so that both reports of it give the same.
struct LiveLink {
  LiveEnd a;
  LiveEnd b;
  bool from_a = false;  // a's own device reports it
  bool from_b = false;
  SourceLocation place;        // the first report
  SourceLocation other_place;  // the other end's, where there is one
  std::int64_t rate_mbps = 0;
  bool dropped = false;  // another report of the same port counts for more
  bool told = false;     // already part of a difference
};

class LiveWiring {
 public:
  explicit LiveWiring(const LiveParts& parts);
  void compare();

 private:
  void add_lldp(const config::LldpReport& report);
  void add_host_neighbors();
  void add_infiniband(const config::IbFabric& fabric);
  void add(LiveEnd local, LiveEnd remote, const SourceLocation& place, bool both, std::int64_t rate_mbps);
  void infer(LiveEnd& unknown, const LiveEnd& known) const;
  void merge();
  void drop_contradictions();

  void judge(std::size_t index);
  void judge_planned(std::size_t index);
  void judge_half(LiveLink& link, const LiveEnd& known, const LiveEnd& other);
  bool judge_swap(std::size_t index);
  void judge_rate(const LiveLink& link);
  void judge_cables();
  void tell_missing(const model::Cable& cable);
  void judge_silent_group(const model::DeviceGroup& group);

  [[nodiscard]] bool reported(model::DeviceId device) const { return report_[model::index_of(device)].known(); }
  [[nodiscard]] bool is_planned(const LiveLink& link) const;
  [[nodiscard]] std::string end_text(const LiveEnd& end) const;
  [[nodiscard]] LiveKind kind_of(const LiveLink& link) const;
  LiveDifference& tell(LiveKind kind, const LiveLink& link, const LiveEnd& about);
  [[nodiscard]] bool could_be_missed(const model::Cable& cable) const;

  const LiveParts& parts_;
  const model::Cluster& cluster_;
  std::vector<LiveLink> links_;
  std::vector<std::uint32_t> at_;       // link of each port + 1; 0: none
  std::vector<SourceLocation> report_;  // by device: where its list of neighbours begins, if it handed one in
  std::vector<bool> touched_;           // by port: some report speaks of it
  std::vector<bool> seen_;              // by device: some report mentions it
  std::vector<bool> awaited_;           // by device: a device that reported has a cable to it
};

}  // namespace weft::check
