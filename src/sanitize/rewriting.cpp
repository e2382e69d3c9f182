#include <algorithm>
#include <set>

#include "casemate/encoder/heads.h"
#include "casemate/text/segmentation.h"
#include "casemate/text/stop_words.h"
#include "sanitize/ap_context.h"
#include "sanitize/makers.h"
#include "sanitize/prompts.h"
#include "sanitize/shared_words.h"

namespace casemate {
namespace {

struct RewritingOptions {
  int max_new_tokens = 160;  ///< what the model may write (a passage, for paraphrased); in [8, 4096]
  std::vector<std::string> attributes = {"who or what it is about", "names", "places", "dates and numbers",
                                         "what happened"};
  double compress_to = 0.5;  ///< advanced: share of the sentences that is left; in [0, 1]
};

/// Baselines that write the context anew, or choose from it, without a bound on what it discloses.
class Rewriting final : public Sanitizer {
 public:
  Rewriting(std::string_view name, RewritingOptions options, const SanitizerServices& services)
      : name_(name), options_(std::move(options)), services_(services) {}

  std::string_view name() const noexcept override { return name_; }
  std::vector<std::pair<std::string, std::string>> parameters() const override {
    std::vector<std::pair<std::string, std::string>> out = {
        {"model", services_.model->info().name}, {"max_new_tokens", std::to_string(options_.max_new_tokens)}};
    if (name_ == "advanced") out.emplace_back("compress_to", std::to_string(options_.compress_to));
    if (name_ == "sage") out.emplace_back("attributes", std::to_string(options_.attributes.size()));
    return out;
  }

  Result<SanitizedContext> sanitize(const UntrustedText& question, std::span<const ContextPassage> passages,
                                    std::stop_token stop) const override {
    SanitizedContext out;
    out.record.mode = name_;
    out.record.parameters = parameters();
    std::size_t read = passages.size();
    const bool empty =
        std::all_of(passages.begin(), passages.end(), [](const ContextPassage& each) { return each.text.empty(); });
    if (empty) {
      out.record.notes.emplace_back("the context is empty");
    } else {
      Status made = name_ == "advanced"      ? compress(question, passages, out, stop)
                    : name_ == "paraphrased" ? paraphrase(passages, out, stop)
                                             : rewrite(passages, out, read, stop);
      if (!made) return made.error();
      if (out.passages.empty()) out.record.notes.emplace_back("the model wrote nothing, so nothing goes on");
    }
    account(passages, read, out);
    return out;
  }

 private:
  Result<UntrustedText> write(const Prompt& prompt, const std::stop_token& stop) const {
    GenerateOptions generate;
    generate.max_new_tokens = options_.max_new_tokens;
    auto made = services_.model->generate(prompt, generate, stop);
    if (!made) return made.error();
    return std::move(made->text);
  }

  static void add(UntrustedText text, std::size_t origin, SanitizedContext& out, bool mixed = false) {
    if (text.bytes().find_first_not_of(" \t\r\n") == std::string::npos) return;
    out.passages.push_back({UntrustedText(), std::move(text), origin, mixed});
  }

  /// summary and sage: one text for all passages.
  Status rewrite(std::span<const ContextPassage> passages, SanitizedContext& out, std::size_t& read,
                 const std::stop_token& stop) const {
    const auto fitted = sanitize::fit_context(
        *services_.model, passages, services_.model->info().context_tokens,
        static_cast<std::size_t>(options_.max_new_tokens), [&](std::span<const ContextPassage> some) {
          return name_ == "sage" ? sanitize::attributes_prompt(some, options_.attributes)
                                 : sanitize::summary_prompt(some);
        });
    if (!fitted) return fitted.error();
    read = fitted->passages.size();
    auto made = write(fitted->prompt, stop);
    if (!made) return made.error();
    add(*std::move(made), 0, out, true);
    return {};
  }

