// The schema of the cluster file: every key, its meaning and its limits. Defaults are set in spec.h; those that depend
// on the rest of the file are computed in resolve.cc.
#include "model/spec.h"

namespace weft::model {

FabricSpec::FabricSpec() = default;
FabricSpec::FabricSpec(const FabricSpec& other) = default;
FabricSpec::FabricSpec(FabricSpec&& other) noexcept = default;
FabricSpec& FabricSpec::operator=(const FabricSpec& other) = default;
FabricSpec& FabricSpec::operator=(FabricSpec&& other) noexcept = default;
FabricSpec::~FabricSpec() = default;

Spec::Spec() = default;
Spec::Spec(const Spec& other) = default;
Spec::Spec(Spec&& other) noexcept = default;
Spec& Spec::operator=(const Spec& other) = default;
Spec& Spec::operator=(Spec&& other) noexcept = default;
Spec::~Spec() = default;

template <class E>
using Choices = std::vector<std::pair<std::string_view, E>>;

#define WEFT_CHOICES(Enum, ...)                    \
  const Choices<Enum>& choices_of(Enum) {          \
    static const Choices<Enum> table{__VA_ARGS__}; \
    return table;                                  \
  }

WEFT_CHOICES(Profile, {"split", Profile::split}, {"converged", Profile::converged})
WEFT_CHOICES(PoolRole, {"training", PoolRole::training}, {"inference", PoolRole::inference},
             {"infrastructure", PoolRole::infrastructure}, {"cpu", PoolRole::cpu}, {"storage", PoolRole::storage},
             {"login", PoolRole::login}, {"management", PoolRole::management}, {"jump", PoolRole::jump})
WEFT_CHOICES(Wiring, {"rail-optimized", Wiring::rail_optimized}, {"rail-only", Wiring::rail_only}, {"tor", Wiring::tor},
             {"dual-tor", Wiring::dual_tor}, {"pairs", Wiring::pairs})
WEFT_CHOICES(TierChoice, {"auto", TierChoice::automatic}, {"1", TierChoice::one}, {"2", TierChoice::two},
             {"3", TierChoice::three})
WEFT_CHOICES(SwitchPlacement, {"central", SwitchPlacement::central}, {"row", SwitchPlacement::row})
WEFT_CHOICES(LinkAddressing, {"unnumbered", LinkAddressing::unnumbered}, {"numbered", LinkAddressing::numbered})
WEFT_CHOICES(StorageKind, {"nvmeof", StorageKind::nvmeof}, {"lustre", StorageKind::lustre}, {"gpfs", StorageKind::gpfs},
             {"beegfs", StorageKind::beegfs}, {"weka", StorageKind::weka}, {"vast", StorageKind::vast},
             {"nfs", StorageKind::nfs}, {"object", StorageKind::object})
WEFT_CHOICES(StorageTier, {"hot", StorageTier::hot}, {"warm", StorageTier::warm}, {"cold", StorageTier::cold})
WEFT_CHOICES(Multipath, {"active-standby", Multipath::active_standby}, {"round-robin", Multipath::round_robin},
             {"queue-depth", Multipath::queue_depth})
WEFT_CHOICES(VolumePurpose, {"dataset", VolumePurpose::dataset}, {"checkpoint", VolumePurpose::checkpoint},
             {"scratch", VolumePurpose::scratch}, {"home", VolumePurpose::home})
WEFT_CHOICES(StorageSecurity, {"sys", StorageSecurity::sys}, {"krb5p", StorageSecurity::krb5p},
             {"tls", StorageSecurity::tls})
WEFT_CHOICES(ControlKind, {"kubernetes", ControlKind::kubernetes}, {"slurm", ControlKind::slurm},
             {"both", ControlKind::both})
WEFT_CHOICES(Allocator, {"kubernetes", Allocator::kubernetes}, {"slurm", Allocator::slurm}, {"weft", Allocator::weft})
WEFT_CHOICES(DataClass, {"good", DataClass::good}, {"better", DataClass::better}, {"best", DataClass::best})
WEFT_CHOICES(ChecklistState, {"done", ChecklistState::done}, {"not-done", ChecklistState::not_done})
WEFT_CHOICES(TrustMode, {"dscp", TrustMode::dscp}, {"pcp", TrustMode::pcp})
WEFT_CHOICES(PfcMode, {"on", PfcMode::on}, {"auto", PfcMode::automatic}, {"off", PfcMode::off})
WEFT_CHOICES(WatchdogAction, {"drop", WatchdogAction::drop}, {"forward", WatchdogAction::forward},
             {"alert", WatchdogAction::alert})
WEFT_CHOICES(LoadBalancing, {"ecmp", LoadBalancing::ecmp}, {"adaptive", LoadBalancing::adaptive},
             {"spray", LoadBalancing::spray})
WEFT_CHOICES(Whereabouts, {"none", Whereabouts::none}, {"oob", Whereabouts::oob}, {"frontend", Whereabouts::frontend},
             {"site", Whereabouts::site})
WEFT_CHOICES(OobEntry, {"vpn", OobEntry::vpn}, {"cellular", OobEntry::cellular}, {"console", OobEntry::console},
             {"frontend", OobEntry::frontend})
WEFT_CHOICES(Handling, {"automatic", Handling::automatic}, {"manual", Handling::manual})
WEFT_CHOICES(SignOn, {"oidc", SignOn::oidc}, {"directory", SignOn::directory}, {"none", SignOn::none})
WEFT_CHOICES(SecretStore, {"vault", SecretStore::vault}, {"kubernetes", SecretStore::kubernetes},
             {"files", SecretStore::files})
WEFT_CHOICES(PolicyDefault, {"deny", PolicyDefault::deny}, {"allow", PolicyDefault::allow})
WEFT_CHOICES(RestAuth, {"jwt", RestAuth::jwt}, {"none", RestAuth::none})
WEFT_CHOICES(Balancing, {"least-connections", Balancing::least_connections}, {"round-robin", Balancing::round_robin})
WEFT_CHOICES(Probe, {"http", Probe::http}, {"tcp", Probe::tcp}, {"none", Probe::none})
#undef WEFT_CHOICES

// Defines a schema that is built once, on first use.
#define WEFT_SCHEMA(Record, name, help) \
  template <>                           \
  const Schema& schema_of<Record>() {   \
    static const Schema schema = [] {          \
      SchemaBuilder<Record> b(name, help);     \
      using R = Record;
#define WEFT_SCHEMA_END \
  return b.build();     \
  }                     \
  ();                   \
  return schema;        \
  }

WEFT_SCHEMA(SiteSpec, "site", "The data center floor: rows of racks, power feeds and switch placement.")
b.field("domain", &R::domain, "DNS domain of the cluster; default: <name>.internal");
b.field("feeds", &R::feeds, "independent power feeds").range(1, 8);
b.field("row_length", &R::row_length, "server racks per row").range(1, 200);
b.field("row_pitch", &R::row_pitch, "distance between rows, including the aisle");
b.field("cable_slack", &R::cable_slack, "slack added to every cable run");
b.field("rack", &R::rack, "catalog id of the racks");
b.field("pdu", &R::pdu, "catalog id of the PDUs");
b.field("pdus_per_rack", &R::pdus_per_rack, "PDUs per server rack").range(1, 8);
b.field("rack_power", &R::rack_power, "power limit per rack; default: the capacity of its PDUs with one feed lost");
b.field("switches", &R::switches, "central: all switches in central racks; row: leaves at the end of each row");
b.field("service_racks", &R::service_racks, "central racks for switches and small pools; default: as needed")
    .range(1, 10000);
b.field("service_rack_pdus", &R::service_rack_pdus, "PDUs per service rack").range(1, 8);
WEFT_SCHEMA_END

WEFT_SCHEMA(LinksSpec, "links", "Server ports used per fabric.")
b.field("backend", &R::backend, "backend ports (rails)").range(0, 16);
b.field("storage", &R::storage, "storage ports (rails)").range(0, 16);
b.field("frontend", &R::frontend, "frontend ports").range(0, 8);
b.field("oob", &R::oob, "out-of-band ports, starting with the BMC's").range(1, 4);
WEFT_SCHEMA_END

WEFT_SCHEMA(HostOverride, "override", "Settings of individual hosts of a pool.")
b.field("hosts", &R::hosts, "hosts, as a range").required();
b.field("server", &R::server, "catalog id of another server with the same ports");
b.field("rack", &R::rack, "another rack of the pool");
b.field("labels", &R::labels, "labels in addition to the pool's");
b.field("addresses", &R::addresses, "addresses by port (be1, sto1, fe1, bmc)");
WEFT_SCHEMA_END

WEFT_SCHEMA(BiosSpec, "bios", "Firmware settings of a pool's servers.")
b.field("numa", &R::numa, "expose NUMA nodes to the operating system");
b.field("performance", &R::performance, "performance power profile (no CPU frequency scaling)");
b.field("hyper_threading", &R::hyper_threading, "simultaneous multithreading (two threads per core)");
b.field("sriov", &R::sriov, "SR-IOV virtual functions on NICs");
WEFT_SCHEMA_END

WEFT_SCHEMA(PoolSpec, "pool", "A group of identical servers with one purpose.")
b.field("name", &R::name, "name of the pool; hosts are named after it").required();
b.field("role", &R::role, "purpose of the servers");
b.field("server", &R::server, "catalog id of the server").required();
b.field("count", &R::count, "number of servers").required().range(1, 1'000'000);
b.field("hosts", &R::hosts, "host names as a range; default: the pool's name and a number");
b.field("per_rack", &R::per_rack, "servers per rack; default: as many as height and power allow").range(1, 100);
b.field("racks", &R::racks,
        "rack names as a range, or `service` to use the service racks; default: the pool's name and a number");
b.field("pdus_per_rack", &R::pdus_per_rack, "PDUs per rack").range(1, 8);
b.field("unit", &R::unit, "servers per scalable unit (one group of leaves)").range(1, 4096);
b.field("links", &R::links, "ports used per fabric; default: from the profile and the role");
b.field("address_offset", &R::address_offset, "first host number (or unit number) in the address plan")
    .range(0, 10'000'000);
b.field("labels", &R::labels, "node labels");
b.field("taints", &R::taints, "node taints, key=value:Effect");
b.field("mig", &R::mig, "MIG instances per GPU, by profile");
b.field("time_slices", &R::time_slices, "jobs that share a GPU by time-slicing").range(1, 64);
b.field("pods_per_node", &R::pods_per_node, "training pods per node").range(1, 64);
b.field("spares", &R::spares, "spare servers to replace failed ones").range(0, 100'000);
b.field("bios", &R::bios, "firmware settings");
b.field("overrides", &R::overrides, "settings of individual hosts");
WEFT_SCHEMA_END

WEFT_SCHEMA(QosSpec, "qos", "Lossless transport: PFC, ECN and the PFC watchdog.")
b.field("lossless", &R::lossless, "enable a lossless class");
b.field("priority", &R::priority, "priority, queue and traffic class of lossless data").range(0, 7);
b.field("dscp", &R::dscp, "DSCP of lossless data").range(0, 63);
b.field("cnp_priority", &R::cnp_priority, "priority of congestion notifications").range(0, 7);
b.field("cnp_dscp", &R::cnp_dscp, "DSCP of congestion notifications").range(0, 63);
b.field("ecn_min", &R::ecn_min, "queue length at which ECN marking starts; default: 2 KB per Gb/s");
b.field("ecn_max", &R::ecn_max, "queue length at which marking reaches `ecn_percent`; default: four times ecn_min");
b.field("ecn_percent", &R::ecn_percent, "marking probability at ecn_max").range(1, 100);
b.field("ecn", &R::ecn, "enable ECN marking on switches");
b.field("trust", &R::trust, "header field by which NICs and switches classify packets");
b.field("pfc", &R::pfc, "priority flow control: on, negotiated (auto) or off");
b.field("pfc_priorities", &R::pfc_priorities, "priorities with PFC enabled; default: only `priority`");
b.field("global_pause", &R::global_pause, "802.3x global pause, which stops all classes");
b.field("pfc_watchdog", &R::pfc_watchdog, "enable the PFC watchdog");
b.field("watchdog_detection", &R::watchdog_detection, "PFC watchdog detection time; default: 200 ms per 32 ports");
b.field("watchdog_restoration", &R::watchdog_restoration, "PFC watchdog restoration time");
b.field("watchdog_poll", &R::watchdog_poll, "PFC watchdog polling interval");
b.field("watchdog_action", &R::watchdog_action, "PFC watchdog action for packets of a stuck queue");
b.field("bandwidth_percent", &R::bandwidth_percent, "guaranteed share of link bandwidth for the lossless class")
    .range(1, 99);
WEFT_SCHEMA_END

WEFT_SCHEMA(ManagerSpec, "manager", "A fabric manager connected to the leaves.")
b.field("name", &R::name, "name; hosts are named after it").required();
b.field("server", &R::server, "catalog id").required();
b.field("count", &R::count, "appliances").range(1, 16);
b.field("ports", &R::ports, "ports per manager on this fabric").range(1, 8);
b.field("speed", &R::speed, "speed of these ports; default: the appliance's");
b.field("breakout", &R::breakout, "breakout mode of the leaf cage");
b.field("back_to_back", &R::back_to_back, "direct cable between each pair of managers");
WEFT_SCHEMA_END

WEFT_SCHEMA(ExternalSpec, "external", "Links from the top tier to the site network.")
b.field("links", &R::links, "number of links, all switches together").range(0, 1024);
b.field("speed", &R::speed, "speed per link, which must be the uplink speed");
WEFT_SCHEMA_END

WEFT_SCHEMA(FabricSpec, "fabric", "One of the three data fabrics.")
b.field("network", &R::network, "Ethernet (RoCEv2) or InfiniBand");
b.field("speed", &R::speed, "speed of host ports; default: the first speed of the servers' ports");
b.field("leaf", &R::leaf, "catalog id of the leaf switches");
b.field("spine", &R::spine, "catalog id of the spine switches; default: same as the leaves");
b.field("core", &R::core, "catalog id of the core switches; default: same as the spines");
b.field("wiring", &R::wiring, "how server ports connect to leaves");
b.field("tiers", &R::tiers, "number of switch tiers");
b.field("planes", &R::planes, "number of planes (parallel copies of the fabric); each host cage is split over them")
    .range(1, 4);
b.field("oversubscription", &R::oversubscription, "oversubscription (down : up) of a leaf");
b.field("spine_oversubscription", &R::spine_oversubscription,
        "oversubscription (down : up) of a spine, with three tiers");
b.field("uplinks", &R::uplinks, "uplinks per leaf, instead of oversubscription").range(1, 512);
b.field("uplink_speed", &R::uplink_speed, "speed of links between switches");
b.field("breakout", &R::breakout, "breakout mode of server-facing leaf cages");
b.field("storage_breakout", &R::storage_breakout, "breakout mode of leaf cages facing storage servers");
b.field("storage_oversubscription", &R::storage_oversubscription,
        "oversubscription (down : up) of leaves with storage servers");
b.field("spines", &R::spines, "minimum number of spines").range(1, 512);
b.field("peer_links", &R::peer_links, "peer links between the leaves of a pair").range(0, 16);
b.field("media", &R::media, "allowed kinds of cable, in order of preference");
b.field("storage_media", &R::storage_media, "allowed kinds of cable to storage servers");
b.field("system", &R::system, "network operating system of the switches; default: the first one of the leaf model");
b.field("mtu", &R::mtu, "MTU of host ports").range(576, 65520);
b.field("switch_mtu", &R::switch_mtu, "MTU of switch ports; default: 9216 if hosts use jumbo frames").range(576, 65520);
b.field("bond", &R::bond, "servers bond their links with LACP");
b.field("load_balancing", &R::load_balancing, "load balancing over equal-cost paths");
b.field("hash_seeds", &R::hash_seeds, "each tier uses its own ECMP hash seed");
b.field("bfd", &R::bfd, "enable BFD for BGP neighbors");
b.field("default_route", &R::default_route, "servers have a default route on this fabric");
b.field("routes_to", &R::routes_to, "fabrics whose VRFs exchange routes with this one (route leaking)");
b.field("vrf", &R::vrf, "VRF name");
b.field("vlan", &R::vlan, "first VLAN id; each rail uses the next").range(1, 4094);
b.field("subnets", &R::subnets, "one subnet per rail (backend, storage), or a single one (frontend)");
b.field("ipv6", &R::ipv6, "IPv6 prefix (/48) for a dual-stack fabric");
b.field("switch_links", &R::switch_links, "numbered or unnumbered links between switches");
b.field("switch_link_subnet", &R::switch_link_subnet, "subnet of point-to-point addresses");
b.field("loopbacks", &R::loopbacks, "subnet of switch loopbacks");
b.field("asn", &R::asn, "first BGP AS number").range(1, 4'294'000'000);
b.field("qos", &R::qos, "lossless class, ECN, watchdog");
b.field("managers", &R::managers, "fabric managers");
b.field("external", &R::external, "links to the site network");
WEFT_SCHEMA_END

WEFT_SCHEMA(OobServicesSpec, "oob-services", "Where the services that the out-of-band network depends on run.")
b.field("dns", &R::dns, "DNS");
b.field("dhcp", &R::dhcp, "DHCP");
b.field("directory", &R::directory, "authentication: LDAP, TACACS+ or RADIUS; none: local accounts");
b.field("time", &R::time, "NTP");
WEFT_SCHEMA_END

WEFT_SCHEMA(BmcSpec, "bmc", "BMC configuration.")
b.field("ipmi_over_lan", &R::ipmi_over_lan, "IPMI over LAN is enabled, in addition to Redfish");
b.field("cipher_suites", &R::cipher_suites, "allowed IPMI cipher suites");
b.field("default_credentials", &R::default_credentials, "some BMCs still have the factory password");
b.field("unique_passwords", &R::unique_passwords, "each BMC has a unique password");
b.field("verify_tls", &R::verify_tls, "clients verify the BMC's TLS certificate");
b.field("firewall", &R::firewall, "the BMC accepts connections only from the management subnet");
b.field("host_interface", &R::host_interface, "unrestricted access from the host to its BMC (KCS, host interface)");
b.field("firmware_measured", &R::firmware_measured,
        "firmware versions and images are checked against an approved list");
WEFT_SCHEMA_END

WEFT_SCHEMA(OobSpec, "oob", "The out-of-band management network.")
b.field("leaf", &R::leaf, "catalog id of the 1G switches");
b.field("spine", &R::spine, "catalog id of the aggregation switches, in pairs");
b.field("uplinks", &R::uplinks, "uplinks per leaf").range(1, 8);
b.field("uplink_speed", &R::uplink_speed, "speed of an uplink");
b.field("uplink_to_frontend", &R::uplink_to_frontend,
        "connect to the frontend leaves instead of a dedicated aggregation");
b.field("subnet", &R::subnet, "subnet of all management addresses");
b.field("vlan", &R::vlan, "VLAN").range(1, 4094);
b.field("vrf", &R::vrf, "VRF name");
b.field("mtu", &R::mtu, "MTU").range(576, 9216);
b.field("spare_percent", &R::spare_percent, "spare ports per leaf").range(0, 90);
b.field("syslog", &R::syslog, "where access to BMCs and switches is logged");
b.field("credentials", &R::credentials, "reference to the credentials (never the secret itself)");
b.field("system", &R::system, "network operating system of its switches; default: the first one of the leaf model");
b.field("entry", &R::entry, "how operators reach the jump host from outside");
b.field("gateway", &R::gateway, "network to which its VRF has a route");
b.field("jump_only", &R::jump_only, "an access list allows only jump hosts to reach BMCs");
b.field("services", &R::services, "where the services it depends on run");
b.field("bmc", &R::bmc, "BMC configuration");
b.field("config_backup", &R::config_backup, "configurations of its switches are backed up off-device");
WEFT_SCHEMA_END

WEFT_SCHEMA(FabricsSpec, "fabrics", "The four physically separate networks.")
b.field("backend", &R::backend, "GPU-to-GPU traffic");
b.field("storage", &R::storage, "storage traffic: datasets and checkpoints");
b.field("frontend", &R::frontend, "control plane and user traffic");
b.field("oob", &R::oob, "management: BMCs and consoles");
WEFT_SCHEMA_END

WEFT_SCHEMA(VolumeSpec, "volume", "A volume of a storage system.")
b.field("name", &R::name, "name").required();
b.field("purpose", &R::purpose, "purpose");
b.field("size", &R::size, "size").required();
b.field("replicas", &R::replicas, "number of copies inside the system").range(1, 8);
b.field("replicate_to", &R::replicate_to, "storage system that receives a replica");
b.field("snapshots", &R::snapshots, "snapshot interval");
b.field("read_only", &R::read_only, "jobs mount it read-only");
b.field("files", &R::files, "approximate number of files").range(0, 1'000'000'000'000);
WEFT_SCHEMA_END

WEFT_SCHEMA(StorageSpec, "storage-system", "A storage system.")
b.field("name", &R::name, "name").required();
b.field("kind", &R::kind, "kind of storage system");
b.field("tier", &R::tier, "hot (node-local), warm (parallel file system), cold (object)");
b.field("pool", &R::pool, "pool of servers that it runs on").required();
b.field("targets", &R::targets, "storage targets (OSTs, namespaces); default: one per server").range(1, 100000);
b.field("metadata_servers", &R::metadata_servers, "metadata servers").range(0, 1000);
b.field("metadata_striping", &R::metadata_striping, "large directories are striped over the metadata servers");
b.field("stripe_count", &R::stripe_count, "stripe count: targets per large file").range(1, 2000);
b.field("stripe_size", &R::stripe_size, "stripe size");
b.field("read", &R::read, "read throughput of the whole system; default: from its servers");
b.field("write", &R::write, "write throughput of the whole system");
b.field("capacity", &R::capacity, "usable capacity; default: from its servers");
b.field("multipath", &R::multipath, "client multipath policy");
b.field("security", &R::security, "client authentication");
b.field("provisioner", &R::provisioner,
        "CSI driver that provisions volumes; default: the usual one for the kind of system");
b.field("volumes", &R::volumes, "volumes");
WEFT_SCHEMA_END

WEFT_SCHEMA(ControlPlaneSpec, "control-plane", "The scheduler and where it runs.")
b.field("kind", &R::kind, "Kubernetes, Slurm or both");
b.field("pool", &R::pool, "pool that it runs on; default: the first infrastructure pool");
b.field("etcd_members", &R::etcd_members, "etcd members (or Slurm controllers)").range(1, 9);
b.field("allocator", &R::allocator, "single scheduler that allocates GPUs");
b.field("node_feature_discovery", &R::node_feature_discovery,
        "hardware labels are discovered (node feature discovery)");
b.field("signed_images", &R::signed_images, "unsigned images are rejected");
b.field("api_limits", &R::api_limits, "the API server limits requests per client (API priority and fairness)");
b.field("ingress_replicas", &R::ingress_replicas, "replicas of the gateway").range(1, 1000);
b.field("asn", &R::asn, "BGP AS number of the nodes that announce service addresses").range(1, 4'294'967'294);
b.field("pod_subnet", &R::pod_subnet, "addresses of pods on the primary network");
b.field("service_subnet", &R::service_subnet, "virtual addresses of services inside the cluster");
WEFT_SCHEMA_END

WEFT_SCHEMA(QuotaSpec, "quota", "Resource quota of a tenant.")
b.field("gpus", &R::gpus, "whole GPUs").range(0, 10'000'000);
b.field("mig", &R::mig, "MIG instances by profile");
b.field("cpus", &R::cpus, "CPU cores").range(0, 100'000'000);
b.field("memory", &R::memory, "memory");
b.field("storage", &R::storage, "storage");
b.field("volume_claims", &R::volume_claims, "volume claims").range(0, 1'000'000);
WEFT_SCHEMA_END

WEFT_SCHEMA(TenantSpec, "tenant", "A team that shares the cluster.")
b.field("name", &R::name, "name; also its namespace and account").required();
b.field("quota", &R::quota, "limits");
b.field("partitions", &R::partitions, "partitions it may use");
b.field("priority", &R::priority, "priority class of its jobs");
b.field("gpus_per_container", &R::gpus_per_container, "maximum number of GPUs per container").range(1, 64);
WEFT_SCHEMA_END

WEFT_SCHEMA(PartitionSpec, "partition", "A partition: pools with one queue.")
b.field("name", &R::name, "name").required();
b.field("pools", &R::pools, "pools").required();
b.field("constraints", &R::constraints, "node labels (key=value) that its jobs must request");
b.field("time_limit", &R::time_limit, "time limit of a job");
b.field("priority", &R::priority, "priority class of its jobs");
WEFT_SCHEMA_END

WEFT_SCHEMA(PrioritySpec, "priority", "A priority class.")
b.field("name", &R::name, "name").required();
b.field("value", &R::value, "a higher value is scheduled first").required().range(-1'000'000'000, 1'000'000'000);
b.field("preemptible", &R::preemptible, "its jobs may be preempted by jobs of higher priority");
WEFT_SCHEMA_END

WEFT_SCHEMA(ServiceSpec, "service", "An inference service.")
b.field("name", &R::name, "name").required();
b.field("pool", &R::pool, "pool that it runs on").required();
b.field("tenant", &R::tenant, "tenant that owns it");
b.field("gpus", &R::gpus, "GPUs per replica").range(1, 1024);
b.field("mig", &R::mig, "MIG profile per replica, instead of gpus");
b.field("min_replicas", &R::min_replicas, "minimum number of replicas").range(1, 100000);
b.field("max_replicas", &R::max_replicas, "maximum number of replicas").range(1, 100000);
b.field("port", &R::port, "TCP port").range(1, 65535);
b.field("priority", &R::priority, "priority class");
b.field("target_percent", &R::target_percent, "target GPU utilization for autoscaling").range(1, 100);
b.field("timeout", &R::timeout, "request timeout");
b.field("balancing", &R::balancing, "load balancing over replicas");
b.field("sticky", &R::sticky, "session affinity");
b.field("probe", &R::probe, "readiness probe");
b.field("min_available", &R::min_available, "minimum available replicas during an upgrade").range(0, 100000);
b.field("host", &R::host, "DNS name for clients; default: <name>.<site.domain>");
b.field("image", &R::image, "container image; default: vLLM from the site's registry");
WEFT_SCHEMA_END

WEFT_SCHEMA(WorkloadSpec, "workload", "Purpose of the cluster; determines the storage sizing.")
b.field("training_percent", &R::training_percent, "share of training, in percent").range(0, 100);
b.field("inference_percent", &R::inference_percent, "share of inference, in percent").range(0, 100);
b.field("data", &R::data, "storage class: good (text), better (images), best (video, read once)");
b.field("working_set", &R::working_set, "working set per node, for node-local scratch");
b.field("checkpoint", &R::checkpoint, "size of one checkpoint, all ranks together");
b.field("checkpoint_time", &R::checkpoint_time, "maximum time to write a checkpoint");
b.field("checkpoint_interval", &R::checkpoint_interval, "checkpoint interval");
b.field("elastic", &R::elastic, "elastic jobs: continue with fewer nodes after a failure");
b.field("max_restarts", &R::max_restarts, "maximum number of restarts of a job").range(0, 1000);
b.field("environment", &R::environment, "environment variables of every job (NCCL_IB_TC, UCX_NET_DEVICES, ...)");
WEFT_SCHEMA_END

WEFT_SCHEMA(OperationsSpec, "operations", "How the cluster is operated (day 2).")
b.field("configuration", &R::configuration, "how configuration is deployed to devices: automated or manual");
b.field("remediation", &R::remediation, "how unhealthy nodes are drained: automatically or manually");
b.field("monitoring", &R::monitoring, "metrics are collected and alerts are configured");
b.field("gpu_metrics", &R::gpu_metrics, "GPU health (DCGM) is monitored");
b.field("checkpoint_recovery_tested", &R::checkpoint_recovery_tested, "a restart from a checkpoint was tested");
b.field("failure_drills", &R::failure_drills, "failures of a switch, a node and a storage controller were tested");
WEFT_SCHEMA_END

WEFT_SCHEMA(SecuritySpec, "security", "Access control and auditing.")
b.field("sign_on", &R::sign_on, "user authentication");
b.field("secrets", &R::secrets, "secret store");
b.field("network_policy", &R::network_policy, "default network policy of namespaces on the frontend");
b.field("rdma_policies", &R::rdma_policies, "network policies are expected to cover RDMA interfaces");
b.field("slurm_rest", &R::slurm_rest, "authentication of slurmrestd clients");
b.field("munge_key_mode", &R::munge_key_mode, "file mode of the MUNGE key, in octal");
b.field("audit", &R::audit, "audit logging of all actions");
b.field("registry", &R::registry, "container registry; default: registry.<site.domain>");
WEFT_SCHEMA_END

WEFT_SCHEMA(SuppressionSpec, "suppression", "A suppressed finding of `weft check`.")
b.field("rule", &R::rule, "id of the rule").required();
b.field("subject", &R::subject, "device, pool, fabric or file of the finding, with * as a wildcard; default: all");
b.field("reason", &R::reason, "reason for the suppression").required();
b.field("until", &R::until, "last day on which the suppression applies, YYYY-MM-DD");
WEFT_SCHEMA_END

WEFT_SCHEMA(RackSpec, "rack-position", "Position and power limit of a rack.")
b.field("name", &R::name, "name of the rack").required();
b.field("row", &R::row, "row on the floor").range(-10000, 10000);
b.field("position", &R::position, "position in the row").range(0, 10000);
b.field("power", &R::power, "power limit");
b.field("pdus", &R::pdus, "PDUs").range(1, 8);
WEFT_SCHEMA_END

WEFT_SCHEMA(CableSpec, "cable-run", "A cable that deviates from the wiring rules.")
b.field("from", &R::from, "server port of the cable, host:port").required();
b.field("to", &R::to, "switch port to connect it to, switch:port").required();
b.field("length", &R::length, "length of the cable run");
WEFT_SCHEMA_END

WEFT_SCHEMA(Spec, "cluster", "A cluster: one file, four fabrics.")
b.field("weft", &R::weft, "version of the file format").required().range(1, 1);
b.field("name", &R::name, "name of the cluster").required();
b.field("profile", &R::profile, "split: GPU servers on the backend only; converged: on all fabrics");
b.field("site", &R::site, "racks, rows and power");
b.field("pools", &R::pools, "the servers").required();
b.field("fabrics", &R::fabrics, "the four networks");
b.field("storage", &R::storage, "storage systems");
b.field("control_plane", &R::control_plane, "scheduler and its servers");
b.field("workload", &R::workload, "purpose of the cluster");
b.field("priorities", &R::priorities, "priority classes; default: three");
b.field("partitions", &R::partitions, "partitions; default: one per GPU pool");
b.field("tenants", &R::tenants, "teams and quotas");
b.field("services", &R::services, "inference services");
b.field("racks", &R::racks, "racks with another position or power limit");
b.field("cables", &R::cables, "cables that deviate from the wiring rules");
b.field("operations", &R::operations, "operation of the cluster");
b.field("security", &R::security, "access control and auditing");
b.field("checklist", &R::checklist, "completed steps, for `weft checklist`");
b.field("suppress", &R::suppress, "suppressed findings of `weft check`");
WEFT_SCHEMA_END

#undef WEFT_SCHEMA
#undef WEFT_SCHEMA_END

std::optional<Spec> read_spec(const YamlNode& root, Diagnostics& diagnostics) {
  if (root.kind == YamlNode::Kind::null) {
    diagnostics.error(root.place, "the file is empty",
                      "a cluster file starts with `weft: 1`; `weft design` writes one");
    return std::nullopt;
  }
  const std::size_t before = diagnostics.error_count();
  Spec spec;
  Codec<Spec>::read(root, diagnostics, spec);
  if (diagnostics.error_count() != before) return std::nullopt;
  return spec;
}

std::string write_effective(const Spec& spec) {
  YamlWriter writer;
  writer.open();
  schema_of<Spec>().write(&spec, writer);
  writer.close();
  return writer.finish();
}

}  // namespace weft::model
