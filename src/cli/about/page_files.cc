#include "cli/about/page_files.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "base/file.h"
#include "base/human_format.h"

namespace weft::cli {

Exit write_pages(Context& context, const std::string& folder, const std::vector<PageFile>& files) {
  for (const PageFile& file : files) {
    const std::string path = folder + "/" + file.name;
    std::error_code problem;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path(), problem);
    if (problem) return context.failed({ErrorCode::unavailable, "cannot be created: " + problem.message(), folder});
    const Status written = write_file(path, file.text);
    if (!written.ok()) return context.failed(written.error());
  }
  context.note(fmt::format("wrote {} to {}", plural(files.size(), "file"), folder));
  return Exit::ok;
}

}  // namespace weft::cli
