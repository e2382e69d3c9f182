#include "casemate/sanitize/sanitizers.h"

#include <array>
#include <vector>

#include "casemate/core/named_options.h"
#include "casemate/core/nearest_name.h"
#include "casemate/core/utf8.h"
#include "sanitize/makers.h"
#include "sanitize/shared_words.h"

namespace casemate {
namespace {

constexpr std::array kSanitizers = {
    SanitizerEntry{"advanced", "rewrites the question, ranks sentences by it and keeps the nearest: a baseline", false,
                   make_rewriting},
    SanitizerEntry{"ap-keyword-context", "the keywords are the context", true, make_kfs},
    SanitizerEntry{"attention-only", "kfs-fact with keywords by attention alone: an ablation", true, make_kfs},
    SanitizerEntry{"keywords-direct", "the keywords are the answer", true, make_kfs},
    SanitizerEntry{"kfs-fact", "a few bounded facts about the words that the answer depends on (KFS-RAG)", true,
                   make_kfs},
    SanitizerEntry{"kfs-full", "kfs-fact, and the facts written anew in the style of examples", true, make_kfs},
    SanitizerEntry{"no-rag", "no passage at all: the model answers from what it knows", true, make_plain},
    SanitizerEntry{"paraphrased", "every passage in other words, as if the corpus had been rewritten: a baseline",
                   false, make_rewriting},
    SanitizerEntry{"perturbation-only", "kfs-fact with every candidate perturbed: an ablation", true, make_kfs},
    SanitizerEntry{"prompt-hardening", "the passages as they are, and a rule not to print them: a baseline", false,
                   make_plain},
    SanitizerEntry{"random-fact", "kfs-fact about words drawn at random: a baseline", true, make_kfs},
    SanitizerEntry{"sage", "the passages rewritten by attributes of the data set: a baseline", false, make_rewriting},
    SanitizerEntry{"summary", "a summary of the passages: a baseline", false, make_rewriting},
    SanitizerEntry{"vanilla", "the passages as they are", false, make_plain},
};

}  // namespace

std::span<const SanitizerEntry> sanitizers() noexcept { return kSanitizers; }

Result<const SanitizerEntry*> find_sanitizer(std::string_view name) {
  std::vector<std::string_view> known;
  for (const SanitizerEntry& entry : kSanitizers) {
    if (entry.name == name) return &entry;
    known.push_back(entry.name);
  }
  return Error{ErrorCode::kNotFound,
               "there is no sanitizer \"" + UntrustedText(std::string(name)).for_log() + "\"" + name_hint(name, known)};
}

Result<SanitizerChoice> parse_sanitizer(std::string_view text) {
  NamedOptions parts = split_named_options(text);
  const auto entry = find_sanitizer(parts.name);
  if (!entry) return entry.error();
  if (auto options = parse_named_options(parts.name, parts.options); !options) return options.error();
  return SanitizerChoice{std::move(parts.name), std::move(parts.options)};
}

Result<std::unique_ptr<Sanitizer>> create_sanitizer(const SanitizerChoice& choice, const SanitizerServices& services) {
  const auto entry = find_sanitizer(choice.name);
  if (!entry) return entry.error();
  const auto options = parse_named_options(choice.name, choice.options);
  if (!options) return options.error();
  return (*entry)->create((*entry)->name, *options, services);
}

void account(std::span<const ContextPassage> passages, std::size_t passages_read, SanitizedContext& context) {
  std::string goes_on;
  for (const SanitizedPassage& passage : context.passages) goes_on += passage.text.for_prompt() + "\n";
  if (context.answer) goes_on += context.answer->for_prompt();
  SanitizerRecord& record = context.record;
  for (const SanitizedPassage& passage : context.passages)
    record.disclosed_characters += count_code_points(passage.text.bytes());
  if (context.answer) record.disclosed_characters += count_code_points(context.answer->bytes());
  const auto words = sanitize::formed_words(goes_on);
  for (std::size_t i = 0; i < passages.size(); ++i) {
    Disclosure disclosure;
    const std::string text = passages[i].text.for_prompt();
    disclosure.characters = count_code_points(text);
    disclosure.longest_shared_run = sanitize::SharedWords(std::span(&text, 1)).longest_run(words).words;
    disclosure.read = i < passages_read;
    record.context_characters += disclosure.characters;
    record.passages.push_back(disclosure);
  }
}

}  // namespace casemate
