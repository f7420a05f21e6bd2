// Grafana dashboards as data: panels laid out in rows, each with its unit and its alert threshold. Uses the classic
// JSON model, supported by Grafana 9 and later.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/value.h"
#include "render/monitoring/watch.h"

namespace weft::render::watch {

struct Query {
  std::string expr;
  std::string legend{};
};

struct Panel {
  std::string title;
  std::string type;  // timeseries, stat, table, bargauge
  std::string unit;  // Grafana's name: percent, Bps, celsius
  std::vector<Query> queries;
  // Threshold above which it turns red; with `below`, under which it turns red.
  bool limited = false;
  double limit = 0;
  bool below = false;
  int width = 12;
  int height = 8;
  std::string description{};
};

class Dashboard {
 public:
  Dashboard(std::string uid, std::string title) : uid_(std::move(uid)), title_(std::move(title)) {}

  void row(std::string title);
  void add(Panel panel);
  // A variable with the values of a label: $name in queries, multi-value, all by default.
  void variable(std::string name, std::string label, std::string metric);
  [[nodiscard]] Value value() const;

 private:
  std::string uid_;
  std::string title_;
  Value panels_ = Value::list();
  Value variables_ = Value::list();
  int next_id_ = 1;
  int x_ = 0;
  int y_ = 0;
  int line_height_ = 0;
};

[[nodiscard]] Dashboard overview_dashboard(const Watch& watch);
[[nodiscard]] Dashboard gpu_dashboard(const Watch& watch);
[[nodiscard]] Dashboard fabric_dashboard(const Watch& watch, model::FabricKind fabric);  // backend and frontend
[[nodiscard]] Dashboard storage_dashboard(const Watch& watch);
[[nodiscard]] Dashboard oob_dashboard(const Watch& watch);
[[nodiscard]] Dashboard jobs_dashboard(const Watch& watch);
void add_rdma_panels(const Watch& watch, model::FabricKind fabric, Dashboard& out);

}  // namespace weft::render::watch
