// One request of libcurl on its way: what it sends, and what it has received within the limits. Used by HttpsClient
// (https_client.h), which owns the connections.
#pragma once

#include <array>
#include <cstddef>
#include <optional>

#include "http/curl_handles.h"
#include "oob/redfish/https_client.h"

namespace weft::oob {

struct Transfer {
  const HttpRequest* request = nullptr;
  HttpReply reply{};
  std::optional<Error> error{};
  CURL* easy = nullptr;
  http::HeaderLines headers{};
  std::size_t sent = 0;
  std::size_t header_bytes = 0;
  bool body_too_large = false;
  bool headers_too_large = false;
  bool has_headers = false;  // of the final response
  std::array<char, CURL_ERROR_SIZE> text{};
};

// Callbacks of libcurl; `user` is the Transfer.
std::size_t take_body(char* data, std::size_t one, std::size_t size, void* user);
std::size_t take_header(char* data, std::size_t one, std::size_t count, void* user);
std::size_t give_body(char* data, std::size_t one, std::size_t count, void* user);

[[nodiscard]] std::size_t body_size(const HttpRequest& request);
// The lines of the request's header, with those of its login.
void add_headers(Transfer& transfer);

}  // namespace weft::oob
