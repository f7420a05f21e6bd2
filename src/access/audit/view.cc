#include "access/audit/view.h"

#include <fmt/format.h>

#include "base/human_format.h"

namespace weft::access {
namespace {

constexpr Column::Align kRight = Column::Align::right;
constexpr Column::Align kLeft = Column::Align::left;

Cell text_cell(const std::string& text) { return text.empty() ? Cell() : Cell(text); }
Cell number_cell(std::int64_t number) { return number == 0 ? Cell() : Cell(number); }
Cell json_cell(const Value& value) { return value.empty() ? Cell() : Cell(write_json_line(value)); }

}  // namespace

Document audit_view(const AuditPage& page) {
  Document document;
  document.kind = "audit";
  FactsSection facts{"page", "", {}};
  Cell next;  // the value of --before for the page after this one
  if (page.next != 0) next = Cell(page.next);
  next.shown = page.next == 0 ? "none" : fmt::format("--before {}", page.next);
  facts.facts = {{"next", "Older entries", next}};
  TableSection table{"entries", "", {}, {}};
  table.columns = {{"number", "Number", kRight},
                   {"time", "Time"},
                   {"phase", "Phase"},
                   {"operation", "Operation"},
                   {"object", "Object"},
                   {"actor", "Actor"},
                   {"method", "Signed in by", kLeft, true},
                   {"credential", "Credential", kLeft, true},
                   {"address", "Address"},
                   {"status", "Status", kRight},
                   {"reason", "Reason"},
                   {"approved_by", "Approved by", kLeft, true},
                   {"message", "Message"},
                   {"before", "Before", kLeft, true},
                   {"after", "After", kLeft, true},
                   {"body_bytes", "Body", kRight, true},
                   {"body_sha256", "SHA-256 of the body", kLeft, true},
                   {"members", "Members", kLeft, true},
                   {"evidence", "Evidence", kLeft, true},
                   {"request", "Request", kLeft, true},
                   {"request_id", "Request ID", kLeft, true},
                   {"hash", "Hash", kLeft, true}};
  for (const AuditRecord& entry : page.entries) {
    table.rows.push_back({entry.number,
                          entry.time,
                          entry.phase,
                          entry.operation,
                          text_cell(entry.object),
                          text_cell(entry.actor),
                          text_cell(entry.method),
                          text_cell(entry.credential),
                          text_cell(entry.address),
                          number_cell(entry.status),
                          text_cell(entry.reason),
                          text_cell(entry.approved_by),
                          text_cell(entry.message),
                          text_cell(entry.before),
                          text_cell(entry.after),
                          number_cell(entry.body_bytes),
                          text_cell(entry.body_sha256),
                          json_cell(entry.members),
                          json_cell(entry.evidence),
                          entry.request,
                          text_cell(entry.request_id),
                          entry.hash});
  }
  if (page.entries.empty()) document.notes.emplace_back(page.next == 0 ? "No entries." : "No entries in this part.");
  if (page.unreadable > 0) {
    document.notes.push_back(
        fmt::format("{} not readable: verify the audit log.", plural(page.unreadable, "line is", "lines are")));
  }
  document.sections.emplace_back(std::move(facts));
  document.sections.emplace_back(std::move(table));
  return document;
}

Document audit_verdict_view(const AuditVerdict& verdict) {
  Document document;
  document.kind = "audit-verdict";
  FactsSection facts{"audit", "", {}};
  facts.facts = {{"intact", "Intact", verdict.problems.empty()},
                 {"files", "Files", verdict.files},
                 {"entries", "Entries", verdict.entries},
                 {"head", "Last hash", text_cell(verdict.head)}};
  document.sections.emplace_back(std::move(facts));
  TableSection problems{"problems", "Problems", {{"problem", "Problem"}}, {}};
  for (const std::string& problem : verdict.problems) problems.rows.push_back({problem});
  if (!problems.rows.empty()) document.sections.emplace_back(std::move(problems));
  document.notes = verdict.notes;
  return document;
}

}  // namespace weft::access
