"""The server's routes, driven over HTTP."""
import http.client
import json
import os
import pathlib
import shutil
import signal
import subprocess
import threading
import time
import unittest

import packages
from cli import model_folder
from serving import ServerTest

SMALL = "smollm2-135m-instruct-q4_1"
FERRIES = {f"ferry{n}.txt": f"The ferry to {island} leaves at {hour}." for n, (island, hour) in enumerate(
    [("Sark", "six"), ("Herm", "seven"), ("Lihou", "eight"), ("Alderney", "nine")])}


class Served(ServerTest):
    def setUp(self):
        super().setUp()
        for name, text in FERRIES.items():
            self.write(name, text)
        self.index()


class Routes(Served):
    def test_what_needs_no_model(self):
        self.serve("--policy", "off,off-hybrid")
        self.assertEqual(self.get("/health"), {"status": "ok"})
        self.assertTrue(self.get("/ready")["ready"])
        result = self.post("/v1/retrieve", {"query": "the ferry to Herm", "top_k": 2})
        command_line = self.search("the ferry to Herm", "--top-k", 2, mode="dense")
        for hit in command_line["hits"]:  # over HTTP no folder of the server is named
            hit["source"]["path"] = pathlib.Path(hit["source"]["path"]).name
        self.assertEqual(result["hits"], command_line["hits"])
        self.assertEqual(result["evidence"], command_line["evidence"])
        self.assertRegex(result["trace_id"], "^[0-9a-f]{32}$")
        # What a caller traces stays traceable.
        trace = "4bf92f3577b34da6a3ce929d0e0e4736"
        traced = self.post("/v1/retrieve", {"query": "ferry"}, traceparent=f"00-{trace}-00f067aa0ba902b7-01")
        self.assertEqual(traced["trace_id"], trace)
        metrics = self.send("GET", "/metrics").body.decode()
        self.assertIn('casemate_requests_total{route="/v1/retrieve",status="200"} 2', metrics)
        self.assertIn(b"<html", self.send("GET", "/docs").body)
        self.refused(self.send("POST", "/v1/chat/completions", {"model": "casemate", "messages": [
            {"role": "user", "content": "x"}]}), 404)

    def test_the_description_names_the_addresses_that_there_are(self):
        self.serve()
        api = self.get("/openapi.json")
        self.assertEqual(api["openapi"], "3.1.0")
        for path, methods in api["paths"].items():
            # A method that no address has tells which ones it has.
            reply = self.send("PATCH", path.replace("{id}", "x"))
            self.refused(reply, 405)
            self.assertEqual(set(reply.headers["Allow"].lower().split(", ")), set(methods), path)
        self.refused(self.send("GET", "/v1/nothing"), 404)

    def test_the_default_policy_changes_among_those_configured(self):
        self.serve("--policy", "off,off-hybrid")
        query = {"query": "ferry"}
        self.assertEqual(self.post("/v1/retrieve", query)["policy"], "off-2026-11")
        self.assertEqual(self.post("/v1/retrieve", {**query, "policy": "off-hybrid"})["policy"], "off-hybrid-2026-11")
        self.refused(self.send("POST", "/v1/retrieve", {**query, "policy": "fast"}), 404)
        self.assertEqual(self.send("PUT", "/v1/policy", {"policy": "off-hybrid"}).json()["policy"], "off-hybrid-2026-11")
        self.assertEqual(self.post("/v1/retrieve", query)["policy"], "off-hybrid-2026-11")
        self.refused(self.send("PUT", "/v1/policy", {"policy": "fast"}), 404)

    def test_a_hang_up_reads_the_default_policy_again(self):
        config = self.root / "casemate.yaml"
        config.write_text("serve:\n  policy: [off, off-hybrid]\n")
        child = self.serve("--config", config)
        policy = lambda: self.get("/v1/policy")["policy"]
        self.assertEqual(policy(), "off-2026-11")
        for text, expected in (("serve: {policy: off-hybrid}", "off-hybrid-2026-11"), ("serve: {policy: [off]}", "off-2026-11"),
                               ("serve: {policy: fast}", "off-2026-11"), ("serve: [", "off-2026-11")):
            config.write_text(text)
            lines = len(child.log)
            child.send_signal(signal.SIGHUP)
            deadline = time.monotonic() + 10
            while len(child.log) == lines and time.monotonic() < deadline:
                time.sleep(0.01)
            self.assertEqual(policy(), expected)
        # Without a policy in the file what was chosen since stays, although an earlier file had named one.
        self.send("PUT", "/v1/policy", {"policy": "off-hybrid"})
        config.write_text("serve: {max_top_k: 50}")
        lines = len(child.log)
        child.send_signal(signal.SIGHUP)
        deadline = time.monotonic() + 10
        while len(child.log) == lines and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertIn(b'"reloaded"', child.log[-1])
        self.assertEqual(policy(), "off-hybrid-2026-11")

    def test_notes_of_a_damaged_store_do_not_say_where_it_lies(self):
        for segment in self.store.glob("segments/*.seg"):
            content = bytearray(segment.read_bytes())
            content[-20] ^= 0x40
            segment.write_bytes(content)
        self.serve()
        found = self.post("/v1/retrieve", {"query": "ferry", "mode": "hybrid"})
        self.assertIn("is damaged", json.dumps(found["evidence"]))
        self.assertIn("STORE/", json.dumps(found["evidence"]))
        self.assertNotIn(str(self.root), json.dumps(found))

    def test_documents_come_and_go(self):
        self.serve()
        result = self.upload([{"id": "new/a b", "text": "The tide table hangs at the pier.", "title": "T"},
                              {"id": "blank", "text": " "}], labels=["pier"])
        self.assertEqual((result["added"], len(result["problems"])), (1, 1))
        self.assertEqual(self.retrieved("tide table"), ["new/a b"])
        self.assertEqual(self.retrieved("tide table", filter={"any_of": ["pier"]}), ["new/a b"])
        self.assertEqual(self.retrieved("tide table", filter={"none_of": ["pier"]}), [])
        self.assertEqual(self.get("/v1/documents/new%2Fa%20b")["labels"], ["pier"])
        first = self.get("/v1/documents?limit=3")
        self.assertEqual((len(first["data"]), first["has_more"]), (3, True))
        rest = self.get("/v1/documents?limit=3&after=" + first["data"][-1]["id"])
        self.assertEqual([each["id"] for each in rest["data"]], ["ferry3.txt", "new/a b"])
        lines = b'{"id": "x", "text": "a lamp on the quay"}\n\n{"id": "y", "text": "a rope on the quay"}\n'
        job = self.post("/v1/documents?labels=quay,pier", lines, status=202, Content_Type="application/x-ndjson")
        self.assertEqual(job["documents"], 2)
        # The command line writes to the same store while it is served.
        deadline = time.monotonic() + 30
        while self.get("/v1/jobs/" + job["id"])["state"] != "done" and time.monotonic() < deadline:
            time.sleep(0.02)
        self.assertEqual(sorted(self.retrieved("quay", filter={"all_of": ["quay", "pier"]})), ["x", "y"])
        self.assertTrue(self.send("DELETE", "/v1/documents/new/a%20b").json()["deleted"])
        self.refused(self.send("DELETE", "/v1/documents/new/a%20b"), 404)
        self.assertEqual(self.retrieved("tide table"), [])
        self.write("cli.txt", "a gull on the mast")
        self.index()
        deadline = time.monotonic() + 30
        while self.retrieved("gull") != ["cli.txt"] and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertEqual(self.retrieved("gull"), ["cli.txt"])

    def test_candidates_of_another_retriever_are_screened_without_a_store(self):
        self.serve("--encoder", os.environ["CASEMATE_TINY_MODEL"], "--defence", "suppression{max_cosine: 0.99}", store=False)
        rows = {"a": [1, 0], "b": [0.9999, 0.0141], "c": [0, 2]}
        candidates = [{"id": name, "text": f"text {name}", "score": 1 - i / 10, "embedding": rows[name]}
                      for i, name in enumerate(rows)]
        body = {"query": "q", "query_embedding": [1, 1], "candidates": candidates[::-1], "top_k": 2}
        result = self.post("/v1/screen", body)
        self.assertEqual([each["id"] for each in result["passages"]], ["a", "c"])
        verdicts = {each["document"]: each for each in result["evidence"]["stages"][-1]["verdicts"]}
        self.assertEqual(verdicts["b"]["decision"], "dropped")
        self.assertEqual(body["candidates"][verdicts["b"]["copy_of"] - 1]["id"], "a")
        # The server's own encoder, where none are given: the same text twice.
        plain = [{"id": str(i), "text": text, "score": 1} for i, text in enumerate(["the ferry", "the ferry", "a gull"])]
        result = self.post("/v1/screen", {"query": "ferry", "candidates": plain})
        self.assertNotIn("1", [each["id"] for each in result["passages"]])
        del candidates[1]["embedding"]
        self.refused(self.send("POST", "/v1/screen", {**body, "candidates": candidates}), 400)
        self.refused(self.send("POST", "/v1/retrieve", {"query": "x"}), 400)
        self.assertEqual(self.post("/v1/screen", {"query": "q", "candidates": []})["passages"], [])

    def test_embeddings_are_those_of_the_command_line(self):
        self.serve()
        model = self.get("/v1/models")["data"][-1]["id"]
        self.write("texts", "the ferry waits\n")
        line = self.run_program("embed", self.docs / "texts", "--encoder", os.environ["CASEMATE_TINY_MODEL"], code=0).json_lines()[0]
        got = self.post("/v1/embeddings", {"model": model, "input": "the ferry waits"})["data"][0]["embedding"]
        self.assertEqual(len(got), len(line["embedding"]))
        for a, b in zip(got, line["embedding"]):
            self.assertAlmostEqual(a, b, places=5)
        self.refused(self.send("POST", "/v1/embeddings", {"model": "gpt-4o", "input": "x"}), 404, "model")
        self.refused(self.send("POST", "/v1/embeddings", {"model": model, "input": [1]}), 400, "input")


