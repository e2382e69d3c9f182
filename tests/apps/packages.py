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
    module = module or package.replace("-", "_")
    if runs(sys.executable, "-c", f"import {module}"):
        return sys.executable
    with alone("python-" + package) as folder:
        python = folder / "bin" / "python"
        if runs(python, "-c", f"import {module}"):
            return python
        if not (runs(sys.executable, "-m", "venv", folder) and runs(python, "-m", "pip", "install", "-q", package)):
            test.skipTest(f"the Python package {package} is not here and cannot be installed")
        return python


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
