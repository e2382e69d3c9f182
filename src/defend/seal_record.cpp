#include "defend/seal_record.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace casemate {
namespace {

using Json = nlohmann::ordered_json;
constexpr int kFormat = 1;

Error changed(std::string_view what) {
  return {ErrorCode::kCorrupt, "the seal does not hold: " + std::string(what) +
                                   " (casemate seal STORE --key KEYFILE --force makes a new one)"};
}

std::string list_text(const Seal& seal) {
  Json documents = Json::array();
  for (const SealedDocument& each : seal.documents)
    documents.push_back({each.id, to_hex(each.content_hash), to_hex(each.text_hash), each.passages});
  const Json list = {{"documents", std::move(documents)},
                     {"nearest_cosine", seal.calibration.nearest_cosine},
                     {"best_jaccard", seal.calibration.best_jaccard}};
  return list.dump();
}

template <std::size_t n>
void read_hex(const Json& from, std::array<std::uint8_t, n>& out) {
  const auto bytes = from_hex(from.get<std::string>());
  if (!bytes || bytes->size() != n) throw std::invalid_argument("not that many hexadecimal digits");
  std::copy(bytes->begin(), bytes->end(), out.begin());
}

/// The part before the last line feed is signed, the signature follows.
struct Parts {
  std::string_view signed_text;
  Signature signature{};
};
std::optional<Parts> split(std::string_view statement) {
  const std::size_t cut = statement.rfind('\n');
  if (cut == std::string_view::npos) return std::nullopt;
  Parts parts{statement.substr(0, cut), {}};
  const std::string_view hex = statement.substr(cut + 1);
  const auto bytes = from_hex(hex);
  if (!bytes || bytes->size() != parts.signature.size()) return std::nullopt;
  std::copy(bytes->begin(), bytes->end(), parts.signature.begin());
  if (to_hex(parts.signature) != hex) return std::nullopt;  // one way to write it, so that no byte may change
  return parts;
}

/// Throws what nlohmann's library throws, and std::invalid_argument.
void read_statement(const Json& json, Seal& seal, Digest& list_hash) {
  seal.tenant = json.at("tenant").get<std::string>();
  seal.version = json.at("version").get<std::int64_t>();
  seal.sealed_at = json.at("sealed_at").get<std::int64_t>();
  read_hex(json.at("root"), seal.root);
  seal.passages = json.at("passages").get<std::int64_t>();
  seal.sketch_key_id = json.at("sketch_key_id").get<std::string>();
  read_hex(json.at("public_key"), seal.public_key);
  read_hex(json.at("list"), list_hash);
}

void read_list(const Json& json, Seal& seal) {
  for (const Json& each : json.at("documents")) {
    SealedDocument document;
    document.id = each.at(0).get<std::string>();
    read_hex(each.at(1), document.content_hash);
    read_hex(each.at(2), document.text_hash);
    document.passages = each.at(3).get<std::int64_t>();
    seal.documents.push_back(std::move(document));
  }
  seal.calibration.nearest_cosine = json.at("nearest_cosine").get<std::vector<float>>();
  seal.calibration.best_jaccard = json.at("best_jaccard").get<std::vector<float>>();
}

}  // namespace

Digest root_of(std::span<const SealedDocument> documents) {
  Hasher hasher(Hasher::Kind::kBlake2b);
  const auto bytes = [](const Digest& digest) {
    return std::string_view(reinterpret_cast<const char*>(digest.data()), digest.size());
  };
  for (const SealedDocument& each : documents) {
    hasher.update(std::to_string(each.id.size()) + ":" + each.id);
    hasher.update(bytes(each.content_hash));
    hasher.update(bytes(each.text_hash));
  }
  return hasher.finish();
}

std::string list_setting(std::int64_t version) { return version % 2 == 0 ? "seal_list_0" : "seal_list_1"; }

std::string list_setting_of(std::string_view statement) {
  const auto json = Json::parse(statement.substr(0, statement.find('\n')), nullptr, false);
  if (!json.is_object()) return list_setting(0);
  const auto version = json.find("version");
  return list_setting(version != json.end() && version->is_number_integer() ? version->get<std::int64_t>() : 0);
}

SealRecord write_record(const Seal& seal, const SigningKey& key) {
  SealRecord record;
  record.list = list_text(seal);
  const Json statement = {{"casemate_seal", kFormat},
                          {"tenant", seal.tenant},
                          {"version", seal.version},
                          {"sealed_at", seal.sealed_at},
                          {"root", to_hex(seal.root)},
                          {"documents", seal.documents.size()},
                          {"passages", seal.passages},
                          {"sketch_key_id", seal.sketch_key_id},
                          {"list", to_hex(blake2b(record.list))},
                          {"public_key", to_hex(seal.public_key)}};
  record.statement = statement.dump();
  record.statement += "\n" + to_hex(key.sign(record.statement));
  return record;
}

Result<Seal> read_record(const SealRecord& record, std::string_view tenant, const std::optional<PublicKey>& expected) {
  const auto parts = split(record.statement);
  if (!parts) return changed("its signature is damaged");
  try {
    const Json statement = Json::parse(parts->signed_text);
    Seal seal;
    Digest list_hash{};
    // Whatever the statement says, a signature must vouch for it before it is acted on.
    read_hex(statement.at("public_key"), seal.public_key);
    if (!verify_signature(parts->signed_text, parts->signature, seal.public_key))
      return changed("it is not what was signed");
    if (expected && *expected != seal.public_key) {
      return Error{ErrorCode::kMismatch,
                   "the seal was made with another key: " + to_hex(seal.public_key) + ", not " + to_hex(*expected)};
    }
    if (statement.at("casemate_seal").get<int>() != kFormat) {
      return Error{ErrorCode::kMismatch, "the seal has format " + statement.at("casemate_seal").dump() +
                                             ", this version reads " + std::to_string(kFormat)};
    }
    read_statement(statement, seal, list_hash);
    if (seal.tenant != tenant) return changed("it belongs to another tenant");
    if (blake2b(record.list) != list_hash) return changed("its list of documents is not what was signed");
    read_list(Json::parse(record.list), seal);
    if (root_of(seal.documents) != seal.root) return changed("its root is not that of its documents");
    return seal;
  } catch (const std::exception&) {
    return changed("it cannot be read");
  }
}

}  // namespace casemate