def chat(content="When does the ferry to Sark leave?", **more):
    return {"model": "casemate", "messages": [{"role": "user", "content": content}], **more}


class Answers(Served):
    def test_chat_has_its_sources_and_evidence(self):
        model = self.fake_model()
        self.serve(model=model)
        answer = self.post("/v1/chat/completions", chat())
        self.assertEqual(answer["choices"][0]["message"]["content"], model.answer)
        self.assertEqual(answer["choices"][0]["finish_reason"], "stop")
        about = answer["casemate"]
        self.assertEqual(about["policy"], "off-2026-11")
        self.assertTrue(about["sources"][0]["cited"])
        self.assertEqual([stage["stage"] for stage in about["evidence"]["stages"]], ["retrieve", "generate"])
        for wrong, param in ((chat(tools=[{}]), "tools"), (chat(n=2), "n"), (chat(stream="yes"), "stream"),
                             ({"model": "gpt-4o", "messages": [{"role": "user", "content": "x"}]}, None),
                             ({"model": "casemate"}, "messages"), ({"model": "casemate", "messages": []}, "messages"),
                             (chat(casemate={"top_n": 1}), "casemate.top_n")):
            reply = self.send("POST", "/v1/chat/completions", wrong)
            self.refused(reply, 404 if param is None else 400, param or "model")
        # Earlier turns go into a question that stands by itself.
        before = len(model.prompts)
        self.post("/v1/chat/completions", {"model": "casemate", "messages": [
            {"role": "user", "content": "Which ferry goes to Sark?"}, {"role": "assistant", "content": "ferry0"},
            {"role": "user", "content": "When does it leave?"}]})
        self.assertEqual(len(model.prompts), before + 2)
        self.assertIn("Which ferry goes to Sark?", json.dumps(model.prompts[before]))

    def test_a_defence_that_cannot_run_refuses_or_is_told_of(self):
        child = self.start("serve", self.store, "--no-model", "--port", "0", "--defence", "consistency")
        self.assertIn(b"needs a language model", child.communicate(timeout=60)[1])
        self.serve("--defence", "consistency", "--fail-open", "consistency")
        result = self.post("/v1/retrieve", {"query": "ferry"})
        self.assertEqual([each["stage"] for each in result["evidence"]["degraded"]], ["consistency"])
        self.assertIn('casemate_degraded_total{stage="consistency"} 1', self.send("GET", "/metrics").body.decode())
        self.run_program("serve", self.store, "--no-model", "--port", "0", "--fail-open", "consistancy", code=2)

    def test_system_messages_are_a_style_within_a_frame_and_answers_can_be_asked_to_be_short(self):
        model = self.fake_model()
        asked = {"model": "casemate", "max_tokens": 7, "messages": [
            {"role": "system", "content": "Answer like a pirate."}, {"role": "user", "content": "When does the ferry leave?"}]}
        for options, used in (((), True), (("--no-system-messages",), False)):
            self.serve(*options, model=model)
            self.post("/v1/chat/completions", asked)
            frame = json.dumps(model.prompts[-1][0])
            self.assertIn("Use only what the passages say", frame)
            self.assertEqual("like a pirate" in frame, used)
            self.assertEqual(model.limits[-1], 7)
        self.post("/v1/chat/completions", {**asked, "max_tokens": 100_000})
        self.assertEqual(model.limits[-1], 256)  # the policy's
        self.refused(self.send("POST", "/v1/chat/completions", {**asked, "max_tokens": 0}), 400, "max_tokens")

    def test_an_answer_from_passages_that_the_client_brings(self):
        model = self.fake_model(answer="B")
        self.serve(model=model, store=False)
        body = {"question": "When?", "passages": ["At seven.", {"id": "z", "text": "Seven."}], "method": "voting",
                "options": ["six", "seven"]}
        answer = self.post("/v1/answer", body)
        self.assertEqual((answer["answer"], [group["vote"] for group in answer["groups"]]), ("B", ["B", "B"]))
        self.assertEqual(answer["groups"][1]["passages"], ["z"])
        for change, param in (({"passages": []}, "passages"), ({"method": "x"}, "method"), ({"passages": [1]}, "passages[0]"),
                              ({"method": "vanilla", "certify": True}, "certify")):
            self.refused(self.send("POST", "/v1/answer", {**body, **change}), 400, param)

    def test_certificates_are_verified_as_clients_have_them(self):
        self.serve(store=False)
        stored = pathlib.Path(__file__).parent.parent / "golden" / "certificates"
        for file in sorted(stored.glob("*.json")):
            text = file.read_text(encoding="utf-8")
            for given in (text, json.loads(text)):  # the file's bytes, or the object that stood in an answer
                found = self.post("/v1/verify", {"certificate": given})
                self.assertTrue(found["holds"], file)
            self.assertTrue(self.post("/v1/verify", {"certificate": text, "public_key": found["public_key"]})["holds"])
            self.assertFalse(self.post("/v1/verify", {"certificate": text, "public_key": "00" * 32})["holds"])
        changed = text.replace('"margin":400000000', '"margin":400000001', 1)
        self.assertNotEqual(changed, text)
        self.assertFalse(self.post("/v1/verify", {"certificate": changed})["holds"])
        for wrong in ({}, "", "x", 1, None):
            self.refused(self.send("POST", "/v1/verify", {"certificate": wrong}), 400)
        self.refused(self.send("POST", "/v1/verify", {"certificate": text, "public_key": "zz"}), 400, "public_key")

    def events(self, body):
        reply = self.send("POST", "/v1/chat/completions", body)
        self.assertEqual((reply.status, reply.headers["Content-Type"]), (200, "text/event-stream"))
        lines = [line for line in reply.body.decode().split("\n\n") if line]
        self.assertEqual(lines[-1], "data: [DONE]")
        return [json.loads(line.removeprefix("data: ")) for line in lines[:-1]]

    def test_a_stream_is_the_whole_answer(self):
        model = self.fake_model(answer="Caf\u00e9 at six \U0001f6a2 or later. [1]")
        self.serve(model=model)
        events = self.events(chat(stream=True, stream_options={"include_usage": True}))
        text = "".join(event["choices"][0]["delta"].get("content", "") for event in events if event["choices"])
        self.assertEqual(text, model.answer)
        self.assertEqual(events[0]["choices"][0]["delta"]["role"], "assistant")
        self.assertEqual(events[-2]["choices"][0]["finish_reason"], "stop")
        self.assertTrue(events[-2]["casemate"]["sources"])
        self.assertIn("total_tokens", events[-1]["usage"])

    def test_openais_own_clients_work_unchanged(self):
        self.serve(model=self.fake_model())
        here, url = pathlib.Path(__file__).parent, f"http://127.0.0.1:{self.port}/v1"
        with self.subTest("Python"):
            self.passes(packages.python_with(self, "openai"), here / "openai_client.py", url)
        with self.subTest("Node"):
            # Node looks for packages beside the script.
            script = shutil.copy(here / "openai_client.mjs", packages.node_with(self, "openai"))
            self.passes("node", script, url)

    def passes(self, *command):
        done = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


