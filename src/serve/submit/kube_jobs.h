// Job kinds of Kubernetes: PyTorchJob, TrainJob and Indexed Job, each by its own fields around a pod. Internal to
// serve/submit.
#pragma once

#include <span>
#include <string_view>

#include "serve/submit/kube_fields.h"

namespace weft::serve {

struct KubeJobKind {
  std::string_view kind;
  std::string_view api_version;
  // `spec` of the object; `runtime` is the TrainingRuntime of a TrainJob, or null.
  void (*read)(const SubmitContext& context, const YamlNode& spec, const YamlNode* runtime, JobDraft& draft);
};

[[nodiscard]] std::span<const KubeJobKind> kube_job_kinds();

}  // namespace weft::serve
