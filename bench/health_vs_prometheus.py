#!/usr/bin/env python3
"""Compare weft's reader of metrics with a Prometheus server that scrapes the same bytes.

Usage: health_vs_prometheus.py HEALTH_BENCH [TARGETS [SECONDS]], with Debian's package prometheus installed.

HEALTH_BENCH (bench/health_bench of a release build) writes the scrapes and is run for weft's figure. A static server on
the loopback address answers each scrape with the next of three texts. Prometheus scrapes every target once per second;
its processor time comes from /proc. It also stores every sample (head block, write-ahead log) and receives the bytes
over HTTP, which weft's figure does not include: the ratio says what it costs to have the data in each, not how fast the
parsers are.
"""

import http.server
import os
import pathlib
import re
import shutil
import socketserver
import subprocess
import sys
import tempfile
import threading
import time

ROUNDS = 3
WARM_UP = 15  # seconds: the first scrapes create the series


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    request_queue_size = 1024

    def __init__(self, folder, targets):
        self.texts = [[(folder / f"{i}-{r}").read_bytes() for r in range(ROUNDS)] for i in range(targets)]
        self.asked = [0] * targets
        self.sent = 0
        self.lock = threading.Lock()
        super().__init__(("127.0.0.1", 0), Handler)

    def next_text(self, target):
        with self.lock:
            text = self.texts[target][self.asked[target] % ROUNDS]
            self.asked[target] += 1
            self.sent += len(text)
        return text


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):  # noqa: N802
        text = self.server.next_text(int(self.path.rsplit("/", 1)[1]))
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


def processor_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_megabytes(pid):
    return int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096 / 1e6


def write_config(path, port, targets):
    lines = ["global: {scrape_interval: 1s, scrape_timeout: 1s}", "scrape_configs:", "  - job_name: bench",
             "    static_configs:"]
    for i in range(targets):
        lines.append(f'      - {{targets: ["127.0.0.1:{port}"], labels: {{instance: "t{i}", __metrics_path__: "/m/{i}"}}}}')
    path.write_text("\n".join(lines) + "\n")


def measure_prometheus(folder, targets, seconds):
    server = Server(folder, targets)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    config = folder / "prometheus.yml"
    write_config(config, server.server_address[1], targets)
    command = ["prometheus", f"--config.file={config}", f"--storage.tsdb.path={folder / 'data'}",
               "--web.listen-address=127.0.0.1:0", "--log.level=error"]
    process = subprocess.Popen(command)
    try:
        time.sleep(WARM_UP)
        began, sent = processor_seconds(process.pid), server.sent
        time.sleep(seconds)
        spent, sent = processor_seconds(process.pid) - began, server.sent - sent
        resident = resident_megabytes(process.pid)
    finally:
        process.terminate()
        process.wait()
        server.shutdown()
    return spent, sent, resident


def measure_weft(bench, targets):
    output = subprocess.run([bench, str(targets), "4"], check=True, capture_output=True, text=True).stdout
    rates = [float(rate) for rate in re.findall(r"^  MetricReader +\S+ +(\S+)", output, re.MULTILINE)]
    return sorted(rates)[len(rates) // 2]


def main():
    if len(sys.argv) < 2 or shutil.which("prometheus") is None:
        sys.exit(__doc__)
    bench = sys.argv[1]
    targets = int(sys.argv[2]) if len(sys.argv) > 2 else 64
    seconds = int(sys.argv[3]) if len(sys.argv) > 3 else 30
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        subprocess.run([bench, str(targets), str(ROUNDS), name], check=True)
        spent, sent, resident = measure_prometheus(folder, targets, seconds)
    if sent == 0:
        sys.exit("Prometheus did not scrape: see its messages above")
    prometheus = sent / 1e6 / spent
    weft = measure_weft(bench, targets)
    print(f"Prometheus: {spent:.2f} s of processor time for {sent / 1e6:.0f} MB: {prometheus:.1f} MB/s, "
          f"{resident:.0f} MB resident")
    print(f"weft:       {weft:.0f} MB/s of processor time")
    print(f"ratio:      {weft / prometheus:.0f}")


if __name__ == "__main__":
    main()
