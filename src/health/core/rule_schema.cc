// The schema of a rules file: every key, its meaning and its limits.
#include "health/core/rules.h"

namespace weft::health {

const std::vector<std::pair<std::string_view, SignalSource>>& choices_of(SignalSource) {
  using S = SignalSource;
  static const std::vector<std::pair<std::string_view, S>> choices{
      {"gpu", S::gpu},         {"host", S::host},           {"kernel", S::kernel}, {"bmc", S::bmc},
      {"network", S::network}, {"scheduler", S::scheduler}, {"job", S::job},       {"other", S::other}};
  return choices;
}

const std::vector<std::pair<std::string_view, Severity>>& choices_of(Severity) {
  using S = Severity;
  static const std::vector<std::pair<std::string_view, S>> choices{
      {"info", S::info}, {"warning", S::warning}, {"degraded", S::degraded}, {"fatal", S::fatal}};
  return choices;
}

const std::vector<std::pair<std::string_view, Category>>& choices_of(Category) {
  using C = Category;
  static const std::vector<std::pair<std::string_view, C>> choices{
      {"none", C::none}, {"thermal", C::thermal}, {"memory", C::memory}, {"power", C::power}};
  return choices;
}

const std::vector<std::pair<std::string_view, Scope>>& choices_of(Scope) {
  using S = Scope;
  static const std::vector<std::pair<std::string_view, S>> choices{
      {"gpu", S::gpu}, {"node", S::node}, {"link", S::link}, {"rack", S::rack}, {"job", S::job}};
  return choices;
}

const std::vector<std::pair<std::string_view, Action>>& choices_of(Action) {
  using A = Action;
  static const std::vector<std::pair<std::string_view, A>> choices{{"ignore", A::ignore},
                                                                   {"restart_application", A::restart_application},
                                                                   {"check", A::check},
                                                                   {"restart_service", A::restart_service},
                                                                   {"reset_gpu", A::reset_gpu},
                                                                   {"reboot", A::reboot},
                                                                   {"power_cycle", A::power_cycle},
                                                                   {"replace_part", A::replace_part},
                                                                   {"ask_people", A::ask_people}};
  return choices;
}

const std::vector<std::pair<std::string_view, Ends>>& choices_of(Ends) {
  static const std::vector<std::pair<std::string_view, Ends>> choices{
      {"repair", Ends::repair}, {"person", Ends::person}, {"time", Ends::time}};
  return choices;
}

const std::vector<std::pair<std::string_view, Maturity>>& choices_of(Maturity) {
  using M = Maturity;
  static const std::vector<std::pair<std::string_view, M>> choices{
      {"established", M::established}, {"practice", M::practice}, {"estimate", M::estimate}};
  return choices;
}

}  // namespace weft::health

namespace weft::model {

template <>
const Schema& schema_of<health::RuleSpec>() {
  static const Schema schema = [] {
    using R = health::RuleSpec;
    SchemaBuilder<R> b("rule", "What signals mean and what is done.");
    b.field("id", &R::id, "name of the rule").required();
    b.field("title", &R::title, "what has happened, in one line").required();
    b.field("signals", &R::signals, "signals that it looks at: xid:79, a range xid:126-135, or a family xid:*")
        .required();
    b.field("where", &R::where,
            "details that the signal must have: a value, a comma-separated list of values, or `bits 21,22`: at least "
            "one of "
            "these bits is set");
    b.field("above", &R::above, "holds while the measurement is greater");
    b.field("below", &R::below, "holds while the measurement is less");
    b.field("mask", &R::mask, "holds while at least one of these bits of the measurement is set").range(1, INT64_MAX);
    b.field("rise", &R::rise, "holds while the counter grows by more than this");
    b.field("per", &R::per, "with `rise`: the time over which it grows; default: from one sample to the next");
    b.field("samples", &R::samples, "samples in a row until the condition holds; default: 1").range(1, 1000);
    b.field("at_least", &R::at_least, "events on one part; default: 1").range(1, 1000);
    b.field("within", &R::within, "with `at_least`: the time in which they must occur");
    b.field("alone", &R::alone, "only if the incident has nothing else above `info`");
    b.field("severity", &R::severity,
            "info: recorded; warning: lowers the score; degraded: no new work; fatal: out of service")
        .required();
    b.field("category", &R::category, "what the score counts it as");
    b.field("scope", &R::scope, "what a repair takes out of service").required();
    b.field("actions", &R::actions, "what is done, in the order in which it is tried").required();
    b.field("ends", &R::ends,
            "what makes the event a matter of the past: a repair, a person, or time (`clears_after`); default: repair");
    b.field("clears_after", &R::clears_after, "with `ends: time`: without another event");
    b.field("maturity", &R::maturity, "established: vendor's table; practice: used in production; estimate: ours")
        .required();
    b.field("source", &R::source, "where meaning, threshold and action come from").required();
    b.field("note", &R::note, "where authorities disagree: the choice and its reason");
    return b.build();
  }();
  return schema;
}

template <>
const Schema& schema_of<health::ScoreSpec>() {
  static const Schema schema = [] {
    using R = health::ScoreSpec;
    SchemaBuilder<R> b("score", "Score of a node: 100, less the weight of each category that has a warning.");
    b.field("cordon_below", &R::cordon_below, "a node below this score is taken out of service")
        .required()
        .range(0, 100);
    b.field("thermal", &R::thermal, "weight of thermal warnings").required().range(0, 100);
    b.field("memory", &R::memory, "weight of memory warnings").required().range(0, 100);
    b.field("power", &R::power, "weight of power warnings").required().range(0, 100);
    return b.build();
  }();
  return schema;
}

template <>
const Schema& schema_of<health::RulesSpec>() {
  static const Schema schema = [] {
    using R = health::RulesSpec;
    SchemaBuilder<R> b("health", "Rules over the signals of nodes.");
    b.field("health", &R::health, "version of the file format").required().range(1, 1);
    b.field("burst", &R::burst, "signals of a node with no longer silence between them are one incident").required();
    b.field("stale_after", &R::stale_after, "a source that is silent for longer says nothing about the node")
        .required();
    b.field("score", &R::score, "weights of the score").required();
    b.field("rules", &R::rules, "the rules").required();
    return b.build();
  }();
  return schema;
}

}  // namespace weft::model