class Load(Served):
    def slow_request(self, replies):
        def ask():
            replies.append(self.send("POST", "/v1/chat/completions", chat()))
        thread = threading.Thread(target=ask)
        thread.start()
        return thread

    def metric(self, line):
        for each in self.send("GET", "/metrics").body.decode().splitlines():
            if each.startswith(line + " "):
                return float(each.split()[-1])
        return None

    def wait_for(self, condition):
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            if condition():
                return
            time.sleep(0.02)
        self.fail("it did not come about")

    RUNNING = 'casemate_queue{queue="model",state="running"}'
    WAITING = 'casemate_queue{queue="model",state="waiting"}'

    def test_a_full_queue_refuses_and_the_rest_is_answered(self):
        self.serve("--model-requests", "1", "--model-queue", "1", model=self.fake_model(delay=0.2))
        replies = []
        first = self.slow_request(replies)
        self.wait_for(lambda: self.metric(self.RUNNING) == 1)
        second = self.slow_request(replies)
        self.wait_for(lambda: self.metric(self.WAITING) == 1)
        reply = self.send("POST", "/v1/chat/completions", chat())
        self.refused(reply, 503)
        self.assertEqual(reply.headers["Retry-After"], "1")
        self.assertEqual(self.post("/v1/retrieve", {"query": "ferry"})["policy"], "off-2026-11")  # another lane
        first.join()
        second.join()
        self.assertEqual([each.status for each in replies], [200, 200])

    def test_a_client_that_goes_away_frees_the_model(self):
        for stream in (True, False):
            with self.subTest(stream=stream):
                model = self.fake_model(answer="word " * 200, delay=0.05)
                self.serve(model=model)
                connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
                connection.request("POST", "/v1/chat/completions", json.dumps(chat(stream=stream)),
                                   {"Content-Type": "application/json"})
                if stream:
                    connection.getresponse().read(10)
                else:
                    self.wait_for(lambda: self.metric(self.RUNNING) == 1)
                connection.close()
                began = time.monotonic()
                self.wait_for(lambda: self.metric(self.RUNNING) == 0)
                self.assertLess(time.monotonic() - began, 5)  # it would have taken ten seconds

    def test_a_client_that_goes_away_while_its_prompt_is_read_frees_the_model_within_one_piece(self):
        """A prompt of some 3,000 tokens is read in pieces of 256, so a client that goes away has nearly all of it left."""
        folder = model_folder(SMALL)
        if folder is None:
            self.skipTest(f"the model {SMALL} is not installed")
        self.serve("--context", "4096", "--threads", "1", gguf=next(folder.glob("*.gguf")))
        question = chat("When does the ferry leave?" + " ferry" * 2500, max_tokens=1)
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request("POST", "/v1/chat/completions", json.dumps(question), {"Content-Type": "application/json"})
        self.wait_for(lambda: self.metric(self.RUNNING) == 1)
        time.sleep(0.5)  # well inside the prompt
        self.assertEqual(self.metric(self.RUNNING), 1)
        began = time.monotonic()
        connection.close()
        self.wait_for(lambda: self.metric(self.RUNNING) == 0)
        freed = time.monotonic() - began
        began = time.monotonic()
        self.post("/v1/chat/completions", question, timeout=120)
        whole = time.monotonic() - began
        print(f"freed after {freed:.2f} s; the whole answer takes {whole:.2f} s")
        self.assertLess(freed, whole / 3)

    def test_what_takes_too_long_is_cancelled(self):
        self.serve("--request-timeout-ms", "300", model=self.fake_model(answer="word " * 200, delay=0.05))
        self.refused(self.send("POST", "/v1/chat/completions", chat()), 504)
        self.wait_for(lambda: self.metric(self.RUNNING) == 0)

    def test_termination_lets_answers_end(self):
        child = self.serve(model=self.fake_model(delay=0.2))
        replies = []
        thread = self.slow_request(replies)
        self.wait_for(lambda: self.metric(self.RUNNING) == 1)
        idle = http.client.HTTPConnection("127.0.0.1", self.port)
        idle.request("GET", "/health")
        idle.getresponse().read()
        child.send_signal(signal.SIGTERM)
        thread.join()
        self.assertEqual(replies[0].status, 200)
        self.assertEqual(replies[0].headers["Connection"], "close")
        self.assertEqual(child.wait(timeout=20), 0)
        idle.close()
        with self.assertRaises(OSError):
            self.send("GET", "/health")

    def test_the_end_comes_even_where_an_answer_does_not(self):
        child = self.serve("--drain-timeout-ms", "200", model=self.fake_model(answer="word " * 400, delay=0.05))
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        connection.request("POST", "/v1/chat/completions", json.dumps(chat(stream=True)), {"Content-Type": "application/json"})
        connection.getresponse().read(10)
        began = time.monotonic()
        child.send_signal(signal.SIGTERM)
        self.assertEqual(child.wait(timeout=20), 0)
        self.assertLess(time.monotonic() - began, 10)  # the answer would have taken twenty seconds
        connection.close()