  /// What an answer from a corpus that was rewritten beforehand would read: each passage by itself, in other words.
  Status paraphrase(std::span<const ContextPassage> passages, SanitizedContext& out,
                    const std::stop_token& stop) const {
    for (std::size_t i = 0; i < passages.size(); ++i) {
      if (passages[i].text.empty()) continue;
      const auto fitted = sanitize::fit_context(
          *services_.model, passages.subspan(i, 1), services_.model->info().context_tokens,
          static_cast<std::size_t>(options_.max_new_tokens), [&](std::span<const ContextPassage> some) {
            return sanitize::paraphrase_prompt(some.empty() ? ContextPassage() : some[0]);
          });
      if (!fitted) return fitted.error();
      auto made = write(fitted->prompt, stop);
      if (!made) return made.error();
      add(*std::move(made), i, out);
    }
    return {};
  }

  /// Advanced RAG: the question becomes a query, passages are ranked by it, and the sentences nearest to it are left.
  Status compress(const UntrustedText& question, std::span<const ContextPassage> passages, SanitizedContext& out,
                  const std::stop_token& stop) const {
    auto query = write(sanitize::search_prompt(question), stop);
    if (!query) return query.error();
    const std::string asked = query->bytes() + " " + question.bytes();
    struct Sentence {
      std::size_t passage = 0;
      std::string text;
      double score = 0;
      std::size_t order = 0;
    };
    std::vector<Sentence> all;
    std::set<std::string> wanted;
    for (const sanitize::FormedWord& word : sanitize::formed_words(asked)) {
      if (!is_stop_word(word.form)) wanted.insert(word.form);
    }
    for (std::size_t p = 0; p < passages.size(); ++p) {
      const std::string text = passages[p].text.for_prompt();
      for (const ByteSpan& span : sentence_spans(text)) {
        Sentence sentence{p, text.substr(span.begin, span.size()), 0, all.size()};
        for (const sanitize::FormedWord& word : sanitize::formed_words(sentence.text))
          sentence.score += wanted.contains(word.form) ? 1.0 : 0.0;
        all.push_back(std::move(sentence));
      }
    }
    if (services_.reranker != nullptr) {
      std::vector<std::string_view> texts;
      for (const Sentence& sentence : all) texts.push_back(sentence.text);
      const auto scores = services_.reranker->score(question.bytes(), texts);
      if (!scores) return scores.error();
      for (std::size_t i = 0; i < all.size(); ++i) all[i].score = static_cast<double>((*scores)[i]);
    }
    std::stable_sort(all.begin(), all.end(), [](const Sentence& a, const Sentence& b) { return a.score > b.score; });
    const auto left = static_cast<std::size_t>(options_.compress_to * static_cast<double>(all.size()) + 0.5);
    all.resize(std::min(all.size(), std::max<std::size_t>(1, left)));
    std::sort(all.begin(), all.end(), [](const Sentence& a, const Sentence& b) { return a.order < b.order; });
    for (Sentence& sentence : all) {
      if (!out.passages.empty() && out.passages.back().origin == sentence.passage) {
        out.passages.back().text = UntrustedText(out.passages.back().text.bytes() + sentence.text);
      } else {
        add(UntrustedText(std::move(sentence.text)), sentence.passage, out);
      }
    }
    return {};
  }

  std::string name_;
  RewritingOptions options_;
  SanitizerServices services_;
};

}  // namespace

MadeSanitizer make_rewriting(std::string_view name, const YamlValue& map, const SanitizerServices& services) {
  RewritingOptions options;
  YamlOptions fields(map);
  fields.read("max_new_tokens", options.max_new_tokens, 8, 4096);
  if (name == "sage") fields.read("attributes", options.attributes);
  if (name == "advanced") fields.read("compress_to", options.compress_to, 0.0, 1.0);
  if (Status read = fields.finish(); !read) return read.error();
  if (services.model == nullptr)
    return Error{ErrorCode::kInvalidArgument, std::string(name) + " needs a language model"};
  if (options.attributes.empty() || options.attributes.size() > 32)
    return Error{ErrorCode::kInvalidOption, "sage: attributes has 1 to 32 entries"};
  return std::unique_ptr<Sanitizer>(std::make_unique<Rewriting>(name, std::move(options), services));
}

}  // namespace casemate
