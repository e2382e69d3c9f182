"""Ctrl-C and SIGTERM leave a usable store, and the next run goes on where it stopped."""
import signal
import time
import unittest

from cli import CHUNKS, TINY_MODEL, CliTest

DOCUMENTS = 3000


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
