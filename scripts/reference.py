#!/usr/bin/env python3
"""scripts/reference.py [--check] [WEFT]: writes docs/reference/*.md and README.md's list of commands from the executable.

The pages on files come from `weft schema`. Defaults are not part of a JSON Schema: they come from `weft show effective`,
which marks them. The page on commands, and the tables between the two markers in README.md, come from `weft help`, with
its sections. With --check nothing is written; the exit code is 1 when a file is out of date.
"""
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
MADE = "<!-- Made by scripts/reference.py from `weft schema`. Do not edit. -->\n"
FABRICS = ("backend", "storage", "frontend")

README_BEGIN = "<!-- commands: made by scripts/reference.py from `weft help`; do not edit -->\n"
README_END = "<!-- end of commands -->\n"

# Names one element of every list, so that the effective file shows the defaults of all of them.
SAMPLE = """
weft: 1
name: sample
pools:
  - {name: train, server: hgx-h100, count: 4, overrides: [{hosts: train001, labels: {a: b}}]}
  - {name: infra, role: infrastructure, server: control-1u, count: 3}
  - {name: store, role: storage, server: storage-nvme-2u, count: 4}
fabrics:
  backend: {managers: [{name: ufm, server: ufm-appliance-ndr}]}
storage: [{name: scratch, pool: store, volumes: [{name: data, size: 1TB}]}]
priorities: [{name: high, value: 1}]
partitions: [{name: main, pools: [train]}]
tenants: [{name: team, quota: {gpus: 8}}]
services: [{name: chat, pool: train}]
racks: [{name: train-r001, power: 30kW}]
"""

CLUSTER_INTRO = """# The cluster file

Every key of a cluster file, as `weft schema` states it. [Concepts](../concepts.md) explains what the words mean;
[how-to](../how-to.md) shows them in use. `weft show effective FILE` prints a file with all defaults written out.

The file is YAML: mappings, lists, text, numbers, `true` and `false`. Anchors, aliases, tags, merge keys and several
documents are refused, and so are unknown and repeated keys. Only `weft`, `name` and `pools` must be there:

```yaml
weft: 1
name: small
pools:
  - {name: train, server: hgx-h100, count: 32}
```

In the tables, a key in **bold** must be given. *worked out* in the column "Default" means that the value follows from
the rest of the file; `-` means that the key is simply absent. Quantities carry their unit:

| quantity | written as |
|---|---|
| rate of a port | `100G`, `400G`, `1.6T` (bits per second) |
| throughput | `40GB/s`, `1TB/s` (bytes per second) |
| size | `9000`, `64KB`, `2TB`, `80GiB` |
| time | `100ms`, `5m`, `4h`, `12w` |
| power | `700W`, `10.2kW`, `2MW` |
| length | `50cm`, `3m`, `2km` |
| ratio | `1:1`, `4:3`, `1.5` (down : up) |
| breakout | `2x400G`: a cage as two ports of 400G |
| hosts | `train[001-128]`, `gpu[1-4,8]` |
"""

CATALOG_INTRO = """# The catalog file

Every key of a catalog file, as `weft schema catalog` states it. The built-in catalog is `catalog/*.yaml` in this
format; `weft catalog list` prints it, and `weft catalog show ID` prints one item with the source of each fact.
[How-to](../how-to.md#use-hardware-of-your-own) shows a file of your own.

An item with an id that exists already replaces it; other items are added. Every item names a `source`, the id of an
entry of `references`; `sources` names another one for single keys. A reference with `estimate: true` marks an estimate,
and its title then states the rule. `weft catalog check` holds a file against all of this, and against itself.

A key in **bold** must be given.
"""


JOB_INTRO = """# The job file

Every key of a job file, as `weft schema job` states it. `weft render --job` makes it a PyTorchJob, a TrainJob, an Indexed
Job or a batch script; `weft sim life` plays its `training` section. [Play the life of a job](../life.md) and
[how-to](../how-to.md#render-a-training-job) show it in use. What is left open is filled in from the cluster.

A key in **bold** must be given.
"""


