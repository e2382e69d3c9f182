"""The curl examples of the documentation: they run as they stand there, and reply what is shown."""
import json
import os
import re
import shutil
import subprocess
import time
import unittest

from cli import SOURCE, TINY_MODEL
from described import METHODS
from serving import ServerTest

PAGES = ("docs/server.md", "README.md")
# In a page's text, ```sh with curl in it is a command, and ```json or ```text right after it is what comes back.
EXAMPLE = re.compile(r"^```sh\n((?:(?!^```).)*?)^```\n(?:^```(json|text)\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)
CERTIFICATE = SOURCE / "tests" / "golden" / "certificates" / "voting.json"


def shows(shown, value):
    """Whether a reply is as shown: "..." stands for anything, and objects may have more fields."""
    if shown == "...":
        return True
    if isinstance(shown, dict):
        return isinstance(value, dict) and all(name in value and shows(item, value[name]) for name, item in shown.items())
    if isinstance(shown, list):
        if not isinstance(value, list):
            return False
        open_end = bool(shown) and shown[-1] == "..."
        shown = shown[:-1] if open_end else shown
        fits = len(value) >= len(shown) if open_end else len(value) == len(shown)
        return fits and all(shows(a, b) for a, b in zip(shown, value))
    return type(shown) is type(value) and shown == value


class Examples(ServerTest):
    def setUp(self):
        super().setUp()
        if not shutil.which("curl"):
            self.skipTest("curl is not here")
        # The documentation names the usual encoder; the tiny one lies in a folder of that name.
        self.encoder = self.root / "all-minilm-l6-v2"
        shutil.copytree(TINY_MODEL, self.encoder)
        self.write("0.txt", "The pier opens at five.")
        self.index(encoder=self.encoder)
        certificate = json.loads(CERTIFICATE.read_text(encoding="utf-8"))
        (self.root / "request.json").write_text(json.dumps({"certificate": certificate}))
        self.variables = {}

    def run_shell(self, command):
        command = command.replace("localhost:8080", f"127.0.0.1:{self.port}").replace("casemate serve", ": casemate serve")
        env = {**os.environ, **self.variables, "no_proxy": "*"}
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", command], cwd=self.root, env=env, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, command + done.stderr)
        return done.stdout

    def is_shown(self, kind, shown, out):
        if kind == "text":
            at = 0
            for line in shown.splitlines():
                at = out.find(line, at)
                if at < 0:
                    return False
            return True
        # The last line's reply, where there were several commands.
        decoder, values = json.JSONDecoder(), []
        while out.strip():
            value, end = decoder.raw_decode(out.strip())
            values.append(value)
            out = out.strip()[end:]
        if values[0].get("object") == "job":
            self.variables["JOB"] = values[0]["id"]
        return shows(json.loads(shown), values[-1])

    def routes(self, child):
        for line in child.log:
            event = json.loads(line) if line.startswith(b"{") else {}
            if event.get("event") == "request":
                yield f"{event['method']} {event['route']}", event["status"]

    def test_they_reply_what_is_shown(self):
        child = self.serve("--policy", "off,off-hybrid", "--log-requests", model=self.fake_model())
        count, failures_shown = 0, 0
        for page in PAGES:
            for command, kind, shown in EXAMPLE.findall((SOURCE / page).read_text(encoding="utf-8")):
                if "curl" not in command:
                    continue
                count += 1
                deadline = time.monotonic() + 20
                with self.subTest(page=page, command=command):
                    out = self.run_shell(command)
                    if not kind:
                        self.assertNotIn('"error":{', out)
                        continue
                    failures_shown += '{"error":' in shown
                    # A job takes its time.
                    while not self.is_shown(kind, shown, out) and "/v1/jobs" in command and time.monotonic() < deadline:
                        time.sleep(0.05)
                        out = self.run_shell(command.splitlines()[-1])
                    self.assertTrue(self.is_shown(kind, shown, out), f"shown:\n{shown}\ncame:\n{out[:3000]}")
        self.assertGreater(count, 20)
        api = self.get("/openapi.json")
        self.end(child)
        met = list(self.routes(child))
        self.assertEqual(sum(status >= 400 for _, status in met), failures_shown, met)
        operations = {f"{method.upper()} {path}" for path, methods in api["paths"].items() for method in methods if method in METHODS}
        self.assertEqual(sorted(operations - {route for route, _ in met}), [], "have no example in " + PAGES[0])


if __name__ == "__main__":
    unittest.main()
