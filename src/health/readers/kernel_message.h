// Readers of kernel messages, one per family of devices. Each gets a message without the framing of its log and returns
// a signal with name, part and details; kernel_log.h adds what the framing says. nullopt: it is none of this family.
#pragma once

#include <optional>
#include <string_view>

#include "health/core/signal.h"

namespace weft::health {

// NVRM (Xid, lost GPUs, failed initialization) and nvidia-nvswitch (SXid).
[[nodiscard]] std::optional<Signal> read_nvidia_message(std::string_view message);
// PCIe: AER, DPC and hot plug, of any driver: "nvme 0000:03:00.0: PCIe Bus Error: ...".
[[nodiscard]] std::optional<Signal> read_pcie_message(std::string_view message);
// MCE, EDAC, APEI, memory failures and CPU throttling.
[[nodiscard]] std::optional<Signal> read_machine_message(std::string_view message);
// NICs, bonds and InfiniBand ports.
[[nodiscard]] std::optional<Signal> read_network_message(std::string_view message);
// NVMe, block devices, file systems, NFS and Lustre.
[[nodiscard]] std::optional<Signal> read_storage_message(std::string_view message);
// Lockups, stalls, panics, oopses and the OOM killer.
[[nodiscard]] std::optional<Signal> read_kernel_fault(std::string_view message);
// Messages of systemd and of the fabric manager itself; `program` is who wrote it.
[[nodiscard]] std::optional<Signal> read_service_message(std::string_view program, std::string_view message);

}  // namespace weft::health
