"""--help, and what the program says to words it does not know."""
import unittest

from cli import CliTest

GLOBAL = "--json --quiet --threads --models-folder --manifest --config"
QUERY = "--policy --tenant --top-k --mode --encoder --label --all-labels --no-label --explain"
# What the documentation promises each command to take.
OPTIONS = {
    "index": "--store --tenant --labels --format --encoder --query-prefix --passage-prefix --pooling --max-tokens "
             "--precision --chunk-tokens --chunk-overlap --one-passage --generate-ids --hidden-files --text-column --id-column "
             "--max-file-bytes --batch",
    "search": QUERY,
    "ask": QUERY + " --model --context --aggregate --group-size --long --certify --planted --poisoned-fragments "
                   "--max-similarity --sign-with --passage-states --option --certificate",
    "certify": "--format --method --malicious --threat --passages --questions --seed --live --out --model",
    "verify": "--key --replay --tenant --option --model",
    "attack": "--list --queries --query --limit --store --out --overwrite --into --remove --tenant --seed --encoder "
              "--export-preferences --model --adapter --judge",
    "redteam": "--endpoint --attack --list --queries --query --limit --documents --store --encoder --out --overwrite "
               "--clean-up --seed --model --adapter --fail-if --junit",
    "embed": "--jsonl --query --passage --special-tokens --encoder --max-tokens --pooling --precision --query-prefix "
             "--passage-prefix --strict",
    "keywords": "--jsonl --all --strict",
    "models list": "", "models pull": "--source", "models verify": "",
    "models import": "--name --purpose --query-prefix --passage-prefix --pooling --licence --hard-link",
    "doctor": "", "policies": "", "documents": "--tenant --findings", "delete": "--tenant", "compact": "", "check": "",
    "backup": "", "restore": "", "migrate": "--backup", "recall": "--tenant --encoder --mode",
}


class Help(CliTest):
    def test_every_command_explains_itself_and_names_its_options(self):
        for command, options in OPTIONS.items():
            with self.subTest(command):
                done = self.run_program(*command.split(), "--help", code=0)
                self.assertEqual(done.err, "")
                for option in options.split():
                    self.assertRegex(done.out, rf"(?m)^ +(-\w,)?{option}\b")

    def test_the_list_names_every_command_and_global_option(self):
        done = self.run_program("--help", code=0)
        for command in OPTIONS:
            self.assertRegex(done.out, rf"(?m)^  {command.split()[0]} ")
        for option in GLOBAL.split():
            self.assertIn(option, done.out)

    def test_the_version_goes_to_standard_output(self):
        self.assertRegex(self.run_program("--version", code=0).out, r"^casemate \d+\.\d+\.\d+")


class Misspelling(CliTest):
    def expect(self, words, *says):
        done = self.run_program(*words, code=2)
        self.assertEqual(done.out, "")
        self.assertTrue(done.err.startswith("casemate: error: "), done.err)
        for each in says:
            self.assertIn(each, done.err)

    def test_the_nearest_command_is_named(self):
        self.expect(["serch", "s", "q"], '"serch"', "search")
        self.expect(["--quiet", "indx", "s"], '"indx"', "index")
        self.expect(["models", "lst"], '"lst"', "list")

    def test_the_nearest_option_is_named(self):
        self.expect(["search", "s", "q", "--top-n", "3"], "--top-n", "--top-k")
        self.expect(["index", "x", "--stroe=s"], "--stroe", "--store")
        self.expect(["search", "s", "q", "--quite"], "--quite", "--quiet")
        self.expect(["models", "pull", "x", "--sorce", "pypi"], "--sorce", "--source")

    def test_wrong_values_name_the_option(self):
        self.expect(["search", "s", "q", "--top-k", "many"], "--top-k")
        self.expect(["search", "s", "q", "--top-k", "1001"], "--top-k", "1000")
        self.expect(["search", "s", "q", "--policy", "strcit"], "strcit")
        self.expect(["search", "s", "q", "--mode", "dens"], "dense")
        self.expect(["index", "x", "--store", "s", "--format", "htlm"], "html")

    def test_missing_words_and_no_command_are_wrong_use(self):
        self.expect([])
        self.expect(["search", "s"], "query")
        self.expect(["index", "x"], "--store")

    def test_control_sequences_in_arguments_are_not_echoed(self):
        for words in (["\x1b[31mx"], ["search", "s", "q", "--\x1b[31mx"], ["search", "s\x1b[31m", "q"]):
            self.assertNotIn("\x1b", self.run_program(*words, code=2).err)


if __name__ == "__main__":
    unittest.main()
