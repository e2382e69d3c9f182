"""Limits that count tokens, what SIGHUP reads again, answers at the same time, and what audit and metrics tell of them."""
import concurrent.futures
import json
import signal
import time
import unittest

from serving import ServerTest


class Limits(ServerTest):
    def setUp(self):
        super().setUp()
        self.write("a.txt", "The ferry leaves at six.")
        self.index()

    def test_a_question_of_too_many_tokens_is_refused_by_every_address(self):
        self.serve("--max-question-tokens", "8", model=self.fake_model())
        long = "when does the ferry leave " * 5
        chat = {"model": "casemate", "messages": [{"role": "user", "content": long}]}
        for path, body, field in (("/v1/retrieve", {"query": long}, "query"), ("/v1/chat/completions", chat, "messages"),
                                  ("/v1/screen", {"query": long, "candidates": [{"id": "a", "text": "x"}]}, "query"),
                                  ("/v1/answer", {"question": long, "passages": ["x"]}, "question")):
            error = self.refused(self.send("POST", path, body), 413, param=field)
            self.assertRegex(error["message"], r"has \d+ tokens; at most 8 are allowed")
        self.assertEqual(self.retrieved("ferry"), ["a.txt"])

    def hang_up(self, child):
        lines = len(child.log)
        child.send_signal(signal.SIGHUP)
        deadline = time.monotonic() + 10
        while len(child.log) == lines and time.monotonic() < deadline:
            time.sleep(0.01)
        return json.loads(child.log[-1])

    def test_a_hang_up_reads_limits_again_and_says_what_needs_a_restart(self):
        config = self.root / "casemate.yaml"
        config.write_text("serve: {max_top_k: 50, model_queue: 10, requests_per_minute: 600}\n")
        child = self.serve("--config", config, "--max-question-bytes", "1000")
        retrieve = lambda k: self.send("POST", "/v1/retrieve", {"query": "ferry", "top_k": k, "mode": "bm25"}).status
        self.assertEqual((retrieve(50), retrieve(51)), (200, 400))
        config.write_text("serve: {max_top_k: 5, model_queue: 20, max_question_bytes: 4, scores_for: admin, port: 1}\n")
        said = self.hang_up(child)
        self.assertEqual(said["event"], "reloaded")
        self.assertEqual(said["changed"], ["max-top-k: 50 -> 5", "scores-for: writer -> admin"])
        self.assertEqual(said["needs_restart"], ["model-queue"])  # --port and --max-question-bytes stand on the command line
        self.assertEqual((retrieve(5), retrieve(6)), (200, 400))
        config.write_text("serve: {max_top_k: 0, scores_for: reader}\n")
        said = self.hang_up(child)
        self.assertEqual(said["event"], "reload_failed")
        self.assertIn("max-top-k", said["what"])
        self.assertEqual((retrieve(5), retrieve(6)), (200, 400))  # all or nothing
        config.write_text("serve: {}\n")
        self.assertIn("max-top-k: 5 -> 100", self.hang_up(child)["changed"])
        self.assertEqual(retrieve(100), 200)

    def test_vectors_of_many_texts_are_those_of_each(self):
        self.serve()
        model = next(each["id"] for each in self.get("/v1/models")["data"] if not each["id"].startswith("casemate"))
        texts = [f"ferry number {n}" for n in range(40)]  # more than are computed between two looks at the client
        data = self.post("/v1/embeddings", {"model": model, "input": texts})["data"]
        self.assertEqual([each["index"] for each in data], list(range(40)))
        for n in (0, 15, 16, 39):
            alone = self.post("/v1/embeddings", {"model": model, "input": texts[n]})["data"][0]
            self.assertEqual(data[n]["embedding"], alone["embedding"])

    def test_answers_of_several_clients_run_at_the_same_time(self):
        model = self.fake_model(delay=0.1)
        answer = {"question": "When?", "passages": ["The ferry leaves at six."] * 2}
        self.serve("--model-requests", "4", model=model)
        most = 0
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            replies = [pool.submit(self.post, "/v1/answer", answer) for _ in range(4)]
            deadline = time.monotonic() + 30
            while time.monotonic() < deadline and not all(each.done() for each in replies):
                for line in self.send("GET", "/metrics").body.decode().splitlines():
                    if line.startswith('casemate_queue{queue="model",state="running"}'):
                        most = max(most, int(float(line.split()[-1])))
        self.assertEqual(len({json.dumps(each.result()["groups"]) for each in replies}), 1)
        self.assertGreaterEqual(most, 2)

    def test_a_record_is_under_a_head_after_the_interval(self):
        audit = self.root / "audit.jsonl"
        self.serve("--audit", audit, "--audit-head-seconds", "1")
        self.post("/v1/retrieve", {"query": "ferry", "mode": "bm25"})
        heads = self.root / "audit.jsonl.heads"
        deadline = time.monotonic() + 15
        while not heads.read_text() and time.monotonic() < deadline:
            time.sleep(0.1)
        self.assertEqual(json.loads(heads.read_text().splitlines()[0])["seq"], 1)
        time.sleep(2.2)
        self.assertEqual(len(heads.read_text().splitlines()), 1)  # nothing new, nothing signed

    def test_what_the_guard_withholds_is_counted_and_recorded(self):
        secret = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
        self.write("b.txt", secret)
        self.index()
        audit = self.root / "audit.jsonl"
        self.serve("--audit", audit, "--guard", "stop", "--policy", "off", model=self.fake_model(answer=secret))
        self.post("/v1/chat/completions", {"model": "casemate", "messages": [{"role": "user", "content": "one two three"}]})
        metrics = self.send("GET", "/metrics").body.decode()
        self.assertRegex(metrics, r'casemate_guard_incidents_total{kind="(run|share)"} [1-9]')
        self.assertIn('casemate_withheld_answers_total{how="ended"} 1', metrics)
        record = json.loads(audit.read_text().splitlines()[-1])
        self.assertTrue(record["guard"]["ended"])
        self.assertGreater(sum(record["guard"]["incidents"].values()), 0)
        self.assertEqual(record["degraded"], [])
        self.assertNotIn("thirteen", json.dumps(record))


if __name__ == "__main__":
    unittest.main()
