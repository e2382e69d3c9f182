"""Runs the built program as a user would, in a folder and an environment of the test's own."""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

PROGRAM = os.environ["CASEMATE_PROGRAM"]
TINY_MODEL = os.environ["CASEMATE_TINY_MODEL"]
SOURCE = pathlib.Path(__file__).resolve().parents[2]
# The tiny model reads 40 tokens at once.
CHUNKS = ("--chunk-tokens", "32", "--chunk-overlap", "0")
USER_CACHE = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
USER_MODELS = os.environ.get("CASEMATE_MODELS") or os.path.join(USER_CACHE, "casemate", "models")


def model_folder(name):
    """The folder of a fetched model, or None where it is not here."""
    folder = pathlib.Path(USER_MODELS, name)
    return folder if folder.is_dir() else None


class Done:
    """What a run of the program left."""

    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    def json(self):
        return json.loads(self.out)

    def json_lines(self):
        return [json.loads(line) for line in self.out.splitlines()]


class CliTest(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="casemate-test-"))
        self.addCleanup(shutil.rmtree, self.root, True)
        self.docs = self.root / "docs"
        self.docs.mkdir()
        self.store = self.root / "store"

    def environment(self, **variables):
        """Nothing of the caller's settings or models reaches the program."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("CASEMATE_", "XDG_"))}
        return {**kept, "HOME": str(self.root), **variables}

    def start(self, *words, env=None, prefix=(), **options):
        return subprocess.Popen([*prefix, PROGRAM, *map(str, words)], env=self.environment(**(env or {})), cwd=self.root,
                                stdin=options.pop("stdin", subprocess.DEVNULL), stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, **options)

    def run_program(self, *words, env=None, given=None, code=None, prefix=()):
        """Runs it to its end; `code`, where given, is the exit code that it must have."""
        child = self.start(*words, env=env, prefix=prefix, stdin=subprocess.PIPE)
        out, err = child.communicate(given, timeout=300)
        done = Done(child.returncode, out.decode("utf-8"), err.decode("utf-8"))
        if code is not None:
            self.assertEqual(done.code, code, f"{words}\n{done.out}\n{done.err}")
        return done

    def write(self, name, content):
        path = self.docs / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
        return path

    def index(self, *words, store=None, code=0, encoder=TINY_MODEL, env=None, prefix=()):
        """`index --json` of `words` (or all documents) with the tiny encoder; the summary."""
        options = [] if all(str(word).startswith("-") for word in words[:1]) else None
        paths = [self.docs] if options is not None else []
        done = self.run_program("index", *paths, *words, "--store", store or self.store, "--encoder", encoder, *CHUNKS,
                                "--json", "--quiet", code=code, env=env, prefix=prefix)
        self.errors = done.err
        return json.loads(done.out) if done.out else None

    def search(self, query, *words, store=None, mode="bm25", code=0):
        return self.run_program("search", store or self.store, query, "--mode", mode, "--json", *words, code=code).json()

    def found(self, query, *words, **options):
        """Ids of the documents found."""
        return [hit["document"] for hit in self.search(query, *words, **options)["hits"]]
