#include "oob/bmc/connector.h"

namespace weft::oob {
namespace {

class NetworkConnector final : public BmcConnector {
 public:
  explicit NetworkConnector(Clock& clock) : clock_(clock) {}

  Result<std::unique_ptr<Bmc>> dial(const Endpoint& endpoint, const std::string& user,
                                    const Secret& password) override {
    switch (endpoint.protocol) {
      case Protocol::redfish:
        return dial_redfish(endpoint, user, password, clock_);
      case Protocol::ipmi:
        return dial_ipmi(endpoint, user, password, clock_);
      case Protocol::none:
        break;
    }
    return Error{ErrorCode::not_found, "has no Redfish or IPMI controller", endpoint.device};
  }

 private:
  Clock& clock_;
};

}  // namespace

std::unique_ptr<BmcConnector> network_connector(Clock& clock) { return std::make_unique<NetworkConnector>(clock); }

}  // namespace weft::oob
