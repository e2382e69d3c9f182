"""Keys, roles, tenants and labels: what one key sees, another does not, by any address."""
import time
import unittest

from serving import ServerTest

SECRET = "the password of the vault is heron"


class Keys(ServerTest):
    def setUp(self):
        super().setUp()
        self.write("a.txt", "the ferry waits for the tide")
        self.index("--tenant", "north")
        self.reader = self.key("reader", "--tenant", "north")
        self.writer = self.key("writer", "--tenant", "north", "--role", "writer")
        self.admin = self.key("admin", "--tenant", "north", "--role", "admin")

    def test_a_key_is_needed_once_there_is_one(self):
        self.serve()
        for key in (None, "", "cm-", self.reader[:-1], self.reader[:-1] + ("0" if self.reader[-1] != "0" else "1"), "x" * 5000):
            reply = self.send("POST", "/v1/retrieve", {"query": "ferry"}, key=key)
            self.refused(reply, 401, code="invalid_api_key")
            self.assertEqual(reply.headers["WWW-Authenticate"], "Bearer")
        self.assertEqual(self.retrieved("ferry", key=self.reader), ["a.txt"])
        self.get("/health")
        self.assertEqual(self.send("GET", "/metrics").status, 200)  # on the loopback address

    def test_keys_are_kept_as_hashes_and_revoked_at_once(self):
        self.serve()
        kept = (self.store / "keys.db").read_bytes()
        self.assertNotIn(self.reader.encode(), kept)
        self.assertNotIn(self.reader.split("-")[2].encode(), kept)
        self.assertEqual((self.store / "keys.db").stat().st_mode & 0o777, 0o600)
        self.retrieved("ferry", key=self.reader)
        self.run_program("keys", "revoke", "reader", "--store", self.store, code=0)
        self.refused(self.send("POST", "/v1/retrieve", {"query": "ferry"}, key=self.reader), 401)
        listed = self.run_program("keys", "list", "--store", self.store, "--json", code=0).json()
        self.assertEqual([key["revoked_at"] is None for key in listed], [False, True, True])
        for name in ("writer", "admin"):
            self.run_program("keys", "revoke", name, "--store", self.store, code=0)
        # Without a valid key left, the server is closed and not open.
        self.refused(self.send("POST", "/v1/retrieve", {"query": "ferry"}), 401)
        self.run_program("keys", "revoke", "admin", "--store", self.store, code=2)

    def test_the_same_name_twice_and_wrong_values_are_refused(self):
        self.run_program("keys", "add", "reader", "--store", self.store, code=2)
        self.run_program("keys", "add", "x", "--store", self.store, "--role", "king", code=2)
        self.run_program("keys", "add", "x\n", "--store", self.store, code=2)
        self.run_program("keys", "add", "x", "--store", self.root / "nothing", code=2)
        self.run_program("keys", "add", "x", code=2)
        self.assertFalse((self.root / "nothing").exists())

    def test_roles_reach_as_far_as_they_say(self):
        self.serve("--policy", "off,off-hybrid")
        document = {"documents": [{"id": "b", "text": "a gull"}]}
        self.refused(self.send("POST", "/v1/documents", document, key=self.reader), 403)
        self.refused(self.send("DELETE", "/v1/documents/a.txt", key=self.reader), 403)
        self.refused(self.send("GET", "/v1/jobs", key=self.reader), 403)
        self.refused(self.send("PUT", "/v1/policy", {"policy": "off"}, key=self.writer), 403)
        self.assertEqual(self.send("POST", "/v1/documents", document, key=self.writer).status, 202)
        self.assertEqual(self.send("PUT", "/v1/policy", {"policy": "off"}, key=self.admin).status, 200)

    def test_raw_scores_are_for_roles_that_may(self):
        self.serve("--defence", "suppression")
        body = {"query": "ferry", "mode": "hybrid"}
        seen = self.send("POST", "/v1/retrieve", body, key=self.writer).body.decode()
        hidden = self.send("POST", "/v1/retrieve", body, key=self.reader).body.decode()
        for name in ('"score":', '"dense":', '"bm25":'):
            self.assertIn(name, seen)
            self.assertNotIn(name, hidden)
        self.assertIn('"rank"', hidden)
        self.assertIn('"decision"', hidden)

    def test_no_address_tells_one_tenant_about_another(self):
        south = self.key("south", "--tenant", "south", "--role", "admin")
        self.serve("--policy", "off,off-hybrid")
        job = self.post("/v1/documents", {"documents": [{"id": "secret-id", "text": SECRET}]}, status=202, key=self.writer)
        deadline = time.monotonic() + 30
        while self.get("/v1/jobs/" + job["id"], key=self.writer)["state"] != "done" and time.monotonic() < deadline:
            time.sleep(0.02)
        self.assertEqual(self.retrieved("heron vault", key=self.reader), ["secret-id"])
        self.upload([{"id": "own", "text": "the vault of the south"}], key=south)
        for mode in ("bm25", "dense", "hybrid"):
            body = {"query": "heron vault", "mode": mode, "top_k": 100, "explain": True}
            reply = self.send("POST", "/v1/retrieve", body, key=south)
            self.assertEqual(reply.status, 200, reply.body)
            for word in (b"heron", b"secret-id"):
                self.assertNotIn(word, reply.body.replace(b'"query":"heron vault"', b""))
            self.assertEqual([hit["document"] for hit in reply.json()["hits"]], ["own"])
            self.assertEqual(reply.json()["evidence"]["stages"][0]["passages_in"], 1)
        self.assertEqual([each["id"] for each in self.get("/v1/documents", key=south)["data"]], ["own"])
        never = self.send("GET", "/v1/documents/never-there", key=south)
        there = self.send("GET", "/v1/documents/secret-id", key=south)
        self.assertEqual((never.status, never.body), (404, there.body))
        self.refused(self.send("DELETE", "/v1/documents/secret-id", key=south), 404)
        self.refused(self.send("GET", "/v1/jobs/" + job["id"], key=south), 404)
        self.assertNotIn(job["id"], self.send("GET", "/v1/jobs", key=south).body.decode())
        # An upload with another tenant's id is a document of its own.
        self.assertEqual(self.upload([{"id": "secret-id", "text": "mine"}], key=south)["added"], 1)
        self.assertEqual(self.retrieved("heron", key=self.reader), ["secret-id"])
        # A tenant in a request is no field.
        self.refused(self.send("POST", "/v1/retrieve", {"query": "x", "tenant": "north"}, key=south), 400, "tenant")

    def test_labels_of_a_key_cannot_be_asked_away(self):
        self.serve()
        self.upload([{"id": "open", "text": "the open pier"}], labels=["public"], key=self.writer)
        self.upload([{"id": "closed", "text": "the closed pier"}], labels=["board"], key=self.writer)
        public = self.key("public", "--tenant", "north", "--role", "writer", "--label", "public")
        self.assertEqual(sorted(self.retrieved("pier", key=self.writer)), ["closed", "open"])
        self.assertEqual(self.retrieved("pier", key=public), ["open"])
        for wanted in (["board"], [], ["board", "public"]):
            found = self.retrieved("pier", key=public, filter={"any_of": wanted})
            self.assertEqual(found, ["open"] if "public" in wanted else [])
        self.assertEqual([each["id"] for each in self.get("/v1/documents", key=public)["data"]], ["open"])
        self.refused(self.send("GET", "/v1/documents/closed", key=public), 404)
        self.refused(self.send("DELETE", "/v1/documents/closed", key=public), 404)
        self.refused(self.send("POST", "/v1/documents", {"documents": [{"id": "n", "text": "x"}], "labels": ["board"]}, key=public), 403)
        self.assertEqual(self.upload([{"id": "closed", "text": "the forged pier"}], key=public)["refused"], 1)
        self.assertEqual(self.retrieved("forged", key=self.writer), [])
        self.assertEqual(self.get("/v1/documents/closed", key=self.writer)["labels"], ["board"])

    def test_a_key_has_its_rate(self):
        self.serve("--requests-per-minute", "3")
        replies = [self.send("GET", "/v1/policy", key=self.reader) for _ in range(4)]
        self.assertEqual([each.status for each in replies], [200, 200, 200, 429])
        self.refused(replies[-1], 429)
        self.assertGreater(int(replies[-1].headers["Retry-After"]), 0)
        self.assertEqual(self.send("GET", "/v1/policy", key=self.writer).status, 200)  # another key has its own


