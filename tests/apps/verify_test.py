"""verify: certificates that hold, that do not, and files that are none."""
import json
import pathlib
import unittest

from cli import CliTest

STORED = pathlib.Path(__file__).parent.parent / "golden" / "certificates"


class Verify(CliTest):
    def verify(self, file, *words, code):
        return self.run_program("verify", file, *words, code=code)

    def test_a_stored_certificate_of_each_kind_holds(self):
        for file in sorted(STORED.glob("*.json")):
            with self.subTest(file.name):
                found = self.verify(file, "--key", STORED / "key.pub", "--json", code=0).json()
                self.assertTrue(found["holds"])
                self.assertGreaterEqual(found["k_prime"], 1)
                self.assertTrue(all(check["holds"] for check in found["checks"]))
                out = self.verify(file, code=0).out
                self.assertIn("NOT CHECKED: that the model produced these numbers (use --replay)", out)
                self.assertIn("NOT CHECKED: who signed it (use --key)", out)
                self.assertTrue(out.endswith("it holds\n"))

    def test_another_key_or_a_changed_number_does_not_hold(self):
        key = self.root / "other.key"
        self.run_program("seal", "--new-key", key, code=0)
        done = self.verify(STORED / "voting.json", "--key", f"{key}.pub", code=1)
        self.assertIn("FAILED", done.out)
        text = (STORED / "voting.json").read_text(encoding="utf-8")
        changed = self.root / "changed.json"
        changed.write_text(text.replace('"margin":400000000', '"margin":400000001', 1), encoding="utf-8")
        found = self.verify(changed, "--json", code=1).json()
        self.assertFalse(found["holds"])
        self.assertEqual([check["check"] for check in found["checks"] if not check["holds"]],
                         ["the signature is of exactly these bytes, by the key in the file"])

    def test_what_is_no_certificate_is_bad_input(self):
        text = (STORED / "voting.json").read_text(encoding="utf-8")
        for name, content in {"empty": "", "json": "{}\n", "pretty": json.dumps(json.loads(text), indent=1) + "\n",
                              "cut": text[:500], "deep": "[" * 100000, "spaced": text + "\n"}.items():
            with self.subTest(name):
                file = self.root / f"{name}.json"
                file.write_text(content, encoding="utf-8")
                done = self.verify(file, code=2)
                self.assertIn(f"{name}.json: ", done.err)
                self.assertEqual(done.out, "")
        self.verify(self.root / "missing.json", code=2)
        self.verify(STORED / "voting.json", "--key", self.root / "missing.pub", code=2)
        self.verify(STORED / "voting.json", "--key", STORED / "voting.json", code=2)


if __name__ == "__main__":
    unittest.main()
