// Faults of a simulated BMC, as data: a kind and its argument, from a file or the command line. A BMC may have several.
// Each kind was observed in the field or is what an attacker would do.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.h"
#include "base/quantity.h"
#include "base/result.h"
#include "base/source.h"

namespace weft::bmcsim {

enum class FaultKind : std::uint8_t {
  silent_accept,             // a reset is accepted and nothing happens
  wrong_reset,               // GracefulRestart is a hard off, ForceRestart a soft one
  no_power_cycle,            // PowerCycle is neither listed nor accepted
  slow,                      // every response is delayed
  session_limited,           // few sessions, without timeout
  flapping,                  // unreachable every other period
  dead,                      // never answers
  stuck_off,                 // On is accepted, the machine stays off
  stuck_on,                  // off is accepted, the machine stays on
  lying_state,               // reports a fixed power state
  malformed,                 // bodies are not JSON
  endless,                   // bodies never end
  endless_headers,           // headers never end
  truncated,                 // bodies end early
  wrong_certificate,         // from another CA, or for another address
  expired_certificate,       // expired yesterday
  http_500,                  // internal error
  busy,                      // returns 503 with Retry-After, a number of times
  unauthorized_always,       // rejects correct passwords
  password_change_required,  // no access before the password is changed
  async_reset,               // a reset is a task that completes
  task_never_ends,           // a reset is a task that never completes
  redirect,                  // redirects clients to another host
  stale_etag,                // If-Match never matches
  slow_trickle,              // one byte at a time, slowly
  wrong_content_type,        // JSON sent as text/html
  default_credentials,       // accepts admin/admin
  no_boot_progress,          // reports neither BootProgress nor LastResetTime
  update_fails,              // the task of a firmware update ends as Exception
  update_stuck,              // ... never ends
  update_unchanged,          // ... is Completed, and the version is as before
  update_task_lost,          // ... is gone after the BMC restarted
  update_drops,              // the image is received, the response is lost
  update_push_uri,           // HttpPushUri instead of a multipart push, as OpenBMC
  xid,                       // a GPU raises an XID
  no_events,                 // no EventService
  events_lost,               // some events are not sent
  events_twice,              // every event is sent twice
  events_late,               // events are sent late
  stream_drops,              // the connection of an event stream is lost
};
inline constexpr std::size_t kFaultKinds = 40;

// The faults of one BMC.
class FaultSet {
 public:
  void add(FaultKind kind, std::int64_t argument);
  [[nodiscard]] bool has(FaultKind kind) const { return ((mask_ >> index(kind)) & 1U) != 0; }
  [[nodiscard]] bool empty() const { return mask_ == 0; }
  // A count, nanoseconds, the index of a word, or an XID, depending on the kind; its default if none was given.
  [[nodiscard]] std::int64_t argument(FaultKind kind) const { return arguments_[index(kind)]; }
  [[nodiscard]] Duration time(FaultKind kind) const { return Duration(argument(kind)); }
  friend bool operator==(const FaultSet&, const FaultSet&) = default;

 private:
  [[nodiscard]] static std::size_t index(FaultKind kind) { return static_cast<std::size_t>(kind); }
  std::uint64_t mask_ = 0;
  std::array<std::int64_t, kFaultKinds> arguments_{};
};

enum class FaultArgument : std::uint8_t { none, count, time, word, xid };

struct FaultWord {
  std::string_view word;
  std::string_view meaning;
};

// Syntax of a kind and its argument.
struct FaultRule {
  FaultKind kind = FaultKind::silent_accept;
  std::string_view name;
  FaultArgument argument = FaultArgument::none;
  std::string_view key;  // of the argument in a file; in capitals, its name in help
  std::int64_t fallback = 0;
  std::array<FaultWord, 3> words{};  // of FaultArgument::word, by index
  std::string_view meaning;
};
[[nodiscard]] std::span<const FaultRule, kFaultKinds> fault_rules();
[[nodiscard]] const FaultRule& rule_of(FaultKind kind);
[[nodiscard]] std::string_view to_text(FaultKind kind);
// For help: "dead[:HOW]", and what it does with the values of its argument.
[[nodiscard]] std::string fault_heading(const FaultRule& rule);
[[nodiscard]] std::string fault_text(const FaultRule& rule);

// The argument of FaultKind::xid.
struct XidFault {
  std::uint32_t gpu = 1;    // from 1
  std::uint32_t code = 79;  // "GPU has fallen off the bus"
};
[[nodiscard]] XidFault xid_fault(std::int64_t argument);
[[nodiscard]] std::int64_t to_argument(const XidFault& fault);

// FaultKind::dead
inline constexpr std::int64_t kDeadSilent = 0;  // no answer to a SYN: connecting times out
inline constexpr std::int64_t kDeadReset = 1;   // the connection is reset at once
inline constexpr std::int64_t kDeadMute = 2;    // the connection is established, nothing is ever sent
// FaultKind::wrong_certificate
inline constexpr std::int64_t kCertificateOfOther = 0;
inline constexpr std::int64_t kCertificateMisnamed = 1;
// FaultKind::lying_state
inline constexpr std::int64_t kLieOn = 0;
// FaultKind::update_fails
inline constexpr std::int64_t kFlashHalf = 1;  // the component is broken
// Which responses a fault affects: resources, or the service root and the sessions too.
inline constexpr std::int64_t kOnResources = 0;

struct NamedFault {
  std::string device;
  FaultKind kind = FaultKind::silent_accept;
  std::int64_t argument = 0;
};

// "train[001-004]=silent_accept", "login1=slow:5s", "train001=xid:3:79".
[[nodiscard]] Result<std::vector<NamedFault>> parse_fault(std::string_view text);
// A faults file; diagnostics refer to its locations:
//   weft_faults: 1
//   faults:
//     train[001-004]: {kind: silent_accept, after: 2}
//     train005: [{kind: slow, time: 5s}, {kind: malformed}]
[[nodiscard]] std::optional<std::vector<NamedFault>> read_faults(const Sources& sources, FileId file,
                                                                 Diagnostics& diagnostics);

}  // namespace weft::bmcsim
