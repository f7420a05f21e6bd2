// Values of a request, read as its row of the route table describes them. Strict: an unknown or repeated parameter, a
// member of another type, a value out of range and bytes after the JSON object are errors, and all are reported at once
// with their place. What a value means is the handler's business.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "serve/api/problem.h"
#include "serve/table/route.h"

namespace weft::serve {

class Parameters {
 public:
  [[nodiscard]] bool has(std::string_view name) const { return values_.find(name) != values_.end(); }
  // "" if it is absent. Of `hosts`, the names or ranges joined by commas.
  [[nodiscard]] const std::string& text(std::string_view name) const;
  [[nodiscard]] std::uint64_t number(std::string_view name, std::uint64_t otherwise) const;
  [[nodiscard]] bool is_set(std::string_view name) const { return text(name) == "true"; }
  // Filters of a list, by column: parameters that the row does not name.
  [[nodiscard]] const std::vector<std::pair<std::string, std::string>>& filters() const { return filters_; }

 private:
  friend class ParameterReader;
  std::map<std::string, std::string, std::less<>> values_;
  std::vector<std::pair<std::string, std::string>> filters_;
};

// Parameters of every GET whose answer is a document, and of every list.
inline constexpr std::int64_t kMaxTableWidth = 10'000;
[[nodiscard]] const std::vector<Field>& format_fields();  // output, color, width
[[nodiscard]] const std::vector<Field>& list_fields();    // limit, page, sort
[[nodiscard]] const Field& reason_field();

// Reads query and body. Errors are appended; the values are then not to be used.
[[nodiscard]] Parameters read_parameters(const RouteRow& row, const HttpRequest& request,
                                         std::vector<InputError>& errors);

}  // namespace weft::serve
