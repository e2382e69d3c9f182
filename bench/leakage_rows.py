"""Rows of the benchmark table about keywords and facts."""
import json


def rows(folder):
    path = folder / "leakage.json"
    if not path.exists():
        return []
    found = json.loads(path.read_text())
    seconds = found["seconds"]
    out = [
        (f"keywords over {found['tokens']:,} tokens", f"{seconds['keywords']:.1f} s",
         f"{seconds['forward'] + seconds['draft']:.1f} s, one forward pass and the draft",
         f"{found['keywords_to_forward_and_draft']:.2f}x", "<= 2x", found["keywords_to_forward_and_draft"] <= 2),
        ("kfs-fact answer, 5 passages", f"{seconds['kfs_fact']:.1f} s", f"{seconds['vanilla']:.1f} s, one prompt with all passages",
         f"{found['kfs_fact_to_vanilla']:.2f}x", "<= 2.5x", found["kfs_fact_to_vanilla"] <= 2.5)]
    memory = folder / "leakage-memory.json"
    if memory.exists():
        kept = json.loads(memory.read_text())["memory"]
        out.append((f"attention of {kept['tokens']:,} tokens", f"{kept['attention_bytes'] / 1e6:.0f} MB", "", "", "<= 500 MB",
                    kept["attention_bytes"] <= 5e8))
    return out
