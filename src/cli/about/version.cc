// weft version: what this executable is, and the libraries that it uses here.
#include <fmt/format.h>
#include <yaml.h>
#include <zlib.h>

#include <boost/version.hpp>
#include <nlohmann/json_fwd.hpp>

#include "cli/framework/build_info.h"
#include "cli/framework/context.h"
#include "cli/framework/help.h"
#include "lazy/crypto.h"
#include "lazy/curl.h"
#include "store/lazy_sqlite.h"

#ifdef WEFT_HAS_IPMI
#include "oob/ipmi/lazy_freeipmi.h"
#endif

namespace weft::cli {
namespace {

WEFT_LAZY_FUNCTION(libcrypto, OpenSSL_version);
WEFT_LAZY_FUNCTION(libcurl, curl_version_info);
WEFT_LAZY_FUNCTION(store::libsqlite, sqlite3_libversion);

struct LibraryRow {
  std::string name;
  std::string version;  // empty: the library does not tell, or is missing
  const char* use;      // linked; at first use; compiled in
  bool found = true;
  std::string needed_for{};
};

// "3.0.17" of "OpenSSL 3.0.17 1 Jul 2025".
std::string second_word(std::string_view text) {
  const std::size_t begin = text.find(' ');
  if (begin == std::string_view::npos) return std::string(text);
  text.remove_prefix(begin + 1);
  return std::string(text.substr(0, text.find(' ')));
}

std::vector<LibraryRow> libraries() {
  constexpr const char* kLinked = "linked";
  constexpr const char* kCompiledIn = "compiled in";
  constexpr const char* kFirstUse = "loaded at first use";
  std::vector<LibraryRow> rows = {
      {"libyaml", yaml_get_version_string(), kLinked},
      {"fmt", fmt::format("{}.{}.{}", FMT_VERSION / 10'000, FMT_VERSION / 100 % 100, FMT_VERSION % 100), kLinked},
      {"zlib", zlibVersion(), kLinked},
      {"nlohmann-json",
       fmt::format("{}.{}.{}", NLOHMANN_JSON_VERSION_MAJOR, NLOHMANN_JSON_VERSION_MINOR, NLOHMANN_JSON_VERSION_PATCH),
       kCompiledIn},
      {"Boost", fmt::format("{}.{}.{}", BOOST_VERSION / 100'000, BOOST_VERSION / 100 % 1'000, BOOST_VERSION % 100),
       kCompiledIn}};
  const bool crypto = !libcrypto.load().has_value();
  rows.push_back({"OpenSSL", crypto ? second_word(OpenSSL_version(OPENSSL_VERSION)) : std::string(), kFirstUse, crypto,
                  "HTTPS, tokens, credentials, weft oob"});
  const bool curl = !libcurl.load().has_value();
  rows.push_back({"libcurl", curl ? curl_version_info(CURLVERSION_NOW)->version : "", kFirstUse, curl,
                  "servers over HTTPS, Redfish, Kubernetes"});
  const bool sqlite = !store::libsqlite.load().has_value();
  rows.push_back({"SQLite", sqlite ? sqlite3_libversion() : "", kFirstUse, sqlite, "weft serve"});
#ifdef WEFT_HAS_IPMI
  const bool freeipmi = !oob::libfreeipmi.load().has_value();
  rows.push_back({"FreeIPMI", "", kFirstUse, freeipmi, "IPMI of weft oob"});
  const bool console = !oob::libipmiconsole.load().has_value();
  rows.push_back({"libipmiconsole", "", kFirstUse, console, "weft oob console over IPMI"});
#endif
  return rows;
}

Document version_document() {
  const BuildInfo& build = build_info();
#ifdef WEFT_HAS_IPMI
  constexpr bool kIpmi = true;
#else
  constexpr bool kIpmi = false;
#endif
  Document document;
  document.kind = "version";
  document.sections.emplace_back(FactsSection{"build",
                                              "",
                                              {{"version", "Version", build.version},
                                               {"commit", "Commit", build.commit},
                                               {"commit_date", "Date of the commit", build.commit_date},
                                               {"modified", "Modified", build.modified},
                                               {"build_type", "Build type", build.build_type},
                                               {"compiler", "Compiler", build.compiler},
                                               {"target", "Target", build.target},
                                               {"ipmi", "IPMI", kIpmi}}});
  TableSection table{
      "libraries",
      "Libraries",
      {{"name", "Library"}, {"version", "Version"}, {"use", "Use"}, {"found", "Found"}, {"needed_for", "Needed for"}},
      {}};
  for (const LibraryRow& row : libraries())
    table.rows.push_back({row.name, row.version, row.use, row.found, row.needed_for});
  document.sections.emplace_back(std::move(table));
  return document;
}

Exit run_version(Context& context) {
  if (context.output_format() == OutputFormat::table) return context.deliver(version_text());
  return context.deliver(version_document());
}

}  // namespace

Command version_command() {
  Command command;
  command.name = "version";
  command.summary = "Print the version, the commit and the libraries";
  command.usage = "[OPTIONS]";
  command.description = {
      "One line by default: the version, and the commit it was built from where that is known. The other formats add "
      "the compiler, the target and each library with its version, those too that weft loads at their first use."};
  command.examples = {{"weft version", "Show the version of this executable"},
                      {"weft version -o json", "With commit, compiler and libraries, for a bug report"}};
  command.options = {output_option()};
  command.run = run_version;
  return command;
}

}  // namespace weft::cli
