// All pictures of a cluster as one self-contained web page: zoom, search, and for each device where it is and what it
// is cabled to. The pictures themselves are those of pictures.h, without a script; the page adds it.
#pragma once

#include <string>

#include "model/cluster.h"

namespace weft::design {

// About 3 MB for 2,000 servers. Beyond 200,000 cables the page leaves their list out and says so.
[[nodiscard]] std::string cluster_page(const model::Cluster& cluster);

}  // namespace weft::design
