#include "oob/credentials/credentials.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include "base/check.h"
#include "base/process.h"
#include "base/utf8.h"
#include "lazy/crypto.h"
#include "oob/credentials/book.h"
#include "oob/credentials/file.h"

namespace weft::oob {
namespace {

constexpr std::size_t kMaxDocument = 64U << 20U;  // bytes a program may print
constexpr Duration kProgramLimit = milliseconds(60'000);

Error no_credential(const std::string& store, const std::string& device) {
  return {ErrorCode::not_found, fmt::format("{} has no credential for it, and no default", store), device};
}

class FixedCredentials final : public CredentialStore {
 public:
  FixedCredentials(std::string name, Credential credential)
      : name_(std::move(name)), credential_(std::move(credential)) {}

  [[nodiscard]] Result<Credential> find(const std::string&, const std::string&) const override { return credential_; }
  [[nodiscard]] bool has_own(const std::string&) const override { return false; }
  [[nodiscard]] Status put(const std::string&, const Credential&) override {
    return Error{ErrorCode::refused, "environment variables cannot keep a new password", name_};
  }
  [[nodiscard]] bool writable() const override { return false; }
  [[nodiscard]] std::string name() const override { return name_; }

 private:
  std::string name_;
  Credential credential_;
};

class ProgramCredentials final : public CredentialStore {
 public:
  ProgramCredentials(std::string name, std::vector<std::string> words,
                     std::vector<std::pair<std::string, std::string>> environment, CredentialBook book, bool writable)
      : name_(std::move(name)),
        words_(std::move(words)),
        environment_(std::move(environment)),
        book_(std::move(book)),
        writable_(writable) {}

  [[nodiscard]] Result<Credential> find(const std::string& device, const std::string& group) const override {
    const std::lock_guard guard(mutex_);
    if (const Credential* found = book_.find(device, group); found != nullptr) return *found;
    return no_credential(name_, device);
  }
  [[nodiscard]] bool has_own(const std::string& device) const override {
    const std::lock_guard guard(mutex_);
    return book_.own(device) != nullptr;
  }
  [[nodiscard]] Status put(const std::string& device, const Credential& credential) override {
    if (!writable_) return Error{ErrorCode::refused, "can be read, and not written", name_};
    if (Status fine = check_entry(device, credential); !fine.ok()) return fine;
    ProcessRequest request;
    request.words = words_;
    request.words.insert(request.words.end(), {"put", device});
    request.input = entry_json(device, credential) + "\n";
    request.limit = kProgramLimit;
    request.environment = environment_;
    const Result<ProcessOutcome> ran = run_process(request);
    if (!ran.ok()) return Error{ran.error().code, ran.error().message, name_};
    // Its output is not repeated: it was given a password.
    if (ran->code != 0)
      return Error{ErrorCode::unavailable, fmt::format("did not keep the entry: it ended with {}", ran->code), name_};
    const std::lock_guard guard(mutex_);
    book_.devices.insert_or_assign(device, credential);
    return {};
  }
  [[nodiscard]] bool writable() const override { return writable_; }
  [[nodiscard]] std::string name() const override { return name_; }

 private:
  std::string name_;
  std::vector<std::string> words_;
  std::vector<std::pair<std::string, std::string>> environment_;
  mutable std::mutex mutex_;
  CredentialBook book_;
  bool writable_;
};

// The last line that a failed program wrote to stderr, for the error message.
std::string last_words(const ProcessOutcome& ran) {
  std::string_view text = ran.err;
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.remove_suffix(1);
  const std::size_t line = text.rfind('\n');
  if (line != std::string_view::npos) text.remove_prefix(line + 1);
  return text.empty() ? std::string() : ": " + printable(text, 200);
}

struct Program {
  std::string name{};
  std::vector<std::string> words{};  // without "get"
  std::vector<std::string> get{};    // the arguments that request the document
  std::vector<std::pair<std::string, std::string>> environment{};
  bool writable = true;
};

Result<std::unique_ptr<CredentialStore>> open_program(Program program) {
  ProcessRequest request;
  request.words = program.get;
  request.limit = kProgramLimit;
  request.most_output = kMaxDocument;
  request.environment = program.environment;
  Result<ProcessOutcome> ran = run_process(request);
  if (!ran.ok())
    return Error{ran.error().code,
                 fmt::format("{} {}; `--credentials file:PATH` reads them from a file",
                             in_backticks(program.get.front()), ran.error().message),
                 program.name};
  if (ran->code != 0)
    return Error{ErrorCode::unavailable,
                 fmt::format("gave no credentials: it ended with {}{}", ran->code, last_words(ran.value())),
                 program.name};
  Result<CredentialBook> book = read_credential_book(program.name, std::move(ran->out));
  if (!book.ok()) return book.error();
  return std::unique_ptr<CredentialStore>(
      std::make_unique<ProgramCredentials>(std::move(program.name), std::move(program.words),
                                           std::move(program.environment), std::move(book).value(), program.writable));
}

Result<Program> program_of(std::string_view scheme, std::string_view line) {
  Result<std::vector<std::string>> words = split_words(line);
  if (!words.ok()) return Error{ErrorCode::invalid_input, words.error().message, std::string(scheme)};
  if (words->empty()) return Error{ErrorCode::invalid_input, "names no program", std::string(scheme)};
  Program program;
  // Its arguments may contain a token: only the program is named.
  program.name = fmt::format("{}:{}", scheme, words->front());
  program.words = std::move(words).value();
  program.get = program.words;
  program.get.emplace_back("get");
  return program;
}

Result<std::unique_ptr<CredentialStore>> open_vault(const std::string& path,
                                                    const std::function<std::string(const char*)>& environment) {
  if (path.empty()) return Error{ErrorCode::invalid_input, "names no path: vault:PATH", "vault"};
  const std::string line = environment("WEFT_VAULT_COMMAND");
  if (line.empty()) {
    Program program;
    program.name = "vault:" + path;
    program.get = {"vault", "kv", "get", "-field=document", path};
    program.writable = false;
    return open_program(std::move(program));
  }
  Result<Program> program = program_of("vault", line);
  if (!program.ok()) return program.error();
  program->name = "vault:" + path;
  program->environment = {{"WEFT_VAULT_PATH", path}};
  return open_program(std::move(program).value());
}

Result<std::unique_ptr<CredentialStore>> open_environment(const std::string& variable,
                                                          const std::function<std::string(const char*)>& environment) {
  const std::string name = "env:" + variable;
  if (variable.empty()) return Error{ErrorCode::invalid_input, "names no variable: env:NAME", "env"};
  Credential credential;
  credential.user = environment((variable + "_USER").c_str());
  if (!credential.user.empty()) {
    credential.password = Secret(environment((variable + "_PASSWORD").c_str()));
  } else {
    const std::string both = environment(variable.c_str());
    const std::size_t colon = both.find(':');
    if (colon == std::string::npos || colon == 0)
      return Error{ErrorCode::not_found,
                   fmt::format("neither {0}_USER and {0}_PASSWORD nor {0} as USER:PASSWORD is set", variable), name};
    credential.user = both.substr(0, colon);
    credential.password = Secret(both.substr(colon + 1));
  }
  return std::unique_ptr<CredentialStore>(std::make_unique<FixedCredentials>(name, std::move(credential)));
}

// Uniform in [0, bound): bytes that would bias toward low values are redrawn.
std::size_t draw(std::size_t bound) {
  const unsigned limit = 256U - 256U % static_cast<unsigned>(bound);
  for (;;) {
    unsigned char byte = 0;
    CHECK(RAND_bytes(&byte, 1) == 1, "the system has no random numbers");
    if (byte < limit) return byte % bound;
  }
}

}  // namespace

Result<std::unique_ptr<CredentialStore>> open_credentials(const std::string& reference,
                                                          const std::function<std::string(const char*)>& environment) {
  const auto after = [&](std::string_view scheme) { return reference.substr(scheme.size()); };
  if (reference.starts_with("file:")) return open_credentials_file(after("file:"));
  if (reference.starts_with("env:")) return open_environment(after("env:"), environment);
  if (reference.starts_with("vault:")) return open_vault(after("vault:"), environment);
  if (reference.starts_with("command:")) {
    Result<Program> program = program_of("command", after("command:"));
    if (!program.ok()) return program.error();
    return open_program(std::move(program).value());
  }
  return open_credentials_file(reference);
}

Secret new_password(std::size_t length) {
  // Without 0 O o, 1 l I: someone may have to type it at a crash cart.
  static constexpr std::string_view kClasses[] = {"ABCDEFGHJKLMNPQRSTUVWXYZ", "abcdefghijkmnpqrstuvwxyz", "23456789"};
  static const std::string all = fmt::format("{}{}{}", kClasses[0], kClasses[1], kClasses[2]);
  std::string text;
  // Redrawn as a whole until each class occurs (nine times in ten at once): forcing one in would bias the result.
  do {
    text.clear();
    for (std::size_t i = 0; i < length; ++i) text += all[draw(all.size())];
  } while (std::any_of(std::begin(kClasses), std::end(kClasses),
                       [&](std::string_view members) { return text.find_first_of(members) == std::string::npos; }));
  return Secret(std::move(text));
}

}  // namespace weft::oob
