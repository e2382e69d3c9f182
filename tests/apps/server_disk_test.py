"""A disk that fills up, turns read-only or changes under a server: what cannot be done is refused, the rest goes on."""
import os
import pathlib
import random
import subprocess
import time
import unittest

from serving import ServerTest


def run(*words):
    return subprocess.run([str(word) for word in words], capture_output=True).returncode == 0


class Disk(ServerTest):
    def setUp(self):
        super().setUp()
        for n in range(6):
            self.write(f"ferry{n}.txt", f"The ferry number {n} waits for the tide at pier {n}.")

    def small_disk(self, megabytes):
        """Puts the store on a file system of its own, or skips."""
        disk = self.root / "disk"
        disk.mkdir()
        if os.geteuid() != 0 or not run("mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", disk):
            self.skipTest("needs the right to mount a small file system")
        self.addCleanup(run, "umount", "-l", disk)
        self.store = disk / "store"
        self.disk = disk

    def fill(self):
        """Leaves not a byte."""
        with open(self.disk / "ballast", "wb", buffering=0) as ballast:
            for size in (1 << 20, 1 << 12):
                try:
                    while True:
                        ballast.write(b"x" * size)
                except OSError:
                    pass

    def job(self, documents):
        """What became of an upload: the refusal at once, or the job at its end."""
        reply = self.send("POST", "/v1/documents", {"documents": documents})
        job = reply.json()
        if reply.status != 202:
            return job
        deadline = time.monotonic() + 60
        while job["state"] in ("queued", "running") and time.monotonic() < deadline:
            time.sleep(0.05)
            job = self.get("/v1/jobs/" + job["id"])
        return job

    def still_serves(self):
        self.assertEqual(self.retrieved("ferry number 3 pier 3", top_k=1), ["ferry3.txt"])
        self.assertEqual(self.send("GET", "/health").status, 200)

    def test_a_full_disk_refuses_documents_and_serves_the_rest(self):
        self.small_disk(16)
        self.index()
        self.serve()
        self.still_serves()
        self.fill()
        texts = [{"id": f"d{n}", "text": f"a gull number {n} " + "waits for the tide " * 3000} for n in range(8)]
        job = self.job(texts)
        self.assertEqual(job.get("state"), "failed", job)
        self.assertIn("full", str(job["error"]))
        self.assertNotIn(str(self.root), str(job))
        self.still_serves()
        self.assertEqual(self.retrieved("gull"), [])  # nothing of what failed
        ready = self.send("GET", "/ready")
        self.assertEqual(ready.status, 503)
        self.assertIn("disk", [check["name"] for check in ready.json()["checks"] if not check["ok"]])
        (self.disk / "ballast").unlink()
        self.assertEqual(self.upload([{"id": "after", "text": "a gull that waits"}])["added"], 1)
        self.assertEqual(self.retrieved("gull"), ["after"])
        self.run_program("check", self.store, code=0)

    def test_an_audit_that_cannot_be_written_refuses_answers_and_recovers(self):
        self.small_disk(16)
        self.index()
        audit = self.disk / "audit.jsonl"
        self.serve("--audit", audit)
        self.still_serves()
        self.fill()
        for _ in range(40):  # what is left of the last block
            reply = self.send("POST", "/v1/retrieve", {"query": "ferry", "mode": "bm25"})
            if reply.status != 200:
                break
        self.refused(reply, 507)
        self.assertEqual(self.send("GET", "/health").status, 200)
        (self.disk / "ballast").unlink()
        self.still_serves()
        self.run_program("audit", "verify", audit, code=0)

    def test_on_a_read_only_disk_documents_are_refused_and_the_rest_is_served(self):
        self.small_disk(32)
        self.index()
        self.assertTrue(run("mount", "-o", "remount,ro", self.disk))
        child = self.serve("--keys", self.root / "keys.db")
        self.still_serves()
        job = self.job([{"id": "new", "text": "a gull that waits"}])
        self.assertNotIn(job.get("state"), ("done", "queued", "running"), job)
        self.assertNotIn(str(self.root), str(job))
        reply = self.send("DELETE", "/v1/documents/ferry1.txt")
        self.assertGreaterEqual(reply.status, 500)
        self.assertNotIn(str(self.root), reply.body.decode())
        self.still_serves()
        self.assertTrue(run("mount", "-o", "remount,rw", self.disk))
        # A store that was opened on such a disk stays so until the server starts anew.
        self.end(child)
        self.serve("--keys", self.root / "keys.db")
        self.assertEqual(self.upload([{"id": "new", "text": "a gull that waits"}])["added"], 1)

    def damaged(self, change):
        """Changes every file of the store in turn, a new server's each time, while it serves."""
        self.index()
        whole = {path: path.read_bytes() for path in sorted(pathlib.Path(self.store).rglob("*")) if path.is_file()}
        self.assertGreater(len(whole), 2)
        for path, bytes_before in whole.items():
            if not bytes_before or path.name.endswith(("lock", "-shm")):
                continue
            child = self.serve()
            self.still_serves()
            change(path, bytes_before)
            for body in ({"query": "ferry number 3 pier 3", "mode": "bm25"}, {"query": "ferry", "mode": "dense"}):
                reply = self.send("POST", "/v1/retrieve", body)
                self.assertIn(reply.status, (200, 500, 503), (path.name, reply.body[:300]))
                self.assertNotIn(str(self.root), reply.body.decode())
                if reply.status == 200:
                    for hit in reply.json()["hits"]:
                        self.assertRegex(hit["text"], r"^The ferry number \d waits for the tide at pier \d\.$")
            self.job([{"id": "new", "text": "a gull that waits"}])
            self.assertEqual(self.send("GET", "/health").status, 200, path.name)
            self.assertIn(self.send("GET", "/ready").status, (200, 503))
            self.end(child)
            for each in pathlib.Path(self.store).rglob("*"):
                if each.is_file() and each not in whole:
                    each.unlink()
            for each, content in whole.items():
                each.write_bytes(content)

    def test_files_that_are_cut_off_while_serving_crash_nothing_and_give_no_wrong_text(self):
        self.damaged(lambda path, before: os.truncate(path, len(before) // 2))

    def test_bits_that_flip_while_serving_crash_nothing_and_give_no_wrong_text(self):
        chance = random.Random(3)

        def flip(path, before):
            with open(path, "r+b") as file:
                for _ in range(max(1, len(before) // 4096)):
                    at = chance.randrange(len(before))
                    file.seek(at)
                    file.write(bytes([before[at] ^ (1 << chance.randrange(8))]))

        self.damaged(flip)


if __name__ == "__main__":
    unittest.main()
