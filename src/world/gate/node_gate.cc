#include "world/gate/node_gate.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "base/file.h"
#include "base/file_descriptor.h"
#include "base/random.h"
#include "base/text.h"
#include "lease/gate.h"
#include "world/core/gate_refusal.h"

namespace weft::world {
namespace {

using lease::LeaseOwner;

constexpr std::string_view kHeader = "weft gate 1";
constexpr std::size_t kMaxEntries = 10'000;
constexpr std::size_t kMaxJobName = 200;

Error failure(const std::string& what) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): glibc's strerror is
  return {ErrorCode::unavailable, fmt::format("{}: {}", what, std::strerror(errno)), {}};
}

template <class Number>
bool read_number(std::string_view text, Number& value) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop == end && !text.empty();
}

LeaseOwner find_owner(std::string_view name) {
  for (int owner = 1; owner < lease::kLeaseOwners; ++owner) {
    if (lease::to_text(static_cast<LeaseOwner>(owner)) == name) return static_cast<LeaseOwner>(owner);
  }
  return LeaseOwner::none;
}

bool is_job_name(std::string_view job) {
  return !job.empty() && job.size() <= kMaxJobName &&
         std::all_of(job.begin(), job.end(), [](char c) { return c > ' ' && c < '\x7f'; });
}

void count_entries(GateFile& gate) {
  for (control::EngineGate& engine : gate.engines) engine.steps = 0;
  for (const GateEntry& entry : gate.entries) ++gate.engines[static_cast<std::size_t>(entry.engine)].steps;
}

// The rules of the protocol's gate, on the state of the file.
control::EngineGate obey_rules(const GateFile& gate, const control::LeaseOrder& order) {
  const control::EngineGate& before = gate.engines[static_cast<std::size_t>(order.engine)];
  lease::LeaseGate rules(order.engine, order.node, gate.boot);
  const auto tell = [&](lease::GateCommand::Kind kind, std::uint64_t boot, lease::LeaseEpoch epoch) {
    rules.receive({kind, order.engine, order.node, boot, epoch, 1});
  };
  tell(lease::GateCommand::Kind::close, gate.boot, before.floor);
  tell(lease::GateCommand::Kind::open, gate.boot, before.open);
  tell(order.kind == control::LeaseOrderKind::open ? lease::GateCommand::Kind::open : lease::GateCommand::Kind::close,
       order.boot, order.epoch);
  return {rules.status().open[0], rules.status().floor[0], before.steps};
}

std::string why_refused(const GateFile& gate, const control::LeaseOrder& order) {
  const control::EngineGate& engine = gate.engines[static_cast<std::size_t>(order.engine)];
  if (order.kind == control::LeaseOrderKind::cordon) return "a gate is opened or closed";
  if (order.engine == LeaseOwner::none || order.epoch == 0) return "an order names an engine and an epoch";
  if (order.term < gate.term)
    return fmt::format("it is of term {}, but the gate has obeyed term {}", order.term, gate.term);
  if (order.boot != gate.boot) return fmt::format("it is for boot {:x}, but this gate is {:x}", order.boot, gate.boot);
  if (order.kind != control::LeaseOrderKind::open) return {};
  if (order.epoch <= engine.floor) return fmt::format("epochs up to {} are closed", engine.floor);
  for (int other = 1; other < lease::kLeaseOwners; ++other) {
    const control::EngineGate& each = gate.engines[static_cast<std::size_t>(other)];
    if (static_cast<LeaseOwner>(other) != order.engine && each.open != 0) {
      return fmt::format("the gate of {} is open under epoch {}", lease::to_text(static_cast<LeaseOwner>(other)),
                         each.open);
    }
  }
  return {};
}

}  // namespace

Result<std::string> read_kernel_boot_id() {
  const Result<std::string> text = read_file("/proc/sys/kernel/random/boot_id");
  if (!text.ok()) return text.error();
  return std::string(trim(*text));
}

std::string to_text(const GateFile& gate, const std::string& boot_id) {
  std::string out = fmt::format("{}\nkernel {}\nboot {}\nterm {}\n", kHeader, boot_id, gate.boot, gate.term);
  for (int owner = 1; owner < lease::kLeaseOwners; ++owner) {
    const control::EngineGate& engine = gate.engines[static_cast<std::size_t>(owner)];
    append_format(out, "engine {} {} {}\n", lease::to_text(static_cast<LeaseOwner>(owner)), engine.open, engine.floor);
  }
  for (const GateEntry& entry : gate.entries)
    append_format(out, "entry {} {}\n", lease::to_text(entry.engine), entry.job);
  return out + "end\n";
}

