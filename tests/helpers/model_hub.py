"""A model hub on loopback: every repository except `org/none` has the same two files at
every revision.
"""

import hashlib
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

REVISION = "a" * 40
FILES = {"config.json": b'{"model_type": "bert"}', "weights.bin": b"not wanted"}
ASKED: list[str] = []
_ABOUT = re.compile(r"/api/models/([^/]+/[^/]+)(?:/(?:revision|tree)/([0-9a-f]{40}))?")
_FILE = re.compile(r"/[^/]+/[^/]+/resolve/([0-9a-f]{40})/(.+)")


class Hub(BaseHTTPRequestHandler):
    def do_HEAD(self):
        self.answer(body=False)

    def do_GET(self):
        self.answer(body=True)

    def answer(self, body):
        ASKED.append(f"{self.command} {self.path}")
        path = self.path.split("?")[0]
        if "org/none" in path:
            self.send(404, b"", body, {})
        elif found := _ABOUT.match(path):
            siblings = [{"rfilename": file} for file in FILES]
            tree = [
                {"type": "file", "path": f, "size": len(c), "oid": "0" * 40}
                for f, c in FILES.items()
            ]
            about = {"id": found[1], "sha": found[2] or REVISION, "siblings": siblings}
            content = json.dumps(tree if "/tree/" in path else about).encode()
            self.send(200, content, body, {"Content-Type": "application/json"})
        elif (found := _FILE.match(path)) and found[2] in FILES:
            content = FILES[found[2]]
            etag = hashlib.sha1(content).hexdigest()
            self.send(
                200, content, body, {"ETag": f'"{etag}"', "X-Repo-Commit": found[1]}
            )
        else:
            self.send(404, b"", body, {})

    def send(self, status, content, body, headers):
        self.send_response(status)
        for key, value in headers.items():
            self.send_header(key, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if body:
            self.wfile.write(content)

    def log_message(self, *_):
        pass


@contextmanager
def running() -> Iterator[str]:
    """Run the hub on loopback, and yield its address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Hub) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
