#include "render/monitoring/scrape.h"

#include <fmt/format.h>

namespace weft::render::watch {
namespace {

Labels server_labels(const Watch& watch, model::DeviceId id, const PoolPlan& pool) {
  return {{"instance", watch.cluster().name_of(id)},
          {"pool", pool.name()},
          {"rack", watch.rack_name(id)},
          {"unit", watch.unit_name(id)}};
}

// Series of an interface get the fabric implied by its name.
Value fabric_from_device() {
  Value rules = Value::list();
  const std::pair<const char*, const char*> kNames[] = {
      {"(mlx5_)?be[0-9]+[a-z]?", "backend"}, {"(mlx5_)?sto[0-9]+", "storage"}, {"fe[0-9]+|bond-fe", "frontend"}};
  for (const auto& [regex, fabric] : kNames) {
    rules.add(Value::map({{"source_labels", Value::list({"device"})},
                          {"regex", regex},
                          {"target_label", "fabric"},
                          {"replacement", fabric}}));
  }
  return rules;
}

template <class Each>
void each_server(const PoolPlan& pool, Each each) {
  for (std::uint32_t i = 0; i < pool.group->count; ++i)
    each(static_cast<model::DeviceId>(model::index_of(pool.group->first) + i), i);
}

void add_server_jobs(const Watch& watch, std::vector<ScrapeJob>& out) {
  ScrapeJob node{.name = "node", .config = Value::map({{"metric_relabel_configs", fabric_from_device()}})};
  ScrapeJob dcgm{.name = "dcgm"};
  for (const PoolPlan& pool : watch.plan().pools()) {
    each_server(pool, [&](model::DeviceId id, std::uint32_t) {
      const Ipv4 address = watch.plan().frontend_address(id);
      if (address == Ipv4{}) return;
      const Labels labels = server_labels(watch, id, pool);
      node.targets.add(with_port(address, kNodeExporterPort), labels);
      if (pool.has_gpus() && watch.cluster().spec().operations->gpu_metrics.value) {
        dcgm.targets.add(with_port(address, kDcgmExporterPort), labels);
      }
    });
  }
  out.push_back(std::move(node));
  out.push_back(std::move(dcgm));
}

void add_storage_job(const Watch& watch, std::vector<ScrapeJob>& out) {
  ScrapeJob job{.name = "storage", .config = Value::map({{"metric_relabel_configs", fabric_from_device()}})};
  for (const PoolPlan& pool : watch.plan().pools()) {
    if (pool.spec->role.value != model::PoolRole::storage || watch.storage_bridge() == model::kNone<model::DeviceId>)
      continue;
    each_server(pool, [&](model::DeviceId id, std::uint32_t) {
      const Ipv4 address = first_address(watch.cluster(), id, model::FabricKind::storage);
      if (address == Ipv4{} || watch.plan().frontend_address(id) != Ipv4{}) return;
      Labels labels = server_labels(watch, id, pool);
      labels.emplace_back("fabric", "storage");
      job.targets.add(with_port(address, kNodeExporterPort), labels);
    });
  }
  if (job.targets.empty()) return;
  job.config["proxy_url"] =
      "http://" + with_port(watch.plan().frontend_address(watch.storage_bridge()), kScrapeProxyPort);
  out.push_back(std::move(job));
}

void add_control_jobs(const Watch& watch, std::vector<ScrapeJob>& out) {
  const bool services = !watch.cluster().spec().services->empty();
  ScrapeJob slurm{.name = "slurm", .config = Value::map({{"scrape_interval", "30s"}, {"scrape_timeout", "30s"}})};
  ScrapeJob haproxy{.name = "haproxy"};
  ScrapeJob self{.name = "monitoring"};
  for (const model::DeviceId id : watch.stations()) {
    const Ipv4 address = watch.plan().frontend_address(id);
    const Labels labels = {{"instance", watch.cluster().name_of(id)}, {"rack", watch.rack_name(id)}};
    if (watch.plan().has_slurm()) slurm.targets.add(with_port(address, kSlurmExporterPort), labels);
    if (services) haproxy.targets.add(with_port(address, kHaproxyMetricsPort), labels);
    self.targets.add(with_port(address, kPrometheusPort), labels);
    self.targets.add(with_port(address, kAlertmanagerPort), labels);
  }
  for (ScrapeJob* job : {&slurm, &haproxy, &self}) {
    if (!job->targets.empty()) out.push_back(std::move(*job));
  }
}

// Services of kube-state-metrics, found through the API server. The credentials are a file.
void add_kubernetes_job(const Watch& watch, std::vector<ScrapeJob>& out) {
  if (!watch.plan().has_kubernetes()) return;
  Value discovery = Value::map({{"role", "endpoints"},
                                {"kubeconfig_file", "/etc/prometheus/kubeconfig"},
                                {"namespaces", Value::map({{"names", Value::list({kMonitoringSpace})}})}});
  Value relabel = Value::list(
      {Value::map({{"source_labels", Value::list({"__meta_kubernetes_service_label_app_kubernetes_io_name"})},
                   {"regex", "kube-state-metrics"},
                   {"action", "keep"}}),
       Value::map({{"source_labels", Value::list({"__meta_kubernetes_endpoint_port_name"})},
                   {"regex", "http.*"},
                   {"action", "keep"}})});
  ScrapeJob job{.name = "kube-state-metrics",
                .config = Value::map({{"honor_labels", true},
                                      {"kubernetes_sd_configs", Value::list({std::move(discovery)})},
                                      {"relabel_configs", std::move(relabel)}})};
  out.push_back(std::move(job));
}

// One server on the fabric queries all of its switches (infiniband-exporter calls ibqueryerrors).
void add_infiniband_job(const Watch& watch, std::vector<ScrapeJob>& out) {
  ScrapeJob job{.name = "infiniband", .config = Value::map({{"scrape_interval", "60s"}, {"scrape_timeout", "50s"}})};
  for (const FabricWatch& fabric : watch.fabrics()) {
    if (!fabric.present || fabric.ethernet) continue;
    for (const PoolPlan& pool : watch.plan().pools()) {
      const model::DeviceId id = pool.group->first;
      const Ipv4 address = watch.plan().frontend_address(id);
      if (address == Ipv4{} || first_address(watch.cluster(), id, fabric.kind) == Ipv4{}) continue;
      // The exporter of the storage fabric listens one port higher, beside that of the backend.
      const int port = kInfinibandExporterPort + (fabric.kind == model::FabricKind::storage ? 1 : 0);
      job.targets.add(with_port(address, port), {{"instance", watch.cluster().name_of(id)},
                                                 {"fabric", std::string(model::to_text(fabric.kind))}});
      break;
    }
  }
  if (!job.targets.empty()) out.push_back(std::move(job));
}

}  // namespace

void TargetFile::add(const std::string& target, const Labels& labels) {
  Value map = Value::map();
  for (const auto& [name, value] : labels) {
    if (!value.empty()) map.put(name, value);
  }
  if (count_ > 0) lines_ += ",\n";
  lines_ += write_json_line(Value::map({{"targets", Value::list({target})}, {"labels", std::move(map)}}));
  ++count_;
}

std::string with_port(Ipv4 address, int port) { return fmt::format("{}:{}", to_text(address), port); }

Value ask_through(std::string_view exporter) {
  return Value::list({Value::map({{"source_labels", Value::list({"__address__"})}, {"target_label", "__param_target"}}),
                      Value::map({{"target_label", "__address__"}, {"replacement", exporter}})});
}

std::vector<ScrapeJob> scrape_jobs(const Watch& watch) {
  std::vector<ScrapeJob> out;
  add_server_jobs(watch, out);
  add_storage_job(watch, out);
  add_control_jobs(watch, out);
  add_kubernetes_job(watch, out);
  add_infiniband_job(watch, out);
  add_probe_jobs(watch, out);
  add_switch_jobs(watch, out);
  add_power_jobs(watch, out);
  return out;
}

}  // namespace weft::render::watch
