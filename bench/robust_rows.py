"""Rows of the benchmark table about robust answers."""
import json


def rows(folder):
    found = json.loads((folder / "robust.json").read_text())
    out = []
    for method in ("keyword", "decoding"):
        entry = found[method]
        seconds = entry["seconds"]
        peer = f"{seconds['vanilla']:.1f} s, one prompt with all passages"
        for name, ratio, goal in (("new passages", "cold_to_vanilla", 1.3), ("known passages", "warm_to_vanilla", 0.7)):
            ours = seconds["cold" if goal == 1.3 else "warm"]
            out.append((f"robust answer ({method}), 10 passages, {name}", f"{ours:.1f} s", peer, f"{entry[ratio]:.2f}x", f"<= {goal}x",
                        entry[ratio] <= goal))
        out.append((f"certificate ({method}), k'=1, one question", f"{seconds['certify_data_set']:.1f} s", f"{seconds['cold']:.1f} s, its inference",
                    f"{entry['certify_to_inference']:.2f}x", "<= 3x", entry["certify_to_inference"] <= 3))
        if entry["k_prime"] > 0:
            out.append((f"verify ({method}), {entry['certificate_bytes']:,} bytes", f"{1000 * seconds['verify']:.1f} ms", "", "", "<= 10 ms",
                        seconds["verify"] <= 0.01))
    return out
