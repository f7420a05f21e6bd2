// What disks, file systems and the clients of network file systems report.
#include "health/readers/kernel_message.h"
#include "health/readers/line_scan.h"

namespace weft::health {
namespace {

Signal make_storage_signal(std::string_view name, std::string_view part) {
  Signal signal;
  signal.name = name;
  signal.part = printable(part, kMaxKernelDetail);
  return signal;
}

// "nvme nvme0: controller is down; will reset: CSTS=0xffffffff, PCI_STATUS=0x10"
std::optional<Signal> read_nvme(std::string_view text) {
  const std::string_view disk = take_until(text, ": ");
  if (!disk.starts_with("nvme") || leading_word(disk, "") != disk) return std::nullopt;
  if (text.starts_with("controller is down; will reset") || contains(text, "state error detected, reset controller")) {
    Signal signal = make_storage_signal("disk:reset", disk);
    if (const auto csts = find_after(text, "CSTS=")) add_detail(signal, "csts", leading_word(*csts, ""));
    if (const auto status = find_after(text, "PCI_STATUS="))
      add_detail(signal, "pci_status", leading_word(*status, ""));
    return signal;
  }
  // "I/O 775 QID 2 timeout, aborting", "I/O tag 22 (2016) opcode 0x2 (Admin Cmd) QID 0 timeout, reset controller"
  if (const auto queue = find_after(text, " QID "); queue && text.starts_with("I/O ") && contains(*queue, " timeout")) {
    Signal signal = make_storage_signal("disk:timeout", disk);
    add_detail(signal, "queue", find_number(text, " QID "));
    if (const auto action = find_after(*queue, " timeout, ")) add_detail(signal, "action", leading_word(*action, "_ "));
    return signal;
  }
  if (text.starts_with("Disabling device after reset failure") || text.starts_with("Removing after probe failure")) {
    return make_storage_signal("disk:lost", disk);
  }
  return std::nullopt;
}

// Drives that a person puts media into: virtual machines log errors of empty ones at every boot.
bool is_removable(std::string_view disk) { return disk.starts_with("sr") || disk.starts_with("fd"); }

// "I/O error, dev nvme0n1, sector 32545872 op 0x0:(READ) flags ...", "critical medium error, dev sdx, sector ..."
std::optional<Signal> read_block_error(std::string_view text) {
  std::string_view error = take_until(text, ", dev ");
  if (const std::size_t colon = error.rfind(": "); colon != std::string_view::npos) error.remove_prefix(colon + 2);
  if (!error.ends_with("I/O error") && !error.ends_with("medium error") && !error.ends_with("target error")) {
    return std::nullopt;
  }
  const std::string_view disk = leading_word(text, "-_");
  if (disk.empty() || is_removable(disk)) return std::nullopt;
  Signal signal = make_storage_signal("disk:io_error", disk);
  if (error != "I/O error") add_detail(signal, "error", error);
  add_detail(signal, "sector", find_number(text, "sector "));
  if (auto operation = find_after(text, ":(")) add_detail(signal, "operation", to_lower(take_until(*operation, ")")));
  return signal;
}

// "Buffer I/O error on dev dm-0, logical block 1308098575, lost async page write"
std::optional<Signal> read_buffer_error(std::string_view text) {
  if (!take(text, "dev ") && !take(text, "device ")) return std::nullopt;
  const std::string_view disk = leading_word(text, "-_");
  if (disk.empty() || is_removable(disk)) return std::nullopt;
  Signal signal = make_storage_signal("disk:io_error", disk);
  add_detail(signal, "block", find_number(text, "logical block "));
  return signal;
}

// The device in "EXT4-fs error (device sda2): ...", "XFS (dm-4): ...", "BTRFS info (device dm-0: state E): ..."
std::string_view device_in_parentheses(std::string_view text) {
  auto inside = find_after(text, "(");
  if (!inside) return {};
  (void)take(*inside, "device ");
  return leading_word(*inside, "-_.");
}

std::optional<Signal> read_file_system(std::string_view message) {
  const std::string_view kind = leading_word(message, "-");
  const bool readonly = contains(message, "Remounting filesystem read-only") ||
                        contains(message, "Shutting down filesystem") || contains(message, ": forced readonly");
  const bool error =
      message.substr(kind.size()).starts_with(" error (device") ||
      contains(message, "): I/O error while writing superblock") || contains(message, "): metadata I/O error") ||
      contains(message, "): Metadata corruption detected") || contains(message, "): Metadata CRC error detected");
  if (!readonly && !error) return std::nullopt;
  Signal signal = make_storage_signal(readonly ? "fs:readonly" : "fs:error", device_in_parentheses(message));
  add_detail(signal, "type", to_lower(kind.substr(0, kind.find('-'))));
  return signal;
}

// "nfs: server 10.100.0.60 not responding, still trying", "nfs: server 10.100.0.60 OK"
std::optional<Signal> read_nfs(std::string_view text) {
  const std::string_view server = take_until(text, " ");
  if (text.starts_with("not responding")) {
    Signal signal = make_storage_signal("nfs:not_responding", server);
    if (contains(text, "timed out")) add_detail(signal, "timed_out", "1");
    return signal;
  }
  if (trim_end(text) == "OK") return make_storage_signal("nfs:ok", server);
  return std::nullopt;
}

// The target that a client's device is for: "fs1-MDT0000-mdc-ffff8810", "fs1-OST0001-osc-...", "MGC10.0.0.1@tcp".
std::string_view lustre_target(std::string_view device) {
  if (device.starts_with("MGC")) return "MGS";
  for (const std::string_view client : {"-mdc-", "-osc-"}) {
    const std::size_t at = device.find(client);
    if (at != std::string_view::npos) return device.substr(0, at);
  }
  return {};
}

// "fs1-MDT0000-mdc-ffff: Connection to fs1-MDT0000 (at 10.0.47.232@tcp) was lost; in progress operations ..."
std::optional<Signal> read_lustre(std::string_view text) {
  const std::size_t at = text.find(": Connection ");
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view before = text.substr(0, at);  // "166-1: MGC10.0.0.1@o2ib" before 2.10
  std::string_view rest = text.substr(at + std::string_view(": Connection ").size());
  const std::string_view device = before.substr(before.rfind(' ') + 1);
  std::string_view name = "lustre:connection_restored";
  std::string_view target = lustre_target(device);
  if (take(rest, "to ") && contains(rest, " was lost")) {
    name = "lustre:connection_lost";
    target = leading_word(rest, "-_.@");
  } else if (!rest.starts_with("restored to ") || target.empty()) {
    return std::nullopt;  // a server's: the other end is a client
  }
  Signal signal = make_storage_signal(name, target);
  if (auto server = find_after(rest, "(at ")) add_detail(signal, "server", take_until(*server, ")"));
  return signal;
}

}  // namespace

std::optional<Signal> read_storage_message(std::string_view message) {
  if (take(message, "nvme ")) return read_nvme(message);
  if (message.starts_with("EXT") || message.starts_with("XFS") || message.starts_with("BTRFS")) {
    return read_file_system(message);
  }
  if (take(message, "nfs: server ") || take(message, "NFS: server ")) return read_nfs(message);
  if (take(message, "Lustre: ") || take(message, "LustreError: ")) return read_lustre(message);
  if (take(message, "Buffer I/O error on ")) return read_buffer_error(message);
  return read_block_error(message);
}

}  // namespace weft::health
