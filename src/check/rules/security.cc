// SE: authentication, secrets, images and policies as declared. BMCs are in rules/oob.cc, exports and mounts as
// configured in rules/hosts.cc.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "check/core/rule.h"
#include "check/core/rule_tools.h"

namespace weft::check {
namespace {

void nfs_by_address(const CheckInput& input, Report& report) {
  for (const model::StorageSpec& system : input.spec().storage.value) {
    if (system.kind.value != model::StorageKind::nfs || system.security.value != model::StorageSecurity::sys) continue;
    report.at(system.security, system.place, system.name->text,
              fmt::format("`{}` trusts any host's word for who a user is (sec=sys)", system.name->text));
  }
}

void block_in_clear(const CheckInput& input, Report& report) {
  for (const model::StorageSpec& system : input.spec().storage.value) {
    if (system.kind.value == model::StorageKind::nfs || system.security.value != model::StorageSecurity::sys) continue;
    report.at(system.security, system.place, system.name->text,
              fmt::format("`{}` neither authenticates clients nor encrypts", system.name->text));
  }
}

void munge_key(const CheckInput& input, Report& report) {
  const model::Spec& spec = input.spec();
  if (!runs_slurm(spec)) return;
  const std::string& mode = spec.security->munge_key_mode.value;
  if (mode == "0400" || mode == "400" || mode == "0600" || mode == "600") return;
  report.at(spec.security->munge_key_mode, spec.security->place, "munge.key",
            fmt::format("the MUNGE key has mode {}, not 0400: its owner alone may read it", mode));
}

void rest_without_jwt(const CheckInput& input, Report& report) {
  const model::Spec& spec = input.spec();
  if (!runs_slurm(spec) || spec.security->slurm_rest.value == model::RestAuth::jwt) return;
  report.at(spec.security->slurm_rest, spec.security->place, "slurmrestd",
            "slurmrestd does not ask its callers for a token");
}

void unsigned_images(const CheckInput& input, Report& report) {
  const model::ControlPlaneSpec& control = input.spec().control_plane.value;
  if (!runs_kubernetes(input.spec()) || control.signed_images.value) return;
  report.at(control.signed_images, control.place, "images", "unsigned container images are admitted");
}

void open_namespaces(const CheckInput& input, Report& report) {
  const model::Spec& spec = input.spec();
  if (!runs_kubernetes(spec) || spec.security->network_policy.value == model::PolicyDefault::deny) return;
  report.at(spec.security->network_policy, spec.security->place, "frontend", "namespaces allow all traffic by default");
}

void writable_dataset(const CheckInput& input, Report& report) {
  for (const model::StorageSpec& system : input.spec().storage.value) {
    for (const model::VolumeSpec& volume : system.volumes.value) {
      if (volume.purpose.value != model::VolumePurpose::dataset || volume.read_only.value) continue;
      report.at(volume.read_only, volume.place, volume.name->text,
                fmt::format("jobs may write to the dataset `{}`", volume.name->text));
    }
  }
}

void no_sign_on(const CheckInput& input, Report& report) {
  const model::SecuritySpec& security = input.spec().security.value;
  if (security.sign_on.value != model::SignOn::none) return;
  report.at(security.sign_on, security.place, "sign-on", "people log in without a central identity");
}

void secrets_in_files(const CheckInput& input, Report& report) {
  const model::SecuritySpec& security = input.spec().security.value;
  if (security.secrets.value != model::SecretStore::files) return;
  report.at(security.secrets, security.place, "secrets", "secrets are kept in files");
}

void secrets_unencrypted(const CheckInput& input, Report& report) {
  const model::SecuritySpec& security = input.spec().security.value;
  if (security.secrets.value != model::SecretStore::kubernetes) return;
  report.at(security.secrets, security.place, "secrets",
            "Kubernetes keeps secrets in etcd as plain text unless encryption at rest is set up");
}

void no_audit(const CheckInput& input, Report& report) {
  const model::SecuritySpec& security = input.spec().security.value;
  if (security.audit.value) return;
  report.at(security.audit, security.place, "audit", "actions are not logged");
}

void policies_on_rdma(const CheckInput& input, Report& report) {
  const model::SecuritySpec& security = input.spec().security.value;
  if (!security.rdma_policies.value) return;
  report.at(security.rdma_policies, security.place, "backend",
            "network policies are relied upon for RDMA interfaces, which bypass them");
}

bool sounds_secret(std::string_view name) {
  static constexpr std::array<std::string_view, 6> kWords = {"SECRET", "PASSWORD", "PASSWD",
                                                             "TOKEN",  "API_KEY",  "PRIVATE_KEY"};
  return std::any_of(kWords.begin(), kWords.end(),
                     [&](std::string_view word) { return name.find(word) != std::string_view::npos; });
}

void secret_in_environment(const CheckInput& input, Report& report) {
  for (const auto& [name, value] : input.spec().workload->environment.value) {
    const bool reference =
        value->empty() || value->find(':') != std::string::npos || value->starts_with("/") || value->starts_with("$");
    if (!sounds_secret(name) || reference) continue;
    report.add("environment", value.place, fmt::format("`{}` looks like a secret in the cluster file", name)).length =
        static_cast<std::uint16_t>(std::min<std::size_t>(value->size(), 200));
  }
}

}  // namespace

std::vector<Rule> security_rules() {  // NOLINT(readability-function-size): a table
  return {
      {"SE001",
       Severity::error,
       RuleNeeds::design,
       "NFS trusts addresses",
       "With sec=sys the client states the user id. Anyone with root on one node reads and changes every checkpoint.",
       "four-fabric hardening guide, storage: sec=krb5p, not sec=sys",
       "set `security: krb5p`",
       {"pod16.yaml", "security: krb5p", "security: sys"},
       nfs_by_address},
      {"SE002",
       Severity::warning,
       RuleNeeds::design,
       "storage traffic is neither authenticated nor encrypted",
       "An attacker on one GPU node reads or corrupts training data and checkpoints of all others.",
       "four-fabric hardening guide: encrypt checkpoint transfers, NVMe with TLS",
       "set `security: tls`",
       {"pod16.yaml", "security: tls", "security: sys"},
       block_in_clear},
      {"SE003",
       Severity::error,
       RuleNeeds::design,
       "the MUNGE key is readable by others",
       "Whoever reads it can submit jobs as any user, root included.",
       "four-fabric hardening guide, Slurm: chmod 400 /etc/munge/munge.key; munged refuses lax modes",
       "set the mode to 0400, owned by munge",
       {"pod16.yaml", "munge_key_mode: \"0400\"", "munge_key_mode: \"0644\""},
       munge_key},
      {"SE004",
       Severity::error,
       RuleNeeds::design,
       "the Slurm REST interface has no tokens",
       "slurmrestd without JWT acts for whoever reaches its port.",
       "four-fabric hardening guide, Slurm: AuthAltTypes=auth/jwt",
       "set `security.slurm_rest: jwt`",
       {"pod16.yaml", "slurm_rest: jwt", "slurm_rest: none"},
       rest_without_jwt},
      {"SE005",
       Severity::warning,
       RuleNeeds::design,
       "unsigned images may run",
       "A changed image runs with access to GPUs, RDMA and datasets of the tenant that pulled it.",
       "container networking architecture for AI workloads, security: signed images (Cosign), Kyverno",
       "set `control_plane.signed_images: true`",
       {"pod16.yaml", "allocator: slurm,", "allocator: slurm, signed_images: false,"},
       unsigned_images},
      {"SE006",
       Severity::error,
       RuleNeeds::design,
       "namespaces allow everything",
       "One compromised pod reaches every service of every tenant.",
       "container networking architecture for AI workloads: default-deny NetworkPolicies, from the gateway only",
       "set `security.network_policy: deny`",
       {"pod16.yaml", "network_policy: deny", "network_policy: allow"},
       open_namespaces},
      {"SE007",
       Severity::warning,
       RuleNeeds::design,
       "a dataset is writable",
       "One wrong path in one job destroys the training data of all.",
       "AI cluster architecture guide, security: read-only dataset mounts",
       "set `read_only: true` on the volume",
       {"pod16.yaml", "read_only: true, ", ""},
       writable_dataset},
      {"SE008",
       Severity::warning,
       RuleNeeds::design,
       "no central sign-on",
       "Accounts of people who left stay valid on every login node.",
       "AI cluster architecture guide, security: SSO via OIDC",
       "set `security.sign_on: oidc`",
       {"pod16.yaml", "sign_on: oidc", "sign_on: none"},
       no_sign_on},
      {"SE009",
       Severity::error,
       RuleNeeds::design,
       "secrets are in files",
       "Files are copied, backed up and committed; a secret in one is known sooner or later.",
       "AI cluster architecture guide, security: secrets via Vault",
       "set `security.secrets: vault`",
       {"pod16.yaml", "secrets: vault", "secrets: files"},
       secrets_in_files},
      {"SE010",
       Severity::note,
       RuleNeeds::design,
       "secrets rest on Kubernetes alone",
       "A backup of etcd is then a copy of every secret.",
       "Kubernetes documentation, encrypting confidential data at rest",
       "use a vault, or set up encryption at rest and say so in a suppression",
       {"pod16.yaml", "secrets: vault", "secrets: kubernetes"},
       secrets_unencrypted},
      {"SE011",
       Severity::warning,
       RuleNeeds::design,
       "there is no audit log",
       "After an incident nobody can tell who did what.",
       "four-fabric hardening guide: no access logging is one of the top three flaws",
       "set `security.audit: true`",
       {"pod16.yaml", "audit: true", "audit: false"},
       no_audit},
      {"SE012",
       Severity::warning,
       RuleNeeds::design,
       "network policies are to guard RDMA",
       "RDMA bypasses the kernel where policies are enforced: they are silently without effect. Only VRFs, ACLs and "
       "who may attach an interface keep tenants apart there.",
       "container networking architecture for AI workloads: no NetworkPolicies on the backend path",
       "set `security.rdma_policies: false` and isolate by VRF, partition key and admission policy",
       {"pod16.yaml", "network_policy: deny\n", "network_policy: deny\n  rdma_policies: true\n"},
       policies_on_rdma},
      {"SE013",
       Severity::error,
       RuleNeeds::design,
       "a secret stands in the cluster file",
       "The file is shared, versioned and rendered into every job's environment.",
       "AI cluster architecture guide, security: secrets via Vault",
       "put a reference (vault:path) there instead, and change the secret",
       {"pod16.yaml", "  elastic: true\n", "  elastic: true\n  environment: {HF_TOKEN: hf_a1b2c3d4e5}\n"},
       secret_in_environment},
  };
}

}  // namespace weft::check
