// fuzz/tokenizers.h
#pragma once

// Small tokenizers of the three kinds.
inline constexpr const char* kTokenizers[] = {
    R"({"model":{"type":"WordPiece","unk_token":"[UNK]","vocab":{"[PAD]":0,"[UNK]":1,"[CLS]":2,"[SEP]":3,"[MASK]":4,
    "a":5,"##a":6,"b":7,"##b":8,"ab":9,"##ab":10,"the":11,"é":12,"中":13,"##s":14,".":15}},
    "added_tokens":[{"id":2,"content":"[CLS]","special":true},{"id":3,"content":"[SEP]","special":true}],
    "normalizer":{"type":"BertNormalizer","lowercase":true}})",
    R"({"model":{"type":"BPE","vocab":{"<s>":0,"<pad>":1,"</s>":2,"<unk>":3,"a":4,"b":5,"ab":6,"Ġ":7,"Ġa":8,"abab":9,
    "c":10,"Ã":11,"©":12,"Ã©":13},"merges":["a b","Ġ a","ab ab","Ã ©"]},
    "added_tokens":[{"id":0,"content":"<s>","special":true},{"id":1,"content":"<pad>","special":true},
    {"id":2,"content":"</s>","special":true}],
    "pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false}})",
    R"({"model":{"type":"Unigram","unk_id":3,"vocab":[["<s>",0],["<pad>",0],["</s>",0],["<unk>",0],["▁",-2],["▁a",-3],
    ["a",-4],["b",-4.5],["ab",-5],["▁the",-5],["é",-6]]},
    "added_tokens":[{"id":0,"content":"<s>","special":true},{"id":1,"content":"<pad>","special":true},
    {"id":2,"content":"</s>","special":true}],
    "pre_tokenizer":{"type":"Metaspace","replacement":"▁","add_prefix_space":true}})"};
