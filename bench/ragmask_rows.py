"""Rows of bench/table.py for gradients and RAGMask."""
import json


def rows(folder):
    out = []
    gradient = folder / "gradient.json"
    if gradient.exists():
        entry = json.loads(gradient.read_text())
        ratio = entry["backward_to_forward"]
        out.append(("backward pass to word embeddings", f"{entry['gradient_seconds'] - entry['forward_seconds']:.2f} s",
                    f"{entry['forward_seconds']:.2f} s, forward", f"{ratio:.2f}x", "<= 2x", ratio <= 2))
    ragmask = folder / "ragmask.json"
    if ragmask.exists():
        found = json.loads(ragmask.read_text())
        # A long passage has more segments and each of them costs more: the forward passes that are needed are l/m weighed by l.
        segments = found["nothing_cached"]["segments_a_token"]
        same = f"same first five on {found['screened_same_ranking']} of {found['queries']}"
        for key, what, compared, goal in (
                ("masks_cached_new_query", "RAGMask, masks cached, new query", "forward of what lost a segment", 1.2),
                ("repeated_query", "RAGMask, repeated query", "undefended search of 100,000", 1.3),
                ("nothing_cached", f"RAGMask, nothing cached, {segments:.1f} segments (weighed by tokens)", "forward of 20 candidates", segments * 1.1),
                ("gradient_screen", f"RAGMask 0.3, nothing cached, screened, what can be reached, {same}", "forward of 20 candidates", 5.0)):
            entry = found[key]
            each = 1000 / found["queries"]
            out.append((what, f"{entry['ragmask_seconds'] * each:.0f} ms", f"{entry['compared_seconds'] * each:.0f} ms, {compared}",
                        f"{entry['ratio']:.2f}x", f"<= {goal:.1f}x", entry["ratio"] <= goal))
    return out
