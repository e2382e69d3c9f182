#!/usr/bin/env python3
"""Embedding throughput of Casemate against ONNX Runtime and llama.cpp on the same model, texts and threads, in one run.

The ONNX graph is built here from the checkpoint's own weights, once from plain operators (which ONNX Runtime fuses as
it can) and once from its fused transformer operators; each is measured with padded batches of several sizes over
texts sorted by length, and the best one counts. Casemate runs between the peers' rounds, on the same token ids.

llama.cpp gets the weights as a float32 GGUF, which minilm_to_gguf.py writes; it is timed on the first texts only, since
it is several times slower.

  encoder_peers.py --model DIR --programs DIR --out FILE.json [--texts FILE] [--threads 2] [--rounds 5]
"""
import argparse
import json
import os
import random
import statistics
import struct
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer


def read_safetensors(path):
    with open(path, "rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(size))
        data = file.read()
    out = {}
    for name, entry in header.items():
        if name != "__metadata__" and entry["dtype"] == "F32":
            begin, end = entry["data_offsets"]
            out[name] = np.frombuffer(data[begin:end], dtype=np.float32).reshape(entry["shape"])
    return out


class Graph:
    """Collects nodes and initialisers of one ONNX graph."""

    def __init__(self, weights):
        self.weights, self.nodes, self.initialisers, self.count = weights, [], [], 0

    def constant(self, array, name):
        if all(i.name != name for i in self.initialisers):
            self.initialisers.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def node(self, kind, inputs, domain="", **attributes):
        self.count += 1
        out = f"v{self.count}"
        self.nodes.append(helper.make_node(kind, inputs, [out], domain=domain, **attributes))
        return out

    def linear(self, x, prefix):
        w = self.constant(self.weights[prefix + ".weight"].T, prefix + ".w")
        return self.node("Add", [self.node("MatMul", [x, w]), self.constant(self.weights[prefix + ".bias"], prefix + ".b")])

    def norm(self, x, prefix):
        gamma = self.constant(self.weights[prefix + ".weight"], prefix + ".g")
        beta = self.constant(self.weights[prefix + ".bias"], prefix + ".b")
        return self.node("LayerNormalization", [x, gamma, beta], axis=-1, epsilon=1e-12)


def embeddings(graph):
    w = graph.weights
    word = graph.node("Gather", [graph.constant(w["embeddings.word_embeddings.weight"], "word"), "ids"])
    rows = graph.constant(w["embeddings.position_embeddings.weight"] + w["embeddings.token_type_embeddings.weight"][0], "positions")
    length = graph.node("Slice", [graph.node("Shape", ["ids"]), graph.constant(np.array([1]), "one"), graph.constant(np.array([2]), "two")])
    position = graph.node("Slice", [rows, graph.constant(np.array([0]), "zero"), length])
    return graph.norm(graph.node("Add", [word, position]), "embeddings.LayerNorm")


def plain_layer(graph, x, i, heads, width, bias):
    base = f"encoder.layer.{i}."
    shape = graph.constant(np.array([0, 0, heads, width]), "split")

    def head(part, order):
        y = graph.node("Reshape", [graph.linear(x, base + "attention.self." + part), shape])
        return graph.node("Transpose", [y], perm=order)

    scores = graph.node("MatMul", [head("query", [0, 2, 1, 3]), head("key", [0, 2, 3, 1])])
    scores = graph.node("Mul", [scores, graph.constant(np.float32(1 / np.sqrt(width)), "scale")])
    weights = graph.node("Softmax", [graph.node("Add", [scores, bias])], axis=-1)
    mixed = graph.node("Transpose", [graph.node("MatMul", [weights, head("value", [0, 2, 1, 3])])], perm=[0, 2, 1, 3])
    mixed = graph.node("Reshape", [mixed, graph.constant(np.array([0, 0, heads * width]), "merge")])
    x = graph.norm(graph.node("Add", [x, graph.linear(mixed, base + "attention.output.dense")]), base + "attention.output.LayerNorm")
    inner = graph.node("Gelu", [graph.linear(x, base + "intermediate.dense")])
    return graph.norm(graph.node("Add", [x, graph.linear(inner, base + "output.dense")]), base + "output.LayerNorm")


def fused_layer(graph, x, i, heads, mask):
    base, w, ms = f"encoder.layer.{i}.", graph.weights, "com.microsoft"
    parts = [base + "attention.self." + part for part in ("query", "key", "value")]
    qkv = graph.constant(np.concatenate([w[p + ".weight"].T for p in parts], axis=1), base + "qkv")
    bias = graph.constant(np.concatenate([w[p + ".bias"] for p in parts]), base + "qkv_bias")
    mixed = graph.node("Attention", [x, qkv, bias, mask], domain=ms, num_heads=heads)

    def project(y, name):
        return graph.node("MatMul", [y, graph.constant(w[base + name + ".weight"].T, base + name + ".w")])

    def skip_norm(y, name, norm):
        return graph.node("SkipLayerNormalization", [y, x, graph.constant(w[base + norm + ".weight"], base + norm + ".g"),
                          graph.constant(w[base + norm + ".bias"], base + norm + ".b"),
                          graph.constant(w[base + name + ".bias"], base + name + ".b")], domain=ms, epsilon=1e-12)

    x = skip_norm(project(mixed, "attention.output.dense"), "attention.output.dense", "attention.output.LayerNorm")
    inner = graph.node("BiasGelu", [project(x, "intermediate.dense"),
                                    graph.constant(w[base + "intermediate.dense.bias"], base + "inner_bias")], domain=ms)
    return skip_norm(project(inner, "output.dense"), "output.dense", "output.LayerNorm")


def build(weights, config, fused):
    graph = Graph(weights)
    x = embeddings(graph)
    heads, width = config["num_attention_heads"], config["hidden_size"] // config["num_attention_heads"]
    mask_f = graph.node("Cast", ["mask"], to=TensorProto.FLOAT)
    if fused:
        mask = graph.node("Cast", ["mask"], to=TensorProto.INT32)
    else:
        open_mask = graph.node("Unsqueeze", [mask_f, graph.constant(np.array([1, 2]), "axes12")])
        one = graph.constant(np.float32(1), "one_f")
        mask = graph.node("Mul", [graph.node("Sub", [open_mask, one]), graph.constant(np.float32(10000), "big")])
    for i in range(config["num_hidden_layers"]):
        x = fused_layer(graph, x, i, heads, mask) if fused else plain_layer(graph, x, i, heads, width, mask)
    weight = graph.node("Unsqueeze", [mask_f, graph.constant(np.array([2]), "axis2")])
    total = graph.node("ReduceSum", [graph.node("Mul", [x, weight]), graph.constant(np.array([1]), "axis1")], keepdims=0)
    graph.nodes.append(helper.make_node("LpNormalization", [total], ["embedding"], axis=-1, p=2))
    inputs = [helper.make_tensor_value_info(n, TensorProto.INT64, ["batch", "length"]) for n in ("ids", "mask")]
    output = helper.make_tensor_value_info("embedding", TensorProto.FLOAT, ["batch", config["hidden_size"]])
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(helper.make_graph(graph.nodes, "encoder", inputs, [output], graph.initialisers), opset_imports=opsets)
    model.ir_version = 9
    return model.SerializeToString()


def make_batches(sequences, size):
    order = sorted(range(len(sequences)), key=lambda i: len(sequences[i]))
    batches = []
    for at in range(0, len(order), size):
        rows = order[at:at + size]
        length = max(len(sequences[i]) for i in rows)
        ids, mask = np.zeros((len(rows), length), np.int64), np.zeros((len(rows), length), np.int64)
        for r, i in enumerate(rows):
            ids[r, :len(sequences[i])] = sequences[i]
            mask[r, :len(sequences[i])] = 1
        batches.append((rows, ids, mask))
    return batches


def run_onnx(session, batches, count, width):
    out = np.zeros((count, width), np.float32)
    begin = time.perf_counter()
    for rows, ids, mask in batches:
        out[rows] = session.run(None, {"ids": ids, "mask": mask})[0]
    return time.perf_counter() - begin, out


def made_up_texts(count):
    """Texts of passage-like lengths from common words, for machines without a data set."""
    words = ("the of and to in a is that for it as was with be by on not he his but at are this have from or had an they which "
             "one you were her all she there would their we him been has when who will more no if out so said what up its about "
             "into than them can only other new some could time these two may then do first any my now such like our over man me "
             "even most made after also did many before must through years where much your way well down should because each just "
             "those people how too little state good very make world still own see men work long here get both between life being "
             "under never day same another know while last might us great old year off come since against go came right used take "
             "three").split()
    draw = random.Random(7)
    return [" ".join(draw.choice(words) for _ in range(max(20, int(draw.gauss(115, 45))))) for _ in range(count)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", required=True)
    parser.add_argument("--programs", required=True, help="folder with bench_encoder and bench_llama_encoder")
    parser.add_argument("--texts", help="one passage a line; made-up texts otherwise")
    parser.add_argument("--count", type=int, default=512)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out")
    arguments = parser.parse_args()
    if arguments.texts:
        with open(arguments.texts, encoding="utf-8") as file:
            texts = [line.strip() for line in file if line.strip()][:arguments.count]
    else:
        texts = made_up_texts(arguments.count)
    tokenizer = Tokenizer.from_file(os.path.join(arguments.model, "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(256)
    sequences = [e.ids for e in tokenizer.encode_batch(texts)]
    tokens = sum(map(len, sequences))
    with open(os.path.join(arguments.model, "config.json"), encoding="utf-8") as file:
        config = json.load(file)
    weights = read_safetensors(os.path.join(arguments.model, "model.safetensors"))

    options = ort.SessionOptions()
    options.intra_op_num_threads = arguments.threads
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    peers = {}
    for fused in (False, True):
        session = ort.InferenceSession(build(weights, config, fused), options, providers=["CPUExecutionProvider"])
        for size in (1, 8, 32):
            peers[f"onnxruntime {'fused' if fused else 'plain'} batch {size}"] = (session, make_batches(sequences, size))

    with tempfile.TemporaryDirectory() as folder:
        ids_path, out_path = os.path.join(folder, "ids.txt"), os.path.join(folder, "out.f32")
        with open(ids_path, "w", encoding="ascii") as file:
            file.writelines(" ".join(map(str, s)) + "\n" for s in sequences)

        few_path, gguf_path = os.path.join(folder, "few.txt"), os.path.join(folder, "model.gguf")
        with open(few_path, "w", encoding="ascii") as file:
            file.writelines(" ".join(map(str, s)) + "\n" for s in sequences[:len(sequences) // 4])
        here = os.path.dirname(os.path.abspath(__file__))
        subprocess.run([sys.executable, os.path.join(here, "minilm_to_gguf.py"), arguments.model, gguf_path], check=True)

        def run_program(name, *words):
            done = subprocess.run([os.path.join(arguments.programs, name), *words], check=True, capture_output=True, text=True)
            return json.loads(done.stdout)

        def run_casemate(precision):
            spent = run_program("bench_encoder", arguments.model, ids_path, str(arguments.threads), out_path, precision)["seconds"]
            return spent, np.fromfile(out_path, np.float32).reshape(len(sequences), -1)

        def run_llama():
            done = run_program("bench_llama_encoder", gguf_path, few_path, str(arguments.threads))
            return done["tokens"] / done["seconds"]

        seconds = {name: [] for name in peers}
        own = {"casemate": "float32", "casemate fixed16": "fixed16"}
        results, llama = {}, []
        width = config["hidden_size"]
        # One round over all peers shows the fastest three; only these go on.
        for name, (session, batches) in peers.items():
            seconds[name].append(run_onnx(session, batches, len(sequences), width)[0])
        best = sorted(peers, key=lambda n: seconds[n][0])[:3]
        seconds = {name: [] for name in best + list(own)}
        for _ in range(arguments.rounds):
            for name in best:
                spent, results[name] = run_onnx(*peers[name], len(sequences), width)
                seconds[name].append(spent)
            for name, precision in own.items():
                spent, results[name] = run_casemate(precision)
                seconds[name].append(spent)
            llama.append(run_llama())

    rate = {name: tokens / statistics.median(values) for name, values in seconds.items()}
    fastest = max(best, key=lambda n: rate[n])
    difference = {name: float(np.abs(results[name] - results[fastest]).max()) for name in own}
    report = {"texts": len(texts), "tokens": tokens, "threads": arguments.threads, "rounds": arguments.rounds,
              "onnxruntime": ort.__version__, "tokens_per_second": {n: round(r) for n, r in rate.items()}, "fastest_peer": fastest,
              "ratio": round(rate["casemate"] / rate[fastest], 3), "llama.cpp": round(statistics.median(llama)),
              "ratio_to_llama.cpp": round(rate["casemate"] / statistics.median(llama), 3), "largest_difference": difference["casemate"],
              "fixed16": {"ratio": round(rate["casemate fixed16"] / rate[fastest], 3),
                          "ratio_to_llama.cpp": round(rate["casemate fixed16"] / statistics.median(llama), 3),
                          "largest_difference": difference["casemate fixed16"]}}
    print(json.dumps(report, indent=1))
    if arguments.out:
        with open(arguments.out, "w", encoding="utf-8") as file:
            json.dump(report, file, indent=1)


if __name__ == "__main__":
    main()
