#!/usr/bin/env python3
"""Exact top-5 over 100,000 vectors: Casemate (float, 8-bit codes, and defended by RAGPart) against undefended FAISS
IndexFlatIP, the system's and the newest from PyPI, in one run.

Programs take turns for some rounds; the median of each is compared with the faster FAISS. Ids of the undefended searches
must be the same. RAGPart of 15 fragments is measured for combinations of 7 (6,435 lists) against 1.

  dense_peers.py --programs DIR --work DIR --out FILE.json [--count 100000] [--threads 2] [--rounds 5]
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import time

import faiss
import numpy as np

DIMENSION, TOP = 384, 5


def make_vectors(count, queries):
    """Unit vectors in clusters of uneven size, with the spread of sentence embeddings (cosines of 0 to 0.8)."""
    random = np.random.default_rng(7)
    centres = random.normal(size=(2000, DIMENSION)).astype(np.float32)
    owner = (2000 * random.random(count) ** 2).astype(int)
    vectors = centres[owner] + 1.1 * random.normal(size=(count, DIMENSION)).astype(np.float32)
    asked = vectors[random.integers(0, count, queries)] + 0.8 * random.normal(size=(queries, DIMENSION)).astype(np.float32)
    unit = lambda x: (x / np.linalg.norm(x, axis=1, keepdims=True)).astype(np.float32)
    return unit(vectors), unit(asked)


def clean_environment():
    # Set on some machines for old OpenBLAS builds; it would slow FAISS down.
    return {k: v for k, v in os.environ.items() if not k.startswith("OPENBLAS_")}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--programs", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("--out")
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    work = pathlib.Path(arguments.work)
    work.mkdir(parents=True, exist_ok=True)
    vectors, queries = make_vectors(arguments.count, 320)
    vectors_path, queries_path, ids_path = work / f"vectors-{arguments.count}.f32", work / "queries.f32", work / "ids"
    vectors.tofile(vectors_path)
    queries.tofile(queries_path)
    faiss.omp_set_num_threads(arguments.threads)
    index = faiss.IndexFlatIP(DIMENSION)
    index.add(vectors)

    def run_program(name, batch, *extra):
        command = [f"{arguments.programs}/{name}", vectors_path, queries_path, DIMENSION, arguments.threads, batch, *extra]
        done = subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True, env=clean_environment())
        return json.loads(done.stdout)

    def searched(name, batch, *extra):
        found = run_program(name, batch, *extra, ids_path)
        return found["seconds"], np.fromfile(ids_path, np.int64).reshape(-1, TOP), found.get("resident_bytes")

    def dense(scan, batch):
        return searched("bench_dense", batch, scan, work / f"store-{arguments.count}")

    def ragpart(n, k, batch):
        found = run_program("bench_ragpart", batch, n, k, work / f"store-{arguments.count}-fragments-{n}")
        return found["seconds"], None, found["resident_bytes"]

    def python_faiss(batch):
        index.search(queries[:batch], TOP)
        seconds, ids = [], []
        for first in range(0, len(queries) - batch + 1, batch):
            begin = time.perf_counter()
            found = index.search(queries[first:first + batch], TOP)[1]
            seconds.append(time.perf_counter() - begin)
            ids.append(found)
        return statistics.median(seconds), np.concatenate(ids), None

    def take_turns(contestants):
        """Median seconds, ids and resident bytes of each."""
        times, ids, resident = {name: [] for name in contestants}, {}, {}
        for _ in range(arguments.rounds):
            for name, run in contestants.items():
                spent, ids[name], resident[name] = run()
                times[name].append(spent)
        return {name: statistics.median(values) for name, values in times.items()}, ids, resident

    report = {"vectors": arguments.count, "dimension": DIMENSION, "threads": arguments.threads, "rounds": arguments.rounds,
              "faiss_pypi": faiss.__version__, "batches": {}}
    pypi, system = f"faiss {faiss.__version__} (PyPI)", "faiss (system)"
    for batch in (1, 32):
        contestants = {"float": lambda: dense("float", batch), "int8": lambda: dense("int8", batch),
                       "ragpart": lambda: ragpart(5, 3, batch), pypi: lambda: python_faiss(batch)}
        if pathlib.Path(arguments.programs, "bench_faiss").exists():
            contestants[system] = lambda: searched("bench_faiss", batch)
        medians, ids, resident = take_turns(contestants)
        fastest = min((n for n in (pypi, system) if n in medians), key=medians.get)
        report["batches"][batch] = {
            "milliseconds": {n: round(v * 1e3, 3) for n, v in medians.items()}, "fastest_peer": fastest,
            "ratio": {n: round(medians[n] / medians[fastest], 3) for n in ("float", "int8", "ragpart")},
            "same_ids": min(float((ids[n] == ids[fastest]).mean()) for n in ("float", "int8"))}
        report["bytes_a_passage"] = {n: round(resident[n] / arguments.count, 1) for n in ("float", "int8", "ragpart")}
    medians, _, _ = take_turns({f"15, {k}": lambda k=k: ragpart(15, k, 1) for k in (1, 7)})
    report["ragpart_15"] = {"milliseconds": {n: round(v * 1e3, 3) for n, v in medians.items()},
                            "ratio": round(medians["15, 7"] / medians["15, 1"], 3)}
    print(json.dumps(report, indent=1))
    if arguments.out:
        pathlib.Path(arguments.out).write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
