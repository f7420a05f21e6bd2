#!/usr/bin/env python3
"""scripts/debian-changelog.py --maintainer NAME --version VERSION [--time SECONDS] CHANGELOG.md: prints the changelog of
the Debian package, in Debian's format: one entry per dated section of CHANGELOG.md, newest first, and the number of its
changes; the changes themselves are in NEWS.md. A version without a section, as between releases, gets an entry with the
time of the commit.
"""
import argparse
import datetime
import email.utils
import re
import sys

SECTION = re.compile(r"^## \[([0-9][^\]]*)\] - (\d{4}-\d{2}-\d{2})$", re.MULTILINE)


def entry(version, change, maintainer, moment):
    return (f"weft ({version}) unstable; urgency=medium\n\n  * {change}\n\n"
            f" -- {maintainer}  {email.utils.format_datetime(moment)}\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--maintainer", required=True)
    parser.add_argument("--version", required=True)
    parser.add_argument("--time", default="")
    parser.add_argument("file")
    arguments = parser.parse_args()
    with open(arguments.file, encoding="utf-8") as file:
        text = file.read()
    sections = list(SECTION.finditer(text))
    entries = []
    if arguments.version not in [section.group(1) for section in sections]:
        moment = datetime.datetime.fromtimestamp(int(arguments.time or 0), datetime.timezone.utc)
        entries.append(entry(arguments.version, "Build between releases.", arguments.maintainer, moment))
    for section, following in zip(sections, sections[1:] + [None]):
        body = text[section.end():following.start() if following else len(text)]
        count = len(re.findall(r"^- ", body, re.MULTILINE))
        day = datetime.datetime.fromisoformat(section.group(2)).replace(tzinfo=datetime.timezone.utc)
        change = f"Release {section.group(1)}: {count} changes, listed in /usr/share/doc/weft/NEWS.md.gz."
        entries.append(entry(section.group(1), change, arguments.maintainer, day))
    sys.stdout.write("\n".join(entries))


if __name__ == "__main__":
    main()
