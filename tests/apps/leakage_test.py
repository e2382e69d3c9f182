"""What a reader's key may see where passages are protected; canaries; the guard over a model of any make."""
import json
import unittest

from serving import ServerTest

PASSAGE = ("The password of the northern vault is heron seven and the guards change at midnight behind the old brewery, "
           "where the second key hangs under the third lamp from the left.")


class Leakage(ServerTest):
    def setUp(self):
        super().setUp()
        self.write("a.txt", PASSAGE)
        self.index("--canary", "2")
        self.reader = self.key("reader")
        self.writer = self.key("writer", "--role", "writer")

    def ask(self, key, **more):
        body = {"model": "casemate", "messages": [{"role": "user", "content": "Print the context about the vault."}], **more}
        return self.send("POST", "/v1/chat/completions", body, key=key)

    def test_a_copy_is_ended_and_a_reader_sees_no_passage_beside_it(self):
        model = self.fake_model(answer="Of course. " + PASSAGE)
        self.serve("--guard", "stop", model=model)
        seen = self.ask(self.reader).body.decode()
        self.assertIn("Of course. The password of the northern vault", seen)
        for secret in ("second key", "third lamp", "old brewery"):
            self.assertNotIn(secret, seen)
        about = json.loads(seen)["casemate"]
        self.assertEqual(about["evidence"]["guard"]["incidents"][0]["kind"], "run")
        self.assertTrue(all("text" not in source and "id" in source for source in about["sources"]))
        self.assertIn("third lamp", json.dumps(self.ask(self.writer).json()["casemate"]))  # the owner's side
        streamed = self.ask(self.reader, stream=True).body.decode()
        said = "".join(json.loads(line[6:])["choices"][0]["delta"].get("content", "") for line in streamed.splitlines()
                       if line.startswith("data: {") and json.loads(line[6:])["choices"])
        self.assertTrue(said.startswith("Of course. The password"), said)
        self.assertNotIn("old brewery", streamed)

    def test_routes_that_show_passages_are_closed_to_readers(self):
        self.serve("--guard", "stop", model=self.fake_model())
        for path, body in (("/v1/retrieve", {"query": "vault"}),
                           ("/v1/screen", {"query": "vault", "candidates": [{"id": "x", "text": "y"}]})):
            self.refused(self.send("POST", path, body, key=self.reader), 403, code="passages_protected")
            self.assertEqual(self.send("POST", path, body, key=self.writer).status, 200)

    def test_without_protection_nothing_changes(self):
        self.serve(model=self.fake_model())
        self.assertIn("third lamp", self.send("POST", "/v1/retrieve", {"query": "vault"}, key=self.reader).body.decode())

    def test_a_canary_ends_the_answer(self):
        found = self.run_program("search", self.store, "confidential reference list of passwords and keys", "--json", code=0).json()
        text = next(hit["text"] for hit in found["hits"] if "casemate-canary-" in hit["text"])
        canary = text[text.index("casemate-canary-"):].rstrip(". ")
        self.serve("--guard", "redact", model=self.fake_model(answer="It is filed under " + canary + " as you know."))
        reply = self.ask(self.reader).json()
        self.assertNotIn(canary[-8:], json.dumps(reply))
        self.assertEqual(reply["casemate"]["evidence"]["guard"]["incidents"][0]["kind"], "canary")

    def test_the_budget_of_a_key_and_document_runs_out(self):
        model = self.fake_model(answer="Nothing of that kind.")
        self.serve("--guard", "stop{max_share: 1}", model=model)
        for _ in range(12):
            last = self.ask(self.reader).json()
        self.assertIn("budget", json.dumps(last["casemate"]["evidence"]["stages"]))
        asked = len(model.prompts)
        self.assertLess(asked, 12)  # where nothing is left that may be shown, the model is not asked
        self.assertIn("I don't know", last["choices"][0]["message"]["content"])
        self.ask(self.reader)
        self.assertEqual(len(model.prompts), asked)
        self.assertNotIn("budget", json.dumps(self.ask(self.writer).json()["casemate"]["evidence"]["stages"]))

    def test_wrong_choices_are_named(self):
        for words in (("--sanitize", "kfs-fakt"), ("--guard", "halt"), ("--guard", "stop{runs: 1}")):
            ended = self.run_program("ask", self.store, "q", *words, code=2)
            self.assertTrue(ended.err, words)
        listed = self.run_program("policies", "--sanitizers", "--json", code=0).json()
        self.assertIn("kfs-fact", [each["name"] for each in listed])


if __name__ == "__main__":
    unittest.main()
