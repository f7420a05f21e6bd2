// The file formats that weft reads and whose keys are tables: what `weft schema` prints as JSON Schema and `weft man`
// as manual pages of section 5.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/framework/command.h"
#include "model/schema.h"

namespace weft::cli {

struct FileFormat {
  std::string_view name;                   // argument of `weft schema`: "cluster"
  std::string_view title;                  // "weft cluster file"
  std::string_view purpose;                // "cluster files"
  std::vector<std::string_view> patterns;  // of file names, for editors
  const model::Schema& (*schema)();
};

[[nodiscard]] const std::vector<FileFormat>& file_formats();
// Null if there is none of that name.
[[nodiscard]] const FileFormat* find_file_format(std::string_view name);

// "weft-cluster", a manual page of section 5.
[[nodiscard]] std::string format_page_name(const FileFormat& format);
[[nodiscard]] std::string format_man_page(const FileFormat& format);
// The names of those pages, with what they are about.
[[nodiscard]] std::vector<Choice> format_pages();

}  // namespace weft::cli
