"""A server with a script, for the tests of fetch: HTTP/1.1, just enough HTTP/2, or a proxy.

fetch_peer.py plain|h1|h2|h2-goaway|h2-refuse|silent CERT KEY CA     (files; "-": none)
fetch_peer.py proxy PORT                                            (CONNECT and SOCKS5, all to PORT)

Prints "port N", then a line for all that happens. Leaves when its standard input ends. HTTP/2 is
spoken without a header decoder: a GET is known by its index, and gets a stream that stays open.
"""
import os
import socket
import ssl
import struct
import sys
import threading
import time

PRINT = threading.Lock()
FIRST = threading.Event()  # set once the first request of an h2-* script was mistreated


def say(text):
    with PRINT:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()


def answer(conn, status, body=b"{}", extra="", length=None):
    size = len(body) if length is None else length
    conn.sendall(f"HTTP/1.1 {status} Text\r\nContent-Type: application/json\r\n{extra}"
                 f"Content-Length: {size}\r\n\r\n".encode() + body)


def stream(conn, repeat):
    conn.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                 b"Transfer-Encoding: chunked\r\n\r\n2\r\nx\n\r\n")
    while repeat:
        time.sleep(0.005)
        conn.sendall(b"2\r\nx\n\r\n")
    conn.recv(1)  # until the peer leaves


def act(conn, path, body):
    name, _, query = path.partition("?")
    if name.endswith("/echo"):
        answer(conn, 200, body)
    elif name == "/redirect":
        answer(conn, 302, extra=f"Location: https://127.0.0.1:{query}/stolen\r\n")
    elif name == "/retry":
        answer(conn, 429, extra='Retry-After: 7\r\nWarning: 299 - "old \\"API\\""\r\n'
                                'Warning: 299 - "second"\r\n')
    elif name == "/date":
        answer(conn, 503, extra="Retry-After: Wed, 21 Oct 2015 07:28:00 GMT\r\n")
    elif name == "/early":
        conn.sendall(b"HTTP/1.1 103 Early Hints\r\nRetry-After: 5\r\n\r\n")
        answer(conn, 201)
    elif name == "/nothing":
        conn.sendall(b"HTTP/1.1 204 No Content\r\n\r\n")
    elif name == "/big":
        answer(conn, 200, b"x" * int(query))
    elif name == "/cut":
        answer(conn, 200, b"x" * 10, length=100)
        return False
    elif name == "/drop":
        return False
    elif name == "/once":  # answers, and leaves when it is asked again on this connection
        answer(conn, 200)
        conn.recv(1)
        say("dropped")
        return False
    elif name == "/hang":
        conn.recv(1)
        return False
    elif name in ("/quiet", "/flow"):
        stream(conn, name == "/flow")
        return False
    else:
        answer(conn, 200)
    return True


def serve_h1(conn):
    data = b""
    while True:
        while b"\r\n\r\n" not in data:
            more = conn.recv(65536)
            if not more:
                return
            data += more
        head, _, data = data.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        method, path, _ = lines[0].split(" ")
        headers = {}
        for line in lines[1:]:
            headers[line.partition(":")[0].lower()] = line.partition(":")[2].strip()
        size = int(headers.get("content-length", 0))
        while len(data) < size:
            data += conn.recv(65536)
        say(f"request {method} {path}")
        for line in lines[1:]:
            if len(line) < 200:
                say(f"header {line.partition(':')[0].lower()}:{line.partition(':')[2]}")
            else:
                say(f"long {line.partition(':')[0].lower()} {len(line)}")
        body, data = data[:size], data[size:]
        if not act(conn, path, body):
            return


def frame(kind, flags, number, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(
        ">I", number) + payload


def read_all(conn, size):
    data = b""
    while len(data) < size:
        more = conn.recv(size - len(data))
        if not more:
            raise OSError("closed")
        data += more
    return data


def serve_h2(conn, script, number):
    read_all(conn, 24)
    conn.sendall(frame(4, 0, 0))
    while True:
        head = read_all(conn, 9)
        size, kind, flags = int.from_bytes(head[:3], "big"), head[3], head[4]
        stream_id = int.from_bytes(head[5:9], "big")
        payload = read_all(conn, size)
        if kind == 4 and not flags & 1:
            conn.sendall(frame(4, 1, 0))
        elif kind == 3:
            say(f"reset {number} {stream_id}")
        elif kind == 1:
            get = b"\x82" in payload[:1]
            say(f"request {number} {stream_id} {'GET' if get else 'other'}")
            if script != "h2" and not FIRST.is_set():
                FIRST.set()
                if script == "h2-refuse":
                    conn.sendall(frame(3, 0, stream_id, struct.pack(">I", 7)))
                    continue
                conn.sendall(frame(7, 0, 0, struct.pack(">II", 0, 0)))
                return
            conn.sendall(frame(1, 4, stream_id, b"\x88") +
                         frame(0, 0 if get and script == "h2" else 1, stream_id, b"x\n"))


def serve(raw, number, context, script):
    try:
        conn = raw
        if script == "silent":
            raw.recv(1 << 20)
            time.sleep(600)
        if context:
            conn = context.wrap_socket(raw, server_side=True)
            who = conn.getpeercert()
            if who:
                say("client " + dict(pair for name in who["subject"] for pair in name)["commonName"])
        say(f"open {number}")
        if context and conn.selected_alpn_protocol() == "h2":
            serve_h2(conn, script, number)
        else:
            serve_h1(conn)
        conn.close()
    except (OSError, ValueError) as fault:
        say(f"fault {number} {type(fault).__name__}")
    say(f"close {number}")


def pump(source, sink):
    try:
        while data := source.recv(65536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        pass


def serve_proxy(conn, port):
    first = conn.recv(65536)
    if first[:1] == b"\x05":
        conn.sendall(b"\x05\x00")
        ask = read_all(conn, 5)
        name = read_all(conn, ask[4])
        say(f"socks {name.decode()}:{int.from_bytes(read_all(conn, 2), 'big')}")
        conn.sendall(b"\x05\x00\x00\x01\x7f\x00\x00\x01\x00\x00")
    else:
        lines = first.decode("latin-1").split("\r\n")
        say("connect " + lines[0].split(" ")[1])
        for line in lines[1:]:
            if line.lower().startswith(("authorization", "proxy-authorization")):
                say("leak " + line if line.lower().startswith("a") else "login")
        conn.sendall(b"HTTP/1.1 200 Connected\r\nRetry-After: 99\r\n\r\n")
    onward = socket.create_connection(("127.0.0.1", port))
    threading.Thread(target=pump, args=(conn, onward), daemon=True).start()
    pump(onward, conn)


def main():
    script = sys.argv[1]
    context = None
    if script not in ("plain", "proxy", "silent"):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[2], sys.argv[3])
        context.set_alpn_protocols(["h2", "http/1.1"] if script.startswith("h2") else ["http/1.1"])
        if sys.argv[4] != "-":
            context.load_verify_locations(sys.argv[4])
            context.verify_mode = ssl.CERT_OPTIONAL
        context.sni_callback = lambda conn, name, ctx: say(f"sni {name}")
    threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
    listener = socket.create_server(("127.0.0.1", 0), backlog=256)
    say(f"port {listener.getsockname()[1]}")
    number = 0
    while True:
        conn, _ = listener.accept()
        number += 1
        if script == "proxy":
            target, args = serve_proxy, (conn, int(sys.argv[2]))
        else:
            target, args = serve, (conn, number, context, script)
        threading.Thread(target=target, args=args, daemon=True).start()


main()
