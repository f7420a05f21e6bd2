// What one Ethernet switch is told, whatever its command line: its links with their far ends, the segments it is a
// gateway for, its pair, who may reach what is managed. Worked out once from the Cluster so that NX-OS and EOS files
// say the same; see switches/nxos.cc and switches/eos.cc for the words.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/lossless.h"
#include "render/core/target.h"
#include "render/switches/cli_section.h"
#include "render/switches/system.h"

namespace weft::render {

enum class LinkUse : std::uint8_t {
  host,      // a server, BMC or PDU: an access port
  fabric,    // routed, between tiers
  trunk,     // out-of-band, between switches
  pair,      // to the other leaf of a pair
  external,  // to the site's network
};

struct SwitchLink {
  model::PortId port = model::kNone<model::PortId>;
  LinkUse use = LinkUse::host;
  std::uint32_t cage = 0;  // as printed on the front, from 1
  std::uint32_t lane = 0;  // first lane within the cage, from 0
  std::uint32_t lanes = 1;
  std::uint32_t cage_lanes = 1;
  model::FormFactor form = model::FormFactor::rj45;
  BitRate speed;
  std::string far;  // "train001 be1"
  model::DeviceId far_device = model::kNone<model::DeviceId>;
  std::uint32_t far_asn = 0;  // of fabric links
  Ipv4 own;                   // numbered links
  Ipv4 far_address;
  std::uint16_t vlan = 0;     // of host ports and trunks
  std::uint32_t channel = 0;  // bundle of a bonded server or of the pair; 0: none

  [[nodiscard]] bool split() const { return lanes != cage_lanes; }
};

// A subnet that the switch routes for.
struct SwitchGateway {
  Ipv4Prefix prefix;
  Ipv4 own;
  Ipv4 shared;  // the gateway of a pair; none where `own` is it
  Ipv6Prefix ipv6;
  bool stretched = false;     // other leaves have hosts of it too: each announces its own as /32
  std::vector<Ipv4> hosts{};  // of a stretched subnet: those on this switch or its pair
};

struct SwitchSegment {
  std::uint16_t vlan = 0;
  std::string name;  // "backend-rail1"
  std::vector<SwitchGateway> gateways;
};

// An entry of the list that guards what is managed. Ports: 0 for any.
struct GuardRule {
  bool udp = false;  // else any protocol
  Ipv4Prefix source;
  int source_port = 0;
  Ipv4Prefix destination;
  int destination_port = 0;
};

struct SwitchView {
  model::DeviceId id = model::kNone<model::DeviceId>;
  std::string name;
  const model::Device* device = nullptr;
  const model::DeviceGroup* group = nullptr;
  const model::FabricSpec* fabric = nullptr;  // none for out-of-band
  std::vector<SwitchLink> links;              // in cage order
  std::vector<SwitchSegment> segments;
  model::DeviceId mate = model::kNone<model::DeviceId>;  // the other leaf of a pair
  std::uint32_t pair = 0;                                // number of the pair
  std::uint32_t side = 0;                                // 0 or 1
  Ipv4 mate_management;
  Ipv4 management;  // on the out-of-band network
  std::uint32_t fabric_links = 0;
  std::uint32_t node_asn = 0;  // of servers that announce service addresses to this leaf; 0: none do

  [[nodiscard]] bool is_oob() const { return fabric == nullptr; }
  [[nodiscard]] bool routed() const { return fabric_links > 0; }
  [[nodiscard]] bool lossless() const { return fabric != nullptr && fabric->qos->lossless.value; }
  // Hash seed of the tier: leaves 1, spines 2, cores 3 (hash polarisation; see rule RE018).
  [[nodiscard]] int hash_seed() const { return static_cast<int>(group->tier); }
  // Routes to one destination used side by side: all uplinks, and the nodes that share the address of a service.
  [[nodiscard]] std::uint32_t equal_paths() const;
  // Spanning tree of the out-of-band network: its top tier is the root, so that no leaf carries others' traffic. 0: as
  // switches have it by default.
  [[nodiscard]] int root_priority() const;
};

// One walk over the cluster, then a view of any switch at the cost of its ports.
class SwitchSurvey {
 public:
  explicit SwitchSurvey(const RenderInput& input);

  [[nodiscard]] SwitchView view(model::DeviceId id) const;
  // What passes an out-of-band switch: jump hosts to what is managed and back, what managed devices ask of services
  // there, and the keepalive between the leaves of a pair whose management ports are on this switch. Empty where the
  // file has no such list.
  [[nodiscard]] std::vector<GuardRule> guard_of(const SwitchView& view) const;
  [[nodiscard]] bool guarded() const { return !guard_.empty(); }
  // Whether a subnet of the fabric has hosts on several leaves (or pairs of them).
  [[nodiscard]] bool is_stretched(model::FabricKind fabric) const;
  [[nodiscard]] const model::OobSpec& oob() const { return input_.cluster.spec().fabrics->oob.value; }
  [[nodiscard]] const RenderInput& input() const { return input_; }
  // Where switches log to, get the time and ask for names; none where the file has no such service out-of-band.
  [[nodiscard]] std::string syslog() const;
  [[nodiscard]] Ipv4 time_server() const;
  [[nodiscard]] Ipv4 name_server() const;

 private:
  struct Pair {
    model::DeviceId mate = model::kNone<model::DeviceId>;
    std::uint32_t number = 0;
    std::uint32_t side = 0;
  };
  void find_pairs();
  void find_homes();
  void make_guard();
  [[nodiscard]] SwitchLink link_of(model::PortId id) const;
  void add_segments(SwitchView& view) const;
  void add_gateway(SwitchView& view, const model::Subnet& subnet, model::SubnetId id) const;
  void bundle_hosts(SwitchView& view) const;
  [[nodiscard]] std::uint32_t home_of(model::DeviceId leaf) const;

  const RenderInput& input_;
  std::unordered_map<std::uint32_t, Pair> pairs_;  // by leaf
  std::vector<std::uint32_t> homes_;               // by subnet: its leaf, kNowhere or kEverywhere
  std::vector<GuardRule> guard_;
};

// The bundle between the leaves of a pair; servers' bundles count from 1.
inline constexpr std::uint32_t kPairChannel = 1000;

// The address with an IPv4 address in its last 32 bits, as hosts have theirs (Cluster::ipv6_of).
[[nodiscard]] Ipv6 embed_address(const Ipv6Prefix& prefix, Ipv4 address);

[[nodiscard]] std::vector<std::string> switch_sources(const SwitchView& view);
// What the files of a group of switches cannot say, for whoever applies them.
void note_group(const SwitchSurvey& survey, const model::DeviceGroup& group, FileSink& sink);

// How the configuration of one operating system is written, for render_switches().
struct SwitchDialect {
  std::string_view system;   // as in the catalogue; also the folder
  std::string_view title;    // "NX-OS"
  std::string_view storage;  // where its files lie: "bootflash"
  CliStyle style;
  void (*write)(CliWriter& out, const SwitchView& view, const SwitchSurvey& survey);
};
// A file for every switch that runs it.
void render_switches(const RenderInput& input, FileSink& sink, const SwitchDialect& dialect);

}  // namespace weft::render
