#
# Ports without a neighbor keep the name from an earlier run, so that a switch that is down changes nothing. Exit
# status: 0 all ports of the table are named, 1 some are not (they are listed), 2 the table has no row for this host or
# two ports match the same name.
import argparse
import json
import os
import re
import socket
import subprocess
import sys

RULES = "/etc/udev/rules.d/70-weft-net.rules"
TABLE = "/etc/weft/wiring.tsv"
KNOWN = "/etc/weft/nics.tsv"  # interface, MAC address, PCI address; read by weft-rdma-name


def arguments():
    parser = argparse.ArgumentParser(description="Name network ports by their cabling.")
    parser.add_argument("--host", default=socket.gethostname().split(".")[0])
    parser.add_argument("--wiring", default=TABLE)
    parser.add_argument("--rules", default=RULES)
    parser.add_argument("--known", default=KNOWN)
    parser.add_argument("--lldp", help="read this file instead of running lldpcli")
    parser.add_argument("--ibnetdiscover", help="read this file instead of running ibnetdiscover")
    parser.add_argument("--sys", default="/sys")
    parser.add_argument("--dry-run", action="store_true", help="print the udev rules, write nothing")
    return parser.parse_args()


def wiring(path, host):
    """Rows of this host: interfaces by (switch, port), and link types by interface."""
    by_port, interfaces = {}, {}
    with open(path, encoding="utf-8") as table:
        for line in table:
            if line.startswith("#") or not line.strip():
                continue
            server, interface, switch, ports, kind = line.rstrip("\n").split("\t")
            if server != host:
                continue
            interfaces[interface] = kind
            for port in ports.split(","):
                by_port[(switch.lower(), port.lower())] = interface
    return by_port, interfaces


def output_of(command, path):
    if path:
        with open(path, encoding="utf-8") as file:
            return file.read()
    try:
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"{command[0]}: {error}", file=sys.stderr)
        return ""


def members(value):
    """Members of a map or of a list of maps: lldpcli writes either."""
    for part in value if isinstance(value, list) else [value]:
        if isinstance(part, dict):
            yield from part.items()


def lldp_neighbors(text):
    """(local interface, switch, names of the switch's port)."""
    if not text.strip():
        return
    for local, entry in members(json.loads(text).get("lldp", {}).get("interface", {})):
        port = entry.get("port", {})
        names = [port.get("id", {}).get("value", ""), port.get("descr", "")]
        for switch, chassis in members(entry.get("chassis", {})):
            if isinstance(chassis, dict):  # {"id": ...} alone: a neighbor without a system name
                yield local, switch.split(".")[0], [name for name in names if name]


def infiniband_ports(text):
    """Switch and switch port number by port GUID (16 hex digits) of a host."""
    found, switch = {}, None
    for line in text.splitlines():
        head = re.match(r'Switch\s+\d+\s+"[^"]*"\s+#\s+"([^"]*)"', line)
        if head:
            switch = head.group(1).split(":")[0].split(";")[0]
        elif re.match(r"(Ca|Rt)\s", line):
            switch = None
        port = re.match(r'\[(\d+)\](?:\([0-9a-f]+\))?\s+"H-[0-9a-f]+"\[\d+\]\(([0-9a-f]+)\)', line)
        if port and switch:
            found[port.group(2).zfill(16)] = (switch, port.group(1))
    return found


def read(*path):
    try:
        with open(os.path.join(*path), encoding="ascii") as file:
            return file.read().strip().lower()
    except OSError:
        return ""


class Hardware:
    """Network ports of this host, from sysfs. Virtual devices have no PCI device."""

    def __init__(self, root):
        self.net = os.path.join(root, "class", "net")

    def ports(self):
        for name in sorted(os.listdir(self.net)) if os.path.isdir(self.net) else []:
            device = os.path.join(self.net, name, "device")
            if os.path.exists(device) and not os.path.exists(os.path.join(device, "physfn")):
                yield name

    def address(self, name):
        # A bond member shows the bond's address; its permanent address is here.
        return read(self.net, name, "bonding_slave", "perm_hwaddr") or read(self.net, name, "address")

    def is_infiniband(self, name):
        return read(self.net, name, "type") == "32"  # ARPHRD_INFINIBAND

    def pci(self, name):
        return os.path.basename(os.path.realpath(os.path.join(self.net, name, "device")))


