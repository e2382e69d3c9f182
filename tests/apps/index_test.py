"""index and search: incremental, idempotent, filtered, the same on any number of threads."""
import json
import unittest

from cli import CHUNKS, TINY_MODEL, CliTest


class Indexing(CliTest):
    def counts(self, summary):
        return tuple(summary[name] for name in ("added", "unchanged", "replaced", "refused"))

    def test_a_second_run_changes_nothing_and_a_changed_file_is_replaced(self):
        self.write("a.txt", "The heron waits.")
        self.write("b/c.md", "# Tide\n\nThe otter swims.")
        self.assertEqual(self.counts(self.index()), (2, 0, 0, 0))
        first = self.search("heron otter")
        again = self.index()
        self.assertEqual(self.counts(again), (0, 2, 0, 0))
        self.assertEqual(again["chunks"], 0)
        self.assertEqual(self.search("heron otter"), first)
        self.write("a.txt", "The badger waits.")
        self.assertEqual(self.counts(self.index()), (0, 1, 1, 0))
        self.assertEqual(self.found("heron"), [])
        self.assertEqual(self.found("badger"), ["a.txt"])
        self.assertEqual(self.found("otter"), ["b/c.md"])

    def test_a_store_keeps_the_precision_it_was_made_with(self):
        self.write("a.txt", "The heron waits.")
        self.index("--precision", "fixed16")
        self.write("b.txt", "The otter swims.")
        self.assertEqual(self.counts(self.index()), (1, 1, 0, 0))  # no need to say it again
        self.index(store=self.root / "exact")
        scores = [{hit["document"]: hit["score"] for hit in self.search("heron", mode="dense", store=store)["hits"]}
                  for store in (self.store, self.root / "exact")]
        self.assertEqual(scores[0].keys(), scores[1].keys())
        apart = max(abs(scores[0][name] - scores[1][name]) for name in scores[0])
        self.assertTrue(0 < apart < 1e-3, apart)

    def test_files_of_one_name_in_two_folders_are_two_documents(self):
        one = self.write("one/readme.txt", "The heron waits.").parent
        two = self.write("two/readme.txt", "The otter swims.").parent
        self.assertEqual(self.counts(self.index(one)), (1, 0, 0, 0))
        self.assertEqual(self.counts(self.index(two)), (1, 0, 0, 0))
        self.assertEqual(self.found("heron"), ["readme.txt"])
        self.assertEqual(self.found("otter"), ["two/readme.txt"])
        # The program runs in the folder above: the same folders, spelled otherwise.
        self.assertEqual(self.counts(self.index("docs/two", "docs/one/../one/")), (0, 2, 0, 0))

    def test_files_and_data_sets_of_one_run(self):
        self.write("corpus.jsonl", '{"_id": "p1", "title": "T", "text": "a plover"}\n{"_id": "p2", "text": "a curlew"}\n')
        self.write("table.csv", "id,text\nrow1,a bittern\n")
        self.write("squad.json", json.dumps({"version": "1.1", "data": [{"title": "S", "paragraphs": [
            {"context": "a dunlin", "qas": [{"id": "q", "question": "which?",
                                             "answers": [{"text": "dunlin", "answer_start": 2}]}]}]}]}))
        self.write("page.html", "<p>a knot<p style='display:none'>a hidden smew")
        summary = self.index()
        self.assertEqual((summary["files"], summary["documents"], summary["problems"]), (4, 5, []))
        self.assertEqual(self.found("plover"), ["p1"])
        self.assertEqual(self.found("curlew"), ["p2"])
        self.assertEqual(self.found("bittern"), ["row1"])
        self.assertEqual(len(self.found("dunlin")), 1)
        self.assertEqual(self.found("knot"), ["page.html"])
        self.assertEqual(self.found("smew"), [])
        self.assertEqual(summary["findings"], {"hidden_html": 1})

    def test_labels_filter(self):
        for name, labels in (("a", "red,big"), ("b", "red"), ("c", "blue")):
            self.index(self.write(f"{name}.txt", "the ferry " + name), "--labels", labels)
        self.assertEqual(sorted(self.found("ferry")), ["a.txt", "b.txt", "c.txt"])
        self.assertEqual(sorted(self.found("ferry", "--label", "blue,big")), ["a.txt", "c.txt"])
        self.assertEqual(self.found("ferry", "--all-labels", "red,big"), ["a.txt"])
        self.assertEqual(sorted(self.found("ferry", "--no-label", "big")), ["b.txt", "c.txt"])
        self.assertEqual(self.found("ferry", "--label", "red", "--no-label", "big", mode="dense"), ["b.txt"])

    def test_tenants_do_not_see_each_other(self):
        self.index(self.write("a.txt", "the ferry of one"), "--tenant", "one")
        self.index(self.write("b.txt", "the ferry of two"), "--tenant", "two")
        for mode in ("bm25", "dense", "hybrid"):
            self.assertEqual(self.found("ferry", "--tenant", "one", mode=mode), ["a.txt"])
            self.assertEqual(self.found("ferry", "--tenant", "two", mode=mode), ["b.txt"])
            self.assertEqual(self.found("ferry", mode=mode), [])

    def test_other_settings_than_the_store_was_made_with_are_refused(self):
        self.write("a.txt", "the ferry")
        self.index()
        done = self.run_program("index", self.docs, "--store", self.store, "--chunk-tokens", "16", "--chunk-overlap", "0",
                                code=2)
        self.assertIn("tokens=16", done.err)
        self.assertEqual(done.out, "")

    def test_results_go_to_standard_output_and_the_rest_to_standard_error(self):
        self.write("a.txt", "the ferry")
        done = self.run_program("index", self.docs, "--store", self.store, "--encoder", TINY_MODEL, *CHUNKS, code=0)
        self.assertIn("added 1", done.out)
        self.assertNotIn("indexing", done.out)
        self.assertIn("indexing", done.err)
        self.assertEqual(self.run_program("index", self.docs, "--store", self.store, "--quiet", *CHUNKS, code=0).err, "")

    def test_the_encoder_is_remembered(self):
        self.write("a.txt", "the ferry")
        self.index()
        self.assertEqual(self.found("the tide", mode="dense"), ["a.txt"])


class SameOnAnyNumberOfThreads(CliTest):
    def test_index_search_and_embed(self):
        words = ("the", "ferry", "tide", "waits", "for", "a", "quay")
        for i in range(60):
            self.write(f"{i:02}.txt", " ".join(words[(i * j) % 7] for j in range(3, 60)) + ".")
        texts = "\n".join(" ".join(words[: i % 7 + 1]) for i in range(30)).encode()
        outputs = []
        for threads in ("1", "2"):
            store = self.root / ("store" + threads)
            summary = self.index("--threads", threads, store=store)
            lines = [json.dumps(summary)]
            for mode in ("dense", "bm25", "hybrid"):
                lines.append(self.run_program("search", store, "the ferry waits", "--mode", mode, "--top-k", "20", "--json",
                                              "--threads", threads, code=0).out)
            lines.append(self.run_program("embed", "--encoder", TINY_MODEL, "--threads", threads, given=texts, code=0).out)
            outputs.append(lines)
        self.assertEqual(outputs[0], outputs[1])
        self.assertEqual(len(json.loads(outputs[0][1])["hits"]), 20)


if __name__ == "__main__":
    unittest.main()
