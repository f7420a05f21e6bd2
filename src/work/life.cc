#include "work/life.h"

namespace weft::work {

std::string_view to_text(Medium medium) {
  switch (medium) {
    case Medium::backend:
      return "backend";
    case Medium::storage:
      return "storage";
    case Medium::frontend:
      return "frontend";
    case Medium::oob:
      return "oob";
    case Medium::nvlink:
      return "nvlink";
    case Medium::host:
      return "host";
  }
  return "";
}

}  // namespace weft::work
