#include "netsim/routing/link_choice.h"
#include "netsim/routing/route_tables.h"
#include "netsim/routing/routing.h"

namespace weft::netsim {

struct Routes::Tables {
  Tables(const Network& net, const RoutingOptions& routing)
      : network(&net),
        options(routing),
        now(net, routing.up_down, routing.mode == RoutingMode::weighted),
        choice(net, routing, now.graph()) {}

  const Network* network;
  RoutingOptions options;
  RouteTables now;
  std::unique_ptr<RouteTables> intact;  // for `resilient`, after a failure: the tables without any failure
  LinkChoice choice;
  std::uint32_t epoch = 0;
};

Routes::Routes(const Network& network, RoutingOptions options) : tables_(new Tables(network, options)) {}
Routes::~Routes() = default;
Routes::Routes(Routes&&) noexcept = default;
Routes& Routes::operator=(Routes&&) noexcept = default;
const RoutingOptions& Routes::options() const { return tables_->options; }
const Network& Routes::network() const { return *tables_->network; }

void Routes::prepare(std::span<const NodeId> destinations) {
  for (const NodeId destination : destinations) {
    tables_->now.prepare(destination);
    if (tables_->intact) tables_->intact->prepare(destination);
  }
}

std::span<const LinkId> Routes::next_links(NodeId at, NodeId destination) const {
  return tables_->now.next_links(at, destination);
}

LinkId Routes::choose(NodeId at, LinkId ingress, const FlowKey& key) const {
  const Tables& t = *tables_;
  const std::span<const LinkId> links = t.now.next_links(at, key.destination);
  if (links.empty()) return model::kNone<LinkId>;
  if (links.size() == 1) return links.front();
  switch (t.options.mode) {
    case RoutingMode::weighted:
      return t.choice.by_weight(links, at, ingress, key, t.now);
    case RoutingMode::resilient:
      return t.choice.by_bucket(links, t.intact ? t.intact->next_links(at, key.destination) : links, at, ingress, key);
    case RoutingMode::d_mod_k:
      return t.choice.by_destination(links, at, key);
    case RoutingMode::pinned:
      return t.choice.by_pin(links, at, key);
    case RoutingMode::ecmp:
    case RoutingMode::adaptive:
    case RoutingMode::flowlet:
    case RoutingMode::spray:
      break;
  }
  return t.choice.by_hash(links, at, ingress, key);
}

bool Routes::path(const FlowKey& key, std::vector<LinkId>& out) {
  out.clear();
  const std::size_t nodes = network().nodes().size();
  if (model::index_of(key.source) >= nodes || model::index_of(key.destination) >= nodes) return false;
  LinkId ingress = model::kNone<LinkId>;
  for (NodeId at = key.source; at != key.destination; at = network().link(ingress).to) {
    ingress = choose(at, ingress, key);
    if (ingress == model::kNone<LinkId> || out.size() > nodes) {
      out.clear();
      return false;
    }
    out.push_back(ingress);
  }
  return !out.empty();
}

void Routes::set_link(LinkId link, bool up) {
  if (!tables_->now.set_link(link, up)) return;
  ++tables_->epoch;
  if (tables_->options.mode != RoutingMode::resilient || tables_->intact) return;
  tables_->intact = std::make_unique<RouteTables>(*tables_->network, tables_->options.up_down, false);
}
bool Routes::is_up(LinkId link) const { return tables_->now.works(link); }
std::uint32_t Routes::epoch() const { return tables_->epoch; }

std::string_view to_text(RoutingMode mode) {
  switch (mode) {
    case RoutingMode::ecmp:
      return "ecmp";
    case RoutingMode::weighted:
      return "weighted";
    case RoutingMode::resilient:
      return "resilient";
    case RoutingMode::d_mod_k:
      return "d-mod-k";
    case RoutingMode::pinned:
      return "pinned";
    case RoutingMode::adaptive:
      return "adaptive";
    case RoutingMode::flowlet:
      return "flowlet";
    case RoutingMode::spray:
      return "spray";
  }
  return "?";
}

std::string_view to_text(HashFunction function) {
  switch (function) {
    case HashFunction::crc32:
      return "crc32";
    case HashFunction::crc16:
      return "crc16";
    case HashFunction::xor16:
      return "xor16";
    case HashFunction::toeplitz:
      return "toeplitz";
    case HashFunction::mix64:
      return "mix64";
  }
  return "?";
}

std::string_view to_text(HashSeeds seeds) {
  switch (seeds) {
    case HashSeeds::per_switch:
      return "per-switch";
    case HashSeeds::per_tier:
      return "per-tier";
    case HashSeeds::shared:
      return "shared";
  }
  return "?";
}

}  // namespace weft::netsim
