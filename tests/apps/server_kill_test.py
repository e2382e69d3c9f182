"""Kills a server that stores, removes and retrieves, at random moments: what it acknowledged is there, and whole.

10 rounds; 200 with CASEMATE_FULL_TESTS=1. CASEMATE_SEED picks other moments.
"""
import http.client
import json
import os
import random
import signal
import threading
import time
import unittest

from serving import ServerTest

FULL = os.environ.get("CASEMATE_FULL_TESTS") == "1"
ROUNDS = 200 if FULL else 10
SEED = int(os.environ.get("CASEMATE_SEED", "1"))
WRITERS, READERS, SAMPLE = 3, 3, 20
WORDS = ("ferry", "wait", "tide", "for")  # that the tiny encoder knows, so that each text has a vector of its own


def text_of(number):
    digits = [WORDS[number // 4 ** place % 4] for place in range(9)]
    return " ".join(digits) + f" n{number}x."


class Load:
    """Writers and readers until the server is gone. Every id has one writer, so what it should hold is known: `known` was
    acknowledged (a text's number, or None: removed), `pending` was asked for last."""

    def __init__(self, test, seed):
        self.test, self.known, self.pending, self.number, self.lock = test, {}, {}, 0, threading.Lock()
        self.seed, self.acknowledged, self.read, self.wrong = seed, 0, 0, []

    def start(self):
        self.pending.clear()
        self.touched = set()
        self.seed += 1
        self.threads = [threading.Thread(target=self.until_gone, args=(self.write, i)) for i in range(WRITERS)]
        self.threads += [threading.Thread(target=self.until_gone, args=(self.retrieve, i)) for i in range(READERS)]
        for thread in self.threads:
            thread.start()

    def join(self):
        for thread in self.threads:
            thread.join()

    def until_gone(self, step, i):
        rng = random.Random(f"{self.seed} {step.__name__} {i}")
        try:
            while True:
                step(rng, i)
        except (OSError, http.client.HTTPException, ValueError):  # cut off at any byte
            pass
        except AssertionError as error:
            self.wrong.append(error)

    def write(self, rng, i):
        mine = [name for name, value in list(self.known.items()) if name.startswith(f"w{i}-") and value is not None]
        kind = rng.random()
        if mine and kind < 0.2:
            return self.remove(rng.choice(mine))
        with self.lock:
            self.number += 4
            first = self.number
        batch = {}
        for number in range(first, first + rng.randint(1, 4)):
            replaced = mine and kind < 0.4
            batch[rng.choice(mine) if replaced else f"w{i}-{number}"] = number
        self.pending.update(batch)
        self.touched.update(batch)
        result = self.test.upload([{"id": name, "text": text_of(number)} for name, number in batch.items()])
        if result["added"] + result["replaced"] != len(batch):
            raise AssertionError(str(result))
        self.settle(batch)

    def remove(self, name):
        self.pending[name] = None
        self.touched.add(name)
        status = self.test.send("DELETE", "/v1/documents/" + name).status
        self.test.assertIn(status, (200, 503))
        if status == 503:  # jobs had the store all the time
            del self.pending[name]
        else:
            self.settle({name: None})

    def settle(self, values):
        self.known.update(values)
        for name in values:
            del self.pending[name]
        self.acknowledged += len(values)

    def retrieve(self, rng, _):
        number = rng.randint(1, self.number + 4)
        body = {"query": text_of(number), "mode": rng.choice(("dense", "bm25", "hybrid"))}
        self.test.assertEqual(self.test.send("POST", "/v1/retrieve", body).status, 200)
        self.read += 1


class Kill(ServerTest):
    def listed(self):
        out, after = set(), ""
        while True:
            page = self.get(f"/v1/documents?limit=1000&after={after}")
            out.update(each["id"] for each in page["data"])
            if not page["has_more"]:
                return out
            after = page["data"][-1]["id"]

    def holds(self, name, number):
        """The document has this text, and the vector of this text: its own text finds it, as like as can be."""
        hits = self.post("/v1/retrieve", {"query": text_of(number), "mode": "dense", "top_k": 1})["hits"]
        found = bool(hits) and hits[0]["document"] == name and hits[0]["text"] == text_of(number)
        if found:
            self.assertAlmostEqual(hits[0]["score"], 1, places=4)
        return found

    def check_all(self, load, rng):
        there = self.listed()
        names = set(load.known) | set(load.pending)
        self.assertEqual(there - names - {"first.txt"}, set())
        some = rng.sample(sorted(load.known), min(SAMPLE, len(load.known)))
        for name in names:
            allowed = {load.known.get(name), load.pending.get(name, load.known.get(name))}
            if name not in there:
                self.assertIn(None, allowed, f"{name} was acknowledged and is gone")
                load.known[name] = None
                continue
            allowed.discard(None)
            self.assertTrue(allowed, f"{name} was removed and is back")
            if name in load.touched or name in some:
                held = [number for number in allowed if self.holds(name, number)]
                self.assertEqual(len(held), 1, f"{name}: {allowed}")
                load.known[name] = held[0]

    def test_what_was_acknowledged_outlives_the_server(self):
        self.write("first.txt", "the ferry waits")
        self.index()
        audit = self.root / "audit.jsonl"
        rng, load, kills = random.Random(SEED), Load(self, SEED * 1000), 0
        for i in range(ROUNDS):
            child = self.serve("--audit", audit)
            load.start()
            time.sleep(rng.uniform(0.02, 1.2))
            child.send_signal(signal.SIGKILL)
            child.wait(timeout=30)
            kills += 1
            load.join()
            child.returncode = 0  # not an end that `end` should complain of
            self.assertEqual(load.wrong, [])
            done = self.run_program("check", self.store, "--json")
            self.assertEqual(done.code, 0, f"round {i}, seed {SEED}: {done.out} {done.err}")
            # The next server finds all of it.
            again = self.serve("--audit", audit)
            self.check_all(load, rng)
            again.send_signal(signal.SIGTERM)
            self.assertEqual(again.wait(timeout=30), 0)
        verified = self.run_program("audit", "verify", audit, "--json", code=0).json()
        self.assertTrue(verified["holds"])
        self.assertGreaterEqual(verified["records"], load.read)  # whoever got an answer is in it
        here = sum(value is not None for value in load.known.values())
        print(f"{kills} kills, {load.acknowledged} acknowledged changes, {load.read} retrievals, {here} documents, {verified['records']} audit records")
        self.assertGreater(load.acknowledged, ROUNDS)


if __name__ == "__main__":
    unittest.main()
