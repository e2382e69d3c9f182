#include <nlohmann/json.hpp>
#include <optional>

#include "casemate/core/untrusted_text.h"
#include "casemate/text/bpe_tokenizer.h"
#include "casemate/text/tokenizer_loader.h"
#include "casemate/text/unigram_tokenizer.h"
#include "casemate/text/wordpiece_tokenizer.h"
#include "text/base64.h"

namespace casemate {
namespace {

using nlohmann::json;

Error bad(const std::string& what) { return {ErrorCode::kInvalidInput, "tokenizer.json: " + what}; }

std::string string_or(const json& object, const char* name, std::string fallback) {
  if (!object.is_object()) return fallback;
  const auto it = object.find(name);
  return it != object.end() && it->is_string() ? it->get<std::string>() : fallback;
}

bool bool_or(const json& object, const char* name, bool fallback) {
  if (!object.is_object()) return fallback;
  const auto it = object.find(name);
  return it != object.end() && it->is_boolean() ? it->get<bool>() : fallback;
}

const json& member(const json& object, const char* name) {
  static const json null;
  if (!object.is_object()) return null;
  const auto it = object.find(name);
  return it == object.end() ? null : *it;
}

/// Pieces in id order from {"piece": id}; the added tokens fill what the vocabulary leaves out.
Result<std::vector<std::string>> pieces_by_id(const json& vocabulary, const json& added) {
  if (!vocabulary.is_object()) return bad("model.vocab must be an object");
  std::vector<std::pair<std::string, std::int64_t>> entries;
  for (const auto& [piece, id] : vocabulary.items()) {
    if (!id.is_number_integer()) return bad("model.vocab: ids must be integers");
    entries.emplace_back(piece, id.get<std::int64_t>());
  }
  if (added.is_array()) {
    for (const json& token : added) {
      if (member(token, "content").is_string() && member(token, "id").is_number_integer()) {
        entries.emplace_back(token["content"].get<std::string>(), token["id"].get<std::int64_t>());
      }
    }
  }
  const auto limit = static_cast<std::int64_t>(entries.size()) * 2 + 1000;
  std::vector<std::string> pieces;
  for (auto& [piece, id] : entries) {
    if (id < 0 || id > limit) return bad("model.vocab: id " + std::to_string(id) + " is out of range");
    if (static_cast<std::size_t>(id) >= pieces.size()) pieces.resize(static_cast<std::size_t>(id) + 1);
    pieces[static_cast<std::size_t>(id)] = std::move(piece);
  }
  return pieces;
}

std::vector<AddedToken> special_tokens(const json& added) {
  std::vector<AddedToken> tokens;
  if (!added.is_array()) return tokens;
  for (const json& token : added) {
    if (!bool_or(token, "special", false) || !member(token, "content").is_string() ||
        !member(token, "id").is_number_integer())
      continue;
    tokens.push_back(
        {token["content"].get<std::string>(), token["id"].get<TokenId>(), bool_or(token, "lstrip", false)});
  }
  return tokens;
}

/// The result with the file's name before its error.
Result<std::unique_ptr<Tokenizer>> in_file(Result<std::unique_ptr<Tokenizer>> made) {
  if (!made) return made.error().in("tokenizer.json");
  return made;
}

Result<std::unique_ptr<Tokenizer>> parse_wordpiece(const json& root) {
  const json& model = member(root, "model");
  auto pieces = pieces_by_id(member(model, "vocab"), member(root, "added_tokens"));
  if (!pieces) return pieces.error();
  if (string_or(model, "continuing_subword_prefix", "##") != "##")
    return Error{ErrorCode::kUnsupported, "tokenizer.json: only the prefix ## is supported"};
  const json& normalizer = member(root, "normalizer");
  if (string_or(normalizer, "type", "") != "BertNormalizer") {
    return Error{ErrorCode::kUnsupported, "tokenizer.json: WordPiece needs the normalizer BertNormalizer"};
  }
  WordPieceOptions options;
  options.lowercase = bool_or(normalizer, "lowercase", true);
  options.strip_accents = bool_or(normalizer, "strip_accents", options.lowercase);
  options.split_chinese = bool_or(normalizer, "handle_chinese_chars", true);
  options.clean_text = bool_or(normalizer, "clean_text", true);
  const json& longest = member(model, "max_input_chars_per_word");
  if (longest.is_number_integer()) options.max_characters_per_word = longest.get<int>();
  return in_file(create_wordpiece_tokenizer(*std::move(pieces), options));
}

Result<std::unique_ptr<Tokenizer>> parse_bpe(const json& root) {
  const json& model = member(root, "model");
  auto pieces = pieces_by_id(member(model, "vocab"), member(root, "added_tokens"));
  if (!pieces) return pieces.error();
  BpeDefinition definition;
  definition.pieces = *std::move(pieces);
  definition.special_tokens = special_tokens(member(root, "added_tokens"));
  for (const json& merge : member(model, "merges")) {
    // Old files write "a b", new ones ["a", "b"].
    if (merge.is_string()) {
      const auto text = merge.get<std::string>();
      const std::size_t blank = text.find(' ', 1);
      if (blank == std::string::npos)
        return bad("model.merges: \"" + UntrustedText(text).for_log() + "\" is not two pieces");
      definition.merges.emplace_back(text.substr(0, blank), text.substr(blank + 1));
    } else if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
      definition.merges.emplace_back(merge[0].get<std::string>(), merge[1].get<std::string>());
    } else {
      return bad("model.merges: an entry is not a pair of strings");
    }
  }
  if (string_or(member(root, "pre_tokenizer"), "type", "") != "ByteLevel" || !member(root, "normalizer").is_null()) {
    return Error{ErrorCode::kUnsupported,
                 "tokenizer.json: BPE is supported with the ByteLevel pre-tokenizer and no normalizer"};
  }
  definition.add_prefix_space = bool_or(member(root, "pre_tokenizer"), "add_prefix_space", false);
  return in_file(create_bpe_tokenizer(std::move(definition)));
}

/// The sentencepiece character map and white-space rule of a Unigram tokenizer's normalizer.
Result<std::string> precompiled_map(const json& normalizer) {
  const std::string type = string_or(normalizer, "type", "");
  if (type == "Precompiled") return decode_base64(string_or(normalizer, "precompiled_charsmap", ""));
  if (type == "Sequence") {
    for (const json& step : member(normalizer, "normalizers")) {
      if (string_or(step, "type", "") == "Precompiled") return precompiled_map(step);
    }
  }
  return std::string();
}

bool collapses_blanks(const json& normalizer) {
  if (string_or(normalizer, "type", "") == "Sequence") {
    for (const json& step : member(normalizer, "normalizers")) {
      if (collapses_blanks(step)) return true;
    }
  }
  return string_or(normalizer, "type", "") == "Replace" &&
         string_or(member(normalizer, "pattern"), "Regex", "") == " {2,}";
}

Result<std::unique_ptr<Tokenizer>> parse_unigram(const json& root) {
  const json& model = member(root, "model");
  UnigramDefinition definition;
  const json& vocabulary = member(model, "vocab");
  if (!vocabulary.is_array()) return bad("model.vocab must be a list of [piece, score]");
  for (const json& entry : vocabulary) {
    if (!entry.is_array() || entry.size() != 2 || !entry[0].is_string() || !entry[1].is_number()) {
      return bad("model.vocab: an entry is not [piece, score]");
    }
    definition.pieces.emplace_back(entry[0].get<std::string>(), entry[1].get<double>());
  }
  const json& unknown = member(model, "unk_id");
  if (!unknown.is_number_unsigned() || unknown.get<std::size_t>() >= definition.pieces.size())
    return bad("model.unk_id is missing or out of range");
  definition.unknown = unknown.get<TokenId>();
  definition.special_tokens = special_tokens(member(root, "added_tokens"));
  auto map = precompiled_map(member(root, "normalizer"));
  if (!map) return map.error().in("tokenizer.json: normalizer");
  definition.character_map = *std::move(map);
  definition.collapse_blanks = collapses_blanks(member(root, "normalizer"));
  const json& pre = member(root, "pre_tokenizer");
  const std::string type = string_or(pre, "type", "");
  bool metaspace = type == "Metaspace";
  if (type == "Sequence") {
    for (const json& step : member(pre, "pretokenizers")) {
      metaspace = metaspace || string_or(step, "type", "") == "Metaspace";
      definition.split_on_white_space =
          definition.split_on_white_space || string_or(step, "type", "") == "WhitespaceSplit";
    }
  }
  if (!metaspace)
    return Error{ErrorCode::kUnsupported, "tokenizer.json: Unigram is supported with the Metaspace pre-tokenizer"};
  return in_file(create_unigram_tokenizer(std::move(definition)));
}

}  // namespace

Result<std::unique_ptr<Tokenizer>> parse_tokenizer_json(std::string_view text) {
  const json root = json::parse(text, nullptr, false);
  if (root.is_discarded() || !root.is_object()) return bad("is not a JSON object");
  const json& model = member(root, "model");
  std::string type = string_or(model, "type", "");
  // Early files name no type; the vocabulary's form tells.
  if (type.empty() && member(model, "merges").is_array()) type = "BPE";
  if (type.empty() && member(model, "vocab").is_array()) type = "Unigram";
  if (type.empty() && member(model, "vocab").is_object()) type = "WordPiece";
  try {
    if (type == "WordPiece") return parse_wordpiece(root);
    if (type == "BPE") return parse_bpe(root);
    if (type == "Unigram") return parse_unigram(root);
  } catch (const json::exception& error) {
    return bad(error.what());
  }
  return Error{ErrorCode::kUnsupported, "tokenizer.json: model type \"" + UntrustedText(type).for_log() +
                                            "\" is not one of WordPiece, BPE, Unigram"};
}

}  // namespace casemate
