#include "serve/http/request_reader.h"

#include <fmt/format.h>

#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <charconv>
#include <optional>

#include "base/check.h"
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
  if (head.count(key) > 1) return problem(400, fmt::format("more than one {} header", name));
  out = as_view(head[key]);
  if (!is_valid_text(out)) return problem(400, fmt::format("{} has a control character or invalid UTF-8", name));
  return std::nullopt;
}

// What decides where the request ends, and who it is for. Beast ignores a Transfer-Encoding it does not know; taking
// the body for the next request would let a client hide one request in another.
std::optional<HttpResponse> check_framing(const Head& head) {
  const bool http_1_0 = head.version() == 10;
  if (!http_1_0 && head.count(http::field::host) != 1) return problem(400, "HTTP/1.1 needs exactly one Host header");
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

// Everything but the body.
std::optional<HttpResponse> convert_head(const Head& head, HttpRequest& request) {
  request.method = as_view(head.method_string());
  const std::string_view target = as_view(head.target());
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
  if (std::optional<HttpResponse> wrong = read_single(head, "Content-Type", request.content_type)) return wrong;
  if (std::optional<HttpResponse> wrong = read_single(head, "Idempotency-Key", request.idempotency_key)) return wrong;
  if (std::optional<HttpResponse> wrong = read_single(head, "Accept", request.accept)) return wrong;
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
  header_bytes_ = 0;
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
    if (!in_head && beast.chunked() && bytes.size() - done < kLastChunk.size()) break;
    beast.eager(!in_head);  // stops after the head, which is judged before the body is read
    boost::beast::error_code error;
    const std::size_t count = beast.put({bytes.data() + done, bytes.size() - done}, error);
    done += count;
    const std::size_t left = bytes.size() - done;
    const bool starved = error == http::error::need_more;
    if (in_head) header_bytes_ += count;
    // Beast applies its header limit to what it has not parsed yet, so headers that come one by one would never end.
    const std::size_t unparsed = starved ? left : 0;
    if ((in_head ? header_bytes_ : 0) + unparsed > limits_.header_bytes) {
      reject(in_head ? to_rejection(http::error::header_limit, limits_) : problem(400, "a chunk header is too long"));
    } else if (error && !starved) {
      reject(to_rejection(error, limits_));
    } else if (in_head && beast.is_header_done()) {
      read_head();
    } else if (starved) {
      break;
    }
    if (state_ == State::more && beast.is_done()) state_ = State::complete;
  }
  if (state_ == State::complete) request_.body = std::move(beast.get().body());
  if (state_ == State::more && expects_continue_ && done == bytes.size()) state_ = State::expects_continue;
  expects_continue_ = false;
  return done;
}

void RequestReader::read_head() {
  const auto& head = parser_->beast.get();
  framing_.head_only = head.method() == http::verb::head;
  framing_.http_1_0 = head.version() == 10;
  framing_.keep_alive = parser_->beast.keep_alive();
  if (std::optional<HttpResponse> wrong = convert_head(head, request_)) return reject(std::move(*wrong));
  expects_continue_ = !framing_.http_1_0 && head.count(http::field::expect) > 0;
}

void RequestReader::reject(HttpResponse response) {
  rejection_ = std::move(response);
  framing_.keep_alive = false;
  parser_.reset();
  state_ = State::invalid;
}

HttpRequest RequestReader::take_request() {
  CHECK(state_ == State::complete, "take_request() follows a complete request");
  return std::move(request_);
}

std::size_t RequestReader::body_bytes() const { return parser_ ? parser_->beast.get().body().size() : 0; }

}  // namespace weft::serve
