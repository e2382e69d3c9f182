"""What a run hands to others: report.html (opened in Chromium where there is one), gates with exit code, JUnit and SARIF."""
import json
import os
import re
import subprocess
import sys
import unittest
import xml.etree.ElementTree as ElementTree

from cli import SOURCE, TINY_MODEL, CliTest

EXPERIMENT = """
name: small
description: Bridges & <b>builders</b>
data: {path: squad.json}
questions: 0
quick_questions: 5
top_k: 3
metrics: [recall@1, asr@3]
attacks: [none, query-as-poison, 'contradictory{rate: 0.1}', 'contradictory{rate: 0.3}']
defences: [none, suppression, 'ragpart{fragments: 3, combination: 1}']
"""
HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)> \x1b[31m\u202e"


class ReportTest(CliTest):
    def setUp(self):
        super().setUp()
        paragraphs = [{"context": f"Bridge {i} was planned by builder {i + 50}. {HOSTILE if i < 20 else ''}",
                       "qas": [{"id": f"q{i}", "question": f"Who planned bridge {i}? {HOSTILE if i < 20 else ''}",
                                "answers": [{"text": str(i + 50), "answer_start": 0}]}]} for i in range(40)]
        self.write("squad.json", json.dumps({"data": [{"title": "Bridges", "paragraphs": paragraphs}]}))
        self.experiment = self.write("small.yaml", EXPERIMENT)
        self.write("small.published.json", json.dumps({"figures": [
            {"attack": "query-as-poison", "defence": "none", "metric": "asr@3", "value": 0.63, "source": "a table"}]}))

    def eval(self, out, *words, code=0):
        return self.run_program("eval", self.experiment, "--out", self.root / out, "--encoder", TINY_MODEL, *words, code=code)

    def test_every_run_writes_a_report_that_a_browser_shows_without_a_complaint(self):
        self.eval("out")
        self.eval("other", "--quick")
        page = self.root / "out/report.html"
        text = page.read_text()
        self.assertIn("other models and another corpus", text)
        self.assertIn("Bridges &amp; &lt;b&gt;builders&lt;/b&gt;", text)
        self.assertEqual(len(re.findall("<script", text)), 2)
        self.assertEqual(self.run_program("report", self.root / "out", self.root / "other", "--out", self.root / "both.html", code=0).code, 0)
        self.assertIn("Between the runs", (self.root / "both.html").read_text())
        shots = os.environ.get("CASEMATE_SCREENSHOTS")
        checked = subprocess.run([sys.executable, SOURCE / "tools/check_report.py", page, self.root / "both.html",
                                  *(["--screenshots", shots] if shots else [])], capture_output=True, text=True, timeout=300)
        if checked.returncode == 77:
            self.skipTest(checked.stderr.strip())
        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)

    def test_log_lines_say_what_defences_decided(self):
        self.eval("out")
        done = json.loads((self.root / "out/summary.json").read_text())
        verdicts = []
        for condition in done["conditions"]:
            for line in (self.root / "out" / condition["log"]).read_text().splitlines():
                verdicts += [(condition["defence"], each) for each in json.loads(line).get("verdicts", [])]
        self.assertTrue(any(d == "suppression" and v["decision"] == "dropped" for d, v in verdicts))
        self.assertTrue(any("votes" in v.get("measures", {}) for _, v in verdicts))

    def test_a_gate_that_fails_ends_with_1_and_tells_ci(self):
        junit, sarif = self.root / "junit.xml", self.root / "out.sarif"
        done = self.eval("out", "--fail-if", "asr@3>0.05", "--fail-if", "recall@1 < 0 where defence = none", "--junit", junit,
                         "--sarif", sarif, "--csv", self.root / "out.csv", "--latex", self.root / "out.tex", code=1)
        self.assertIn("gate failed: asr@3>0.05", done.err)
        suites = ElementTree.parse(junit).getroot()
        self.assertEqual(suites.tag, "testsuites")
        cases = suites.findall("testsuite/testcase")
        failures = suites.findall("testsuite/testcase/failure")
        self.assertEqual(len(cases), 12 + 4)
        suite = suites.find("testsuite")
        self.assertEqual((int(suite.get("tests")), int(suite.get("failures")), suite.get("errors")), (16, len(failures), "0"))
        for case in cases:
            self.assertTrue(case.get("name") and case.get("classname") and case.get("time") is not None)
        self.check_sarif(json.loads(sarif.read_text()), len(failures))
        self.assertIn(r"\toprule", (self.root / "out.tex").read_text())
        # What a run found does not change: asked again, with a gate that holds.
        self.run_program("report", self.root / "out", "--fail-if", "recall@1 < 0", "--junit", junit, code=0)
        self.assertEqual(ElementTree.parse(junit).getroot().get("failures"), "0")

    def check_sarif(self, log, results):
        """The properties that SARIF 2.1.0 requires of what is there, and its references."""
        self.assertEqual(log["version"], "2.1.0")
        self.assertTrue(log["$schema"].endswith("sarif-2.1.0.json"))
        (run,) = log["runs"]
        driver = run["tool"]["driver"]
        self.assertTrue(driver["name"])
        ids = [rule["id"] for rule in driver["rules"]]
        self.assertEqual(len(ids), len(set(ids)))
        self.assertEqual(len(run["results"]), results)
        for result in run["results"]:
            self.assertTrue(result["message"]["text"])
            self.assertIn(result["level"], ("none", "note", "warning", "error"))
            self.assertEqual(ids[result["ruleIndex"]], result["ruleId"])
            artifact = result["locations"][0]["physicalLocation"]["artifactLocation"]
            self.assertIn(artifact["uriBaseId"], run["originalUriBaseIds"])
            self.assertTrue((self.root / "out" / artifact["uri"]).is_file())

    def test_a_misspelt_gate_is_told_before_any_work(self):
        self.assertIn('"recall@1"', self.eval("out", "--fail-if", "recal@1 < 0.5", code=2).err)
        self.assertIn("suppression", self.eval("out", "--fail-if", "recall@1 < 0.5 where defence = supression", code=2).err)
        self.assertFalse((self.root / "out").exists())

    def test_a_folder_that_is_no_run_says_what_makes_one(self):
        self.assertIn("casemate eval", self.run_program("report", self.root / "nothing", code=2).err)


if __name__ == "__main__":
    unittest.main()
