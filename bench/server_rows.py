"""Rows of the benchmark table about the server's answers at the same time."""
import json


def rows(folder):
    found = json.loads((folder / "server.json").read_text())
    out = []
    entries = [("a model that waits", found["scripted"])]
    for method in ("keyword", "decoding"):
        for name in ("new", "known"):
            entries.append((f"{method}, {name} passages", found[method][f"{name}_passages"]))
        entries.append((f"{method}, known passages, long answers", found[method]["long_known_passages"]))
    for what, entry in entries:
        out.append((f"/v1/answer, {found['requests']} at once ({what})", f"{entry['together_seconds']:.2f} s",
                    f"{entry['one_after_the_other_seconds']:.2f} s, one after the other", f"{entry['ratio']:.2f}x faster", ">= 1.5x",
                    entry["ratio"] >= 1.5))
    load = json.loads((folder / "server-load.json").read_text())
    for route in ("retrieve", "screen"):
        entry = load[route]
        ratio = entry["p99_ms"] / entry["p50_ms"]
        out.append((f"/v1/{route}, {load['requests']:,} requests at {load['connections']} connections, {entry['errors']} errors",
                    f"p99 {entry['p99_ms']:.0f} ms", f"p50 {entry['p50_ms']:.0f} ms", f"{ratio:.2f}x", "<= 5x", ratio <= 5 and not entry["errors"]))
    growth = load["resident_after_kib"] / load["resident_before_kib"]
    out.append((f"server's memory after {load['more_requests']:,} more requests", f"{load['resident_after_kib'] / 1024:.0f} MiB",
                f"{load['resident_before_kib'] / 1024:.0f} MiB before", f"{growth:.3f}x", "within 5 %", abs(growth - 1) <= 0.05))
    return out
