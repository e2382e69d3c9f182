#include <algorithm>

#include "casemate/core/random.h"
#include "casemate/sanitize/ap_memory.h"
#include "casemate/text/segmentation.h"
#include "sanitize/ap_context.h"
#include "sanitize/makers.h"
#include "sanitize/options.h"
#include "sanitize/prompts.h"

namespace casemate {
namespace {

struct KfsOptions {
  ApOptions ap;
  FactBounds bounds;
  int neighbours = 1;        ///< sentences on either side of a keyword that the extractor reads; -1: the whole context
  int max_fact_tokens = 64;  ///< what the extractor may write; in [8, 2048]
  std::uint64_t seed = 0;    ///< of random-fact's words
  std::vector<sanitize::StyleExample> style;
  int max_style_tokens = 128;  ///< what re-synthesis may write; in [8, 2048]
};

/// Places of a keyword in one passage around which the extractor reads.
constexpr std::size_t kMostPlaces = 4;

/// What the modes of the family differ in.
enum class Ending { kFacts, kResynthesis, kKeywordsAnswer, kKeywordsContext };
struct KfsMode {
  std::string_view name;
  Ending ending = Ending::kFacts;
  bool random_words = false;
  ApSteps steps = ApSteps::kBoth;
};
constexpr std::array kModes = {
    KfsMode{"ap-keyword-context", Ending::kKeywordsContext},
    KfsMode{"attention-only", Ending::kFacts, false, ApSteps::kAttentionOnly},
    KfsMode{"keywords-direct", Ending::kKeywordsAnswer},
    KfsMode{"kfs-fact", Ending::kFacts},
    KfsMode{"kfs-full", Ending::kResynthesis},
    KfsMode{"perturbation-only", Ending::kFacts, false, ApSteps::kPerturbationOnly},
    KfsMode{"random-fact", Ending::kFacts, true},
};

class Kfs final : public Sanitizer {
 public:
  Kfs(const KfsMode& mode, KfsOptions options, const SanitizerServices& services,
      std::unique_ptr<KeywordExtractor> tagger)
      : mode_(mode), options_(std::move(options)), services_(services), tagger_(std::move(tagger)) {}

  std::string_view name() const noexcept override { return mode_.name; }

  std::vector<std::pair<std::string, std::string>> parameters() const override {
    const ApOptions& ap = options_.ap;
    std::vector<std::pair<std::string, std::string>> out = {
        {"k_cand", std::to_string(ap.k_cand)},
        {"k_out", std::to_string(ap.k_out)},
        {"attention", std::string(sanitize::name_of(sanitize::kAttentions, ap.attention))},
        {"perturbation", std::string(sanitize::name_of(sanitize::kPerturbations, ap.perturbation))},
        {"loss", std::string(sanitize::name_of(sanitize::kLosses, ap.loss))},
        {"backbone", backbone().info().name}};
    if (mode_.random_words) out = {{"k_out", std::to_string(ap.k_out)}, {"seed", std::to_string(options_.seed)}};
    if (mode_.ending == Ending::kFacts || mode_.ending == Ending::kResynthesis) {
      out.emplace_back("max_characters", std::to_string(options_.bounds.max_characters));
      out.emplace_back("max_share", std::to_string(options_.bounds.max_share));
      out.emplace_back("max_shared_words", std::to_string(options_.bounds.max_shared_words));
      out.emplace_back("neighbours", std::to_string(options_.neighbours));
      out.emplace_back("extractor", services_.model->info().name);
    }
    if (mode_.ending == Ending::kResynthesis) out.emplace_back("style_examples", std::to_string(options_.style.size()));
    return out;
  }

  Result<SanitizedContext> sanitize(const UntrustedText& question, std::span<const ContextPassage> passages,
                                    std::stop_token stop) const override {
    SanitizedContext out;
    out.record.mode = std::string(mode_.name);
    out.record.parameters = parameters();
    std::size_t read = passages.size();
    if (Status chosen = choose_words(question, passages, out.record, read, stop); !chosen) return chosen.error();
    if (out.record.words.empty()) {
      out.record.notes.emplace_back("there is no keyword, so nothing of the passages goes on");
    } else if (Status made = finish(passages, out, read, stop); !made) {
      return made.error();
    }
    account(passages, read, out);
    return out;
  }

