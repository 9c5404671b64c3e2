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
ASKED: list[str] = []  # method and path of each request
_ABOUT = re.compile(r"/api/models/([^/]+/[^/]+)(?:/(?:revision|tree)/([0-9a-f]{40}))?")
_FILE = re.compile(r"/[^/]+/[^/]+/resolve/([0-9a-f]{40})/(.+)")


def tree():
    """The hub's list of the files of a repository."""
    entries = []
    for name, content in FILES.items():
        entry = {"type": "file", "path": name, "size": len(content), "oid": "0" * 40}
        entries.append(entry)
    return entries


def record(repository, revision):
    """The hub's description of a repository."""
    siblings = [{"rfilename": name} for name in FILES]
    return {"id": repository, "sha": revision or REVISION, "siblings": siblings}


class Hub(BaseHTTPRequestHandler):
    def do_HEAD(self):
        self.answer(body=False)

    def do_GET(self):
        self.answer(body=True)

    def answer(self, body):
        ASKED.append(f"{self.command} {self.path}")
        path = self.path.split("?")[0]
        about = _ABOUT.match(path)
        file = _FILE.match(path)
        if "org/none" in path:
            self.send(404, b"", body, {})
        elif about:
            repository, revision = about.groups()
            answer = tree() if "/tree/" in path else record(repository, revision)
            content = json.dumps(answer).encode()
            self.send(200, content, body, {"Content-Type": "application/json"})
        elif file and file[2] in FILES:
            revision, name = file.groups()
            etag = hashlib.sha1(FILES[name]).hexdigest()
            headers = {"ETag": f'"{etag}"', "X-Repo-Commit": revision}
            self.send(200, FILES[name], body, headers)
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
