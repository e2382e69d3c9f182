"""Starts the server as a child on a free port, with a language model that is a small server of the test's own."""
import http.client
import http.server
import json
import re
import signal
import socket
import threading
import time

from cli import CliTest


class FakeModel:
    """An OpenAI-compatible model that says `answer` word by word, `delay` seconds apart."""

    def __init__(self, answer="The ferry leaves at six. [1]", delay=0.0):
        self.answer, self.delay, self.prompts, self.limits, self.broken_off = answer, delay, [], [], 0
        fake = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                fake.prompts.append(body["messages"])
                fake.limits.append(body.get("max_tokens", body.get("max_completion_tokens")))
                words = re.findall(r"\S+\s*", fake.answer)
                if not body.get("stream"):
                    time.sleep(fake.delay * len(words))
                    data = json.dumps({"id": "x", "object": "chat.completion", "created": 0, "model": "fake", "choices": [
                        {"index": 0, "message": {"role": "assistant", "content": fake.answer}, "finish_reason": "stop"}],
                        "usage": {"prompt_tokens": 9, "completion_tokens": len(words), "total_tokens": 9 + len(words)}}).encode()
                    self.send_response(200)
                    self.send_header("Content-Type", "application/json")
                    self.send_header("Content-Length", str(len(data)))
                    self.end_headers()
                    self.wfile.write(data)
                    return
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.send_header("Connection", "close")
                self.end_headers()
                try:
                    for word in words:
                        self.event({"choices": [{"index": 0, "delta": {"content": word}, "finish_reason": None}]})
                        time.sleep(fake.delay)
                    self.event({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
                    self.event({"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": len(words), "total_tokens": 9 + len(words)}})
                    self.wfile.write(b"data: [DONE]\n\n")
                except OSError:
                    fake.broken_off += 1
                self.close_connection = True

            def event(self, data):
                self.wfile.write(f"data: {json.dumps(data)}\n\n".encode())
                self.wfile.flush()

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Reply:
    def __init__(self, reply):
        self.status, self.headers, self.body = reply.status, reply.headers, reply.read()

    def json(self):
        return json.loads(self.body)


class ServerTest(CliTest):
    def serve(self, *words, model=None, gguf=None, store=True, env=None):
        """Starts a server and returns its process; `self.port` is where it listens."""
        model_words = ["--model-url", model.url, "--model", "fake"] if model else ["--model", gguf] if gguf else ["--no-model"]
        child = self.start("serve", *([self.store] if store else []), "--port", "0", *model_words, *words, env=env)
        self.addCleanup(self.end, child)
        # What is said about the store comes before; without the line the process has ended.
        said, found = "", None
        while not found:
            line = child.stderr.readline().decode()
            said += line
            found = re.search(r"serving on http://\S+:(\d+) ", line)
            if not line:
                break
        self.assertTrue(found, said)
        self.port = int(found.group(1))
        # What it logs is read on, so that the pipe never fills.
        child.log = []
        child.reader = threading.Thread(target=lambda: child.log.extend(child.stderr), daemon=True)
        child.reader.start()
        return child

    def end(self, child):
        """Every test's server ends by itself and without an error, sanitizers' included."""
        if child.poll() is None:
            child.send_signal(signal.SIGTERM)
        code = child.wait(timeout=60)
        if hasattr(child, "reader"):
            child.reader.join(10)
        child.stdout.close()
        child.stderr.close()
        self.assertEqual(code, 0, b"".join(getattr(child, "log", [])).decode())

    def fake_model(self, **options):
        model = FakeModel(**options)
        self.addCleanup(model.close)
        return model

    def send(self, method, path, body=None, key=None, timeout=60, **headers):
        """One request on a connection of its own. A body that is no bytes goes as JSON."""
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        if body is not None and not isinstance(body, (bytes, bytearray)):
            body = json.dumps(body).encode()
        if body is not None:
            headers.setdefault("Content-Type", "application/json")
        if key:
            headers["Authorization"] = "Bearer " + key
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            connection.request(method, path, body, headers)
            return Reply(connection.getresponse())
        finally:
            connection.close()

    def post(self, path, body, status=200, **options):
        reply = self.send("POST", path, body, **options)
        self.assertEqual(reply.status, status, reply.body[:500])
        return reply.json()

    def get(self, path, status=200, **options):
        reply = self.send("GET", path, **options)
        self.assertEqual(reply.status, status, reply.body[:500])
        return reply.json()

    def refused(self, reply, status, param=None, code=None):
        """The reply is OpenAI's error object with this status."""
        self.assertEqual(reply.status, status, reply.body[:500])
        error = reply.json()["error"]
        self.assertEqual(set(error), {"message", "type", "param", "code"})
        self.assertTrue(error["message"])
        if param is not None:
            self.assertEqual(error["param"], param)
        if code is not None:
            self.assertEqual(error["code"], code)
        return error

    def upload(self, documents, key=None, **more):
        """Adds documents, waits for the job and returns its result."""
        job = self.post("/v1/documents", {"documents": documents, **more}, status=202, key=key)
        deadline = time.monotonic() + 60
        while job["state"] in ("queued", "running") and time.monotonic() < deadline:
            time.sleep(0.02)
            job = self.get("/v1/jobs/" + job["id"], key=key)
        self.assertEqual(job["state"], "done", job)
        return job["result"]

    def retrieved(self, query, key=None, **more):
        return [hit["document"] for hit in self.post("/v1/retrieve", {"query": query, "mode": "bm25", **more}, key=key)["hits"]]

    def key(self, name, *words):
        return self.run_program("keys", "add", name, "--store", self.store, *words, "--json", code=0).json()["key"]

    def raw(self, data, timeout=30):
        """Sends bytes as they are and returns all that comes back until the server closes."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=timeout) as connection:
            connection.sendall(data)
            out = b""
            while True:
                piece = connection.recv(65536)
                if not piece:
                    return out
                out += piece
