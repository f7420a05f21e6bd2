// The catalogue: what hardware exists and what is known of it, each fact with its source. Loaded from catalog/*.yaml
// (built in) and from users' own files, which may add items or replace them by id. It checks itself when loaded: cages
// add up to the radix, breakouts add up to the cage's lanes, MIG slices fit, every item names a known source.
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

// Where facts come from. `estimate: true` marks our own estimate; its `title` then states the rule it follows.
struct Reference {
  using IsRecord = void;
  Place place;
  Given<std::string> title;
  Given<std::string> publisher;
  Given<std::string> url;
  Given<std::string> date;
  Given<bool> estimate{false};
};

// Common to every item: `source` covers all facts of the item, `sources` overrides it for single keys.
#define WEFT_CATALOG_ITEM    \
  using IsRecord = void;     \
  Place place;               \
  Given<Name> id;            \
  Given<std::string> name;   \
  Given<std::string> vendor; \
  Given<std::string> source; \
  Given<NamedValues<std::string>> sources

struct MigProfile {
  using IsRecord = void;
  Place place;
  Given<std::string> name;            // 1g.10gb
  Given<std::int64_t> compute;        // compute slices of 7
  Given<std::int64_t> memory_slices;  // memory slices of 8 it occupies
  Given<Bytes> memory;
  Given<std::vector<std::int64_t>> starts;  // memory slices where an instance may begin
};

struct GpuModel {
  WEFT_CATALOG_ITEM;
  Given<GpuForm> form;
  Given<std::string> architecture;
  Given<Bytes> memory;
  Given<ByteRate> memory_bandwidth;
  Given<NamedValues<Flops>> dense_flops;  // fp64, fp32, tf32, bf16, fp16, fp8, fp4, int8: without sparsity
  Given<ByteRate> nvlink_bandwidth;       // GPU to GPU fabric, both directions together; absent if PCIe only
  Given<std::int64_t> nvlink_links;
  Given<std::int64_t> pcie_generation;
  Given<std::int64_t> pcie_lanes;
  Given<Power> tdp;
  Given<std::vector<MigProfile>> mig;  // absent: no MIG, share by time-slicing
};

struct NicModel {
  WEFT_CATALOG_ITEM;
  Given<std::vector<NetworkKind>> networks;
  Given<std::int64_t> ports;
  Given<FormFactor> form;
  Given<std::vector<BitRate>> speeds;     // a port can run at any of these
  Given<BitRate> bandwidth;               // of the whole card
  Given<std::int64_t> virtual_functions;  // most per port
  Given<std::int64_t> pcie_generation;
  Given<std::int64_t> pcie_lanes;
  Given<bool> rdma{true};
  Given<Power> power;
};

// A row of equal ports of a server. Port p sits in cage p / per_cage.
struct PortGroup {
  using IsRecord = void;
  Place place;
  Given<PortUse> use;
  Given<std::string> nic;
  Given<std::int64_t> count;  // ports, all cages together
  Given<std::int64_t> per_cage{1};
  Given<FormFactor> form;
  Given<std::vector<BitRate>> speeds;      // port speeds; the first is the one used unless the file says otherwise
  Given<std::vector<Breakout>> breakouts;  // ways to split one cage for several planes (2x400G)
  Given<std::vector<std::int64_t>> gpus;   // GPU that port p is nearest to
  Given<std::vector<std::int64_t>> numa;   // NUMA node of port p
};

