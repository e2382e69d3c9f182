#!/usr/bin/env python3
"""Makes tests/golden/tokenizers/: tiny tokenizers trained on sentences written here, and what Hugging Face's library
(package tokenizers) and sentencepiece make of test texts. Needs both packages; run only to renew the files.

  python3 tools/make_tokenizer_golden.py tests/golden/tokenizers
"""
import io
import json
import pathlib
import sys

import sentencepiece
from sentencepiece import sentencepiece_model_pb2
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

TRAINING = [
    "The harbour master writes the tide table every morning, and the ferry waits for it.",
    "Bread rises faster in a warm kitchen; it's easy to let it rise too long.",
    "Lighthouse keepers don't sleep at night. They've 1,234 steps to climb, 56 of them broken.",
    "Ein Fährmann fährt täglich über den Fluß; naïve café, façade, Łódź, smörgås.",
    "Паромщик ждёт прилива. 東京の天気は晴れです。北京的冬天很冷。서울의 지하철은 빠르다.",
] * 40
TEXTS = [
    "", " ", "a", "The ferry waits.", "  two  leading and trailing  ", "it's they've don't I'LL we'd", "tide\ttable\nnew line\r\nend",
    "Fährmann über façade ﬁne Ｆｕｌｌ ½ ²", "Паромщик ждёт", "東京の天気", "서울의", "👍🏽 👨\u200d👩\u200d👧 ❤️", "1,234 56 3.14 ٣",
    "nul\x00bell\x07 zero\u200bwidth soft\xadhyphen nb\xa0sp", "xyzzyqwv unseen Ωμέγα ꙮ", "a" * 200, "multiple     spaces     here", "▁already ▁there",
    "<s> </s> <mask> <pad> <unk> glued<mask>here x <mask>", "e\u0301 o\u0302\u0323 combining", "ends with space ", "\u2028line sep\u3000ideographic",
]


def record(tokenizer):
    return [{"text": t, "ids": (e := tokenizer.encode(t, add_special_tokens=False)).ids, "framed": tokenizer.encode(t).ids,
             "offsets": [list(o) for o in e.offsets]} for t in TEXTS]


def special(token, lstrip=False):
    return AddedToken(token, special=True, normalized=False, lstrip=lstrip)


def bpe():
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    specials = [special("<s>"), special("<pad>"), special("</s>"), special("<unk>"), special("<mask>", True)]
    tokenizer.train_from_iterator(TRAINING, trainers.BpeTrainer(vocab_size=600, special_tokens=specials, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), trim_offsets=False, add_prefix_space=False)
    return tokenizer


def unigram():
    out = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(TRAINING), model_writer=out, vocab_size=260, model_type="unigram",
                                             normalization_rule_name="nmt_nfkc", hard_vocab_limit=False, bos_id=1, eos_id=2, unk_id=0, pad_id=-1)
    proto = sentencepiece_model_pb2.ModelProto()
    proto.ParseFromString(out.getvalue())
    # The order of XLM-RoBERTa: its own special tokens first, the mask last.
    pieces = [("<s>", 0.0), ("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0)] + [(p.piece, p.score) for p in proto.pieces[3:]] + [("<mask>", 0.0)]
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=3, byte_fallback=False))
    charsmap = bytes(proto.normalizer_spec.precompiled_charsmap)
    tokenizer.normalizer = normalizers.Sequence([normalizers.Precompiled(charsmap), normalizers.Replace(Regex(" {2,}"), " ")])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")
    tokenizer.add_special_tokens([special("<s>"), special("<pad>"), special("</s>"), special("<unk>"), special("<mask>", True)])
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)])
    return tokenizer


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, tokenizer in (("byte_level_bpe", bpe()), ("unigram", unigram())):
        out = {"tokenizer": json.loads(tokenizer.to_str()), "cases": record(tokenizer)}
        (folder / f"{name}.json").write_text(json.dumps(out, ensure_ascii=True, separators=(",", ":")) + "\n", encoding="ascii")


if __name__ == "__main__":
    main()
