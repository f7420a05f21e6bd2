#include "world/slurm/rest_client.h"

#include <fmt/format.h>

#include "base/file.h"
#include "base/text.h"
#include "lazy/curl.h"
#include "world/slurm/slurm_observed.h"

namespace weft::world {
namespace {

constexpr std::size_t kMaxAnswer = std::size_t{512} << 20U;
constexpr std::int64_t kTokenSeconds = 3600;
constexpr long kHttpOk = 200;

struct Answer {
  std::string body;
  bool too_large = false;
};

// NOLINTNEXTLINE(readability-identifier-length): the signature is libcurl's
std::size_t append_body(char* data, std::size_t size, std::size_t count, void* to) {
  auto& answer = *static_cast<Answer*>(to);
  answer.too_large = answer.body.size() + size * count > kMaxAnswer;
  if (answer.too_large) return 0;
  answer.body.append(data, size * count);
  return size * count;
}

int check_stopped(void* stopped, curl_off_t /*total*/, curl_off_t /*now*/, curl_off_t /*up*/, curl_off_t /*sent*/) {
  return static_cast<const std::atomic<bool>*>(stopped)->load() ? 1 : 0;
}

struct FreeHandle {
  void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
};
struct FreeList {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

Error failure(std::string message, const std::string& where) {
  return {ErrorCode::unavailable, std::move(message), where};
}

}  // namespace

RestClient::RestClient(RestOptions options, std::shared_ptr<CliClient> commands)
    : options_(std::move(options)), commands_(std::move(commands)) {
  load_curl();
}

void RestClient::stop() {
  stopped_ = true;
  commands_->stop();
}

Result<std::string> RestClient::token() {
  if (!options_.token_file.empty()) {  // read each time: it is replaced when it is renewed
    const Result<std::string> text = read_file(options_.token_file, 1U << 16U);
    if (!text.ok()) return text.error();
    return std::string(trim(*text));
  }
  if (!token_.empty() && Clock::now() < token_until_) return token_;
  Result<std::string> made = commands_->make_token(kTokenSeconds);
  if (!made.ok()) return made.error();
  token_ = *made;
  token_until_ = Clock::now() + std::chrono::seconds(kTokenSeconds / 2);
  return token_;
}

Result<std::string> RestClient::get(const std::string& path) {
  const Result<std::string> jwt = token();
  if (!jwt.ok()) return jwt.error();
  const std::unique_ptr<CURL, FreeHandle> handle(curl_easy_init());
  if (handle == nullptr) return failure("out of memory", options_.address);
  const bool is_unix = options_.address.starts_with("unix:");
  std::string url = contains(options_.address, "://") ? options_.address : "http://" + options_.address;
  if (is_unix) url = "http://localhost";
  url += "/slurm/v0.0.38/" + path;
  Answer answer;
  std::unique_ptr<curl_slist, FreeList> headers;
  for (const std::string& header : {"X-SLURM-USER-NAME: " + options_.user, "X-SLURM-USER-TOKEN: " + *jwt}) {
    curl_slist* longer = curl_slist_append(headers.get(), header.c_str());
    if (longer == nullptr) return failure("out of memory", options_.address);
    (void)headers.release();  // the list that was appended to is part of the longer one
    headers.reset(longer);
  }
  // NOLINTBEGIN(cppcoreguidelines-pro-type-vararg): libcurl
  const auto set = [&](CURLoption option, auto value) { (void)curl_easy_setopt(handle.get(), option, value); };
  set(CURLOPT_URL, url.c_str());
  if (is_unix) set(CURLOPT_UNIX_SOCKET_PATH, options_.address.c_str() + 5);
  set(CURLOPT_HTTPHEADER, headers.get());
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_PROXY, "");
  set(CURLOPT_TIMEOUT_MS, static_cast<long>(options_.deadline.count() / 1'000'000));
  set(CURLOPT_WRITEFUNCTION, &append_body);
  set(CURLOPT_WRITEDATA, static_cast<void*>(&answer));
  set(CURLOPT_NOPROGRESS, 0L);
  set(CURLOPT_XFERINFOFUNCTION, &check_stopped);
  set(CURLOPT_XFERINFODATA, static_cast<void*>(&stopped_));
  const CURLcode code = curl_easy_perform(handle.get());
  long status = 0;
  (void)curl_easy_getinfo(handle.get(), CURLINFO_RESPONSE_CODE, &status);
  // NOLINTEND(cppcoreguidelines-pro-type-vararg)
  if (answer.too_large) return failure("the answer is too large", options_.address);
  if (code != CURLE_OK) return failure(curl_easy_strerror(code), options_.address);
  if (status == kHttpOk) return std::move(answer.body);
  token_.clear();  // 401, or 500 for one that slurmctld does not accept
  return failure(fmt::format("HTTP status {}", status), options_.address);
}

void RestClient::note_outcome(const Status& outcome) {
  const bool first = !std::exchange(tried_, true);
  if (outcome.ok() && (!works_ || first))
    notes_.emplace_back(first ? "slurmrestd answers" : "slurmrestd answers again");
  if (!outcome.ok() && (works_ || first))
    notes_.push_back(fmt::format("slurmrestd: {}; using Slurm's commands until it answers", outcome.error().text()));
  works_ = outcome.ok();
  if (!works_) retry_at_ = Clock::now() + std::chrono::nanoseconds(options_.retry.count());
}

template <class List, class Parse, class Command>
Result<std::vector<List>> RestClient::list(const std::string& path, const Parse& parse, const Command& command) {
  if (!is_due()) return command();
  const Result<std::string> body = get(path);
  Result<std::vector<List>> parsed = body.ok() ? parse(*body) : Result<std::vector<List>>(body.error());
  note_outcome(parsed.ok() ? Status() : Status(parsed.error()));
  if (parsed.ok() || stopped_) return parsed;
  return command();
}

Result<std::vector<SlurmJob>> RestClient::list_jobs(const std::string& comment) {
  return list<SlurmJob>(
      "jobs", [&](const std::string& body) { return parse_slurm_jobs(body, comment); },
      [&] { return commands_->list_jobs(comment); });
}

Result<std::vector<ObservedJob>> RestClient::list_observed_jobs() {
  return list<ObservedJob>(
      "jobs", [](const std::string& body) { return parse_observed_jobs(body); },
      [&] { return commands_->list_observed_jobs(); });
}

Result<std::vector<SlurmNode>> RestClient::list_nodes() {
  return list<SlurmNode>(
      "nodes", [](const std::string& body) { return parse_slurm_nodes(body); },
      [&] { return commands_->list_nodes(); });
}

}  // namespace weft::world
