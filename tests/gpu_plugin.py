#!/usr/bin/env python3
"""A device plugin of the kubelet (v1beta1) that offers stand-ins for GPUs.

    gpu_plugin.py FOLDER COUNT

FOLDER is the kubelet's folder of plugins. Device N is the file /dev/nvidiaN, as NVIDIA's plugin passes it with
PASS_DEVICE_SPECS. When the kubelet restarts, it removes the plugin's socket, and the plugin registers again.

It speaks as much gRPC as that needs, on plain sockets. Headers of the kubelet are not decoded: on its connection the
first call is always ListAndWatch, and each later one is Allocate, because the plugin offers nothing else.
"""

import os
import socket
import struct
import sys
import threading
import time

DATA, HEADERS, SETTINGS, PING, GOAWAY = 0, 1, 4, 6, 7
END_STREAM, END_HEADERS, ACK = 1, 4, 1
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


def varint(number):
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def field(number, data):
    """A field of a protocol buffer that holds bytes, a text or a message."""
    data = data.encode() if isinstance(data, str) else data
    return varint(number << 3 | 2) + varint(len(data)) + data


def fields(message):
    """The fields of a message that has no others than those of field()."""
    at = 0

    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(message):
        key, size = number(), number()
        yield key >> 3, message[at:at + size]
        at += size


def header(name, value):
    """A header that no table holds, without compression (RFC 7541, 6.2.2)."""
    return b"\0" + bytes([len(name)]) + name.encode() + bytes([len(value)]) + value.encode()


class Connection:
    def __init__(self, stream):
        self.socket = stream

    def send(self, kind, flags, stream, data=b""):
        self.socket.sendall(struct.pack(">I", len(data))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + data)

    def send_message(self, stream, message, flags=0):
        self.send(DATA, flags, stream, b"\0" + struct.pack(">I", len(message)) + message)

    def read(self, size):
        data = b""
        while len(data) < size:
            more = self.socket.recv(size - len(data))
            if not more:
                raise EOFError
            data += more
        return data

    def frames(self):
        """Frames of calls. What belongs to the connection is answered here."""
        while True:
            head = self.read(9)
            data = self.read(int.from_bytes(head[:3], "big"))
            kind, flags, stream = head[3], head[4], int.from_bytes(head[5:], "big")
            if kind in (SETTINGS, PING) and not flags & ACK:
                self.send(kind, ACK, 0, data if kind == PING else b"")
            elif kind == GOAWAY:
                return
            elif stream:
                yield kind, flags, stream, data


def allocate(request):
    """AllocateResponse for an AllocateRequest: the device file of each device."""
    response = b""
    for _, container in fields(request):
        specs = b""
        for _, device in fields(container):
            path = "/dev/" + device.decode()
            specs += field(3, field(1, path) + field(2, path) + field(3, "rw"))
        response += field(1, specs)
    return response


def serve(stream, count):
    connection = Connection(stream)
    connection.read(len(PREFACE))
    connection.send(SETTINGS, 0, 0)
    bodies = {}
    start = b"\x88" + header("content-type", "application/grpc")  # \x88: status 200
    for kind, flags, call, data in connection.frames():
        if kind == DATA:
            bodies[call] = bodies.get(call, b"") + data
        if not flags & END_STREAM or kind not in (DATA, HEADERS):
            continue
        connection.send(HEADERS, END_HEADERS, call, start)
        if call == 1:
            devices = b"".join(field(1, field(1, f"nvidia{i}") + field(2, "Healthy")) for i in range(count))
            connection.send_message(call, devices)  # the call stays open as long as the devices are healthy
        else:
            connection.send_message(call, allocate(bodies[call][5:]))
            connection.send(HEADERS, END_HEADERS | END_STREAM, call, header("grpc-status", "0"))


def serve_until_closed(stream, count):
    try:
        serve(stream, count)
    except (EOFError, OSError):
        pass  # the kubelet has ended
    finally:
        stream.close()


def accept(listener, count):
    while True:
        stream, _ = listener.accept()
        threading.Thread(target=serve_until_closed, args=(stream, count), daemon=True).start()


def register(kubelet):
    """Registers with the kubelet that listens now."""
    with socket.socket(socket.AF_UNIX) as stream:
        stream.connect(kubelet)
        connection = Connection(stream)
        stream.sendall(PREFACE)
        connection.send(SETTINGS, 0, 0)
        connection.send(HEADERS, END_HEADERS, 1,
                        header(":method", "POST") + header(":scheme", "http") + header(":authority", "localhost") +
                        header(":path", "/v1beta1.Registration/Register") +
                        header("content-type", "application/grpc") + header("te", "trailers"))
        connection.send_message(1, field(1, "v1beta1") + field(2, "gpu.sock") + field(3, "nvidia.com/gpu"), END_STREAM)
        for kind, flags, _, _ in connection.frames():
            if kind == HEADERS and flags & END_STREAM:
                return


def main():
    folder, count = sys.argv[1], int(sys.argv[2])
    path, kubelet = os.path.join(folder, "gpu.sock"), os.path.join(folder, "kubelet.sock")
    while True:
        if not os.path.exists(path) and os.path.exists(kubelet):
            listener = socket.socket(socket.AF_UNIX)
            listener.bind(path)
            listener.listen()
            threading.Thread(target=accept, args=(listener, count), daemon=True).start()
            try:
                register(kubelet)
            except (EOFError, OSError) as problem:
                print("not registered:", problem, flush=True)
                os.unlink(path)
        time.sleep(0.1)


if __name__ == "__main__":
    main()
