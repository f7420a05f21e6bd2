// The tables of the cluster file: every key, its meaning and its limits. Defaults stand with the members in spec.h;
// those that depend on the rest of the file are worked out in resolve.cc.
#include "model/spec.h"

namespace weft::model {

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

// Opens a table that is built once, on first use.
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

WEFT_SCHEMA(SiteSpec, "site", "The floor: rows of racks, power feeds, and where switches stand.")
b.field("domain", &R::domain, "DNS domain of the cluster; default: <name>.internal");
b.field("feeds", &R::feeds, "independent power feeds").range(1, 8);
b.field("row_length", &R::row_length, "server racks in a row").range(1, 200);
b.field("row_pitch", &R::row_pitch, "distance from row to row, aisle included");
b.field("cable_slack", &R::cable_slack, "length added to every run");
b.field("rack", &R::rack, "catalog id of the racks");
b.field("pdu", &R::pdu, "catalog id of the power distribution units");
b.field("pdus_per_rack", &R::pdus_per_rack, "power distribution units in a server rack").range(1, 8);
b.field("rack_power", &R::rack_power, "most that one rack may draw; default: its PDUs with one feed lost");
b.field("switches", &R::switches, "switches stand in central racks, or leaves at the end of each row");
b.field("service_racks", &R::service_racks, "central racks for switches and small pools; default: as needed")
    .range(1, 10000);
b.field("service_rack_pdus", &R::service_rack_pdus, "power distribution units in a service rack").range(1, 8);
WEFT_SCHEMA_END

WEFT_SCHEMA(LinksSpec, "links", "How many ports of a server each fabric uses.")
b.field("backend", &R::backend, "backend ports (rails)").range(0, 16);
b.field("storage", &R::storage, "storage ports (rails)").range(0, 16);
b.field("frontend", &R::frontend, "frontend ports").range(0, 8);
b.field("oob", &R::oob, "out-of-band ports, the BMC's first").range(1, 4);
WEFT_SCHEMA_END

WEFT_SCHEMA(HostOverride, "override", "What is different about some hosts of a pool.")
b.field("hosts", &R::hosts, "the hosts, as a range").required();
b.field("server", &R::server, "other hardware with the same ports");
b.field("rack", &R::rack, "another rack of the pool");
b.field("labels", &R::labels, "labels in addition to the pool's");
b.field("addresses", &R::addresses, "addresses by port (be1, sto1, fe1, bmc)");
WEFT_SCHEMA_END

WEFT_SCHEMA(BiosSpec, "bios", "Firmware settings of a pool's servers.")
b.field("numa", &R::numa, "memory and devices are shown by NUMA node");
b.field("performance", &R::performance, "cores never slow down to save power");
b.field("hyper_threading", &R::hyper_threading, "two threads a core");
b.field("sriov", &R::sriov, "NICs may have virtual functions");
WEFT_SCHEMA_END

WEFT_SCHEMA(PoolSpec, "pool", "A group of equal servers with one purpose.")
b.field("name", &R::name, "name of the pool; hosts are named after it").required();
b.field("role", &R::role, "what the servers are for");
b.field("server", &R::server, "catalog id of the server").required();
b.field("count", &R::count, "how many servers").required().range(1, 1'000'000);
b.field("hosts", &R::hosts, "host names as a range; default: the pool's name and a number");
b.field("per_rack", &R::per_rack, "servers in one rack; default: what height and power allow").range(1, 100);
b.field("racks", &R::racks,
        "rack names as a range, or `service`: among the switches; default: the pool's name and a number");
b.field("pdus_per_rack", &R::pdus_per_rack, "power distribution units in each of its racks").range(1, 8);
b.field("unit", &R::unit, "servers that share a group of leaves").range(1, 4096);
b.field("links", &R::links, "ports used on each fabric; default: what the profile and the role say");
b.field("address_offset", &R::address_offset, "first host number (or unit number) in address plans")
    .range(0, 10'000'000);
b.field("labels", &R::labels, "node labels");
b.field("taints", &R::taints, "node taints, key=value:Effect");
b.field("mig", &R::mig, "MIG instances on each GPU, by profile");
b.field("time_slices", &R::time_slices, "jobs that share a GPU by time-slicing").range(1, 64);
b.field("pods_per_node", &R::pods_per_node, "training pods on one node").range(1, 64);
b.field("spares", &R::spares, "servers kept free for jobs that lose one").range(0, 100'000);
b.field("bios", &R::bios, "firmware settings");
b.field("overrides", &R::overrides, "hosts that differ");
WEFT_SCHEMA_END

WEFT_SCHEMA(QosSpec, "qos", "How the fabric keeps its traffic lossless.")
b.field("lossless", &R::lossless, "whether it has a lossless class");
b.field("priority", &R::priority, "priority, queue and traffic class of lossless data").range(0, 7);
b.field("dscp", &R::dscp, "DSCP of lossless data").range(0, 63);
b.field("cnp_priority", &R::cnp_priority, "priority of congestion notifications").range(0, 7);
b.field("cnp_dscp", &R::cnp_dscp, "DSCP of congestion notifications").range(0, 63);
b.field("ecn_min", &R::ecn_min, "queue length where ECN marking starts; default: 2 KB for each Gb/s");
b.field("ecn_max", &R::ecn_max, "queue length where marking reaches `ecn_percent`; default: four times ecn_min");
b.field("ecn_percent", &R::ecn_percent, "marking probability at ecn_max").range(1, 100);
b.field("ecn", &R::ecn, "whether switches mark packets when queues grow");
b.field("trust", &R::trust, "the field of a packet that NICs and switches classify by");
b.field("pfc", &R::pfc, "priority flow control: on, negotiated (auto) or off");
b.field("pfc_priorities", &R::pfc_priorities, "priorities that may pause; default: `priority` alone");
b.field("global_pause", &R::global_pause, "802.3x pause, which stops every class at once");
b.field("pfc_watchdog", &R::pfc_watchdog, "whether stuck pauses are broken");
b.field("watchdog_detection", &R::watchdog_detection,
        "time until a pause counts as stuck; default: 200 ms for each 32 ports");
b.field("watchdog_restoration", &R::watchdog_restoration, "time without pause until the queue is used again");
b.field("watchdog_poll", &R::watchdog_poll, "how often the watchdog looks");
b.field("watchdog_action", &R::watchdog_action, "what happens to packets of a stuck queue");
b.field("bandwidth_percent", &R::bandwidth_percent, "share of a link that the lossless class is sure of").range(1, 99);
WEFT_SCHEMA_END

WEFT_SCHEMA(ManagerSpec, "manager", "A fabric manager cabled to the leaves.")
b.field("name", &R::name, "name; hosts are named after it").required();
b.field("server", &R::server, "catalog id").required();
b.field("count", &R::count, "appliances").range(1, 16);
b.field("ports", &R::ports, "ports of each on this fabric").range(1, 8);
b.field("speed", &R::speed, "speed of these ports; default: the appliance's");
b.field("breakout", &R::breakout, "mode of the leaf's cage");
b.field("back_to_back", &R::back_to_back, "a direct cable between each pair");
WEFT_SCHEMA_END

WEFT_SCHEMA(ExternalSpec, "external", "Links from the top tier to the site's own network.")
b.field("links", &R::links, "links, all switches together").range(0, 1024);
b.field("speed", &R::speed, "speed of one; default: the uplinks'");
WEFT_SCHEMA_END

WEFT_SCHEMA(FabricSpec, "fabric", "One of the three data fabrics.")
b.field("network", &R::network, "Ethernet (RoCEv2) or InfiniBand");
b.field("speed", &R::speed, "speed of host ports; default: the servers' first");
b.field("leaf", &R::leaf, "catalog id of the leaf switches");
b.field("spine", &R::spine, "catalog id of the spines; default: the leaf's");
b.field("core", &R::core, "catalog id of the cores; default: the spine's");
b.field("wiring", &R::wiring, "how server ports meet leaves");
b.field("tiers", &R::tiers, "tiers of switches");
b.field("planes", &R::planes, "parallel copies of the fabric; each host cage is split over them").range(1, 4);
b.field("oversubscription", &R::oversubscription, "down : up at a leaf");
b.field("spine_oversubscription", &R::spine_oversubscription, "down : up at a spine, in three tiers");
b.field("uplinks", &R::uplinks, "uplinks of one leaf, instead of oversubscription").range(1, 512);
b.field("uplink_speed", &R::uplink_speed, "speed between switches");
b.field("breakout", &R::breakout, "mode of leaf cages that face servers");
b.field("storage_breakout", &R::storage_breakout, "mode of leaf cages that face storage servers");
b.field("storage_oversubscription", &R::storage_oversubscription, "down : up at leaves of storage servers");
b.field("spines", &R::spines, "at least this many spines").range(1, 512);
b.field("peer_links", &R::peer_links, "links between the leaves of a pair").range(0, 16);
b.field("media", &R::media, "kinds of cable, most wanted first");
b.field("storage_media", &R::storage_media, "kinds of cable to storage servers");
b.field("system", &R::system, "network operating system of the switches; default: the leaf model's first");
b.field("mtu", &R::mtu, "MTU of host ports").range(576, 65520);
b.field("switch_mtu", &R::switch_mtu, "MTU of switch ports; default: 9216 where hosts send jumbo frames")
    .range(576, 65520);
b.field("bond", &R::bond, "servers join their links with LACP");
b.field("load_balancing", &R::load_balancing, "how flows are spread over equal paths");
b.field("hash_seeds", &R::hash_seeds, "each tier hashes with a seed of its own");
b.field("bfd", &R::bfd, "lost neighbors are noticed by BFD");
b.field("default_route", &R::default_route, "servers have a default route here");
b.field("routes_to", &R::routes_to, "fabrics with which its VRF exchanges routes");
b.field("vrf", &R::vrf, "VRF name");
b.field("vlan", &R::vlan, "first VLAN; rails count up from it").range(1, 4094);
b.field("subnets", &R::subnets, "one subnet a rail (backend, storage), or one in all (frontend)");
b.field("ipv6", &R::ipv6, "a /48 that makes the fabric dual-stack");
b.field("switch_links", &R::switch_links, "whether links between switches have addresses");
b.field("switch_link_subnet", &R::switch_link_subnet, "where these addresses come from");
b.field("loopbacks", &R::loopbacks, "where switch loopbacks come from");
b.field("asn", &R::asn, "first BGP number").range(1, 4'294'000'000);
b.field("qos", &R::qos, "lossless class, ECN, watchdog");
b.field("managers", &R::managers, "fabric managers");
b.field("external", &R::external, "links to the site's network");
WEFT_SCHEMA_END

WEFT_SCHEMA(OobServicesSpec, "oob-services", "Where services that the out-of-band network leans on run.")
b.field("dns", &R::dns, "name service");
b.field("dhcp", &R::dhcp, "address service");
b.field("directory", &R::directory, "logins: LDAP, TACACS+ or RADIUS; none: local accounts");
b.field("time", &R::time, "time service");
WEFT_SCHEMA_END

WEFT_SCHEMA(BmcSpec, "bmc", "How BMCs are set up.")
b.field("ipmi_over_lan", &R::ipmi_over_lan, "IPMI is answered over the network, beside Redfish");
b.field("cipher_suites", &R::cipher_suites, "IPMI cipher suites that are allowed");
b.field("default_credentials", &R::default_credentials, "some still have the maker's password");
b.field("unique_passwords", &R::unique_passwords, "each has a password of its own");
b.field("verify_tls", &R::verify_tls, "clients check its certificate");
b.field("firewall", &R::firewall, "it answers the management subnet alone");
b.field("host_interface", &R::host_interface, "its host may talk to it without restriction");
b.field("firmware_measured", &R::firmware_measured, "firmware versions and images are held against a list");
WEFT_SCHEMA_END

WEFT_SCHEMA(OobSpec, "oob", "The out-of-band management fabric.")
b.field("leaf", &R::leaf, "catalog id of the 1G switches");
b.field("spine", &R::spine, "catalog id of the aggregation switches, in pairs");
b.field("uplinks", &R::uplinks, "uplinks of one leaf").range(1, 8);
b.field("uplink_speed", &R::uplink_speed, "speed of an uplink");
b.field("uplink_to_frontend", &R::uplink_to_frontend, "hang off the frontend instead of an own aggregation");
b.field("subnet", &R::subnet, "subnet of all management addresses");
b.field("vlan", &R::vlan, "VLAN").range(1, 4094);
b.field("vrf", &R::vrf, "VRF name");
b.field("mtu", &R::mtu, "MTU").range(576, 9216);
b.field("spare_percent", &R::spare_percent, "ports kept free on each leaf").range(0, 90);
b.field("syslog", &R::syslog, "where access to BMCs and switches is logged");
b.field("credentials", &R::credentials, "reference to the credentials, never a secret");
b.field("system", &R::system, "network operating system of its switches; default: the leaf model's first");
b.field("entry", &R::entry, "how people reach the jump host from outside");
b.field("gateway", &R::gateway, "the network its VRF has a route to");
b.field("jump_only", &R::jump_only, "an access list lets jump hosts alone reach BMCs");
b.field("services", &R::services, "where the services it leans on run");
b.field("bmc", &R::bmc, "how BMCs are set up");
b.field("config_backup", &R::config_backup, "configurations of its switches are kept elsewhere");
WEFT_SCHEMA_END

WEFT_SCHEMA(FabricsSpec, "fabrics", "The four physically separate networks.")
b.field("backend", &R::backend, "GPU to GPU");
b.field("storage", &R::storage, "datasets and checkpoints");
b.field("frontend", &R::frontend, "control plane and users");
b.field("oob", &R::oob, "BMCs and consoles");
WEFT_SCHEMA_END

WEFT_SCHEMA(VolumeSpec, "volume", "A volume of a storage system.")
b.field("name", &R::name, "name").required();
b.field("purpose", &R::purpose, "what it holds");
b.field("size", &R::size, "size").required();
b.field("replicas", &R::replicas, "copies inside the system").range(1, 8);
b.field("replicate_to", &R::replicate_to, "another storage system that holds a copy");
b.field("snapshots", &R::snapshots, "time between snapshots");
b.field("read_only", &R::read_only, "mounted read-only by jobs");
b.field("files", &R::files, "about how many files it holds").range(0, 1'000'000'000'000);
WEFT_SCHEMA_END

WEFT_SCHEMA(StorageSpec, "storage-system", "A storage system.")
b.field("name", &R::name, "name").required();
b.field("kind", &R::kind, "what it is");
b.field("tier", &R::tier, "hot (node-local), warm (parallel file system), cold (object)");
b.field("pool", &R::pool, "the pool of servers it runs on").required();
b.field("targets", &R::targets, "storage targets (OSTs, namespaces); default: one a server").range(1, 100000);
b.field("metadata_servers", &R::metadata_servers, "metadata servers").range(0, 1000);
b.field("metadata_striping", &R::metadata_striping, "large directories are spread over the metadata servers");
b.field("stripe_count", &R::stripe_count, "targets a large file is spread over").range(1, 2000);
b.field("stripe_size", &R::stripe_size, "bytes on one target before the next");
b.field("read", &R::read, "read throughput of the whole system; default: from its servers");
b.field("write", &R::write, "write throughput of the whole system");
b.field("capacity", &R::capacity, "usable capacity; default: from its servers");
b.field("multipath", &R::multipath, "how clients use their paths");
b.field("security", &R::security, "how clients are authenticated");
b.field("provisioner", &R::provisioner, "CSI driver that makes volumes of it; default: the usual one of its kind");
b.field("volumes", &R::volumes, "its volumes");
WEFT_SCHEMA_END

WEFT_SCHEMA(ControlPlaneSpec, "control-plane", "Who schedules, and where it runs.")
b.field("kind", &R::kind, "Kubernetes, Slurm or both");
b.field("pool", &R::pool, "the pool it runs on; default: the first infrastructure pool");
b.field("etcd_members", &R::etcd_members, "etcd members (or Slurm controllers)").range(1, 9);
b.field("allocator", &R::allocator, "who owns the GPUs: one source of truth");
b.field("node_feature_discovery", &R::node_feature_discovery, "whether hardware labels are discovered");
b.field("signed_images", &R::signed_images, "whether unsigned images are refused");
b.field("api_limits", &R::api_limits, "the API server bounds what one client may ask");
b.field("ingress_replicas", &R::ingress_replicas, "copies of the gateway").range(1, 1000);
b.field("asn", &R::asn, "BGP number of the nodes that announce service addresses").range(1, 4'294'967'294);
b.field("pod_subnet", &R::pod_subnet, "addresses of pods on the primary network");
b.field("service_subnet", &R::service_subnet, "virtual addresses of services inside the cluster");
WEFT_SCHEMA_END

WEFT_SCHEMA(QuotaSpec, "quota", "What a tenant may hold at once.")
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
b.field("gpus_per_container", &R::gpus_per_container, "most GPUs of one container").range(1, 64);
WEFT_SCHEMA_END

WEFT_SCHEMA(PartitionSpec, "partition", "Pools under one queue.")
b.field("name", &R::name, "name").required();
b.field("pools", &R::pools, "its pools").required();
b.field("constraints", &R::constraints, "labels (key=value) that its jobs must ask for");
b.field("time_limit", &R::time_limit, "longest job");
b.field("priority", &R::priority, "priority class of its jobs");
WEFT_SCHEMA_END

WEFT_SCHEMA(PrioritySpec, "priority", "A priority class.")
b.field("name", &R::name, "name").required();
b.field("value", &R::value, "higher goes first").required().range(-1'000'000'000, 1'000'000'000);
b.field("preemptible", &R::preemptible, "whether its jobs may be evicted for higher ones");
WEFT_SCHEMA_END

WEFT_SCHEMA(ServiceSpec, "service", "An inference service.")
b.field("name", &R::name, "name").required();
b.field("pool", &R::pool, "the pool it runs on").required();
b.field("tenant", &R::tenant, "whose it is");
b.field("gpus", &R::gpus, "GPUs of one replica").range(1, 1024);
b.field("mig", &R::mig, "MIG profile of one replica, instead of gpus");
b.field("min_replicas", &R::min_replicas, "fewest replicas").range(1, 100000);
b.field("max_replicas", &R::max_replicas, "most replicas").range(1, 100000);
b.field("port", &R::port, "TCP port").range(1, 65535);
b.field("priority", &R::priority, "priority class");
b.field("target_percent", &R::target_percent, "GPU utilization to scale at").range(1, 100);
b.field("timeout", &R::timeout, "longest request");
b.field("balancing", &R::balancing, "how requests are spread over replicas");
b.field("sticky", &R::sticky, "a session stays with its replica");
b.field("probe", &R::probe, "how a replica shows that it is ready");
b.field("min_available", &R::min_available, "replicas that an upgrade leaves running").range(0, 100000);
b.field("host", &R::host, "name that clients use; default: <name>.<site.domain>");
b.field("image", &R::image, "container image; default: vLLM from the site's registry");
WEFT_SCHEMA_END

WEFT_SCHEMA(WorkloadSpec, "workload", "What the cluster is for; storage is sized by it.")
b.field("training_percent", &R::training_percent, "share of training").range(0, 100);
b.field("inference_percent", &R::inference_percent, "share of inference").range(0, 100);
b.field("data", &R::data, "storage class: good (text), better (images), best (video, read once)");
b.field("working_set", &R::working_set, "data one node works on, for node-local scratch");
b.field("checkpoint", &R::checkpoint, "size of one checkpoint, all ranks together");
b.field("checkpoint_time", &R::checkpoint_time, "time in which a checkpoint must be written");
b.field("checkpoint_interval", &R::checkpoint_interval, "time from one checkpoint to the next");
b.field("elastic", &R::elastic, "jobs go on with fewer nodes after a loss");
b.field("max_restarts", &R::max_restarts, "restarts before a job is given up").range(0, 1000);
b.field("environment", &R::environment, "variables of every job (NCCL_IB_TC, UCX_NET_DEVICES, ...)");
WEFT_SCHEMA_END

WEFT_SCHEMA(OperationsSpec, "operations", "How the cluster is kept running after the first day.")
b.field("configuration", &R::configuration, "how configuration reaches devices: from code, or by hand");
b.field("remediation", &R::remediation, "who takes an ill node out: a program or a person");
b.field("monitoring", &R::monitoring, "metrics are gathered and alerts are set");
b.field("gpu_metrics", &R::gpu_metrics, "GPU health (DCGM) is among them");
b.field("checkpoint_recovery_tested", &R::checkpoint_recovery_tested, "a job was restarted from its checkpoint");
b.field("failure_drills", &R::failure_drills, "a switch, a node and a storage controller were failed on purpose");
WEFT_SCHEMA_END

WEFT_SCHEMA(SecuritySpec, "security", "Who may do what.")
b.field("sign_on", &R::sign_on, "how people log in");
b.field("secrets", &R::secrets, "where secrets are kept");
b.field("network_policy", &R::network_policy, "what namespaces of the frontend do by default");
b.field("rdma_policies", &R::rdma_policies, "network policies are meant to cover RDMA interfaces");
b.field("slurm_rest", &R::slurm_rest, "how slurmrestd knows its callers");
b.field("munge_key_mode", &R::munge_key_mode, "file mode of the MUNGE key, in octal");
b.field("audit", &R::audit, "every action is logged");
b.field("registry", &R::registry, "where container images come from; default: registry.<site.domain>");
WEFT_SCHEMA_END

WEFT_SCHEMA(SuppressionSpec, "suppression", "A finding of `weft check` that is accepted.")
b.field("rule", &R::rule, "id of the rule").required();
b.field("subject", &R::subject, "device, pool, fabric or file it is about, with * as a wildcard; default: all");
b.field("reason", &R::reason, "why it is accepted").required();
b.field("until", &R::until, "last day on which it is, YYYY-MM-DD");
WEFT_SCHEMA_END

WEFT_SCHEMA(RackSpec, "rack-position", "Where a rack stands and what it may draw.")
b.field("name", &R::name, "name of the rack").required();
b.field("row", &R::row, "row on the floor").range(-10000, 10000);
b.field("position", &R::position, "place in the row").range(0, 10000);
b.field("power", &R::power, "most it may draw");
b.field("pdus", &R::pdus, "power distribution units").range(1, 8);
WEFT_SCHEMA_END

WEFT_SCHEMA(CableSpec, "cable-run", "A cable laid otherwise than the rules would.")
b.field("from", &R::from, "the port whose cable moves, host:port").required();
b.field("to", &R::to, "the switch port it goes to, switch:port").required();
b.field("length", &R::length, "length of the run");
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
b.field("workload", &R::workload, "what the cluster is for");
b.field("priorities", &R::priorities, "priority classes; default: three");
b.field("partitions", &R::partitions, "partitions; default: one for each GPU pool");
b.field("tenants", &R::tenants, "teams and quotas");
b.field("services", &R::services, "inference services");
b.field("racks", &R::racks, "racks that stand or draw otherwise than the rest");
b.field("cables", &R::cables, "cables laid otherwise than the rules would");
b.field("operations", &R::operations, "how it is kept running");
b.field("security", &R::security, "who may do what");
b.field("checklist", &R::checklist, "what has been done, for `weft checklist`");
b.field("suppress", &R::suppress, "findings of `weft check` that are accepted");
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
