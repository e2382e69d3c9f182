"""Commands that keep a store: documents, delete, compact, check, backup, restore, migrate."""
import fcntl
import unittest

from cli import CliTest


class Keeping(CliTest):
    def setUp(self):
        super().setUp()
        self.write("a.txt", "the heron")
        self.write("b.txt", "the otter\u200b\u200b swims")
        self.write("c.txt", "the badger")
        self.index("--labels", "animals")

    def keep(self, command, *words, code=0):
        return self.run_program(command, *words, "--json", code=code).json()

    def test_delete_compact_backup_and_restore(self):
        copy, restored = self.root / "copy", self.root / "restored"
        self.assertEqual(self.keep("delete", self.store, "a.txt"), {"deleted": 1, "not_found": 0})
        self.assertEqual(self.found("heron"), [])
        self.assertEqual(self.keep("compact", self.store)["chunks_dropped"], 1)
        self.assertEqual(self.keep("check", self.store),
                         {"ok": True, "documents": 2, "chunks": 2, "segments": 2, "problems": []})
        before = self.search("otter badger", mode="hybrid")
        self.assertEqual(self.keep("backup", self.store, copy), {"backup": str(copy)})
        self.keep("delete", self.store, "b.txt", "c.txt")
        self.assertEqual(self.found("otter"), [])
        self.assertEqual(self.keep("restore", copy, restored), {"store": str(restored)})
        self.assertTrue(self.keep("check", restored)["ok"])
        self.assertEqual(self.search("otter badger", store=restored, mode="hybrid"), before)

    def test_a_document_that_is_not_there_is_told(self):
        self.assertEqual(self.keep("delete", self.store, "a.txt", "none.txt", code=2), {"deleted": 1, "not_found": 1})

    def test_a_destination_that_exists_is_refused(self):
        self.assertIn(str(self.docs), self.run_program("backup", self.store, self.docs, code=2).err)
        self.run_program("backup", self.store, self.root / "copy", code=0)
        self.assertIn(str(self.store), self.run_program("restore", self.root / "copy", self.store, code=2).err)

    def test_damage_is_the_answer_no(self):
        # Fragments are written before the passages' own vectors.
        segment = max((self.store / "segments").glob("*.seg"))
        content = bytearray(segment.read_bytes())
        content[-40] ^= 1
        segment.write_bytes(content)
        report = self.keep("check", self.store, code=1)
        self.assertFalse(report["ok"])
        self.assertIn(segment.name, report["problems"][0]["file"])
        done = self.run_program("search", self.store, "the heron", "--mode", "dense", "--json", code=0)
        self.assertEqual(done.json()["hits"], [])
        self.assertIn(segment.name, done.err)
        self.assertIn(segment.name, done.json()["evidence"]["stages"][0]["notes"][0])
        # Indexing again mends it.
        self.assertEqual(self.index("--labels", "animals")["replaced"], 3)
        self.assertEqual(len(self.search("the heron", mode="dense")["hits"]), 3)

    def test_documents_are_listed_with_what_was_kept_out(self):
        done = self.run_program("documents", self.store, "--json", code=0)
        listed = done.json_lines()
        self.assertEqual([each["id"] for each in listed], ["a.txt", "b.txt", "c.txt"])
        self.assertEqual(set(listed[0]), {"id", "title", "source", "format", "labels", "chunks", "ingested_at", "metadata",
                                          "findings"})
        self.assertEqual((listed[0]["labels"], listed[0]["format"], listed[0]["findings"]), (["animals"], "text", []))
        self.assertEqual(listed[1]["findings"][0]["kind"], "invisible_characters")
        # "the otter" is 9 bytes, each zero-width space 3.
        self.assertEqual((listed[1]["findings"][0]["begin"], listed[1]["findings"][0]["end"]), (9, 15))
        only = self.run_program("documents", self.store, "--findings", code=0)
        self.assertIn("b.txt", only.out)
        self.assertIn("invisible_characters at 9-15", only.out)
        self.assertNotIn("a.txt", only.out)
        only = self.run_program("documents", self.store, "--findings", "--json", code=0)
        self.assertEqual([each["id"] for each in only.json_lines()], ["b.txt"])

    def test_migrate_has_nothing_to_do(self):
        self.assertEqual(self.keep("migrate", self.store), {"migrated": False})

    def test_no_store_is_named(self):
        for command in ("documents", "compact", "check", "migrate"):
            done = self.run_program(command, self.root / "nowhere", code=2)
            self.assertIn("nowhere", done.err)
            self.assertEqual(done.out, "")
        self.assertFalse((self.root / "nowhere").exists())

    def test_a_second_writer_is_told_so(self):
        with open(self.store / "vault.lock", "rb+") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            done = self.run_program("compact", self.store, code=3)
        self.assertIn(str(self.store), done.err)
        self.run_program("compact", self.store, code=0)


if __name__ == "__main__":
    unittest.main()
