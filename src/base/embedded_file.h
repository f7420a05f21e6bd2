// A file that the build embeds in the executable (cmake/Embed.cmake), so that weft works without its source tree. Each
// array of them is declared by the module that compiles it.
#pragma once

#include <cstddef>

namespace weft {

struct EmbeddedFile {
  const char* path;  // relative to the source tree, "catalog/gpus.yaml"
  const char* text;  // `size` bytes, then a zero byte
  std::size_t size;
};

}  // namespace weft
