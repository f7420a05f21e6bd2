// Bytes as a list of advisories, matched against machines whose fields are cut from the same bytes. Any input must
// parse or be rejected with diagnostics; verdicts and version order must be consistent.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/check.h"
#include "base/wildcard.h"
#include "oob/audit/advisories.h"
#include "oob/bmc/version.h"

namespace weft::oob {
namespace {

void check_order(std::string_view a, std::string_view b) {
  const auto one = compare_versions(a, b);
  const auto other = compare_versions(b, a);
  CHECK(one.has_value() == other.has_value(), "an order can be told from both sides or from none");
  if (one) CHECK((*one < 0) == (*other > 0) && (*one == 0) == (*other == 0), "an order is the same from both sides");
  const auto same = compare_versions(a, a);
  CHECK(!same || *same == 0, "a version is equal to itself");
}

void run_advisories(const std::string& text) {
  Sources sources;
  Diagnostics diagnostics;
  const FileId file = sources.add("advisories.yaml", text);
  const std::optional<std::vector<Advisory>> advisories = read_advisories(sources, file, diagnostics);
  CHECK(advisories.has_value() != diagnostics.has_errors(), "a file that cannot be read says why");
  (void)render_all(diagnostics, sources, true);
  const std::size_t third = text.size() / 3;
  const std::string a = text.substr(0, third);
  const std::string b = text.substr(third, third);
  check_order(a, b);
  CHECK(wildcard_match("*", a, LetterCase::ignored), "a star is anything");
  (void)wildcard_match(a, b, LetterCase::ignored);
  if (!advisories) return;
  for (const Advisory& advisory : *advisories) {
    for (const BmcIdentity& identity : {BmcIdentity{a, b, "", "", text.substr(2 * third), ""},
                                        BmcIdentity{"Supermicro", "X13SEM-F", "S", "U", "01.03.19", ""}}) {
      const Verdict on = judge(advisory, identity, true);
      const Verdict off = judge(advisory, identity, false);
      CHECK(on >= off, "turning IPMI off opens nothing");
    }
  }
}

}  // namespace
}  // namespace weft::oob

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 16384) return 0;
  weft::oob::run_advisories(std::string(data, data + size));
  return 0;
}
