// Writes the generated pages of a command (manual pages, schemas) to a folder.
#pragma once

#include <string>
#include <vector>

#include "cli/framework/context.h"

namespace weft::cli {

struct PageFile {
  std::string name;  // relative to the folder; may lie in a folder of it: "man1/weft.1"
  std::string text;
};

// Creates folders that are missing, then replaces each file. Prints how many there are, on standard error.
[[nodiscard]] Exit write_pages(Context& context, const std::string& folder, const std::vector<PageFile>& files);

}  // namespace weft::cli
