// Names of the media that a job's bytes travel over.
#include "workload/result/life.h"

namespace weft::workload {

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
      break;
  }
  return "host";
}

}  // namespace weft::workload
