#include "oob/redfish/https_transfer.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "base/base64.h"
#include "http/header_line.h"

namespace weft::oob {
namespace {

// Longer header values are ignored.
constexpr std::size_t kMaxValueBytes = 1024;

void take_header_value(HttpReply& reply, const http::HeaderLine& line) {
  const std::string_view value = line.value;
  if (value.size() > kMaxValueBytes) return;
  if (!std::all_of(value.begin(), value.end(), [](char c) { return c >= ' ' && c <= '~'; })) return;
  if (line.is("Location")) {
    reply.location = value;
  } else if (line.is("X-Auth-Token")) {
    reply.token = Secret(std::string(value));
  } else if (line.is("ETag")) {
    reply.etag = value;
  } else if (line.is("Retry-After")) {
    reply.retry_after = http::parse_retry_after(value);
  } else if (line.is("Content-Type")) {
    reply.content_type = value;
  }
}

}  // namespace

std::size_t take_body(char* data, std::size_t /*one*/, std::size_t size, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  if (transfer.reply.body.size() + size > kMaxBodyBytes) {
    transfer.body_too_large = true;
    return 0;
  }
  transfer.reply.body.append(data, size);
  return size;
}

std::size_t take_header(char* data, std::size_t one, std::size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  const std::size_t size = one * count;
  transfer.header_bytes += size;
  if (transfer.header_bytes > kMaxHeaderBytes) {
    transfer.headers_too_large = true;
    return 0;
  }
  const std::string_view line(data, size);
  // An informational response (100) may precede the final one; only the last one's headers count.
  if (line.starts_with("HTTP/")) transfer.reply = HttpReply{};
  if (line == "\r\n" || line == "\n") {
    long status = 0;
    curl_easy_getinfo(transfer.easy, CURLINFO_RESPONSE_CODE, &status);
    transfer.has_headers = status >= 200;
  }
  if (const std::optional<http::HeaderLine> header = http::parse_header_line(line))
    take_header_value(transfer.reply, *header);
  return size;
}

std::size_t give_body(char* data, std::size_t one, std::size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  std::size_t at = transfer.sent;  // within the part that is looked at
  std::string_view part = transfer.request->body;
  for (const std::string_view next : transfer.request->more) {
    if (at < part.size()) break;
    at -= part.size();
    part = next;
  }
  const std::size_t size = std::min(one * count, part.size() - std::min(at, part.size()));
  if (size > 0) std::memcpy(data, part.data() + at, size);
  transfer.sent += size;
  return size;
}

std::size_t body_size(const HttpRequest& request) {
  std::size_t size = request.body.size();
  for (const std::string_view part : request.more) size += part.size();
  return size;
}

void add_headers(Transfer& transfer) {
  const HttpRequest& request = *transfer.request;
  transfer.headers.add("Accept: " + request.accept);
  transfer.headers.add("OData-Version: 4.0");  // DSP0266, "Request headers"
  transfer.headers.add("Expect:");             // do not wait for "100 Continue"
  if (request.method != "GET" && request.method != "DELETE")
    transfer.headers.add("Content-Type: " + request.content_type);
  if (!request.if_match.empty()) transfer.headers.add("If-Match: " + request.if_match);
  if (!request.last_event_id.empty()) transfer.headers.add("Last-Event-ID: " + request.last_event_id);
  if (request.login == nullptr) return;
  if (!request.login->token.empty()) {
    transfer.headers.add("X-Auth-Token: " + request.login->token.reveal());
  } else if (!request.login->user.empty()) {
    std::string pair = request.login->user + ":" + request.login->password.reveal();
    std::string encoded = encode_base64(pair);
    transfer.headers.add("Authorization: Basic " + encoded);
    http::wipe(pair);
    http::wipe(encoded);
  }
}

}  // namespace weft::oob
