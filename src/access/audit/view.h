// A page of the audit log as a document, for the API and for commands.
#pragma once

#include "access/audit/read.h"
#include "base/document.h"

namespace weft::access {

// Kind "audit": facts "page" with `next`, table "entries".
[[nodiscard]] Document audit_view(const AuditPage& page);
// Kind "audit-verdict".
[[nodiscard]] Document audit_verdict_view(const AuditVerdict& verdict);

}  // namespace weft::access
