// Certificates of BMCs that a person accepted with `weft oob trust`, as a text file: a line per BMC with device,
// address, fingerprint, time and user. Like ssh's known_hosts: a BMC that is listed must present that certificate.
// Written atomically under a lock; refused if other users may change it.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "oob/bmc/endpoint.h"

namespace weft::oob {

struct TrustedCertificate {
  std::string device;
  std::string address;      // "10.128.0.22:443"
  std::string fingerprint;  // "sha256:" and 64 hexadecimal digits
  std::string since;        // "2026-11-19T04:12:41Z"
  std::string who;          // as in the journal
};

// The file in a state folder.
[[nodiscard]] std::string trusted_file(const std::string& state);
// Sorted by device and address. An error with the number of a line that is not one.
[[nodiscard]] Result<std::vector<TrustedCertificate>> parse_trusted(std::string_view text, const std::string& path);
// None if the file does not exist.
[[nodiscard]] Result<std::vector<TrustedCertificate>> read_trusted(const std::string& path);
// Reads, changes and replaces the file under a lock.
[[nodiscard]] Status change_trusted(const std::string& path,
                                    const std::function<void(std::vector<TrustedCertificate>&)>& change);
// The entry of a device at this address; null if none.
[[nodiscard]] const TrustedCertificate* find_trusted(const std::vector<TrustedCertificate>& entries,
                                                     const Endpoint& endpoint);

}  // namespace weft::oob
