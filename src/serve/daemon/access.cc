#include "serve/daemon/access.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <optional>

#include "base/diagnostic.h"
#include "oob/durable/private_folder.h"
#include "serve/table/route.h"
#include "world/local/user_rights.h"

namespace weft::serve {
namespace {

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? std::string(name.data()) : std::string("localhost");
}

}  // namespace

AccessSetup::AccessSetup(AccessSettings settings, const model::Cluster& cluster, std::string state_directory,
                         std::function<void(std::string_view)> log)
    : settings_(std::move(settings)),
      cluster_(cluster),
      state_directory_(std::move(state_directory)),
      log_(std::move(log)) {}

Result<std::unique_ptr<AccessSetup>> AccessSetup::open(AccessSettings settings, const model::Cluster& cluster,
                                                       std::string state_directory,
                                                       std::function<void(std::string_view)> log) {
  std::unique_ptr<AccessSetup> setup(
      new AccessSetup(std::move(settings), cluster, std::move(state_directory), std::move(log)));
  Result<access::AccessPolicy> policy = setup->read_policy();
  if (!policy.ok()) return policy.error();
  setup->policy_ = std::move(*policy);
  return setup;
}

Result<access::AccessPolicy> AccessSetup::read_policy() const {
  const std::string server_user = world::find_account(::geteuid()).name;
  if (settings_.file.empty()) return access::AccessPolicy::local(server_user);
  access::PolicyContext context;
  context.server_user = server_user;
  for (const auto& tenant : cluster_.spec().tenants.value) context.tenants.push_back(tenant.name->text);
  for (const RouteRow& row : route_rows()) {
    // An approval that waits for one would never be given; and a second person gets the answer, which of token.create
    // is the token.
    if (row.changes && row.need != Need::signed_in && !row.id.starts_with("approval."))
      context.operations.emplace_back(row.id);
  }
  Sources sources;
  Diagnostics diagnostics;
  std::optional<access::AccessPolicy> policy =
      access::load_access_policy(settings_.file, context, sources, diagnostics);
  if (diagnostics.error_count() + diagnostics.warning_count() > 0) log_(render_all(diagnostics, sources, false));
  if (!policy) return Error{ErrorCode::invalid_input, "the access file has errors", settings_.file};
  if (!settings_.listen.empty()) policy->listen.clear();
  for (const std::string& text : settings_.listen) {
    Result<access::ListenAddress> address = access::parse_listen_address(text);
    if (!address.ok()) return address.error();
    policy->listen.push_back(std::move(*address));
  }
  return std::move(*policy);
}

Result<TlsFiles> AccessSetup::tls_files(const access::AccessPolicy& policy) const {
  TlsFiles files{policy.tls.certificate, policy.tls.key, policy.tls.client_ca};
  if (!files.certificate.empty()) return files;
  const std::string folder = state_directory_ + "/tls";
  if (Status made = oob::make_private_folder(folder); !made.ok()) return made.error();
  Result<SelfSigned> made = make_self_signed(folder, policy.hosts);
  if (!made.ok()) return made.error();
  files.certificate = made->files.certificate;
  files.key = made->files.key;
  return files;
}

Status AccessSetup::set_listeners(HttpOptions& options) {
  if (policy_.listen.empty()) return {};
  Result<TlsFiles> files = tls_files(policy_);
  if (!files.ok()) return files.error();
  tls_files_ = *files;
  Result<std::shared_ptr<TlsContext>> tls = TlsContext::load(std::move(*files));
  if (!tls.ok()) return tls.error();
  tls_ = std::move(*tls);
  stamp_ = certificate_stamp();
  for (const std::string& warning : tls_->warnings()) log_(warning);
  options.tls = tls_;
  for (const access::ListenAddress& each : policy_.listen) options.listeners.push_back({each.host, each.port});
  log_(fmt::format("TLS certificate {}, sha256:{}", tls_->files().certificate, tls_->fingerprint()));
  return {};
}

Result<std::unique_ptr<Gate>> AccessSetup::open_gate(std::function<void(std::function<void()>)> post,
                                                     std::string version, std::uint32_t server_uid) {
  GateOptions options;
  options.version = std::move(version);
  options.policy = policy_;
  options.cluster = cluster_.name();
  options.server = fmt::format("{}@{}", policy_.server_user, host_name());
  options.state_directory = state_directory_;
  options.server_uid = server_uid;
  options.listen_hosts = {"localhost", "127.0.0.1", "::1"};
  for (const access::ListenAddress& each : policy_.listen) options.listen_hosts.push_back(each.host);
  options.secrets.environment = settings_.environment;
  options.random = access::system_random();
  options.now_ms = [this] { return clock_.wall_ms(); };
  options.now = [this] { return clock_.now(); };
  options.post = std::move(post);
  options.log = log_;
  options.fetch = &fetch_;
  options.clock = &clock_;
  return Gate::open(std::move(options));
}

void AccessSetup::reload(Gate& gate) {
  std::optional<Error> no_files;
  if (!settings_.file.empty()) {
    Result<access::AccessPolicy> policy = read_policy();
    if (policy.ok()) {
      if (!(policy->listen == policy_.listen) || !(policy->oidc == policy_.oidc) || !(policy->audit == policy_.audit))
        log_("addresses, the OIDC provider and the log server of the access file change at the next start");
      policy_.roles = policy->roles;
      if (tls_ != nullptr) {
        Result<TlsFiles> files = tls_files(*policy);
        if (files.ok()) tls_files_ = std::move(*files);
        if (!files.ok()) no_files = files.error();
      }
      gate.reload(std::move(*policy));
      log_("access file read again");
    } else {
      log_(policy.error().text() + "; the former rules stay in force");
    }
  }
  if (no_files) return log_(no_files->text() + "; the former certificate stays in use");
  reload_certificate();
}

std::string AccessSetup::certificate_stamp() const {
  std::string stamp;
  for (const std::string& path : {tls_files_.certificate, tls_files_.key, tls_files_.client_ca}) {
    struct stat info {};
    if (path.empty() || ::stat(path.c_str(), &info) != 0) continue;
    stamp += fmt::format("{}.{}.{};", info.st_ino, info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
  }
  return stamp;
}

void AccessSetup::check_certificate() {
  if (tls_ != nullptr && certificate_stamp() != stamp_) reload_certificate();
}

void AccessSetup::reload_certificate() {
  if (tls_ == nullptr) return;
  stamp_ = certificate_stamp();
  if (const Status reloaded = tls_->reload(tls_files_); !reloaded.ok()) {
    log_(fmt::format("{}; the former certificate stays in use, {}, sha256:{}", reloaded.error().text(),
                     tls_->files().certificate, tls_->fingerprint()));
    return;
  }
  for (const std::string& warning : tls_->warnings()) log_(warning);
  log_(fmt::format("TLS certificate {} read again, sha256:{}", tls_->files().certificate, tls_->fingerprint()));
}

}  // namespace weft::serve
