// Storage for pods: a class per system and purpose, and each tenant's claims on its volumes.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "render/core/targets.h"
#include "render/kube/platform.h"

namespace weft::render {
namespace {

using kube_platform::label_name;
using kube_platform::object;

constexpr std::string_view kFolder = "kubernetes/storage/";
constexpr std::string_view kSecretSpace = "kube-system";
constexpr Bytes kTerabyte(1'000'000'000'000);
constexpr Bytes kGigabyte(1'000'000'000);

std::string_view purpose_name(model::VolumePurpose purpose) {
  for (const auto& [name, value] : model::choices_of(purpose)) {
    if (value == purpose) return name;
  }
  return "volume";
}

// A class serves all volumes of a purpose, except that an NFS class serves one export.
bool shares_purpose(const model::StorageSpec& system, const model::VolumeSpec& volume) {
  if (system.kind.value != model::StorageKind::nfs) return false;
  const auto& volumes = system.volumes.value;
  return std::count_if(volumes.begin(), volumes.end(),
                       [&](const model::VolumeSpec& v) { return v.purpose.value == volume.purpose.value; }) > 1;
}

std::string class_name(const model::StorageSpec& system, const model::VolumeSpec& volume) {
  const std::string name = fmt::format("{}-{}", system.name->text, purpose_name(volume.purpose.value));
  return label_name(shares_purpose(system, volume) ? name + "-" + volume.name->text : name);
}

// Volumes of a system are spread over its servers; each is mounted by the name of the server's first storage port, like
// on the hosts.
std::string server_of(const RenderInput& input, const model::StorageSpec& system, std::size_t volume) {
  const std::string& domain = input.cluster.spec().site->domain.value;
  const PoolPlan* pool = input.plan.pool(system.pool.value);
  if (pool == nullptr) return label_name(system.name->text) + "." + domain;
  const auto number = static_cast<std::uint32_t>(volume % pool->group->count);
  const auto server = static_cast<model::DeviceId>(model::index_of(pool->group->first) + number);
  return fmt::format("{}-sto1.{}", input.cluster.name_of(server), domain);
}

// Credentials are in a Secret that the site creates.
void add_secrets(const model::StorageSpec& system, Value& parameters) {
  const std::string secret = label_name(system.name->text + "-csi");
  for (const char* use : {"provisioner", "controller-publish", "node-stage", "node-publish", "controller-expand"}) {
    parameters.set(fmt::format("csi.storage.k8s.io/{}-secret-name", use), secret);
    parameters.set(fmt::format("csi.storage.k8s.io/{}-secret-namespace", use), kSecretSpace);
  }
}

// A site-specific driver: parameters in the terms of the cluster file.
Value nvme_parameters(const RenderInput& input, const model::StorageSpec& system, std::int64_t replicas) {
  const bool tls = system.security.value == model::StorageSecurity::tls;
  const bool lossless = input.cluster.spec().fabrics->storage->qos->lossless.value;
  // NVMe/TCP carries TLS 1.3; NVMe/RDMA has none (NVMe over Fabrics, transport bindings).
  Value parameters = Value::map({{"protocol", tls || !lossless ? "nvme-tcp" : "nvme-rdma"},
                                 {"tls", tls ? "true" : "false"},
                                 {"replicas", std::to_string(replicas)}});
  return parameters;
}

// From the drivers' documentation; parameters that are unknown at design time are left to their Secret or defaults.
Value parameters_of(const RenderInput& input, const model::StorageSpec& system, std::size_t number) {
  const auto& volumes = system.volumes.value;
  const std::string name = number < volumes.size() ? volumes[number].name->text : "data";
  Value parameters = Value::map();
  switch (system.kind.value) {
    case model::StorageKind::nfs:  // csi-driver-nfs
      return Value::map({{"server", server_of(input, system, number)},
                         {"share", "/export/" + name},
                         {"subDir", "${pvc.metadata.namespace}/${pvc.metadata.name}"},
                         {"onDelete", "retain"}});
    case model::StorageKind::beegfs:  // beegfs-csi-driver
      return Value::map({{"sysMgmtdHost", server_of(input, system, 0)},
                         {"volDirBasePath", "kubernetes/" + name},
                         {"stripePattern/chunkSize", fmt::format("{}k", system.stripe_size.value.count() / 1024)},
                         {"stripePattern/numTargets", std::to_string(system.stripe_count.value)}});
    case model::StorageKind::gpfs:  // ibm-spectrum-scale-csi
      return Value::map({{"version", "2"}, {"volBackendFs", system.name->text}});
    case model::StorageKind::weka:  // csi-wekafs
      parameters = Value::map(
          {{"volumeType", "dir/v1"}, {"filesystemName", system.name->text}, {"capacityEnforcement", "HARD"}});
      add_secrets(system, parameters);
      return parameters;
    case model::StorageKind::vast:  // vast-csi
      parameters = Value::map({{"storage_path", "/kubernetes/" + name}, {"view_policy", "default"}});
      add_secrets(system, parameters);
      return parameters;
    case model::StorageKind::nvmeof:
      return nvme_parameters(input, system, number < volumes.size() ? volumes[number].replicas.value : 1);
    case model::StorageKind::lustre:
    case model::StorageKind::object:
      break;
  }
  return parameters;
}

// Same options as on the hosts (target host).
Value mount_options(const model::StorageSpec& system) {
  if (system.kind.value != model::StorageKind::nfs) return Value::list();
  Value options = Value::list({"vers=4.2", "nconnect=8", "hard", "noatime"});
  options.add(system.security.value == model::StorageSecurity::krb5p ? "sec=krb5p" : "sec=sys");
  if (system.security.value == model::StorageSecurity::tls) options.add("xprtsec=mtls");  // RFC 9289
  return options;
}

Value storage_class(const RenderInput& input, const model::StorageSpec& system, std::string name, std::size_t number) {
  Value document = object("storage.k8s.io/v1", "StorageClass", std::move(name));
  document.set("provisioner", system.provisioner.value);
  if (Value parameters = parameters_of(input, system, number); !parameters.empty()) {
    document.set("parameters", std::move(parameters));
  }
  if (Value options = mount_options(system); !options.empty()) document.set("mountOptions", std::move(options));
  // Data outlives its claim; a volume is created where the first pod that uses it runs.
  document.set("reclaimPolicy", "Retain");
  document.set("volumeBindingMode", "WaitForFirstConsumer");
  document.set("allowVolumeExpansion", true);
  return document;
}

// Ordered by the first volume of each purpose.
std::vector<Value> classes_of(const RenderInput& input, const model::StorageSpec& system) {
  std::set<std::string> names;
  std::vector<Value> documents;
  for (std::size_t i = 0; i < system.volumes->size(); ++i) {
    std::string name = class_name(system, system.volumes.value[i]);
    if (names.insert(name).second) documents.push_back(storage_class(input, system, std::move(name), i));
  }
  if (documents.empty()) documents.push_back(storage_class(input, system, label_name(system.name->text), 0));
  return documents;
}

bool has_classes(const model::StorageSpec& system) { return system.kind.value != model::StorageKind::object; }

struct Claim {
  const model::StorageSpec* system;
  const model::VolumeSpec* volume;
  Bytes size;
};

// Whole terabytes, or gigabytes below one: a round size.
Bytes rounded(Bytes size) {
  const Bytes unit = size >= kTerabyte ? kTerabyte : kGigabyte;
  return std::max(unit * (size / unit), kGigabyte);
}

// Every tenant has an equal share of each volume, and all its claims together fit its quota.
std::vector<Claim> claims_of(const RenderInput& input, const model::TenantSpec& tenant) {
  const model::Spec& spec = input.cluster.spec();
  const auto tenants = static_cast<std::int64_t>(spec.tenants->size());
  std::vector<Claim> claims;
  Bytes sum;
  for (const model::StorageSpec& system : spec.storage.value) {
    if (!has_classes(system)) continue;
    for (const model::VolumeSpec& volume : system.volumes.value) {
      if (!volume.size.has_value()) continue;
      claims.push_back({&system, &volume, volume.size.value / tenants});
      sum += claims.back().size;
    }
  }
  const model::Sourced<Bytes>& quota = tenant.quota->storage;
  for (Claim& claim : claims) {
    if (quota.has_value() && sum > quota.value) {
      const Uint128 scaled = Uint128(static_cast<std::uint64_t>(claim.size.count())) *
                             static_cast<std::uint64_t>(quota->count()) / static_cast<std::uint64_t>(sum.count());
      claim.size = Bytes(static_cast<std::int64_t>(scaled));
    }
    claim.size = rounded(claim.size);
  }
  return claims;
}

Value claim_object(const Claim& claim, const std::string& space) {
  Value document = object("v1", "PersistentVolumeClaim", label_name(claim.volume->name->text), space);
  Value requests = Value::map({{"storage", kube_platform::quantity(claim.size)}});
  document.set(
      "spec",
      Value::map({{"accessModes", Value::list({claim.volume->read_only.value ? "ReadOnlyMany" : "ReadWriteMany"})},
                  {"storageClassName", class_name(*claim.system, *claim.volume)},
                  {"resources", Value::map({{"requests", std::move(requests)}})}}));
  return document;
}

std::vector<Value> claims(const RenderInput& input, FileSink& sink) {
  std::vector<Value> documents;
  for (const kube_platform::Space& space : kube_platform::spaces_of(input)) {
    if (space.tenant == nullptr) continue;
    const std::vector<Claim> all = claims_of(input, *space.tenant);
    for (const Claim& claim : all) documents.push_back(claim_object(claim, space.name));
    const model::Sourced<std::int64_t>& most = space.tenant->quota->volume_claims;
    if (most.has_value() && static_cast<std::int64_t>(all.size()) > most.value) {
      sink.note(fmt::format(
          "tenant {} has a quota of {} volume claims but the cluster has {} volumes: the last claims are rejected",
          space.tenant->name->text, most.value, all.size()));
    }
  }
  return documents;
}

void note_on(const model::StorageSpec& system, FileSink& sink) {
  if (system.kind.value == model::StorageKind::object) {
    sink.note(
        fmt::format("storage {} is an object store: pods use it over S3, it has no StorageClass", system.name->text));
  }
  if (system.kind.value == model::StorageKind::lustre) {
    sink.note(
        fmt::format("storage {}: the Lustre CSI driver does not provision volumes; a PersistentVolume refers to the "
                    "file system of each claim",
                    system.name->text));
  }
  const auto& volumes = system.volumes.value;
  if (std::any_of(volumes.begin(), volumes.end(), [](const model::VolumeSpec& v) { return v.snapshots.has_value(); })) {
    sink.note(fmt::format("storage {} manages snapshots of its volumes itself: no VolumeSnapshotClass is rendered",
                          system.name->text));
  }
}

}  // namespace

bool applies_kube_storage(const RenderInput& input) {
  const auto& systems = input.cluster.spec().storage.value;
  return input.plan.has_kubernetes() && std::any_of(systems.begin(), systems.end(), has_classes);
}

void render_kube_storage(const RenderInput& input, FileSink& sink) {
  std::vector<Value> classes;
  for (const model::StorageSpec& system : input.cluster.spec().storage.value) {
    note_on(system, sink);
    if (!has_classes(system)) continue;
    for (Value& document : classes_of(input, system)) classes.push_back(std::move(document));
  }
  kube_platform::add_manifest(
      input, sink,
      {.path = std::string(kFolder) + "10-classes.yaml",
       .what = "One StorageClass per storage system and purpose: checkpoints and datasets never share a class.",
       .consumer = "Kubernetes",
       .documents = std::move(classes),
       .sources = {"storage"}});
  kube_platform::add_manifest(input, sink,
                              {.path = std::string(kFolder) + "20-claims.yaml",
                               .what = "Volume claims of each tenant, one per volume of the cluster file: an equal "
                                       "share, within the tenant's quota.",
                               .consumer = "Kubernetes",
                               .documents = claims(input, sink),
                               .stage = Stage::workloads,
                               .sources = {"storage.volumes", "tenants.quota"}});
}

}  // namespace weft::render
