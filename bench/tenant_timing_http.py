#!/usr/bin/env python3
"""Whether the times of answers over HTTPS tell a job of another tenant from one that does not exist:
bench/tenant_timing_http.py WEFT [PAIRS]. Requests for both are interleaved in random order over one connection and
compared by rank (Mann-Whitney). The positive control, a job of one's own, has to be told apart. Not a test: its result
depends on the machine's load. Exits with 1 if a request leaks or the control is not noticed.
"""

import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests/api"))
import lab  # noqa: E402  pylint: disable=wrong-import-position
from tenant_test import TOLERANCE, ApiTenantIsolation, compare_times  # noqa: E402  pylint: disable=wrong-import-position


def main():
    if len(sys.argv) < 2:
        sys.exit(f"usage: {sys.argv[0]} WEFT [PAIRS]")
    lab.EXECUTABLE, pairs, problems = os.path.abspath(sys.argv[1]), int((sys.argv[2:] or ["2000"])[0]), 0
    case = ApiTenantIsolation
    case.setUpClass()
    try:
        jobs = {"running": case.running, "waiting": case.waiting, "held": case.held, "ended": case.ended}
        for path in ("/jobs/{}", "/jobs/{}/why", "/jobs/{}/logs"):
            for what, number in [*jobs.items(), ("control: own", case.own)]:
                share = compare_times(case.lab, case.bob, path, number, case.absent, pairs)
                is_control = what.startswith("control")
                # There is no output of a job that waits: to say so is hardly more work.
                wrong = not path.endswith("logs") and abs(share - 0.5) < TOLERANCE if is_control else abs(
                    share - 0.5) >= TOLERANCE
                print(f"{path:<16} {what:<13} P(slower than absent) = {share:.3f}{'  UNEXPECTED' if wrong else ''}")
                problems += wrong
    finally:
        case.tearDownClass()
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
