#include <gtest/gtest.h>

#include "health/readers/kernel_line_test_help.h"

// Lines are of public reports; each test names where they were found. What is expected was read from the line.
namespace weft::health {
namespace {

TEST(PcieMessage, ReadsAerOfKernels4) {
  // github.com/wilicc/gpu-burn/issues/1: the requester ID 0x0010 is bus 0, device 2, function 0
  EXPECT_EQ(describe_line("[74785.660366] pcieport 0000:00:02.0: AER: Corrected error received: id=0010"),
            "aer:corrected [PCI 0000:00:02.0] line=port port=0000:00:02.0");
  EXPECT_EQ(
      describe_line("[74785.660380] pcieport 0000:00:02.0: PCIe Bus Error: severity=Corrected, type=Data Link Layer, "
                    "id=0010(Transmitter ID)"),
      "aer:corrected [PCI 0000:00:02.0] line=device type=Data Link Layer agent=Transmitter ID");
  EXPECT_EQ(describe_line("[74889.542031] pcieport 0000:00:02.0: AER: Uncorrected (Fatal) error received: id=0010"),
            "aer:fatal [PCI 0000:00:02.0] line=port port=0000:00:02.0");
  EXPECT_EQ(describe_line("[74889.542044] pcieport 0000:00:02.0: PCIe Bus Error: severity=Uncorrected (Fatal), "
                          "type=Transaction Layer, id=0010(Receiver ID)"),
            "aer:fatal [PCI 0000:00:02.0] line=device type=Transaction Layer agent=Receiver ID");
  // the lines between them say nothing new
  EXPECT_EQ(
      describe_line("[74889.542125] pcieport 0000:00:02.0:   device [8086:6f04] error status/mask=00000020/00000000"),
      "-");
  EXPECT_EQ(describe_line("[74889.542184] pcieport 0000:00:02.0:    [ 5] Surprise Down Error    (First)"), "-");
  // github.com/geerlingguy/raspberry-pi-pcie-devices/issues/64: 0x00e8 is device 0x1d
  EXPECT_EQ(describe_line("[    3.499148] pcieport 0000:00:1d.0: AER: Multiple Corrected error received: id=00e8"),
            "aer:corrected [PCI 0000:00:1d.0] line=port port=0000:00:1d.0");
}

TEST(PcieMessage, ReadsAerOfKernels5) {
  // github.com/pop-os/pop/issues/751: the port names the device, and the device speaks for itself
  EXPECT_EQ(describe_message("pcieport 0000:00:1d.0: AER: Multiple Corrected error received: 0000:03:00.0"),
            "aer:corrected [PCI 0000:03:00.0] line=port port=0000:00:1d.0");
  EXPECT_EQ(describe_message(
                "nvme 0000:03:00.0: AER: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)"),
            "aer:corrected [PCI 0000:03:00.0] line=device type=Physical Layer agent=Receiver ID");
  EXPECT_EQ(describe_message("nvme 0000:03:00.0: AER: Error of this Agent is reported first"), "-");
  // a public report on a switch of Broadcom
  EXPECT_EQ(describe_message("pcieport 0000:00:01.0: AER: Uncorrected (Non-Fatal) error received: 0000:01:00.0"),
            "aer:nonfatal [PCI 0000:01:00.0] line=port port=0000:00:01.0");
  EXPECT_EQ(describe_message("linux-kernel-bde 0000:01:00.0: AER: PCIe Bus Error: severity=Uncorrected (Non-Fatal), "
                             "type=Transaction Layer, (Requester ID)"),
            "aer:nonfatal [PCI 0000:01:00.0] line=device type=Transaction Layer agent=Requester ID");
  EXPECT_EQ(describe_message("pcieport 0000:00:01.0: AER: Device recovery successful"), "-");
  // github.com/rwth-i6/returnn/issues/1500, `dmesg --reltime`
  EXPECT_EQ(describe_line("[  +0.000001] pcieport 0000:00:03.0: AER: Multiple Uncorrected (Fatal) error received: "
                          "0000:00:03.0"),
            "aer:fatal [PCI 0000:00:03.0] line=port port=0000:00:03.0");
  EXPECT_EQ(describe_line("[  +0.000844] nvidia 0000:03:00.0: AER: can't recover (no error_detected callback)"), "-");
}

TEST(PcieMessage, ReadsAerSinceKernel68) {
  // github.com/pop-os/pop/issues/3363
  EXPECT_EQ(describe_line("Sep 19 16:18:02 bubz kernel: [68183.615790] pcieport 0000:00:03.1: AER: Correctable error "
                          "message received from 0000:00:00.0"),
            "aer:corrected [PCI 0000:00:00.0] line=port port=0000:00:03.1");
  EXPECT_EQ(describe_line("Sep 19 16:18:02 bubz kernel: [68183.615810] pcieport 0000:00:03.1: PCIe Bus Error: "
                          "severity=Correctable, type=Data Link Layer, (Transmitter ID)"),
            "aer:corrected [PCI 0000:00:03.1] line=device type=Data Link Layer agent=Transmitter ID");
  // linux-pci mailing list, a report on vfio-pci
  EXPECT_EQ(
      describe_message("pcieport 0000:00:01.1: AER: Multiple Uncorrectable (Non-Fatal) error message received from "
                       "0000:03:00.1"),
      "aer:nonfatal [PCI 0000:03:00.1] line=port port=0000:00:01.1");
  EXPECT_EQ(
      describe_message("vfio-pci 0000:03:00.0: PCIe Bus Error: severity=Uncorrectable (Non-Fatal), type=Transaction "
                       "Layer, (Requester ID)"),
      "aer:nonfatal [PCI 0000:03:00.0] line=device type=Transaction Layer agent=Requester ID");
  // linux-cxl mailing list
  EXPECT_EQ(describe_line("[  613.196253] pcieport 0000:0c:00.0: CXL Bus Error: severity=Uncorrectable (Fatal), "
                          "type=Transaction Layer, (Receiver ID)"),
            "aer:fatal [PCI 0000:0c:00.0] line=device type=Transaction Layer agent=Receiver ID");
}

TEST(PcieMessage, ReadsContainment) {
  // linux-pci mailing list, three generations of the message; source 0x3400 is bus 0x34
  EXPECT_EQ(describe_message("pcieport 0000:00:01.4: DPC: containment event, status:0x1f01 source:0x0000"),
            "pcie:dpc [PCI 0000:00:01.4] port=0000:00:01.4 status=0x1f01");
  EXPECT_EQ(describe_message("pcieport 0000:30:03.0: DPC: containment event, status:0x0005 source:0x3400"),
            "pcie:dpc [PCI 0000:34:00.0] port=0000:30:03.0 status=0x0005");
  EXPECT_EQ(describe_message("pcieport 0015:00:00.0: DPC: containment event, status:0x200d, ERR_FATAL received from "
                             "0015:01:00.0"),
            "pcie:dpc [PCI 0015:01:00.0] port=0015:00:00.0 status=0x200d");
  EXPECT_EQ(
      describe_message("pcieport 0007:00:00.0: DPC: containment event, status:0x2009: unmasked uncorrectable error "
                       "detected"),
      "pcie:dpc [PCI 0007:00:00.0] port=0007:00:00.0 status=0x2009");
  EXPECT_EQ(describe_message("pcieport 0000:00:01.4: DPC: unmasked uncorrectable error detected"), "-");
}

TEST(PcieMessage, ReadsSlots) {
  // linux-pci mailing list
  EXPECT_EQ(describe_line("[256236.152622] pcieport 0000:89:02.0: pciehp: Slot(400): Link Down"),
            "pcie:link_down [PCI 0000:89:02.0] slot=400");
  EXPECT_EQ(describe_line("[256236.152623] pcieport 0000:89:02.0: pciehp: Slot(400): Card not present"), "-");
  EXPECT_EQ(
      describe_line("[  217.071234] pcieport 0000:a9:10.0: pciehp: Slot(272): Link Down/Up ignored (recovered by DPC)"),
      "-");
  EXPECT_EQ(describe_message("pcieport 0020:02:02.0: pciehp: Slot(0-3): Link Up"), "-");
  // the form before kernel 4.19
  EXPECT_EQ(describe_message("pciehp 0000:16:01.0:pcie004: Slot(2): Link Down"),
            "pcie:link_down [PCI 0000:16:01.0] slot=2");
}

TEST(PcieMessage, RefusesDamagedLines) {
  for (const char* message :
       {"pcieport ", "pcieport 0000:00:02.0", "pcieport 0000:00:02.0: AER: ", "pcieport 0000:00:02.0: AER: Uncorrected",
        "pcieport 0000:00:02.0: AER: Uncorrected (Odd) error received: id=0010",
        "pcieport 0000:00:52.0: AER: Corrected error "
        "received: id=0010",
        "pcieport 0000:00:02.0: pciehp: Slot(", "x 0000:00:02.0: PCIe Bus Error: severity="}) {
    EXPECT_EQ(describe_message(message), "-") << message;
  }
  EXPECT_EQ(describe_message("pcieport 0000:00:02.0: AER: Corrected error received: id=fffff0010"),
            "aer:corrected [PCI 0000:00:02.0] line=port port=0000:00:02.0");
}

}  // namespace
}  // namespace weft::health
