"""Ctrl-C and SIGTERM leave a usable store, and the next run goes on where it stopped."""
import pathlib
import shutil
import signal
import time
import unittest
import zlib

from cli import CHUNKS, TINY_MODEL, CliTest

DOCUMENTS = 3000


def slow_pdf():
    """Some hundred pages that share one content of many words: a minute's work for pdftotext, and some kilobytes."""
    words = b"".join(b"1 0 0 1 %d %d Tm (word%d) Tj " % (i * 7919 % 600, i * 104729 % 800, i) for i in range(15_000))
    content = zlib.compress(b"BT /F 2 Tf " + words + b"ET")
    pages = range(5, 405)
    objects = [b"<</Type/Catalog/Pages 2 0 R>>",
               b"<</Type/Pages/Count %d/Kids[%s]>>" % (len(pages), b" ".join(b"%d 0 R" % page for page in pages)),
               b"<</Length %d/Filter/FlateDecode>>stream\n%s\nendstream" % (len(content), content),
               b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"]
    objects += [b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 3 0 R/Resources<</Font<</F 4 0 R>>>>>>"] * len(pages)
    out = b"%PDF-1.4\n"
    places = []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj%s endobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    return out + (b"xref\n0 %d\n0000000000 65535 f \n%strailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF"
                  % (len(objects) + 1, table, len(objects) + 1, len(out)))


def children_of(process, program):
    """Ids of the processes that run `program` and were started by `process`."""
    out = []
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            head, rest = stat.read_text().rsplit(")", 1)
        except OSError:  # it has ended meanwhile
            continue
        if head.endswith("(" + program) and int(rest.split()[1]) == process:
            out.append(int(stat.parent.name))
    return out


class Interrupt(CliTest):
    def start_indexing(self):
        self.write("corpus.jsonl", "".join(f'{{"_id": "d{i}", "text": "the ferry waits for tide number{i}"}}\n'
                                           for i in range(DOCUMENTS)))
        child = self.start("index", self.docs, "--store", self.store, "--encoder", TINY_MODEL, *CHUNKS, "--batch", "8")
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        # Well under way: the first segments are there.
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and len(list(self.store.glob("segments/*.seg"))) < 3:
            time.sleep(0.005)
        return child

    def interrupted(self, number):
        child = self.start_indexing()
        child.send_signal(number)
        out, err = child.communicate(timeout=60)
        self.assertEqual(child.returncode, 130, err)
        self.assertEqual(out, b"")
        self.assertIn(b"stopping", err)
        report = self.run_program("check", self.store, "--json", code=0).json()
        self.assertTrue(report["ok"])
        self.assertTrue(0 < report["documents"] < DOCUMENTS, report)
        self.assertEqual(self.found("number0"), ["d0"])
        summary = self.index()
        self.assertEqual((summary["unchanged"], summary["added"]),
                         (report["documents"], DOCUMENTS - report["documents"]))
        self.assertEqual(self.found(f"number{DOCUMENTS - 1}"), [f"d{DOCUMENTS - 1}"])

    def test_ctrl_c(self):
        self.interrupted(signal.SIGINT)

    def test_termination(self):
        self.interrupted(signal.SIGTERM)

    @unittest.skipUnless(shutil.which("pdftotext"), "pdftotext (poppler-utils) is not here")
    def test_the_reader_of_a_file_ends_with_the_command(self):
        self.write("a.txt", "the ferry waits")
        self.write("slow.pdf", slow_pdf())
        self.write("z.txt", "never read")
        for number in (signal.SIGINT, signal.SIGTERM):
            child = self.start("index", self.docs, "--store", self.store, "--encoder", TINY_MODEL, *CHUNKS)
            self.addCleanup(child.wait)
            self.addCleanup(child.kill)
            readers = []
            deadline = time.monotonic() + 60
            while not readers and time.monotonic() < deadline:
                time.sleep(0.01)
                readers = children_of(child.pid, "pdftotext")
            self.assertEqual(len(readers), 1)
            begin = time.monotonic()
            child.send_signal(number)
            _, err = child.communicate(timeout=60)
            self.assertEqual(child.returncode, 130, err)
            self.assertLess(time.monotonic() - begin, 10)
            self.assertFalse(pathlib.Path(f"/proc/{readers[0]}").exists())
            self.assertTrue(self.run_program("check", self.store, "--json", code=0).json()["ok"])
        (self.docs / "slow.pdf").unlink()
        self.index()
        self.assertEqual(sorted(self.found("ferry never")), ["a.txt", "z.txt"])

    def test_a_reader_that_goes_away_is_no_crash(self):
        self.write("texts.txt", "the ferry\n" * 20_000)
        child = self.start("embed", self.docs / "texts.txt", "--encoder", TINY_MODEL)
        child.stdout.read(100)
        child.stdout.close()
        err = child.stderr.read()
        child.stderr.close()
        self.assertEqual(child.wait(timeout=60), 3, err)
        self.assertIn(b"standard output", err)


if __name__ == "__main__":
    unittest.main()
