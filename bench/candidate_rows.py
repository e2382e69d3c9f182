"""The table's rows about candidates by HNSW and IVF."""
import json


def rows(folder):
    out = []
    for method in ("hnsw", "ivf"):
        path = folder / f"candidates-{method}.json"
        if not path.exists():
            continue
        found = json.loads(path.read_text())
        for entry in found["breadths"]:
            ratio = entry["seconds"] / found["exact_seconds"]
            breadth = entry["breadth"] or "usual"
            out.append((f"candidates by {method}, breadth {breadth}, {found['passages']:,} passages, recall@5 {entry['recall_at_5']:.3f}",
                        f"{entry['seconds'] * 1e3:.2f} ms", f"{found['exact_seconds'] * 1e3:.2f} ms, all passages by 8-bit codes",
                        f"{ratio:.2f}x", "none", True))
    return out
