// The process of `weft serve`: opens the journal, the engine and the socket, then turns the control loop until a signal
// ends it. Jobs run on without it; the next start finds them again. Signals: SIGTERM and SIGINT stop it, SIGHUP reads
// the access file and the certificate again.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/cluster.h"
#include "serve/daemon/access.h"
#include "serve/daemon/etcd_candidacy.h"
#include "serve/daemon/kube_engine.h"
#include "serve/daemon/lease_options.h"
#include "serve/daemon/slurm_engine.h"

namespace weft::serve {

enum class Engine : std::uint8_t { local, slurm, kubernetes };

struct ServeOptions {
  std::shared_ptr<const model::Cluster> cluster;
  std::string version;
  std::string state_directory;   // created if missing; its parent must exist
  std::string engine_directory;  // of the running jobs and their logs; "": STATE/engine
  std::optional<EtcdSettings>
      etcd;  // the journal is there, and several servers share it; nullopt: in the state directory
  std::string socket_path;
  std::vector<std::string> helper;  // see world::LocalOptions
  Engine engine = Engine::local;
  bool watch = false;               // the engine schedules; of engines slurm and kubernetes
  std::vector<std::string> enable;  // STAGE or STAGE:GROUP, in watch mode
  bool cgroups = true;              // of engine local
  LeaseSettings leases;             // with two engines; `engine` is the first of them
  SlurmSettings slurm;
  KubeSettings kube;
  AccessSettings access;
  std::optional<OobConfig> oob;                  // device operations through the API; nullopt: none
  Duration start_timeout{};                      // 0: the controller's default
  std::function<void(std::string_view)> log;     // one line: what an operator should know
  std::function<void(std::string_view)> events;  // one line per journal record; null: none
  std::function<void()> ready;                   // called once it accepts connections; null: none
};

// Returns when it was stopped by a signal, or with the error that prevents it from starting or continuing.
[[nodiscard]] Status run_server(const ServeOptions& options);

}  // namespace weft::serve
