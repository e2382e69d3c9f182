// Any bytes through a tokenizer of each kind: ids of the vocabulary, spans in order inside the text, linear output.
#include <memory>

#include "casemate/text/tokenizer_loader.h"
#include "fuzz_support.h"
#include "tokenizers.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace casemate;
  static const auto tokenizers = [] {
    std::vector<std::unique_ptr<Tokenizer>> all;
    for (const char* json : kTokenizers) {
      auto tokenizer = parse_tokenizer_json(json);
      if (!tokenizer) std::fprintf(stderr, "%s\n", tokenizer.error().message.c_str());
      fuzz::require(tokenizer.ok(), "the built-in tokenizers load");
      all.push_back(*std::move(tokenizer));
    }
    return all;
  }();
  const std::string_view text = fuzz::as_text(data, size);
  for (const auto& tokenizer : tokenizers) {
    for (const SpecialTokens mode : {SpecialTokens::kAsText, SpecialTokens::kHuggingFace}) {
      const Tokens tokens = tokenizer->tokenize(text, mode);
      fuzz::require(tokens.ids.size() == tokens.spans.size(), "each token has a span");
      // A byte that is no UTF-8 counts as U+FFFD, which is three bytes; compatibility forms unfold to 18 characters.
      fuzz::require(tokens.ids.size() <= 18 * size + 1, "the number of tokens is linear");
      TokenSpan last;
      for (std::size_t i = 0; i < tokens.ids.size(); ++i) {
        const TokenSpan span = tokens.spans[i];
        fuzz::require(span.begin <= span.end && span.end <= size, "spans lie in the text");
        fuzz::require(span.begin >= last.begin && span.end >= last.end, "spans do not decrease");
        last = span;
        const TokenId id = tokens.ids[i];
        fuzz::require(id >= 0 && static_cast<std::size_t>(id) < tokenizer->vocabulary_size(), "ids are known");
        const bool special = tokenizer->is_special(id) && id != tokenizer->unknown_id();
        fuzz::require(mode != SpecialTokens::kAsText || !special, "text never becomes a special token");
      }
      (void)tokenizer->decode(tokens.ids);
    }
  }
  return 0;
}