class Help(ServerTest):
    def test_commands_name_their_options(self):
        for command, options in {"serve": "--address --port --policy --no-model --read-only --keys --audit --scores-for --model-queue",
                                 "keys add": "--store --role --tenant --label", "keys list": "--store", "keys revoke": "--store",
                                 "audit verify": "--key"}.items():
            out = self.run_program(*command.split(), "--help", code=0).out
            for option in options.split():
                self.assertRegex(out, rf"(?m)^ +{option}\b")


class Exposure(ServerTest):
    def test_other_machines_are_let_in_with_keys_only(self):
        self.write("a.txt", "the ferry")
        self.index()
        done = self.run_program("serve", self.store, "--no-model", "--address", "0.0.0.0", "--port", "0", code=2)
        self.assertIn("casemate keys add", done.err)
        self.run_program("serve", self.store, "--no-model", "--address", "example.org", code=2)
        key = self.key("k")
        self.serve("--address", "0.0.0.0")
        self.refused(self.send("GET", "/metrics"), 401)
        self.refused(self.send("GET", "/docs"), 401)
        self.assertEqual(self.send("GET", "/metrics", key=key).status, 403)  # everyone's figures are the operator's
        self.assertEqual(self.send("GET", "/metrics", key=self.key("operator", "--role", "admin")).status, 200)
        self.assertEqual(self.get("/health"), {"status": "ok"})

    def test_a_page_in_a_browser_does_not_get_in(self):
        self.write("a.txt", "the ferry")
        self.index()
        self.serve()
        self.refused(self.send("POST", "/v1/retrieve", {"query": "ferry"}, Host="evil.example"), 403)
        for kind in ("text/plain", "application/x-www-form-urlencoded"):  # what a page may send without asking
            self.refused(self.send("POST", "/v1/retrieve", {"query": "ferry"}, Content_Type=kind), 415)
        for host in ("localhost:1", "127.0.0.1", "[::1]:8080"):
            self.assertEqual(self.send("POST", "/v1/retrieve", {"query": "ferry"}, Host=host).status, 200)


if __name__ == "__main__":
    unittest.main()
