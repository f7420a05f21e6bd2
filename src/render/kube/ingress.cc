#include "render/kube/ingress.h"

#include <fmt/format.h>

#include "render/kube/services.h"

namespace weft::render::kube_ingress {
namespace {

using kube_services::name_of;
using kube_services::object;
using kube_services::space_of;

constexpr std::string_view kFrontend = "frontend";
constexpr std::string_view kAddressAnnotation = "lbipam.cilium.io/ips";
constexpr std::string_view kCookie = "WEFT_REPLICA";
constexpr std::string_view kApiPrefix = "/v1";  // of the OpenAI-style API; /health and /metrics are internal
constexpr std::size_t kMaxListeners = 64;       // of one Gateway, by its schema

enum class Entrance { gateway, ingress, route };

Entrance chosen(const RenderInput& input) {
  if (input.options["ingress"] == "ingress") return Entrance::ingress;
  return input.options["ingress"] == "route" ? Entrance::route : Entrance::gateway;
}

std::vector<const model::ServiceSpec*> services_of(const RenderInput& input) {
  std::vector<const model::ServiceSpec*> services;
  for (const std::size_t n : kube_services::rendered_services(input)) {
    services.push_back(&input.cluster.spec().services.value[n]);
  }
  return services;
}
const std::string& domain_of(const RenderInput& input) { return input.cluster.spec().site->domain.value; }

std::string certificate_of(const model::ServiceSpec& service) { return name_of(service) + "-tls"; }

// Whether "*.domain" matches the host: a wildcard covers one label.
bool under_domain(const RenderInput& input, const model::ServiceSpec& service) {
  const std::string& host = service.host.value;
  const std::size_t dot = host.find('.');
  return dot != std::string::npos && host.substr(dot + 1) == domain_of(input);
}

// With a prefix: a service may be named "https".
std::string own_listener(const model::ServiceSpec& service) { return "service-" + name_of(service); }

std::string listener_of(const RenderInput& input, const model::ServiceSpec& service) {
  return under_domain(input, service) ? "https" : own_listener(service);
}

Value https_listener(std::string name, std::string host, std::string certificate) {
  Value selector = kube_services::match_labels(kExposeLabel, kFrontend);
  return Value::map({
      {"name", std::move(name)},
      {"protocol", "HTTPS"},
      {"port", 443},
      {"hostname", std::move(host)},
      {"tls", Value::map({{"mode", "Terminate"},
                          {"certificateRefs",
                           Value::list({Value::map({{"kind", "Secret"}, {"name", std::move(certificate)}})})}})},
      {"allowedRoutes",
       Value::map({{"namespaces", Value::map({{"from", "Selector"}, {"selector", std::move(selector)}})}})},
  });
}

Value listeners(const RenderInput& input, FileSink& sink) {
  Value list = Value::list();
  list.add(Value::map({{"name", "http"},
                       {"protocol", "HTTP"},
                       {"port", 80},
                       {"allowedRoutes", Value::map({{"namespaces", Value::map({{"from", "Same"}})}})}}));
  list.add(https_listener("https", "*." + domain_of(input), "gateway-tls"));
  for (const model::ServiceSpec* one : services_of(input)) {
    const model::ServiceSpec& service = *one;
    if (under_domain(input, service)) continue;
    if (list.items().size() == kMaxListeners) {
      sink.left_out(fmt::format(
          "a Gateway has at most {} listeners: service `{}` and later services with names outside {} have none",
          kMaxListeners, service.name->text, domain_of(input)));
      break;
    }
    list.add(https_listener(own_listener(service), service.host.value, certificate_of(service)));
  }
  return list;
}

Value gateway(const RenderInput& input, FileSink& sink) {
  const std::string address = to_text(input.plan.service_address(0));
  Value gate = object("gateway.networking.k8s.io/v1", "Gateway", std::string(kFrontend), std::string(kGatewaySpace));
  gate["spec"] = Value::map({
      {"gatewayClassName", kFrontend},
      {"addresses", Value::list({Value::map({{"type", "IPAddress"}, {"value", address}})})},
      {"infrastructure", Value::map({{"labels", Value::map({{std::string(kExposeLabel), kFrontend}})},
                                     {"annotations", Value::map({{std::string(kAddressAnnotation), address}})}})},
      {"listeners", listeners(input, sink)},
  });
  return gate;
}

Value gateway_class() {
  Value type = object("gateway.networking.k8s.io/v1", "GatewayClass", std::string(kFrontend));
  type["spec"] = Value::map({{"controllerName", "gateway.envoyproxy.io/gatewayclass-controller"},
                             {"description", "Envoy Gateway: least-request load balancing"}});
  return type;
}

Value parent(std::string section) {
  return Value::list(
      {Value::map({{"name", kFrontend}, {"namespace", kGatewaySpace}, {"sectionName", std::move(section)}})});
}

Value redirect_route() {
  Value route = object("gateway.networking.k8s.io/v1", "HTTPRoute", "to-https", std::string(kGatewaySpace));
  Value filter = Value::map(
      {{"type", "RequestRedirect"}, {"requestRedirect", Value::map({{"scheme", "https"}, {"statusCode", 301}})}});
  route["spec"] = Value::map({{"parentRefs", parent("http")},
                              {"rules", Value::list({Value::map({{"filters", Value::list({std::move(filter)})}})})}});
  return route;
}

Value http_route(const RenderInput& input, const model::ServiceSpec& service) {
  Value route = object("gateway.networking.k8s.io/v1", "HTTPRoute", name_of(service), space_of(service));
  const std::string timeout = kube_services::gateway_duration(service.timeout.value);
  Value path = Value::map({{"path", Value::map({{"type", "PathPrefix"}, {"value", kApiPrefix}})}});
  Value rule = Value::map({
      {"matches", Value::list({std::move(path)})},
      {"timeouts", Value::map({{"request", timeout}, {"backendRequest", timeout}})},
      {"backendRefs", Value::list({Value::map({{"name", name_of(service)}, {"port", service.port.value}})})},
  });
  route["spec"] = Value::map({{"parentRefs", parent(listener_of(input, service))},
                              {"hostnames", Value::list({service.host.value})},
                              {"rules", Value::list({std::move(rule)})}});
  return route;
}

// In front of a controller that is already installed.
Value entrance_service(const RenderInput& input, std::string name, const std::string& space, Value selector) {
  Value service = object("v1", "Service", std::move(name), space);
  Value& metadata = service["metadata"];
  metadata["labels"].set(kExposeLabel, kFrontend);
  metadata.set("annotations", Value::map({{std::string(kAddressAnnotation), to_text(input.plan.service_address(0))}}));
  const auto port = [](const char* port_name, int number) {
    return Value::map({{"name", port_name}, {"protocol", "TCP"}, {"port", number}, {"targetPort", port_name}});
  };
  service["spec"] = Value::map({{"type", "LoadBalancer"},
                                {"externalTrafficPolicy", "Local"},
                                {"selector", std::move(selector)},
                                {"ports", Value::list({port("http", 80), port("https", 443)})}});
  return service;
}

Value nginx_ingress(const model::ServiceSpec& service) {
  const std::string seconds = std::to_string(kube_services::whole_seconds(service.timeout.value));
  const std::string prefix = "nginx.ingress.kubernetes.io/";
  Value annotations = Value::map();
  annotations.set(prefix + "ssl-redirect", "true");
  annotations.set(prefix + "proxy-read-timeout", seconds);
  annotations.set(prefix + "proxy-send-timeout", seconds);
  annotations.set(prefix + "proxy-buffering", "off");  // tokens reach the client as they are generated
  // NGINX has no least-connections here; its moving average of latency serves the same purpose.
  annotations.set(prefix + "load-balance",
                  service.balancing.value == model::Balancing::least_connections ? "ewma" : "round_robin");
  if (service.sticky.value) {
    annotations.set(prefix + "affinity", "cookie");
    annotations.set(prefix + "affinity-mode", "balanced");
    annotations.set(prefix + "session-cookie-name", kCookie);
    annotations.set(prefix + "session-cookie-secure", "true");
  }
  Value ingress = object("networking.k8s.io/v1", "Ingress", name_of(service), space_of(service));
  ingress["metadata"].set("annotations", std::move(annotations));
  Value backend = Value::map(
      {{"service", Value::map({{"name", name_of(service)}, {"port", Value::map({{"number", service.port.value}})}})}});
  Value path = Value::map({{"path", kApiPrefix}, {"pathType", "Prefix"}, {"backend", std::move(backend)}});
  Value rule =
      Value::map({{"host", service.host.value}, {"http", Value::map({{"paths", Value::list({std::move(path)})}})}});
  ingress["spec"] = Value::map({{"ingressClassName", "nginx"},
                                {"tls", Value::list({Value::map({{"hosts", Value::list({service.host.value})},
                                                                 {"secretName", certificate_of(service)}})})},
                                {"rules", Value::list({std::move(rule)})}});
  return ingress;
}

Value openshift_route(const model::ServiceSpec& service) {
  const std::string prefix = "haproxy.router.openshift.io/";
  Value annotations = Value::map();
  annotations.set(prefix + "timeout", fmt::format("{}s", kube_services::whole_seconds(service.timeout.value)));
  annotations.set(prefix + "balance",
                  service.balancing.value == model::Balancing::least_connections ? "leastconn" : "roundrobin");
  annotations.set(prefix + "disable_cookies", service.sticky.value ? "false" : "true");
  if (service.sticky.value) annotations.set("router.openshift.io/cookie_name", kCookie);
  Value route = object("route.openshift.io/v1", "Route", name_of(service), space_of(service));
  route["metadata"].set("annotations", std::move(annotations));
  route["spec"] =
      Value::map({{"host", service.host.value},
                  {"path", kApiPrefix},
                  {"to", Value::map({{"kind", "Service"}, {"name", name_of(service)}, {"weight", 100}})},
                  {"port", Value::map({{"targetPort", "http"}})},
                  {"tls", Value::map({{"termination", "edge"},
                                      {"insecureEdgeTerminationPolicy", "Redirect"},
                                      {"externalCertificate", Value::map({{"name", certificate_of(service)}})}})}});
  return route;
}

}  // namespace

std::vector<Value> entrance(const RenderInput& input, FileSink& sink) {
  switch (chosen(input)) {
    case Entrance::gateway:
      return {gateway_class(), gateway(input, sink), redirect_route()};
    case Entrance::ingress:
      return {entrance_service(
          input, "ingress-nginx", std::string(kGatewaySpace),
          Value::map({{"app.kubernetes.io/name", "ingress-nginx"}, {"app.kubernetes.io/component", "controller"}}))};
    case Entrance::route:
      break;
  }
  const char* const router = "ingresscontroller.operator.openshift.io/deployment-ingresscontroller";
  return {entrance_service(input, "router-frontend", "openshift-ingress", Value::map({{router, "default"}}))};
}

std::vector<Value> routes(const RenderInput& input) {
  std::vector<Value> out;
  for (const model::ServiceSpec* one : services_of(input)) {
    const model::ServiceSpec& service = *one;
    switch (chosen(input)) {
      case Entrance::gateway:
        out.push_back(http_route(input, service));
        break;
      case Entrance::ingress:
        out.push_back(nginx_ingress(service));
        break;
      case Entrance::route:
        out.push_back(openshift_route(service));
        break;
    }
  }
  return out;
}

std::string entrance_notes(const RenderInput& input) {
  if (chosen(input) == Entrance::ingress) {
    return "Service address of the NGINX ingress controller, which runs in the namespace gateway on nodes with BGP "
           "sessions.";
  }
  if (chosen(input) == Entrance::route) return "Service address of OpenShift's router, on nodes with BGP sessions.";
  return fmt::format(
      "The gateway in front of all services, on {}. Envoy Gateway is installed with deploy type\n"
      "GatewayNamespace, so that its proxies run in the namespace gateway, which network policies allow, on\nnodes "
      "with BGP sessions. Certificates are Secrets of that namespace: gateway-tls for *.{},\n"
      "NAME-tls for a service with a name in another domain.",
      to_text(input.plan.service_address(0)), domain_of(input));
}

std::string route_notes(const RenderInput& input) {
  if (chosen(input) == Entrance::ingress) {
    return "Ingresses of the services: least latency first (EWMA), sticky by cookie, long timeouts. The Secret "
           "NAME-tls in the\nservice's namespace has its certificate.";
  }
  if (chosen(input) == Entrance::route) {
    return "OpenShift Routes of the services: least connections, sticky by cookie, long timeouts. The Secret NAME-tls "
           "in the\nservice's namespace has its certificate; the router needs permission to read it.";
  }
  return "Routes of the services. Envoy Gateway uses least-request load balancing unless a policy overrides it.\n"
         "The standard channel of the Gateway API has no session persistence: where the experimental channel is\n"
         "installed, add sessionPersistence {type: Cookie} to the rule of a sticky service; --set ingress=ingress "
         "and\nthe haproxy target support sticky sessions without it.";
}

}  // namespace weft::render::kube_ingress
