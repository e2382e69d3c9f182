#!/usr/bin/env python3
"""Writes question<TAB>passage lines for bench_ragmask.   ragmask_pairs.py OUT [COUNT]

From SQuAD v1.1 where its dev set is at $CASEMATE_DATA/squad (or ../shared/data/squad beside the source tree), one question a
passage; else made-up passages of about the same length, which cost the same but say nothing about agreement.
"""
import json
import os
import pathlib
import random
import sys
import zipfile


def squad_pairs(folder):
    for path in sorted(folder.glob("dev-v1.1.json*")):
        if path.suffix == ".zip":
            with zipfile.ZipFile(path) as archive:
                data = json.loads(archive.read("dev-v1.1.json"))
        else:
            data = json.loads(path.read_text())
        for article in data["data"]:
            for paragraph in article["paragraphs"]:
                if paragraph["qas"]:
                    yield paragraph["qas"][0]["question"], paragraph["context"]
        return


def made_pairs():
    draw = random.Random(7)
    words = "ferry tide lamp stone plum salt river copper hill winter market engine letter garden music bridge glass harvest".split()
    while True:
        passage = " ".join(draw.choice(words) for _ in range(125)) + "."
        yield " ".join(draw.sample(words, 5)) + "?", passage


def main():
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 400
    root = pathlib.Path(os.environ.get("CASEMATE_DATA", pathlib.Path(__file__).resolve().parents[2] / "../shared/data"))
    pairs = list(squad_pairs(root / "squad")) if (root / "squad").is_dir() else []
    random.Random(1).shuffle(pairs)
    source = iter(pairs) if pairs else made_pairs()
    with open(sys.argv[1], "w", encoding="utf-8") as out:
        for _, (question, passage) in zip(range(count), source):
            out.write(" ".join(question.split()) + "\t" + " ".join(passage.split()) + "\n")


if __name__ == "__main__":
    main()
