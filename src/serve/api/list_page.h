// Filters, sorts and pages the table of a list: the same parameters for every list of the API. A page continues after
// the last row of the one before by that row's values, so that rows which come and go meanwhile are neither repeated
// nor skipped.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/document.h"
#include "serve/api/parameters.h"

namespace weft::serve {

// Changes the first table of the document. Returns the token of the next page, "" if this is the last; errors are
// appended (a column that does not exist, a page of another order).
[[nodiscard]] std::string apply_list_parameters(Document& document, const Parameters& parameters,
                                                std::vector<InputError>& errors);

}  // namespace weft::serve
