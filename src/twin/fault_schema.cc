// The schema of a fault file: every key, its meaning and its limits.
#include "twin/fault_model.h"

namespace weft::twin {

const std::vector<std::pair<std::string_view, Effect>>& choices_of(Effect) {
  static const std::vector<std::pair<std::string_view, Effect>> choices{
      {"exit", Effect::exit}, {"hang", Effect::hang}, {"down", Effect::down}, {"slow", Effect::slow}};
  return choices;
}

}  // namespace weft::twin

namespace weft::model {

template <>
const Schema& schema_of<twin::CauseSpec>() {
  static const Schema schema = [] {
    using R = twin::CauseSpec;
    SchemaBuilder<R> b("cause", "A cause of incidents: how often, what happens to jobs, how it is repaired.");
    b.field("name", &R::name, "name of the cause").required();
    b.field("title", &R::title, "what reports call it; default: the name");
    b.field("rate", &R::rate, "incidents per million node-days").required().range(0, 1'000'000'000);
    b.field("effect", &R::effect,
            "exit: the processes on the node end at once; hang: the job stands still; down: the node does not answer; "
            "slow: the job runs slower");
    b.field("signal", &R::signal, "what telemetry reports of the node; default: the title");
    b.field("detect", &R::detect, "time until telemetry reports the node as failed; 0 if it never does");
    b.field("abort", &R::abort, "time until the processes of a job that stands still end by themselves; 0: never");
    b.field("restart", &R::restart, "percent of the incidents that leave the node intact").range(0, 100);
    b.field("power_cycle", &R::power_cycle, "percent of the incidents that a power cycle repairs").range(0, 100);
    b.field("repair", &R::repair, "median repair time of people, for the other incidents");
    b.field("slowdown", &R::slowdown, "percent of the speed that the job loses, with `effect: slow`").range(0, 99);
    b.field("lasts", &R::lasts, "mean duration, with `effect: slow`");
    b.field("source", &R::source, "where the figures come from");
    return b.build();
  }();
  return schema;
}

template <>
const Schema& schema_of<twin::FaultSpec>() {
  static const Schema schema = [] {
    using R = twin::FaultSpec;
    SchemaBuilder<R> b("faults", "What fails in a simulated cluster, how it is noticed and how it is repaired.");
    b.field("faults", &R::faults, "version of the file format").required().range(1, 1);
    b.field("source", &R::source, "where the figures come from");
    b.field("causes", &R::causes, "causes of incidents").required();
    b.field("node_spread", &R::node_spread,
            "how much the failure rates of nodes differ: sigma of a lognormal factor, in percent; 0: not at all")
        .range(0, 300);
    b.field("together", &R::together, "percent of the incidents that strike a second node of the rack").range(0, 100);
    b.field("recurs", &R::recurs, "percent of the repairs by power cycle after which the fault returns").range(0, 100);
    b.field("recurs_after", &R::recurs_after, "mean time until it returns");
    b.field("respond", &R::respond, "mean time until people begin with a repair");
    b.field("repair_spread", &R::repair_spread, "sigma of the lognormal repair time, in percent").range(0, 300);
    b.field("power_cycle", &R::power_cycle, "time of a power cycle, off to on");
    b.field("boot", &R::boot, "time of a boot");
    b.field("validate", &R::validate, "time of the checks before a node returns to service");
    return b.build();
  }();
  return schema;
}

}  // namespace weft::model
