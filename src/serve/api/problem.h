// Errors of the API with the place in the request that is wrong (RFC 9457 with the member `errors`): a parameter of the
// query, a member of the body, a header, or a line of a submitted file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.h"
#include "base/source.h"
#include "serve/http/message.h"

namespace weft::serve {

struct InputError {
  enum class Where : std::uint8_t { body, query, header, path, file };
  Where where = Where::body;
  std::string name;    // of the member, parameter or header; of a file, its name
  std::string detail;  // what is wrong, with the value
  std::size_t line = 0;
  std::size_t column = 0;
};

// 400, with a detail that lists every error.
[[nodiscard]] HttpResponse input_problem(const std::vector<InputError>& errors);
// 422: a submitted file with errors, which are shown as the command line shows them.
[[nodiscard]] HttpResponse file_problem(const Diagnostics& diagnostics, const Sources& sources);
// Adds the member `request_id` to a problem; other responses stay as they are.
void add_request_id(HttpResponse& response, std::string_view id);
// What every caller without the right gets for an object, and every caller for one that does not exist.
[[nodiscard]] HttpResponse absent_problem(std::string_view kind, std::string_view name);

}  // namespace weft::serve
