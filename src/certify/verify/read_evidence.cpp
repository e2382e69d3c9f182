#include "certify/verify/read_evidence.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace casemate::verify {
namespace {

constexpr std::int64_t kMaxToken = INT32_MAX;

std::string place(const std::string& where, std::size_t index) { return where + "[" + std::to_string(index) + "]"; }

/// Different words, ascending by bytes.
std::vector<std::string> sorted_words(const Json& json, const std::string& where) {
  std::vector<std::string> words;
  for (const Json& word : array_of(json, where, 0, kMaxItems)) {
    words.push_back(text_of(word, place(where, words.size())));
    if (words.size() > 1 && words[words.size() - 2] >= words.back()) {
      throw Malformed{place(where, words.size() - 1) + ": words must be different and ascending by bytes"};
    }
  }
  return words;
}

std::vector<std::int32_t> sorted_tokens(const Json& json, const std::string& where) {
  std::vector<std::int32_t> tokens;
  for (const Json& token : array_of(json, where, 0, kMaxItems)) {
    tokens.push_back(static_cast<std::int32_t>(integer_of(token, place(where, tokens.size()), 0, kMaxToken)));
    if (tokens.size() > 1 && tokens[tokens.size() - 2] >= tokens.back()) {
      throw Malformed{place(where, tokens.size() - 1) + ": tokens must be different and ascending"};
    }
  }
  return tokens;
}

SparseProbabilities read_probabilities(const Json& json, const std::string& where) {
  const Fields fields(json, where, {"largest_unlisted", "listed"});
  SparseProbabilities out;
  out.largest_unlisted = fields.integer("largest_unlisted", 0, kOne);
  const Json& listed = fields.array("listed", 0, kMaxItems);
  if (listed.size() % 2 != 0) throw Malformed{fields.path("listed") + ": expected tokens and probabilities in turn"};
  out.listed.reserve(listed.size() / 2);
  std::int64_t last = -1;
  for (std::size_t i = 0; i < listed.size(); i += 2) {
    // There are many of these, so that a place is only made up where one is wrong.
    const auto* token = listed[i].get_ptr<const Json::number_unsigned_t*>();
    const auto* value = listed[i + 1].get_ptr<const Json::number_unsigned_t*>();
    const bool sound = token != nullptr && value != nullptr && *token <= static_cast<std::uint64_t>(kMaxToken) &&
                       static_cast<std::int64_t>(*token) > last && *value <= static_cast<std::uint64_t>(kOne);
    if (!sound) {
      throw Malformed{place(fields.path("listed"), i) +
                      ": expected a token, ascending, and its probability in billionths"};
    }
    last = static_cast<std::int64_t>(*token);
    out.listed.push_back({static_cast<std::int32_t>(*token), static_cast<Billionths>(*value)});
  }
  return out;
}

DecodingStep read_step(const Json& json, const std::string& where, std::size_t groups) {
  const Fields fields(json, where, {"groups", "no_retrieval", "token"});
  DecodingStep step;
  step.token = static_cast<std::int32_t>(fields.integer("token", 0, kMaxToken));
  step.no_retrieval = sorted_tokens(fields.at("no_retrieval"), fields.path("no_retrieval"));
  const std::string list = fields.path("groups");
  for (const Json& group : fields.array("groups", groups, groups)) {
    step.groups.emplace_back();
    if (!group.is_null()) step.groups.back() = read_probabilities(group, place(list, step.groups.size() - 1));
  }
  return step;
}

}  // namespace

VotingEvidence read_voting(const Json& json, std::size_t groups) {
  const Fields fields(json, "evidence", {"counts", "groups", "letters", "max_new_tokens", "winner"});
  VotingEvidence out;
  out.max_new_tokens = fields.integer("max_new_tokens", 1, static_cast<std::int64_t>(kMaxItems));
  for (const Json& letter : fields.array("letters", 2, 1000)) {
    out.letters.push_back(text_of(letter, "evidence.letters"));
    const auto before = std::prev(out.letters.end());
    if (std::find(out.letters.begin(), before, *before) != before) {
      throw Malformed{"evidence.letters: one stands twice"};
    }
  }
  const auto letters = static_cast<std::int64_t>(out.letters.size());
  for (const Json& entry : fields.array("groups", groups, groups)) {
    const Fields group(entry, place("evidence.groups", out.groups.size()), {"answer", "margin", "vote"});
    VotingGroup read{UntrustedText(group.text("answer")), std::nullopt, group.integer("margin", 0, kOne)};
    if (!group.at("vote").is_null()) read.vote = static_cast<std::size_t>(group.integer("vote", 0, letters - 1));
    out.groups.push_back(std::move(read));
  }
  out.winner = static_cast<std::size_t>(fields.integer("winner", 0, letters - 1));
  for (const Json& count : fields.array("counts", out.letters.size(), out.letters.size())) {
    out.counts.push_back(integer_of(count, "evidence.counts", 0, static_cast<std::int64_t>(groups)));
  }
  return out;
}

