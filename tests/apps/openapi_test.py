"""/openapi.json: it is valid, and every route, status and field in it is met here, and nothing that is not in it."""
import json
import socket
import subprocess
import threading
import time
import unittest

import packages
from bad_input_test import pdf
from cli import SOURCE, TINY_MODEL, model_folder
from described import Described
from serving import ServerTest

API = json.loads((SOURCE / "apps" / "server" / "files" / "openapi.json").read_text(encoding="utf-8"))
EVIDENCE = Described({"evidence": json.loads((SOURCE / "docs" / "evidence.schema.json").read_text(encoding="utf-8"))})
CERTIFICATE = SOURCE / "tests" / "golden" / "certificates" / "voting.json"
PUBLIC_KEY = (CERTIFICATE.parent / "key.pub").read_text(encoding="ascii").strip().split(":")[-1]
# Met where some operation gives them: a queue that is full and work that takes too long are the same code on every one.
SHARED_STATUSES = ("503", "504")
MASKING = "ragmask{mask_length_tokens: 1, delta: 0, text_out: sanitised}"
CHAT = {"model": "casemate", "max_tokens": 40, "max_completion_tokens": 40, "messages": [{"role": "user", "content": "When does the ferry leave?"}]}
PASSAGES = {"question": "When does the ferry leave?", "passages": ["At six.", {"id": "b", "title": "Table", "text": "At six o'clock."}]}


class Recorded(ServerTest):
    """Every request and reply of a test is held against the description."""

    def setUp(self):
        super().setUp()
        self.described = Described(API)

    def send(self, method, path, body=None, **options):
        reply = super().send(method, path, body, **options)
        operation = self.described.operation(method, path)
        if operation is None:
            return reply
        media_type = reply.headers["Content-Type"].split(";")[0]
        pointer, wrong = self.described.check_status(operation, reply.status, media_type)
        if pointer and media_type == "application/json":
            wrong += self.described.check(reply.json(), pointer)
        elif pointer and media_type == "text/event-stream":
            events = [event.removeprefix("data: ") for event in reply.body.decode().split("\n\n") if event]
            self.assertEqual(events[-1], "[DONE]")
            for event in events[:-1]:
                wrong += self.described.check(json.loads(event), "#/components/schemas/ChatChunk")
        if reply.status < 300:
            wrong += self.check_request(operation, path, body, options.get("Content_Type", "application/json"))
        self.assertEqual(wrong, [], f"{method} {path}")
        return reply

    def check_request(self, operation, path, body, kind):
        about, wrong = self.described.resolve(operation)[0], []
        for i, parameter in enumerate(about.get("parameters", ())):
            if parameter["in"] == "path" or parameter["name"] + "=" in path:
                self.described.met.add(f"{operation}/parameters/{i}")
        if body is None:
            return wrong
        if kind == "application/x-ndjson":
            for line in body.splitlines():
                wrong += self.described.check(json.loads(line), "#/components/schemas/NewDocument")
            return wrong
        return self.described.check(body, f"{operation}/requestBody/content/application~1json/schema")


class Valid(ServerTest):
    def test_it_is_valid_openapi(self):
        python = packages.python_with(self, "openapi-spec-validator")
        self.serve(store=False)
        for name, text in (("file", json.dumps(API)), ("served", self.send("GET", "/openapi.json").body.decode())):
            file = self.root / f"{name}.json"
            file.write_text(text, encoding="utf-8")
            done = subprocess.run([python, "-m", "openapi_spec_validator", file], capture_output=True, text=True, timeout=120)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_the_server_sends_the_file(self):
        self.serve(store=False)
        served = self.get("/openapi.json")
        self.assertNotIn("@", served["info"]["version"])
        self.assertTrue({**served, "info": None} == {**API, "info": None}, "the program was built from another file")

    def test_its_examples_are_what_it_describes(self):
        described = Described(API)
        for path, methods in API["paths"].items():
            for method, about in methods.items():
                for kind, body in about.get("requestBody", {}).get("content", {}).items():
                    pointer = f"#/paths/{path.replace('/', '~1')}/{method}/requestBody/content/{kind.replace('/', '~1')}/schema"
                    values = [body["example"]]
                    if kind == "application/x-ndjson":
                        pointer, values = "#/components/schemas/NewDocument", map(json.loads, body["example"].splitlines())
                    for value in values:
                        self.assertEqual(described.differences(value, pointer, set()), [], path)


