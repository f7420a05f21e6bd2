#include "kube/reflector.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "oob/redfish/json.h"

namespace weft::kube {
namespace {

// Beyond the server's own timeout the connection is taken for dead.
constexpr Duration kTimeoutSlack = milliseconds(15'000);
constexpr std::size_t kMaxRefusalBytes = std::size_t{1} << 20U;

}  // namespace

Reflector::Reflector(Client& client, ReflectorOptions options)
    : client_(client),
      options_(std::move(options)),
      random_(client.split_random(std::string("reflector ") + std::string(options_.resource.plural))),
      backoff_(options_.backoff, random_.split("backoff")) {
  page_.limit = options_.page_limit;
}

Duration Reflector::idle_for() const {
  const Duration now = client_.clock().now();
  return std::max(next_step_ - now, Duration(0));
}

void Reflector::step(Duration wait, std::vector<ObjectChange>& changes) {
  if (idle_for().count() > 0) return;
  if (phase_ == Phase::list) {
    list_step(changes);
  } else if (stream_ == nullptr) {
    open_watch();
  } else {
    read_watch(wait, changes);
  }
}

void Reflector::retry_later(std::string why) {
  problem_ = std::move(why);
  next_step_ = client_.clock().now() + backoff_.next();
}

void Reflector::restart_list() {
  phase_ = Phase::list;
  stream_.reset();
  items_.clear();
  page_ = PageRequest{options_.page_limit, {}};
  expired_pages_ = 0;
  idle_watches_ = 0;
}

void Reflector::list_step(std::vector<ObjectChange>& changes) {
  if (page_.continue_token.empty()) list_began_ = client_.clock().now();
  Result<PageOutcome> outcome = client_.list_page(options_.resource, options_.selection, page_);
  if (!outcome.ok()) {
    // A page that failed is asked for again: its continue token is still the same consistent list.
    return retry_later(outcome.error().text());
  }
  if (outcome->expired) {
    ++expired_pages_;
    items_.clear();
    page_ = PageRequest{expired_pages_ >= 2 ? 0 : options_.page_limit, {}};
    return retry_later("the list expired before its last page");
  }
  ObjectPage& page = outcome->page;
  std::move(page.items.begin(), page.items.end(), std::back_inserter(items_));
  if (items_.size() > options_.max_objects) {
    restart_list();
    return retry_later(fmt::format("more than {} {}", options_.max_objects, options_.resource.plural));
  }
  if (!page.continue_token.empty()) {
    page_.continue_token = std::move(page.continue_token);
    return;
  }
  finish_list(std::move(page.resource_version), changes);
}

void Reflector::finish_list(std::string resource_version, std::vector<ObjectChange>& changes) {
  const Status stored = store_.replace_all(items_, changes);
  restart_list();
  if (!stored.ok()) return retry_later(stored.error().text());
  phase_ = Phase::watch;
  version_ = std::move(resource_version);
  synced_ = true;
  ++lists_;
  last_contact_ = list_began_;
  problem_.clear();
  backoff_.reset();
}

void Reflector::open_watch() {
  const std::int64_t timeout = random_.between(options_.min_timeout_seconds, options_.max_timeout_seconds);
  Result<std::unique_ptr<ResponseStream>> stream =
      client_.watch(options_.resource, options_.selection, {version_, timeout});
  if (!stream.ok()) return retry_later(stream.error().text());
  ++watches_;
  stream_ = std::move(stream).value();
  decoder_ = WatchDecoder();
  progress_ = false;
  last_byte_ = client_.clock().now();
  watch_end_ = last_byte_ + milliseconds(1000 * timeout) + kTimeoutSlack;
  if (stream_->status() != 200) read_refusal(stream_->status());
}

// The body of a refused watch, with the same limits as any response.
void Reflector::read_refusal(int status) {
  ApiResponse response;
  response.status = status;
  const Duration deadline = client_.clock().now() + milliseconds(10'000);
  while (response.body.size() < kMaxRefusalBytes && client_.clock().now() < deadline) {
    Result<StreamBytes> read = stream_->read(milliseconds(1'000));
    if (!read.ok()) break;
    response.body += read->bytes;
    if (read->state == StreamState::closed) break;
  }
  end_watch_with(read_status(response));
}

void Reflector::read_watch(Duration wait, std::vector<ObjectChange>& changes) {
  Result<StreamBytes> read = stream_->read(wait);
  if (!read.ok()) return end_watch(read.error().text());
  const Duration now = client_.clock().now();
  if (!read->bytes.empty()) {
    last_byte_ = now;
    std::vector<WatchEvent> events;
    const Status decoded = decoder_.feed(read->bytes, events);
    take_events(events, changes);
    if (stream_ == nullptr) return;  // an event ended it
    if (!decoded.ok()) {
      restart_list();
      return retry_later(decoded.error().text());
    }
  }
  if (read->state == StreamState::closed) return end_watch("");
  // Not a problem yet: API servers send no bookmarks of a kind that has not changed since they started. If the
  // connection is broken, the next watch says so.
  if (now - last_byte_ > options_.max_silence) return end_watch("");
  if (now > watch_end_) return end_watch("the server did not end the watch in time");
}

void Reflector::take_events(std::vector<WatchEvent>& events, std::vector<ObjectChange>& changes) {
  for (const WatchEvent& event : events) {
    if (!take_event(event, changes)) return;
  }
}

bool Reflector::take_event(const WatchEvent& event, std::vector<ObjectChange>& changes) {
  if (event.kind == WatchEventKind::error) {
    end_watch_with(read_status(event.object));
    return false;
  }
  std::string version = oob::raw_text(event.object, {"metadata", "resourceVersion"});
  Status stored;
  if (event.kind == WatchEventKind::deleted) {
    stored = store_.remove(event.object, changes);
  } else if (event.kind != WatchEventKind::bookmark) {
    stored = store_.put(event.object, changes);
  }
  if (!stored.ok() || version.empty()) {
    // An event that cannot be read may hide a change: only a list tells.
    restart_list();
    retry_later(stored.ok() ? "watch event without resourceVersion" : stored.error().text());
    return false;
  }
  version_ = std::move(version);
  note_progress();
  return true;
}

void Reflector::note_progress() {
  progress_ = true;
  idle_watches_ = 0;
  last_contact_ = client_.clock().now();
  problem_.clear();
  backoff_.reset();
}

void Reflector::end_watch_with(const ApiStatus& status) {
  const ApiCall call{"watch", options_.resource, {options_.selection.kube_namespace, {}}};
  const std::string why = to_error(call, status).text();
  if (!is_expired(status)) return end_watch(why);
  // A list at once, but a server that expires every version must not be asked in a tight loop.
  const bool progress = progress_;
  restart_list();
  if (progress) {
    problem_ = why;
  } else {
    retry_later(why);
  }
}

void Reflector::end_watch(std::string why) {
  stream_.reset();
  if (!why.empty()) problem_ = why;
  if (progress_) return;  // the next watch continues from version_
  if (++idle_watches_ >= options_.max_idle_watches) {
    restart_list();  // versions may have expired without a word
  }
  if (why.empty()) why = problem_;
  retry_later(std::move(why));
}

}  // namespace weft::kube
