"""--json of every command that reports, and the evidence against docs/evidence.schema.json."""
import hashlib
import json
import unittest

from cli import SOURCE, CliTest, model_folder

TYPES = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float), "boolean": bool}


def schema_errors(value, schema, where="evidence"):
    """What of `value` breaks `schema`. Knows the words that our schema uses and refuses others."""
    unknown = set(schema) - {"$schema", "$id", "title", "description", "type", "properties", "required",
                             "additionalProperties", "items", "enum", "const", "minimum"}
    if unknown:
        return [f"the schema uses {sorted(unknown)}, which this check does not know"]
    if "type" in schema and (not isinstance(value, TYPES[schema["type"]])
                             or (isinstance(value, bool) and schema["type"] != "boolean")):
        return [f"{where}: {value!r} is not of type {schema['type']}"]
    errors = []
    if "const" in schema and value != schema["const"]:
        errors.append(f"{where}: {value!r} is not {schema['const']!r}")
    if "enum" in schema and value not in schema["enum"]:
        errors.append(f"{where}: {value!r} is not one of {schema['enum']}")
    if "minimum" in schema and value < schema["minimum"]:
        errors.append(f"{where}: {value!r} is below {schema['minimum']}")
    if isinstance(value, dict):
        known = schema.get("properties", {})
        errors += [f"{where}: {name} is missing" for name in schema.get("required", []) if name not in value]
        for name, each in value.items():
            inner = known.get(name, schema.get("additionalProperties", {}))
            if inner is False:
                errors.append(f"{where}: {name} is not in the schema")
            else:
                errors += schema_errors(each, inner, f"{where}.{name}")
    if isinstance(value, list):
        for i, each in enumerate(value):
            errors += schema_errors(each, schema.get("items", {}), f"{where}[{i}]")
    return errors


