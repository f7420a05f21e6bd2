// How requests reach services once their address is announced: Gateway API, Ingress or OpenShift Route. Part of the
// target kubernetes/frontend; see kube/frontend.cc for the announcement.
#pragma once

#include <vector>

#include "base/value.h"
#include "render/core/target.h"

namespace weft::render::kube_ingress {

// The proxy's own objects: GatewayClass and Gateway, or the Service in front of an existing controller.
[[nodiscard]] std::vector<Value> entrance(const RenderInput& input, FileSink& sink);
// One route per service in the file, in the service's namespace.
[[nodiscard]] std::vector<Value> routes(const RenderInput& input);
// Notes for readers of both files, as comment lines.
[[nodiscard]] std::string entrance_notes(const RenderInput& input);
[[nodiscard]] std::string route_notes(const RenderInput& input);

}  // namespace weft::render::kube_ingress
