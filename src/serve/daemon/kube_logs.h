// Output of tasks that run as containers, read through the API server, which asks the kubelet of the node. Kubernetes
// keeps the output of a container as long as its pod exists. Requests are made by a thread of their own and answered by
// deliver(), on the thread that asked.
//
// A position in a log is the time of its last line, in nanoseconds, and the number of lines with that time that were
// read: kubelets know no other.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "serve/api/log_source.h"
#include "serve/daemon/kube_connection.h"

namespace weft::serve {

// Lines with times, as kubelets write them with `timestamps=true`, from a position on: at most `limit` bytes, the last
// ones without a position and the first ones with one. A line without a time belongs to the line before.
[[nodiscard]] LogPiece take_log_lines(std::string_view text, const std::optional<LogPosition>& after,
                                      std::size_t limit);
// What the client is asked for: nothing before the position's second.
[[nodiscard]] std::string since_text(const LogPosition& position);

// The log of one task. Blocks.
[[nodiscard]] Result<LogPiece> read_pod_log(kube::Client& client, const std::string& engine,
                                            const std::string& kube_namespace, const LogRequest& request);

class KubeLogs {
 public:
  KubeLogs(const kube::ClusterAccess& access, std::string engine, std::string kube_namespace);
  KubeLogs(const KubeLogs&) = delete;
  KubeLogs& operator=(const KubeLogs&) = delete;
  KubeLogs(KubeLogs&&) = delete;
  KubeLogs& operator=(KubeLogs&&) = delete;
  ~KubeLogs();

  using Answer = std::function<void(Result<LogPiece>)>;
  void read(const LogRequest& request, Answer answer);
  // Calls the answers that are there.
  void deliver();

 private:
  void work();

  std::unique_ptr<KubeConnection> connection_;
  std::string engine_;
  std::string kube_namespace_;
  std::mutex mutex_;  // for what follows
  std::condition_variable changed_;
  std::deque<std::pair<LogRequest, Answer>> asked_;
  std::vector<std::pair<Result<LogPiece>, Answer>> answered_;
  bool stopping_ = false;
  std::thread thread_;  // last: it uses the others
};

}  // namespace weft::serve