class Audit(Served):
    def verify(self, file, code, *words):
        return self.run_program("audit", "verify", file, "--json", *words, code=code).json()

    def test_changes_and_cuts_show(self):
        key, file = self.root / "key", self.root / "audit.jsonl"
        self.run_program("seal", self.store, "--new-key", key, code=0)
        words = ("--audit", file, "--audit-key", key)
        for _ in range(2):  # the second run goes on with the chain of the first
            child = self.serve(*words)
            for name in ("Sark", "Herm", "Lihou"):
                self.post("/v1/retrieve", {"query": f"ferry to {name}", "top_k": 1})
            child.send_signal(signal.SIGTERM)
            child.wait(timeout=30)
        found = self.verify(file, 0, "--key", f"{key}.pub")
        self.assertEqual((found["holds"], found["records"], found["signed_up_to"]), (True, 6, 6))
        text = file.read_text()
        self.assertNotIn("Sark", text)  # hashes only, unless asked
        lines = text.splitlines(keepends=True)
        for changed in (text.replace("ferry0.txt", "ferry3.txt", 1), "".join(lines[:2] + lines[3:]), "".join(lines[:-1]),
                        text[:-5], "".join([lines[1], lines[0]] + lines[2:])):
            self.assertNotEqual(changed, text)
            file.write_text(changed)
            self.assertFalse(self.verify(file, 1)["holds"])
        file.write_text(text)
        other = self.root / "other"
        self.run_program("seal", self.store, "--new-key", other, code=0)
        self.assertFalse(self.verify(file, 1, "--key", f"{other}.pub")["holds"])


if __name__ == "__main__":
    unittest.main()
