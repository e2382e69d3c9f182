#!/usr/bin/env python3
"""Prints the results of bench/run as a table.   table.py RESULTS_DIR"""
import json
import pathlib
import sys

import candidate_rows
import leakage_rows
import ragmask_rows
import robust_rows
import server_rows


def main():
    folder = pathlib.Path(sys.argv[1])
    rows = []
    dense = json.loads((folder / "dense.json").read_text())
    goals = {"float": ("exact top-5", {"1": 0.7, "32": 1.0}), "int8": ("exact top-5 by 8-bit codes", {"1": 0.4, "32": 1.0}),
             "ragpart": ("RAGPart N=5, k=3, majority", {"1": 0.8, "32": 1.0})}
    for name, (title, limits) in goals.items():
        for batch, goal in limits.items():
            entry = dense["batches"][batch]
            ours, theirs, ratio = entry["milliseconds"][name], entry["milliseconds"][entry["fastest_peer"]], entry["ratio"][name]
            what = f"{title}, {dense['vectors']:,} x {dense['dimension']}, " + ("one query" if batch == "1" else f"batch of {batch}")
            rows.append((what, f"{ours:.1f} ms", f"{theirs:.1f} ms, undefended {entry['fastest_peer']}", f"{ratio:.2f}x", f"<= {goal}x", ratio <= goal))
    more = dense["ragpart_15"]
    rows.append(("RAGPart N=15, k=7 (6,435 lists), one query", f"{more['milliseconds']['15, 7']:.1f} ms",
                 f"{more['milliseconds']['15, 1']:.1f} ms, k=1 (15 lists)", f"{more['ratio']:.2f}x", "<= 1.5x", more["ratio"] <= 1.5))
    memory = dense["bytes_a_passage"]
    ratio = memory["ragpart"] / memory["float"]
    rows.append(("RAGPart N=5, resident bytes a passage", f"{memory['ragpart']:,.0f}", f"{memory['float']:,.0f}, undefended float32",
                 f"{ratio:.2f}x", "<= 1.5x", ratio <= 1.5))
    encoder = json.loads((folder / "encoder.json").read_text())
    rate = encoder["tokens_per_second"]
    for precision, own, ratios in (("float32", "casemate", encoder), ("fixed16", "casemate fixed16", encoder["fixed16"])):
        what = f"embedding in {precision}, tokens a second"
        rows.append((what, f"{rate[own]:,}", f"{rate[encoder['fastest_peer']]:,}, {encoder['fastest_peer']}", f"{ratios['ratio']:.2f}x",
                     ">= 1.0x, aim 1.2x", ratios["ratio"] >= 1.0))
        rows.append((what, f"{rate[own]:,}", f"{encoder['llama.cpp']:,}, llama.cpp", f"{ratios['ratio_to_llama.cpp']:.2f}x", ">= 2x",
                     ratios["ratio_to_llama.cpp"] >= 2.0))
    rows += candidate_rows.rows(folder)
    rows += ragmask_rows.rows(folder)
    rows += robust_rows.rows(folder)
    rows += leakage_rows.rows(folder)
    rows += server_rows.rows(folder)
    header = ("what", "Casemate", "peer", "ratio", "goal", "reached")
    text = [header] + [row[:5] + ("yes" if row[5] else "NO",) for row in rows]
    widths = [max(len(row[i]) for row in text) for i in range(len(header))]
    for i, row in enumerate(text):
        print("| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |")
        if i == 0:
            print("|" + "|".join("-" * (width + 2) for width in widths) + "|")
    print(f"\n{dense['threads']} threads, median of {dense['rounds']} rounds; FAISS {dense['faiss_pypi']}, ONNX Runtime {encoder['onnxruntime']}; "
          f"same ids as FAISS: {min(e['same_ids'] for e in dense['batches'].values()):.2%}; "
          f"largest difference of an embedding value from ONNX Runtime: {encoder['largest_difference']:.1e}, "
          f"{encoder['fixed16']['largest_difference']:.1e} in fixed16")


if __name__ == "__main__":
    main()
