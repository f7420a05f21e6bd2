#!/usr/bin/env python3
"""The part of a kubelet that serves the output of containers: GET /containerLogs/NAMESPACE/POD/CONTAINER over HTTPS.

    kubelet_logs.py FOLDER CERTIFICATE KEY      prints the port

FOLDER/POD.CONTAINER has the lines, each with its time in front, as containerd keeps them. The parameters are those of
the kubelet (PodLogOptions): tailLines, limitBytes, sinceTime (lines of that second or later), timestamps.
"""

import datetime
import http.server
import pathlib
import ssl
import sys
import urllib.parse


def second_of(text):
    return datetime.datetime.fromisoformat(text[:19]).replace(tzinfo=datetime.timezone.utc).timestamp()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    folder = pathlib.Path()

    def log_message(self, *arguments):
        pass

    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        parts = url.path.strip("/").split("/")
        file = self.folder / f"{parts[-2]}.{parts[-1]}" if len(parts) == 4 and parts[0] == "containerLogs" else None
        if file is None or not file.is_file():
            self.answer(404, b"no such container\n")
            return
        lines = file.read_bytes().splitlines(keepends=True)
        if "sinceTime" in query:
            since = second_of(query["sinceTime"])
            lines = [line for line in lines if second_of(line[:19].decode()) >= since]
        if "tailLines" in query:
            count = int(query["tailLines"])
            lines = lines[-count:] if count else []
        if query.get("timestamps") != "true":
            lines = [line.split(b" ", 1)[1] for line in lines]
        body = b"".join(lines)
        if "limitBytes" in query:
            body = body[: int(query["limitBytes"])]
        self.answer(200, body)

    def answer(self, status, body):
        self.send_response(status)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def main():
    Handler.folder = pathlib.Path(sys.argv[1])
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[2], sys.argv[3])
    server.socket = context.wrap_socket(server.socket, server_side=True)
    print(server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