 private:
  LanguageModel& backbone() const { return services_.backbone != nullptr ? *services_.backbone : *services_.model; }

  Status choose_words(const UntrustedText& question, std::span<const ContextPassage> passages, SanitizerRecord& record,
                      std::size_t& read, const std::stop_token& stop) const {
    if (mode_.random_words) {
      auto all = context_candidates(*tagger_, passages);
      RandomStream random(options_.seed, "sanitize/random-fact/" + question.bytes());
      for (int i = 0; i < options_.ap.k_out && !all.empty(); ++i) {
        const std::size_t at = random.below(all.size());
        record.words.push_back(std::move(all[at].phrase));
        all.erase(all.begin() + static_cast<std::ptrdiff_t>(at));
      }
      return {};
    }
    auto made = services_.keywords != nullptr
                    ? services_.keywords->find(backbone(), *tagger_, question, passages, options_.ap, stop)
                    : find_ap_keywords(backbone(), *tagger_, question, passages, options_.ap, stop);
    if (!made) return made.error();
    for (const std::size_t i : made->chosen) record.words.push_back(made->candidates[i].phrase);
    record.notes = made->notes;
    read = std::min(read, made->passages_used);
    record.keywords = *std::move(made);
    return {};
  }

  Status finish(std::span<const ContextPassage> passages, SanitizedContext& out, std::size_t& read,
                const std::stop_token& stop) const {
    if (mode_.ending == Ending::kFacts || mode_.ending == Ending::kResynthesis)
      return extract(passages, out, read, stop);
    std::string words;
    for (const UntrustedText& word : out.record.words) words += (words.empty() ? "" : ", ") + word.bytes();
    if (mode_.ending == Ending::kKeywordsAnswer) {
      out.answer = UntrustedText(std::move(words));
    } else {
      out.passages.push_back({UntrustedText(), UntrustedText(std::move(words)), first_place(out.record), true});
    }
    return {};
  }

  static std::size_t first_place(const SanitizerRecord& record) {
    if (!record.keywords || record.keywords->chosen.empty()) return 0;
    const ApCandidate& best = record.keywords->candidates[record.keywords->chosen[0]];
    return best.occurrences.empty() ? 0 : best.occurrences[0].passage;
  }

  Status extract(std::span<const ContextPassage> passages, SanitizedContext& out, std::size_t& read,
                 const std::stop_token& stop) const {
    LanguageModel& model = *services_.model;
    const std::vector<ContextPassage> shown = around_keywords(passages.first(read), out.record.words);
    const auto fitted = sanitize::fit_context(
        model, shown, model.info().context_tokens, static_cast<std::size_t>(options_.max_fact_tokens),
        [&](std::span<const ContextPassage> some) { return sanitize::facts_prompt(some, out.record.words); });
    if (!fitted) return fitted.error();
    read = std::min(read, fitted->passages.size());
    auto written = write(fitted->prompt, options_.max_fact_tokens, out.record.words.size() + 1, stop);
    if (!written) return written.error();
    const RewriteFact rewrite = [&](const UntrustedText& fact) {
      return write(sanitize::other_words_prompt(fact), options_.max_fact_tokens, 1, stop);
    };
    std::vector<std::string> keywords;
    for (const UntrustedText& word : out.record.words) keywords.push_back(word.bytes());
    std::vector<std::string> sources;
    for (const ContextPassage& passage : passages) sources.push_back(passage.text.for_prompt());
    auto facts = bound_facts(written->bytes(), keywords, sources, options_.bounds, rewrite);
    if (!facts) return facts.error();
    out.record.facts = *std::move(facts);
    if (mode_.ending == Ending::kResynthesis) {
      if (Status made = resynthesise(keywords, sources, out, stop); !made) return made;
      if (!out.passages.empty()) return {};
    }
    for (const FactRecord& fact : out.record.facts) {
      if (!fact.goes_on()) continue;
      // Facts of one passage stand together, so that an answer can name it.
      const auto same = std::find_if(out.passages.begin(), out.passages.end(),
                                     [&](const SanitizedPassage& each) { return each.origin == fact.passage; });
      if (same == out.passages.end()) {
        out.passages.push_back({UntrustedText(), fact.text, fact.passage});
      } else {
        same->text = UntrustedText(same->text.bytes() + " " + fact.text.bytes());
      }
    }
    if (out.passages.empty()) out.record.notes.emplace_back("no fact kept the bounds, so nothing goes on");
    return {};
  }

