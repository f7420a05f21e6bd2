#include "world/slurm/engine_instance.h"

#include <fmt/format.h>
#include <sys/random.h>
#include <unistd.h>

#include <cstdint>

#include "base/file.h"
#include "base/text.h"

namespace weft::world {

Result<std::string> load_engine_instance(const std::string& state) {
  const std::string path = state + "/instance";
  if (::access(path.c_str(), F_OK) == 0) {
    const Result<std::string> text = read_file(path, 64);
    if (!text.ok()) return text.error();
    std::string instance(trim(*text));
    if (instance.size() != 8) return Error{ErrorCode::invalid_input, "is not the identifier of an engine", path};
    return instance;
  }
  std::uint32_t number = 0;
  if (::getrandom(&number, sizeof number, 0) != ssize_t{sizeof number})
    return Error{ErrorCode::unavailable, "no random numbers", {}};
  std::string instance = fmt::format("{:08x}", number);
  if (Status written = write_file(path, instance + "\n"); !written.ok()) return written.error();
  return instance;
}

}  // namespace weft::world