class Json(CliTest):
    schema = json.loads((SOURCE / "docs/evidence.schema.json").read_text(encoding="utf-8"))

    def check_evidence(self, evidence):
        self.assertEqual(schema_errors(evidence, self.schema), [])

    def test_search(self):
        self.write("a.txt", "the ferry waits")
        self.write("corpus.jsonl", '{"_id": "p", "title": "Tide", "text": "the ferry \\u001b[31m and the tide"}\n')
        self.index()
        for mode, parts in (("bm25", {"bm25"}), ("dense", {"dense"}), ("hybrid", {"bm25", "dense"})):
            result = self.search("the ferry", mode=mode)
            self.assertEqual(set(result), {"query", "policy", "hits", "evidence"})
            self.assertEqual((result["query"], result["policy"]), ("the ferry", "off-2026-11"))
            self.assertEqual([hit["rank"] for hit in result["hits"]], [1, 2])
            scores = [hit["score"] for hit in result["hits"]]
            self.assertEqual(scores, sorted(scores, reverse=True))
            for hit in result["hits"]:
                self.assertLessEqual({"id", "document", "rank", "score", "text", "title", "source"} | parts, set(hit))
            text = {hit["document"]: hit for hit in result["hits"]}["a.txt"]
            self.assertEqual(text["text"], "the ferry waits")
            self.assertEqual((text["source"]["begin"], text["source"]["end"]), (0, 15))
            self.check_evidence(result["evidence"])
            verdicts = result["evidence"]["stages"][0]["verdicts"]
            self.assertEqual([each["chunk"] for each in verdicts], [hit["id"] for hit in result["hits"]])

    def test_the_check_of_the_schema_finds_faults(self):
        good = {"version": 1, "policy": "p", "stages": [
            {"stage": "retrieve", "parameters": {"a": "b"}, "passages_in": 1, "passages_out": 1, "notes": [], "verdicts": [
                {"chunk": 1, "document": "d", "decision": "kept", "reason": "r", "score": 0.5}]}]}
        self.check_evidence(good)
        for change in (lambda e: e.update(version=2), lambda e: e.pop("policy"), lambda e: e.update(more=1),
                       lambda e: e["stages"][0].update(passages_in=-1), lambda e: e["stages"][0].update(passages_in="1"),
                       lambda e: e["stages"][0]["parameters"].update(a=1),
                       lambda e: e["stages"][0]["verdicts"][0].update(decision="gone"),
                       lambda e: e["stages"][0]["verdicts"][0].pop("reason")):
            bad = json.loads(json.dumps(good))
            change(bad)
            self.assertNotEqual(schema_errors(bad, self.schema), [])

    def test_index(self):
        self.write("a.txt", "the ferry")
        self.write("empty.txt", "")
        summary = self.index(code=2)
        self.assertEqual(set(summary), {"files", "documents", "added", "unchanged", "replaced", "refused", "chunks",
                                        "repeated_fragments", "truncated_chunks", "findings", "problems", "problems_left_out"})
        self.assertEqual(len(summary["problems"]), 1)

    def test_policies_doctor_and_models(self):
        policies = self.run_program("policies", "--json", code=0).json()
        self.assertIn("off-2026-11", [each["name"] for each in policies])
        doctor = self.run_program("doctor", "--json")
        self.assertIn(doctor.code, (0, 1))
        for item in doctor.json():
            self.assertEqual(set(item), {"name", "status", "detail", "remedy"})
        for model in self.run_program("models", "list", "--json", code=0).json():
            self.assertLessEqual({"name", "purpose", "licence", "bytes", "state", "path"}, set(model))

    def test_recall(self):
        squad = self.write("squad.json", json.dumps({"data": [{"title": "S", "paragraphs": [
            {"context": f"the {bird} waits", "qas": [{"id": bird, "question": f"which {bird}?",
                                                     "answers": [{"text": bird, "answer_start": 4}]}]}
            for bird in ("heron", "plover", "dunlin", "curlew")]}]}))
        self.index()
        result = self.run_program("recall", self.store, squad, "--mode", "bm25", "--json", code=0).json()
        self.assertEqual((result["questions"], result["recall@1"], result["mrr@10"]), (4, 1, 1))

    def test_errors_leave_standard_output_empty(self):
        done = self.run_program("search", self.store, "x", "--json", code=2)
        self.assertEqual(done.out, "")
        self.assertTrue(done.err.startswith("casemate: error: "))

    @unittest.skipUnless(model_folder("smollm2-135m-instruct-q4_1"), "smollm2-135m-instruct-q4_1 is not fetched")
    def test_ask(self):
        self.write("a.txt", "The ferry leaves at six.")
        self.index()
        ask = ("ask", self.store, "When does the ferry leave?", "--model",
               model_folder("smollm2-135m-instruct-q4_1") / self.gguf(), "--json")
        result = self.run_program(*ask, code=0).json()
        self.assertLessEqual({"question", "answer", "sources", "evidence", "certificate"}, set(result))
        self.assertEqual(result["sources"][0]["document"], "a.txt")
        self.assertIsNone(result["certificate"])
        self.assertEqual([stage["stage"] for stage in result["evidence"]["stages"]], ["retrieve", "generate"])
        self.check_evidence(result["evidence"])

    @unittest.skipUnless(model_folder("smollm2-135m-instruct-q4_1"), "smollm2-135m-instruct-q4_1 is not fetched")
    def test_a_certificate_names_the_models_file_and_replays(self):
        for number in range(5):
            self.write(f"{number}.txt", "The ferry leaves at six.")
        self.index()
        file = model_folder("smollm2-135m-instruct-q4_1") / self.gguf()
        model = ("--model", file, "--context", "1024", "--threads", "1")
        certificate = self.root / "c.json"
        states = self.root / "states"
        ask = ("ask", self.store, "When does the ferry leave?", "--policy", "off", "--mode", "bm25", "--aggregate", "decoding",
               "--group-size", "1", "--passage-states", states, "--certify", "--certificate", certificate, "--json", *model)
        first = self.run_program(*ask, code=0).json()
        named = json.loads(certificate.read_text(encoding="utf-8"))["body"]["model"]["hash"]
        self.assertEqual(named, hashlib.blake2b(file.read_bytes(), digest_size=32).hexdigest())
        found = self.run_program("verify", certificate, "--replay", self.store, "--json", *model, code=0).json()
        self.assertIn("the model's file is the certificate's", [check["check"] for check in found["checks"] if check["holds"]])
        again = self.run_program(*ask, code=0).json()
        reused = [each["evidence"]["generation"]["reused_tokens"] for each in (first, again)]
        self.assertGreater(reused[1], reused[0])

    @staticmethod
    def gguf():
        return next(path.name for path in model_folder("smollm2-135m-instruct-q4_1").iterdir() if path.suffix == ".gguf")


if __name__ == "__main__":
    unittest.main()
