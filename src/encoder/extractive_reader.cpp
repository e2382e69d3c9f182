#include <algorithm>
#include <cmath>
#include <limits>

#include "casemate/encoder/heads.h"
#include "encoder/head_options.h"
#include "encoder/model_folder.h"
#include "encoder/pair_input.h"

namespace casemate {
namespace {

/// One window over one passage.
struct Window {
  std::size_t passage = 0;
  std::size_t from = 0;  ///< first token of the passage in it
  PairInput input;
};

/// Start and end logits of one window.
struct Logits {
  std::vector<double> start, end;
};

class BertReader final : public ExtractiveReader {
 public:
  BertReader(ModelFolder model, std::vector<float> weights, std::vector<float> bias, std::size_t max_tokens,
             const HeadOptions& options, const ThreadPool& pool)
      : model_(std::move(model)),
        weights_(std::move(weights)),
        bias_(std::move(bias)),
        max_tokens_(max_tokens),
        options_(options),
        pool_(pool) {}

  Result<std::vector<AnswerSpan>> read(std::string_view question,
                                       std::span<const std::string_view> passages) const override {
    const Tokens first = model_.tokenizer->tokenize(question, SpecialTokens::kAsText);
    const std::size_t framing = pair_framing(*model_.tokenizer);
    if (first.ids.size() + framing + 1 > max_tokens_) {
      return Error{ErrorCode::kInvalidArgument, "the question has " + std::to_string(first.ids.size()) +
                                                    " tokens and leaves no room for a passage in " +
                                                    std::to_string(max_tokens_)};
    }
    const std::size_t room = max_tokens_ - framing - first.ids.size();
    std::vector<Tokens> texts(passages.size());
    pool_.parallel_for(passages.size(), [&](std::size_t i, int) {
      texts[i] = model_.tokenizer->tokenize(passages[i], SpecialTokens::kAsText);
    });
    std::vector<Window> windows;
    for (std::size_t i = 0; i < texts.size(); ++i) add_windows(i, first, texts[i], room, windows);
    std::vector<TransformerInput> inputs;
    for (const Window& window : windows) inputs.push_back({window.input.ids, window.input.types});
    std::vector<Logits> logits(windows.size());
    const Status ran = model_.transformer->run(
        inputs, pool_, [&](std::size_t w, std::span<const float> states) { logits[w] = head(states); });
    if (!ran) return ran.error();
    return best_spans(windows, logits, texts);
  }

 private:
  void add_windows(std::size_t passage, const Tokens& question, const Tokens& text, std::size_t room,
                   std::vector<Window>& windows) const {
    const std::size_t step =
        room > static_cast<std::size_t>(options_.stride) ? room - static_cast<std::size_t>(options_.stride) : room;
    for (std::size_t from = 0; from == 0 || from < text.ids.size(); from += step) {
      const std::size_t count = std::min(room, text.ids.size() - from);
      windows.push_back(
          {passage, from, make_pair_input(*model_.tokenizer, question, text, from, count, model_.config.token_types)});
      if (from + count >= text.ids.size()) break;
    }
  }

  [[nodiscard]] Logits head(std::span<const float> states) const {
    const auto hidden = static_cast<std::size_t>(model_.config.hidden);
    Logits out;
    for (std::size_t t = 0; t < states.size() / hidden; ++t) {
      double sums[2] = {static_cast<double>(bias_[0]), static_cast<double>(bias_[1])};
      for (std::size_t label = 0; label < 2; ++label) {
        for (std::size_t i = 0; i < hidden; ++i) {
          sums[label] +=
              static_cast<double>(weights_[label * hidden + i]) * static_cast<double>(states[t * hidden + i]);
        }
      }
      out.start.push_back(sums[0]);
      out.end.push_back(sums[1]);
    }
    return out;
  }

  [[nodiscard]] Result<std::vector<AnswerSpan>> best_spans(std::span<const Window> windows,
                                                           std::span<const Logits> logits,
                                                           std::span<const Tokens> texts) const {
    constexpr float kNone = std::numeric_limits<float>::infinity();
    std::vector<AnswerSpan> best(texts.size(), AnswerSpan{0, 0, -kNone, kNone});
    for (std::size_t w = 0; w < windows.size(); ++w) {
      const Window& window = windows[w];
      AnswerSpan& found = best[window.passage];
      const auto null_score = static_cast<float>(logits[w].start[0] + logits[w].end[0]);
      if (!std::isfinite(null_score))
        return Error{ErrorCode::kModel, "passage " + std::to_string(window.passage) + ": a logit is not finite"};
      found.null_score = std::min(found.null_score, null_score);
      for (std::size_t s = 0; s < window.input.second_tokens; ++s) {
        const std::size_t last =
            std::min(window.input.second_tokens, s + static_cast<std::size_t>(options_.max_answer_tokens));
        for (std::size_t e = s; e < last; ++e) {
          const auto score = static_cast<float>(logits[w].start[window.input.second_begin + s] +
                                                logits[w].end[window.input.second_begin + e]);
          if (!std::isfinite(score))
            return Error{ErrorCode::kModel, "passage " + std::to_string(window.passage) + ": a logit is not finite"};
          if (score <= found.score) continue;
          const Tokens& text = texts[window.passage];
          found.begin = text.spans[window.from + s].begin;
          found.end = text.spans[window.from + e].end;
          found.score = score;
        }
      }
    }
    return best;
  }

  ModelFolder model_;
  std::vector<float> weights_;  ///< [2, hidden]: start, end
  std::vector<float> bias_;
  std::size_t max_tokens_;
  HeadOptions options_;
  const ThreadPool& pool_;
};

}  // namespace

Result<std::unique_ptr<ExtractiveReader>> load_extractive_reader(const std::string& folder, const HeadOptions& options,
                                                                 const ThreadPool& pool) {
  auto model = load_model_folder(folder);
  if (!model) return model.error();
  if (model->config.head != Head::kQuestionAnswering) {
    return Error{ErrorCode::kUnsupported, folder + ": an extractive reader is a ...ForQuestionAnswering checkpoint"};
  }
  const auto limit = head_token_limit(options, model->config);
  if (!limit) return limit.error();
  const std::uint64_t shape[] = {2, static_cast<std::uint64_t>(model->config.hidden)};
  const std::uint64_t bias_shape[] = {2};
  auto weights = model->tensors->read("qa_outputs.weight", shape);
  if (!weights) return weights.error();
  auto bias = model->tensors->read("qa_outputs.bias", bias_shape);
  if (!bias) return bias.error();
  return std::unique_ptr<ExtractiveReader>(
      std::make_unique<BertReader>(*std::move(model), *std::move(weights), *std::move(bias), *limit, options, pool));
}

}  // namespace casemate
