"""embed: texts in, JSON lines out."""
import json
import math
import unittest

from cli import SOURCE, TINY_MODEL, USER_MODELS, CliTest, model_folder


class Embedding(CliTest):
    def embed(self, *words, given=None, code=0):
        return self.run_program("embed", "--encoder", TINY_MODEL, *words, given=given, code=code)

    def test_one_text_a_line(self):
        # Ids by the tiny vocabulary: [CLS] 2, [SEP] 3, the 5, ferry 6, wait 7, ##s 8; [UNK] 1.
        rows = self.embed(given=b"The ferry waits\r\nheron\n\n").json_lines()
        self.assertEqual([row["input_ids"] for row in rows], [[2, 5, 6, 7, 8, 3], [2, 1, 3], [2, 3]])
        self.assertEqual([row["id"] for row in rows], [1, 2, 3])
        for row in rows:
            self.assertAlmostEqual(math.hypot(*row["embedding"]), 1, places=5)

    def test_json_lines_keep_their_ids(self):
        path = self.write("texts.jsonl", '{"id": "x", "text": "the tide"}\n\n{"_id": 7, "text": "a"}\n{"text": "for"}\n')
        rows = self.embed(path).json_lines()
        self.assertEqual([row["id"] for row in rows], ["x", 7, 4])
        self.assertEqual(rows[0]["embedding"], self.embed(given=b"the tide").json_lines()[0]["embedding"])

    def test_bad_lines_are_named_and_the_rest_is_done(self):
        bad = b'{"text": "the"}\nnot json\n{"txt": "a"}\n{"text": 3}\n{"text": "a"}\n'
        done = self.embed("--jsonl", given=bad, code=2)
        self.assertEqual([row["id"] for row in done.json_lines()], [1, 5])
        for line in (2, 3, 4):
            self.assertIn(f":{line}: ", done.err)
        strict = self.embed("--jsonl", "--strict", given=bad, code=2)
        self.assertEqual([row["id"] for row in strict.json_lines()], [1])
        self.assertNotIn(":3: ", strict.err)

    def test_special_tokens_stay_text_unless_asked(self):
        self.assertNotIn(3, self.embed(given=b"[SEP]").json_lines()[0]["input_ids"][1:-1])

    def test_prefixes_and_truncation(self):
        prefixed = self.embed("--query", "--query-prefix", "the ", given=b"tide").json_lines()[0]
        self.assertEqual(prefixed["input_ids"], [2, 5, 10, 3])
        cut = self.embed("--max-tokens", "4", given=b"the ferry waits").json_lines()[0]
        self.assertEqual((cut["input_ids"], cut["truncated"], cut["full_length"]), ([2, 5, 6, 3], True, 6))
        self.run_program("embed", "--encoder", TINY_MODEL, "--query", "--passage", code=2)

    def test_fixed_point_is_close_and_another_precision_is_refused(self):
        exact = self.embed(given=b"the ferry waits").json_lines()[0]
        fixed = self.embed("--precision", "fixed16", given=b"the ferry waits").json_lines()[0]
        self.assertEqual(fixed["input_ids"], exact["input_ids"])
        apart = max(abs(a - b) for a, b in zip(fixed["embedding"], exact["embedding"]))
        self.assertTrue(0 < apart < 1e-3, apart)
        self.assertIn("float32, fixed16", self.embed("--precision", "int4", given=b"x", code=2).err)

    def test_broken_utf8_is_embedded_as_replacement_characters(self):
        self.assertEqual(len(self.embed(given=b"the \xff\xfe ferry\n").json_lines()), 1)

    def test_missing_input_and_encoder_are_named(self):
        self.assertIn("none.txt", self.embed("none.txt", code=2).err)
        done = self.run_program("embed", "--encoder", self.docs, given=b"x", code=2)
        self.assertIn(str(self.docs), done.err)
        self.assertIn("models pull", self.run_program("embed", given=b"x", code=3).err)


class RealModel(CliTest):
    @unittest.skipUnless(model_folder("all-minilm-l6-v2"), "all-minilm-l6-v2 is not fetched")
    def test_ids_and_embeddings_of_sentence_transformers(self):
        cases = json.loads((SOURCE / "tests/golden/minilm-l6-v2.json").read_text(encoding="utf-8"))["cases"]
        lines = "".join(json.dumps({"id": i, "text": case["text"]}) + "\n" for i, case in enumerate(cases))
        rows = self.run_program("embed", "--jsonl", "--models-folder", USER_MODELS, "--special-tokens", "hugging-face",
                                "--max-tokens", "512", given=lines.encode(), code=0).json_lines()
        self.assertEqual(len(rows), len(cases))
        for row, case in zip(rows, cases):
            self.assertEqual(row["input_ids"], case["input_ids"])
            cosine = sum(a * b for a, b in zip(row["embedding"], case["embedding"]))
            self.assertGreater(cosine / math.hypot(*case["embedding"]), 0.9999)
            self.assertLess(max(abs(a - b) for a, b in zip(row["embedding"], case["embedding"])), 1e-3)


if __name__ == "__main__":
    unittest.main()
