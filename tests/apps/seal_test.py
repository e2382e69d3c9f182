"""seal, index --trusted, and a search that compares with what was sealed."""
import os
import stat
import unittest

from cli import CliTest

BRIDGE = "the harbour bridge of ostend opened in 1912 after the town council hired masons for its four stone arches"


class Sealing(CliTest):
    def setUp(self):
        super().setUp()
        self.key = self.root / "owner.key"
        self.write("bridge.txt", BRIDGE)
        self.write("heron.txt", "the heron waits beside the tidal water until the ferry has left the old pier")
        self.index("--trusted")
        self.made = self.run_program("seal", "--new-key", self.key, "--json", code=0).json()

    def seal(self, *words, code=0):
        done = self.run_program("seal", self.store, *words, "--json", "--quiet", code=code)
        return done.json() if done.out else done.err

    def defended(self, *words):
        result = self.search("when did the harbour bridge open", "--defence", "fingerprint", *words, mode="dense")
        stage = next(stage for stage in result["evidence"]["stages"] if stage["stage"] == "fingerprint")
        return [hit["document"] for hit in result["hits"]], stage

    def test_a_key_is_its_owners_alone_and_never_overwritten(self):
        self.assertEqual(stat.S_IMODE(os.stat(self.key).st_mode), 0o600)
        self.assertIn(self.made["public_key"], (self.root / "owner.key.pub").read_text())
        self.assertNotIn(self.made["public_key"], self.key.read_text())
        missing = self.run_program("seal", self.store, "--key", self.root / "nowhere.key", code=None)
        self.assertIn("seal --new-key FILE makes a key", missing.err)
        self.assertIn("overwritten", self.run_program("seal", "--new-key", self.key, code=2).err)
        os.chmod(self.key, 0o644)
        self.assertIn("chmod 600", self.seal("--key", self.key, code=2))

    def test_sealing_versions_and_verifying(self):
        first = self.seal("--key", self.key)
        self.assertEqual((first["version"], first["documents"], first["passages"]), (1, 2, 2))
        self.assertEqual(first["public_key"], self.made["public_key"])
        self.assertEqual(first["calibration"]["passages"], 2)
        self.assertTrue(self.seal("--verify", "--public-key", f"{self.key}.pub")["holds"])
        self.write("bridge.txt", BRIDGE.replace("1912", "1913"))
        self.index("--trusted")
        stale = self.seal("--verify", code=1)
        self.assertEqual((stale["holds"], stale["changed"]), (False, ["bridge.txt"]))
        second = self.seal("--key", self.key)
        self.assertEqual(second["version"], 2)
        self.assertNotEqual(second["root"], first["root"])
        self.assertTrue(self.seal("--verify")["holds"])

    def test_another_key_is_refused(self):
        self.seal("--key", self.key)
        other = self.root / "other.key"
        self.run_program("seal", "--new-key", other, code=0)
        self.assertFalse(self.seal("--verify", "--public-key", f"{other}.pub", code=1)["holds"])
        self.assertIn("another key", self.seal("--key", other, code=2))
        self.assertEqual(self.seal("--key", other, "--force")["version"], 2)

    def test_a_repair_needs_something_to_repair(self):
        self.assertIn("no seal to repair", self.seal("--key", self.key, "--repair", code=2))
        self.seal("--key", self.key)
        self.assertIn("nothing to repair", self.seal("--key", self.key, "--repair", code=2))
        self.assertTrue(self.seal("--verify")["holds"])

    def test_what_is_missing_is_named_with_the_command(self):
        self.assertIn("--new-key", self.seal(code=2))
        self.assertIn("no seal", self.seal("--verify", code=2))
        self.assertIn("--trusted", self.seal("--key", self.key, "--tenant", "nobody", code=2))
        done = self.run_program("search", self.store, "bridge", "--defence", "fingerprint", code=2)
        self.assertIn("casemate seal", done.err)

    def test_a_poisoned_copy_yields_to_the_sealed_original(self):
        self.seal("--key", self.key)
        self.docs = self.root / "others"
        self.docs.mkdir()
        self.write("poison.txt", BRIDGE.replace("1912", "1921"))
        self.write("otter.txt", "an otter swims under the arches at night")
        self.index()
        self.assertIn("poison.txt", self.found("harbour bridge", mode="dense"))
        documents, stage = self.defended()
        self.assertIn("bridge.txt", documents)
        self.assertIn("otter.txt", documents)
        self.assertNotIn("poison.txt", documents)
        verdict = next(each for each in stage["verdicts"] if each["document"] == "poison.txt")
        self.assertEqual(verdict["decision"], "dropped")
        self.assertIn("number 1912 -> 1921", verdict["reason"])

    def test_trust_is_part_of_what_a_document_is(self):
        self.assertEqual(self.index("--trusted")["unchanged"], 2)
        self.assertEqual(self.index()["replaced"], 2)
        self.assertIn("--trusted", self.seal("--key", self.key, code=2))


if __name__ == "__main__":
    unittest.main()
