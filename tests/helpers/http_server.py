"""A loopback HTTP server that answers each GET with exactly the bytes that a test
gives.
"""

import threading
import time
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def answer(body=b"", *headers, status=200, length=None):
    """Return the bytes of an HTTP answer.

    ``length`` is the announced Content-Length: by default the real one; 0 leaves the
    header out.  ``status`` is a number, or the text of a status line.
    """
    if isinstance(status, int):
        status = f"{status} {HTTPStatus(status).phrase}"
    lines = [f"HTTP/1.1 {status}", *headers]
    if length != 0:
        lines.append(f"Content-Length: {length or len(body)}")
    lines += ["Connection: close", "", ""]
    return "\r\n".join(lines).encode("latin-1") + body


class Handler(BaseHTTPRequestHandler):
    """Sends what the server's ``respond`` returns."""

    disable_nagle_algorithm = True

    def do_GET(self):
        self.server.requests.append(self)
        pieces = self.server.respond(self)
        if isinstance(pieces, bytes):
            pieces = [pieces]
        for piece in pieces:
            if isinstance(piece, bytes):
                self.wfile.write(piece)
            else:
                time.sleep(piece)

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    """``requests`` are the requests so far, with ``path`` and ``headers``."""

    daemon_threads = True

    def __init__(self, respond):
        super().__init__(("127.0.0.1", 0), Handler)
        self.respond = respond
        self.requests = []
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.file_url = f"{self.url}/a"  # of any file

    def handle_error(self, request, client_address):
        """Ignore clients that disconnect: some tests kill them."""


@contextmanager
def serving(respond):
    """Run a server that answers with ``respond(request)``: bytes, or a list of bytes
    and seconds to wait.
    """
    with Server(respond) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def serving_in_turn(*answers):
    """Run a server that gives each request the next answer, and the last one again and
    again.
    """
    waiting = list(answers)
    return serving(lambda _: waiting.pop(0) if len(waiting) > 1 else waiting[0])
