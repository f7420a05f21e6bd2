#include "netsim/network/network.h"

#include <fmt/format.h>

#include <utility>

namespace weft::netsim {

std::span<const LinkId> Network::out_links(NodeId id) const {
  const std::uint32_t first = out_offsets_[model::index_of(id)];
  return std::span(out_links_).subspan(first, out_offsets_[model::index_of(id) + 1] - first);
}

std::string Network::link_name(LinkId id) const {
  const Link& link = this->link(id);
  int parallel = 0;
  int number = 0;
  for (const LinkId other : out_links(link.from)) {
    if (this->link(other).to != link.to) continue;
    ++parallel;
    if (other == id) number = parallel;
  }
  std::string name = fmt::format("{} > {}", name_of(link.from), name_of(link.to));
  return parallel > 1 ? fmt::format("{} #{}", name, number) : name;
}

void Network::set_rate(LinkId link, BitRate rate) {
  links_[model::index_of(link)].rate = rate;
  const LinkId back = links_[model::index_of(link)].reverse;
  if (back != model::kNone<LinkId>) links_[model::index_of(back)].rate = rate;
}

NodeId Network::find_node(std::string_view name) const {
  for (std::size_t i = 0; i < names_.size(); ++i) {
    if (names_[i] == name) return static_cast<NodeId>(i);
  }
  return model::kNone<NodeId>;
}

NodeId NetworkBuilder::add_node(Node node, std::string name) {
  const auto id = static_cast<NodeId>(network_.nodes_.size());
  if (node.kind == NodeKind::endpoint) network_.endpoints_.push_back(id);
  network_.nodes_.push_back(node);
  network_.names_.push_back(std::move(name));
  return id;
}

LinkId NetworkBuilder::connect(NodeId a, NodeId b, BitRate rate, SimTime delay_to_b, SimTime delay_to_a) {
  CHECK(rate.count() > 0, "a link without a rate");
  const auto there = static_cast<LinkId>(network_.links_.size());
  const auto back = static_cast<LinkId>(network_.links_.size() + 1);
  network_.links_.push_back({a, b, back, rate, delay_to_b, model::kNone<model::PortId>});
  network_.links_.push_back({b, a, there, rate, delay_to_a, model::kNone<model::PortId>});
  return there;
}

void NetworkBuilder::ports(LinkId link, model::PortId from, model::PortId to) {
  network_.links_[model::index_of(link)].port = from;
  network_.links_[model::index_of(network_.links_[model::index_of(link)].reverse)].port = to;
}

std::uint16_t NetworkBuilder::add_buffer(SwitchBuffer buffer) {
  for (std::size_t i = 0; i < network_.buffers_.size(); ++i) {
    const SwitchBuffer& known = network_.buffers_[i];
    if (known.total == buffer.total && known.cell == buffer.cell) return static_cast<std::uint16_t>(i);
  }
  CHECK(network_.buffers_.size() < 65'535, "too many kinds of buffers");
  network_.buffers_.push_back(buffer);
  return static_cast<std::uint16_t>(network_.buffers_.size() - 1);
}

Network NetworkBuilder::finish() && {
  if (network_.buffers_.empty()) network_.buffers_.emplace_back();
  std::vector<std::uint32_t>& offsets = network_.out_offsets_;
  offsets.assign(network_.nodes_.size() + 1, 0);
  for (const Link& link : network_.links_) ++offsets[model::index_of(link.from) + 1];
  for (std::size_t i = 1; i < offsets.size(); ++i) offsets[i] += offsets[i - 1];
  network_.out_links_.resize(network_.links_.size());
  std::vector<std::uint32_t> next(offsets.begin(), offsets.end() - 1);
  for (std::size_t i = 0; i < network_.links_.size(); ++i) {
    network_.out_links_[next[model::index_of(network_.links_[i].from)]++] = static_cast<LinkId>(i);
  }
  return std::move(network_);
}

}  // namespace weft::netsim
