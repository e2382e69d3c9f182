"""Many clients at once: none is refused or lost, also while the policy is read again or changed, and while the server ends."""
import http.client
import json
import os
import signal
import threading
import time
import unittest

from serving import ServerTest

CLIENTS = 16


class Load(ServerTest):
    def setUp(self):
        super().setUp()
        for i in range(50):
            self.write(f"{i:02}.txt", f"the ferry waits for tide number{i}")
        self.index()

    def ask(self, until, replies, broken):
        """Requests on one connection, one after the other, until told to stop or told that the server ends."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        bodies = [("/v1/retrieve", {"query": "ferry tide", "top_k": 5}),
                  ("/v1/screen", {"query": "ferry", "candidates": [{"id": "a", "text": "the ferry"}, {"id": "b", "text": "a gull"}]})]
        sent = 0
        try:
            while not until.is_set():
                path, body = bodies[sent % 2]
                sent += 1
                try:
                    connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
                    reply = connection.getresponse()
                    replies.append((reply.status, json.loads(reply.read())["policy"]))
                except (OSError, http.client.HTTPException, ValueError) as error:
                    broken.append(error)
                    return
                if reply.headers["Connection"] == "close":
                    return
        finally:
            connection.close()

    def clients(self):
        until, replies, broken = threading.Event(), [], []
        threads = [threading.Thread(target=self.ask, args=(until, replies, broken)) for _ in range(CLIENTS)]
        for thread in threads:
            thread.start()
        return until, replies, broken, threads

    def test_a_changed_policy_loses_no_request(self):
        config = self.root / "casemate.yaml"
        config.write_text("serve: {policy: [off, off-hybrid]}")
        child = self.serve("--config", config)
        until, replies, broken, threads = self.clients()
        for i in range(20):
            name = ("off", "off-hybrid")[i % 2]
            if i % 4 < 2:
                self.assertEqual(self.send("PUT", "/v1/policy", {"policy": name}).status, 200)
            else:
                config.write_text(f"serve: {{policy: [{name}]}}")
                child.send_signal(signal.SIGHUP)
            time.sleep(0.05)
        until.set()
        for thread in threads:
            thread.join()
        self.assertEqual(broken, [])
        self.assertEqual({status for status, _ in replies}, {200})
        self.assertEqual({policy for _, policy in replies}, {"off-2026-11", "off-hybrid-2026-11"})
        self.assertGreater(len(replies), 100)

    def test_an_end_under_load_answers_what_was_taken(self):
        """An idle connection may be closed under a request that is just being sent: HTTP has it so, and such a request was
        not begun. Nothing is cut off in the middle, and no request is refused."""
        child = self.serve()
        _, replies, broken, threads = self.clients()
        time.sleep(0.5)
        child.send_signal(signal.SIGTERM)
        for thread in threads:
            thread.join(30)
        self.assertEqual(child.wait(timeout=30), 0)
        self.assertEqual({status for status, _ in replies}, {200})
        for error in broken:
            # Closed before the first byte of an answer; half an answer would be IncompleteRead or a ValueError.
            self.assertIsInstance(error, (http.client.RemoteDisconnected, ConnectionError), repr(error))
        print(f"{len(replies)} answers, {len(broken)} of {CLIENTS} clients were closed between two requests")

    @unittest.skipIf(os.environ.get("CASEMATE_SANITIZED"), "a sanitizer keeps what was freed")
    def test_memory_is_flat(self):
        child = self.serve()
        begin, end = self.resident_after(child, 2000), self.resident_after(child, 6000)
        print(f"resident after 2,000 requests {begin} KiB, after 6,000 more {end} KiB")
        self.assertLess(end, begin * 1.1 + 2000)

    def resident_after(self, child, count):
        until, replies, broken, threads = self.clients()
        while len(replies) < count and not broken:
            time.sleep(0.01)
        until.set()
        for thread in threads:
            thread.join()
        self.assertEqual(broken, [])
        with open(f"/proc/{child.pid}/status", encoding="ascii") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))


if __name__ == "__main__":
    unittest.main()
