#include "access/secret/reference.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "access/secret/private_file.h"
#include "base/text.h"
#include "base/utf8.h"
#include "lazy/crypto.h"

namespace weft::access {

// As it is written in a file.
struct SecretSpec {
  using IsRecord = void;
  SourceLocation place;
  model::Sourced<std::string> file;
  model::Sourced<std::string> env;
  model::Sourced<std::vector<std::string>> program;
};

namespace {

constexpr std::string_view kHint = "{file: PATH}, {env: NAME} or {program: [NAME, ARGUMENT...]}";

bool is_variable_name(std::string_view name) {
  if (name.empty() || is_digit(name.front())) return false;
  for (const char c : name) {
    if (!is_letter_or_digit(c) && c != '_') return false;
  }
  return true;
}

bool has_control(std::string_view text) {
  for (const char c : text) {
    if (is_control(c)) return true;
  }
  return false;
}

Result<std::string> run_program(const SecretReference& reference, const SecretSources& sources) {
  ProcessRequest request;
  request.words = reference.words;
  request.limit = sources.deadline;
  request.most_output = kMaxSecretBytes;
  Result<ProcessOutcome> outcome = sources.run(request);
  if (!outcome.ok()) return Error{outcome.error().code, outcome.error().message, reference.describe()};
  OPENSSL_cleanse(outcome->err.data(), outcome->err.size());
  if (outcome->code == 0) return std::move(outcome->out);
  OPENSSL_cleanse(outcome->out.data(), outcome->out.size());
  // Its standard error is not shown: it may contain the secret.
  return Error{ErrorCode::unavailable, fmt::format("failed with exit code {}", outcome->code), reference.describe()};
}

Result<std::string> read_raw(const SecretReference& reference, const SecretSources& sources) {
  CHECK(!reference.words.empty(), "a reference names a file, a variable or a program");
  switch (reference.kind) {
    case SecretReference::Kind::file: {
      return read_private_file(reference.words.front(), Others::nothing, kMaxSecretBytes);
    }
    case SecretReference::Kind::environment:
      return sources.environment(reference.words.front().c_str());
    case SecretReference::Kind::program:
      break;
  }
  return run_program(reference, sources);
}

}  // namespace

std::string SecretReference::describe() const {
  const std::string first = words.empty() ? "" : words.front();
  switch (kind) {
    case Kind::file:
      return "file " + first;
    case Kind::environment:
      return "environment variable " + first;
    case Kind::program:
      break;
  }
  return "program " + first;
}

Result<oob::Secret> read_secret(const SecretReference& reference, const SecretSources& sources) {
  Result<std::string> text = read_raw(reference, sources);
  if (!text.ok()) return text.error();
  if (text->size() > kMaxSecretBytes) {
    OPENSSL_cleanse(text->data(), text->size());
    return Error{ErrorCode::invalid_input, fmt::format("is larger than {} bytes", kMaxSecretBytes),
                 reference.describe()};
  }
  if (text->ends_with('\n')) text->pop_back();
  if (text->ends_with('\r')) text->pop_back();
  if (text->empty()) return Error{ErrorCode::invalid_input, "has no secret: it is empty", reference.describe()};
  oob::Secret secret(*text);
  const bool has_null = text->find('\0') != std::string::npos;
  OPENSSL_cleanse(text->data(), text->size());
  if (has_null) return Error{ErrorCode::invalid_input, "is not text: it contains a null byte", reference.describe()};
  return secret;
}

}  // namespace weft::access

namespace weft::model {

template <>
const Schema& schema_of<access::SecretSpec>() {
  static const Schema schema = [] {
    using R = access::SecretSpec;
    SchemaBuilder<R> b("secret", "Where a secret is read from; never the secret itself.");
    b.field("file", &R::file, "file that only its owner may use");
    b.field("env", &R::env, "name of an environment variable");
    b.field("program", &R::program, "program that prints the secret, with its arguments; runs without a shell");
    return b.build();
  }();
  return schema;
}

bool Codec<access::SecretReference>::read(const YamlNode& node, Diagnostics& diagnostics,
                                          access::SecretReference& out) {
  if (node.kind != YamlNode::Kind::mapping) {
    // Without the place, whose line a report would quote: it may contain the secret.
    diagnostics.error(
        {node.place.file, 0, 0},
        fmt::format("line {}: a secret must not be in this file: name where it is read from", node.place.line),
        std::string(access::kHint));
    return false;
  }
  access::SecretSpec spec;
  const std::size_t before = diagnostics.error_count();
  if (!Codec<access::SecretSpec>::read(node, diagnostics, spec) || diagnostics.error_count() > before) return false;
  const int given =
      (spec.file.from_file() ? 1 : 0) + (spec.env.from_file() ? 1 : 0) + (spec.program.from_file() ? 1 : 0);
  if (given != 1) {
    diagnostics.error(node.place, given == 0 ? "the source of the secret is missing" : "a secret has one source",
                      std::string(access::kHint));
    return false;
  }
  using Kind = access::SecretReference::Kind;
  if (spec.env.from_file()) {
    out = {Kind::environment, {spec.env.value}};
    if (access::is_variable_name(spec.env.value)) return true;
    diagnostics.error(spec.env.place, "is not the name of an environment variable");
    return false;
  }
  if (spec.file.from_file()) {
    out = {Kind::file, {spec.file.value}};
    if (!spec.file->empty() && !access::has_control(spec.file.value)) return true;
    diagnostics.error(spec.file.place, "is not the path of a file");
    return false;
  }
  out = {Kind::program, spec.program.value};
  const bool fine = std::none_of(out.words.begin(), out.words.end(), access::has_control);
  if (fine && !out.words.empty() && !out.words.front().empty()) return true;
  diagnostics.error(spec.program.place, fine ? "the program is missing" : "control character in an argument",
                    "[vault, kv, get, -field=secret, weft]");
  return false;
}

void Codec<access::SecretReference>::write(const access::SecretReference& value, YamlWriter& writer) {
  writer.scalar(value.describe());
}

ValueType Codec<access::SecretReference>::describe() { return Codec<access::SecretSpec>::describe(); }

}  // namespace weft::model
