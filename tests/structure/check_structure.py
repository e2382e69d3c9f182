#!/usr/bin/env python3
"""Checks the shape of the source tree; each broken rule is printed with its file, and the exit code is 1.

- A folder of the library includes only folders above it in the order below.
- Library code does not print, exit, read the environment, or include apps/ or testing/.
- Public headers do not include third-party headers.
- Each file stays under 500 lines.
- Each library folder has a CMakeLists.txt whose DEPENDS are above it.
"""
import pathlib
import re
import sys

ORDER = ("core net text formats models encoder llm store retrieve defend sanitize generate certify pipeline attack eval").split()
ROOT = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
INCLUDE = re.compile(r'^\s*#\s*include\s+(["<])([^">]+)[">]')
STANDARD = re.compile(r"^[a-z_0-9]+$")
FORBIDDEN = (re.compile(r"\bstd::(cout|cerr|clog)\b"), re.compile(r"(?<![\w:.>])(::|std::)?(exit|getenv|printf|puts)\s*\("))
# The helper program that parses hostile markup is a program, though it lives beside the library it serves.
PROGRAMS = {"src/formats/reader_program.cpp"}
problems = []


def folder_of(include, own):
    """Library folder that an include names, or None."""
    parts = include.split("/")
    if parts[0] == "casemate" and len(parts) > 2:
        return parts[1]
    if parts[0] in ORDER and len(parts) > 1:
        return parts[0]
    return own if len(parts) == 1 else None


def check_includes(path, own, public):
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        quote, include = match.groups()
        where = f"{path.relative_to(ROOT)}:{number}"
        if include.startswith(("apps/", "testing/", "tests/")):
            problems.append(f"{where}: library code includes {include}")
        if quote == '"':
            target = folder_of(include, own)
            if target in ORDER and ORDER.index(target) > ORDER.index(own):
                problems.append(f"{where}: {own} includes {target}, which is below it")
            if public and not include.startswith("casemate/"):
                problems.append(f"{where}: a public header includes the private {include}")
        elif public and not STANDARD.match(include):
            problems.append(f"{where}: a public header includes the third-party {include}")


def check_words(path):
    if str(path.relative_to(ROOT)) in PROGRAMS:
        return
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        code = line.split("//")[0]
        if any(pattern.search(code) for pattern in FORBIDDEN):
            problems.append(f"{path.relative_to(ROOT)}:{number}: the library does not print, exit or read the environment: {line.strip()}")


def check_cmake(own):
    path = ROOT / "src" / own / "CMakeLists.txt"
    if not path.exists():
        problems.append(f"src/{own}: no CMakeLists.txt")
        return
    match = re.search(r"DEPENDS\s+([a-z ]+)", path.read_text(encoding="utf-8"))
    for dependency in (match.group(1).split() if match else []):
        if dependency in ORDER and ORDER.index(dependency) >= ORDER.index(own):
            problems.append(f"src/{own}/CMakeLists.txt: DEPENDS on {dependency}, which is not above it")


def main():
    checked = 0
    for base, public in ((ROOT / "include/casemate", True), (ROOT / "src", False)):
        for folder in sorted(p for p in base.iterdir() if p.is_dir()):
            if folder.name not in ORDER:
                problems.append(f"{folder.relative_to(ROOT)}: this folder has no place in the order")
                continue
            for path in sorted(folder.rglob("*")):
                if path.suffix in (".h", ".cpp"):
                    check_includes(path, folder.name, public)
                    check_words(path)
                    checked += 1
            if not public:
                check_cmake(folder.name)
    for top in ("include", "src", "apps", "testing", "tests", "bench", "fuzz"):
        for path in sorted((ROOT / top).rglob("*")):
            if path.suffix in (".h", ".cpp", ".py") and len(path.read_text(encoding="utf-8").splitlines()) > 500:
                problems.append(f"{path.relative_to(ROOT)}: over 500 lines")
    print("\n".join(problems) or f"{checked} files keep the order")
    # Finding nothing to check would be a broken check.
    sys.exit(1 if problems or checked < 20 else 0)


if __name__ == "__main__":
    main()
