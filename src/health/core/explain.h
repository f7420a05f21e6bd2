// What the rules say about a signal, as documents for people and programs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/document.h"
#include "health/core/rules.h"

namespace weft::health {

// The signal that a user means: "79", "Xid 79" and "xid:79" are xid:79, "SXid 12028" is sxid:12028. "": none.
[[nodiscard]] std::string signal_meant(std::string_view words);
// Rules by id, or all that look at this signal (a signal name or what signal_meant() understands).
[[nodiscard]] std::vector<const Rule*> find_rules(const Rules& rules, std::string_view query);
// One section per rule: meaning, condition, severity, actions in order, source.
[[nodiscard]] Document explain_rules(const Rules& rules, const std::vector<const Rule*>& selected);
// One row per rule.
[[nodiscard]] Document list_rules(const std::vector<const Rule*>& selected);

// "3 within 24 h", "below 1 in 2 samples", "more than 30.7 per min".
[[nodiscard]] std::string describe_condition(const Rule& rule);
// "xid:79", "xid:126-135, xid:139".
[[nodiscard]] std::string describe_signals(const Rule& rule);
// "reset the GPU".
[[nodiscard]] std::string_view verb_of(Action action);

}  // namespace weft::health
