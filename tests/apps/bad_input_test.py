"""Broken and hostile input through the program: a clear message with the name, and the rest of the batch is done."""
import json
import math
import os
import pathlib
import shutil
import struct
import subprocess
import unittest
import zipfile

from cli import CHUNKS, TINY_MODEL, CliTest


def pdf(extra_trailer=""):
    """A one-page PDF with the text "the ferry"."""
    stream = "BT /F1 12 Tf 72 720 Td (the ferry) Tj ET"
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
               "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R"
               " /Resources << /Font << /F1 5 0 R >> >> >>",
               f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream",
               "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"]
    out, places = "%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += f"{number} 0 obj\n{body}\nendobj\n"
    table = len(out)
    out += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n" + "".join(f"{place:010} 00000 n \n" for place in places)
    return out + f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R {extra_trailer}>>\nstartxref\n{table}\n%%EOF\n"


ENCRYPTED = pdf("/Encrypt << /Filter /Standard /V 1 /R 2 /P -4 /O <" + "41" * 32 + "> /U <" + "42" * 32
                + "> >> /ID [<" + "43" * 16 + "> <" + "43" * 16 + ">] ")


class BadFiles(CliTest):
    def setUp(self):
        super().setUp()
        self.write("neighbour.txt", "the heron waits")

    def refused(self, name, *says):
        """The folder is indexed but for `name`, whose problem is told."""
        summary = self.index(code=2)
        self.assertEqual(len(summary["problems"]), 1, summary)
        message = summary["problems"][0]
        self.assertIn(name, message)
        for each in says:
            self.assertIn(each, message)
        self.assertIn(message, self.errors)
        self.assertIn("neighbour.txt", self.found("heron"))
        return summary

    def test_an_empty_file(self):
        self.write("empty.txt", "")
        self.refused("empty.txt", "no text")

    def test_a_line_of_a_gigabyte(self):
        path = self.write("big.jsonl", '{"_id": "a", "text": "first"}\n{"_id": "b", "text": "' + "x" * 100_000)
        with path.open("r+b") as file:
            file.truncate(1 << 30)
            file.seek(0, 2)
            file.write(b'\n{"_id": "c", "text": "the plover"}\n')
        self.refused("big.jsonl:2", "longer than")
        self.assertEqual(self.found("plover"), ["c"])

    def test_a_text_file_of_a_gigabyte(self):
        path = self.write("big.txt", "x" * 100_000)
        with path.open("r+b") as file:
            file.truncate(1 << 30)
        self.refused("big.txt", "max_file_bytes")

    def test_binary_under_a_text_name(self):
        self.write("program.txt", pathlib.Path("/bin/true").read_bytes()[:20_000])
        self.refused("program.txt", "a program")

    def test_invalid_utf8_is_read_and_told(self):
        self.write("latin.txt", b"the caf\xe9 ferry")
        self.assertEqual(self.index()["findings"], {"invalid_utf8": 1})
        self.assertEqual(self.search("ferry")["hits"][0]["text"], "the caf\ufffd ferry")

    def test_html_that_nests_without_end(self):
        self.write("bomb.html", "<div>" * 20_000 + "x")
        self.refused("bomb.html", "nest")

    def test_an_encrypted_pdf(self):
        self.write("plain.pdf", pdf())
        self.write("secret.pdf", ENCRYPTED)
        self.refused("secret.pdf", "password")
        self.assertEqual(self.found("ferry"), ["plain.pdf"])

    def test_a_zip_bomb_as_docx(self):
        with zipfile.ZipFile(self.docs / "bomb.docx", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("[Content_Types].xml", "<Types/>")
            archive.writestr("word/document.xml", "<w:document><w:body>" + " " * 100_000_000)
        self.refused("bomb.docx", "max_zip_ratio")

    def test_links_that_loop(self):
        (self.docs / "loop").symlink_to(self.docs)
        (self.docs / "self").symlink_to("self")
        summary = self.index(code=2)
        self.assertEqual(len(summary["problems"]), 2, summary)
        self.assertIn("/loop", summary["problems"][0])
        self.assertIn("/self", summary["problems"][1])
        self.assertEqual(self.found("heron"), ["neighbour.txt"])

    def test_duplicate_ids(self):
        self.write("corpus.jsonl", '{"_id": "a", "text": "the first"}\n{"_id": "a", "text": "the second"}\n')
        self.refused("corpus.jsonl:2", '"a"', "corpus.jsonl:1")
        self.assertEqual(self.found("first second"), ["a"])
        self.assertEqual(self.search("first second")["hits"][0]["text"], "the first")

    def test_broken_records(self):
        self.write("corpus.jsonl", 'no json\n{"_id": "b", "text": 3}\n{"text": "no id"}\n{"_id": "d", "text": "the plover"}\n')
        summary = self.index(code=2)
        self.assertEqual([":%d: " % line in problem for line, problem in zip((1, 2, 3), summary["problems"])], [True] * 3)
        self.assertEqual(self.found("plover"), ["d"])

    def test_a_missing_path_among_others(self):
        summary = self.index(self.docs, self.root / "none", code=2)
        self.assertIn("none", summary["problems"][0])
        self.assertEqual(summary["added"], 1)

    def test_names_with_control_sequences_do_not_reach_the_terminal(self):
        self.write("\x1b[31mred\n.txt", "")
        done = self.run_program("index", self.docs, "--store", self.store, "--encoder", TINY_MODEL, *CHUNKS, code=2)
        self.assertNotIn("\x1b", done.err + done.out)

    def test_a_folder_that_may_not_be_read(self):
        locked = self.docs / "locked"
        locked.mkdir()
        (locked / "x.txt").write_text("the otter")
        locked.chmod(0)
        self.addCleanup(locked.chmod, 0o700)
        prefix = ()
        if os.geteuid() == 0:
            if shutil.which("setpriv") is None:
                self.skipTest("needs setpriv to be another user")
            os.chown(self.root, 65534, 65534)
            prefix = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
            if subprocess.run([*prefix, "true"], check=False).returncode != 0:
                self.skipTest("setpriv may not change the user here")
            if subprocess.run([*prefix, "test", "-x", os.environ["CASEMATE_PROGRAM"], "-a", "-r",
                               TINY_MODEL + "/config.json"], check=False).returncode != 0:
                self.skipTest("another user cannot run this build")
        summary = self.index(code=2, prefix=prefix)
        self.assertEqual(summary["added"], 1)
        self.assertIn("/locked", summary["problems"][0])

    def test_no_space_left(self):
        disk = self.root / "disk"
        disk.mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", disk], capture_output=True,
                          check=False).returncode != 0:
            self.skipTest("needs the right to mount a small disk")
        self.addCleanup(subprocess.run, ["umount", "-l", disk], check=True)
        for i in range(400):
            self.write(f"{i}.txt", f"the ferry {i} " * 200)
        store = disk / "store"
        self.index("--batch", "16", store=store, code=3)
        self.assertIn(str(store), self.errors)
        self.assertRegex(self.errors, "full|space")
        # What was stored stays whole.
        subprocess.run(["mount", "-o", "remount,size=64m", disk], check=True)
        self.assertTrue(self.run_program("check", store, "--json", code=0).json()["ok"])
        summary = self.index(store=store)
        self.assertEqual(summary["added"] + summary["unchanged"], 401)
        self.assertGreater(summary["unchanged"], 0)


