"""ClickHouse's own engine (chDB) behind its HTTP interface, as far as a destination uses it.

Arguments: the port, the directory of its data, the password of the user `default`.
"""

import re
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock

from chdb import session

port, directory, password = int(sys.argv[1]), sys.argv[2], sys.argv[3]
engine = session.Session(directory)
turn = Lock()

# Statuses of errors, as the server's own handler has them; others are 500.
STATUSES = {60: 404, 81: 404, 497: 403, 516: 403, 27: 400, 62: 400, 241: 500}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        key = self.headers.get("x-clickhouse-key", "")
        if (self.headers.get("x-clickhouse-user", "default"), key) != ("default", password):
            self.fail(516, "Authentication failed: password is incorrect. (AUTHENTICATION_FAILED)")
            return
        try:
            with turn:
                found = engine.query(body.decode(), "TabSeparated")
            self.answer(200, found.bytes() or b"")
        except Exception as error:
            told = re.match(r"(?:.*?)Code: (\d+)\. DB::Exception: (.*)", str(error), re.S)
            self.fail(int(told[1]) if told else 1001, told[2] if told else str(error))

    def fail(self, code, text):
        body = f"Code: {code}. DB::Exception: {text}\n".encode()
        self.answer(STATUSES.get(code, 500), body, code)

    def answer(self, status, body, code=None):
        self.send_response(status)
        if code is not None:
            self.send_header("X-ClickHouse-Exception-Code", str(code))
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def handle(self):
        try:
            super().handle()
        except ConnectionError:
            pass  # Killed clients say no goodbye.

    def log_message(self, *arguments):
        pass


server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
