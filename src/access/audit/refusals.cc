#include "access/audit/refusals.h"

#include <utility>

namespace weft::access {
namespace {

constexpr Duration kMinute = milliseconds(60'000);

}  // namespace

RefusalLog::~RefusalLog() { (void)flush(); }

Status RefusalLog::record(AuditNote note) {
  Status ticked = tick();
  if (!is_open_) {
    is_open_ = true;
    begun_ = clock_.now();
  }
  if (written_ < per_minute_) {
    ++written_;
    Status noted = write_(std::move(note));
    return noted.ok() ? ticked : noted;
  }
  ++more_;
  const std::string address = note.source.address.empty() ? "local" : note.source.address;
  const auto found = by_address_.find(address);
  if (found != by_address_.end()) {
    ++found->second;
  } else if (by_address_.size() < kMaxAddresses) {
    by_address_.emplace(address, 1);
  } else {
    ++elsewhere_;
  }
  return ticked;
}

Status RefusalLog::tick() {
  if (!is_open_ || clock_.now() - begun_ < kMinute) return {};
  return flush();
}

// After an error the counts are kept for the next attempt.
Status RefusalLog::flush() {
  if (more_ > 0) {
    AuditNote note;
    note.operation = kRequestRefused;
    note.reason = "more of the same within a minute, counted only";
    Value addresses = Value::map();
    for (const auto& [address, count] : by_address_) addresses.put(address, count);
    note.evidence = Value::map().set("more", more_).set("addresses", std::move(addresses));
    if (elsewhere_ > 0) note.evidence.set("other_addresses", elsewhere_);
    if (Status noted = write_(std::move(note)); !noted.ok()) return noted;
  }
  is_open_ = false;
  written_ = 0;
  more_ = elsewhere_ = 0;
  by_address_.clear();
  return {};
}

}  // namespace weft::access
