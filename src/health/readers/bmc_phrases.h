// What the text of a BMC's event is about: classification of the messages of vendors, without their JSON or records.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weft::health {

// Lower case, with spaces for '_' and '-': "PS1_Status" and "PS1 Status" are one.
[[nodiscard]] std::string normalize_event_text(std::string_view text);

// Kinds of sensors, of which the threshold events and readings are told apart.
enum class SensorKind : std::uint8_t { other, temperature, margin, fan, voltage, power, leak };
// By its name, the kind and unit that the BMC gives (both may be empty). `margin`: degrees below the temperature at
// which a GPU or CPU slows down, where low is hot (NVIDIA's TLIMIT, Intel's margin to Tjmax).
[[nodiscard]] SensorKind sensor_kind(std::string_view name, std::string_view kind, std::string_view unit);

// A threshold and the direction in which it was crossed: "Upper Critical - going high", "crossed a warning low
// threshold going high".
struct Crossing {
  enum class Level : std::uint8_t { warning, critical, fatal };
  Level level = Level::warning;
  bool is_upper = true;
  bool is_return = false;  // back to the normal side
  std::optional<double> reading;
  std::optional<double> threshold;
};
[[nodiscard]] std::optional<Crossing> read_crossing(std::string_view normalized);
[[nodiscard]] std::string_view to_text(Crossing::Level level);

// What a sensor of this kind reports on that side; "": not a problem.
[[nodiscard]] std::string_view threshold_signal(SensorKind kind, Crossing::Level level, bool is_upper);
// No temperature is below absolute zero: the value that firmware writes for a sensor that did not answer (-524288).
[[nodiscard]] bool is_plausible(SensorKind kind, double value);

struct Phrase {
  std::string_view name{};    // "sel:psu_lost"
  std::string_view reason{};  // "input_lost"; "": none
  bool is_end = false;        // "has been restored", "presence detected"
  // Presence of a part: its deassertion is the condition.
  bool is_presence = false;
};
// From the sensor's name or type and the message, normalized; nullopt: nothing that is known.
[[nodiscard]] std::optional<Phrase> classify_event(std::string_view normalized);

}  // namespace weft::health
