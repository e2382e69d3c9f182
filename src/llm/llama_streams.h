// The session that all batches of a model share: which sequence has which stream, and steps of several batches in one.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "llm/llama_session.h"
#include "llm/llama_turns.h"

namespace casemate::llm {

/// Stream 0 keeps the prefix, the last one is for moving, those between are sequences'. Used with the turn held.
class LlamaStreams {
 public:
  using MakeSession = std::function<Result<std::unique_ptr<LlamaSession>>(int streams, int tokens_per_stream)>;
  /// `context_tokens`: most that a sequence can have. `max_cells`: most that all streams have together, but never fewer
  /// than the longest sequence, a short one beside it and the spare streams need. `most_rows`: computed in one go,
  /// fillers among them; a larger step is taken in parts.
  LlamaStreams(MakeSession make, int context_tokens, std::size_t max_cells, std::size_t most_rows);

  [[nodiscard]] std::size_t max_cells() const noexcept { return max_cells_; }
  /// How long a stream is made for a sequence of `tokens`, with room for growing.
  [[nodiscard]] std::size_t stream_length(std::size_t tokens) const noexcept;

  [[nodiscard]] LlamaSession& session() { return *session_; }
  /// Tokens computed in stream 0.
  [[nodiscard]] std::vector<TokenId>& base() { return base_; }
  /// Whose prefix that is (`PromptOwner`).
  [[nodiscard]] std::string& base_owner() { return base_owner_; }

  /// Room for `more` sequences besides those that are there, each of `length` tokens. What is there may be moved. A
  /// session that was made for much more is made anew when it is nobody's.
  /// Error: Limit (more than max_cells); Model (not enough memory); then everything is as before.
  [[nodiscard]] Status reserve(std::size_t more, std::size_t length);
  /// Gives `user` a free stream, the lowest; there must be one.
  void take(StreamUser& user);
  void release(StreamUser& user);
  /// Forgets the cells from `tokens` on.
  void truncate(StreamUser& user, std::size_t tokens);

  /// One token for each row of all steps, in one go; each step gets its own status, and one that fails or was cancelled
  /// does not disturb the others. Returns how many rows went through the network.
  std::size_t compute(std::span<LlamaStep* const> steps);

 private:
  struct Shape {
    std::size_t streams = 0;
    std::size_t length = 0;
    [[nodiscard]] std::size_t cells() const { return streams * length; }
  };
  [[nodiscard]] std::size_t used() const;
  [[nodiscard]] Status rebuild(Shape shape);
  [[nodiscard]] Status decode(std::span<LlamaStep* const> steps, std::size_t& rows);
  /// Rows in order of their streams, as many at once as do not change each other's bits.
  [[nodiscard]] Status decode_in_parts(std::span<const StepRow> rows, std::size_t& count);
  /// The first of them; returns how many.
  [[nodiscard]] Result<std::size_t> decode_part(std::span<const StepRow> rows, std::size_t& count);
  void close_gaps(const std::vector<StepRow>& rows);
  void move(int from, int to);

  MakeSession make_;
  std::size_t most_rows_;
  std::size_t context_tokens_;
  std::size_t max_cells_;
  std::unique_ptr<LlamaSession> session_;
  std::vector<TokenId> base_;
  std::string base_owner_;
  std::vector<StreamUser*> users_;  ///< by stream; null: free, or one of the two that are nobody's
};

}  // namespace casemate::llm
