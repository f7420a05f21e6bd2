// The hardware catalog: device models and their facts, each with its source. Loaded from catalog/*.yaml (built in) and
// from users' own files, which may add items or replace them by id. Consistency is checked after loading: cages add up
// to the radix, breakouts add up to the cage's lanes, MIG slices fit, every item names a known source.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "model/schema.h"

namespace weft::model {

enum class NetworkKind { ethernet, infiniband };
enum class FormFactor { osfp, qsfp_dd, qsfp112, qsfp56, qsfp28, sfp56, sfp28, sfp_plus, rj45 };
enum class GpuForm { sxm, pcie, nvl, oam, superchip };
enum class GpuInterconnect { nvswitch, nvlink_bridge, infinity_fabric, pcie, none };
enum class ServerKind { gpu, cpu, storage, manager };
enum class PortUse { backend, storage, frontend, oob };
enum class MediumKind { dac, aoc, fibre, copper };
enum class BmcProtocol { redfish, ipmi };

const std::vector<std::pair<std::string_view, NetworkKind>>& choices_of(NetworkKind);
const std::vector<std::pair<std::string_view, FormFactor>>& choices_of(FormFactor);
const std::vector<std::pair<std::string_view, GpuForm>>& choices_of(GpuForm);
const std::vector<std::pair<std::string_view, GpuInterconnect>>& choices_of(GpuInterconnect);
const std::vector<std::pair<std::string_view, ServerKind>>& choices_of(ServerKind);
const std::vector<std::pair<std::string_view, PortUse>>& choices_of(PortUse);
const std::vector<std::pair<std::string_view, MediumKind>>& choices_of(MediumKind);
const std::vector<std::pair<std::string_view, BmcProtocol>>& choices_of(BmcProtocol);

// Where facts come from. `estimate: true` marks an estimate by weft; its `title` then states the rule it follows.
struct Reference {
  using IsRecord = void;
  SourceLocation place;
  Sourced<std::string> title;
  Sourced<std::string> publisher;
  Sourced<std::string> url;
  Sourced<std::string> date;
  Sourced<bool> estimate{false};
};

// Common to every item: `source` covers all facts of the item, `sources` overrides it for individual keys.
#define WEFT_CATALOG_ITEM      \
  using IsRecord = void;       \
  SourceLocation place;        \
  Sourced<Name> id;            \
  Sourced<std::string> name;   \
  Sourced<std::string> vendor; \
  Sourced<std::string> source; \
  Sourced<NamedValues<std::string>> sources

struct MigProfile {
  using IsRecord = void;
  SourceLocation place;
  Sourced<std::string> name;            // 1g.10gb
  Sourced<std::int64_t> compute;        // compute slices, of 7
  Sourced<std::int64_t> memory_slices;  // memory slices it occupies, of 8
  Sourced<Bytes> memory;
  Sourced<std::vector<std::int64_t>> starts;  // memory slices at which an instance may start
};

struct GpuModel {
  WEFT_CATALOG_ITEM;
  Sourced<GpuForm> form;
  Sourced<std::string> architecture;
  Sourced<Bytes> memory;
  Sourced<ByteRate> memory_bandwidth;
  Sourced<NamedValues<Flops>> dense_flops;  // fp64, fp32, tf32, bf16, fp16, fp8, fp4, int8: without sparsity
  Sourced<ByteRate> nvlink_bandwidth;       // GPU to GPU fabric, both directions together; absent if PCIe only
  Sourced<std::int64_t> nvlink_links;
  Sourced<std::int64_t> pcie_generation;
  Sourced<std::int64_t> pcie_lanes;
  Sourced<Power> tdp;
  Sourced<Power> power_limit;            // configured below the tdp; absent: the tdp
  Sourced<std::vector<MigProfile>> mig;  // absent: no MIG, share by time-slicing
};

struct NicModel {
  WEFT_CATALOG_ITEM;
  Sourced<std::vector<NetworkKind>> networks;
  Sourced<std::int64_t> ports;
  Sourced<FormFactor> form;
  Sourced<std::vector<BitRate>> speeds;     // a port can run at any of these
  Sourced<BitRate> bandwidth;               // of the whole NIC
  Sourced<std::int64_t> virtual_functions;  // maximum per port
  Sourced<std::int64_t> pcie_generation;
  Sourced<std::int64_t> pcie_lanes;
  Sourced<bool> rdma{true};
  Sourced<Power> power;
};

// A group of equal ports of a server. Port p is in cage p / per_cage.
struct PortGroup {
  using IsRecord = void;
  SourceLocation place;
  Sourced<PortUse> use;
  Sourced<std::string> nic;
  Sourced<std::int64_t> count;  // ports, all cages together
  Sourced<std::int64_t> per_cage{1};
  Sourced<FormFactor> form;
  Sourced<std::vector<BitRate>> speeds;      // port speeds; the first is the default
  Sourced<std::vector<Breakout>> breakouts;  // ways to split one cage across several planes (2x400G)
  Sourced<std::vector<std::int64_t>> gpus;   // GPU that port p is nearest to
  Sourced<std::vector<std::int64_t>> numa;   // NUMA node of port p
};

struct ServerModel {
  WEFT_CATALOG_ITEM;
  Sourced<ServerKind> kind;
  Sourced<std::int64_t> height;  // rack units
  Sourced<std::string> gpu;
  Sourced<std::int64_t> gpus{0};
  Sourced<GpuInterconnect> interconnect{GpuInterconnect::none};
  Sourced<std::int64_t> nvlink_domain;  // GPUs that reach each other over NVLink (72 for NVL72); default: gpus
  Sourced<std::int64_t> sockets;
  Sourced<std::int64_t> cores;  // all sockets together
  Sourced<std::int64_t> numa_nodes{1};
  Sourced<std::vector<std::int64_t>> gpu_numa;  // NUMA node of GPU g
  Sourced<Bytes> memory;
  Sourced<Bytes> local_nvme{Bytes(0)};  // data drives, raw
  Sourced<std::int64_t> psus;
  Sourced<std::int64_t> psus_needed;  // supplies needed for full load
  Sourced<Power> power;               // maximum draw
  Sourced<std::vector<BmcProtocol>> bmc;
  Sourced<std::vector<PortGroup>> ports;
  Sourced<std::int64_t> controllers{0};  // storage arrays
  Sourced<Bytes> capacity{Bytes(0)};     // storage: usable
  Sourced<ByteRate> read{ByteRate{}};    // storage: sequential, whole appliance
  Sourced<ByteRate> write{ByteRate{}};
  Sourced<std::int64_t> metadata_iops{0};
};

struct CageGroup {
  using IsRecord = void;
  SourceLocation place;
  Sourced<FormFactor> form;
  Sourced<std::int64_t> count;
  Sourced<std::int64_t> lanes;
  Sourced<std::vector<Breakout>> breakouts;  // every mode, unsplit ones too ("1x800G")
};

struct SwitchModel {
  WEFT_CATALOG_ITEM;
  Sourced<NetworkKind> network;
  Sourced<std::string> asic;
  Sourced<std::int64_t> height;
  Sourced<std::vector<CageGroup>> cages;
  Sourced<std::int64_t> radix;  // ports at `radix_speed`, as the vendor states it
  Sourced<BitRate> radix_speed;
  Sourced<BitRate> capacity;  // one direction
  Sourced<Bytes> buffer;
  Sourced<Power> power;  // maximum with optics
  Sourced<std::int64_t> psus{2};
  Sourced<std::vector<std::string>> systems;  // nos names: sonic, nxos, eos, cumulus, junos, mlnx-os, nvos
  Sourced<bool> lossless{true};               // PFC or credits, ECN
  Sourced<std::int64_t> management_ports{1};
};

struct TransceiverModel {
  WEFT_CATALOG_ITEM;
  Sourced<FormFactor> form;
  Sourced<std::vector<NetworkKind>> networks;
  Sourced<std::vector<Breakout>> modes;  // cage modes it serves
  Sourced<std::int64_t> connectors{1};   // fiber plugs; a twin-port module has 2
  Sourced<std::string> fibre;            // fiber system: mmf-mpo12-apc, smf-mpo12-apc, smf-lc, ...
  Sourced<Length> reach;
  Sourced<Power> power;
};

struct CableModel {
  WEFT_CATALOG_ITEM;
  Sourced<MediumKind> kind;
  Sourced<std::vector<NetworkKind>> networks;
  Sourced<BitRate> speed;    // of one link; absent for fiber, where the transceivers decide
  Sourced<FormFactor> from;  // trunk end of a splitter
  Sourced<FormFactor> to;
  Sourced<std::int64_t> branches{1};     // links from the trunk end
  Sourced<std::string> fibre;            // for kind fibre: the fiber system it belongs to
  Sourced<std::vector<Length>> lengths;  // available lengths, ascending; the last is the longest allowed
};

struct PduModel {
  WEFT_CATALOG_ITEM;
  Sourced<Power> rating;
  Sourced<std::int64_t> outlets;
  Sourced<std::int64_t> management_ports{1};
};

struct RackModel {
  WEFT_CATALOG_ITEM;
  Sourced<std::int64_t> height;  // rack units
  Sourced<Length> width;
  Sourced<Length> depth;
};

#undef WEFT_CATALOG_ITEM

struct CatalogFile {
  using IsRecord = void;
  SourceLocation place;
  Sourced<NamedValues<Reference>> references;
  Sourced<std::vector<GpuModel>> gpus;
  Sourced<std::vector<NicModel>> nics;
  Sourced<std::vector<ServerModel>> servers;
  Sourced<std::vector<SwitchModel>> switches;
  Sourced<std::vector<TransceiverModel>> transceivers;
  Sourced<std::vector<CableModel>> cables;
  Sourced<std::vector<PduModel>> pdus;
  Sourced<std::vector<RackModel>> racks;
};

class Catalog {
 public:
  // The catalog that weft ships with.
  static Catalog built_in(Sources& sources, Diagnostics& diagnostics);

