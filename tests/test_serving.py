"""The server that tests show to browsers leaves no thread and no open socket behind."""

import socket
import threading
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler

from serving import Server


class Kept(BaseHTTPRequestHandler):
    """Answers every request and keeps the connection."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, format: str, *_about: object) -> None: ...


def test_a_closed_server_has_ended_every_connection_and_thread() -> None:
    threads = set(threading.enumerate())
    with Server(Kept) as server:
        silent, begun, reset = (socket.create_connection(server.server_address, timeout=10) for _ in range(3))
        begun.sendall(b"GET / HTT")
        reset.close()
        kept = HTTPConnection("127.0.0.1", server.server_port, timeout=10)
        for _ in range(2):
            kept.request("GET", "/")  # connections are accepted in turn: an answer here says that of those before
            assert kept.getresponse().read() == b"ok"
    assert set(threading.enumerate()) == threads
    assert kept.sock is not None
    for connection in (kept.sock, silent, begun):
        with connection:
            assert connection.recv(1) == b""
