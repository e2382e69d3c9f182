"""Kills `casemate index` at random moments; what is left is a good store each time, and a last run completes it.

10 rounds; 200 with CASEMATE_FULL_TESTS=1. CASEMATE_SEED picks other moments.
"""
import os
import random
import shutil
import signal
import time
import unittest

from cli import CHUNKS, TINY_MODEL, CliTest

FULL = os.environ.get("CASEMATE_FULL_TESTS") == "1"
ROUNDS = 200 if FULL else 10
SEED = int(os.environ.get("CASEMATE_SEED", "1"))
DOCUMENTS = 300


class Kill(CliTest):
    def words(self):
        return ("index", self.docs, "--store", self.store, "--encoder", TINY_MODEL, *CHUNKS, "--batch", "2", "--quiet")

    def test_a_killed_index_leaves_a_good_store(self):
        for i in range(DOCUMENTS):
            self.write(f"{i:03}.txt", f"the ferry waits for tide number{i}")
        begun = time.monotonic()
        self.run_program(*self.words(), code=0)
        whole = time.monotonic() - begun
        moments = random.Random(SEED)
        killed = usable = partial = 0
        for i in range(ROUNDS):
            # Every second time from nothing, else with other contents: creating, adding and replacing are all met.
            if i % 2 == 0:
                shutil.rmtree(self.store, ignore_errors=True)
            else:
                for k in range(0, DOCUMENTS, 2):
                    self.write(f"{k:03}.txt", f"the ferry waits for tide number{k} round{i}")
            child = self.start(*self.words())
            time.sleep(moments.uniform(0, whole))
            child.send_signal(signal.SIGKILL)
            child.communicate()
            killed += child.returncode == -signal.SIGKILL
            done = self.run_program("check", self.store, "--json")
            if done.code == 2:  # killed before there was a store
                self.assertIn("no store", done.err)
                continue
            self.assertEqual(done.code, 0, f"round {i}, seed {SEED}: {done.out} {done.err}")
            usable += 1
            documents = done.json()["documents"]
            partial += 0 < documents < DOCUMENTS
            self.assertEqual(len(self.search("ferry", "--top-k", "300")["hits"]), documents)
        print(f"{ROUNDS} rounds, {killed} killed, {usable} left a store, {partial} a partial one")
        self.assertGreater(killed, ROUNDS // 3)
        self.run_program(*self.words(), code=0)
        self.assertTrue(self.run_program("check", self.store, "--json", code=0).json()["ok"])
        found = self.search("ferry", "--top-k", "1000")["hits"]
        self.assertEqual(sorted(hit["document"] for hit in found), [f"{i:03}.txt" for i in range(DOCUMENTS)])
        for i in range(0, DOCUMENTS, 1 if FULL else 50):
            self.assertEqual(self.found(f"number{i}"), [f"{i:03}.txt"])


if __name__ == "__main__":
    unittest.main()
