// The policy part of a cluster file: storage systems, scheduling, tenants, services, operations. See spec.h for the
// rest.
#pragma once

#include <string>
#include <vector>

#include "model/catalog.h"
#include "model/spec_choices.h"

namespace weft::model {

struct VolumeSpec {
  using IsRecord = void;
  SourceLocation place;
  Sourced<Name> name;
  Sourced<VolumePurpose> purpose{VolumePurpose::dataset};
  Sourced<Bytes> size;
  Sourced<std::int64_t> replicas{1};
  Sourced<std::string> replicate_to;  // another storage system
  Sourced<Duration> snapshots;
  Sourced<bool> read_only{false};
  Sourced<std::int64_t> files;  // approximate number of files
};

struct StorageSpec {
  using IsRecord = void;
  SourceLocation place;
  Sourced<Name> name;
  Sourced<StorageKind> kind{StorageKind::nvmeof};
  Sourced<StorageTier> tier{StorageTier::warm};
  Sourced<std::string> pool;
  Sourced<std::int64_t> targets;  // OSTs, namespaces; unset: one per server
  Sourced<std::int64_t> metadata_servers{0};
  Sourced<bool> metadata_striping{true};  // large directories are striped over the metadata servers
  Sourced<std::int64_t> stripe_count{8};
  Sourced<Bytes> stripe_size{Bytes(std::int64_t{1} << 20)};
  Sourced<ByteRate> read;  // whole system; unset: from the servers and their links
  Sourced<ByteRate> write;
  Sourced<Bytes> capacity;
  Sourced<Multipath> multipath{Multipath::active_standby};
  Sourced<StorageSecurity> security{StorageSecurity::tls};
  Sourced<std::string> provisioner;  // CSI driver that provisions its volumes; unset: the kind's usual one
  Sourced<std::vector<VolumeSpec>> volumes{std::vector<VolumeSpec>{}};
};

struct ControlPlaneSpec {
  using IsRecord = void;
  SourceLocation place;
  Sourced<ControlKind> kind{ControlKind::kubernetes};
  Sourced<std::string> pool;
  Sourced<std::int64_t> etcd_members{3};
  Sourced<Allocator> allocator;  // the owner of the GPUs; unset: the kind's own, slurm for both
  Sourced<bool> node_feature_discovery{true};
  Sourced<bool> signed_images{true};
  Sourced<bool> api_limits{true};  // the API server rate-limits each client
  Sourced<std::int64_t> ingress_replicas{2};
  Sourced<std::int64_t> asn;           // BGP AS number of the nodes that announce service addresses
  Sourced<Ipv4Prefix> pod_subnet;      // of the primary network
  Sourced<Ipv4Prefix> service_subnet;  // virtual addresses inside the cluster
};

struct QuotaSpec {
  using IsRecord = void;
  SourceLocation place;
  Sourced<std::int64_t> gpus;
  Sourced<NamedValues<std::int64_t>> mig;
  Sourced<std::int64_t> cpus;
  Sourced<Bytes> memory;
  Sourced<Bytes> storage;
  Sourced<std::int64_t> volume_claims;
};

struct TenantSpec {
  using IsRecord = void;
  SourceLocation place;
  Sourced<Name> name;
  Sourced<QuotaSpec> quota{QuotaSpec{}};
  Sourced<std::vector<std::string>> partitions{std::vector<std::string>{}};
  Sourced<std::string> priority;
  Sourced<std::int64_t> gpus_per_container{8};
};

struct PartitionSpec {
  using IsRecord = void;
  SourceLocation place;
  Sourced<Name> name;
  Sourced<std::vector<std::string>> pools;
  Sourced<std::vector<std::string>> constraints{std::vector<std::string>{}};  // labels key=value required for every job
  Sourced<Duration> time_limit;
  Sourced<std::string> priority;
};

struct PrioritySpec {
  using IsRecord = void;
  SourceLocation place;
  Sourced<Name> name;
  Sourced<std::int64_t> value;
  Sourced<bool> preemptible{true};
};

struct ServiceSpec {
  using IsRecord = void;
  SourceLocation place;
  Sourced<Name> name;
  Sourced<std::string> pool;
  Sourced<std::string> tenant;
  Sourced<std::int64_t> gpus;
  Sourced<std::string> mig;  // profile of one replica, instead of gpus
  Sourced<std::int64_t> min_replicas{2};
  Sourced<std::int64_t> max_replicas{4};
  Sourced<std::int64_t> port{8000};
  Sourced<std::string> priority;
  Sourced<std::int64_t> target_percent{70};
  Sourced<Duration> timeout{Duration(300'000'000'000)};
  Sourced<Balancing> balancing{Balancing::least_connections};
  Sourced<bool> sticky{true};
  Sourced<Probe> probe{Probe::http};
  Sourced<std::int64_t> min_available{1};  // replicas kept running during a rolling upgrade
  Sourced<std::string> host;               // DNS name for clients; unset: <name>.<site.domain>
  Sourced<std::string> image;              // container image; unset: vLLM from the site's registry
};

struct WorkloadSpec {
  using IsRecord = void;
  SourceLocation place;
  Sourced<std::int64_t> training_percent{100};
  Sourced<std::int64_t> inference_percent{0};
  Sourced<DataClass> data{DataClass::better};
  Sourced<Bytes> working_set;  // per node, for node-local scratch
  Sourced<Bytes> checkpoint;   // one checkpoint, all ranks
  Sourced<Duration> checkpoint_time{Duration(90'000'000'000)};
  Sourced<Duration> checkpoint_interval{Duration(1'800'000'000'000)};
  Sourced<bool> elastic{true};  // jobs continue with fewer nodes and restart from their last checkpoint
  Sourced<std::int64_t> max_restarts{3};
  Sourced<NamedValues<std::string>> environment{NamedValues<std::string>{}};  // set for every job: NCCL_IB_TC, ...
};

// Operations after the first day.
struct OperationsSpec {
  using IsRecord = void;
  SourceLocation place;
  Sourced<Handling> configuration{Handling::automatic};
  Sourced<Handling> remediation{Handling::automatic};
  Sourced<bool> monitoring{true};
  Sourced<bool> gpu_metrics{true};
  Sourced<bool> checkpoint_recovery_tested{false};
  Sourced<bool> failure_drills{false};
};

struct SecuritySpec {
  using IsRecord = void;
  SourceLocation place;
  Sourced<SignOn> sign_on{SignOn::oidc};
  Sourced<SecretStore> secrets{SecretStore::vault};
  Sourced<PolicyDefault> network_policy{PolicyDefault::deny};
  Sourced<bool> rdma_policies{false};  // network policies on RDMA interfaces (RDMA traffic bypasses them)
  Sourced<RestAuth> slurm_rest{RestAuth::jwt};
  Sourced<std::string> munge_key_mode{std::string("0400")};
  Sourced<bool> audit{true};
  Sourced<std::string> registry;  // registry of container images; unset: registry.<site.domain>
};

// An accepted finding of `weft check`, with the reason.
struct SuppressionSpec {
  using IsRecord = void;
  SourceLocation place;
  Sourced<std::string> rule;
  Sourced<std::string> subject;  // device, pool, fabric or file, with * as a wildcard; unset: all
  Sourced<std::string> reason;
  Sourced<std::string> until;  // 2027-03-31: expires on the next day
};

}  // namespace weft::model
