#include "bmcsim/http.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/text.h"

namespace weft::bmcsim {
namespace {

// tchar of RFC 9110 section 5.6.2.
bool is_token(char c) {
  return is_digit(c) || is_letter(c) || std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

HttpMethod method_named(std::string_view name) {
  if (name == "GET") return HttpMethod::get;
  if (name == "HEAD") return HttpMethod::head;
  if (name == "POST") return HttpMethod::post;
  if (name == "PATCH") return HttpMethod::patch;
  if (name == "PUT") return HttpMethod::put;
  if (name == "DELETE") return HttpMethod::remove;
  if (name == "OPTIONS") return HttpMethod::options;
  return HttpMethod::other;
}

int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  const char l = to_lower(c);
  return l >= 'a' && l <= 'f' ? l - 'a' + 10 : -1;
}

// Whether a list header (RFC 9110 section 5.6.1) contains `word`.
bool lists(std::string_view value, std::string_view word) {
  while (true) {
    const std::size_t comma = value.find(',');
    if (to_lower(trim(value.substr(0, comma), kTabsAndSpaces)) == word) return true;
    if (comma == std::string_view::npos) return false;
    value.remove_prefix(comma + 1);
  }
}

}  // namespace

std::string_view to_text(HttpMethod method) {
  constexpr std::array<std::string_view, 8> names{"GET", "HEAD", "POST", "PATCH", "PUT", "DELETE", "OPTIONS", "OTHER"};
  return names[static_cast<std::size_t>(method)];
}

std::string_view SimHttpRequest::header(std::string_view lower_case_name) const {
  for (const auto& [name, value] : headers) {
    if (name == lower_case_name) return value;
  }
  return {};
}

HttpReader::State HttpReader::feed(std::string_view bytes) {
  buffer_ += bytes;
  return state_ == State::more || state_ == State::go_on ? read() : state_;
}

HttpReader::State HttpReader::next() {
  if (state_ != State::complete) return state_;
  request_ = SimHttpRequest();
  body_length_ = 0;
  in_body_ = old_version_ = said_go_on_ = wants_go_on_ = false;
  state_ = State::more;
  return read();
}

void HttpReader::release() {
  if (buffer_.empty()) std::string().swap(buffer_);
}

HttpReader::State HttpReader::fail(int status) {
  status_ = status;
  return state_ = State::bad;
}

HttpReader::State HttpReader::read() {
  if (!in_body_) {
    // Empty lines before a request are skipped (RFC 9112 section 2.2).
    while (buffer_.starts_with("\r\n")) buffer_.erase(0, 2);
    // Garbage, such as TLS sent to a plain port, is detected by its first byte.
    if (!buffer_.empty() && !is_token(buffer_.front()) && buffer_.front() != '\r') return fail(400);
    const std::size_t end = buffer_.find("\r\n\r\n");
    if (end == std::string::npos || end + 4 > limits_.header_bytes) {
      if (buffer_.size() >= limits_.header_bytes) return fail(431);
      return state_ = State::more;
    }
    if (const int status = read_head(std::string_view(buffer_).substr(0, end + 2)); status != 0) return fail(status);
    buffer_.erase(0, end + 4);
    in_body_ = true;
  }
  if (buffer_.size() < body_length_) {
    if (wants_go_on_ && !said_go_on_ && buffer_.empty()) {
      said_go_on_ = true;
      return state_ = State::go_on;
    }
    return state_ = State::more;
  }
  request_.body = buffer_.substr(0, body_length_);
  buffer_.erase(0, body_length_);
  return state_ = State::complete;
}

// `head` ends with the line end of its last header. Returns 0, or the status for an invalid one.
int HttpReader::read_head(std::string_view head) {
  request_ = SimHttpRequest();
  bool first = true;
  while (!head.empty()) {
    const std::size_t end = head.find("\r\n");
    const std::string_view line = head.substr(0, end);
    head.remove_prefix(end + 2);
    if (const int status = first ? read_line(line) : read_header(line); status != 0) return status;
    first = false;
  }
  return judge_headers();
}

int HttpReader::read_line(std::string_view line) {
  const std::size_t one = line.find(' ');
  const std::size_t two = line.rfind(' ');
  if (one == std::string_view::npos || one == two || one == 0) return 400;
  const std::string_view method = line.substr(0, one);
  const std::string_view version = line.substr(two + 1);
  if (!std::all_of(method.begin(), method.end(), is_token)) return 400;
  if (!version.starts_with("HTTP/") || version.size() != 8 || !is_digit(version[5]) || version[6] != '.' ||
      !is_digit(version[7])) {
    return 400;
  }
  if (version[5] != '1') return 505;
  old_version_ = version[7] == '0';
  request_.method = method_named(method);
  return read_target(line.substr(one + 1, two - one - 1));
}

int HttpReader::read_target(std::string_view target) {
  if (target.size() > limits_.target_bytes) return 414;
  const auto printable = [](char c) { return c > ' ' && c < '\x7F'; };
  if (!std::all_of(target.begin(), target.end(), printable)) return 400;
  // absolute-form, as sent to a proxy, must be accepted (RFC 9112 section 3.2.2).
  for (const std::string_view scheme : {std::string_view("http://"), std::string_view("https://")}) {
    if (to_lower(target.substr(0, scheme.size())) != scheme) continue;
    const std::size_t slash = target.find('/', scheme.size());
    target = slash == std::string_view::npos ? std::string_view("/") : target.substr(slash);
  }
  if (!target.starts_with('/')) return 400;
  target = target.substr(0, target.find('#'));
  const std::size_t mark = target.find('?');
  if (mark != std::string_view::npos) request_.query = std::string(target.substr(mark + 1));
  return percent_decode(target.substr(0, mark), request_.path) ? 0 : 400;
}

int HttpReader::read_header(std::string_view line) {
  if (request_.headers.size() >= limits_.headers) return 431;
  const std::size_t colon = line.find(':');
  // A space before the colon and folded lines are rejected (RFC 9112 sections 5.1, 5.2).
  if (colon == std::string_view::npos || colon == 0) return 400;
  const std::string_view name = line.substr(0, colon);
  const std::string_view value = trim(line.substr(colon + 1), kTabsAndSpaces);
  const auto allowed = [](char c) { return c == '\t' || (static_cast<unsigned char>(c) >= 0x20 && c != '\x7F'); };
  if (!std::all_of(name.begin(), name.end(), is_token) || !std::all_of(value.begin(), value.end(), allowed)) return 400;
  request_.headers.emplace_back(to_lower(name), std::string(value));
  return 0;
}

int HttpReader::judge_headers() {
  int hosts = 0;
  std::string_view length;
  bool chunked = false;
  bool coded = false;
  request_.keep_alive = !old_version_;
  for (const auto& [name, value] : request_.headers) {
    if (name == "host") ++hosts;
    if (name == "content-length") {
      if (!length.empty() && length != value) return 400;  // request smuggling (RFC 9112 section 6.3)
      length = value;
      if (length.empty()) return 400;
    }
    if (name == "transfer-encoding") {
      coded = true;
      chunked = to_lower(value) == "chunked";
    }
    if (name == "connection") {
      if (lists(value, "close")) request_.keep_alive = false;
      if (old_version_ && lists(value, "keep-alive")) request_.keep_alive = true;
    }
    if (name == "expect") {
      if (to_lower(value) != "100-continue") return 417;
      wants_go_on_ = !old_version_;
    }
  }
  if (hosts > 1 || (hosts == 0 && !old_version_)) return 400;  // RFC 9112 section 3.2
  if (coded && !length.empty()) return 400;
  if (coded) return chunked ? 411 : 501;
  if (length.empty()) return 0;
  const std::from_chars_result read = std::from_chars(length.data(), length.data() + length.size(), body_length_);
  if (!is_digit(length.front()) || read.ptr != length.data() + length.size()) return 400;
  if (read.ec != std::errc() || body_length_ > limits_.body_bytes) return 413;
  return 0;
}

bool percent_decode(std::string_view text, std::string& out) {
  out.clear();
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    if (i + 2 >= text.size()) return false;
    const int high = hex_value(text[i + 1]);
    const int low = hex_value(text[i + 2]);
    if (high < 0 || low < 0) return false;
    const int byte = high * 16 + low;
    if (byte < 0x20 || byte == 0x7F) return false;
    out += static_cast<char>(static_cast<unsigned char>(byte));
    i += 2;
  }
  return true;
}

