// The holder of a console session: reads it, writes the log, and sends output to all clients attached to its socket.
// One client at a time has the write lock; another may take it over, and all are notified. A slow client loses output
// but never blocks the console. On exit the hub sends a goodbye, and one of the remaining clients takes over
// (console/client.h).
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <string_view>

#include "oob/console/log.h"
#include "oob/console/session.h"

namespace weft::oob {

class ConsoleHub {
 public:
  // Locks the log (and thereby the console), opens the session and the socket. `conflict` if another process is the
  // holder; otherwise the error of what could not be opened.
  [[nodiscard]] static Result<std::unique_ptr<ConsoleHub>> open(Fleet& fleet, std::uint32_t target,
                                                                const std::string& folder, const std::string& who,
                                                                const std::string& why,
                                                                const ConsoleLogOptions& options = {});
  ConsoleHub(const ConsoleHub&) = delete;
  ConsoleHub& operator=(const ConsoleHub&) = delete;
  ~ConsoleHub();

  // Serves until `leave` is set or the clock is stopped.
  void run(const std::atomic<bool>& leave);

 private:
  struct Guest {
    int descriptor = -1;
    std::string who{};
    std::size_t replay = 0;
    bool greeted = false;
    bool may_write = false;
    bool told = false;  // that another client has the write lock
    bool gone = false;
    std::string in{};
    std::string out{};
    std::uint64_t lost = 0;  // bytes dropped because it read too slowly
  };

  ConsoleHub(Fleet& fleet, std::uint32_t target, std::string folder);
  void accept_guests();
  void serve(Guest& guest);
  void hear(Guest& guest, const std::string& type_and_bytes);
  void greet(Guest& guest, const std::string& words);
  void type(Guest& guest, const std::string& bytes);
  void give_pen(Guest* guest);
  void send(Guest& guest, std::string_view bytes, bool may_be_lost);
  void show(std::string_view bytes);
  void tell(const std::string& text);
  void remove_gone();

  Fleet& fleet_;
  std::string device_;
  std::string folder_;
  std::unique_ptr<ConsoleLog> log_;
  ConsoleSession session_;
  int listener_ = -1;
  std::list<Guest> guests_;
  Guest* writer_ = nullptr;
};

}  // namespace weft::oob
