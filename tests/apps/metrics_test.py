"""`casemate metrics`: the golden values through the program, errors with file and line, and two logs compared."""
import json
import unittest

from cli import SOURCE, CliTest

GOLDEN = SOURCE / "tests/golden"


class MetricsTest(CliTest):
    def test_ranking_has_the_names_and_values_of_ir_measures(self):
        cases = json.loads((GOLDEN / "ranking_metrics.json").read_text(encoding="utf-8"))["cases"]
        for case in cases:
            if not any(case["run"].values()):
                continue  # a run file cannot hold a query without documents
            qrels = self.write("qrels", "".join(f"{q} 0 {d} {g}\n" for q, docs in case["qrels"].items() for d, g in docs.items()))
            run = self.write("run", "".join(f"{q} Q0 {d} 0 {s!r} t\n" for q, docs in case["run"].items() for d, s in docs.items()))
            done = self.run_program("metrics", "ranking", "--qrels", qrels, "--run", run, "--json", code=0).json()
            for name in ("P@5", "R@5", "RR", "nDCG@10", "AP", "Success@5"):
                self.assertAlmostEqual(done["aggregate"][name], case["aggregate_all_qrels_queries"][name], 9, case["id"])
                for query, values in case["per_query"].items():
                    self.assertAlmostEqual(done["per_query"][query][name], values[name], 9, (case["id"], query, name))

    def test_ranking_names_file_and_line_of_what_is_broken(self):
        qrels = self.write("qrels", "q 0 d 1\n")
        run = self.write("run", "q Q0 d 1 0.5 t\nq Q0 e 2 high t\n")
        done = self.run_program("metrics", "ranking", "--qrels", qrels, "--run", run, code=2)
        self.assertIn("run:2: the score \"high\" is not a finite number", done.err)
        self.assertEqual(self.run_program("metrics", "ranking", "--qrels", qrels, "--run", qrels, "--metric", "MAP").code, 2)

    def test_text_prints_pairs_means_and_corpus_bleu(self):
        pairs = json.loads((GOLDEN / "text_metrics.json").read_text(encoding="utf-8"))
        lines = self.write("pairs.jsonl", "".join(json.dumps({k: p[k] for k in ("id", "prediction", "references")}) + "\n" for p in pairs["pairs"]))
        done = self.run_program("metrics", "text", lines, "--json", code=0).json()
        self.assertEqual([p["id"] for p in done["pairs"]], [p["id"] for p in pairs["pairs"]])
        self.assertAlmostEqual(done["means"]["exact_match"], pairs["means"]["exact_match"], 9)
        self.assertAlmostEqual(done["bleu_corpus"], pairs["bleu_corpus"]["all"]["score"], 9)
        self.assertEqual(set(done["pairs"][0]["rougeL"]), {"precision", "recall", "f"})

    def test_compare_tests_rates_by_mcnemar(self):
        first = self.write("a.jsonl", "".join(json.dumps({"query": f"q{i}", "hit": 1}) + "\n" for i in range(20)))
        second = self.write("b.jsonl", "".join(json.dumps({"query": f"q{i}", "hit": int(i >= 6)}) + "\n" for i in range(21)))
        done = self.run_program("metrics", "compare", first, second, "--metric", "hit", "--json", code=0).json()
        self.assertEqual((done["n"], done["discordant"], done["only_first"], done["only_in_second"]), (20, 6, 6, 1))
        self.assertAlmostEqual(done["p"], 2 / 2**6, 12)
        self.assertIn('did you mean "hit"?', self.run_program("metrics", "compare", first, second, "--metric", "hits", code=2).err)


if __name__ == "__main__":
    unittest.main()
