"""Where an option's value comes from: flag, then variable, then configuration file, then default."""
import unittest

from cli import CHUNKS, TINY_MODEL, CliTest


class DefaultsTest(CliTest):
    def setUp(self):
        super().setUp()
        self.config = self.root / "casemate.yaml"

    def with_config(self, text):
        self.config.write_text(text, encoding="utf-8")
        return ["--config", self.config]


class Precedence(DefaultsTest):
    def setUp(self):
        super().setUp()
        for name in ("one", "two", "three", "four"):
            self.write(f"{name}.txt", f"ferry {name}")
        self.index("--labels", "all,harbour")

    def hits(self, *words, env=None):
        return len(self.run_program("search", self.store, "ferry", "--json", *words, env=env, code=0).json()["hits"])

    def test_a_scalar(self):
        config = self.with_config("search: {mode: bm25, top_k: 3}\n")
        self.assertEqual(self.hits("--mode", "bm25"), 4)
        self.assertEqual(self.hits(*config), 3)
        self.assertEqual(self.hits(*config, env={"CASEMATE_TOP_K": "2"}), 2)
        self.assertEqual(self.hits(*config, "--top-k", "1", env={"CASEMATE_TOP_K": "2"}), 1)

    def test_the_file_may_be_named_by_a_variable_and_the_flag_wins(self):
        self.with_config("search: {mode: bm25, top_k: 3}\n")
        other = self.root / "other.yaml"
        other.write_text("search: {mode: bm25, top_k: 1}\n", encoding="utf-8")
        self.assertEqual(self.hits(env={"CASEMATE_CONFIG": str(self.config)}), 3)
        self.assertEqual(self.hits(f"--config={other}", env={"CASEMATE_CONFIG": str(self.config)}), 1)

    def test_a_flag(self):
        def is_json(*words, env=None):
            return self.run_program("policies", *words, env=env, code=0).out.startswith("[")
        config = self.with_config("json: true\n")
        self.assertFalse(is_json())
        self.assertTrue(is_json(*config))
        self.assertFalse(is_json(*config, env={"CASEMATE_JSON": "false"}))
        self.assertTrue(is_json(*config, "--json", env={"CASEMATE_JSON": "false"}))
        self.assertFalse(is_json(*config, "--json=false"))

    def test_a_list_is_replaced_as_a_whole(self):
        self.write("five.txt", "ferry five")
        self.write("six.txt", "ferry six")
        self.index(self.docs / "five.txt", "--labels", "five")
        self.index(self.docs / "six.txt", "--labels", "six")
        config = self.with_config("search: {mode: bm25, label: [five, six]}\n")
        self.assertEqual(self.hits(*config), 2)
        self.assertEqual(self.hits(*config, env={"CASEMATE_LABEL": "six"}), 1)
        self.assertEqual(self.hits(*config, "--label", "harbour,none", env={"CASEMATE_LABEL": "six"}), 4)
        self.assertEqual(self.hits(*config, "--label", "harbour", "--label", "six", "--top-k", "9"), 5)

    def test_a_required_option_may_come_from_file_or_variable(self):
        config = self.with_config(f"index: {{store: {self.root}/other, chunk_tokens: 32, chunk_overlap: 0}}\n")
        self.run_program("index", self.docs, "--encoder", TINY_MODEL, *config, code=0)
        self.assertTrue((self.root / "other" / "vault.db").exists())
        self.run_program("index", self.docs, "--encoder", TINY_MODEL, *CHUNKS, code=0,
                         env={"CASEMATE_STORE": str(self.root / "third")})
        self.assertTrue((self.root / "third" / "vault.db").exists())

    def test_options_of_nested_commands(self):
        config = self.with_config("models: {pull: {source: nowhere}}\n")
        self.assertIn("nowhere", self.run_program("models", "pull", "all-minilm-l6-v2", *config, code=2).err)


class BadSettings(DefaultsTest):
    def refused(self, text, *says):
        done = self.run_program("policies", *self.with_config(text), code=2)
        self.assertEqual(done.out, "")
        for each in says:
            self.assertIn(each, done.err)

    def test_unknown_keys_name_file_line_and_the_nearest_known(self):
        self.refused("quiet: true\nserch: {top_k: 3}\n", "casemate.yaml:2", '"serch"', "search")
        self.refused("search:\n  top_n: 3\n", "casemate.yaml:2", '"top_n"', "top-k")

    def test_wrong_values_name_file_and_line(self):
        self.refused("search:\n  top_k: many\n", "casemate.yaml:2")
        self.refused("search:\n  top_k: [1, 2]\n", "casemate.yaml:2")
        self.refused("threads: -1\n", "casemate.yaml:1")
        self.refused("json: maybe\n", "casemate.yaml:1")
        self.refused("search: 3\n", "casemate.yaml:1", "search")
        self.refused("- json\n", "casemate.yaml", "map")
        self.refused("json: [\n", "casemate.yaml")

    def test_a_bad_variable_is_named(self):
        done = self.run_program("policies", env={"CASEMATE_THREADS": "some"}, code=2)
        self.assertIn("CASEMATE_THREADS", done.err)

    def test_a_missing_file_is_named(self):
        self.assertIn("none.yaml", self.run_program("policies", "--config", "none.yaml", code=2).err)


if __name__ == "__main__":
    unittest.main()
