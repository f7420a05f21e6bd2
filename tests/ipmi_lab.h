// BMCs for tests: OpenIPMI's ipmi_sim, one process each, on loopback addresses that no other test process uses. Each
// has a folder with the power state, a log of the commands it received, and a hook that tests can use to control a
// process; an SDR with one temperature sensor; a TCP socket for its serial line; and a console for injecting faults.
// Also writes the endpoints and credentials files that weft reads. All are stopped when the lab is destroyed.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "lab.h"

namespace weft::testing_lab {

class IpmiLab {
 public:
  struct Machine {
    std::string name;
    std::string address;            // 127.x.y.z
    std::uint16_t port = 623;       // UDP
    std::uint16_t fault_port = 0;   // TCP, ipmi_sim's own console
    std::uint16_t serial_port = 0;  // TCP on 127.0.0.1; ipmi_sim connects to it as the serial line
    int serial = -1;                // listens there
    std::filesystem::path folder;
    pid_t process = -1;
  };

  static constexpr const char* kUser = "admin";
  static constexpr const char* kPassword = "secret";
  // Workarounds for Debian's ipmi_sim: it has no suite 17, hashes with the privilege of the first message, and crashes
  // on two requests that FreeIPMI's console sends.
  static constexpr const char* kWorkarounds = "opensesspriv,solchannelsupport,solpayloadsize";

  // Prerequisites of a test with a lab: these programs, and permission to listen on port 623.
  static constexpr const char* kPrograms[] = {"ipmi_sim", "ipmitool", "sdrcomp"};
  static bool can_listen() { return can_bind("127.63.255.254", 623); }  // below every lab's addresses

  explicit IpmiLab(Lab& lab) : lab_(lab) {}
  IpmiLab(const IpmiLab&) = delete;
  IpmiLab& operator=(const IpmiLab&) = delete;
  ~IpmiLab() {
    for (const Machine& machine : machines_) {
      if (machine.serial >= 0) ::close(machine.serial);
    }
  }

  [[nodiscard]] const std::vector<Machine>& machines() const { return machines_; }
  [[nodiscard]] Machine& machine(std::size_t i) { return machines_.at(i); }

  // Starts a BMC for a device; machines are initially powered on. Returns "" or the error. `port`: 623 or one above
  // 1023.
  std::string add(const std::string& name, std::uint16_t port = 623) {
    Machine machine;
    machine.name = name;
    machine.address = next_address();
    machine.port = port;
    machine.folder = lab_.folder() / name;
    std::filesystem::create_directories(machine.folder / "state" / "ipmi_sim" / name);
    machine.serial = listener("127.0.0.1", machine.serial_port);
    if (machine.serial < 0) return "no free TCP port for a serial line";
    const int held = listener(machine.address, machine.fault_port);
    if (held < 0) return "no free TCP port for the simulator's console";
    ::close(held);
    if (!can_bind(machine.address, port)) return "UDP port " + std::to_string(port) + " cannot be bound here";
    write_files(machine);
    machines_.push_back(machine);
    return start(machines_.size() - 1);
  }

  // Restarts it after stop(), with its users and sensors unchanged.
  std::string start(std::size_t i) {
    Machine& machine = machines_.at(i);
    const std::string folder = machine.folder.string();
    machine.process =
        lab_.start({"ipmi_sim", "-n", "-c", folder + "/lan.conf", "-f", folder + "/sim.emu", "-s", folder + "/state"});
    const bool up = Lab::wait(5, [&] { return !lab_.alive(machine.process) || answers(machine); });
    return up && lab_.alive(machine.process) ? std::string() : "ipmi_sim did not start for " + machine.name;
  }
  // As if the BMC lost power: sessions are not closed.
  void kill(std::size_t i) {
    Machine& machine = machines_.at(i);
    if (machine.process > 0) ::kill(machine.process, SIGKILL);
    if (machine.process > 0) ::waitpid(machine.process, nullptr, 0);
    machine.process = -1;
  }
  [[nodiscard]] bool alive(std::size_t i) const {
    const Machine& machine = machines_.at(i);
    return machine.process > 0 && lab_.alive(machine.process);
  }

