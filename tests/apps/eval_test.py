"""`casemate eval` with the tiny model: results, --quick, resuming after kill -9, and errors before any work."""
import json
import os
import random
import signal
import time
import unittest

from cli import TINY_MODEL, CliTest

EXPERIMENT = """
name: small
data: {path: squad.json}
questions: 0
quick_questions: 5
top_k: 3
metrics: [recall@1, asr@3]
attacks: [none, query-as-poison]
defences: [none, suppression, 'ragpart{fragments: 3, combination: 1}']
"""


class EvalTest(CliTest):
    def setUp(self):
        super().setUp()
        paragraphs = [{"context": f"Bridge {i} was planned by builder {i + 50}.",
                       "qas": [{"id": f"q{i}", "question": f"Who planned bridge {i}?", "answers": [{"text": str(i + 50), "answer_start": 0}]}]}
                      for i in range(60)]
        self.write("squad.json", json.dumps({"data": [{"title": "Bridges", "paragraphs": paragraphs}]}))
        self.experiment = self.write("small.yaml", EXPERIMENT)

    def eval(self, out, *words, code=0):
        return self.run_program("eval", self.experiment, "--out", self.root / out, "--encoder", TINY_MODEL, "--quiet", *words, code=code)

    def files(self, out):
        root = self.root / out
        return {str(p.relative_to(root)): p.read_bytes() for p in sorted(root.rglob("*"))
                if p.is_file() and "work" not in p.relative_to(root).parts and p.name != "timings.json"}

    def test_writes_logs_and_summaries(self):
        done = self.eval("out", "--json").json()
        self.assertEqual([c["condition"] for c in done["conditions"]][:2], ["none / none", "none / suppression"])
        self.assertEqual(done["conditions"][3]["planted"], 180)
        self.assertEqual(json.loads((self.root / "out/summary.json").read_text()), done)
        for condition in done["conditions"]:
            lines = [json.loads(x) for x in (self.root / "out" / condition["log"]).read_text().splitlines()]
            mean = sum(x["metrics"]["recall@1"] for x in lines) / 60
            self.assertAlmostEqual(mean, condition["metrics"]["recall@1"]["mean"], 12)
        self.assertIn("| query-as-poison | suppression | 180 |", (self.root / "out/summary.md").read_text())

    def test_another_precision_is_another_encoder(self):
        self.eval("out", "--quick", "--precision", "fixed16")
        self.eval("out", "--quick", "--precision", "fixed16")
        refused = self.eval("out", "--quick", code=2)
        self.assertIn("another experiment", refused.err)
        self.assertIn("float32, fixed16", self.eval("other", "--precision", "int4", code=2).err)

    def test_goes_on_after_kills_with_the_same_bytes(self):
        began = time.monotonic()
        self.eval("whole", "--threads", "1")
        whole = time.monotonic() - began
        kills = 0
        # Parts of the time that the whole takes here: the first kill comes long before a run can be done.
        for share in (0.1, 0.15, 0.2, 0.3, 0.4):
            child = self.start("eval", self.experiment, "--out", self.root / "parts", "--encoder", TINY_MODEL, "--quiet")
            time.sleep(share * whole)
            child.send_signal(signal.SIGKILL)
            child.communicate()
            kills += child.returncode == -signal.SIGKILL
        self.eval("parts")
        self.assertGreater(kills, 0)
        self.assertEqual(self.files("parts"), self.files("whole"))

    @unittest.skipUnless(os.environ.get("CASEMATE_FULL_TESTS") == "1", "CASEMATE_FULL_TESTS=1 runs it")
    def test_ten_kills_at_random_moments_change_no_byte(self):
        began = time.monotonic()
        self.eval("whole", "--threads", "1")
        whole = time.monotonic() - began
        moments = random.Random(int(os.environ.get("CASEMATE_SEED", "1")))
        kills = 0
        while kills < 10:
            child = self.start("eval", self.experiment, "--out", self.root / "parts", "--encoder", TINY_MODEL, "--quiet")
            time.sleep(moments.uniform(0, whole / 2))
            child.send_signal(signal.SIGKILL)
            child.communicate()
            if child.returncode != -signal.SIGKILL:  # it was done: begin again, so that ten kills are met
                self.assertEqual(self.files("parts"), self.files("whole"))
                for path in sorted((self.root / "parts").rglob("*"), reverse=True):
                    path.rmdir() if path.is_dir() else path.unlink()
            else:
                kills += 1
        self.eval("parts")
        self.assertEqual(self.files("parts"), self.files("whole"))

    def test_quick_asks_fewer_and_another_sample_needs_another_folder(self):
        self.assertEqual(self.eval("out", "--quick", "--json").json()["questions"], 5)
        self.assertIn("another --out", self.eval("out", code=2).err)

    def test_mistakes_are_told_before_any_work(self):
        self.write("small.yaml", EXPERIMENT.replace("attacks:", "atacks:"))
        self.assertIn('did you mean "attacks"?', self.eval("out", code=2).err)
        self.write("small.yaml", EXPERIMENT.replace("squad.json", "nowhere.json"))
        self.assertIn("--data", self.eval("out", code=2).err)
        self.assertFalse((self.root / "out").exists())


if __name__ == "__main__":
    unittest.main()