RULES_INTRO = """# Rules

Every rule of `weft check`, and those of `weft oob audit` that only a live BMC can break. `weft explain ID` shows the
same with an example; `weft rules` lists them. An id never changes its meaning. A finding is accepted in the cluster file, with a reason and, if wanted, a last day:

```yaml
suppress:
  - {rule: RE002, subject: backend, reason: "two spines until phase 2", until: 2027-06-30}
```

A suppression that matches nothing, has expired or names no rule is a finding itself.
"""


HEALTH_INTRO = """# Health signals

Every signal of a node that the built-in rules judge: what it means, how serious it is and what is done, in this order.
`weft health explain SIGNAL` shows the same, `weft health rules --print` writes the rules as a file that can be changed.
[Health of nodes](../health.md) explains severities, scores and incidents.
"""


COMMANDS_INTRO = """# Commands

Every command of weft with its `--help`. `weft help exit-codes`, `weft help formats` and `weft help environment` say what
holds for all of them.
"""


def commands_of(weft):
    """{section: {command: summary}} from `weft help`: what it lists between its usage line and its options."""
    listed = re.search(r"^Usage: .*\n((?:.*\n)*?)(?=Options of every command:)", run(weft, "help"), re.M)
    sections = {}
    for title, lines in re.findall(r"^(\S.*):\n((?: .*\n)+)", listed[1] if listed else "", re.M):
        commands = re.findall(r"^  (\S+(?: \S+)*)  +(\S.*)$", lines, re.M)
        if len(commands) != lines.count("\n"):
            sys.exit(f"reference: `weft help` lists a command without a summary under {title}:\n{lines}")
        sections[title] = dict(commands)
    if not sections:
        sys.exit("reference: `weft help` has no list of commands")
    return sections


def split_common(text):
    """The help of a command, and its last section: the options of every command."""
    head, mark, common = text.partition("\nOptions of every command:\n")
    if not mark:
        sys.exit("reference: the help of a command does not list the options of every command")
    return head.rstrip(), common.rstrip()


def commands_page(weft, groups):
    out = [MADE.replace("schema", "help") + COMMANDS_INTRO]
    common = split_common(run(weft, "help", "version"))[1]
    out += ["Options of every command:", "", "```text", common, "```", ""]
    for group, commands in groups.items():
        out += [f"## {group}", ""]
        for command in commands:
            text = split_common(run(weft, "help", *command.split()))[0]
            out += [f"### weft {command}", "", "```text", text, "```", ""]
    return "\n".join(out)


def readme_tables(groups):
    out = [f"{sum(map(len, groups.values()))} commands. Each name leads to its options and examples.", ""]
    for group, commands in groups.items():
        out += [f"**{group}**", "", "| command | what it does |", "|---|---|"]
        for command, summary in commands.items():
            anchor = f"weft-{command.replace(' ', '-')}"
            out.append(f"| [`weft {command}`](docs/reference/commands.md#{anchor}) | {summary.replace('|', chr(92) + '|')} |")
        out.append("")
    return "\n".join(out)


def readme_page(groups):
    text = (ROOT / "README.md").read_text()
    if text.count(README_BEGIN) != 1 or text.count(README_END) != 1 or text.index(README_BEGIN) > text.index(README_END):
        sys.exit(f"reference: README.md must have these two lines once, in this order:\n{README_BEGIN}{README_END}")
    head, rest = text.split(README_BEGIN)
    return f"{head}{README_BEGIN}\n{readme_tables(groups)}\n{README_END}{rest.split(README_END)[1]}"


def rules_page(weft):
    listed = json.loads(run(weft, "rules", "-o", "json"))["rules"]
    areas = {}
    for area in re.findall(r"^ +([A-Z]{2})  +(.*)$", run(weft, "rules", "--help"), re.M):
        areas[area[0]] = area[1]
    out = [MADE.replace("schema", "rules") + RULES_INTRO, f"{len(listed)} rules in {len(areas)} areas.", ""]
    for code, title in areas.items():
        out += [f"## {code}: {title}", ""]
        for rule in (rule for rule in listed if rule["rule"].startswith(code)):
            out += [f"### {rule['rule']}: {rule['title']}", "",
                    f"*{rule['severity']}*, looks at: {rule['needs']}.", "", rule["reason"], "",
                    f"**What to do:** {rule['fix']}.", "", f"Source: {rule['source']}.", ""]
    return "\n".join(out)


