// How to reach an API server and with which credentials: what a kubeconfig or a pod's service account says. Data only;
// credentials.h turns it into what is sent, and reads again what may change (token files, exec plug-ins).
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "oob/credentials/secret.h"

namespace weft::kube {

using oob::Secret;

// Program that prints an ExecCredential (client.authentication.k8s.io).
struct ExecPlugin {
  std::string api_version;           // client.authentication.k8s.io/v1 or /v1beta1
  std::vector<std::string> command;  // program and arguments
  std::vector<std::pair<std::string, std::string>> environment;
  std::string install_hint;
  bool provide_cluster_info = false;
  std::string where;  // "file:line:column"
};

// A PEM text, or the file that has it. Files are read again, so that rotated ones are used.
struct PemSource {
  std::string file;
  Secret data;
  [[nodiscard]] bool empty() const { return file.empty() && data.empty(); }
};

struct ClusterAccess {
  std::string server;           // "https://10.0.0.1:6443", perhaps with a path; no slash at the end
  std::string tls_server_name;  // "": the host of `server`
  PemSource ca;                 // empty: the system's
  bool insecure = false;        // do not verify the server's certificate
  std::string proxy;            // "": none, even if the environment names one
  std::string kube_namespace = "default";
  PemSource client_certificate;
  PemSource client_key;
  Secret token;
  std::string token_file;  // takes precedence over `token`
  std::optional<ExecPlugin> exec;
  std::string source;  // the file that says so, for messages
};

}  // namespace weft::kube
