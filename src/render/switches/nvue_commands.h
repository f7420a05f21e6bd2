// `nv set` commands of one Cumulus Linux switch, built from words: words with special characters are quoted, control
// characters are removed. Also NVUE's notation for a list of interfaces as one word.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "render/switches/out_of_band.h"
#include "render/switches/switch_plan.h"

namespace weft::render::nvue_render {

class Commands {
 public:
  void comment(std::string_view text);
  void set(std::initializer_list<std::string_view> words);
  // set() with a common prefix: "interface swp1 link".
  void set_at(std::string_view place, std::initializer_list<std::string_view> words);
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  void word(std::string_view word);
  std::string text_;
};

[[nodiscard]] std::string port_name(const SwitchPort& port);  // "swp12s1"
// Ports (in cage order) as one word: "swp1-4s0-3,swp50s2-3,swp63".
[[nodiscard]] std::string port_names(const std::vector<const SwitchPort*>& ports);
[[nodiscard]] std::string number_list(const std::vector<int>& ascending);  // "0-2,5"

void add_qos(Commands& commands, const model::Cluster& cluster, const SwitchPlan& plan);
void add_routing(Commands& commands, const SwitchPlan& plan);
// Whether Cumulus Linux can balance load as the fabric requires: adaptive routing, but only on Spectrum-4.
[[nodiscard]] bool has_adaptive_routing(const model::SwitchModel& model, model::LoadBalancing load_balancing);
void add_access_lists(Commands& commands, const RenderPlan& render, const SwitchPlan& plan);
// Ports for which the function returns true; "" if there are none.
template <class Wanted>
[[nodiscard]] std::string names_where(const SwitchPlan& plan, Wanted wanted) {
  std::vector<const SwitchPort*> found;
  for (const SwitchPort& port : plan.ports) {
    if (wanted(port)) found.push_back(&port);
  }
  return port_names(found);
}

}  // namespace weft::render::nvue_render
