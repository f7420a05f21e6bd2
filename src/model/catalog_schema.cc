// The schema of the catalog files: every key, its meaning and its limits.
#include "model/catalog.h"

namespace weft::model {

template <class E>
using Choices = std::vector<std::pair<std::string_view, E>>;

const Choices<NetworkKind>& choices_of(NetworkKind) {
  static const Choices<NetworkKind> table{{"ethernet", NetworkKind::ethernet}, {"infiniband", NetworkKind::infiniband}};
  return table;
}
const Choices<FormFactor>& choices_of(FormFactor) {
  static const Choices<FormFactor> table{
      {"osfp", FormFactor::osfp},     {"qsfp-dd", FormFactor::qsfp_dd}, {"qsfp112", FormFactor::qsfp112},
      {"qsfp56", FormFactor::qsfp56}, {"qsfp28", FormFactor::qsfp28},   {"sfp56", FormFactor::sfp56},
      {"sfp28", FormFactor::sfp28},   {"sfp+", FormFactor::sfp_plus},   {"rj45", FormFactor::rj45}};
  return table;
}
const Choices<GpuForm>& choices_of(GpuForm) {
  static const Choices<GpuForm> table{{"sxm", GpuForm::sxm},
                                      {"pcie", GpuForm::pcie},
                                      {"nvl", GpuForm::nvl},
                                      {"oam", GpuForm::oam},
                                      {"superchip", GpuForm::superchip}};
  return table;
}
const Choices<GpuInterconnect>& choices_of(GpuInterconnect) {
  static const Choices<GpuInterconnect> table{{"nvswitch", GpuInterconnect::nvswitch},
                                              {"nvlink-bridge", GpuInterconnect::nvlink_bridge},
                                              {"infinity-fabric", GpuInterconnect::infinity_fabric},
                                              {"pcie", GpuInterconnect::pcie},
                                              {"none", GpuInterconnect::none}};
  return table;
}
const Choices<ServerKind>& choices_of(ServerKind) {
  static const Choices<ServerKind> table{{"gpu", ServerKind::gpu},
                                         {"cpu", ServerKind::cpu},
                                         {"storage", ServerKind::storage},
                                         {"manager", ServerKind::manager}};
  return table;
}
const Choices<PortUse>& choices_of(PortUse) {
  static const Choices<PortUse> table{{"backend", PortUse::backend},
                                      {"storage", PortUse::storage},
                                      {"frontend", PortUse::frontend},
                                      {"oob", PortUse::oob}};
  return table;
}
const Choices<MediumKind>& choices_of(MediumKind) {
  static const Choices<MediumKind> table{
      {"dac", MediumKind::dac}, {"aoc", MediumKind::aoc}, {"fiber", MediumKind::fibre}, {"copper", MediumKind::copper}};
  return table;
}
const Choices<BmcProtocol>& choices_of(BmcProtocol) {
  static const Choices<BmcProtocol> table{{"redfish", BmcProtocol::redfish}, {"ipmi", BmcProtocol::ipmi}};
  return table;
}

namespace {

// The keys common to all catalog items.
template <class Item>
SchemaBuilder<Item> item_schema(std::string_view name, std::string_view help) {
  SchemaBuilder<Item> builder(name, help);
  builder.field("id", &Item::id, "id used in cluster files").required();
  builder.field("name", &Item::name, "full name").required();
  builder.field("vendor", &Item::vendor, "manufacturer").required();
  builder.field("source", &Item::source, "reference for all values of the item").required();
  builder.field("sources", &Item::sources, "references for individual keys, where they differ from `source`");
  return builder;
}

}  // namespace

template <>
const Schema& schema_of<Reference>() {
  static const Schema schema = [] {
    SchemaBuilder<Reference> b("reference", "A source of catalog data.");
    b.field("title", &Reference::title, "title of the document, or the rule used for an estimate").required();
    b.field("publisher", &Reference::publisher, "publisher");
    b.field("url", &Reference::url, "URL");
    b.field("date", &Reference::date, "date of publication or access");
    b.field("estimate", &Reference::estimate, "estimated value; the title states the rule");
    return b.build();
  }();
  return schema;
}

template <>
const Schema& schema_of<MigProfile>() {
  static const Schema schema = [] {
    SchemaBuilder<MigProfile> b("mig-profile", "A MIG (multi-instance GPU) profile.");
    b.field("name", &MigProfile::name, "profile name, such as 1g.10gb").required();
    b.field("compute", &MigProfile::compute, "compute slices").required().range(1, 7);
    b.field("memory_slices", &MigProfile::memory_slices, "memory slices it occupies").required().range(1, 8);
    b.field("memory", &MigProfile::memory, "memory of an instance").required();
    b.field("starts", &MigProfile::starts, "memory slices at which an instance may start").required();
    return b.build();
  }();
  return schema;
}

template <>
const Schema& schema_of<GpuModel>() {
  static const Schema schema = [] {
    auto b = item_schema<GpuModel>("gpu", "A GPU.");
    b.field("form", &GpuModel::form, "form factor").required();
    b.field("architecture", &GpuModel::architecture, "architecture name");
    b.field("memory", &GpuModel::memory, "device memory").required();
    b.field("memory_bandwidth", &GpuModel::memory_bandwidth, "device memory bandwidth").required();
    b.field("dense_flops", &GpuModel::dense_flops, "peak throughput by precision, without sparsity").required();
    b.field("nvlink_bandwidth", &GpuModel::nvlink_bandwidth, "GPU-to-GPU bandwidth, both directions together");
    b.field("nvlink_links", &GpuModel::nvlink_links, "GPU-to-GPU links").range(0, 64);
    b.field("pcie_generation", &GpuModel::pcie_generation, "PCIe generation").range(3, 8);
    b.field("pcie_lanes", &GpuModel::pcie_lanes, "PCIe lanes").range(1, 32);
    b.field("tdp", &GpuModel::tdp, "thermal design power").required();
    b.field("power_limit", &GpuModel::power_limit, "configured power limit; default: the thermal design power");
    b.field("mig", &GpuModel::mig, "MIG profiles; absent: no MIG");
    return b.build();
  }();
  return schema;
}

template <>
const Schema& schema_of<NicModel>() {
  static const Schema schema = [] {
    auto b = item_schema<NicModel>("nic", "A network adapter.");
    b.field("networks", &NicModel::networks, "link layer of its ports").required();
    b.field("ports", &NicModel::ports, "ports").required().range(1, 8);
    b.field("form", &NicModel::form, "cage").required();
    b.field("speeds", &NicModel::speeds, "supported port speeds").required();
    b.field("bandwidth", &NicModel::bandwidth, "total throughput of the card");
    b.field("virtual_functions", &NicModel::virtual_functions, "maximum number of virtual functions per port")
        .range(0, 4096);
    b.field("pcie_generation", &NicModel::pcie_generation, "PCIe generation").range(2, 8);
    b.field("pcie_lanes", &NicModel::pcie_lanes, "PCIe lanes").range(1, 48);
    b.field("rdma", &NicModel::rdma, "supports RDMA");
    b.field("power", &NicModel::power, "maximum power draw");
    return b.build();
  }();
  return schema;
}

template <>
const Schema& schema_of<PortGroup>() {
  static const Schema schema = [] {
    SchemaBuilder<PortGroup> b("ports", "A group of identical server ports.");
    b.field("use", &PortGroup::use, "fabric these ports are intended for").required();
    b.field("nic", &PortGroup::nic, "network adapter");
    b.field("count", &PortGroup::count, "number of ports, all cages together").required().range(1, 64);
    b.field("per_cage", &PortGroup::per_cage, "ports per cage").range(1, 8);
    b.field("form", &PortGroup::form, "cage").required();
    b.field("speeds", &PortGroup::speeds, "port speeds; the first is the default").required();
    b.field("breakouts", &PortGroup::breakouts, "breakout modes of a cage, for several planes");
    b.field("gpus", &PortGroup::gpus, "nearest GPU of each port");
    b.field("numa", &PortGroup::numa, "NUMA node of each port");
    return b.build();
  }();
  return schema;
}

template <>
const Schema& schema_of<ServerModel>() {
  static const Schema schema = [] {
    auto b = item_schema<ServerModel>("server", "A server, storage system or appliance.");
    b.field("kind", &ServerModel::kind, "purpose").required();
    b.field("height", &ServerModel::height, "rack units").required().range(1, 60);
    b.field("gpu", &ServerModel::gpu, "catalog id of its GPUs");
    b.field("gpus", &ServerModel::gpus, "number of GPUs").range(0, 64);
    b.field("interconnect", &ServerModel::interconnect, "GPU interconnect");
    b.field("nvlink_domain", &ServerModel::nvlink_domain, "GPUs per NVLink domain").range(1, 1024);
    b.field("sockets", &ServerModel::sockets, "CPU sockets").range(1, 8);
    b.field("cores", &ServerModel::cores, "CPU cores, all sockets together").range(1, 2048);
    b.field("numa_nodes", &ServerModel::numa_nodes, "NUMA nodes").range(1, 64);
    b.field("gpu_numa", &ServerModel::gpu_numa, "NUMA node of each GPU");
    b.field("memory", &ServerModel::memory, "main memory");
    b.field("local_nvme", &ServerModel::local_nvme, "raw capacity of data drives");
    b.field("psus", &ServerModel::psus, "power supplies").required().range(1, 16);
    b.field("psus_needed", &ServerModel::psus_needed, "power supplies needed at full load").required().range(1, 16);
    b.field("power", &ServerModel::power, "maximum power draw").required();
    b.field("bmc", &ServerModel::bmc, "protocols of its BMC");
    b.field("ports", &ServerModel::ports, "network ports, by fabric").required();
    b.field("controllers", &ServerModel::controllers, "storage controllers").range(0, 64);
    b.field("capacity", &ServerModel::capacity, "usable storage capacity");
    b.field("read", &ServerModel::read, "sequential read throughput of the whole system");
    b.field("write", &ServerModel::write, "sequential write throughput of the whole system");
    b.field("metadata_iops", &ServerModel::metadata_iops, "metadata operations per second").range(0, 1'000'000'000);
    return b.build();
  }();
  return schema;
}

template <>
const Schema& schema_of<CageGroup>() {
  static const Schema schema = [] {
    SchemaBuilder<CageGroup> b("cages", "A group of identical switch cages.");
    b.field("form", &CageGroup::form, "form factor").required();
    b.field("count", &CageGroup::count, "cages").required().range(1, 1024);
    b.field("lanes", &CageGroup::lanes, "electrical lanes per cage").required().range(1, 16);
    b.field("breakouts", &CageGroup::breakouts, "all breakout modes of a cage, including unsplit").required();
    return b.build();
  }();
  return schema;
}

template <>
const Schema& schema_of<SwitchModel>() {
  static const Schema schema = [] {
    auto b = item_schema<SwitchModel>("switch", "A network switch.");
    b.field("network", &SwitchModel::network, "link layer").required();
    b.field("asic", &SwitchModel::asic, "switching ASIC");
    b.field("height", &SwitchModel::height, "rack units").required().range(1, 20);
    b.field("cages", &SwitchModel::cages, "cages").required();
    b.field("radix", &SwitchModel::radix, "number of ports at `radix_speed`, as stated by the vendor")
        .required()
        .range(1, 4096);
    b.field("radix_speed", &SwitchModel::radix_speed, "speed at which the radix is stated").required();
    b.field("capacity", &SwitchModel::capacity, "switching capacity, one direction");
    b.field("buffer", &SwitchModel::buffer, "packet buffer");
    b.field("power", &SwitchModel::power, "maximum power draw").required();
    b.field("psus", &SwitchModel::psus, "power supplies").range(1, 16);
    b.field("systems", &SwitchModel::systems, "network operating systems it runs");
    b.field("lossless", &SwitchModel::lossless, "supports a lossless class");
    b.field("management_ports", &SwitchModel::management_ports, "1G out-of-band ports").range(0, 4);
    return b.build();
  }();
  return schema;
}

template <>
const Schema& schema_of<TransceiverModel>() {
  static const Schema schema = [] {
    auto b = item_schema<TransceiverModel>("transceiver", "A pluggable optical module.");
    b.field("form", &TransceiverModel::form, "form factor of its cage").required();
    b.field("networks", &TransceiverModel::networks, "link layer").required();
    b.field("modes", &TransceiverModel::modes, "supported breakout modes").required();
    b.field("connectors", &TransceiverModel::connectors, "optical connectors").range(1, 8);
    b.field("fibre", &TransceiverModel::fibre, "fiber system").required();
    b.field("reach", &TransceiverModel::reach, "maximum link length").required();
    b.field("power", &TransceiverModel::power, "maximum power draw");
    return b.build();
  }();
  return schema;
}

template <>
const Schema& schema_of<CableModel>() {
  static const Schema schema = [] {
    auto b = item_schema<CableModel>("cable", "A cable (active or passive) or a fiber.");
    b.field("kind", &CableModel::kind, "kind of cable").required();
    b.field("networks", &CableModel::networks, "link layer").required();
    b.field("speed", &CableModel::speed, "speed of one link; absent for fiber");
    b.field("from", &CableModel::from, "connector at the trunk end; absent for fiber");
    b.field("to", &CableModel::to, "connector at the other ends; absent for fiber");
    b.field("branches", &CableModel::branches, "number of links at the trunk end").range(1, 8);
    b.field("fibre", &CableModel::fibre, "fiber system; only for kind fiber");
    b.field("lengths", &CableModel::lengths, "available lengths, ascending").required();
    return b.build();
  }();
  return schema;
}

template <>
const Schema& schema_of<PduModel>() {
  static const Schema schema = [] {
    auto b = item_schema<PduModel>("pdu", "A rack power distribution unit.");
    b.field("rating", &PduModel::rating, "maximum load").required();
    b.field("outlets", &PduModel::outlets, "outlets").required().range(1, 96);
    b.field("management_ports", &PduModel::management_ports, "1G out-of-band ports").range(0, 2);
    return b.build();
  }();
  return schema;
}

template <>
const Schema& schema_of<RackModel>() {
  static const Schema schema = [] {
    auto b = item_schema<RackModel>("rack", "A rack.");
    b.field("height", &RackModel::height, "rack units").required().range(4, 70);
    b.field("width", &RackModel::width, "outer width").required();
    b.field("depth", &RackModel::depth, "outer depth").required();
    return b.build();
  }();
  return schema;
}

template <>
const Schema& schema_of<CatalogFile>() {
  static const Schema schema = [] {
    SchemaBuilder<CatalogFile> b("catalog", "Hardware that cluster files can refer to.");
    b.field("references", &CatalogFile::references, "references, by id");
    b.field("gpus", &CatalogFile::gpus, "GPUs");
    b.field("nics", &CatalogFile::nics, "network adapters");
    b.field("servers", &CatalogFile::servers, "servers, storage systems and appliances");
    b.field("switches", &CatalogFile::switches, "switches");
    b.field("transceivers", &CatalogFile::transceivers, "optical modules");
    b.field("cables", &CatalogFile::cables, "cables and fibers");
    b.field("pdus", &CatalogFile::pdus, "power distribution units");
    b.field("racks", &CatalogFile::racks, "racks");
    return b.build();
  }();
  return schema;
}

}  // namespace weft::model