class BadModels(CliTest):
    def setUp(self):
        super().setUp()
        self.model = self.root / "model"
        shutil.copytree(TINY_MODEL, self.model)

    def change_row(self, token, value):
        """Sets the embedding of one token of the copy."""
        path = self.model / "model.safetensors"
        content = bytearray(path.read_bytes())
        size = struct.unpack_from("<Q", content)[0]
        tensor = json.loads(content[8:8 + size])["embeddings.word_embeddings.weight"]
        row = json.loads((self.model / "tokenizer.json").read_text())["model"]["vocab"][token]
        width = tensor["shape"][1]
        struct.pack_into(f"<{width}f", content, 8 + size + tensor["data_offsets"][0] + 4 * width * row, *[value] * width)
        path.write_bytes(content)

    def test_a_document_whose_embedding_is_not_a_number_is_refused_by_name(self):
        self.change_row("tide", math.nan)
        for name, text in (("a.txt", "the heron"), ("bad.txt", "the tide"), ("c.txt", "the ferry")):
            self.write(name, text)
        summary = self.index(encoder=self.model, code=2)
        self.assertEqual((summary["added"], summary["refused"]), (2, 1))
        self.assertEqual(len(summary["problems"]), 1)
        self.assertIn("bad.txt", summary["problems"][0])
        self.assertEqual(sorted(self.found("the")), ["a.txt", "c.txt"])
        done = self.run_program("search", self.store, "tide", "--mode", "dense", code=3)
        self.assertEqual(done.out, "")

    def test_broken_checkpoints_name_their_file(self):
        self.write("a.txt", "the heron")
        for name, content in (("config.json", b"{"), ("tokenizer.json", b"{}"), ("model.safetensors", b"\xff" * 100)):
            with self.subTest(name):
                path = self.model / name
                kept = path.read_bytes()
                path.write_bytes(content)
                self.assertIsNone(self.index(encoder=self.model, code=2))
                self.assertIn(name, self.errors)
                path.unlink()
                self.assertIsNone(self.index(encoder=self.model, code=2))
                self.assertIn(str(self.model), self.errors)
                path.write_bytes(kept)
        self.assertFalse(self.store.exists())

    def test_another_model_than_the_store_was_made_with_is_refused(self):
        self.write("a.txt", "the heron")
        self.index()
        self.change_row("tide", 0.5)
        done = self.run_program("search", self.store, "heron", "--mode", "dense", "--encoder", self.model, code=2)
        self.assertIn("model_hash", done.err)


if __name__ == "__main__":
    unittest.main()
