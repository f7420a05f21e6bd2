// What a job gets of its namespace, on a file system that the nodes share:
//
//   STATE/jobs/KEY/kubeconfig   readable only by the user of the job
//   STATE/jobs/KEY/problem      why it gets no namespace
//
// KEY is the id and the start of the run.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/value.h"
#include "kube/access.h"

namespace weft::job_namespace {

[[nodiscard]] std::string kubeconfig_path(const std::string& state, const std::string& key);
[[nodiscard]] std::string problem_path(const std::string& state, const std::string& key);

// A kubeconfig for the token in this namespace. The certificate of the CA is part of it: nodes need no other file.
[[nodiscard]] Result<std::string> make_kubeconfig(const kube::ClusterAccess& access, const std::string& kube_namespace,
                                                  const kube::Secret& token);

// Replaces the file; its owner and its mode are set before it has its name.
[[nodiscard]] Status write_job_file(const std::string& path, const std::string& content, std::uint32_t uid,
                                    std::uint32_t gid, unsigned mode);
void remove_problem(const std::string& state, const std::string& key);
void remove_job_files(const std::string& state, const std::string& key);

}  // namespace weft::job_namespace
