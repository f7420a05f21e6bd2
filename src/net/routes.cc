#include "net/routing.h"

namespace weft::net {

struct Routes::Tables {
  const Network* network;
  RoutingOptions options;
};
Routes::Routes(const Network& network, RoutingOptions options) : tables_(new Tables{&network, options}) {}
Routes::~Routes() = default;
Routes::Routes(Routes&&) noexcept = default;
Routes& Routes::operator=(Routes&&) noexcept = default;
const RoutingOptions& Routes::options() const { return tables_->options; }
const Network& Routes::network() const { return *tables_->network; }
void Routes::prepare(std::span<const NodeId>) {}
std::span<const LinkId> Routes::next_links(NodeId, NodeId) const { return {}; }
LinkId Routes::choose(NodeId, LinkId, const FlowKey&) const { return kNone<LinkId>; }
bool Routes::path(const FlowKey&, std::vector<LinkId>&) { return false; }
void Routes::set_link(LinkId, bool) {}
bool Routes::is_up(LinkId) const { return true; }
std::uint32_t Routes::epoch() const { return 0; }
FlowKey flow_key(const Network&, NodeId source, NodeId destination, std::uint32_t, std::uint64_t) {
  return {source, destination, 0, 0, 0, 0, 0, 0};
}
std::uint32_t flow_hash(const FlowKey&, const RoutingOptions&, std::uint64_t, std::uint32_t) { return 0; }
std::string_view to_text(RoutingMode) { return "?"; }
std::string_view to_text(HashFunction) { return "?"; }
std::string_view to_text(HashSeeds) { return "?"; }

}  // namespace weft::net
