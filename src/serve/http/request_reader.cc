#include "serve/http/request_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <charconv>
#include <optional>

#include "base/check.h"
#include "base/ip.h"
#include "base/text.h"
#include "base/utf8.h"

namespace weft::serve {
namespace {

namespace http = boost::beast::http;
using Head = http::request<http::string_body>;

// The shortest end of a chunked body. Beast 1.74 asserts that there is as much of it when it looks a second time, and
// would end the process if it came byte by byte; fewer bytes cannot complete a body, so they wait.
constexpr std::string_view kLastChunk = "0\r\n\r\n";

std::string_view as_view(boost::beast::string_view text) { return {text.data(), text.size()}; }

// Copies the value of a header that may occur once; returns the response that rejects it, or nullopt.
std::optional<HttpResponse> read_single(const Head& head, std::string_view name, std::string& out) {
  const boost::beast::string_view key(name.data(), name.size());
  if (head.count(key) > 1) return header_problem(name, fmt::format("more than one {} header", name));
  out = as_view(head[key]);
  if (!is_valid_text(out))
    return header_problem(name, fmt::format("{} has a control character or invalid UTF-8", name));
  return std::nullopt;
}

// Of headers that always have a value. An empty condition, as a script with an unset variable sends it, must not make a
// request unconditional.
std::optional<HttpResponse> check_empty(const Head& head) {
  // RFC 9110 sections 8.3, 11.6.2, 13.1.1 and 13.1.2; RFC 6454 section 7.1; draft-ietf-httpapi-idempotency-key-header.
  for (const std::string_view name :
       {"Content-Type", "Authorization", "If-Match", "If-None-Match", "Origin", "Idempotency-Key"}) {
    const auto found = head.find(boost::beast::string_view(name.data(), name.size()));
    if (found != head.end() && found->value().empty())
      return header_problem(name, fmt::format("the header {} is empty: leave it out, or give it a value", name));
  }
  return std::nullopt;
}

// What decides where the request ends, and who it is for. Beast ignores a Transfer-Encoding it does not know; taking
// the body for the next request would let a client hide one request in another.
std::optional<HttpResponse> check_framing(const Head& head) {
  const bool http_1_0 = head.version() == 10;
  const std::size_t hosts = head.count(http::field::host);
  if (hosts > 1 || (hosts == 0 && !http_1_0)) return problem(400, "HTTP/1.1 needs exactly one Host header");
  for (const http::field once : {http::field::content_length, http::field::content_encoding, http::field::expect}) {
    if (head.count(once) > 1) return problem(400, fmt::format("more than one {} header", as_view(to_string(once))));
  }
  const std::string_view length = as_view(head[http::field::content_length]);
  if (!std::all_of(length.begin(), length.end(), is_digit)) return problem(400, "Content-Length is not a number");
  const auto encodings = head.count(http::field::transfer_encoding);
  if (encodings > 0) {
    if (http_1_0) return problem(400, "HTTP/1.0 has no Transfer-Encoding");
    if (encodings > 1 || !equals_ignoring_case(as_view(head[http::field::transfer_encoding]), "chunked"))
      return problem(501, "the only supported Transfer-Encoding is chunked");
  }
  const std::string_view coding = as_view(head[http::field::content_encoding]);
  if (!coding.empty() && !equals_ignoring_case(coding, "identity"))
    return problem(415, "Content-Encoding is not supported: send the body uncompressed");
  const std::string_view expect = as_view(head[http::field::expect]);
  if (!http_1_0 && !expect.empty() && !equals_ignoring_case(expect, "100-continue"))
    return problem(417, "the only supported Expect is 100-continue");
  return std::nullopt;
}

// RFC 9110 section 7.2: a name, an IPv4 address, or an IPv6 address in brackets, and perhaps a port.
bool is_valid_host(std::string_view host) {
  const std::size_t bracket = host.starts_with('[') ? host.find(']') : 0;
  if (bracket == std::string_view::npos) return false;
  const std::size_t colon = std::min(host.find(':', bracket), host.size());
  const std::string_view name = host.substr(0, colon);
  const std::string_view port = host.substr(std::min(colon + 1, host.size()));
  if (name.empty() || port.size() > 5 || !std::all_of(port.begin(), port.end(), is_digit)) return false;
  if (colon + 1 == host.size()) return false;
  if (bracket > 0) return bracket + 1 == name.size() && parse_ipv6(name.substr(1, bracket - 1)).ok();
  return std::all_of(name.begin(), name.end(),
                     [](char c) { return is_letter_or_digit(c) || c == '-' || c == '.' || c == '_'; });
}

std::optional<HttpResponse> read_host(const Head& head, std::string& out) {
  if (std::optional<HttpResponse> wrong = read_single(head, "Host", out)) return wrong;
  if (head.count(http::field::host) > 0 && !is_valid_host(out)) return problem(400, "the Host header is not a host");
  return std::nullopt;
}

// RFC 6265 allows one header; some clients send several, which mean the same as one.
std::optional<HttpResponse> read_cookie(const Head& head, std::string& out) {
  const auto range = head.equal_range(http::field::cookie);
  for (auto at = range.first; at != range.second; ++at) {
    if (!out.empty()) out += "; ";
    out += as_view(at->value());
  }
  if (!is_valid_text(out)) return problem(400, "Cookie has a control character or invalid UTF-8");
  return std::nullopt;
}

// Goes to logs and answers, so it is taken only if it is short and plain; otherwise the server makes one.
std::string choose_request_id(std::string_view sent) {
  constexpr std::size_t kMaxSize = 64;
  const bool fine = sent.size() <= kMaxSize && std::all_of(sent.begin(), sent.end(), [](char c) {
                      return is_letter_or_digit(c) || c == '.' || c == '_' || c == '-';
                    });
  return std::string(fine ? sent : std::string_view());
}

std::optional<HttpResponse> read_last_event_id(const Head& head, std::optional<std::uint64_t>& out) {
  std::string text;
  if (std::optional<HttpResponse> wrong = read_single(head, "Last-Event-ID", text)) return wrong;
  if (text.empty()) return std::nullopt;
  std::uint64_t id = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (error != std::errc() || end != text.data() + text.size())
    return problem(400, fmt::format("Last-Event-ID {} is not a number", in_backticks(text)));
  out = id;
  return std::nullopt;
}

// RFC 9112 section 3.2.2. Clients send it to proxies, and proxies may pass it on.
struct AbsoluteForm {
  std::string scheme;
  std::string host;
  std::string target;  // path and query
};
std::optional<AbsoluteForm> read_absolute_form(std::string_view target) {
  for (const std::string_view scheme : {"https", "http"}) {
    const std::string prefix = std::string(scheme) + "://";
    if (!equals_ignoring_case(target.substr(0, prefix.size()), prefix)) continue;
    const std::string_view rest = target.substr(prefix.size());
    const std::size_t end = std::min(rest.find_first_of("/?#"), rest.size());
    AbsoluteForm form{std::string(scheme), std::string(rest.substr(0, end)), std::string(rest.substr(end))};
    if (!form.target.starts_with('/')) form.target.insert(0, "/");
    return form;
  }
  return std::nullopt;
}

// Everything but the body.
std::optional<HttpResponse> convert_head(const Head& head, HttpRequest& request) {
  request.method = as_view(head.method_string());
  std::string_view target = as_view(head.target());
  const std::optional<AbsoluteForm> absolute = request.method == "CONNECT" ? std::nullopt : read_absolute_form(target);
  if (absolute) {
    if (!is_valid_host(absolute->host)) return problem(400, "the request target has no valid host");
    target = absolute->target;
  }
  if (request.method == "OPTIONS" && target == "*") {
    request.path = target;
  } else {
    Result<Target> parsed = parse_target(target);
    if (!parsed.ok()) return problem(400, parsed.error().text());
    request.path = std::move(parsed->path);
    request.query = std::move(parsed->query);
  }
  if (request.method == "HEAD") request.method = "GET";
  if (std::optional<HttpResponse> wrong = check_framing(head)) return wrong;
  if (std::optional<HttpResponse> wrong = read_host(head, request.host)) return wrong;
  if (absolute) {  // the header is valid, and is not used
    request.host = absolute->host;
    request.scheme = absolute->scheme;
  }
  if (std::optional<HttpResponse> wrong = read_cookie(head, request.cookie)) return wrong;
  struct Single {
    std::string_view name;
    std::string& out;
  };
  const Single singles[] = {{"Content-Type", request.content_type},
                            {"Idempotency-Key", request.idempotency_key},
                            {"Accept", request.accept},
                            {"Authorization", request.authorization},
                            {"Origin", request.origin},
                            {"Sec-Fetch-Site", request.fetch_site},
                            {"X-CSRF-Token", request.csrf_token},
                            {"If-Match", request.if_match},
                            {"If-None-Match", request.if_none_match},
                            {"X-Request-Id", request.request_id}};
  for (const Single& single : singles) {
    if (std::optional<HttpResponse> wrong = read_single(head, single.name, single.out)) return wrong;
  }
  if (std::optional<HttpResponse> wrong = check_empty(head)) return wrong;
  request.request_id = choose_request_id(request.request_id);
  return read_last_event_id(head, request.last_event_id);
}

HttpResponse to_rejection(const boost::beast::error_code& error, const RequestLimits& limits) {
  if (error == http::error::header_limit)
    return problem(431, fmt::format("the headers have more than {} bytes", limits.header_bytes));
  if (error == http::error::body_limit)
    return problem(413, fmt::format("the body has more than {} bytes", limits.body_bytes));
  if (error == http::error::bad_version) return problem(505, "the protocol must be HTTP/1.1 or HTTP/1.0");
  return problem(400, "invalid HTTP request: " + error.message());
}

}  // namespace

struct RequestReader::Parser {
  http::request_parser<http::string_body> beast;
};

RequestReader::RequestReader(const RequestLimits& limits) : limits_(limits) {}
RequestReader::RequestReader(RequestReader&&) noexcept = default;
RequestReader& RequestReader::operator=(RequestReader&&) noexcept = default;
RequestReader::~RequestReader() = default;

RequestReader::State RequestReader::feed(std::string_view bytes) {
  if (state_ == State::expects_continue) state_ = State::more;
  if (state_ != State::more) {
    buffer_ += bytes;
  } else if (buffer_.empty()) {  // bodies are not copied twice
    buffer_ = bytes.substr(parse(bytes));
  } else {
    buffer_ += bytes;
    buffer_.erase(0, parse(buffer_));
  }
  return state_;
}

RequestReader::State RequestReader::next() {
  CHECK(state_ == State::complete, "next() follows a complete request");
  parser_.reset();
  request_ = {};
  framing_ = {};
  consumed_ = 0;
  scanner_ = {};
  state_ = State::more;
  started_ = false;
  expects_continue_ = false;
  std::string rest = std::exchange(buffer_, {});
  return feed(rest);
}

// Returns how many bytes were parsed; sets state_.
std::size_t RequestReader::parse(std::string_view bytes) {
  if (bytes.empty()) return 0;
  if (!parser_) {
    parser_ = std::make_unique<Parser>();
    parser_->beast.header_limit(static_cast<std::uint32_t>(limits_.header_bytes));
    parser_->beast.body_limit(limits_.body_bytes);
    started_ = true;
  }
  auto& beast = parser_->beast;
  std::size_t done = 0;
  while (state_ == State::more && done < bytes.size()) {
    const bool in_head = !beast.is_header_done();
    if (!scan(bytes.substr(done))) break;
    if (!in_head && beast.chunked() && bytes.size() - done < kLastChunk.size()) break;
    beast.eager(!in_head);  // stops after the head, which is judged before the body is read
    boost::beast::error_code error;
    const std::size_t count = beast.put({bytes.data() + done, bytes.size() - done}, error);
    done += count;
    consumed_ += count;
    const std::size_t left = bytes.size() - done;
    const bool starved = error == http::error::need_more;
    // Beast applies its header limit to what it has not parsed yet, so headers that come one by one would never end.
    const std::size_t unparsed = starved ? left : 0;
    if ((in_head ? consumed_ : 0) + unparsed > limits_.header_bytes) {
      reject(in_head ? to_rejection(http::error::header_limit, limits_) : problem(400, "a chunk header is too long"));
    } else if (error && !starved) {
      reject(to_rejection(error, limits_));
    } else if (in_head && beast.is_header_done()) {
      read_head();
    } else if (starved) {
      break;
    }
    if (state_ == State::more && beast.is_done() && ends_as_scanned()) state_ = State::complete;
  }
  if (state_ == State::complete) request_.body = std::move(beast.get().body());
  if (state_ == State::more && expects_continue_ && done == bytes.size()) state_ = State::expects_continue;
  expects_continue_ = false;
  return done;
}

// Judges what was not yet; `bytes` begin with the first one that Beast has not taken. What follows the head is judged
// when it is known whether it is a chunked body.
bool RequestReader::scan(std::string_view bytes) {
  if (scanner_.is_at_end()) return true;
  (void)scanner_.scan(bytes.substr(std::min(scanner_.count() - consumed_, bytes.size())));
  if (scanner_.problem().empty()) return true;
  // The head may be too long as well, which says more.
  if (!parser_->beast.is_header_done() && scanner_.count() >= limits_.header_bytes) return true;
  reject(problem(400, fmt::format("invalid HTTP request: {}", scanner_.problem())));
  return false;
}

// Whether Beast and the strict grammar agree on the end of a chunked body; rejects it otherwise. For the end of the
// head read_head() asks.
bool RequestReader::ends_as_scanned() {
  if (!parser_->beast.chunked() || (scanner_.is_at_end() && scanner_.count() == consumed_)) return true;
  reject(problem(400, "invalid HTTP request: its end is ambiguous"));
  return false;
}

void RequestReader::read_head() {
  if (!scanner_.is_at_end() || scanner_.count() != consumed_)
    return reject(problem(400, "invalid HTTP request: its end is ambiguous"));
  const auto& head = parser_->beast.get();
  framing_.head_only = head.method() == http::verb::head;
  framing_.http_1_0 = head.version() == 10;
  framing_.keep_alive = parser_->beast.keep_alive();
  if (std::optional<HttpResponse> wrong = convert_head(head, request_)) return reject(std::move(*wrong));
  expects_continue_ = !framing_.http_1_0 && head.count(http::field::expect) > 0;
  if (parser_->beast.chunked()) scanner_.begin_chunks();
}

void RequestReader::reject(HttpResponse response) {
  rejection_ = std::move(response);
  framing_.keep_alive = false;
  parser_.reset();
  state_ = State::invalid;
}

HttpRequest RequestReader::take_request() {
  CHECK(state_ == State::complete, "take_request() follows a complete request");
  parser_.reset();  // the connection may be a stream of events from now on, and keep nothing
  return std::exchange(request_, {});
}

std::size_t RequestReader::body_bytes() const { return parser_ ? parser_->beast.get().body().size() : 0; }

}  // namespace weft::serve
