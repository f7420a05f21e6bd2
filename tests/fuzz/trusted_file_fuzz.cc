// Bytes as the files that `weft oob` keeps of its own: accepted certificates, and the anchor of a journal. Any input is
// read or rejected; what is read has the form that the commands rely on.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "oob/journal/anchor.h"
#include "oob/redfish/trusted_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);  // NOLINT
  const auto entries = weft::oob::parse_trusted(text, "trusted");
  if (entries.ok()) {
    for (const weft::oob::TrustedCertificate& entry : *entries) {
      CHECK(!entry.device.empty() && entry.device.find_first_of(" \n") == std::string::npos, "a device is one word");
      CHECK(entry.fingerprint.size() == 7 + 64 && entry.fingerprint.starts_with("sha256:"), "a fingerprint is whole");
    }
  }
  if (const auto point = weft::oob::parse_anchor(text)) CHECK(point->hash.size() == 64, "a hash is whole");
  return 0;
}
