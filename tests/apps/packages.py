"""Packages from PyPI and npm that a test drives the server with, kept in the user's cache and fetched at first use.

A package that cannot be had here skips the test that asked for it, with a message.
"""
import contextlib
import fcntl
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from cli import USER_CACHE

CACHE = pathlib.Path(USER_CACHE, "casemate")


@contextlib.contextmanager
def alone(name):
    """Tests that run at the same time do not make the same folder."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with open(CACHE / f"{name}.lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield CACHE / name


def runs(*command, **options):
    try:
        return subprocess.run([*map(str, command)], capture_output=True, timeout=300, **options).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def python_with(test, package, module=None):
    """A Python that can import the package: this one, or one in the cache."""
    there = ("-c", "import " + (module or package.replace("-", "_")))
    if runs(sys.executable, *there):
        return pathlib.Path(sys.executable)
    return environment_with(test, package, lambda folder: runs(folder / "bin" / "python", *there)) / "bin" / "python"


def program_with(test, package, name):
    """The path of a program: one that is installed here, or that of a Python package in the cache."""
    if shutil.which(name):
        return pathlib.Path(shutil.which(name))
    return environment_with(test, package, lambda folder: (folder / "bin" / name).exists()) / "bin" / name


def environment_with(test, package, is_there):
    with alone("python-" + package) as folder:
        python = folder / "bin" / "python"
        if is_there(folder):
            return folder
        if not (runs(sys.executable, "-m", "venv", folder) and runs(python, "-m", "pip", "install", "-q", package) and is_there(folder)):
            test.skipTest(f"the Python package {package} is not here and cannot be installed")
        return folder


def scratch(test):
    """A folder that goes with the test."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="casemate-test-"))
    test.addCleanup(shutil.rmtree, folder, True)
    return folder


def node_with(test, package):
    """The folder below which Node finds the package: a script that lies there can import it."""
    if not runs("node", "--version") or not shutil.which("npm"):
        test.skipTest("node and npm are not here")
    with alone("node-" + package) as folder:
        there = ("node", "--input-type=module", "-e", f"await import('{package}')")
        if folder.is_dir() and runs(*there, cwd=folder):
            return folder
        folder.mkdir(exist_ok=True)
        installed = runs("npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", folder, package,
                         env={**os.environ, "npm_config_update_notifier": "false"})
        if not installed or not runs(*there, cwd=folder):
            test.skipTest(f"the npm package {package} is not here and cannot be installed")
        return folder