  /// What the extractor reads: the sentences with a keyword and their neighbours. Small models restate these, and copy
  /// longer texts from their beginning; and what else stands in a passage cannot speak to the extractor.
  std::vector<ContextPassage> around_keywords(std::span<const ContextPassage> passages,
                                              std::span<const UntrustedText> words) const {
    std::vector<ContextPassage> out(passages.begin(), passages.end());
    if (options_.neighbours < 0) return out;
    for (ContextPassage& passage : out) {
      const std::string text = passage.text.for_prompt();
      const std::vector<ByteSpan> sentences = sentence_spans(text);
      std::vector<bool> wanted(sentences.size(), false);
      for (const UntrustedText& word : words) mark_sentences(text, word.bytes(), sentences, wanted);
      std::string kept;
      for (std::size_t i = 0; i < sentences.size(); ++i) {
        if (wanted[i]) kept += text.substr(sentences[i].begin, sentences[i].size());
      }
      passage.text = UntrustedText(std::move(kept));
    }
    return out;
  }

  void mark_sentences(const std::string& text, const std::string& word, std::span<const ByteSpan> sentences,
                      std::vector<bool>& wanted) const {
    std::size_t found = 0;
    for (std::size_t at = text.find(word); at != std::string::npos && found < kMostPlaces;
         at = text.find(word, at + word.size()), ++found) {
      const auto sentence = std::partition_point(sentences.begin(), sentences.end(),
                                                 [at](const ByteSpan& span) { return span.end <= at; });
      const auto middle = static_cast<int>(sentence - sentences.begin());
      for (int i = std::max(0, middle - options_.neighbours);
           i <= middle + options_.neighbours && i < static_cast<int>(sentences.size()); ++i)
        wanted[static_cast<std::size_t>(i)] = true;
    }
  }

  /// The bounds hold for the new text too, with twice the facts' length: tone takes words.
  Status resynthesise(std::span<const std::string> keywords, std::span<const std::string> sources,
                      SanitizedContext& out, const std::stop_token& stop) const {
    std::vector<UntrustedText> kept;
    std::size_t origin = 0;
    for (const FactRecord& fact : out.record.facts) {
      if (!fact.goes_on()) continue;
      if (kept.empty()) origin = fact.passage;
      kept.push_back(fact.text);
    }
    if (kept.empty()) return {};
    auto written = write(sanitize::style_prompt(options_.style, kept), options_.max_style_tokens, 4, stop);
    if (!written) return written.error();
    FactBounds bounds = options_.bounds;
    bounds.max_characters = std::min(2 * bounds.max_characters, 1'000'000);
    bounds.max_share = std::min(1.0, 1.5 * bounds.max_share);
    auto checked = bound_facts(written->bytes(), {}, sources, bounds, {});
    if (!checked) return checked.error();
    std::string text;
    for (const FactRecord& sentence : *checked) {
      if (sentence.goes_on()) text += (text.empty() ? "" : " ") + sentence.text.bytes();
    }
    // Of a text that says no keyword any more, the facts are the better context.
    if (longest_shared_run(text, keywords) == 0) {
      out.record.notes.emplace_back("re-synthesis lost the keywords: the facts go on as they are");
      return {};
    }
    out.record.resynthesised = UntrustedText(text);
    out.passages.push_back({UntrustedText(), UntrustedText(std::move(text)), origin, true});
    return {};
  }

  /// At most one sentence more than there are keywords: a small model that goes on copies.
  Result<UntrustedText> write(const Prompt& prompt, int max_tokens, std::size_t sentences,
                              const std::stop_token& stop) const {
    GenerateOptions generate;
    generate.max_new_tokens = max_tokens;
    std::string so_far;
    const OnText enough = [&](std::string_view piece) {
      so_far += piece;
      const auto spans = sentence_spans(so_far);
      return spans.size() <= sentences || so_far.find_first_not_of(" \n", spans[sentences].begin) == std::string::npos;
    };
    auto made = services_.model->generate(prompt, generate, stop, enough);
    if (!made) return made.error();
    return std::move(made->text);
  }