struct ServerModel {
  WEFT_CATALOG_ITEM;
  Given<ServerKind> kind;
  Given<std::int64_t> height;  // rack units
  Given<std::string> gpu;
  Given<std::int64_t> gpus{0};
  Given<GpuInterconnect> interconnect{GpuInterconnect::none};
  Given<std::int64_t> nvlink_domain;  // GPUs that reach each other over NVLink (72 for NVL72); default: gpus
  Given<std::int64_t> sockets;
  Given<std::int64_t> cores;  // all sockets together
  Given<std::int64_t> numa_nodes{1};
  Given<std::vector<std::int64_t>> gpu_numa;  // NUMA node of GPU g
  Given<Bytes> memory;
  Given<Bytes> local_nvme{Bytes(0)};  // data drives, raw
  Given<std::int64_t> psus;
  Given<std::int64_t> psus_needed;  // supplies that carry full load
  Given<Power> power;               // maximum draw
  Given<std::vector<BmcProtocol>> bmc;
  Given<std::vector<PortGroup>> ports;
  Given<std::int64_t> controllers{0};  // storage arrays
  Given<Bytes> capacity{Bytes(0)};     // storage: usable
  Given<ByteRate> read{ByteRate{}};    // storage: sequential, whole box
  Given<ByteRate> write{ByteRate{}};
  Given<std::int64_t> metadata_iops{0};
};

struct CageGroup {
  using IsRecord = void;
  Place place;
  Given<FormFactor> form;
  Given<std::int64_t> count;
  Given<std::int64_t> lanes;
  Given<std::vector<Breakout>> breakouts;  // every mode, unsplit ones too ("1x800G")
};

struct SwitchModel {
  WEFT_CATALOG_ITEM;
  Given<NetworkKind> network;
  Given<std::string> asic;
  Given<std::int64_t> height;
  Given<std::vector<CageGroup>> cages;
  Given<std::int64_t> radix;  // ports at `radix_speed`, as the vendor states it
  Given<BitRate> radix_speed;
  Given<BitRate> capacity;  // one direction
  Given<Bytes> buffer;
  Given<Power> power;  // maximum with optics
  Given<std::int64_t> psus{2};
  Given<std::vector<std::string>> systems;  // nos names: sonic, nxos, eos, cumulus, junos, mlnx-os, nvos
  Given<bool> lossless{true};               // PFC or credits, ECN
  Given<std::int64_t> management_ports{1};
};

struct TransceiverModel {
  WEFT_CATALOG_ITEM;
  Given<FormFactor> form;
  Given<std::vector<NetworkKind>> networks;
  Given<std::vector<Breakout>> modes;  // cage modes it serves
  Given<std::int64_t> connectors{1};   // fibre plugs; a twin-port module has 2
  Given<std::string> fibre;            // fibre system: mmf-mpo12-apc, smf-mpo12-apc, smf-lc, ...
  Given<Length> reach;
  Given<Power> power;
};

struct CableModel {
  WEFT_CATALOG_ITEM;
  Given<MediumKind> kind;
  Given<std::vector<NetworkKind>> networks;
  Given<BitRate> speed;    // of one link; for fibre: absent, the transceivers decide
  Given<FormFactor> from;  // trunk end of a splitter
  Given<FormFactor> to;
  Given<std::int64_t> branches{1};     // links from the trunk end
  Given<std::string> fibre;            // of kind fibre: the fibre system it belongs to
  Given<std::vector<Length>> lengths;  // as sold, ascending; the last is the longest allowed
};

struct PduModel {
  WEFT_CATALOG_ITEM;
  Given<Power> rating;
  Given<std::int64_t> outlets;
  Given<std::int64_t> management_ports{1};
};

struct RackModel {
  WEFT_CATALOG_ITEM;
  Given<std::int64_t> height;  // rack units
  Given<Length> width;
  Given<Length> depth;
};

#undef WEFT_CATALOG_ITEM

struct CatalogFile {
  using IsRecord = void;
  Place place;
  Given<NamedValues<Reference>> references;
  Given<std::vector<GpuModel>> gpus;
  Given<std::vector<NicModel>> nics;
  Given<std::vector<ServerModel>> servers;
  Given<std::vector<SwitchModel>> switches;
  Given<std::vector<TransceiverModel>> transceivers;
  Given<std::vector<CableModel>> cables;
  Given<std::vector<PduModel>> pdus;
  Given<std::vector<RackModel>> racks;
};

class Catalog {
 public:
  // The catalogue that weft ships with.
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
