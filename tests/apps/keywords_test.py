"""keywords: texts in, JSON lines out."""
import json
import unittest

from cli import SOURCE, CliTest


class Keywords(CliTest):
    def keywords(self, *words, given=None, code=0):
        return self.run_program("keywords", *words, given=given, code=code)

    def test_texts_of_spacy_give_what_spacy_gives(self):
        cases = json.loads((SOURCE / "tests/golden/english_keywords.json").read_text(encoding="utf-8"))["cases"]
        path = self.write("texts.jsonl", "".join(json.dumps({"text": case["text"]}) + "\n" for case in cases))
        rows = self.keywords(path, "--all").json_lines()
        self.assertEqual(len(rows), len(cases))
        for row, case in zip(rows, cases):
            for field in ("text", "tokens", "tags", "lemmas", "keywords"):
                self.assertEqual(row[field], case[field])
            self.assertEqual(row["method"], "english-tagger")
            self.assertEqual(len(row["pos"]), len(row["tokens"]))
            encoded = row["text"].encode()
            self.assertEqual([encoded[begin:end].decode() for begin, end in row["offsets"]], row["tokens"])

    def test_stop_words_are_left_out_unless_asked_for(self):
        self.assertEqual(self.keywords(given=b"now\n").json_lines()[0]["keywords"], [])
        self.assertEqual(self.keywords("--all", given=b"now\n").json_lines()[0]["keywords"], ["now"])

    def test_one_text_a_line_is_numbered_and_an_empty_one_has_none(self):
        rows = self.keywords(given=b"Paris\r\n\nRome").json_lines()
        self.assertEqual([(row["id"], row["keywords"]) for row in rows], [(1, ["Paris"]), (2, []), (3, ["Rome"])])
        self.assertEqual(rows[1]["tokens"], [])

    def test_other_scripts_are_said_to_be_cut_by_unicodes_rules(self):
        row = self.keywords(given="Столица Франции".encode()).json_lines()[0]
        self.assertEqual((row["method"], row["lemmas"]), ("unicode-words", ["столица", "франции"]))

    def test_output_is_ascii_whatever_the_text(self):
        done = self.keywords(given=b"\x1b[31m red \xff \xe2\x80\xae evil\n")
        self.assertTrue(done.out.isascii())
        self.assertNotIn("\x1b", done.out)
        self.assertIn("\ufffd", done.json_lines()[0]["text"])

    def test_bad_lines_are_named_and_the_rest_is_done(self):
        bad = b'{"text": "the"}\nnot json\n{"txt": "a"}\n{"text": 3}\n{"id": "x", "text": "a"}\n'
        done = self.keywords("--jsonl", given=bad, code=2)
        self.assertEqual([row["id"] for row in done.json_lines()], [1, "x"])
        for line in (2, 3, 4):
            self.assertIn(f":{line}: ", done.err)
        strict = self.keywords("--jsonl", "--strict", given=bad, code=2)
        self.assertEqual(len(strict.json_lines()), 1)
        self.assertIn("none.txt", self.keywords("none.txt", code=2).err)
        self.assertIn("folder", self.keywords(self.docs, code=2).err)


if __name__ == "__main__":
    unittest.main()