HEALTH_FAMILIES = {
    "xid": "Xid: GPU errors in the kernel's log, DCGM and BMCs", "sxid": "SXid: NVSwitch errors",
    "gpu": "GPU driver", "dcgm": "DCGM metrics", "service": "Services", "aer": "PCIe errors", "pcie": "PCIe links",
    "mce": "Machine checks", "edac": "Memory controllers", "ghes": "Firmware-reported errors", "mem": "Memory",
    "cpu": "Processors", "link": "Links", "nic": "NICs", "net": "Network devices", "ib": "InfiniBand and RoCE counters",
    "disk": "Drives", "fs": "File systems", "nfs": "NFS", "lustre": "Lustre", "host": "Hosts", "kernel": "Kernel",
    "sel": "Event logs of BMCs", "hgx": "HGX baseboards", "bmc": "BMCs", "slurm": "Slurm", "kube": "Kubernetes",
    "job": "Jobs", "alert": "Alertmanager", "webhook": "Other telemetry", "health": "Derived by weft",
}


def cell(text):
    return text.replace("|", "\\|").replace("*", "\\*")


def health_page(weft):
    listed = json.loads(run(weft, "health", "rules", "-o", "json"))["rules"]
    families = {}
    for rule in listed:
        families.setdefault(rule["signals"].split(":")[0], []).append(rule)
    out = [MADE.replace("weft schema", "weft health rules") + HEALTH_INTRO, f"{len(listed)} rules.", ""]
    for family in sorted(families, key=lambda name: (list(HEALTH_FAMILIES) + [name]).index(name)):
        out += [f"## {HEALTH_FAMILIES.get(family, family)}", "",
                "| signals | meaning | condition | severity | actions | source |", "|---|---|---|---|---|---|"]
        notes = []
        for rule in families[family]:
            out.append("| " + " | ".join(cell(rule[key]) for key in
                                         ("signals", "title", "condition", "severity", "actions", "source")) + " |")
            if rule["note"]:
                notes.append(f"- {cell(rule['signals'])} (`{rule['id']}`): {cell(rule['note'])}")
        out += [""] + (notes + [""] if notes else [])
    return "\n".join(out)


def run(weft, *words, stdin=None):
    done = subprocess.run([weft, *words], input=stdin, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"reference: weft {' '.join(words)}: {done.stderr}")
    return done.stdout


def defaults_of(text):
    """(path, key) -> (value, "default" or "derived"), from the text of an effective file."""
    found = {}
    stack = []  # (indent, key)
    for line in text.splitlines():
        match = re.match(r"^(\s*)((?:- )?)([A-Za-z0-9_.-]+):\s*(.*?)\s*(?:# (default|derived))?$", line)
        if not match:
            continue
        indent = len(match[1]) + len(match[2])
        while stack and stack[-1][0] >= indent:
            stack.pop()
        if match[5]:
            found.setdefault((tuple(key for _, key in stack), match[3]), (match[4], match[5]))
        stack.append((indent, match[3]))
    return found


