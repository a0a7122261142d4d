"""A server of HTTP on 127.0.0.1 for a browser under test; nothing of it is left once it is closed."""

import socket
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Server(ThreadingHTTPServer):
    """Answers by `handler`, a thread for each connection, from its start to `close`; a context manager, too.

    A browser opens connections ahead of its requests and leaves them silent. Their threads wait for a request and hold
    the socket: `close` ends such connections, so that their threads end, and joins all threads.
    """

    daemon_threads = False  # `server_close` joins only threads that are no daemons

    def __init__(self, handler: Callable[..., BaseHTTPRequestHandler]) -> None:
        self._connections: set[socket.socket] = set()
        self._lock = threading.Lock()
        super().__init__(("127.0.0.1", 0), handler)
        self.address = f"http://127.0.0.1:{self.server_port}/"
        self._loop = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self._loop.start()

    def close(self) -> None:
        """Take no more connections, end those that are open, and wait for their threads."""
        self.shutdown()
        self._loop.join()
        with self._lock:
            for connection in self._connections:
                with suppress(OSError):  # the other side may have ended it
                    connection.shutdown(socket.SHUT_RDWR)
        self.server_close()

    def __exit__(self, *_error: object) -> None:
        self.close()

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            self._connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._lock:  # `close` meets no socket that is closed meanwhile
            self._connections.discard(request)
            super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that ends in the middle of an answer is no fault of the handler."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)
