// One entry of the audit log of the API: who asked for what, from where and why, and what came of it; and how it is
// kept as an entry of the journal (oob/journal). Nothing secret is ever in it: of a body its SHA-256, its length and
// the values of known members, of a text no token.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "access/identity/identity.h"
#include "base/value.h"
#include "oob/journal/journal.h"

namespace weft::access {

// Where a request comes from. `identity.user` is empty before a name is proven.
struct AuditSource {
  Identity identity{};
  std::string address{};  // "" over the Unix socket
  std::string request_id{};
};

// What is kept of a body.
struct AuditBody {
  std::string sha256{};
  std::uint64_t bytes = 0;
};
[[nodiscard]] AuditBody digest_body(std::string_view body);

// Before a request is carried out.
struct AuditIntent {
  AuditSource source{};
  std::string operation{};  // id of the route: "node.drain"
  std::string object{};     // "train001", "job 12"
  std::string reason{};
  AuditBody body{};
  // Members of the body. Those that is_audited_member() names are kept, the others are dropped here.
  std::vector<std::pair<std::string, std::string>> members{};
  std::string before{};       // short state of the object
  std::string approved_by{};  // the second person
};

// After it was carried out, or refused.
struct AuditOutcome {
  int status = 0;  // of HTTP
  std::string message{};
  std::string after{};  // short state of the object
  Value evidence{};     // a map: sequence of the journal of the control plane, ...
};

// An event that is no request of the API: sign-in, a token that was used twice, reading the audit log.
struct AuditNote {
  AuditSource source{};
  // One of those below, or the id of a route. A name that ends in ".refused" has the severity warning in syslog.
  std::string operation{};
  std::string object{};
  std::string reason{};
  Value evidence{};  // a map
};
inline constexpr std::string_view kSignIn = "sign-in";
inline constexpr std::string_view kSignInRefused = "sign-in.refused";
inline constexpr std::string_view kRefreshReuse = "refresh-reuse.refused";
inline constexpr std::string_view kRefreshRepeat = "refresh-repeat";
inline constexpr std::string_view kRequestRefused = "request.refused";
inline constexpr std::string_view kLogContinued = "audit.continued";

// An entry as it is read.
struct AuditRecord {
  std::uint64_t number = 0;  // over all files of the log
  std::string time{};
  std::string phase{};    // "intent", "outcome", "note"
  std::string request{};  // the same in the intent and the outcome of one request: 16 hexadecimal digits
  std::string operation{};
  std::string object{};
  std::string actor{};
  std::string method{};
  std::string credential{};
  std::string address{};
  std::string request_id{};
  std::string reason{};
  std::string approved_by{};
  std::string before{};
  std::string after{};
  std::int64_t status = 0;  // 0: none
  std::string message{};
  std::string body_sha256{};
  std::int64_t body_bytes = 0;
  Value members{};
  Value evidence{};
  std::string hash{};
};

// `request`: 16 hexadecimal digits. Texts are limited in length and have no control characters or tokens afterwards.
[[nodiscard]] oob::JournalEntry journal_entry(const AuditIntent& intent, const std::string& request);
[[nodiscard]] oob::JournalEntry journal_entry(const AuditIntent& intent, const AuditOutcome& outcome,
                                              const std::string& request);
[[nodiscard]] oob::JournalEntry journal_entry(const AuditNote& note, const std::string& request);
// Any entry of a journal: members that are missing or have another type are empty. `base`: entries of earlier files.
[[nodiscard]] AuditRecord audit_record(const oob::JournalEntry& entry, std::uint64_t base);

// The members of request bodies whose values are kept: never files, commands, passwords or tokens.
[[nodiscard]] bool is_audited_member(std::string_view name);
// The text with tokens of weft, signed tokens (JWT) and credentials after "Bearer" and "Basic" replaced; of a token of
// weft its public part stays: "weft_t_4k2j8x0qa1zz_[removed]".
[[nodiscard]] std::string remove_tokens(std::string_view text);

}  // namespace weft::access
