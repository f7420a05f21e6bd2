#include "job_namespace/job_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/base64.h"
#include "base/file_descriptor.h"
#include "kube/credentials.h"

namespace weft::job_namespace {
namespace {

namespace fs = std::filesystem;

}  // namespace

std::string kubeconfig_path(const std::string& state, const std::string& key) {
  return fmt::format("{}/jobs/{}/kubeconfig", state, key);
}

std::string problem_path(const std::string& state, const std::string& key) {
  return fmt::format("{}/jobs/{}/problem", state, key);
}

Result<std::string> make_kubeconfig(const kube::ClusterAccess& access, const std::string& kube_namespace,
                                    const kube::Secret& token) {
  const Result<kube::Secret> ca = kube::read_pem(access.ca);
  if (!ca.ok()) return ca.error();
  Value cluster = Value::map({{"server", Value(access.server)}});
  if (!ca->empty()) cluster.set("certificate-authority-data", Value(encode_base64(ca->reveal())));
  if (!access.tls_server_name.empty()) cluster.set("tls-server-name", Value(access.tls_server_name));
  if (access.insecure) cluster.set("insecure-skip-tls-verify", Value(true));
  if (!access.proxy.empty()) cluster.set("proxy-url", Value(access.proxy));
  const auto named = [](const char* name, const char* kind, Value value) {
    return Value::list({Value::map({{"name", Value(name)}, {kind, std::move(value)}})});
  };
  const Value config = Value::map(
      {{"apiVersion", Value("v1")},
       {"kind", Value("Config")},
       {"clusters", named("cluster", "cluster", cluster)},
       {"users", named("job", "user", Value::map({{"token", Value(token.reveal())}}))},
       {"contexts",
        named(
            "job", "context",
            Value::map({{"cluster", Value("cluster")}, {"user", Value("job")}, {"namespace", Value(kube_namespace)}}))},
       {"current-context", Value("job")}});
  return write_json(config) + "\n";
}

Status write_job_file(const std::string& path, const std::string& content, std::uint32_t uid, std::uint32_t gid,
                      unsigned mode) {
  const std::string folder = path.substr(0, path.rfind('/'));
  for (const std::string& each : {folder.substr(0, folder.rfind('/')), folder}) {
    if (::mkdir(each.c_str(), 0755) != 0 && errno != EEXIST) return file_error(errno, "create", each);
    if (::chmod(each.c_str(), 0755) != 0) return file_error(errno, "change the mode of", each);
  }
  const std::string temporary = path + ".new";
  (void)::unlink(temporary.c_str());
  const FileDescriptor file = open_descriptor(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
  if (!file.ok()) return file_error(errno, "create", temporary);
  int problem = write_all(file.get(), content).error;
  const bool other = uid != ::geteuid() || gid != ::getegid();
  if (problem == 0 && other && ::fchown(file.get(), uid, gid) != 0) problem = errno;
  if (problem == 0 && (::fchmod(file.get(), mode) != 0 || ::fsync(file.get()) != 0)) problem = errno;
  if (problem == 0 && ::rename(temporary.c_str(), path.c_str()) != 0) problem = errno;
  if (problem == 0) return {};
  (void)::unlink(temporary.c_str());
  return file_error(problem, "write", path);
}

void remove_problem(const std::string& state, const std::string& key) {
  (void)::unlink(problem_path(state, key).c_str());
}

void remove_job_files(const std::string& state, const std::string& key) {
  std::error_code ignored;
  fs::remove_all(fmt::format("{}/jobs/{}", state, key), ignored);
}

}  // namespace weft::job_namespace
