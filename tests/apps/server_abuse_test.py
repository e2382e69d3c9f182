"""More that must not hurt the server: floods, tricks with addresses and heads, readers that do not read, and keys that must not show."""
import contextlib
import copy
import json
import os
import pathlib
import random
import re
import resource
import socket
import threading
import time
import unittest

from cli import SOURCE
from serving import ServerTest

API = json.loads((SOURCE / "apps" / "server" / "files" / "openapi.json").read_text(encoding="utf-8"))


class Abuse(ServerTest):
    def setUp(self):
        super().setUp()
        self.write("a.txt", "the ferry waits for the tide")
        self.index()

    def check_alive(self, **options):
        self.assertEqual(self.retrieved("ferry", **options), ["a.txt"])

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=30)

    def descriptors(self, child):
        return len(os.listdir(f"/proc/{child.pid}/fd"))

    def resident_kib(self, child):
        """0 under a sanitizer, which keeps what was freed."""
        if os.environ.get("CASEMATE_SANITIZED"):
            return 0
        status = pathlib.Path(f"/proc/{child.pid}/status").read_text(encoding="ascii")
        return int(re.search(r"VmRSS:\s+(\d+)", status).group(1))

    def wait_for_descriptors(self, child, most):
        # They are accepted in turn: when this one has its reply, none is left that could open another descriptor.
        with contextlib.suppress(ConnectionError), self.connect() as last:
            last.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            while last.recv(4096):
                pass
        deadline = time.monotonic() + 20
        while (now := self.descriptors(child)) > most and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertLessEqual(now, most)

    # Connections

    def test_a_thousand_idle_connections(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if hard != resource.RLIM_INFINITY and hard < 4096:
            self.skipTest("this machine allows too few open files")
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 4096), hard))  # for the server, too, which inherits it
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        child = self.serve("--max-connections", "1100", "--header-timeout-ms", "60000")
        self.check_alive()
        before, memory = self.descriptors(child), self.resident_kib(child)
        idle = [self.connect() for _ in range(500)]
        for connection in idle[::2]:
            connection.sendall(b"GET /health HTTP/1.1\r\nHo")
        # Kept alive after an answer, and silent from then on.
        for _ in range(500):
            connection = self.connect()
            connection.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
            idle.append(connection)
        for connection in idle[500:]:
            self.assertIn(b"200 OK", connection.recv(4096))
        begun = time.monotonic()
        self.check_alive()
        self.assertLess(time.monotonic() - begun, 5)
        print(f"1,000 idle connections: {(self.resident_kib(child) - memory) / 1000:.1f} KiB each")
        self.assertLess(self.resident_kib(child) - memory, 200 * 1000)
        for connection in idle:
            connection.close()
        self.wait_for_descriptors(child, before + 2)
        self.check_alive()

    def test_more_connections_than_descriptors(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        child = self.serve("--max-connections", "4000")
        resource.prlimit(child.pid, resource.RLIMIT_NOFILE, (self.descriptors(child) + 20, hard))
        before = self.descriptors(child)
        flood = [self.connect() for _ in range(100)]
        time.sleep(0.5)
        for connection in flood:
            connection.close()
        self.wait_for_descriptors(child, before + 2)
        self.check_alive()

    def test_clients_that_go_in_the_middle(self):
        child = self.serve()
        self.check_alive()
        before, memory = self.descriptors(child), self.resident_kib(child)
        body = json.dumps({"query": "ferry", "top_k": 3}).encode()
        whole = b"POST /v1/retrieve HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
        rng = random.Random(3)
        for i in range(600):
            connection = self.connect()
            connection.sendall(whole[:rng.randint(0, len(whole))])
            if i % 2:  # a reset instead of an end
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
            connection.close()
        self.wait_for_descriptors(child, before + 2)
        self.assertLess(self.resident_kib(child) - memory, 30_000)
        self.check_alive()

    def test_a_reader_that_does_not_read_is_let_go(self):
        child = self.serve("--write-timeout-ms", "500", "--max-connections", "8")
        self.check_alive()
        before = self.descriptors(child)
        slow = [socket.socket() for _ in range(7)]
        for connection in slow:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.settimeout(30)
            connection.connect(("127.0.0.1", self.port))
            try:  # more answers than fit into the buffers between
                connection.sendall(b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n" * 1000)
            except OSError:
                pass
        self.check_alive()
        self.wait_for_descriptors(child, before)
        for connection in slow:
            connection.close()
        self.check_alive()

    def test_a_body_byte_by_byte(self):
        self.serve("--body-timeout-ms", "400")
        for head in (b"Content-Length: 5000", b"Transfer-Encoding: chunked"):
            with self.subTest(head), self.connect() as connection:
                connection.sendall(b"POST /v1/retrieve HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" + head + b"\r\n\r\n")
                begun = time.monotonic()
                with self.assertRaises(OSError):
                    for _ in range(200):
                        connection.sendall(b"1\r\n{\r\n" if b"chunked" in head else b" ")
                        time.sleep(0.05)
                self.assertLess(time.monotonic() - begun, 5)
        self.check_alive()

    # Heads and addresses

    def status_of(self, data):
        """Of the first reply; 0 where the connection closes without one."""
        out = self.raw(data)
        return int(out.split()[1]) if out.startswith(b"HTTP/1.1 ") else 0

    def test_heads_that_others_read_otherwise(self):
        """What a proxy before the server might read as another request is refused, and nothing after it is answered."""
        self.serve()
        good = b"POST /v1/retrieve HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        hidden = b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        for name, head in {
                "both lengths": b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                "two lengths": b"Content-Length: 0\r\nContent-Length: 5\r\n\r\n",
                "a list of lengths": b"Content-Length: 0, 5\r\n\r\n",
                "a sign": b"Content-Length: +2\r\n\r\n{}",
                "hexadecimal": b"Content-Length: 0x2\r\n\r\n{}",
                "blank before the colon": b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
                "an unknown coding": b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
                "chunked twice": b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                "chunked not last": b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
                "a size that overflows": b"Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n",
                "a size with a sign": b"Transfer-Encoding: chunked\r\n\r\n-1\r\n",
                "a NUL": b"X: a\x00b\r\nContent-Length: 0\r\n\r\n"}.items():
            with self.subTest(name):
                out = self.raw(good + head + hidden)
                self.assertTrue(out.startswith(b"HTTP/1.1 4"), out[:200])
                self.assertNotIn(b'"status":"ok"', out)
        for first in (b"GET /health HTTP/2.0\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b" GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n",
                      b"GET  /health HTTP/1.1\r\nHost: localhost\r\n\r\n", b"GET /health\r\n\r\n", b"CONNECT localhost:22 HTTP/1.1\r\nHost: localhost\r\n\r\n",
                      b"GET\t/health HTTP/1.1\r\nHost: localhost\r\n\r\n", b"\x00" * 100 + b"\r\n\r\n"):
            with self.subTest(first[:40]):
                self.assertIn(self.status_of(first), (0, 400, 404, 405))
        self.assertEqual(self.status_of(b"GET /health HTTP/1.1\r\n" + b"".join(b"X-%d: y\r\n" % i for i in range(20_000)) + b"\r\n"), 431)
        self.assertIn(self.status_of(b"GET /" + b"a" * 200_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n"), (414, 431))
        self.check_alive()

    def test_addresses_lead_nowhere_else(self):
        self.serve()
        secret = self.root / "store" / "keys.db"
        for path in ("/../../etc/passwd", "/..%2f..%2fetc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/docs/../../etc/passwd", "/docs/..%5c..%5cetc%5cpasswd",
                     "/v1/documents/../../../etc/passwd", "/v1/documents/%2fetc%2fpasswd", f"/v1/documents/{secret}", f"/v1/documents/file:%2f%2f{secret}",
                     "//etc/passwd", "/.git/config", "/v1/documents/.%00", "/V1/RETRIEVE", "/v1/retrieve/", "/v1//retrieve", "/v1/./retrieve",
                     "/%c0%ae%c0%ae/etc/passwd", "/v1/documents/%ed%a0%80", "/v1/documents/%fe", "/v1/jobs/..%2f..%2fkeys.db", "/?/v1/retrieve", "/v1/retrieve%0d%0aX:y",
                     "/v1/documents/a.txt%0d%0aX-Injected:%20y"):
            with self.subTest(path):
                reply = self.send("GET", path)
                self.assertIn(reply.status, (400, 404, 405))
                self.assertNotIn(b"root:", reply.body)
                self.assertNotIn("X-Injected", reply.headers)
        self.check_alive()

    def test_content_types(self):
        self.serve()
        good = {"query": "ferry"}
        for kind, status in (("application/json", 200), ("application/json; charset=utf-8", 200), ("APPLICATION/JSON", 200), ("text/json", 415),
                             ("application/jsonx", 415), ("application/x-ndjson", 415), ("multipart/form-data; boundary=x", 415), ("", 415), ("application/json,", 415),
                             ("application/json/", 415), ("\u00fc".encode().decode("latin-1"), 415), ("a" * 5000, 415)):
            with self.subTest(kind[:40]):
                self.assertEqual(self.send("POST", "/v1/retrieve", good, Content_Type=kind).status, status)
        # Whatever the head says of an encoding, a body is read as it is.
        self.assertIn(self.send("POST", "/v1/retrieve", b"\x1f\x8b\x08\x00", Content_Encoding="gzip").status, (400, 415))
        self.refused(self.send("POST", "/v1/retrieve", json.dumps(good).encode("utf-16")), 400)
        self.refused(self.send("POST", "/v1/retrieve", b"\xef\xbb\xbf" + json.dumps(good).encode("utf-16-le")), 400)

    # Bodies

    def test_bodies_of_every_address_broken_in_every_field(self):
        """2,000 bodies: those of the description, with a value somewhere replaced by one of another kind."""
        self.serve("--policy", "off,off-hybrid", "--defence", "suppression", model=self.fake_model(answer="B"))
        deep = current = []
        for _ in range(50):
            current.append([])
            current = current[0]
        values = [None, True, -1, 0, 2 ** 31, 2 ** 63, -2 ** 63, 10 ** 400, 1.5, 1e308, 5e-324, "", " ", "a" * 5000, "\x00", "\ud800", "\u202e", "<|im_start|>system",
                  [], {}, [[]], [{}], {"a": 1}, ["a"] * 300, [None] * 10, deep, "../../etc/passwd", "1e309", "9" * 4000 + "." + "9" * 900]
        rng = random.Random(11)
        targets = [(method.upper(), path, about["requestBody"]["content"]["application/json"]["example"])
                   for path, methods in API["paths"].items() for method, about in methods.items() if "requestBody" in about]
        failures, statuses, certificate = [], {}, json.loads(
            (SOURCE / "tests" / "golden" / "certificates" / "voting.json").read_text(encoding="utf-8"))
        self.assertGreaterEqual(len(targets), 8)

        def places(value):
            """Every (holder, key) in the value."""
            for key in (range(len(value)) if isinstance(value, list) else list(value) if isinstance(value, dict) else ()):
                yield value, key
                yield from places(value[key])

        def some(seeds):
            for seed in seeds:
                rng = random.Random(seed)
                method, path, example = rng.choice(targets)
                body = copy.deepcopy(example)
                if path == "/v1/verify":
                    body = {"certificate": copy.deepcopy(certificate)}
                if path == "/v1/screen":
                    body |= {"query_embedding": [1, 0], "policy": "off"}
                    body["candidates"][0]["embedding"] = [1, 1]
                for _ in range(rng.randint(1, 2)):
                    holder, key = rng.choice(list(places(body)))
                    holder[key] = copy.deepcopy(rng.choice(values))
                    if isinstance(holder, dict) and rng.random() < 0.2:
                        holder[rng.choice(("x", "", "\x1b[2J", "__proto__"))] = copy.deepcopy(rng.choice(values))
                data = json.dumps(body, allow_nan=True).encode("utf-8", "surrogatepass")
                try:
                    reply = self.send(method, path, data)
                except OSError as error:
                    failures.append((seed, path, repr(error)))
                    continue
                statuses[reply.status] = statuses.get(reply.status, 0) + 1
                try:
                    json.loads(reply.body.decode("utf-8"))
                except ValueError as error:
                    if not reply.headers["Content-Type"].startswith("text/event-stream"):
                        failures.append((seed, path, repr(error)))
                if reply.status >= 500:
                    failures.append((seed, path, reply.status, data[:300], reply.body[:300]))

        seeds = [rng.randrange(2 ** 32) for _ in range(2000)]
        threads = [threading.Thread(target=some, args=(seeds[i::4],)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures[:5], [], f"{len(failures)} of {len(seeds)}")
        print(f"2,000 broken bodies: {dict(sorted(statuses.items()))}")
        self.assertGreater(statuses.get(400, 0), 500)
        self.assertEqual(self.send("POST", "/v1/retrieve", {"query": "ferry"}).status, 200)

    def test_deep_and_wide_bodies_at_every_address(self):
        self.serve("--policy", "off,off-hybrid", model=self.fake_model())
        wide = b'{"query": "x"' + b"".join(b', "f%d": 1' % i for i in range(3000)) + b"}"
        for path, methods in API["paths"].items():
            for method, about in methods.items():
                for kind in about.get("requestBody", {}).get("content", ()):
                    for body in (b"[" * 500_000, b'{"a":' * 200_000 + b"1" + b"}" * 200_000, b'{"a": "\xff"}', b'{"a": "\xc0\xaf"}', b'{"id": 1}\n{', b"\x00" * 1000,
                                 b"1" * 500_000, b'"' + b"\\u0000" * 50_000 + b'"', wide if path != "/v1/chat/completions" else b"{"):
                        with self.subTest(path=path, body=body[:20]):
                            reply = self.send(method.upper(), path, body, Content_Type=kind)
                            self.refused(reply, reply.status if reply.status == 413 else 400)
        self.check_alive()

    def test_long_runs_of_digits_in_what_is_hidden(self):
        """Scores are taken out of reasons and notes, which may hold a client's words."""
        reader = self.key("reader")
        self.serve("--defence", "suppression", "--policy", "off,off-hybrid", "--max-question-tokens", "0")
        for text in ("9" * 200_000, "1.5" * 60_000, "-" * 200_000 + "1.5", "1e" * 90_000):
            candidates = [{"id": text[:2000] + str(i), "text": text, "score": 1, "embedding": [1, 1]} for i in range(3)]
            reply = self.send("POST", "/v1/screen", {"query": "q", "query_embedding": [1, 0], "candidates": candidates}, key=reader)
            self.assertEqual(reply.status, 200, reply.body[:300])
            self.assertEqual(self.send("POST", "/v1/retrieve", {"query": text[:16_000], "mode": "dense"}, key=reader).status, 200)
        self.check_alive(key=reader, mode="dense")

    # Keys

    def test_keys_show_nowhere(self):
        key, other = self.key("watchman", "--role", "admin"), "cm-" + "ab" * 8 + "-" + "cd" * 32
        model_key = "sk-the-models-own-key"
        audit = self.root / "audit.jsonl"
        model = self.fake_model()
        child = self.serve("--log-requests", "--audit", audit, "--audit-queries", "--model-key-variable", "MODEL_KEY", model=model, env={"MODEL_KEY": model_key})
        replies = []
        for secret in (key, other):
            for path in ("/v1/retrieve", f"/v1/{secret}", f"/v1/documents/{secret}", f"/v1/retrieve?key={secret}"):
                for method in ("GET", "POST", "DELETE"):
                    replies.append(self.send(method, path, {"query": "ferry"} if method == "POST" else None, key=secret))
            for body in (b"{", {"query": "ferry", "policy": "none"}, {"query": 1}, {"query": "ferry"}):
                replies.append(self.send("POST", "/v1/retrieve", body, key=secret))
            replies.append(self.send("POST", "/v1/retrieve", {"query": "ferry"}, Authorization="Basic " + secret))
            replies.append(self.send("POST", "/v1/retrieve", {"query": "ferry"}, X_Api_Key=secret))
        replies.append(self.send("POST", "/v1/chat/completions", {"model": "casemate", "messages": [{"role": "user", "content": "When?"}]}, key=key))
        model.close()
        replies.append(self.send("POST", "/v1/chat/completions", {"model": "casemate", "messages": [{"role": "user", "content": "When?"}]}, key=key))
        for path in ("/metrics", "/v1/models", "/openapi.json", "/ready"):
            replies.append(self.send("GET", path, key=key))
        command = pathlib.Path(f"/proc/{child.pid}/cmdline").read_bytes()
        threads = b"".join(pathlib.Path(path).read_bytes() for path in pathlib.Path(f"/proc/{child.pid}/task").glob("*/comm"))
        self.end(child)
        listed = self.run_program("keys", "list", "--store", self.store, code=0)
        places = {"replies": b"".join(reply.body + str(reply.headers).encode() for reply in replies), "log": b"".join(child.log), "audit": audit.read_bytes(),
                  "process list": command + threads, "keys list": (listed.out + listed.err).encode()}
        places |= {str(file): file.read_bytes() for file in self.store.rglob("*") if file.is_file()}
        self.assertGreater(len(places["log"]), 1000)
        for place, data in places.items():
            for secret in (key, key.split("-")[2], other.split("-")[2], model_key):
                self.assertNotIn(secret.encode(), data, place)

    def test_a_public_address_wants_keys(self):
        for address in ("0.0.0.0", "::", "0.0.0.0 ", "::ffff:0.0.0.0", "8.8.8.8"):
            done = self.run_program("serve", self.store, "--no-model", "--address", address, "--port", "0", code=2)
            self.assertNotIn("serving on", done.err)
        for words in (("--address", "example.org"), ("--address", ""), ("--address", "127.0.0.1:80"), ("--port", "70000"), ("--port", "-1")):
            self.run_program("serve", self.store, "--no-model", *words, code=2)
        # Without a store there are no keys but those of a file.
        self.run_program("serve", "--no-model", "--address", "0.0.0.0", "--port", "0", code=2)
        self.run_program("serve", "--no-model", "--address", "0.0.0.0", "--port", "0", "--keys", self.root / "none.db", code=2)
        # All keys revoked is not the same as no keys: it starts, and nobody gets in.
        self.key("k")
        self.run_program("keys", "revoke", "k", "--store", self.store, code=0)
        self.serve("--address", "0.0.0.0")
        self.refused(self.send("POST", "/v1/retrieve", {"query": "ferry"}), 401)


if __name__ == "__main__":
    unittest.main()
