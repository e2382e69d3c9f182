"""Faults that attacks on the server once found, each as a test of what must be."""
import http.client
import os
import resource
import socket
import time
import unittest

from serving import ServerTest


class Faults(ServerTest):
    def setUp(self):
        super().setUp()
        self.write("a.txt", "the ferry waits for the tide")
        self.index()

    def test_a_body_of_many_fields_is_refused_in_time(self):
        """800 KB, and seconds of work: the time grows with the square of the number of fields, whatever the deadline."""
        self.serve("--request-timeout-ms", "1500")
        wide = b'{"query": "x"' + b"".join(b', "f%d": 1' % i for i in range(60_000)) + b"}"
        self.refused(self.send("POST", "/v1/retrieve", wide), 400)

    def test_documents_come_after_a_policy_was_prepared(self):
        """A new store prepares ragpart{}; the policy's ragpart{fragments: 5, combination: 3} is the same kind of vectors."""
        self.run_program("prepare", self.store, "--policy", "fast", code=0)
        self.serve("--policy", "fast")
        self.assertEqual(self.upload([{"id": "b", "text": "a gull"}])["added"], 1)

    def test_head_has_no_body(self):
        """What follows the head of a reply to HEAD is read as the next reply: a proxy would give it to somebody else."""
        self.serve()
        out = self.raw(b"HEAD /health HTTP/1.1\r\nHost: localhost\r\n\r\nGET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        after = out.split(b"\r\n\r\n", 1)[1]
        self.assertTrue(after == b"" or after.startswith(b"HTTP/1.1 "), after)

    def test_two_hosts_are_refused(self):
        """The first one is looked at; what stands before the server may go by the second."""
        self.serve()
        out = self.raw(b"GET /v1/policy HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\nConnection: close\r\n\r\n")
        self.assertTrue(out.startswith(b"HTTP/1.1 400 "), out[:100])

    def test_an_encoded_slash_is_no_slash(self):
        """A proxy that keeps clients from /metrics or /v1/policy by their names lets these through."""
        self.serve()
        for path in ("/v1%2fpolicy", "/%6detrics"):
            self.assertIn(self.send("GET", path).status, (400, 404), path)

    def test_errors_name_no_folder_of_the_server(self):
        self.run_program("seal", "--new-key", self.root / "owner", code=0)
        self.index("--trusted", "--tenant", "north")
        self.run_program("seal", self.store, "--key", self.root / "owner", "--tenant", "north", code=0)
        key = self.key("k", "--tenant", "south")
        self.serve("--defence", "fingerprint")
        reply = self.send("POST", "/v1/screen", {"query": "q", "candidates": [{"id": "a", "text": "the ferry"}]}, key=key)
        self.assertEqual(reply.status, 400)
        self.assertNotIn(str(self.root), reply.body.decode())

    def test_hits_name_no_folder_of_the_server(self):
        key = self.key("k")
        self.serve()
        self.assertNotIn(str(self.root), self.send("POST", "/v1/retrieve", {"query": "ferry"}, key=key).body.decode())

    def test_idle_connections_leave_descriptors_for_the_store(self):
        """Usual limits are 1,024 descriptors and --max-connections 1,024."""
        child = self.serve()
        resource.prlimit(child.pid, resource.RLIMIT_NOFILE, (len(os.listdir(f"/proc/{child.pid}/fd")) + 10, 4096))
        asking = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        asking.request("GET", "/health")
        asking.getresponse().read()
        idle = [socket.create_connection(("127.0.0.1", self.port), timeout=30) for _ in range(30)]
        time.sleep(0.3)
        asking.request("DELETE", "/v1/documents/a.txt")
        status = asking.getresponse().status
        for connection in (*idle, asking):
            connection.close()
        self.assertEqual(status, 200)

    def test_two_servers_do_not_write_one_audit(self):
        audit = self.root / "audit.jsonl"
        self.serve("--audit", audit)
        second = self.start("serve", self.store, "--no-model", "--port", "0", "--audit", audit)
        self.addCleanup(second.communicate)
        self.addCleanup(second.terminate)
        self.assertNotIn(b"serving on", second.stderr.readline())

    def test_an_administrator_of_one_tenant_leaves_the_others_policy(self):
        north, south = (self.key(name, "--tenant", name, "--role", "admin") for name in ("north", "south"))
        self.serve("--policy", "fast,off")
        before = self.get("/v1/policy", key=north)["policy"]
        self.send("PUT", "/v1/policy", {"policy": "off"}, key=south)
        self.assertEqual(self.get("/v1/policy", key=north)["policy"], before)

    def test_one_tenants_uploads_leave_the_others_jobs(self):
        north, south = (self.key(name, "--tenant", name, "--role", "writer") for name in ("north", "south"))
        self.serve("--requests-per-minute", "0")
        document = {"documents": [{"id": "x", "text": "y"}]}
        job = self.post("/v1/documents", document, status=202, key=north)["id"]
        taken = 0
        while taken < 1001:
            taken += self.send("POST", "/v1/documents", document, key=south).status == 202
        self.assertEqual(self.send("GET", "/v1/jobs/" + job, key=north).status, 200)

    def test_a_reader_does_not_see_what_all_tenants_do(self):
        reader = self.key("reader", "--tenant", "south")
        self.serve("--address", "0.0.0.0")
        self.assertEqual(self.send("GET", "/metrics", key=reader).status, 403)


if __name__ == "__main__":
    unittest.main()
