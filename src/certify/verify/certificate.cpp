#include "casemate/certify/certificate.h"

#include <variant>

namespace casemate {
namespace {

std::string decimal_text(Billionths value) {
  std::string digits = std::to_string(value % kOne);
  digits.insert(0, 9 - digits.size(), '0');
  while (!digits.empty() && digits.back() == '0') digits.pop_back();
  return std::to_string(value / kOne) + (digits.empty() ? "" : "." + digits);
}

std::string counted(std::int64_t count, const std::string& one, const std::string& many) {
  return std::to_string(count) + " " + (count == 1 ? one : many);
}

/// Groups that see neither each other nor a place keep their answers wherever their passages stand.
bool order_does_not_matter(const Certificate& certificate) {
  return certificate.group_size == 1 && !certificate.positions_in_prompt;
}

bool only_normalised(const Certificate& certificate) {
  const auto* keyword = std::get_if<KeywordEvidence>(&certificate.evidence);
  return keyword != nullptr && keyword->hint_sets.size() > 1;
}

std::string stays(const Certificate& certificate) {
  if (!only_normalised(certificate)) return "the answer stays as it is";
  return "the answer stays as it is up to ASCII case, punctuation, articles and white space";
}

}  // namespace

CertifiedQuestion CertifiedQuestion::of(const UntrustedText& question, bool withhold_text) {
  UntrustedText text(question.for_json());
  CertifiedQuestion out{blake2b(text.bytes()), std::nullopt};
  if (!withhold_text) out.text = std::move(text);
  return out;
}

std::string_view method_name(const Certificate& certificate) noexcept {
  if (std::holds_alternative<VotingEvidence>(certificate.evidence)) return "voting";
  return std::holds_alternative<KeywordEvidence>(certificate.evidence) ? "keyword" : "decoding";
}

std::string claim_of(const Certificate& certificate) {
  std::string claim = "If at most " + std::to_string(certificate.k_prime) + " of the " +
                      counted(static_cast<std::int64_t>(certificate.passages.size()), "passage", "passages") +
                      " given are replaced by anything, " + stays(certificate) + ".";
  if (order_does_not_matter(certificate)) {
    claim += " So it does if the malicious ones are inserted, the last ones falling out, or all are reordered.";
  }
  if (certificate.retrieval) {
    const RetrievalEvidence& retrieval = *certificate.retrieval;
    claim += " If " + counted(retrieval.planted, "passage is", "passages are") +
             " added to the corpus, each with arbitrary content in at most " +
             std::to_string(retrieval.poisoned_fragments) + " of its " + std::to_string(retrieval.fragments) +
             " fragments and the others no more similar to the question than " + std::to_string(retrieval.s_max) + "/" +
             std::to_string(retrieval.one) + " of the largest similarity, at most " +
             std::to_string(retrieval.changed_at_most) + " of the passages given change, and " + stays(certificate) +
             ".";
  }
  return claim;
}

std::vector<std::string> assumptions_of(const Certificate& certificate) {
  std::vector<std::string> out = {
      "Each group of " + counted(certificate.group_size, "passage", "passages") +
          " was answered by itself: nothing in its prompt depends on another group's passages, rewriting of the "
          "question and sanitising included.",
      "The model with this hash and these prompts gives every next-token probability again to within " +
          decimal_text(certificate.epsilon) + ", whatever else is in the batch."};
  if (std::holds_alternative<VotingEvidence>(certificate.evidence)) {
    out.emplace_back("The vote of a group is read from its answer alone.");
  } else if (std::holds_alternative<KeywordEvidence>(certificate.evidence)) {
    out.emplace_back(
        "The keywords of a group are taken from its answer alone, and the second prompt has the question and the hints "
        "and nothing else.");
  } else {
    out.emplace_back(
        "The answer is the text of the emitted tokens, and what masks tokens at a step does so whatever the passages "
        "are.");
  }
  if (certificate.retrieval) {
    out.emplace_back(
        "The passages given are RAGPart's results by majority over an exact dense scan, without renormalising, with "
        "nothing between retrieval and the groups that looks at several passages.");
    out.emplace_back("Question and fragments are embedded as unit vectors, and no similarity is larger than " +
                     std::to_string(certificate.retrieval->one) + " units.");
  }
  return out;
}

std::vector<std::string> not_covered_by(const Certificate& certificate) {
  std::vector<std::string> out = {
      "Whether the answer is right.",
      "More than " + counted(certificate.k_prime, "malicious passage", "malicious passages") + " among those given."};
  if (!order_does_not_matter(certificate)) {
    out.emplace_back(
        "Passages inserted or reordered. This is not the answer without the planted passage: other passages would "
        "share a group or stand in another place.");
  }
  if (!certificate.retrieval) out.emplace_back("Which passages retrieval gives when the corpus is attacked.");
  return out;
}

}  // namespace casemate