  [[nodiscard]] bool powered(std::size_t i) const {
    return Lab::contents(machines_.at(i).folder / "power").substr(0, 1) == "1";
  }
  void set_powered(std::size_t i, bool on) { write(machines_.at(i).folder / "power", on ? "1\n" : "0\n"); }
  // Commands that the BMC received, oldest first: "power 0", "power 1", "reset 1", "shutdown 1".
  [[nodiscard]] std::vector<std::string> done(std::size_t i) const {
    std::vector<std::string> lines;
    std::ifstream in(machines_.at(i).folder / "log");
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
  }
  void forget(std::size_t i) { write(machines_.at(i).folder / "log", ""); }
  // A shell script that runs on every change, with its two words ("power" "0", "power" "1", "reset" "1", "shutdown"
  // "1") as arguments and the machine's folder as working folder; ipmi_sim waits for it, so it starts daemons detached.
  void hook(std::size_t i, const std::string& script) {
    write(machines_.at(i).folder / "hook.part", "#!/bin/sh\n" + script + "\n");
    ::chmod((machines_.at(i).folder / "hook.part").c_str(), 0755);
    std::filesystem::rename(machines_.at(i).folder / "hook.part", machines_.at(i).folder / "hook");
  }

  // A line for ipmi_sim's own console: "sensor_set_value 0x20 0 1 0x4b 1" makes the inlet 75 degrees hot.
  bool inject(std::size_t i, const std::string& line) const {
    const int to = connect_to(machines_.at(i));
    if (to < 0) return false;
    const std::string text = line + "\r\n";
    const bool sent = ::send(to, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
    // ipmi_sim reads the input only while the connection is open.
    char answer[256];
    timeval limit{0, 300'000};
    ::setsockopt(to, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    while (::recv(to, answer, sizeof answer, 0) > 0) {
    }
    ::close(to);
    return sent;
  }
  // The far end of the serial line: ipmi_sim opens it once and keeps it. -1 if it did not within this many seconds.
  [[nodiscard]] int serial_line(std::size_t i, int seconds = 5) const {
    int line = -1;
    (void)Lab::wait(seconds, [&] {
      line = ::accept4(machines_.at(i).serial, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
      return line >= 0;
    });
    return line;
  }

  Outcome ipmitool(std::size_t i, const Words& words, const std::string& password = kPassword, int seconds = 20) {
    const Machine& machine = machines_.at(i);
    // Without -C 3 it requests the cipher suites, which ipmi_sim does not answer.
    Words all{"ipmitool",
              "-I",
              "lanplus",
              "-C",
              "3",
              "-N",
              "1",
              "-R",
              "2",
              "-H",
              machine.address,
              "-p",
              std::to_string(machine.port),
              "-U",
              kUser,
              "-P",
              password};
    all.insert(all.end(), words.begin(), words.end());
    return lab_.run(all, seconds, true);
  }
  // FreeIPMI's own tools: "ipmi-sensors", "ipmipower", "bmc-info", ...
  Outcome freeipmi(std::size_t i, const std::string& program, const Words& words, int seconds = 20) {
    const Machine& machine = machines_.at(i);
    Words all{program,       "-h",  machine.address + ":" + std::to_string(machine.port),
              "-u",          kUser, "-p",
              kPassword,     "-D",  "LAN_2_0",
              "-I",          "3",   "-W",
              "opensesspriv"};
    all.insert(all.end(), words.begin(), words.end());
    return lab_.run(all, seconds, true);
  }

  // Writes files in the formats of inventory.h and credentials.h; returns the path.
  std::string endpoints_file(const std::string& name = "endpoints.yaml") {
    std::string text = "weft_endpoints: 1\nendpoints:\n";
    for (const Machine& machine : machines_) {
      text += "  " + machine.name + ": {host: " + machine.address + ", port: " + std::to_string(machine.port) +
              ", protocol: ipmi, ciphers: [17, 3], workarounds: [opensesspriv, solchannelsupport, solpayloadsize]}\n";
    }
    lab_.put(name, text);
    return (lab_.folder() / name).string();
  }
  std::string credentials_file(const std::string& name = "credentials.yaml") {
    lab_.put(name, "weft_credentials: 1\ndefault: {user: " + std::string(kUser) + ", password: " + kPassword + "}\n");
    ::chmod((lab_.folder() / name).c_str(), 0600);
    return (lab_.folder() / name).string();
  }

 private:
  // 127.64.0.1 and up: 254 addresses for each of 32,768 processes.
  std::string next_address() {
    const auto process = static_cast<unsigned>(::getpid());
    return "127." + std::to_string(64 + ((process >> 8U) & 0x7FU)) + "." + std::to_string(process & 0xFFU) + "." +
           std::to_string(++used_);
  }
  static sockaddr_in at(const std::string& address, std::uint16_t port) {
    sockaddr_in where{};
    where.sin_family = AF_INET;
    where.sin_port = htons(port);
    ::inet_pton(AF_INET, address.c_str(), &where.sin_addr);
    return where;
  }
  static int listener(const std::string& address, std::uint16_t& port) {
    const int listening = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    sockaddr_in where = at(address, 0);
    socklen_t size = sizeof where;
    auto* generic = reinterpret_cast<sockaddr*>(&where);
    if (::bind(listening, generic, size) != 0 || ::listen(listening, 8) != 0 ||
        ::getsockname(listening, generic, &size) != 0) {
      ::close(listening);
      return -1;
    }
    port = ntohs(where.sin_port);
    return listening;
  }
  static bool can_bind(const std::string& address, std::uint16_t port) {
    const int trial = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    sockaddr_in where = at(address, port);
    const bool could = ::bind(trial, reinterpret_cast<sockaddr*>(&where), sizeof where) == 0;
    ::close(trial);
    return could;
  }
  static int connect_to(const Machine& machine) {
    const int to = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in where = at(machine.address, machine.fault_port);
    if (::connect(to, reinterpret_cast<sockaddr*>(&where), sizeof where) == 0) return to;
    ::close(to);
    return -1;
  }
  // Get Channel Authentication Capabilities needs no session. (The TCP console cannot be used as a liveness check:
  // ipmi_sim crashes when a client disconnects during the greeting.)
  static bool answers(const Machine& machine) {
    static constexpr unsigned char kQuestion[] = {0x06, 0x00, 0xFF, 0x07, 0x00, 0x00, 0x00, 0x00,
                                                  0x00, 0x00, 0x00, 0x00, 0x00, 0x09, 0x20, 0x18,
                                                  0xC8, 0x81, 0x00, 0x38, 0x8E, 0x04, 0xB5};
    const int to = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    sockaddr_in where = at(machine.address, machine.port);
    timeval limit{0, 100'000};
    ::setsockopt(to, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    char answer[256];
    const bool heard = ::connect(to, reinterpret_cast<sockaddr*>(&where), sizeof where) == 0 &&
                       ::send(to, kQuestion, sizeof kQuestion, MSG_NOSIGNAL) > 0 &&
                       ::recv(to, answer, sizeof answer, 0) > 0;
    ::close(to);
    return heard;
  }
  static void write(const std::filesystem::path& path, const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
  }

  void write_files(const Machine& machine) {
    const std::string folder = machine.folder.string();
    write(machine.folder / "power", "1\n");
    write(machine.folder / "log", "");
    // ipmi_sim calls: SCRIPT ipmi_address get|set WORD [VALUE] ...; the first argument is the folder set in lan.conf.
    write(machine.folder / "chassis.sh",
          "#!/bin/sh\n"
          "cd \"$1\" || exit 1\n"
          "shift\n"
          "while [ $# -gt 0 ] && [ \"$1\" != get ] && [ \"$1\" != set ]; do shift; done\n"
          "verb=$1; shift\n"
          "while [ $# -gt 0 ]; do\n"
          "  if [ \"$verb\" = get ]; then\n"
          "    case $1 in power) echo \"power:$(cat power)\";; boot) echo boot:default;; *) exit 1;; esac\n"
          "    shift\n"
          "  else\n"
          "    word=$1; value=$2\n"
          "    if [ \"$word\" = identify ]; then shift 3; continue; fi\n"
          "    shift 2\n"
          "    case $word in boot) continue;; power) echo $value > power.part && mv power.part power;;\n"
          "      shutdown) [ -e ignore_shutdown ] || { echo 0 > power.part && mv power.part power; };; esac\n"
          "    echo \"$word $value\" >> log\n"
          "    [ ! -x ./hook ] || ./hook \"$word\" \"$value\" >> hook.log 2>&1\n"
          "  fi\n"
          "done\n");
    ::chmod((folder + "/chassis.sh").c_str(), 0755);
    write(machine.folder / "lan.conf",
          "name \"" + machine.name + "\"\nset_working_mc 0x20\n  startlan 1\n    addr " + machine.address + " " +
              std::to_string(machine.port) +
              "\n    priv_limit admin\n"
              "    allowed_auths_callback none md2 md5 straight\n    allowed_auths_user none md2 md5 straight\n"
              "    allowed_auths_operator none md2 md5 straight\n    allowed_auths_admin none md2 md5 straight\n"
              "    guid a123456789abcdefa1234567" +
              identity() + "\n  endlan\n  chassis_control \"" + folder + "/chassis.sh " + folder +
              "\"\n  sol \"tcp:127.0.0.1:" + std::to_string(machine.serial_port) + "\" 115200\n  console " +
              machine.address + " " + std::to_string(machine.fault_port) +
              "\n  user 1 false \"\" \"test\" user 10 none md2 md5 straight\n  user 2 true \"" + kUser + "\" \"" +
              kPassword + "\" admin 10 none md2 md5 straight\n");
    // Upper thresholds at 80, 72 and 64 degrees, lower ones at 5, 3 and 1, all with events.
    write(machine.folder / "sim.emu",
          "mc_setbmc 0x20\nmc_add 0x20 0 no-device-sdrs 0x23 9 8 0x9f 0x1291 0xf02 persist_sdr\n"
          "sel_enable 0x20 1000 0x0a\nsensor_add 0x20 0 1 1 1\nsensor_set_value 0x20 0 1 0x19 0\n"
          "sensor_set_threshold 0x20 0 1 settable 111111 0x50 0x48 0x40 0x05 0x03 0x01\n"
          "sensor_set_event_support 0x20 0 1 enable scanning per-state 000111111000000 000111111000000 "
          "000111111000000 000111111000000\nmc_enable 0x20\n");
    write(machine.folder / "sensors.sdrs",
          "sdr type 1\n sensor_owner_id 0x20\n sensor_owner_lun 0\n channel_number 0\n sensor_number 1\n"
          " entity_id system_board\n entity_instance 1\n init_scanning true\n init_events true\n"
          " init_thresholds true\n init_hysteresis true\n init_sensor_type true\n default_event_gen_on true\n"
          " default_sensor_scan_on true\n sensor_type Temperature\n event_reading_type_code 1\n"
          " id_string \"Inlet Temp\"\n analog_data_format unsigned\n rate_unit none\n modifier_unit none\n"
          " percentage false\n base_unit degrees_C\n linearization linear\n m 1\n b 0\n r_exp 0\n b_exp 0\n"
          " sensor_direction input\nendsdr\n");
    (void)lab_.run(
        {"sdrcomp", "-o", folder + "/state/ipmi_sim/" + machine.name + "/sdr.20.main", folder + "/sensors.sdrs"});
  }
  [[nodiscard]] std::string identity() const {  // eight hexadecimal digits that differ between the lab's machines
    static constexpr char kDigits[] = "0123456789abcdef";
    const std::size_t n = machines_.size() + 1;
    return std::string("89abcd") + kDigits[(n >> 4U) & 0xFU] + kDigits[n & 0xFU];
  }

  Lab& lab_;
  std::vector<Machine> machines_;
  unsigned used_ = 0;
};

}  // namespace weft::testing_lab
