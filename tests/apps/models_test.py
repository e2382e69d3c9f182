"""models list, import and verify."""
import pathlib
import shutil
import unittest

from cli import TINY_MODEL, CliTest, model_folder

SMALL = "smollm2-135m-instruct-q4_1"


class Models(CliTest):
    def setUp(self):
        super().setUp()
        self.models = self.root / "models"
        self.source = self.root / "Tiny Model (v1)"
        shutil.copytree(TINY_MODEL, self.source)

    def take(self, *words, code=0):
        return self.run_program("models", "import", self.source, *words, "--models-folder", self.models, "--json",
                                code=code)

    def verify(self, *names, code=0):
        return self.run_program("models", "verify", *names, "--models-folder", self.models, "--json", code=code)

    def test_an_imported_model_is_listed_verified_and_used(self):
        info = self.take("--name", "tiny", "--query-prefix", "the ").json()
        self.assertEqual((info["name"], info["purpose"], info["state"], info["imported"]),
                         ("tiny", "encoder", "present", True))
        listed = self.run_program("models", "list", "--models-folder", self.models, "--json", code=0).json()
        states = {each["name"]: each["state"] for each in listed}
        self.assertEqual((states["tiny"], states["all-minilm-l6-v2"]), ("present", "absent"))
        self.assertTrue(self.verify("tiny").json()["ok"])
        rows = self.run_program("embed", "--encoder", "tiny", "--query", "--models-folder", self.models, given=b"tide",
                                code=0).json_lines()
        self.assertEqual(rows[0]["input_ids"], [2, 5, 10, 3])

    def test_the_name_is_made_from_the_folder_where_none_is_given(self):
        self.assertEqual(self.take().json()["name"], "tiny-model-v1")
        self.assertEqual(self.run_program("models", "import", f"{TINY_MODEL}/", "--models-folder", self.models, "--json",
                                          code=0).json()["name"], "tiny_model")

    def test_a_bad_name_is_refused(self):
        self.assertIn("../x", self.take("--name", "../x", code=2).err)
        self.assertEqual(self.take("--name", "a" * 65, code=2).out, "")

    def test_a_changed_file_is_the_answer_no(self):
        path = pathlib.Path(self.take("--name", "tiny").json()["path"]) / "model.safetensors"
        content = bytearray(path.read_bytes())
        content[-1] ^= 1
        path.write_bytes(content)
        report = self.verify("tiny", code=1).json()
        self.assertFalse(report["ok"])
        broken = [each for each in report["files"] if each["state"] != "ok"]
        self.assertEqual([each["name"] for each in broken], ["model.safetensors"])
        self.assertNotEqual(broken[0]["expected"], broken[0]["found"])
        self.assertIn("model.safetensors", self.run_program("models", "verify", "tiny", "--models-folder", self.models,
                                                            code=1).out)

    def test_an_unknown_model_names_the_nearest(self):
        self.assertIn("all-minilm-l6-v2", self.verify("all-minilm-l6", code=2).err)

    def requantise(self, *words, code=0):
        return self.run_program("models", "requantise", *words, "--models-folder", self.models, "--json", code=code)

    @unittest.skipUnless(model_folder(SMALL), f"{SMALL} is not fetched")
    def test_weights_in_another_format_are_a_model_of_their_own(self):
        source = next(model_folder(SMALL).glob("*.gguf"))
        info = self.requantise(source, "--to", "q8_0", "--name", "eight").json()
        self.assertEqual((info["name"], info["purpose"], info["state"]), ("eight", "language-model", "present"))
        self.assertGreater(pathlib.Path(info["path"]).stat().st_size, source.stat().st_size)
        self.assertTrue(self.verify("eight").json()["ok"])
        self.assertIn("eight", self.requantise(source, "--name", "eight", code=2).err)
        self.assertIn("../x", self.requantise(source, "--name", "../x", code=2).err)
        self.assertIn("q8_0", self.requantise(source, "--to", "q8_1", code=2).err)
        self.requantise(self.root / "absent.gguf", code=2)
        self.assertEqual([each.name for each in pathlib.Path(self.models).iterdir() if each.name[0] != "."], ["eight"])
        self.assertEqual(list(pathlib.Path(self.models).glob(".requantise*")), [])


if __name__ == "__main__":
    unittest.main()
