// casemate/text/tokenizer_loader.h
#pragma once

#include <memory>
#include <string>

#include "casemate/core/status.h"
#include "casemate/text/tokenizer.h"

namespace casemate {

/// Loads the tokenizer of a Hugging Face folder: tokenizer.json (WordPiece, byte-level BPE or Unigram), else vocab.txt
/// (WordPiece) with tokenizer_config.json's settings. A tokenizer.json's own truncation and padding are not applied:
/// limits are the encoder's. Error: NotFound, InvalidInput or Unsupported, naming the file and field.
[[nodiscard]] Result<std::unique_ptr<Tokenizer>> load_tokenizer(const std::string& folder);

/// The same from the text of a tokenizer.json.
[[nodiscard]] Result<std::unique_ptr<Tokenizer>> parse_tokenizer_json(std::string_view json);

}  // namespace casemate
