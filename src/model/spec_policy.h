// The part of a cluster file that is about use, not about hardware: storage systems, who schedules, tenants, services,
// how it is kept running. See spec.h for the rest.
#pragma once

#include <string>
#include <vector>

#include "model/catalog.h"
#include "model/spec_choices.h"

namespace weft::model {

struct VolumeSpec {
  using IsRecord = void;
  Place place;
  Given<Name> name;
  Given<VolumePurpose> purpose{VolumePurpose::dataset};
  Given<Bytes> size;
  Given<std::int64_t> replicas{1};
  Given<std::string> replicate_to;  // another storage system
  Given<Duration> snapshots;
  Given<bool> read_only{false};
  Given<std::int64_t> files;  // about how many it holds
};

struct StorageSpec {
  using IsRecord = void;
  Place place;
  Given<Name> name;
  Given<StorageKind> kind{StorageKind::nvmeof};
  Given<StorageTier> tier{StorageTier::warm};
  Given<std::string> pool;
  Given<std::int64_t> targets;  // OSTs, namespaces; unset: one a server
  Given<std::int64_t> metadata_servers{0};
  Given<bool> metadata_striping{true};  // large directories are spread over the metadata servers
  Given<std::int64_t> stripe_count{8};
  Given<Bytes> stripe_size{Bytes(std::int64_t{1} << 20)};
  Given<ByteRate> read;  // whole system; unset: from the servers and their links
  Given<ByteRate> write;
  Given<Bytes> capacity;
  Given<Multipath> multipath{Multipath::active_standby};
  Given<StorageSecurity> security{StorageSecurity::tls};
  Given<std::string> provisioner;  // CSI driver that makes volumes of it; unset: the kind's usual one
  Given<std::vector<VolumeSpec>> volumes{std::vector<VolumeSpec>{}};
};

struct ControlPlaneSpec {
  using IsRecord = void;
  Place place;
  Given<ControlKind> kind{ControlKind::kubernetes};
  Given<std::string> pool;
  Given<std::int64_t> etcd_members{3};
  Given<Allocator> allocator;  // who owns the GPUs; unset: the kind's own, slurm for both
  Given<bool> node_feature_discovery{true};
  Given<bool> signed_images{true};
  Given<bool> api_limits{true};  // the API server bounds what one client can ask of it
  Given<std::int64_t> ingress_replicas{2};
  Given<std::int64_t> asn;           // BGP number of the nodes that announce service addresses
  Given<Ipv4Prefix> pod_subnet;      // of the primary network
  Given<Ipv4Prefix> service_subnet;  // virtual addresses inside the cluster
};

struct QuotaSpec {
  using IsRecord = void;
  Place place;
  Given<std::int64_t> gpus;
  Given<NamedValues<std::int64_t>> mig;
  Given<std::int64_t> cpus;
  Given<Bytes> memory;
  Given<Bytes> storage;
  Given<std::int64_t> volume_claims;
};

struct TenantSpec {
  using IsRecord = void;
  Place place;
  Given<Name> name;
  Given<QuotaSpec> quota{QuotaSpec{}};
  Given<std::vector<std::string>> partitions{std::vector<std::string>{}};
  Given<std::string> priority;
  Given<std::int64_t> gpus_per_container{8};
};

struct PartitionSpec {
  using IsRecord = void;
  Place place;
  Given<Name> name;
  Given<std::vector<std::string>> pools;
  Given<std::vector<std::string>> constraints{std::vector<std::string>{}};  // labels key=value every job must ask for
  Given<Duration> time_limit;
  Given<std::string> priority;
};

struct PrioritySpec {
  using IsRecord = void;
  Place place;
  Given<Name> name;
  Given<std::int64_t> value;
  Given<bool> preemptible{true};
};

struct ServiceSpec {
  using IsRecord = void;
  Place place;
  Given<Name> name;
  Given<std::string> pool;
  Given<std::string> tenant;
  Given<std::int64_t> gpus;
  Given<std::string> mig;  // profile of one replica, instead of gpus
  Given<std::int64_t> min_replicas{2};
  Given<std::int64_t> max_replicas{4};
  Given<std::int64_t> port{8000};
  Given<std::string> priority;
  Given<std::int64_t> target_percent{70};
  Given<Duration> timeout{Duration(300'000'000'000)};
  Given<Balancing> balancing{Balancing::least_connections};
  Given<bool> sticky{true};
  Given<Probe> probe{Probe::http};
  Given<std::int64_t> min_available{1};  // replicas that a rolling upgrade leaves running
  Given<std::string> host;               // name that clients use; unset: <name>.<site.domain>
  Given<std::string> image;              // container image; unset: vLLM from the site's registry
};

struct WorkloadSpec {
  using IsRecord = void;
  Place place;
  Given<std::int64_t> training_percent{100};
  Given<std::int64_t> inference_percent{0};
  Given<DataClass> data{DataClass::better};
  Given<Bytes> working_set;  // of one node, for node-local scratch
  Given<Bytes> checkpoint;   // one checkpoint, all ranks
  Given<Duration> checkpoint_time{Duration(90'000'000'000)};
  Given<Duration> checkpoint_interval{Duration(1'800'000'000'000)};
  Given<bool> elastic{true};  // jobs go on with fewer nodes and restart from their last checkpoint
  Given<std::int64_t> max_restarts{3};
  Given<NamedValues<std::string>> environment{NamedValues<std::string>{}};  // given to every job: NCCL_IB_TC, ...
};

// How the cluster is kept running after the first day.
struct OperationsSpec {
  using IsRecord = void;
  Place place;
  Given<Handling> configuration{Handling::automatic};
  Given<Handling> remediation{Handling::automatic};
  Given<bool> monitoring{true};
  Given<bool> gpu_metrics{true};
  Given<bool> checkpoint_recovery_tested{false};
  Given<bool> failure_drills{false};
};

struct SecuritySpec {
  using IsRecord = void;
  Place place;
  Given<SignOn> sign_on{SignOn::oidc};
  Given<SecretStore> secrets{SecretStore::vault};
  Given<PolicyDefault> network_policy{PolicyDefault::deny};
  Given<bool> rdma_policies{false};  // network policies on RDMA interfaces, which bypass them
  Given<RestAuth> slurm_rest{RestAuth::jwt};
  Given<std::string> munge_key_mode{std::string("0400")};
  Given<bool> audit{true};
  Given<std::string> registry;  // where images come from; unset: registry.<site.domain>
};

// A finding of `weft check` that is accepted, with the reason.
struct SuppressionSpec {
  using IsRecord = void;
  Place place;
  Given<std::string> rule;
  Given<std::string> subject;  // device, pool, fabric or file, with * as a wildcard; unset: all
  Given<std::string> reason;
  Given<std::string> until;  // 2027-03-31: from the next day on it no longer counts
};

}  // namespace weft::model
