// Bytes as a kubeconfig, as the output of an exec plug-in, and as a watch. For any input nothing is thrown, an error
// says where and never holds a secret of the file, and the events of a watch do not depend on how its bytes are cut.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/base64.h"
#include "base/check.h"
#include "kube/credentials.h"
#include "kube/kubeconfig.h"
#include "kube/object_store.h"
#include "kube/watch_decoder.h"

namespace weft::kube {
namespace {

void read_config(const std::string& text) {
  const Result<ClusterAccess> access = parse_kubeconfig("/c/config", text);
  if (access.ok()) {
    CHECK(access->server.starts_with("http"), "an access has a server");
    return;
  }
  CHECK(access.error().where.starts_with("/c/config"), "an error says where");
  CHECK(access.error().text().find("S3CRET") == std::string::npos, "no error holds a secret");
}

void read_watch(const std::string& text) {
  std::vector<WatchEvent> whole;
  std::vector<WatchEvent> halves;
  WatchDecoder one;
  WatchDecoder two;
  const bool ok = one.feed(text, whole).ok();
  const std::string_view view(text);
  const bool first = two.feed(view.substr(0, view.size() / 2), halves).ok();
  const bool second = first && two.feed(view.substr(view.size() / 2), halves).ok();
  CHECK(ok == (first && second) && whole.size() == halves.size(), "the cut does not matter");
  ObjectStore store;
  std::vector<ObjectChange> changes;
  for (const WatchEvent& event : whole) {
    (void)(event.kind == WatchEventKind::deleted ? store.remove(event.object, changes)
                                                 : store.put(event.object, changes));
  }
}

}  // namespace
}  // namespace weft::kube

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 16384) return 0;
  const std::string text(data, data + size);
  weft::kube::read_config(text);
  weft::kube::read_watch(text);
  (void)weft::kube::parse_exec_credential(text, "client.authentication.k8s.io/v1");
  const std::optional<std::string> decoded = weft::decode_base64(text);
  CHECK(!decoded || weft::decode_base64(weft::encode_base64(*decoded)) == decoded, "base64 goes both ways");
  return 0;
}
