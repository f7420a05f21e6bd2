// The terraform target: providers, variables, Helm releases and, for Cisco servers, Intersight profiles. Where state is
// stored (the backend) is left to the site.
#include <fmt/format.h>

#include "render/automation/terraform_parts.h"
#include "render/core/targets.h"

namespace weft::render {
namespace {

Value variable(std::string_view type, std::string_view description, bool sensitive) {
  Value out = Value::map({{"type", type}, {"description", description}});
  if (sensitive) out.set("sensitive", true);
  return out;
}

Value provider(std::string_view source, std::string_view version) {
  return Value::map({{"source", source}, {"version", version}});
}

void add_versions(const RenderInput& input, FileSink& sink) {
  Value providers = Value::map();
  if (input.plan.has_kubernetes()) providers.set("helm", provider("hashicorp/helm", "~> 3.0"));
  if (terraform_has_intersight(input)) providers.set("intersight", provider("CiscoDevNet/intersight", "~> 1.0.77"));
  add_terraform_file(sink, "versions",
                     Value::map({{"terraform", Value::map({{"required_version", ">= 1.5.0"},
                                                           {"required_providers", std::move(providers)}})}}),
                     "control_plane");
}

void add_providers(const RenderInput& input, FileSink& sink) {
  Value out = Value::map();
  if (input.plan.has_kubernetes()) {
    out.set("helm", Value::map({{"kubernetes", Value::map({{"config_path", "${var.kubeconfig}"},
                                                           {"config_context", "${var.kubernetes_context}"}})}}));
  }
  if (terraform_has_intersight(input)) {
    out.set("intersight", Value::map({{"apikey", "${var.intersight_api_key}"},
                                      {"secretkey", "${var.intersight_secret_key}"},
                                      {"endpoint", "${var.intersight_endpoint}"}}));
  }
  add_terraform_file(sink, "providers", Value::map({{"provider", std::move(out)}}), "control_plane");
}

void add_variables(const RenderInput& input, FileSink& sink) {
  Value out = Value::map();
  if (input.plan.has_kubernetes()) {
    out.set("kubeconfig", variable("string", "Path of the kubeconfig of this cluster.", true));
    out.set("kubernetes_context", variable("string", "Context in that kubeconfig.", false));
    out.set("kubernetes_api_host",
            variable("string", "Name or virtual IP address of the API server, as reached from the nodes.", false));
  }
  if (terraform_has_intersight(input)) {
    out.set("intersight_api_key", variable("string", "ID of the Intersight API key.", true));
    out.set("intersight_secret_key", variable("string", "Secret of the API key, or the path of a file with it.", true));
    out.set("intersight_endpoint", variable("string", "URL of Intersight or of a private appliance.", false)
                                       .set("default", "https://intersight.com"));
    out.set("intersight_organization", variable("string", "Organization that owns the profiles.", false));
    out.set("server_serials",
            variable("map(string)",
                     "Serial number of each server by name; profiles of servers without one are not assigned.", false)
                .set("default", Value::map()));
    if (terraform_has_interconnects(input)) {
      out.set("mac_block_from", variable("string", "First MAC address of the vNIC pool: 00:25:B5:xx:xx:xx.", false));
    }
  }
  add_terraform_file(sink, "variables", Value::map({{"variable", std::move(out)}}), "control_plane");
}

}  // namespace

std::string terraform_text(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    out += text[i];
    if ((text[i] == '$' || text[i] == '%') && i + 1 < text.size() && text[i + 1] == '{') out += text[i];
  }
  return out;
}

std::string terraform_name(std::string_view prefix, std::string_view text) {
  std::string out(prefix);
  for (const char c : text) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
    out += plain ? c : '_';
  }
  return out;
}

std::string terraform_reference(std::string_view kind, std::string_view name, std::string_view attribute) {
  return fmt::format("${{{}.{}.{}}}", kind, name, attribute);
}

void add_terraform_file(FileSink& sink, std::string_view name, const Value& value, std::string_view source) {
  sink.add({.path = fmt::format("terraform/{}.tf.json", name),
            .content = write_json(value),
            .consumer = "Terraform",
            .apply = "terraform -chdir=terraform init && terraform -chdir=terraform plan -out=plan && terraform "
                     "-chdir=terraform apply plan",
            .risk = Risk::reload,
            .sources = {std::string(source)}});
}

bool applies_terraform(const RenderInput& input) {
  return input.plan.has_kubernetes() || terraform_has_intersight(input);
}

void render_terraform(const RenderInput& input, FileSink& sink) {
  add_versions(input, sink);
  add_providers(input, sink);
  add_variables(input, sink);
  add_terraform_helm(input, sink);
  add_terraform_intersight(input, sink);
}

}  // namespace weft::render
