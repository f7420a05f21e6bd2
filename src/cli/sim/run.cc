#include "cli/sim/run.h"

#include <fmt/format.h>

#include "base/file.h"
#include "base/human_format.h"
#include "cli/framework/progress.h"
#include "netsim/views/heat_map.h"
#include "netsim/views/result_cells.h"
#include "netsim/views/storm_tree.h"

namespace weft::cli {
namespace {

bool write_picture(Context& context, const std::string& path, const std::string& svg) {
  const Status written = write_file(path, svg);
  if (written.ok()) {
    context.detail(fmt::format("wrote {}, {} bytes", path, svg.size()));
    return true;
  }
  (void)context.failed(written.error());
  return false;
}

}  // namespace

Result<netsim::SimResult> run_simulation(Context& context, netsim::Routes& routes,
                                         const netsim::TransferGraph& transfers, const netsim::SimOptions& options,
                                         const std::string& label) {
  SimProgressLine line(context.io(), context.io().err_is_terminal && !context.quiet(), label);
  Result<netsim::SimResult> result = netsim::simulate(routes, transfers, options, &line);
  const double seconds = line.seconds();
  line.finish();
  if (result.ok() && context.verbose() && seconds > 0) {
    const netsim::SimTotals& totals = result->totals;
    const std::uint64_t hops = totals.data_hops + totals.control_hops;
    context.detail(fmt::format("{}: {} events and {} packet-hops in {:.3f} s, {:.2f} M events/s, {:.2f} M hops/s",
                               label, group_digits(totals.events), group_digits(hops), seconds,
                               static_cast<double>(totals.events) / seconds / 1e6,
                               static_cast<double>(hops) / seconds / 1e6));
  }
  return result;
}

Exit write_pictures(Context& context, const netsim::Network& network, const netsim::SimResult& result,
                    const std::string& title, const std::string& where, Exit outcome) {
  const std::string heat_map = context.arguments().value("heat-map");
  const std::string storm = context.arguments().value("storm-tree");
  bool written = true;
  if (!heat_map.empty())
    written = write_picture(context, heat_map, netsim::heat_map_svg(network, result, "Load: " + title, where));
  if (!storm.empty()) {
    const netsim::StormTree tree = netsim::storm_tree(network, result);
    written =
        write_picture(context, storm, netsim::storm_svg(network, result, tree, "Pauses: " + title, where)) && written;
  }
  return written ? outcome : Exit::unavailable;
}

}  // namespace weft::cli
