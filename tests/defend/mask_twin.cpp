#include "mask_twin.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace casemate::test {
namespace {

double similarity_of(const Encoder& encoder, const std::vector<float>& query, const std::vector<TokenId>& ids) {
  const std::vector<std::vector<TokenId>> one = {ids};
  const auto embedding = encoder.encode_tokens(one);
  if (!embedding) throw std::runtime_error(embedding.error().message);
  double sum = 0;
  for (std::size_t i = 0; i < query.size(); ++i)
    sum += static_cast<double>(query[i]) * static_cast<double>(embedding->values[i]);
  return sum;
}

}  // namespace

TwinJudgement mask_twin(const RagMaskOptions& options, const Encoder& encoder, const std::vector<float>& query,
                        const std::string& text) {
  const Tokenizer& tokenizer = encoder.tokenizer();
  const std::string& prefix = encoder.info().passage_prefix;
  const std::size_t own = tokenizer.tokenize(prefix, SpecialTokens::kAsText).ids.size();
  std::vector<TokenId> body = tokenizer.tokenize(prefix + text, SpecialTokens::kAsText).ids;
  const std::size_t framing = tokenizer.prefix().size() + tokenizer.suffix().size();
  body.resize(std::min(body.size(), static_cast<std::size_t>(encoder.info().max_tokens) - framing));
  const auto m = static_cast<std::size_t>(options.mask_length_tokens);
  const std::size_t segments = (body.size() - own + m - 1) / m;
  // Token t of the body is perturbed where `bad` holds its segment.
  const auto build = [&](const std::vector<std::size_t>& bad, MaskAction action) {
    std::vector<TokenId> ids(tokenizer.prefix().begin(), tokenizer.prefix().end());
    for (std::size_t t = 0; t < body.size(); ++t) {
      const bool hit = t >= own && std::find(bad.begin(), bad.end(), (t - own) / m) != bad.end();
      if (!hit) ids.push_back(body[t]);
      if (hit && action == MaskAction::kMask) ids.push_back(tokenizer.mask_id());
    }
    ids.insert(ids.end(), tokenizer.suffix().begin(), tokenizer.suffix().end());
    return ids;
  };
  TwinJudgement out;
  out.similarity = similarity_of(encoder, query, build({}, options.perturb));
  const double delta = options.delta_relative > 0 ? options.delta_relative * std::abs(out.similarity) : options.delta;
  for (std::size_t s = 0; s < segments; ++s) {
    out.perturbed.push_back(similarity_of(encoder, query, build({s}, options.perturb)));
    if (!(out.perturbed.back() + delta > out.similarity)) out.suspicious.push_back(s);
  }
  out.sanitised_similarity = similarity_of(encoder, query, build(out.suspicious, options.sanitise));
  return out;
}

std::vector<float> embed_query(const Encoder& encoder, const std::string& text) {
  const std::string_view texts[] = {text};
  auto encoded = encoder.encode_queries(texts);
  if (!encoded) throw std::runtime_error(encoded.error().message);
  return encoded->embeddings.values;
}

std::vector<PassageCandidate> ranked_candidates(const Encoder& encoder, const std::vector<float>& query,
                                                const std::vector<std::string>& texts) {
  std::vector<PassageCandidate> out;
  for (const std::string& text : texts) {
    const std::string_view one[] = {text};
    auto encoded = encoder.encode_passages(one);
    if (!encoded) throw std::runtime_error(encoded.error().message);
    PassageCandidate candidate;
    candidate.chunk = static_cast<ChunkId>(out.size()) + 1;
    candidate.document = "d" + std::to_string(candidate.chunk);
    candidate.text = UntrustedText(text);
    candidate.embedding = encoded->embeddings.values;
    for (std::size_t i = 0; i < query.size(); ++i)
      candidate.score += static_cast<double>(query[i]) * static_cast<double>(candidate.embedding[i]);
    out.push_back(std::move(candidate));
  }
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.score > b.score; });
  return out;
}

}  // namespace casemate::test
