// Any bytes as a tokenizer.json: refused or loaded, and what is loaded can be used.
#include "casemate/text/tokenizer_loader.h"
#include "fuzz_support.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace casemate;
  const auto tokenizer = parse_tokenizer_json(fuzz::as_text(data, size));
  if (!tokenizer) {
    fuzz::require(!tokenizer.error().message.empty(), "a refusal has a message");
    return 0;
  }
  const std::string text = "the [SEP] caf\xC3\xA9 \xFF <s> ab\xE4\xB8\xAD 12";
  const Tokens tokens = (*tokenizer)->tokenize(text, SpecialTokens::kAsText);
  for (const TokenSpan& span : tokens.spans)
    fuzz::require(span.begin <= span.end && span.end <= text.size(), "spans lie in the text");
  (void)(*tokenizer)->decode(tokens.ids);
  for (const TokenId id : tokens.ids) (void)(*tokenizer)->piece(id);
  return 0;
}
