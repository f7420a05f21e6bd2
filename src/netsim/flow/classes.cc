// How a link's rate is divided between traffic classes: strict ones first, by priority, then by weight, each with no
// more than it can use. What it can use depends on the rates elsewhere, so shares and rates are computed alternately.
#include <algorithm>
#include <limits>

#include "netsim/flow/model.h"

namespace weft::netsim {

namespace {

constexpr int kMaxTurns = 12;
constexpr double kClose = 1e-7;  // smaller changes of a share count as converged

struct Want {
  const TrafficClassOptions* options;
  double part;  // part of the link's rate that the class can use at all
  double want;
  double given;
};

// Water-filling by weight over the non-strict classes; `have` is 1 for the whole link.
void divide(std::vector<Want>& wants, double have) {
  std::vector<Want*> strict;
  std::vector<Want*> open;
  for (Want& w : wants) (w.options->strict ? strict : open).push_back(&w);
  std::stable_sort(strict.begin(), strict.end(),
                   [](const Want* a, const Want* b) { return a->options->priority > b->options->priority; });
  for (Want* w : strict) {
    w->given = std::min(w->want, have);
    have -= w->given;
  }
  while (!open.empty()) {
    double weights = 0;
    for (const Want* w : open) weights += w->options->weight;
    const auto satisfied = std::partition(open.begin(), open.end(),
                                          [&](const Want* w) { return w->want > have * w->options->weight / weights; });
    if (satisfied == open.end()) {
      for (Want* w : open) w->given = have * w->options->weight / weights;
      return;
    }
    for (auto it = satisfied; it != open.end(); ++it) {
      (*it)->given = (*it)->want;
      have -= (*it)->given;
    }
    open.erase(satisfied, open.end());
  }
  for (Want& w : wants) w.given += std::max(have, 0.0);  // spare capacity: no class may become limited by it
}

}  // namespace

// True if the share of a lane changed. Before rates are known a class wants all its flows could send; after that, a
// class that the link does not limit wants what it uses.
bool FlowModel::share_link(LinkId link, bool by_use) {
  if (!contended_[model::index_of(link)] || down_[model::index_of(link)]) return false;
  std::vector<Want> wants;
  for (const ClassIndex c : used_classes_) {
    const std::uint32_t l = lane(link, c);
    const double part = capacity(link, c);
    double want = solver_.demand_on(l);
    if (by_use && !solver_.holds_back(l)) want = solver_.usage_of(l);
    wants.push_back({&options_->classes[c], part, want / part, 0});
  }
  divide(wants, 1.0);
  bool any = false;
  for (std::size_t i = 0; i < wants.size(); ++i) {
    const ClassIndex c = used_classes_[i];
    const double one = wants[i].part * wants[i].given;
    const double now = solver_.capacity(lane(link, c));
    const double many = one * std::min(1.0, classes_[c].shared() / classes_[c].alone());
    const double shown = solver_.flows_on(lane(link, c)) > 1 ? many : one;
    if (shown >= now * (1 - kClose) && shown <= now * (1 + kClose)) continue;
    solver_.set_capacity(lane(link, c), one, many);
    any = true;
  }
  return any;
}

void FlowModel::set_count(std::uint32_t bundle, std::uint32_t flows) {
  solver_.set_count(bundle, flows);
  if (lane_classes_ > 1) recounted_.push_back(bundle);
}

std::span<const std::uint32_t> FlowModel::solve() {
  if (lane_classes_ == 1) return solver_.solve();
  const auto nowhere = static_cast<std::uint32_t>(network_->links().size() * lane_classes_);
  std::vector<std::uint32_t> links;
  const auto note = [&](std::uint32_t lane) {
    if (lane != nowhere) links.push_back(model::index_of(link_of(lane)));
  };
  for (const std::uint32_t bundle : recounted_) solver_.for_each_lane_of(bundle, note);
  recounted_.clear();
  all_changed_.clear();
  for (int turn = 0; turn < kMaxTurns; ++turn) {
    std::sort(links.begin(), links.end());
    links.erase(std::unique(links.begin(), links.end()), links.end());
    bool any = false;
    for (const std::uint32_t link : links) any = share_link(static_cast<LinkId>(link), turn > 0) || any;
    if (turn > 0 && !any) break;
    const std::span<const std::uint32_t> changed = solver_.solve();
    all_changed_.insert(all_changed_.end(), changed.begin(), changed.end());
    for (const std::uint32_t lane : solver_.contended()) note(lane);
  }
  std::sort(all_changed_.begin(), all_changed_.end());
  all_changed_.erase(std::unique(all_changed_.begin(), all_changed_.end()), all_changed_.end());
  return all_changed_;
}

}  // namespace weft::netsim
