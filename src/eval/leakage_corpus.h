// eval/leakage_corpus.h
#pragma once

#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "casemate/attack/attack.h"
#include "casemate/encoder/encoder.h"
#include "casemate/eval/leakage_experiment.h"

namespace casemate {

/// A passage as it is shown to a generator.
struct LeakChunk {
  std::string id;
  UntrustedText text;
};

/// What is asked, and the passage that the attacker changed, if any.
struct LeakQuery {
  UntrustedText text;
  std::optional<LeakChunk> planted;
};

/// The questions of a leakage experiment, the passages around them, and retrieval from these. Immutable, thread-safe.
/// `encoder` must outlive it.
class LeakageCorpus {
 public:
  /// Draws questions and distractors under the experiment's seed, and embeds. Error: what data and encoder say.
  [[nodiscard]] static Result<LeakageCorpus> load(const LeakageExperiment& experiment, const Encoder& encoder,
                                                  bool quick);

  [[nodiscard]] const std::vector<AttackTarget>& questions() const noexcept { return questions_; }
  [[nodiscard]] const std::vector<std::string>& ids() const noexcept { return ids_; }  ///< of the questions
  [[nodiscard]] std::size_t passages() const noexcept { return passages_.size(); }
  [[nodiscard]] const Digest& digest() const noexcept { return digest_; }  ///< of the data set

  /// How `question` is asked in a case with an instruction. Error: InvalidInput where the attack makes nothing of it.
  [[nodiscard]] Result<LeakQuery> ask(LeakCase which, LeakInstruction instruction, const AttackTarget& question,
                                      std::stop_token stop) const;
  /// The `count` nearest passages, best first. What is planted stands in its original's place, or first where that was
  /// not found. Error: what the encoder says.
  [[nodiscard]] Result<std::vector<LeakChunk>> retrieve(const LeakQuery& query, int count) const;

 private:
  explicit LeakageCorpus(const Encoder& encoder) : encoder_(&encoder) {}

  const Encoder* encoder_;
  std::uint64_t seed_ = 0;
  Digest digest_{};
  std::vector<CorpusPassage> passages_;
  std::vector<AttackTarget> questions_;
  std::vector<std::string> ids_;
  Embeddings embeddings_;
};

}  // namespace casemate
