#include <algorithm>
#include <string>
#include <utility>

#include "casemate/certify/certificate.h"
#include "certify/verify/json_fields.h"
#include "certify/verify/read_evidence.h"

namespace casemate {
namespace {

using verify::bytes_of;
using verify::Fields;
using verify::Json;
using verify::Malformed;
using verify::text_of;

Digest digest_of(const Json& json, const std::string& where) {
  const std::string bytes = bytes_of(json, where, 32);
  Digest digest{};
  std::copy(bytes.begin(), bytes.end(), digest.begin());
  return digest;
}

std::optional<Digest> optional_digest(const Fields& fields, std::string_view key) {
  if (fields.at(key).is_null()) return std::nullopt;
  return digest_of(fields.at(key), fields.path(key));
}

CertifiedQuestion read_question(const Json& json) {
  const Fields fields(json, "question", {"hash", "text"});
  CertifiedQuestion question{digest_of(fields.at("hash"), "question.hash"), std::nullopt};
  if (!fields.at("text").is_null()) question.text = UntrustedText(fields.text("text"));
  if (question.text && blake2b(question.text->bytes()) != question.hash) {
    throw Malformed{"question.hash is not the hash of question.text"};
  }
  return question;
}

CertifiedModel read_model(const Json& json) {
  const Fields fields(json, "model", {"hash", "name", "vocabulary"});
  CertifiedModel model{fields.text("name"), fields.text("hash"), fields.integer("vocabulary", 0, INT32_MAX)};
  if (model.hash.find_first_not_of("0123456789abcdef") != std::string::npos || model.hash.size() > 128) {
    throw Malformed{"model.hash: expected lower-case hexadecimal digits"};
  }
  return model;
}

CertifiedPrompts read_prompts(const Json& json) {
  const Fields fields(json, "prompts", {"group", "second", "without_retrieval"});
  return {digest_of(fields.at("group"), "prompts.group"), optional_digest(fields, "second"),
          optional_digest(fields, "without_retrieval")};
}

/// A sentence that says more, or less, than the fields do would mislead whoever reads the file.
void check_sentences(const Json& json, const std::string& where, const std::vector<std::string>& expected) {
  if (json != Json(expected)) throw Malformed{where + ": these sentences do not follow from the other fields"};
}

Certificate read_body(const Json& json) {
  const Fields fields(json, "body",
                      {"answer", "assumptions", "casemate_certificate", "claim", "created_at", "epsilon", "evidence",
                       "group_size", "k_prime", "method", "model", "not_covered", "passages", "positions_in_prompt",
                       "prompts", "question", "retrieval"});
  Certificate out;
  out.created_at = fields.integer("created_at", 0, INT64_MAX);
  out.question = read_question(fields.at("question"));
  out.answer = UntrustedText(fields.text("answer"));
  for (const Json& hash : fields.array("passages", 1, verify::kMaxPassages)) {
    out.passages.push_back(digest_of(hash, "passages"));
  }
  const auto passages = static_cast<std::int64_t>(out.passages.size());
  out.k_prime = fields.integer("k_prime", 1, passages);
  out.group_size = fields.integer("group_size", 1, static_cast<std::int64_t>(verify::kMaxPassages));
  out.positions_in_prompt = fields.flag("positions_in_prompt");
  out.model = read_model(fields.at("model"));
  out.prompts = read_prompts(fields.at("prompts"));
  out.epsilon = fields.integer("epsilon", 0, kOne);
  const auto groups = static_cast<std::size_t>((passages + out.group_size - 1) / out.group_size);
  const std::string method = fields.text("method");
  const Json& evidence = fields.at("evidence");
  if (method == "voting") {
    out.evidence = verify::read_voting(evidence, groups);
  } else if (method == "keyword") {
    out.evidence = verify::read_keyword(evidence, groups);
  } else if (method == "decoding") {
    out.evidence = verify::read_decoding(evidence, groups);
  } else {
    throw Malformed{"method: expected \"voting\", \"keyword\" or \"decoding\""};
  }
  if (!fields.at("retrieval").is_null()) out.retrieval = verify::read_retrieval(fields.at("retrieval"));
  if (fields.text("claim") != claim_of(out))
    throw Malformed{"claim: this sentence does not follow from the other fields"};
  check_sentences(fields.at("assumptions"), "assumptions", assumptions_of(out));
  check_sentences(fields.at("not_covered"), "not_covered", not_covered_by(out));
  return out;
}

/// The format is looked at first: everything else may differ in another one.
Status check_format(const Json& body) {
  if (!body.is_object() || !body.contains("casemate_certificate") ||
      !body["casemate_certificate"].is_number_integer()) {
    return Error{ErrorCode::kInvalidInput,
                 "this is no certificate (body.casemate_certificate, its format, is missing)"};
  }
  if (body["casemate_certificate"] == kCertificateFormat) return {};
  return Error{ErrorCode::kMismatch, "a certificate of format " + body["casemate_certificate"].dump() +
                                         "; this version knows format " + std::to_string(kCertificateFormat)};
}

Result<SignedCertificate> read_file_bytes(std::string_view file) {
  if (file.empty()) throw Malformed{"the file is empty"};
  if (file.back() != '\n') throw Malformed{"the last line feed is missing: the file is cut short or was edited"};
  file.remove_suffix(1);
  const Json json = verify::parse_canonical(file);
  const Fields fields(json, "certificate", {"body", "public_key", "signature"});
  if (Status format = check_format(fields.at("body")); !format) return format.error();
  SignedCertificate out;
  out.certificate = read_body(fields.at("body"));
  const std::string key = bytes_of(fields.at("public_key"), "public_key", out.public_key.size());
  std::copy(key.begin(), key.end(), out.public_key.begin());
  const std::string signature = bytes_of(fields.at("signature"), "signature", out.signature.size());
  std::copy(signature.begin(), signature.end(), out.signature.begin());
  // In canonical form the body stands between its key and the two others, whose length is known by now.
  constexpr std::string_view kBefore = "{\"body\":";
  constexpr std::string_view kAfter = ",\"public_key\":\"\",\"signature\":\"\"}";
  const std::size_t around = kBefore.size() + kAfter.size() + 2 * (out.public_key.size() + out.signature.size());
  out.signed_bytes = std::string(kCertificateDomain).append(file.substr(kBefore.size(), file.size() - around));
  return out;
}

}  // namespace

Result<SignedCertificate> read_certificate(std::string_view file) {
  if (file.size() > kMaxCertificateBytes) {
    return Error{ErrorCode::kLimit,
                 "larger than " + std::to_string(kMaxCertificateBytes >> 20U) + " MiB; no certificate of ours is"};
  }
  try {
    return read_file_bytes(file);
  } catch (const Malformed& malformed) {
    return Error{ErrorCode::kInvalidInput, malformed.message};
  } catch (const Json::exception&) {
    return Error{ErrorCode::kInvalidInput, "the JSON cannot be read"};
  }
}

}  // namespace casemate