def find(by_port, switch, names, host, interfaces):
    for name in names:
        found = by_port.get((switch.lower(), name.lower()))
        if found:
            return found
    for name in names:  # a switch that describes its port as "train001 be1"
        words = name.split()
        if len(words) == 2 and words[0] == host and words[1] in interfaces:
            return words[1]
    return None


def name_ports(hardware, by_port, interfaces, host, neighbors, fabric):
    """(MAC address, PCI address) by interface. Raises ValueError if two ports match the same name."""
    named = {}

    def claim(interface, local):
        entry = (hardware.address(local), hardware.pci(local))
        if named.setdefault(interface, entry) != entry:
            raise ValueError(f"{interface}: two ports are cabled as this interface: {named[interface][0]} and {entry[0]}")

    physical = set(hardware.ports())
    for local, switch, names in neighbors:
        interface = find(by_port, switch, names, host, interfaces)
        if interface and local in physical and not hardware.is_infiniband(local):
            claim(interface, local)
    for local in sorted(physical):
        if hardware.is_infiniband(local):
            guid = hardware.address(local).replace(":", "")[-16:]
            switch, number = fabric.get(guid, ("", ""))
            interface = by_port.get((switch.lower(), number))
            if interface:
                claim(interface, local)
    return named


def keep_known(named, interfaces, path):
    """Adds names of an earlier run that no neighbor contradicts."""
    taken = {address for address, _ in named.values()}
    try:
        with open(path, encoding="ascii") as file:
            rows = [line.rstrip("\n").split("\t") for line in file if not line.startswith("#")]
    except OSError:
        return
    for row in rows:
        if len(row) == 3 and row[0] in interfaces and row[0] not in named and row[1] not in taken:
            named[row[0]] = (row[1], row[2])


def rules_of(named, interfaces):
    lines = ["# Generated by weft-name-nics; change the wiring table, not this file."]
    for interface in interfaces:
        if interface not in named:
            continue
        address = named[interface][0]
        if interfaces[interface] == "ib":  # the last 8 of 20 bytes are the port GUID, the others may change
            match = f'ATTR{{type}}=="32", ATTR{{address}}=="*{address[-23:]}"'
        else:
            match = f'ATTR{{type}}=="1", ATTR{{address}}=="{address}"'
        lines.append(f'ACTION=="add", SUBSYSTEM=="net", DRIVERS=="?*", {match}, NAME="{interface}"')
    return "\n".join(lines) + "\n"


def replace(path, text):
    """Writes the file; returns whether its content changed."""
    if os.path.exists(path) and open(path, encoding="ascii").read() == text:
        return False
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path + ".new", "w", encoding="ascii") as file:
        file.write(text)
    os.replace(path + ".new", path)
    return True


def main():
    options = arguments()
    by_port, interfaces = wiring(options.wiring, options.host)
    if not interfaces:
        print(f"{options.wiring} has no row for host {options.host}", file=sys.stderr)
        return 2
    neighbors = lldp_neighbors(output_of(["lldpcli", "-f", "json", "show", "neighbors"], options.lldp))
    fabric = {}
    if "ib" in interfaces.values():
        fabric = infiniband_ports(output_of(["ibnetdiscover"], options.ibnetdiscover))
    try:
        named = name_ports(Hardware(options.sys), by_port, interfaces, options.host, neighbors, fabric)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    keep_known(named, interfaces, options.known)
    rules = rules_of(named, interfaces)
    if options.dry_run:
        sys.stdout.write(rules)
    else:
        if replace(options.rules, rules):
            print("changed: the new port names take effect after a reboot")
        rows = [f"{name}\t{named[name][0]}\t{named[name][1]}" for name in interfaces if name in named]
        replace(options.known, "# interface\taddress\tPCI address\n" + "\n".join(rows) + "\n")
    missing = [name for name in interfaces if name not in named]
    if missing:
        print("no LLDP or InfiniBand neighbor found: " + " ".join(missing), file=sys.stderr)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
