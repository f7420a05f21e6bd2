#include "model/media.h"

#include <fmt/format.h>

#include <algorithm>

namespace weft::model {
namespace {

template <class T>
bool has(const std::vector<T>& list, const T& value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

std::uint32_t millimeters(Length length) {
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(length.count(), 0, UINT32_MAX));
}

std::uint16_t add_medium(std::vector<Medium>& media, const Medium& medium) {
  for (std::size_t i = 0; i < media.size(); ++i) {
    if (media[i].cable == medium.cable && media[i].at_a == medium.at_a && media[i].at_b == medium.at_b) {
      return static_cast<std::uint16_t>(i);
    }
  }
  media.push_back(medium);
  return static_cast<std::uint16_t>(media.size() - 1);
}

}  // namespace

void MediaChooser::add_assembly(const CableModel& cable, const CageEnd& a, const CageEnd& b, std::vector<Fit>& out,
                                std::vector<Medium>& media) {
  const auto branches = static_cast<std::uint32_t>(cable.branches.value);
  Fit fit;
  fit.cable = &cable;
  fit.longest_mm = millimeters(cable.lengths->back());
  fit.choice.connector_ports = branches;
  if (branches == 1) {
    const bool straight = a.form == cable.from.value && b.form == cable.to.value;
    const bool turned = a.form == cable.to.value && b.form == cable.from.value;
    if (a.ports != 1 || b.ports != 1 || (!straight && !turned)) return;
  } else if (a.form == cable.from.value && b.form == cable.to.value && a.ports == branches && b.ports == 1) {
    fit.choice.trunk_at_a = true;
  } else if (b.form == cable.from.value && a.form == cable.to.value && b.ports == branches && a.ports == 1) {
    fit.choice.trunk_at_b = true;
  } else {
    return;
  }
  fit.choice.medium = add_medium(media, Medium{&cable, nullptr, nullptr});
  out.push_back(fit);
}

void MediaChooser::add_fibre(const CableModel& cable, const CageEnd& a, const CageEnd& b, BitRate speed,
                             NetworkKind network, std::vector<Fit>& out, std::vector<Medium>& media) {
  const auto serves = [&](const TransceiverModel& module, const CageEnd& end) {
    return module.form.value == end.form && has(module.networks.value, network) &&
           module.fibre.value == cable.fibre.value &&
           has(module.modes.value, Breakout{static_cast<int>(end.ports), speed});
  };
  const auto ports_per_plug = [](const TransceiverModel& module, const CageEnd& end) {
    return std::max<std::uint32_t>(1, end.ports / static_cast<std::uint32_t>(module.connectors.value));
  };
  for (const TransceiverModel& at_a : catalog_.transceivers()) {
    if (!serves(at_a, a)) continue;
    for (const TransceiverModel& at_b : catalog_.transceivers()) {
      if (!serves(at_b, b)) continue;
      const std::uint32_t plug_a = ports_per_plug(at_a, a);
      const std::uint32_t plug_b = ports_per_plug(at_b, b);
      // A split fiber needs unsplit ends on the other side; equally split ends would need a crossover lane by lane.
      if ((plug_a > 1 && plug_b > 1) || std::max(plug_a, plug_b) != static_cast<std::uint32_t>(cable.branches.value))
        continue;
      Fit fit;
      fit.cable = &cable;
      // The longest available length within the reach of the optics.
      const std::uint32_t reach = std::min(millimeters(at_a.reach.value), millimeters(at_b.reach.value));
      for (const Length length : cable.lengths.value) {
        if (millimeters(length) <= reach) fit.longest_mm = millimeters(length);
      }
      if (fit.longest_mm == 0) continue;
      fit.choice.connector_ports = std::max(plug_a, plug_b);
      fit.choice.trunk_at_a = plug_a > 1;
      fit.choice.trunk_at_b = plug_b > 1;
      fit.choice.medium = add_medium(media, Medium{&cable, &at_a, &at_b});
      out.push_back(fit);
    }
  }
}

const std::vector<MediaChooser::Fit>& MediaChooser::fits(const CageEnd& a, const CageEnd& b, BitRate speed,
                                                         NetworkKind network, const std::vector<MediumKind>& wanted,
                                                         std::vector<Medium>& media) {
  std::uint64_t order = 0;
  for (const MediumKind kind : wanted) order = order * 8 + static_cast<std::uint64_t>(kind) + 1;
  const Key key{a, b, speed.count(), static_cast<int>(network), order};
  const auto found = cache_.find(key);
  if (found != cache_.end()) return found->second;
  std::vector<Fit> out;
  for (const MediumKind kind : wanted) {
    std::vector<Fit> of_kind;
    for (const CableModel& cable : catalog_.cables()) {
      if (cable.kind.value != kind || !has(cable.networks.value, network)) continue;
      if (kind == MediumKind::fibre) {
        add_fibre(cable, a, b, speed, network, of_kind, media);
      } else if (cable.speed.value == speed) {
        add_assembly(cable, a, b, of_kind, media);
      }
    }
    // Within a kind, the shortest sufficient reach is the cheapest.
    std::stable_sort(of_kind.begin(), of_kind.end(),
                     [](const Fit& x, const Fit& y) { return x.longest_mm < y.longest_mm; });
    out.insert(out.end(), of_kind.begin(), of_kind.end());
  }
  return cache_.emplace(key, std::move(out)).first->second;
}

std::uint32_t MediaChooser::kinds(const LinkEnds& link, std::vector<Medium>& media) {
  std::uint32_t mask = 0;
  for (const Fit& fit : fits(link.a, link.b, link.speed, link.network, *link.wanted, media)) {
    if (fit.longest_mm >= link.reach_mm) mask |= 1U << static_cast<unsigned>(fit.cable->kind.value);
  }
  return mask;
}

std::optional<MediumChoice> MediaChooser::choose(const LinkEnds& link, std::uint32_t kinds,
                                                 const std::function<bool(const Medium&)>& accept,
                                                 std::vector<Medium>& media, std::string& why) {
  const std::vector<Fit>& candidates = fits(link.a, link.b, link.speed, link.network, *link.wanted, media);
  std::uint32_t longest = 0;
  for (const Fit& fit : candidates) {
    longest = std::max(longest, fit.longest_mm);
    if (fit.longest_mm < link.reach_mm || (kinds >> static_cast<unsigned>(fit.cable->kind.value) & 1U) == 0) continue;
    if (!accept(media[fit.choice.medium])) continue;
    for (const Length length : fit.cable->lengths.value) {
      if (millimeters(length) < link.length_mm || millimeters(length) > fit.longest_mm) continue;
      MediumChoice choice = fit.choice;
      choice.length_mm = millimeters(length);
      return choice;
    }
  }
  std::string listed;
  for (const MediumKind kind : *link.wanted) listed += (listed.empty() ? "" : ", ") + std::string(text_of(kind));
  const auto end = [](const CageEnd& e) {
    return fmt::format("{}{}", text_of(e.form), e.ports > 1 ? fmt::format(" split {} ways", e.ports) : "");
  };
  const std::string between = fmt::format("{} and {} at {}", end(link.a), end(link.b), to_text(link.speed));
  if (candidates.empty()) {
    why = fmt::format("no {} cable of kind {} connects {}", text_of(link.network), listed, between);
  } else if (longest < link.reach_mm) {
    why = fmt::format("the run is {:.1f} m, but the longest {} cable between {} is {:.1f} m", link.reach_mm / 1000.0,
                      listed, between, longest / 1000.0);
  } else {
    why = fmt::format("all ports of a cage must use the same kind of connector, and no {} cable between {} does",
                      listed, between);
  }
  return std::nullopt;
}

}  // namespace weft::model