class Exercised(Recorded):
    def test_all_of_it(self):
        self.with_a_model()
        self.with_a_store()
        self.errors_without_keys()
        self.errors_with_keys()
        self.overloaded()
        self.gone_on_without_a_stage()
        # What stands in the passages' place needs a model that reads attention: tests/apps/leakage_test.py looks at it.
        parts_of_others = {"#/components/schemas/Evidence/properties/sanitizer"}
        excused = set() if self.with_a_model_in_process() else {
            "#/components/schemas/AnswerGroup/properties/agreement", "#/components/schemas/Answer/properties/certified/properties/claim"}
        parts = self.described.parts()
        self.assertGreater(len(parts), 200)
        missing = parts - self.described.met - excused - parts_of_others
        for status in SHARED_STATUSES:
            ones = {part for part in parts if part.endswith(f"/responses/{status}")}
            if ones & self.described.met:
                missing -= ones
        self.assertEqual(sorted(missing), [], "described, and never met")

    def with_a_store(self):
        self.write("t.pdf", pdf())
        self.write("c.jsonl", '{"_id": "one", "title": "T", "text": "a gull on the quay"}\n')
        self.index()
        key = self.root / "owner"
        self.run_program("seal", self.store, "--new-key", key, code=0)
        self.serve("--policy", "off,off-hybrid", "--defence", MASKING, model=self.fake_model())
        for path in ("/health", "/ready", "/metrics", "/docs", "/openapi.json", "/v1/models", "/v1/policy"):
            self.assertEqual(self.send("GET", path).status, 200)
        pages = self.post("/v1/retrieve", {"query": "ferry gull", "mode": "hybrid", "top_k": 9, "policy": "off-hybrid", "explain": True,
                                           "filter": {"none_of": ["board"]}})
        self.assertTrue(any(hit.get("sanitised") for hit in pages["hits"]), pages)
        self.post("/v1/retrieve", {"query": "ferry", "filter": {"any_of": ["pier"], "all_of": ["pier"]}})
        self.post("/v1/chat/completions", {**CHAT, "casemate": {
            "policy": "off-hybrid", "top_k": 2, "filter": {"none_of": ["x"]}, "options": ["six", "seven"]}})
        self.send("POST", "/v1/chat/completions", {**CHAT, "stream": True, "stream_options": {"include_usage": True}})
        self.post("/v1/chat/completions", {"model": "casemate", "messages": [
            {"role": "user", "content": [{"type": "text", "text": "When does the ferry leave?"}]}]})
        model = self.get("/v1/models")["data"][-1]["id"]
        self.post("/v1/embeddings", {"model": model, "input": "ferry", "input_type": "query"})
        self.post("/v1/embeddings", {"model": model, "input": ["ferry"], "encoding_format": "base64"})
        self.assertEqual(self.upload([{"id": "new/x", "text": "the pier", "title": "T", "metadata": {"a": 1}}], labels=["pier"])["added"], 1)
        line = b'{"id": "line", "text": "a rope"}\n'
        self.post("/v1/documents?labels=quay", line, status=202, Content_Type="application/x-ndjson")
        self.get("/v1/documents?limit=1&after=a")
        self.get("/v1/documents/new%2Fx")
        self.get("/v1/jobs")
        self.assertEqual(self.send("DELETE", "/v1/documents/new%2Fx").status, 200)
        for path in ("/v1/documents/none", "/v1/jobs/none"):
            self.get(path, status=404)
        self.assertEqual(self.send("DELETE", "/v1/documents/none").status, 404)
        self.assertEqual(self.send("GET", "/v1/documents?limit=0").status, 400)
        self.assertEqual(self.send("PUT", "/v1/policy", {"policy": "off"}).status, 200)
        self.assertEqual(self.send("PUT", "/v1/policy", {"policy": "fast"}).status, 404)
        for path, body in (("/v1/retrieve", {"query": "x", "policy": "fast"}), ("/v1/chat/completions", {**CHAT, "model": "x"}),
                           ("/v1/embeddings", {"model": "x", "input": "x"}), ("/v1/screen", {"query": "x", "candidates": [], "policy": "x"})):
            self.post(path, body, status=404)
        # A job whose store cannot be written fails, and says so.
        shared = self.root / "store.away"
        self.store.rename(shared)
        job = self.post("/v1/documents", {"documents": [{"id": "x", "text": "y"}]}, status=202)
        deadline = time.monotonic() + 30
        while self.get("/v1/jobs/" + job["id"])["state"] != "failed" and time.monotonic() < deadline:
            time.sleep(0.02)
        shared.rename(self.store)
        self.assertTrue(self.get("/v1/jobs/" + job["id"])["error"]["message"])

    def with_a_model(self):
        """What needs no store."""
        self.serve(store=False)
        self.post("/v1/answer", PASSAGES, status=404)
        self.serve("--encoder", TINY_MODEL, "--defence", "suppression", model=self.fake_model(answer="B [1]"), store=False)
        self.post("/v1/screen", {"query": "ferry", "candidates": [{"id": "a", "text": "the ferry"}], "top_k": 1, "policy": "off"})
        self.post("/v1/screen", {"query": "ferry", "query_embedding": [1, 0], "candidates": [
            {"id": "a", "text": "the ferry", "score": 0.5, "embedding": [1, 1]}]})
        self.post("/v1/answer", {**PASSAGES, "method": "vanilla", "max_new_tokens": 20})
        self.post("/v1/answer", {**PASSAGES, "method": "voting", "options": ["six", "seven"], "group_size": 1, "certify": True})
        self.post("/v1/answer", {**PASSAGES, "method": "keyword", "long": True})
        text = CERTIFICATE.read_text(encoding="utf-8")
        self.post("/v1/verify", {"certificate": text, "public_key": PUBLIC_KEY})
        self.post("/v1/verify", {"certificate": json.loads(text)})
        self.post("/v1/verify", {"certificate": text.replace('"casemate_certificate":2', '"casemate_certificate":99', 1)}, status=409)

    def with_a_model_in_process(self):
        """Decoding and certificates need a model's probabilities."""
        folder = model_folder("smollm2-135m-instruct-q4_1")
        if folder is None:
            print("without smollm2-135m-instruct-q4_1 no answer by decoding is met")
            return False
        self.serve("--context", "1024", "--threads", "1", gguf=next(folder.glob("*.gguf")), store=False)
        # One passage told seven times: one that is replaced is outvoted.
        answer = self.post("/v1/answer", {**PASSAGES, "passages": ["The ferry leaves at six."] * 7, "method": "decoding",
                                          "certify": True, "max_new_tokens": 4})
        return "agreement" in answer["groups"][0]

    def operations(self):
        for path, methods in API["paths"].items():
            for method, about in methods.items():
                yield method.upper(), path.replace("{id}", "none"), about

    def errors_without_keys(self):
        self.serve(model=self.fake_model())
        self.with_broken_bodies()
        for method, path, about in self.operations():
            if "403" in about["responses"]:
                body = {} if "requestBody" in about else None
                self.assertEqual(self.send(method, path, body, Host="evil.example").status, 403, path)

    def with_broken_bodies(self):
        for method, path, about in self.operations():
            if "requestBody" not in about:
                continue
            replies = {"400": self.send(method, path, b"{"), "415": self.send(method, path, b"{}", Content_Type="text/plain")}
            replies["413"] = self.too_large(method, path)
            for status, reply in replies.items():
                if reply is not None:
                    self.assertEqual(str(reply.status), status, path)

    def too_large(self, method, path):
        """A length is refused by itself: nothing of the body is sent."""
        head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9999999999\r\n\r\n"
        status = int(self.raw(head.encode()).split()[1])
        _, wrong = self.described.check_status(self.described.operation(method, path), status, "application/json")
        self.assertEqual((status, wrong), (413, []), path)

    def errors_with_keys(self):
        reader, once = self.key("reader"), self.key("once", "--role", "admin")
        self.serve("--address", "0.0.0.0", "--requests-per-minute", "1", model=self.fake_model())
        for method, path, about in self.operations():
            body = {} if "requestBody" in about else None
            if "401" in about["responses"]:
                self.assertEqual(self.send(method, path, body, key="cm-no-key").status, 401, path)
            if "429" in about["responses"]:
                self.send(method, path, body, key=once)
                self.assertEqual(self.send(method, path, body, key=once).status, 429, path)
        self.refused(self.send("DELETE", "/v1/documents/x", key=reader), 403)
        self.as_a_protected_reader(reader)

    def as_a_protected_reader(self, reader):
        """What is hidden keeps the described form, that of evidence.schema.json included."""
        self.serve("--guard", "stop", "--defence", "suppression", model=self.fake_model())
        for more in ({}, {"casemate": {"options": ["six", "seven"]}}):
            about = self.send("POST", "/v1/chat/completions", {**CHAT, **more}, key=reader).json()["casemate"]
            self.assertEqual(about["withheld"], [])
            self.assertEqual(EVIDENCE.differences(about["evidence"], "#/evidence", set()), [])
        self.send("POST", "/v1/chat/completions", {**CHAT, "stream": True}, key=reader)
        self.send("POST", "/v1/answer", {**PASSAGES, "method": "keyword"}, key=reader)
        self.assertIsNone(self.get("/v1/documents", key=reader)["data"][0]["title"])

    def overloaded(self):
        for name in ("reader", "once"):
            self.run_program("keys", "revoke", name, "--store", self.store, code=0)
        self.store_without_keys()
        self.serve("--model-requests", "1", "--model-queue", "1", "--request-timeout-ms", "700", model=self.fake_model(delay=0.3))
        replies = []
        threads = [threading.Thread(target=lambda: replies.append(self.send("POST", "/v1/chat/completions", CHAT).status))
                   for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(set(replies), {503, 504})

    def gone_on_without_a_stage(self):
        self.serve("--defence", "consistency", "--fail-open", "consistency")
        self.assertEqual(len(self.post("/v1/retrieve", {"query": "ferry"})["evidence"]["degraded"]), 1)

    def store_without_keys(self):
        for file in self.store.glob("keys.db*"):
            file.unlink()


if __name__ == "__main__":
    unittest.main()
