// Scrape jobs and their targets. The network of a target determines which Prometheus scrapes it: the one on the control
// plane for the frontend, the one on the jump hosts for the out-of-band network; there is no route between the two.
#pragma once

#include <string>
#include <vector>

#include "base/value.h"
#include "render/monitoring/alerts.h"

namespace weft::render::watch {

// Content of a file_sd file: one target per line, so that a change appears as one line.
class TargetFile {
 public:
  // `labels` with an empty value are omitted.
  void add(const std::string& target, const Labels& labels);
  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] std::string text() const { return "[\n" + lines_ + "\n]\n"; }

 private:
  std::string lines_;
  std::size_t count_ = 0;
};

struct ScrapeJob {
  std::string name;
  Value config = Value::map();  // of scrape_configs, without job_name and file_sd_configs
  TargetFile targets{};
  bool lifeline = false;  // scraped from the jump hosts
};

[[nodiscard]] std::vector<ScrapeJob> scrape_jobs(const Watch& watch);
void add_switch_jobs(const Watch& watch, std::vector<ScrapeJob>& out);
void add_power_jobs(const Watch& watch, std::vector<ScrapeJob>& out);
void add_probe_jobs(const Watch& watch, std::vector<ScrapeJob>& out);

// An exporter that queries other devices: the target becomes a parameter, `exporter` the address.
[[nodiscard]] Value ask_through(std::string_view exporter);
[[nodiscard]] std::string with_port(Ipv4 address, int port);

[[nodiscard]] std::string snmp_modules(const Watch& watch);
[[nodiscard]] std::string blackbox_modules(const Watch& watch);
[[nodiscard]] std::string dcgm_counters(const Watch& watch);

}  // namespace weft::render::watch
