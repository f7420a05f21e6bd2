// SE: authentication, secrets, images and policies as declared. BMCs are in rules/oob.cc, exports and mounts as
// configured in rules/hosts.cc.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "check/core/rule.h"
#include "check/core/rule_tools.h"

namespace weft::check {
namespace {

void check_nfs_security(const CheckInput& input, Report& report) {
  for (const model::StorageSpec& system : input.spec().storage.value) {
    if (system.kind.value != model::StorageKind::nfs || system.security.value != model::StorageSecurity::sys) continue;
    report.at(system.security, system.place, system.name->text,
              fmt::format("`{}` trusts client-supplied UIDs (sec=sys)", system.name->text));
  }
}

void check_block_storage_security(const CheckInput& input, Report& report) {
  for (const model::StorageSpec& system : input.spec().storage.value) {
    if (system.kind.value == model::StorageKind::nfs || system.security.value != model::StorageSecurity::sys) continue;
    report.at(system.security, system.place, system.name->text,
              fmt::format("`{}` neither authenticates clients nor encrypts", system.name->text));
  }
}

void check_munge_key(const CheckInput& input, Report& report) {
  const model::Spec& spec = input.spec();
  if (!runs_slurm(spec)) return;
  const std::string& mode = spec.security->munge_key_mode.value;
  if (mode == "0400" || mode == "400" || mode == "0600" || mode == "600") return;
  report.at(spec.security->munge_key_mode, spec.security->place, "munge.key",
            fmt::format("the MUNGE key has mode {}; it must be 0400", mode));
}

void check_rest_api_tokens(const CheckInput& input, Report& report) {
  const model::Spec& spec = input.spec();
  if (!runs_slurm(spec) || spec.security->slurm_rest.value == model::RestAuth::jwt) return;
  report.at(spec.security->slurm_rest, spec.security->place, "slurmrestd", "slurmrestd does not require a token");
}

void check_image_signing(const CheckInput& input, Report& report) {
  const model::ControlPlaneSpec& control = input.spec().control_plane.value;
  if (!runs_kubernetes(input.spec()) || control.signed_images.value) return;
  report.at(control.signed_images, control.place, "images", "unsigned container images are admitted");
}

void check_namespace_policies(const CheckInput& input, Report& report) {
  const model::Spec& spec = input.spec();
  if (!runs_kubernetes(spec) || spec.security->network_policy.value == model::PolicyDefault::deny) return;
  report.at(spec.security->network_policy, spec.security->place, "frontend", "namespaces allow all traffic by default");
}

void check_dataset_volume_mode(const CheckInput& input, Report& report) {
  for (const model::StorageSpec& system : input.spec().storage.value) {
    for (const model::VolumeSpec& volume : system.volumes.value) {
      if (volume.purpose.value != model::VolumePurpose::dataset || volume.read_only.value) continue;
      report.at(volume.read_only, volume.place, volume.name->text,
                fmt::format("jobs may write to the dataset `{}`", volume.name->text));
    }
  }
}

void check_single_sign_on(const CheckInput& input, Report& report) {
  const model::SecuritySpec& security = input.spec().security.value;
  if (security.sign_on.value != model::SignOn::none) return;
  report.at(security.sign_on, security.place, "sign-on", "users log in without single sign-on");
}

void check_secret_storage(const CheckInput& input, Report& report) {
  const model::SecuritySpec& security = input.spec().security.value;
  if (security.secrets.value != model::SecretStore::files) return;
  report.at(security.secrets, security.place, "secrets", "secrets are kept in files");
}

void check_kubernetes_secrets(const CheckInput& input, Report& report) {
  const model::SecuritySpec& security = input.spec().security.value;
  if (security.secrets.value != model::SecretStore::kubernetes) return;
  report.at(security.secrets, security.place, "secrets",
            "Kubernetes stores secrets in etcd as plain text unless encryption at rest is configured");
}

void check_audit_log(const CheckInput& input, Report& report) {
  const model::SecuritySpec& security = input.spec().security.value;
  if (security.audit.value) return;
  report.at(security.audit, security.place, "audit", "actions are not logged");
}

void check_rdma_network_policies(const CheckInput& input, Report& report) {
  const model::SecuritySpec& security = input.spec().security.value;
  if (!security.rdma_policies.value) return;
  report.at(security.rdma_policies, security.place, "backend",
            "network policies are configured for RDMA interfaces, which bypass them");
}

bool sounds_secret(std::string_view name) {
  static constexpr std::array<std::string_view, 6> kWords = {"SECRET", "PASSWORD", "PASSWD",
                                                             "TOKEN",  "API_KEY",  "PRIVATE_KEY"};
  return std::any_of(kWords.begin(), kWords.end(),
                     [&](std::string_view word) { return name.find(word) != std::string_view::npos; });
}

void check_secret_in_environment(const CheckInput& input, Report& report) {
  for (const auto& [name, value] : input.spec().workload->environment.value) {
    const bool reference =
        value->empty() || value->find(':') != std::string::npos || value->starts_with("/") || value->starts_with("$");
    if (!sounds_secret(name) || reference) continue;
    report.add("environment", value.place, fmt::format("`{}` appears to be a secret in the cluster file", name))
        .length = static_cast<std::uint16_t>(std::min<std::size_t>(value->size(), 200));
  }
}

}  // namespace

std::vector<Rule> security_rules() {  // NOLINT(readability-function-size): a table
  return {
      {.id = "SE001",
       .severity = Severity::error,
       .needs = RuleNeeds::design,
       .title = "NFS trusts client-supplied UIDs",
       .reason = "With sec=sys the client supplies the user id. Root on one node can read and change every checkpoint.",
       .source = "How to Build an AI Cluster That Won't Burn Down (Undercode), storage: sec=krb5p, not sec=sys",
       .fix = "set `security: krb5p`",
       .example = {.file = "pod16.yaml", .from = "security: krb5p", .to = "security: sys"},
       .run = check_nfs_security},
      {.id = "SE002",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "storage traffic is neither authenticated nor encrypted",
       .reason = "An attacker on one GPU node can read or corrupt training data and checkpoints of all others.",
       .source =
           "How to Build an AI Cluster That Won't Burn Down (Undercode): encrypt checkpoint transfers, NVMe with TLS",
       .fix = "set `security: tls`",
       .example = {.file = "pod16.yaml", .from = "security: tls", .to = "security: sys"},
       .run = check_block_storage_security},
      {.id = "SE003",
       .severity = Severity::error,
       .needs = RuleNeeds::design,
       .title = "the MUNGE key is readable by others",
       .reason = "A user who can read it can submit jobs as any user, including root.",
       .source = "How to Build an AI Cluster That Won't Burn Down (Undercode), Slurm: chmod 400 /etc/munge/munge.key; "
                 "munged rejects permissive modes",
       .fix = "set the mode to 0400, owned by munge",
       .example = {.file = "pod16.yaml", .from = "munge_key_mode: \"0400\"", .to = "munge_key_mode: \"0644\""},
       .run = check_munge_key},
      {.id = "SE004",
       .severity = Severity::error,
       .needs = RuleNeeds::design,
       .title = "the Slurm REST API does not require tokens",
       .reason = "slurmrestd without JWT executes requests from any client that reaches its port.",
       .source = "How to Build an AI Cluster That Won't Burn Down (Undercode), Slurm: AuthAltTypes=auth/jwt",
       .fix = "set `security.slurm_rest: jwt`",
       .example = {.file = "pod16.yaml", .from = "slurm_rest: jwt", .to = "slurm_rest: none"},
       .run = check_rest_api_tokens},
      {.id = "SE005",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "unsigned images are allowed",
       .reason = "A modified image runs with access to the GPUs, RDMA and datasets of the tenant that pulled it.",
       .source =
           "Container Networking Architecture for AI Workloads (Patel), security: signed images (Cosign), Kyverno",
       .fix = "set `control_plane.signed_images: true`",
       .example = {.file = "pod16.yaml", .from = "allocator: slurm,", .to = "allocator: slurm, signed_images: false,"},
       .run = check_image_signing},
      {.id = "SE006",
       .severity = Severity::error,
       .needs = RuleNeeds::design,
       .title = "namespaces allow all traffic",
       .reason = "One compromised pod can reach every service of every tenant.",
       .source = "Container Networking Architecture for AI Workloads (Patel): default-deny NetworkPolicies, from the "
                 "gateway only",
       .fix = "set `security.network_policy: deny`",
       .example = {.file = "pod16.yaml", .from = "network_policy: deny", .to = "network_policy: allow"},
       .run = check_namespace_policies},
      {.id = "SE007",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "a dataset is writable",
       .reason = "One wrong path in one job can destroy the training data of all jobs.",
       .source =
           "AI Cluster Architecture (SLURM + Kubernetes + RDMA + Parallel FS), security: read-only dataset mounts",
       .fix = "set `read_only: true` on the volume",
       .example = {.file = "pod16.yaml", .from = "read_only: true, ", .to = ""},
       .run = check_dataset_volume_mode},
      {.id = "SE008",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "single sign-on is not configured",
       .reason = "Accounts of people who left remain valid on every login node.",
       .source = "AI Cluster Architecture (SLURM + Kubernetes + RDMA + Parallel FS), security: SSO via OIDC",
       .fix = "set `security.sign_on: oidc`",
       .example = {.file = "pod16.yaml", .from = "sign_on: oidc", .to = "sign_on: none"},
       .run = check_single_sign_on},
      {.id = "SE009",
       .severity = Severity::error,
       .needs = RuleNeeds::design,
       .title = "secrets are stored in files",
       .reason = "Files are copied, backed up and committed; a secret in a file is likely to leak.",
       .source = "AI Cluster Architecture (SLURM + Kubernetes + RDMA + Parallel FS), security: secrets via Vault",
       .fix = "set `security.secrets: vault`",
       .example = {.file = "pod16.yaml", .from = "secrets: vault", .to = "secrets: files"},
       .run = check_secret_storage},
      {.id = "SE010",
       .severity = Severity::note,
       .needs = RuleNeeds::design,
       .title = "secrets are stored in Kubernetes only",
       .reason = "A backup of etcd is then a copy of every secret.",
       .source = "Kubernetes documentation, encrypting confidential data at rest",
       .fix = "use a vault, or configure encryption at rest and suppress this rule with that reason",
       .example = {.file = "pod16.yaml", .from = "secrets: vault", .to = "secrets: kubernetes"},
       .run = check_kubernetes_secrets},
      {.id = "SE011",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "there is no audit log",
       .reason = "After an incident it is not possible to determine who did what.",
       .source = "How to Build an AI Cluster That Won't Burn Down (Undercode): no access logging is one of the top "
                 "three flaws",
       .fix = "set `security.audit: true`",
       .example = {.file = "pod16.yaml", .from = "audit: true", .to = "audit: false"},
       .run = check_audit_log},
      {.id = "SE012",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "network policies are used to protect RDMA",
       .reason = "RDMA bypasses the kernel, where policies are enforced: they have no effect. Only VRFs, ACLs and "
                 "control over interface attachment isolate tenants there.",
       .source = "Container Networking Architecture for AI Workloads (Patel): no NetworkPolicies on the backend path",
       .fix = "set `security.rdma_policies: false` and isolate by VRF, partition key and admission policy",
       .example = {.file = "pod16.yaml",
                   .from = "network_policy: deny\n",
                   .to = "network_policy: deny\n  rdma_policies: true\n"},
       .run = check_rdma_network_policies},
      {.id = "SE013",
       .severity = Severity::error,
       .needs = RuleNeeds::design,
       .title = "a secret is in the cluster file",
       .reason = "The file is shared, versioned and rendered into every job's environment.",
       .source = "AI Cluster Architecture (SLURM + Kubernetes + RDMA + Parallel FS), security: secrets via Vault",
       .fix = "replace it with a reference (vault:path), and change the secret",
       .example = {.file = "pod16.yaml",
                   .from = "  elastic: true\n",
                   .to = "  elastic: true\n  environment: {HF_TOKEN: hf_a1b2c3d4e5}\n"},
       .run = check_secret_in_environment},
  };
}

}  // namespace weft::check
