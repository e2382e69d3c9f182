"""Defences from the command line: index --prepare, prepare, search --defence --explain, calibrate, recall, policies."""
import json
import unittest

from cli import SOURCE, CliTest
from json_test import schema_errors


class Defences(CliTest):
    def setUp(self):
        super().setUp()
        self.write("ferry.txt", "the ferry to the island leaves the old pier at noon and returns before the evening tide")
        self.write("bridge.txt", "masons built the stone bridge over the river with four arches and a wooden gate")
        self.write("heron.txt", "a heron waits beside the water until the fish come near the reeds in the shallow bay")

    def test_a_new_store_has_ragparts_vectors_and_explain_shows_the_votes(self):
        self.index()
        done = self.run_program("search", self.store, "when does the ferry leave", "--defence", "ragpart", "--explain",
                                code=0)
        self.assertIn("rank  undefended  votes  masks", done.out)
        self.assertIn("in 10 of 10 lists", done.out)
        result = self.search("when does the ferry leave", "--defence", "ragpart", mode="dense")
        stage = result["evidence"]["stages"][0]
        self.assertEqual(stage["stage"], "ragpart")
        self.assertEqual(stage["parameters"]["combination"], "3")
        self.assertEqual(stage["verdicts"][0]["measures"]["lists"], 10)
        self.assertEqual(result["policy"], "off-2026-11 + ragpart")

    def test_vectors_that_are_missing_are_an_error_until_prepare_makes_them(self):
        self.index("--prepare", "none")
        words = ("search", self.store, "ferry", "--defence", "ragpart{fragments: 3, combination: 2}")
        self.assertIn("casemate prepare", self.run_program(*words, code=2).err)
        made = self.run_program("prepare", self.store, "--defence", "ragpart{fragments: 3, combination: 2}", "--json",
                                code=0).json()
        self.assertEqual((made[0]["passages"], made[0]["already"]), (3, 0))
        self.run_program(*words, code=0)
        again = self.run_program("prepare", self.store, "--defence", "ragpart{fragments: 3, combination: 2}", "--json",
                                 code=0).json()
        self.assertEqual((again[0]["passages"], again[0]["already"]), (0, 3))
        # The store remembers: a document that comes later has these vectors too.
        self.write("tide.txt", "the tide turns twice a day and lifts the boats from the mud of the harbour")
        self.index()
        self.run_program(*words, code=0)

    def test_candidates_are_prepared_used_and_named_in_the_evidence(self):
        self.index()
        stage = self.search("ferry", "--candidates", "hnsw", mode="dense")["evidence"]["stages"][0]
        self.assertEqual(stage["parameters"]["candidates"], "exact")
        self.assertIn("fewer than 1000000", stage["notes"][0])
        words = ("--candidates", "hnsw", "--exact-below", "1")
        self.assertIn("casemate prepare --candidates hnsw",
                      self.search("ferry", *words, mode="dense")["evidence"]["stages"][0]["notes"][0])
        made = self.run_program("prepare", self.store, "--candidates", "hnsw", "--json", code=0).json()
        self.assertEqual(made["passages"], 3)
        found = self.search("when does the ferry leave", *words, mode="dense")
        self.assertEqual(found["policy"], "off-2026-11 + candidates hnsw")
        stage = found["evidence"]["stages"][0]
        self.assertEqual(stage["parameters"]["candidates"], "hnsw")
        self.assertIn("may be missing", stage["notes"][0])
        exact = self.search("when does the ferry leave", mode="dense")
        self.assertEqual([(hit["document"], hit["score"]) for hit in found["hits"]],
                         [(hit["document"], hit["score"]) for hit in exact["hits"]])
        # RAGPart looks at every passage by itself, so its guarantees do not depend on candidates.
        voted = self.search("ferry", "--defence", "ragpart", *words, mode="dense")["evidence"]["stages"][0]
        self.assertNotIn("candidates", voted["parameters"])
        self.assertIn("exact, hnsw, ivf", self.run_program("search", self.store, "ferry", "--candidates", "annoy",
                                                           code=2).err)
        self.assertIn("needs no candidate", self.run_program("prepare", self.store, "--candidates", "exact", code=2).err)

    def test_passages_of_a_damaged_segment_that_words_found_are_judged_by_their_texts(self):
        self.index("--prepare", "none")
        [segment] = self.store.glob("segments/*.seg")
        content = bytearray(segment.read_bytes())
        content[-20] ^= 0x40
        segment.write_bytes(content)
        found = self.search("when does the ferry leave", "--defence", "suppression", mode="hybrid")
        self.assertIn("ferry.txt", found["hits"][0]["document"])
        notes = " ".join(found["evidence"]["stages"][0]["notes"])
        self.assertIn("is damaged", notes)
        self.assertIn("embedded anew", notes)

    def test_the_evidence_counts_the_passages_that_a_filter_lets_through(self):
        self.index("--labels", "old")
        self.write("tide.txt", "the tide turns twice a day and lifts the boats from the mud of the harbour")
        self.index(self.docs / "tide.txt", "--labels", "new")
        everything = self.search("ferry", mode="dense")["evidence"]["stages"][0]
        one = self.search("ferry", "--label", "new", mode="dense")["evidence"]["stages"][0]
        self.assertEqual((everything["passages_in"], one["passages_in"]), (4, 1))

    def test_ragmask_tells_masked_characters_and_prepare_computes_before_the_query(self):
        self.index()
        made = self.run_program("prepare", self.store, "--defence", "ragmask{mask_length_tokens: 4}", "--json", code=0)
        self.assertEqual(made.json()[0]["passages"], 3)
        result = self.search("ferry", "--defence", "ragmask{mask_length_tokens: 4, delta: 0}", "--explain", mode="dense")
        stages = [stage["stage"] for stage in result["evidence"]["stages"]]
        self.assertEqual(stages, ["retrieve", "ragmask", "undefended"])
        schema = json.loads((SOURCE / "docs/evidence.schema.json").read_text())
        self.assertEqual(schema_errors(result["evidence"], schema), [])
        masked = [verdict for verdict in result["evidence"]["stages"][1]["verdicts"] if "masked" in verdict]
        self.assertTrue(masked)
        for verdict in masked:
            length = len((self.docs / verdict["document"]).read_text())
            for span in verdict["masked"]:
                self.assertLess(span["begin"], span["end"])
                self.assertLessEqual(span["end"], length)

    def test_chains_run_in_the_order_given_and_a_scan_can_only_stand_first(self):
        self.index()
        result = self.search("ferry", "--defence", "suppression", "--defence", "cluster", mode="dense")
        self.assertEqual([stage["stage"] for stage in result["evidence"]["stages"]],
                         ["retrieve", "suppression", "cluster"])
        done = self.run_program("search", self.store, "ferry", "--defence", "suppression", "--defence", "ragpart",
                                code=2)
        self.assertIn("must be the first", done.err)

    def test_misspelt_defences_and_options_name_the_nearest(self):
        self.index()
        self.assertIn("ragpart", self.run_program("search", self.store, "x", "--defence", "ragprt", code=2).err)
        done = self.run_program("search", self.store, "x", "--defence", "ragpart{fragmens: 5}", code=2)
        self.assertIn("fragments", done.err)

    def test_a_calibrated_delta_needs_a_calibration_and_calibrate_needs_questions(self):
        self.index()
        done = self.run_program("search", self.store, "ferry", "--defence", "ragmask{delta: auto}", code=2)
        self.assertIn("casemate calibrate", done.err)
        self.assertIn("--perturb mask --sanitise mask --pool-factor 4", done.err)
        self.assertIn("--questions", self.run_program("calibrate", self.store, code=2).err)

    def test_calibrate_prints_the_curve_and_keeps_the_delta(self):
        texts = {path.stem: path.read_text() for path in sorted(self.docs.glob("*.txt"))}
        questions = [{"context": text, "qas": [{"id": name, "question": "what about the " + name + "?",
                                                "answers": [{"text": text.split()[1], "answer_start": 0}]}]}
                     for name, text in texts.items()]
        squad = self.root / "questions.json"
        squad.write_text(json.dumps({"version": "1.1", "data": [{"title": "t", "paragraphs": questions}]}))
        self.index(squad)
        made = self.run_program("calibrate", self.store, "--questions", squad, "--loss", "0.5", "--json", "--quiet",
                                code=0).json()
        self.assertEqual(made["details"]["questions"], 3)
        self.assertIn("attack_success", made["details"]["curve"][0])
        self.assertTrue(made["kept"])
        auto = "ragmask{perturb: delete, sanitise: delete, delta: auto}"
        result = self.search("ferry", "--defence", auto, mode="dense")
        self.assertIn("calibrated delta", " ".join(result["evidence"]["stages"][1]["notes"]))
        done = self.run_program("calibrate", self.store, "--questions", squad, "--tenant", "nobody", code=2)
        self.assertIn("no passages", done.err)
        recall = self.run_program("recall", self.store, squad, "--defence", auto, "--json", "--quiet", code=0).json()
        self.assertEqual(recall["questions"], 3)

    def test_policies_and_defences_are_listed(self):
        names = [each["name"] for each in self.run_program("policies", "--defences", "--json", code=0).json()]
        self.assertEqual(names, sorted(names))
        self.assertIn("ragpart", names)
        for policy in self.run_program("policies", "--json", code=0).json():
            for defence in policy["defences"]:
                self.assertIn(defence["name"], names)


if __name__ == "__main__":
    unittest.main()