  // Adds a file's items; an id that exists already is replaced (and must be of the same table).
  void add(const YamlNode& root, Diagnostics& diagnostics);
  // Cross-checks everything added so far. Call once, after the last add().
  void check(Diagnostics& diagnostics) const;

  [[nodiscard]] const GpuModel* gpu(std::string_view id) const;
  [[nodiscard]] const NicModel* nic(std::string_view id) const;
  [[nodiscard]] const ServerModel* server(std::string_view id) const;
  [[nodiscard]] const SwitchModel* switch_model(std::string_view id) const;
  [[nodiscard]] const TransceiverModel* transceiver(std::string_view id) const;
  [[nodiscard]] const CableModel* cable(std::string_view id) const;
  [[nodiscard]] const PduModel* pdu(std::string_view id) const;
  [[nodiscard]] const RackModel* rack(std::string_view id) const;

  [[nodiscard]] const std::vector<GpuModel>& gpus() const { return gpus_; }
  [[nodiscard]] const std::vector<NicModel>& nics() const { return nics_; }
  [[nodiscard]] const std::vector<ServerModel>& servers() const { return servers_; }
  [[nodiscard]] const std::vector<SwitchModel>& switches() const { return switches_; }
  [[nodiscard]] const std::vector<TransceiverModel>& transceivers() const { return transceivers_; }
  [[nodiscard]] const std::vector<CableModel>& cables() const { return cables_; }
  [[nodiscard]] const std::vector<PduModel>& pdus() const { return pdus_; }
  [[nodiscard]] const std::vector<RackModel>& racks() const { return racks_; }
  [[nodiscard]] const NamedValues<Reference>& references() const { return references_; }

 private:
  NamedValues<Reference> references_;
  std::vector<GpuModel> gpus_;
  std::vector<NicModel> nics_;
  std::vector<ServerModel> servers_;
  std::vector<SwitchModel> switches_;
  std::vector<TransceiverModel> transceivers_;
  std::vector<CableModel> cables_;
  std::vector<PduModel> pdus_;
  std::vector<RackModel> racks_;
};

}  // namespace weft::model
