// Bytes as an answer of etcd's JSON gateway, and as values below the prefix of a journal: what is accepted is complete.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "etcd/messages.h"
#include "store/etcd_layout.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft;
  if (size > 65536) return 0;
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): bytes
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto range = etcd::parse_range(text); range.ok()) {
    CHECK(range->revision > 0, "an answer has a revision");
    for (const etcd::KeyValue& kv : range->kvs) CHECK(!kv.key.empty() && kv.mod_revision > 0, "a key has a revision");
  }
  if (const auto txn = etcd::parse_txn(text); txn.ok()) CHECK(txn->revision > 0, "an answer has a revision");
  if (const auto lease = etcd::parse_grant(text); lease.ok()) CHECK(lease->ttl > 0, "a lease lasts");
  (void)etcd::parse_keep_alive(text);
  (void)etcd::parse_watch(text);
  (void)etcd::parse_alarms(text);
  if (const auto token = etcd::parse_token(text); token.ok())
    CHECK(token->find_first_of("\r\n") == std::string::npos, "a header is one line");
  for (const int status : {400, 401, 429, 503})
    CHECK(!etcd::parse_failure(status, text).error.message.empty(), "a text");
  (void)store::check_meta(text, "cluster", "").ok();
  if (const auto tail = store::parse_tail(text); tail.ok())
    CHECK(store::parse_tail(store::write_tail(*tail)).ok(), "a tail is read again");
  if (const auto manifest = store::parse_manifest(text); manifest.ok()) {
    const std::string written = store::write_manifest(*manifest);
    CHECK(store::write_manifest(*store::parse_manifest(written)) == written, "a manifest is read again");
  }
  if (const auto records = store::parse_commit(1, text, ""); records.ok())
    CHECK(store::write_commit(1, *records) == text, "a commit is read completely");
  return 0;
}