class Page:
    def __init__(self, schema, defaults):
        self.schema = schema
        self.defaults = defaults
        self.paths = {}  # definition -> where it stands in a file
        self.order = []
        self.walk(schema, ())

    def walk(self, record, path):
        for key, value in record.get("properties", {}).items():
            name = self.reference_in(value)
            if name is None:
                continue
            if name not in self.paths:
                self.order.append(name)
            self.paths.setdefault(name, []).append(path + (key,))
            if len(self.paths[name]) < 8:
                self.walk(self.schema["$defs"][name], path + (key,))

    @staticmethod
    def reference_in(value):
        if "$ref" in value:
            return value["$ref"].rsplit("/", 1)[1]
        for part in value.get("allOf", []) + [value[k] for k in ("items", "additionalProperties") if k in value]:
            name = Page.reference_in(part) if isinstance(part, dict) else None
            if name:
                return name
        return None

    def type_of(self, value):
        """What may be written, and the description less the form that the schema appends to it."""
        text = value.get("description", "")
        name = self.reference_in(value)
        if value.get("type") == "array":
            item = value["items"]
            return "list of " + (f"[{name}](#{name})" if name else self.type_of(item)[0]), text
        if value.get("type") == "object" and "additionalProperties" in value and "properties" not in value:
            item = value["additionalProperties"]
            return "mapping of names to " + (f"[{name}](#{name})" if name else self.type_of(item)[0]), text
        if name:
            return f"[{name}](#{name})", text
        if "enum" in value:
            return " \\| ".join(f"`{choice}`" for choice in dict.fromkeys(map(str, value["enum"]))), text
        if value.get("type") == "boolean":
            return "`true` \\| `false`", text
        if value.get("type") == "integer":
            if value.get("minimum", 0) == value.get("maximum", 1):
                return f"`{value['minimum']}`", text
            if "minimum" in value:
                return f"integer, {value['minimum']:,} to {value['maximum']:,}", text
            return "integer", text
        form = re.search(r"(?:^| )\(([^()]*)\)$", text)
        if form:
            return form[1], text[: form.start()].rstrip()
        return text or "text", ""

    def default_of(self, name, key):
        values = {self.defaults[(path, key)] for path in self.paths.get(name, [()]) if (path, key) in self.defaults}
        if not values:
            return "-"
        if len(values) > 1 or any(origin == "derived" for _, origin in values):
            return "*worked out*"
        value = values.pop()[0]
        if value in ("[]", "{}"):
            return "-"
        return f"`{value}`" if value else "*worked out*"

    def table(self, name, record):
        wide = bool(self.defaults)
        lines = ["| key | what | form |" + (" default |" if wide else ""), "|---|---|---|" + ("---|" if wide else "")]
        for key, value in record["properties"].items():
            form, text = self.type_of(value)
            must = key in record.get("required", [])
            row = f"| {'**' if must else ''}`{key}`{'**' if must else ''} | {text} | {form} |"
            lines.append(row + (f" {self.default_of(name, key)} |" if wide else ""))
        return lines

    def fabric_table(self):
        lines = ["", "What the three get when the file says nothing (an Ethernet backend of eight rails):", "",
                 "| key | " + " | ".join(FABRICS) + " |", "|---|---|---|---|"]
        for key in self.schema["$defs"]["fabric"]["properties"]:
            cells = [self.defaults.get((("fabrics", fabric), key), ("", ""))[0] for fabric in FABRICS]
            if any(cells) and all(cell not in ("[]", "{}") for cell in cells):
                lines.append(f"| `{key}` | " + " | ".join(f"`{cell}`" for cell in cells) + " |")
        return lines

    def text(self, intro, top):
        out = [MADE + intro, f"## {top}", "", self.schema["description"], ""]
        out += self.table("", self.schema)
        for name in self.order:
            record = self.schema["$defs"][name]
            where = ", ".join(f"`{'.'.join(path)}`" for path in self.paths[name][:4])
            out += ["", f"## {name}", "", f"{record['description']} At {where}.", ""]
            out += self.table(name, record)
            if name == "fabric" and self.defaults:
                out += self.fabric_table()
        return "\n".join(out) + "\n"


def main():
    words = [word for word in sys.argv[1:] if word != "--check"]
    weft = words[0] if words else str(ROOT / "build/release/weft")
    defaults = defaults_of(run(weft, "show", "effective", "-", stdin=SAMPLE))
    groups = commands_of(weft)
    pages = {
        "../../README.md": readme_page(groups),
        "commands.md": commands_page(weft, groups),
        "cluster-file.md": Page(json.loads(run(weft, "schema", "cluster")), defaults).text(CLUSTER_INTRO, "cluster"),
        "job-file.md": Page(json.loads(run(weft, "schema", "job")), {}).text(JOB_INTRO, "job"),
        "rules.md": rules_page(weft),
        "health-signals.md": health_page(weft),
        "catalog.md": Page(json.loads(run(weft, "schema", "catalog")), {}).text(CATALOG_INTRO, "catalog"),
    }
    stale = 0
    for name, text in pages.items():
        path = (ROOT / "docs/reference" / name).resolve()
        if path.exists() and path.read_text() == text:
            continue
        stale += 1
        if "--check" in sys.argv[1:]:
            print(f"{path.relative_to(ROOT)} is out of date: run scripts/reference.py", file=sys.stderr)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            print(f"wrote {path.relative_to(ROOT)}")
    return 1 if stale and "--check" in sys.argv[1:] else 0


if __name__ == "__main__":
    sys.exit(main())