Result<GateFile> parse_gate(std::string_view text, const std::string& boot_id) {
  GateFile gate;
  std::size_t number = 0;
  bool ended = false;
  bool other_boot = false;
  for (const std::string_view line : split_lines(text)) {
    ++number;
    const std::vector<std::string_view> words = split_at_spaces(line);
    const std::string_view key = words.empty() ? std::string_view() : words.front();
    bool valid = !ended;
    if (number == 1) {
      valid = line == kHeader;
    } else if (key == "kernel" && words.size() == 2) {
      other_boot = words[1] != boot_id;
    } else if (key == "boot" && words.size() == 2) {
      valid = read_number(words[1], gate.boot) && gate.boot != 0;
    } else if (key == "term" && words.size() == 2) {
      valid = read_number(words[1], gate.term);
    } else if (key == "engine" && words.size() == 4) {
      const LeaseOwner owner = find_owner(words[1]);
      control::EngineGate& engine = gate.engines[static_cast<std::size_t>(owner)];
      valid = owner != LeaseOwner::none && read_number(words[2], engine.open) && read_number(words[3], engine.floor) &&
              (engine.open == 0 || engine.open > engine.floor);
    } else if (key == "entry" && words.size() == 3) {
      const LeaseOwner owner = find_owner(words[1]);
      valid = owner != LeaseOwner::none && is_job_name(words[2]) && gate.entries.size() < kMaxEntries;
      gate.entries.push_back({owner, std::string(words[2])});
    } else {
      valid = line == "end" && !ended;
      ended = true;
    }
    if (!valid) return Error{ErrorCode::invalid_input, fmt::format("line {} is not valid: {}", number, line), {}};
  }
  if (!ended || gate.boot == 0) return Error{ErrorCode::invalid_input, "it is not complete", {}};
  if (other_boot) return Error{ErrorCode::not_found, "it is of an earlier boot", {}};
  std::sort(gate.entries.begin(), gate.entries.end());
  count_entries(gate);
  return gate;
}

// One change at a time. A file that is missing, damaged or of an earlier boot is replaced by a closed gate with a new
// number: no order for the one before is obeyed.
template <class Change>
Result<GateFile> NodeGate::change(const Change& change) {
  if (::mkdir(options_.directory.c_str(), 0755) != 0 && errno != EEXIST)
    return failure("cannot create " + options_.directory);
  const std::string lock_path = options_.directory + "/lock";
  const FileDescriptor lock(::open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (lock.get() < 0) return failure("cannot open " + lock_path);
  while (::flock(lock.get(), LOCK_EX) != 0) {
    if (errno != EINTR) return failure("cannot lock " + lock_path);
  }
  const Result<std::string> text = read_file(path(), 4U << 20U);
  if (!text.ok() && text.error().code != ErrorCode::not_found) return text.error();
  Result<GateFile> gate = text.ok() ? parse_gate(*text, options_.boot_id) : Result<GateFile>(text.error());
  if (!gate.ok()) {
    GateFile fresh;
    fresh.boot = hash64(fmt::format("{} {}", options_.boot_id, options_.draw()));
    if (fresh.boot == 0) fresh.boot = 1;
    gate = fresh;
  }
  const std::string before = text.ok() ? *text : std::string();
  if (Status changed = change(*gate); !changed.ok()) return changed.error();
  std::sort(gate->entries.begin(), gate->entries.end());
  count_entries(*gate);
  const std::string after = to_text(*gate, options_.boot_id);
  if (after != before) {
    if (Status written = write_file(path(), after); !written.ok()) return written.error();
  }
  return gate;
}

Result<GateFile> NodeGate::read(control::Term term) {
  return change([&](GateFile& gate) -> Status {
    gate.term = std::max(gate.term, term);
    return {};
  });
}

Result<GateFile> NodeGate::obey(const control::LeaseOrder& order) {
  return change([&](GateFile& gate) -> Status {
    if (const std::string why = why_refused(gate, order); !why.empty()) {
      return Error{ErrorCode::refused, fmt::format("the gate refuses the order: {}", why), {}};
    }
    gate.term = std::max(gate.term, order.term);
    gate.engines[static_cast<std::size_t>(order.engine)] = obey_rules(gate, order);
    return {};
  });
}

Status NodeGate::enter(LeaseOwner engine, const std::string& job) {
  if (!job.empty() && !is_job_name(job))
    return Error{ErrorCode::invalid_input, fmt::format("`{}` is not the name of a job", job), {}};
  const Result<GateFile> changed = change([&](GateFile& gate) -> Status {
    if (gate.engines[static_cast<std::size_t>(engine)].open == 0) {
      std::string owner = "no engine";
      for (int other = 1; other < lease::kLeaseOwners; ++other) {
        if (gate.engines[static_cast<std::size_t>(other)].open == 0) continue;
        owner = std::string(lease::to_text(static_cast<LeaseOwner>(other)));
      }
      return Error{ErrorCode::refused,
                   fmt::format("{}{}: its gate is open for {}", kNotLeased, lease::to_text(engine), owner),
                   {}};
    }
    const GateEntry entry{engine, job};
    const bool known = std::find(gate.entries.begin(), gate.entries.end(), entry) != gate.entries.end();
    if (job.empty() || known) return {};
    if (gate.entries.size() >= kMaxEntries) return Error{ErrorCode::refused, "too many jobs have not left", {}};
    gate.entries.push_back(entry);
    return {};
  });
  return changed.ok() ? Status() : Status(changed.error());
}

Status NodeGate::leave(LeaseOwner engine, const std::string& job) {
  const Result<GateFile> changed = change([&](GateFile& gate) -> Status {
    std::erase(gate.entries, GateEntry{engine, job});
    return {};
  });
  return changed.ok() ? Status() : Status(changed.error());
}

}  // namespace weft::world