  const KfsMode& mode_;
  KfsOptions options_;
  SanitizerServices services_;
  std::unique_ptr<KeywordExtractor> tagger_;
};

Result<std::vector<sanitize::StyleExample>> read_style(const std::string& path) {
  std::vector<sanitize::StyleExample> out;
  if (path.empty()) return out;
  const auto file = YamlValue::parse_file(path);
  if (!file) return file.error();
  const auto list = file->list();
  if (!list) return list.error();
  for (const YamlValue& each : *list) {
    sanitize::StyleExample example;
    YamlOptions fields(each);
    fields.read("facts", example.facts).required().read("text", example.text).required();
    if (Status read = fields.finish(); !read) return read.error();
    out.push_back(std::move(example));
  }
  if (out.empty() || out.size() > 16)
    return Error{ErrorCode::kInvalidOption, path + ": a style file has 1 to 16 examples {facts, text}"};
  return out;
}

}  // namespace

MadeSanitizer make_kfs(std::string_view name, const YamlValue& map, const SanitizerServices& services) {
  const auto mode = std::find_if(kModes.begin(), kModes.end(), [&](const KfsMode& each) { return each.name == name; });
  if (mode == kModes.end()) return Error{ErrorCode::kNotFound, "no such mode"};
  KfsOptions options;
  options.ap.steps = mode->steps;
  std::string attention;
  std::string perturbation;
  std::string loss;
  std::string style;
  YamlOptions fields(map);
  fields.read("k_out", options.ap.k_out, 1, 64);
  if (!mode->random_words) {
    fields.read("k_cand", options.ap.k_cand, 1, 64)
        .read("attention", attention)
        .read("perturbation", perturbation)
        .read("loss", loss)
        .read("max_draft_tokens", options.ap.max_draft_tokens, 1, 512)
        .read("max_context_tokens", options.ap.max_context_tokens, 64, 32768)
        .read("max_perturbed", options.ap.max_perturbed, 1, 255);
  } else {
    fields.read("seed", options.seed, 0, ~std::uint64_t{0});
  }
  if (mode->ending == Ending::kFacts || mode->ending == Ending::kResynthesis) {
    fields.read("max_characters", options.bounds.max_characters, 1, 1'000'000)
        .read("max_share", options.bounds.max_share, 0.0, 1.0)
        .read("max_shared_words", options.bounds.max_shared_words, 1, 10'000)
        .read("neighbours", options.neighbours, -1, 1000)
        .read("max_fact_tokens", options.max_fact_tokens, 8, 2048);
  }
  if (mode->ending == Ending::kResynthesis)
    fields.read("style_file", style).read("max_style_tokens", options.max_style_tokens, 8, 2048);
  if (Status read = fields.finish(); !read) return read.error();
  Status good = read_choice(attention, "attention", sanitize::kAttentions, options.ap.attention);
  if (good) good = read_choice(perturbation, "perturbation", sanitize::kPerturbations, options.ap.perturbation);
  if (good) good = read_choice(loss, "loss", sanitize::kLosses, options.ap.loss);
  if (good && !mode->random_words) good = validate(options.ap);
  if (good) good = validate(options.bounds);
  if (!good) return good.error().in(name);
  auto examples = read_style(style);
  if (!examples) return examples.error();
  options.style = *std::move(examples);
  const bool writes = mode->ending == Ending::kFacts || mode->ending == Ending::kResynthesis;
  if (services.model == nullptr && (writes || services.backbone == nullptr))
    return Error{ErrorCode::kInvalidArgument, std::string(name) + " needs a language model"};
  if (!mode->random_words) {
    const LanguageModel& backbone = services.backbone != nullptr ? *services.backbone : *services.model;
    Status able = require(backbone, {Feature::kTokens, Feature::kTopLogProbabilities}, name);
    if (able && mode->steps != ApSteps::kPerturbationOnly) able = require(backbone, {Feature::kAttention}, name);
    if (!able) return able.error();
  }
  auto tagger = KeywordExtractor::create();
  if (!tagger) return tagger.error();
  return std::unique_ptr<Sanitizer>(std::make_unique<Kfs>(*mode, std::move(options), services, *std::move(tagger)));
}

}  // namespace casemate
