"""What must not hurt the server: malformed, huge, slow and half-open requests, each with its right status."""
import json
import os
import random
import socket
import threading
import time
import unittest

from serving import ServerTest

GOOD = {"query": "ferry"}


class Hostile(ServerTest):
    def setUp(self):
        super().setUp()
        self.write("a.txt", "the ferry waits for the tide")
        self.index()

    def check_alive(self):
        self.assertEqual(self.retrieved("ferry"), ["a.txt"])

    def test_bodies_that_are_no_request(self):
        self.serve()
        deep = b'{"query": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
        bodies = [b"", b"{", b"null", b"[]", b'"x"', b"\x00", b"{'query': 1}", b'{"query": "\xff\xfe"}', b'{"query": "\xed\xa0\x80"}',
                  b'{"query": "a"} x', deep, b"[" * 1_000_000, b'{"query": 1e999}', b'{"a":' * 70 + b"1" + b"}" * 70]
        for body in bodies:
            with self.subTest(body[:40]):
                self.refused(self.send("POST", "/v1/retrieve", body), 400)
        self.check_alive()

    def test_fields_of_wrong_types_and_ranges_are_named(self):
        self.serve()
        for change, param in (({"query": 1}, "query"), ({"query": None}, "query"), ({"query": ["x"]}, "query"), ({"query": " "}, None),
                              ({"top_k": 0}, "top_k"), ({"top_k": 101}, "top_k"), ({"top_k": -1}, "top_k"), ({"top_k": 1.5}, "top_k"),
                              ({"top_k": "5"}, "top_k"), ({"top_k": 2 ** 63}, "top_k"), ({"top_k": 2 ** 64 - 1}, "top_k"),
                              ({"top_k": 10 ** 30}, "top_k"), ({"top_k": True}, "top_k"), ({"mode": "magic"}, None), ({"filter": []}, "filter"),
                              ({"filter": {"any": []}}, "filter"), ({"filter": {"any_of": [1]}}, "filter"),
                              ({"explain": "yes"}, "explain"), ({"\x1b[31m": 1}, None)):
            with self.subTest(change):
                error = self.refused(self.send("POST", "/v1/retrieve", {**GOOD, **change}), 400, param)
                self.assertNotIn("\x1b", json.dumps(error, ensure_ascii=False))
        self.refused(self.send("POST", "/v1/retrieve", {"query": "x" * 20_000}), 413, "query")
        self.refused(self.send("POST", "/v1/retrieve", {**GOOD, "policy": "nope"}), 404)
        screen = {"query": "q", "candidates": [{"id": "a", "text": "t", "embedding": [1e39]}], "query_embedding": [1]}
        self.refused(self.send("POST", "/v1/screen", screen), 400)
        screen["candidates"][0]["embedding"] = [0]
        self.refused(self.send("POST", "/v1/screen", screen), 400)
        self.check_alive()

    def test_huge_bodies_are_refused_before_they_are_read(self):
        child = self.serve()
        def resident():
            with open(f"/proc/{child.pid}/status", encoding="ascii") as status:
                return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))
        self.check_alive()
        before = resident()
        reply = self.send("POST", "/v1/retrieve", bytes(100_000_000))
        self.refused(reply, 413)
        # Without a length: counted while it comes.
        head = b"POST /v1/retrieve HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        chunk = b"100000\r\n" + bytes(0x100000) + b"\r\n"
        with socket.create_connection(("127.0.0.1", self.port), timeout=30) as connection:
            connection.sendall(head)
            try:
                for _ in range(12):
                    connection.sendall(chunk)
            except OSError:
                pass
            self.assertIn(b" 413 ", connection.recv(4096))
        if os.environ.get("CASEMATE_SANITIZED") != "thread":  # which shadows each byte with four
            self.assertLess(resident() - before, 40_000)
        self.assertIn(b" 413 ", self.raw(b"POST /v1/retrieve HTTP/1.1\r\nHost: localhost\r\nContent-Length: 18446744073709551615\r\n\r\n"))
        self.check_alive()

    def test_heads_that_are_no_http(self):
        self.serve()
        for data in (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"hello\r\n\r\n", b"GET\r\n\r\n", b"GET /health HTTP/9.9\r\n\r\n",
                     b"GET /health HTTP/1.1\r\nno colon\r\n\r\n", b"GET /%zz HTTP/1.1\r\nHost: localhost\r\n\r\n",
                     b"GET /%00 HTTP/1.1\r\nHost: localhost\r\n\r\n", b"GET /%ff HTTP/1.1\r\nHost: localhost\r\n\r\n",
                     b"POST /v1/retrieve HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n",
                     b"POST /v1/retrieve HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
                     b"POST /v1/retrieve HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
                     b"POST /v1/retrieve HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}",
                     b"POST /v1/retrieve HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                     b"Transfer-Encoding: chunked\r\n\r\nzz\r\n"):
            with self.subTest(data[:60]):
                self.assertIn(b"HTTP/1.1 400 ", self.raw(data))
        self.assertIn(b"HTTP/1.1 431 ", self.raw(b"GET /health HTTP/1.1\r\nX: " + b"a" * 100_000 + b"\r\n\r\n"))
        self.assertEqual(self.raw(b""[:0] + b"GET /health HTTP/1.0\r\n\r\n").split(b"\r\n\r\n")[1], b'{"status":"ok"}')
        self.check_alive()

    def test_a_client_of_http_1_0_that_keeps_its_connection_is_told_that_it_may(self):
        self.serve()
        with socket.create_connection(("127.0.0.1", self.port), timeout=30) as client:
            for _ in range(2):
                client.sendall(b"GET /health HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n")
                reply = b""
                while not reply.endswith(b'{"status":"ok"}'):
                    reply += client.recv(4096) or self.fail(reply)
                self.assertIn(b"\r\nConnection: keep-alive\r\n", reply)

    def test_slow_and_silent_clients_are_let_go(self):
        self.serve("--header-timeout-ms", "300", "--body-timeout-ms", "300", "--idle-timeout-ms", "300")
        body_begun = b"POST /v1/retrieve HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{"
        for sent in (b"", b"GET /hea", body_begun, b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"):
            with self.subTest(sent[:30]):
                began = time.monotonic()
                self.raw(sent)  # returns when the server closes
                self.assertLess(time.monotonic() - began, 5)
        # A byte now and then does not keep it open.
        with socket.create_connection(("127.0.0.1", self.port), timeout=30) as connection:
            began = time.monotonic()
            with self.assertRaises(OSError):
                for byte in b"GET /health HTTP/1.1\r\n" * 100:
                    connection.sendall(bytes([byte]))
                    time.sleep(0.05)
            self.assertLess(time.monotonic() - began, 5)
        self.check_alive()

    def test_silent_connections_do_not_keep_others_out(self):
        self.serve("--max-connections", "64")
        silent = [socket.create_connection(("127.0.0.1", self.port), timeout=30) for _ in range(60)]
        self.check_alive()
        silent += [socket.create_connection(("127.0.0.1", self.port), timeout=30) for _ in range(20)]
        self.assertIn(b" 503 ", silent[-1].recv(4096))
        for connection in silent:
            connection.close()
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            try:
                self.check_alive()
                return
            except (OSError, AssertionError, ValueError):
                time.sleep(0.05)
        self.fail("connections that were closed still count")

    def test_requests_that_follow_each_other_are_answered_in_order(self):
        self.serve()
        body = json.dumps(GOOD).encode()
        one = b"POST /v1/retrieve HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
        last = b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        out = self.raw(one * 5 + last)
        self.assertEqual(out.count(b"HTTP/1.1 200 OK"), 6)
        self.assertTrue(out.endswith(b'{"status":"ok"}'))

    def test_damaged_requests_by_the_thousand(self):
        self.serve()
        rng = random.Random(7)
        body = json.dumps({"query": "ferry", "top_k": 3, "filter": {"any_of": ["a"]}}).encode()
        good = b"POST /v1/retrieve HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
        failures = []
        def some(seeds):
            for seed in seeds:
                local = random.Random(seed)
                data = bytearray(good)
                for _ in range(local.randint(1, 6)):
                    at = local.randrange(len(data))
                    kind = local.randrange(3)
                    if kind == 0:
                        data[at] = local.randrange(256)
                    elif kind == 1:
                        del data[at:at + local.randint(1, 8)]
                    else:
                        data[at:at] = bytes(local.randrange(256) for _ in range(local.randint(1, 8)))
                try:
                    with socket.create_connection(("127.0.0.1", self.port), timeout=20) as connection:
                        connection.sendall(data)
                        connection.shutdown(socket.SHUT_WR)
                        out = b""
                        while piece := connection.recv(65536):
                            out += piece
                    if out and not out.startswith((b"HTTP/1.1 2", b"HTTP/1.1 4")):
                        failures.append((bytes(data), out[:200]))
                except OSError as error:
                    if not isinstance(error, ConnectionResetError):
                        failures.append((bytes(data), repr(error)))
        seeds = [rng.randrange(2 ** 32) for _ in range(1000)]
        threads = [threading.Thread(target=some, args=(seeds[i::8],)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures[:3], [])
        self.check_alive()


if __name__ == "__main__":
    unittest.main()
