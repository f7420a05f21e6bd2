// Selects the cable and optics between two cages: supported at both ends, long enough, and of the kind preferred in the
// file.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "model/cluster.h"

namespace weft::model {

// One end of a link: the cage that the plug goes into.
struct CageEnd {
  FormFactor form = FormFactor::rj45;
  std::uint32_t ports = 1;  // ports that the cage is split into
  friend auto operator<=>(const CageEnd&, const CageEnd&) = default;
};

struct MediumChoice {
  std::uint16_t medium = 0;     // index into media
  std::uint32_t length_mm = 0;  // the length to order
  bool trunk_at_a = false;      // a splitter: the ends at `a` share one plug
  bool trunk_at_b = false;
  std::uint32_t connector_ports = 1;  // ports that share one trunk plug
};

// The requirements of a link.
struct LinkEnds {
  CageEnd a;
  CageEnd b;
  BitRate speed;
  NetworkKind network = NetworkKind::ethernet;
  const std::vector<MediumKind>* wanted = nullptr;  // in order of preference
  std::uint32_t reach_mm = 0;                       // the longest run that shares a plug with this one
  std::uint32_t length_mm = 0;                      // this run
};

class MediaChooser {
 public:
  explicit MediaChooser(const Catalog& catalog) : catalog_(catalog) {}

  // Kinds of cable that reach: bit k is MediumKind k.
  [[nodiscard]] std::uint32_t kinds(const LinkEnds& link, std::vector<Medium>& media);
  // The first cable of these kinds that `accept` accepts. Returns nullopt if none fits; `why` then names the reason.
  [[nodiscard]] std::optional<MediumChoice> choose(const LinkEnds& link, std::uint32_t kinds,
                                                   const std::function<bool(const Medium&)>& accept,
                                                   std::vector<Medium>& media, std::string& why);
  // Whether any cable can join these ends.
  [[nodiscard]] bool possible(const CageEnd& a, const CageEnd& b, BitRate speed, NetworkKind network,
                              const std::vector<MediumKind>& wanted, std::vector<Medium>& media) {
    return !fits(a, b, speed, network, wanted, media).empty();
  }

 private:
  struct Fit {
    MediumChoice choice;
    const CableModel* cable = nullptr;
    std::uint32_t longest_mm = 0;
  };
  using Key = std::tuple<CageEnd, CageEnd, std::int64_t, int, std::uint64_t>;
  const std::vector<Fit>& fits(const CageEnd& a, const CageEnd& b, BitRate speed, NetworkKind network,
                               const std::vector<MediumKind>& wanted, std::vector<Medium>& media);
  void add_assembly(const CableModel& cable, const CageEnd& a, const CageEnd& b, std::vector<Fit>& out,
                    std::vector<Medium>& media);
  void add_fibre(const CableModel& cable, const CageEnd& a, const CageEnd& b, BitRate speed, NetworkKind network,
                 std::vector<Fit>& out, std::vector<Medium>& media);

  const Catalog& catalog_;
  std::map<Key, std::vector<Fit>> cache_;
};

}  // namespace weft::model
