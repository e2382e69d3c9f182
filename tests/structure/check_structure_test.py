#!/usr/bin/env python3
"""Plants one violation of each rule in a made-up tree and sees that the check reports it."""
import pathlib
import subprocess
import sys
import tempfile

CHECK = pathlib.Path(__file__).with_name("check_structure.py")
CASES = {
    "which is below it": ("src/core/a.cpp", '#include "casemate/store/store.h"\n'),
    "does not print": ("src/core/b.cpp", "void f() { std::cout << 1; }\n"),
    "reads no environment": ("src/core/c.cpp", 'auto x = std::getenv("HOME");\n'),
    "third-party": ("include/casemate/core/d.h", "#include <nlohmann/json.hpp>\n"),
    "private": ("include/casemate/store/e.h", '#include "store/x.h"\n'),
    "over 500 lines": ("src/core/f.cpp", "\n" * 501),
    "no place in the order": ("src/unknown/g.cpp", "\n"),
    "which is not above it": ("src/core/CMakeLists.txt", "casemate_library(core DEPENDS store)\n"),
    "library code includes": ("src/core/h.cpp", '#include "testing/x.h"\n'),
}


def run(root):
    done = subprocess.run([sys.executable, CHECK, root], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


def make(root, violation):
    for folder in ("include/casemate/core", "include/casemate/store", "src/core", "src/store"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    for top in ("apps", "testing", "tests", "bench", "fuzz"):
        (root / top).mkdir(exist_ok=True)
    for folder in ("core", "store"):
        (root / "src" / folder / "CMakeLists.txt").write_text(f"casemate_library({folder} DEPENDS core)\n".replace("core DEPENDS core", "core"))
    for i in range(25):
        (root / "src/store" / f"fine{i}.cpp").write_text('#include "casemate/core/status.h"\n#include <vector>\n')
    if violation:
        path = root / violation[0]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(violation[1])


def main():
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        make(pathlib.Path(folder), None)
        if run(folder)[0] != 0:
            failed.append("a tree without violations is refused: " + run(folder)[1])
    for words, violation in CASES.items():
        with tempfile.TemporaryDirectory() as folder:
            make(pathlib.Path(folder), violation)
            code, output = run(folder)
            wanted = "does not print" if words == "reads no environment" else words
            if code != 1 or wanted not in output or violation[0].rsplit("/", 1)[0] not in output:
                failed.append(f"{violation[0]}: not reported ({output.strip()})")
    print("\n".join(failed) or f"{len(CASES)} violations found")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
