#!/usr/bin/env python3
"""Checks that relative links in Markdown files lead to files that exist. Exit code 1 where one does not."""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)(?:#[^)]*)?\)")


def main():
    files = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    broken, checked = [], 0
    for name in files:
        for target in LINK.findall((ROOT / name).read_text(encoding="utf-8")):
            if "://" in target or target.startswith("mailto:"):
                continue
            checked += 1
            if not (ROOT / name).parent.joinpath(target).exists():
                broken.append(f"{name}: {target} is not there")
    print("\n".join(broken) or f"{len(files)} pages, {checked} links, all lead somewhere")
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()
