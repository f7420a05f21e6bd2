// One row per request of the API: its path, its parameters, its body, and who may send it. This table is the only
// description: it parses requests, decides access, and generates the OpenAPI document, the documentation and the
// authorization test. It does not say what a request does: see api.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace weft::serve {

enum class FieldType : std::uint8_t {
  text,     // UTF-8 without control characters
  content,  // a file: any UTF-8
  integer,  // from 0
  boolean,
  duration,  // "2h", "90s"
  hosts      // "train[001-004]", or a list of names
};

// A parameter of the query, or a member of the body.
struct Field {
  std::string_view name;
  FieldType type = FieldType::text;
  std::string_view about;
  bool required = false;
  std::uint64_t max = 1000;                    // of text: bytes; of an integer: its value
  std::vector<std::string_view> choices = {};  // of text: the only values
};

// Who may send a request. What an answer contains, and whether one object may be changed, is decided per object by
// access::Access; this is what is decided before the object is looked at.
enum class Need : std::uint8_t {
  anyone,     // without signing in
  signed_in,  // any caller that has proven a name, with or without a role
  see,        // any role; the answer has only what the caller may see
  submit,     // role user or tenant admin of the job's tenant, or operator
  change,     // the object's owner, tenant admin of its tenant, or operator
  output,     // the same, for the output of a job
  operate,    // operator
  administer  // admin
};
[[nodiscard]] std::string_view to_text(Need need);

enum class Reason : std::uint8_t { none, optional, required };

struct RouteRow {
  std::string_view id;  // "job.cancel": operation of the OpenAPI document, of the audit log and of the approval policy
  std::string_view method;
  std::string_view pattern;  // below /api/v1: "/jobs/{job}"
  std::string_view about;
  Need need = Need::see;
  std::string_view answer;       // shape of the response: see answer_shapes()
  bool lists = false;            // a list: also ?limit=, ?page=, ?sort= and a filter per column
  bool changes = false;          // something: audited, and answered when it is durable
  bool creates = false;          // accepts Idempotency-Key
  bool conditional = false;      // accepts If-Match
  bool has_tag = false;          // the answer has an ETag, and If-None-Match is honored
  bool needs_drive = false;      // refused in watch mode
  Reason reason = Reason::none;  // the body's member "reason"
  std::vector<Field> query = {};
  std::vector<Field> body = {};  // without "reason"
};

inline constexpr std::string_view kApiPrefix = "/api/v1";

// Every row, in the order of the documentation.
[[nodiscard]] std::span<const RouteRow> route_rows();

}  // namespace weft::serve