std::vector<std::pair<std::string, std::string>> query_parameters(std::string_view query) {
  std::vector<std::pair<std::string, std::string>> out;
  while (!query.empty()) {
    const std::size_t end = query.find('&');
    const std::string_view part = query.substr(0, end);
    const std::size_t equals = part.find('=');
    std::string name;
    std::string value;
    const bool fine = percent_decode(part.substr(0, equals), name) &&
                      (equals == std::string_view::npos || percent_decode(part.substr(equals + 1), value));
    if (!part.empty()) out.emplace_back(fine ? name : std::string(part), value);
    if (end == std::string_view::npos) break;
    query.remove_prefix(end + 1);
  }
  return out;
}

std::string_view status_phrase(int status) {
  struct Phrase {
    int status = 0;
    std::string_view text;
  };
  constexpr std::array<Phrase, 28> phrases{{{100, "Continue"},
                                            {200, "OK"},
                                            {201, "Created"},
                                            {202, "Accepted"},
                                            {204, "No Content"},
                                            {302, "Found"},
                                            {304, "Not Modified"},
                                            {308, "Permanent Redirect"},
                                            {400, "Bad Request"},
                                            {401, "Unauthorized"},
                                            {403, "Forbidden"},
                                            {404, "Not Found"},
                                            {405, "Method Not Allowed"},
                                            {409, "Conflict"},
                                            {411, "Length Required"},
                                            {412, "Precondition Failed"},
                                            {413, "Content Too Large"},
                                            {414, "URI Too Long"},
                                            {415, "Unsupported Media Type"},
                                            {417, "Expectation Failed"},
                                            {428, "Precondition Required"},
                                            {431, "Request Header Fields Too Large"},
                                            {500, "Internal Server Error"},
                                            {501, "Not Implemented"},
                                            {503, "Service Unavailable"},
                                            {505, "HTTP Version Not Supported"},
                                            {410, "Gone"},
                                            {406, "Not Acceptable"}}};
  for (const Phrase& phrase : phrases) {
    if (phrase.status == status) return phrase.text;
  }
  return "Unknown";
}

}  // namespace weft::bmcsim
