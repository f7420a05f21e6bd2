#include "net/network_from_cluster.h"

namespace weft::net {

Result<Network> network_of(const Cluster&, const ClusterNetworkOptions&) {
  return Error{ErrorCode::internal, "not yet", {}};
}

}  // namespace weft::net