KeywordEvidence read_keyword(const Json& json, std::size_t groups) {
  const Fields fields(json, "evidence",
                      {"alpha", "beta", "counts", "groups", "hint_sets", "kept", "long_answers", "max_new_tokens"});
  KeywordEvidence out;
  out.max_new_tokens = fields.integer("max_new_tokens", 1, static_cast<std::int64_t>(kMaxItems));
  out.alpha = fields.text("alpha");
  out.beta = fields.text("beta");
  out.long_answers = fields.flag("long_answers");
  for (const Json& entry : fields.array("groups", groups, groups)) {
    const Fields group(entry, place("evidence.groups", out.groups.size()), {"answer", "keywords", "margin"});
    KeywordGroup read{UntrustedText(group.text("answer")), std::nullopt, group.integer("margin", 0, kOne)};
    if (!group.at("keywords").is_null()) read.keywords = sorted_words(group.at("keywords"), group.path("keywords"));
    out.groups.push_back(std::move(read));
  }
  for (const Json& entry : fields.array("counts", 0, kMaxItems)) {
    const std::string here = place("evidence.counts", out.counts.size());
    array_of(entry, here, 2, 2);
    out.counts.emplace_back(text_of(entry[0], here), integer_of(entry[1], here, 1, static_cast<std::int64_t>(groups)));
  }
  out.kept = sorted_words(fields.at("kept"), "evidence.kept");
  for (const Json& entry : fields.array("hint_sets", 1, kMaxItems)) {
    const Fields set(entry, place("evidence.hint_sets", out.hint_sets.size()), {"answer", "keywords", "margin"});
    HintSet read{sorted_words(set.at("keywords"), set.path("keywords")), UntrustedText(set.text("answer")),
                 set.integer("margin", 0, kOne)};
    if (!out.hint_sets.empty() && out.hint_sets.back().keywords >= read.keywords) {
      throw Malformed{"evidence.hint_sets: sets must be different and ascending"};
    }
    out.hint_sets.push_back(std::move(read));
  }
  return out;
}

DecodingEvidence read_decoding(const Json& json, std::size_t groups) {
  const Fields fields(json, "evidence", {"end_tokens", "eta", "gamma", "groups", "max_new_tokens", "steps"});
  DecodingEvidence out;
  out.eta = fields.integer("eta", 0, 1000 * kOne);
  out.gamma = fields.integer("gamma", 0, kOne);
  out.max_new_tokens = fields.integer("max_new_tokens", 1, static_cast<std::int64_t>(kMaxItems));
  out.end_tokens = sorted_tokens(fields.at("end_tokens"), "evidence.end_tokens");
  for (const Json& entry : fields.array("groups", groups, groups)) {
    const Fields group(entry, place("evidence.groups", out.groups.size()), {"refusal"});
    out.groups.push_back({group.integer("refusal", 0, kOne)});
  }
  for (const Json& entry : fields.array("steps", 1, static_cast<std::size_t>(out.max_new_tokens))) {
    out.steps.push_back(read_step(entry, place("evidence.steps", out.steps.size()), groups));
  }
  return out;
}

RetrievalEvidence read_retrieval(const Json& json) {
  const Fields fields(
      json, "retrieval",
      {"changed_at_most", "combination", "fragments", "kept_votes", "lists", "one", "outsider_votes", "planted",
       "planted_at_most", "planted_votes", "poisoned_fragments", "results", "s_max", "top_p"});
  RetrievalEvidence out;
  out.fragments = static_cast<int>(fields.integer("fragments", 1, 20));
  out.combination = static_cast<int>(fields.integer("combination", 1, out.fragments));
  out.top_p = static_cast<int>(fields.integer("top_p", 1, static_cast<std::int64_t>(kMaxPassages)));
  out.planted = static_cast<int>(fields.integer("planted", 1, 1'000'000'000));
  out.poisoned_fragments = static_cast<int>(fields.integer("poisoned_fragments", 0, out.fragments));
  out.one = fields.integer("one", 1, kMaxSimilarity);
  out.s_max = fields.integer("s_max", -out.one, out.one);
  const auto p = static_cast<std::size_t>(out.top_p);
  for (const Json& id : fields.array("results", p, p)) {
    out.results.push_back(integer_of(id, "retrieval.results", 0, INT64_MAX));
  }
  for (const Json& entry : fields.array("lists", 1, kMaxItems)) {
    const std::string here = place("retrieval.lists", out.lists.size());
    const Fields list(entry, here, {"entries", "subset"});
    RetrievalList read;
    read.subset = static_cast<std::uint32_t>(list.integer("subset", 1, (std::int64_t{1} << out.fragments) - 1));
    for (const Json& pair : list.array("entries", p, p)) {
      array_of(pair, here, 2, 2);
      read.entries.push_back(
          {integer_of(pair[0], here, 0, INT64_MAX), integer_of(pair[1], here, INT64_MIN, INT64_MAX)});
    }
    out.lists.push_back(std::move(read));
  }
  out.planted_votes = fields.integer("planted_votes", 0, static_cast<std::int64_t>(kMaxItems));
  for (const Json& votes : fields.array("kept_votes", p, p)) {
    out.kept_votes.push_back(integer_of(votes, "retrieval.kept_votes", 0, static_cast<std::int64_t>(kMaxItems)));
  }
  out.outsider_votes = fields.integer("outsider_votes", 0, static_cast<std::int64_t>(kMaxItems));
  out.planted_at_most = static_cast<int>(fields.integer("planted_at_most", 0, out.top_p));
  out.changed_at_most = static_cast<int>(fields.integer("changed_at_most", 0, out.top_p));
  return out;
}

}  // namespace casemate::verify
