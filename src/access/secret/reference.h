// Where a secret of weft itself comes from, as written in configuration files: {file: /etc/weft/oidc.secret},
// {env: NAME} or {program: [vault, kv, get, -field=secret, weft]}. The secret itself is never in such a file.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/process.h"
#include "base/result.h"
#include "model/schema.h"
#include "oob/credentials/secret.h"

namespace weft::access {

struct SecretReference {
  enum class Kind : std::uint8_t { file, environment, program };
  Kind kind = Kind::file;
  std::vector<std::string> words;  // one path, one name, or the program with its arguments

  // For messages: "file /etc/weft/oidc.secret", "environment variable NAME", "program vault" (arguments are not shown).
  [[nodiscard]] std::string describe() const;
  friend bool operator==(const SecretReference&, const SecretReference&) = default;
};

inline constexpr std::size_t kMaxSecretBytes = 64U << 10U;

struct SecretSources {
  std::function<std::string(const char*)> environment;  // value of a variable; "": not set
  std::function<Result<ProcessOutcome>(const ProcessRequest&)> run = run_process;
  Duration deadline = milliseconds(10'000);  // of a program
};

// A file must be a regular file of root's or of the current user that only its owner may use, and not behind a symbolic
// link in a folder that all users may write to (secret/private_file.h). A program runs without a shell. One line end at
// the end is dropped. At most 64 KiB, and not empty. Messages never contain what was read.
[[nodiscard]] Result<oob::Secret> read_secret(const SecretReference& reference, const SecretSources& sources);

}  // namespace weft::access

namespace weft {

template <>
struct model::Codec<access::SecretReference> {
  static bool read(const YamlNode& node, Diagnostics& diagnostics, access::SecretReference& out);
  static void write(const access::SecretReference& value, model::YamlWriter& writer);
  static model::ValueType describe();
};

}  // namespace weft
