// Kubernetes manifests: the one job of a file and the objects that belong to it.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/utf8.h"
#include "serve/submit/kube_jobs.h"

namespace weft::serve {
namespace {

constexpr YamlLimits kLimits = {kMaxManifestBytes, 50'000, 40};

constexpr FieldRule kObjectFields[] = {{"apiVersion"}, {"kind"}, {"metadata"}, {"spec"}, {"status", FieldUse::ignored}};

std::string text_at(const YamlNode* node, std::string_view key) {
  const YamlNode* value = field_of(node, key);
  return value != nullptr && value->kind == YamlNode::Kind::scalar ? value->scalar : std::string();
}

// Rendered by weft beside the job: it has an effect only on pods.
bool is_companion(const YamlNode& document) {
  const std::string kind = text_at(&document, "kind");
  const YamlNode* labels = field_of(field_of(&document, "metadata"), "labels");
  return (kind == "ConfigMap" || kind == "Service") && text_at(labels, "app.kubernetes.io/managed-by") == "weft";
}

bool is_runtime(const YamlNode& document) {
  const std::string kind = text_at(&document, "kind");
  return kind == "TrainingRuntime" || kind == "ClusterTrainingRuntime";
}

// Kubernetes names are labels; the cluster file may write them in another case.
template <class Items>
std::string name_with_label(const Items& items, const std::string& label) {
  for (const auto& item : items) {
    if (to_dns_label(item.name->text) == label) return item.name->text;
  }
  return label;  // resolve() reports it as unknown
}

class ManifestReader {
 public:
  explicit ManifestReader(const SubmitContext& context) : context_(context) {}

  std::optional<JobDraft> read() {
    const std::vector<YamlNode> documents = parse();
    if (context_.failed()) return std::nullopt;
    for (const YamlNode& document : documents) sort_document(document);
    if (job_ == nullptr) {
      if (!context_.failed()) {
        context_.error(place_at(context_.file, 1, 1), "the file has no job", describe_kinds());
      }
      return std::nullopt;
    }
    draft_.place = job_->place;
    if (!check_fields(context_, *job_, "the object", kObjectFields)) return std::nullopt;
    read_metadata(field_of(job_, "metadata"));
    const YamlNode* spec = field_of(job_, "spec");
    if (spec == nullptr) {
      context_.error(job_->place, "the job has no `spec`");
      return std::nullopt;
    }
    kind_->read(context_, *spec, runtime(*spec), draft_);
    draft_.tenant = tenant_named(draft_.tenant);
    draft_.priority = named(draft_.priority, context_.cluster.spec().priorities.value);
    return std::move(draft_);
  }

 private:
  // kubectl refuses repeated keys, of which one value would be lost.
  std::vector<YamlNode> parse() {
    Diagnostics own;
    std::vector<YamlNode> documents = parse_yaml_stream(context_.sources, context_.file, own, kLimits);
    for (Diagnostic each : own.sorted()) {
      each.severity = Severity::error;
      context_.diagnostics.add(std::move(each));
    }
    return documents;
  }

  static std::string describe_kinds() {
    std::vector<std::string> kinds;
    for (const KubeJobKind& kind : kube_job_kinds())
      kinds.push_back(fmt::format("{} ({})", kind.kind, kind.api_version));
    return "supported are " + join(kinds, ", ", " and ");
  }

  void sort_document(const YamlNode& document) {
    const std::string kind = text_at(&document, "kind");
    const std::string version = text_at(&document, "apiVersion");
    if (is_companion(document)) return;
    if (is_runtime(document)) {
      if (runtime_ != nullptr) context_.error(document.place, "the file has a second training runtime");
      runtime_ = &document;
      return;
    }
    for (const KubeJobKind& known : kube_job_kinds()) {
      if (known.kind != kind) continue;
      if (known.api_version != version) {
        return context_.error(document.place, fmt::format("{} of {} is not supported", kind, in_backticks(version)),
                              describe_kinds());
      }
      if (job_ != nullptr) {
        return context_.error(document.place, "the file has a second job", "submit each job with a file of its own");
      }
      job_ = &document;
      kind_ = &known;
      return;
    }
    context_.error(document.place, fmt::format("objects of kind {} are not supported", in_backticks(kind)),
                   describe_kinds());
  }

  void read_metadata(const YamlNode* metadata) {
    const YamlNode* name = field_of(metadata, "name");
    if (const auto text = read_text(context_, name, "name")) {
      draft_.name = given_at(*text, name->place);
    } else {
      context_.error(job_->place, "the job has no `metadata.name`",
                     field_of(metadata, "generateName") != nullptr ? "generateName is not supported" : "");
    }
    const bool has_tenants = !context_.cluster.spec().tenants->empty();
    const YamlNode* space = field_of(metadata, "namespace");
    if (const auto text = read_text(context_, space, "namespace"); text && has_tenants && *text != "default") {
      draft_.tenant = given_at(*text, space->place);
    }
    const YamlNode* labels = field_of(metadata, "labels");
    set_label(labels, "kueue.x-k8s.io/queue-name", draft_.tenant, has_tenants);
    set_label(labels, "kueue.x-k8s.io/priority-class", draft_.priority, true);
    // As in the manifests that weft renders for slurm-bridge.
    set_label(field_of(metadata, "annotations"), "slurmjob.slinky.slurm.net/partition", draft_.partition, true);
  }

  void set_label(const YamlNode* labels, std::string_view key, Sourced<std::string>& out, bool wanted) {
    const YamlNode* node = field_of(labels, key);
    const std::optional<std::string> text = read_text(context_, node, key);
    if (text && wanted && !out.has_value()) out = given_at(*text, node->place);
  }

  // By the label of a name; of tenants, only of those that the submitter may use.
  [[nodiscard]] Sourced<std::string> tenant_named(const Sourced<std::string>& value) const {
    const std::vector<std::string>* allowed = context_.submitter.allowed_tenants();
    Sourced<std::string> out = named(value, context_.cluster.spec().tenants.value);
    const bool known = allowed == nullptr || std::find(allowed->begin(), allowed->end(), out.value) != allowed->end();
    return known ? out : value;
  }

  template <class Items>
  static Sourced<std::string> named(Sourced<std::string> value, const Items& items) {
    if (value.has_value()) value.value = name_with_label(items, to_dns_label(value.value));
    return value;
  }

  // The runtime that the job names, if it is in the file.
  const YamlNode* runtime(const YamlNode& spec) {
    if (runtime_ == nullptr) return nullptr;
    const std::string wanted = text_at(field_of(&spec, "runtimeRef"), "name");
    if (wanted == text_at(field_of(runtime_, "metadata"), "name")) return runtime_;
    context_.error(runtime_->place, "the job does not refer to this training runtime");
    return nullptr;
  }

  const SubmitContext& context_;
  JobDraft draft_;
  const YamlNode* job_ = nullptr;
  const YamlNode* runtime_ = nullptr;
  const KubeJobKind* kind_ = nullptr;
};

}  // namespace

std::optional<JobDraft> read_manifest(const SubmitContext& context) { return ManifestReader(context).read(); }

}  // namespace weft::serve
