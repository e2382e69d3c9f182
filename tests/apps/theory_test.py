"""`casemate theory ragpart`: the paper's tables 2 to 5, cell by cell, and the rows as JSON."""
import json
import unittest

from cli import SOURCE, CliTest

GOLDEN = json.loads((SOURCE / "tests/golden/combinatorics.json").read_text(encoding="utf-8"))


class TheoryTest(CliTest):
    def golden_row(self, n_p, n, k):
        return next(r for r in GOLDEN["rows"] if (r["n_p"], r["N"], r["k"]) == (n_p, n, k))

    def tables(self, text):
        """{paper's number: [[cell]]}"""
        found, number = {}, None
        for line in text.splitlines():
            if "the paper's table" in line:
                number = int(line.rsplit(" ", 1)[1].rstrip(")"))
                found[number] = []
            elif number and line.startswith("| ") and line[2].isdigit():
                found[number].append([cell.strip() for cell in line.strip("|").split("|")])
        return found

    def test_prints_the_papers_tables_cell_by_cell(self):
        tables = self.tables(self.run_program("theory", "ragpart", code=0).out)
        cells = 0
        for compared in GOLDEN["paper_tables"]["compared"]:
            table = tables[compared["table"]]
            self.assertEqual([row[0] for row in table], [str(n) for n in range(3, 16)])
            not_applicable = 0
            for row in table:
                n = int(row[0])
                for k, cell in zip(range(3, 16), row[1:], strict=True):
                    if k > n:
                        self.assertEqual(cell, "N/A")
                        not_applicable += 1
                        continue
                    holds = self.golden_row(compared["n_p"], n, k)[f"{compared['kind']}_holds"]["1"]
                    self.assertEqual(cell, "✓" if holds else "✗", (compared, n, k))
                    cells += 1
            self.assertEqual(not_applicable, compared["not_applicable"])
        self.assertEqual(cells, 364)

    def test_prints_rows_and_assumptions_as_json(self):
        found = self.run_program("theory", "ragpart", "--n-p", "1,2,3", "--n-a", "1,2,3", "--k-min", "1", "--json", code=0).json()
        self.assertEqual(len(found["rows"]), 3 * len(GOLDEN["rows"]))
        for row in found["rows"]:
            expected = self.golden_row(row["n_p"], row["N"], row["k"])
            n_a = str(row["n_a"])
            self.assertEqual((row["combinations"], row["x_naive"], row["x_ragpart"], row["robust_naive"], row["robust_ragpart"]),
                             (expected["total"], expected["x_naive"], expected["x_ragpart"], expected["naive_holds"][n_a], expected["ragpart_holds"][n_a]))
        self.assertGreaterEqual(len(found["assumptions"]), 3)

    def test_states_its_assumptions(self):
        self.assertIn("at most one poisoned fragment", self.run_program("theory", "ragpart", code=0).out)

    def test_refuses_numbers_that_make_no_sense(self):
        for words in (("--n-max", "65"), ("--n-min", "9", "--n-max", "5"), ("--n-p", "many"), ("--k-min", "9", "--n-max", "5")):
            self.assertEqual(self.run_program("theory", "ragpart", *words).code, 2, words)
        self.assertEqual(self.run_program("theory").code, 2)


if __name__ == "__main__":
    unittest.main()
