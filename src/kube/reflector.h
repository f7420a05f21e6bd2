// Reflector: keeps an ObjectStore equal to a collection of the API server, by a list and then a watch from the list's
// version. Level triggered: after any gap it lists again, and the store changes only by complete lists and by watch
// events. While the server cannot be reached the store stays as it was, and last_contact() tells how old it is; an
// unreachable server is never an empty cluster.
//
// A watch ends in many ways, and each must lead to a new one: the server's own timeout, a broken connection, silence
// (a half-open connection looks idle), 410 as an HTTP status, 410 as an ERROR event in a 200 stream, and an expired
// version that the server answers by closing the stream at once.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/quantity.h"
#include "base/random.h"
#include "base/result.h"
#include "kube/client.h"
#include "kube/object_store.h"
#include "kube/pacing.h"
#include "kube/watch_decoder.h"

namespace weft::kube {

struct ReflectorOptions {
  Resource resource;
  Selection selection{};
  std::int64_t page_limit = 500;
  // The server ends the watch after a random time between these, so that not all clients come back at once.
  std::int64_t min_timeout_seconds = 300;
  std::int64_t max_timeout_seconds = 600;
  // Bookmarks come about every minute: a stream without a byte for this long is closed and opened again.
  Duration max_silence = milliseconds(150'000);
  // So many watches in a row that ended without an event or a bookmark lead to a list.
  int max_idle_watches = 3;
  std::size_t max_objects = 500'000;
  BackoffLimits backoff{};
};

class Reflector {
 public:
  // The client must outlive it.
  Reflector(Client& client, ReflectorOptions options);

  // Does the next step: one page of a list, or events of the watch, for which it waits up to `wait`. Appends what
  // changed in the store. Errors are not returned: it retries with back-off, and problem() has the last one. During a
  // back-off it returns at once; idle_for() is the time until the next step.
  void step(Duration wait, std::vector<ObjectChange>& changes);

  // A complete list has been read: the store is the collection as of last_contact().
  [[nodiscard]] bool synced() const { return synced_; }
  [[nodiscard]] const ObjectStore& store() const { return store_; }
  // When the server last proved that the store is current (a complete list, an event, a bookmark), by the client's
  // clock.
  [[nodiscard]] Duration last_contact() const { return last_contact_; }
  [[nodiscard]] const std::string& problem() const { return problem_; }  // "": none
  [[nodiscard]] std::uint64_t lists() const { return lists_; }           // complete ones
  [[nodiscard]] std::uint64_t watches() const { return watches_; }       // opened
  [[nodiscard]] bool is_watching() const { return stream_ != nullptr; }
  [[nodiscard]] Duration idle_for() const;

 private:
  enum class Phase : std::uint8_t { list, watch };

  void list_step(std::vector<ObjectChange>& changes);
  void finish_list(std::string resource_version, std::vector<ObjectChange>& changes);
  void restart_list();
  void open_watch();
  void read_watch(Duration wait, std::vector<ObjectChange>& changes);
  void read_refusal(int status);
  void take_events(std::vector<WatchEvent>& events, std::vector<ObjectChange>& changes);
  [[nodiscard]] bool take_event(const WatchEvent& event, std::vector<ObjectChange>& changes);
  void end_watch(std::string why);
  void end_watch_with(const ApiStatus& status);
  void note_progress();
  void retry_later(std::string why);

  Client& client_;
  ReflectorOptions options_;
  RandomStream random_;
  Backoff backoff_;
  ObjectStore store_;
  Phase phase_ = Phase::list;
  bool synced_ = false;
  Duration last_contact_{};
  Duration next_step_{};
  std::string problem_;
  std::uint64_t lists_ = 0;
  std::uint64_t watches_ = 0;

  PageRequest page_;
  std::vector<Value> items_;  // of the pages so far
  Duration list_began_{};     // the pages show one moment, that of the first
  int expired_pages_ = 0;

  std::unique_ptr<ResponseStream> stream_;
  WatchDecoder decoder_;
  std::string version_;  // last one seen
  Duration watch_end_{};
  Duration last_byte_{};
  bool progress_ = false;  // of this watch
  int idle_watches_ = 0;
};

}  // namespace weft::kube
