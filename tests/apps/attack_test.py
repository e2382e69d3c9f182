"""`casemate attack`: what it writes, that it plants and takes out exactly that, resumes, and repeats itself."""
import json
import pathlib
import shutil
import signal
import struct
import time
import unittest

from cli import TINY_MODEL, CliTest
from serving import FakeModel

WORDS = "the ferry waits for the tide . a tide waits for the ferry ?".split()
SMALL = "hotflip{tokens: 3, iterations: %d, candidates: 4, batch: 2, documents_per_query: 2}"


class Attack(CliTest):
    def setUp(self):
        super().setUp()
        for i in range(8):
            self.write(f"{i}.txt", " ".join(WORDS[(i * 5 + j) % len(WORDS)] for j in range(14)))
        self.index()
        self.queries = self.root / "queries.txt"
        self.queries.write_text("the ferry waits\na tide for the ferry ?\n")

    def attack(self, *words, code=0):
        return self.run_program("attack", *words, code=code)

    def craft(self, name, out, *words, code=0):
        return self.attack(name, "--queries", self.queries, "--store", self.store, "--out", self.root / out, *words,
                           code=code)

    def records(self, out):
        return [json.loads(line) for line in (self.root / out).read_text().splitlines()]

    def test_records_say_what_was_made_and_how(self):
        done = self.craft(SMALL % 6, "a.jsonl", "--json", "--quiet")
        self.assertEqual(done.json()["documents"], 4)
        for record in self.records("a.jsonl"):
            self.assertEqual(record["attack"], "hotflip")
            self.assertEqual(record["parameters"]["tokens"], "3")
            self.assertEqual(len(record["objective"]), 7)
            self.assertEqual(record["objective"], sorted(record["objective"]))
            self.assertEqual(len(record["tokens"]), 3)
            self.assertGreater(record["forward_tokens"], 0)
            self.assertIn("AML.T0043.000", record["atlas"])
            for token in record["tokens"]:
                piece = token["piece"].removeprefix("##")
                self.assertEqual(record["text"][token["character"]:][:len(piece)], piece)
            # The planted text has the similarity that the record gives it.
            embeddings = [self.run_program("embed", "--encoder", TINY_MODEL, role, "--quiet", given=text.encode(),
                                           code=0).json_lines()[0]["embedding"]
                          for role, text in (("--passage", record["text"]),
                                             ("--query", self.queries.read_text().splitlines()[int(record["target_queries"][0])]))]
            similarity = sum(a * b for a, b in zip(*embeddings))
            self.assertAlmostEqual(similarity, record["final_similarity"], delta=1e-4)
        self.assertFalse((self.root / "a.jsonl.work").exists())

    def test_one_seed_gives_the_same_bytes_whatever_the_threads_and_another_seed_others(self):
        for name in (SMALL % 5, "leak", "query-as-poison{documents_per_query: 2}"):
            self.craft(name, "a.jsonl", "--quiet", "--overwrite")
            self.craft(name, "b.jsonl", "--quiet", "--threads", "1", "--overwrite")
            self.craft(name, "c.jsonl", "--quiet", "--seed", "7", "--overwrite")
            a, b, c = ((self.root / f"{x}.jsonl").read_bytes() for x in "abc")
            self.assertEqual(a, b)
            self.assertNotEqual(a, c)

    def test_what_was_planted_is_found_and_taken_out_again(self):
        before = self.run_program("documents", self.store, "--json", code=0).json_lines()
        self.craft(SMALL % 3, "a.jsonl", "--into", self.store, "--quiet")
        planted = [d for d in self.run_program("documents", self.store, "--json", code=0).json_lines()
                   if "attack" in d["labels"]]
        self.assertEqual([d["id"] for d in planted], [f"casemate-attack/hotflip/{i}" for i in range(4)])
        self.assertEqual(self.attack("--remove", self.store, "--json").json(), {"removed": 4})
        self.assertEqual(self.run_program("documents", self.store, "--json", code=0).json_lines(), before)

    def test_what_was_planted_is_found_by_prepared_defences_too(self):
        self.craft("query-as-poison{documents_per_query: 1}", "a.jsonl", "--into", self.store, "--quiet")
        found = self.search("the ferry waits", "--policy", "fast-2026-11", "--top-k", "20", mode="dense")["hits"]
        self.assertTrue(any(hit["document"].startswith("casemate-attack/") for hit in found), found)

    def test_a_killed_run_goes_on_and_ends_with_the_same_bytes(self):
        self.queries.write_text("".join(f"{' '.join(WORDS[i % 7:i % 7 + 4])}\n" for i in range(60)))
        name = "hotflip{tokens: 10, iterations: 100, candidates: 9, batch: 2, documents_per_query: 6}"
        begun = time.monotonic()
        self.craft(name, "whole.jsonl", "--quiet")
        whole = time.monotonic() - begun
        killed = 0
        for share in (0.3, 0.5, 0.5, 0.6):
            child = self.start("attack", name, "--queries", self.queries, "--store", self.store, "--out",
                               self.root / "killed.jsonl", "--quiet")
            time.sleep(whole * share)
            child.send_signal(signal.SIGKILL)
            child.communicate()
            killed += child.returncode == -signal.SIGKILL
            kept = self.root / "killed.jsonl.work"
            if not kept.exists():
                break
        self.assertGreater(killed, 0)
        if kept.exists():
            self.assertGreater(kept.stat().st_size, 0)
            self.craft(name, "killed.jsonl", "--quiet")
        self.assertEqual((self.root / "killed.jsonl").read_bytes(), (self.root / "whole.jsonl").read_bytes())

    def test_errors_say_what_to_do(self):
        for words, says in (
            ((), "--list"),
            (("hotflp",), 'did you mean "hotflip"'),
            (("hotflip{token: 3}",), "tokens"),
            (("hotflip",), "--store"),
            (("hotflip", "--store", self.store), "--queries"),
            (("hotflip", "--store", self.store, "--queries", self.root / "none.txt"), "none.txt"),
            (("hotflip", "--store", self.root / "nowhere", "--query", "x"), "nowhere"),
            (("pia", "--store", self.store, "--query", "the ferry", "--out", self.root / "p.jsonl"), "wrong_answer"),
        ):
            done = self.attack(*words, code=2)
            self.assertTrue(done.err.startswith("casemate: error: "), done.err)
            self.assertIn(says, done.err)
        self.craft(SMALL % 1, "a.jsonl", "--quiet")
        self.assertIn("--overwrite", self.craft(SMALL % 1, "a.jsonl", code=2).err)
        lines = self.root / "bad.jsonl"
        lines.write_text('{"query": "a"}\n{"queri": "b"}\n')
        self.assertIn("bad.jsonl:2", self.attack("hotflip", "--store", self.store, "--queries", lines, code=2).err)

    def test_the_data_may_bring_wrong_answers_and_texts(self):
        lines = self.root / "q.jsonl"
        lines.write_text(json.dumps({"id": "q", "query": "who waits", "wrong_answer": "the tide",
                                     "wrong_texts": ["the tide waits ."]}) + "\n")
        for name in ("pia", "poison"):
            self.attack(name, "--queries", lines, "--store", self.store, "--out", self.root / f"{name}.jsonl", "--quiet")
            record, = self.records(f"{name}.jsonl")
            self.assertEqual(record["target_answer"], "the tide")
            self.assertGreaterEqual(record["text"].count("the tide"), 10)

    def other_encoder(self):
        """The tiny model with its weights in another order."""
        folder = self.root / "other-encoder"
        shutil.copytree(TINY_MODEL, folder)
        weights = folder / "model.safetensors"
        data = weights.read_bytes()
        begin = 8 + struct.unpack("<Q", data[:8])[0]
        numbers = [data[i:i + 4] for i in range(begin, len(data), 4)]
        weights.chmod(0o644)
        weights.write_bytes(data[:begin] + b"".join(reversed(numbers)))
        return folder

    def test_whether_a_paraphrase_means_the_same_is_judged_by_another_encoder_than_the_one_attacked(self):
        model = FakeModel(answer="the ferry waits")
        self.addCleanup(model.close)
        other = self.other_encoder()
        name = "advraggen{rounds: 1, documents_per_query: 1, semantic_weight: 0, copying_weight: 0}"
        words = ("--model-url", model.url, "--model", "fake", "--quiet", "--overwrite")
        for judge, label, encoder in (((), "(cls)", (TINY_MODEL, "--pooling", "cls")),
                                      (("--judge", other), "other-encoder (mean)", (other, ))):
            self.craft(name, "a.jsonl", *words, *judge)
            record = self.records("a.jsonl")[0]
            self.assertTrue(record["judge"].endswith(label), record["judge"])
            self.assertEqual(record["text"], "the ferry waits")
            source = (self.docs / pathlib.Path(record["source_document"]).name).read_text()
            a, b = (self.run_program("embed", "--encoder", *encoder, "--passage", "--quiet", given=text.encode(),
                                     code=0).json_lines()[0]["embedding"] for text in (source, record["text"]))
            lengths = (sum(x * x for x in a) * sum(x * x for x in b)) ** 0.5
            self.assertAlmostEqual(sum(x * y for x, y in zip(a, b)) / lengths, record["rewards_after"]["semantic"], delta=1e-4)
            self.assertAlmostEqual(record["rewards_before"]["semantic"], 1, delta=1e-4)
            self.assertAlmostEqual(record["rewards_after"]["retrieval"], 1, delta=1e-4)
        self.assertIn("encoder under attack itself", self.craft(name, "a.jsonl", *words, "--judge", TINY_MODEL, code=2).err)
        self.assertIn("--judge", self.craft(name, "a.jsonl", *words, "--judge", self.root / "none", code=2).err)

    def test_the_list_names_every_attack_with_its_ids(self):
        listed = self.attack("--list", "--json").json_lines()
        self.assertLessEqual({"hotflip", "hotflip-ragpart", "leak", "pia", "query-as-poison"}, {e["name"] for e in listed})
        self.assertTrue(all(e["owasp_2025"] and e["owasp_2026"] for e in listed))


if __name__ == "__main__":
    unittest.main()
