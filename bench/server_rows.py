"""Rows of the benchmark table about the server's answers at the same time."""
import json


def rows(folder):
    found = json.loads((folder / "server.json").read_text())
    out = []
    entries = [("a model that waits", found["scripted"])]
    for method in ("keyword", "decoding"):
        for name in ("new", "known"):
            entries.append((f"{method}, {name} passages", found[method][f"{name}_passages"]))
    for what, entry in entries:
        out.append((f"/v1/answer, {found['requests']} at once ({what})", f"{entry['together_seconds']:.2f} s",
                    f"{entry['one_after_the_other_seconds']:.2f} s, one after the other", f"{entry['ratio']:.2f}x faster", ">= 1.5x",
                    entry["ratio"] >= 1.5))
    return out
