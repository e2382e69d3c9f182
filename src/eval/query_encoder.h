// src/eval/query_encoder.h
#pragma once

#include <map>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>

#include "casemate/attack/attack.h"
#include "casemate/core/progress.h"
#include "casemate/encoder/encoder.h"

namespace casemate {

/// Embeddings of an experiment's queries, made once for all conditions. Filled first, then only read.
class QueryEmbeddings {
 public:
  /// Embeds those of `texts` that are not there yet. Error: what the encoder says; Cancelled.
  [[nodiscard]] Status add(const Encoder& encoder, std::span<const std::string_view> texts, Progress& progress,
                           std::stop_token stop);
  /// [d]; empty where it was never added.
  [[nodiscard]] std::span<const float> find(std::string_view text) const;

 private:
  std::map<std::string, std::vector<float>, std::less<>> known_;
};

/// An encoder that takes queries from `queries` and lets `attack` (may be null) disturb them; everything else is
/// `encoder`'s, gradients too where it has them. All must outlive it. Thread-safe.
[[nodiscard]] std::unique_ptr<Encoder> make_query_encoder(const Encoder& encoder, const QueryEmbeddings& queries,
                                                          const Attack* attack, std::uint64_t seed);

}  // namespace casemate
