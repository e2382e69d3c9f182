#!/usr/bin/env python3
"""Writes a BERT checkpoint as a float32 GGUF, so that llama.cpp can be timed as an encoder on the same weights.

  minilm_to_gguf.py MODEL_DIR OUT.gguf          (needs the package gguf)
"""
import json
import pathlib
import sys

import gguf
from encoder_peers import read_safetensors

NAMES = {"attention.self.query": "attn_q", "attention.self.key": "attn_k", "attention.self.value": "attn_v",
         "attention.output.dense": "attn_output", "attention.output.LayerNorm": "attn_output_norm",
         "intermediate.dense": "ffn_up", "output.dense": "ffn_down", "output.LayerNorm": "layer_output_norm"}


def main():
    folder, out = pathlib.Path(sys.argv[1]), sys.argv[2]
    config = json.loads((folder / "config.json").read_text())
    weights = read_safetensors(folder / "model.safetensors")
    vocabulary = (folder / "vocab.txt").read_text(encoding="utf-8").split("\n")[:config["vocab_size"]]
    writer = gguf.GGUFWriter(out, "bert")
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_layer_norm_eps(config["layer_norm_eps"])
    writer.add_causal_attention(False)
    writer.add_pooling_type(gguf.PoolingType.MEAN)
    writer.add_tokenizer_model("bert")
    writer.add_token_type_count(config["type_vocab_size"])
    special = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}
    writer.add_token_list([p if p in special else p[2:] if p.startswith("##") else "\u2581" + p for p in vocabulary])
    writer.add_token_types([3 if p in special else 1 for p in vocabulary])
    for name, setter in (("[CLS]", writer.add_bos_token_id), ("[SEP]", writer.add_sep_token_id), ("[SEP]", writer.add_eos_token_id),
                         ("[PAD]", writer.add_pad_token_id), ("[MASK]", writer.add_mask_token_id), ("[UNK]", writer.add_unk_token_id)):
        setter(vocabulary.index(name))
    writer.add_tensor("token_embd.weight", weights["embeddings.word_embeddings.weight"])
    writer.add_tensor("position_embd.weight", weights["embeddings.position_embeddings.weight"])
    writer.add_tensor("token_types.weight", weights["embeddings.token_type_embeddings.weight"])
    for part in ("weight", "bias"):
        writer.add_tensor(f"token_embd_norm.{part}", weights[f"embeddings.LayerNorm.{part}"])
        for layer in range(config["num_hidden_layers"]):
            for theirs, ours in NAMES.items():
                writer.add_tensor(f"blk.{layer}.{ours}.{part}", weights[f"encoder.layer.{layer}.{theirs}.{part}"])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    main()
