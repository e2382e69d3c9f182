// tests/defend/sealed_fixture.h
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "casemate/core/random.h"
#include "casemate/defend/fingerprint.h"
#include "casemate/defend/seal.h"
#include "casemate/retrieve/retriever.h"
#include "support/temporary_folder.h"
#include "testing/hash_encoder.h"

namespace casemate::test {

/// How a document is added.
struct Added {
  bool trusted = false;
  std::set<std::string> labels{};
  std::string tenant = "default";
  std::vector<float> embedding{};  ///< instead of the encoder's
};

/// A store whose documents may be trusted and sealed, and searches over it as the pipeline makes them.
class SealedFixture : public ::testing::Test {
 protected:
  void SetUp() override {
    encoder_ = testing::make_hash_encoder({});
    auto made = Store::create(folder_.path("store"), identity_of(encoder_->info(), "whole", ""));
    ASSERT_TRUE(made.ok()) << made.error().message;
    store_ = *std::move(made);
    services_.encoder = encoder_.get();
    services_.store = store_.get();
    services_.pool = &pool_;
  }

  NewDocument document(const std::string& id, const std::string& text, const Added& how) const {
    NewDocument out;
    out.tenant = how.tenant;
    out.id = id;
    out.content_hash = blake2b(text + (how.trusted ? " trusted" : ""));
    out.labels = how.labels;
    out.trusted = how.trusted;
    out.chunks.push_back({UntrustedText(text), 0, text.size(), 0, 0});
    out.embeddings = how.embedding.empty() ? embedding(text) : how.embedding;
    return out;
  }
  void add(const std::string& id, const std::string& text, const Added& how = {}) {
    const NewDocument one = document(id, text, how);
    const auto added = store_->add_documents(std::span(&one, 1));
    ASSERT_TRUE(added.ok() && !(*added)[0].error) << id;
  }
  /// Many at once, which costs one commit.
  void add_all(const std::vector<NewDocument>& documents) {
    const auto added = store_->add_documents(documents);
    ASSERT_TRUE(added.ok()) << added.error().message;
    for (const AddResult& result : *added) ASSERT_FALSE(result.error.has_value()) << result.error->message;
  }
  void remove(const std::string& id) { ASSERT_TRUE(store_->delete_documents("default", std::span(&id, 1)).ok()); }

  std::vector<float> embedding(const std::string& text) const {
    const std::string_view view = text;
    return encoder_->encode_passages(std::span(&view, 1))->embeddings.values;
  }

  Result<Seal> try_seal(const std::string& tenant = "default", bool replace = false) {
    SealOptions options;
    options.tenant = tenant;
    options.replace_foreign = replace;
    return seal_documents(*store_, key_, options, pool_, Progress::none(), {});
  }
  void seal(const std::string& tenant = "default") {
    const auto made = try_seal(tenant);
    ASSERT_TRUE(made.ok()) << made.error().message;
  }

  std::unique_ptr<Fingerprint> make(const FingerprintOptions& options = {}) {
    auto made = Fingerprint::create(options, services_);
    EXPECT_TRUE(made.ok()) << made.error().message;
    return made.ok() ? *std::move(made) : nullptr;
  }

  struct Found {
    std::vector<std::string> documents;
    std::vector<double> scores;
    DefendedRanking ranking;
    [[nodiscard]] const Verdict& about(const std::string& document) const {
      for (const Verdict& verdict : ranking.verdicts) {
        if (verdict.document == document) return verdict;
      }
      ADD_FAILURE() << "no verdict about " << document;
      static const Verdict none;
      return none;
    }
    [[nodiscard]] bool has(const std::string& document) const {
      return std::find(documents.begin(), documents.end(), document) != documents.end();
    }
  };

  Found search(const Fingerprint& defence, const std::string& query, int top_k, const DocumentFilter& filter = {},
               const std::string& tenant = "default") {
    DefenceQuery asked;
    asked.text = UntrustedText(query);
    const std::string_view view = query;
    asked.embedding = encoder_->encode_queries(std::span(&view, 1))->embeddings.values;
    asked.tenant = tenant;
    asked.filter = filter;
    asked.may_extend = true;
    const auto allowed = store_->select(tenant, filter);
    const auto index = DenseIndex::create(*store_->snapshot(tenant), pool_);
    const auto hits =
        (*index)->search(asked.embedding, asked.embedding.size(), defence.pool_size(top_k), allowed->get(), pool_);
    std::vector<PassageCandidate> candidates;
    for (const DenseHit& hit : (*hits)[0]) {
      const auto chunk = store_->chunks(tenant, std::span(&hit.chunk, 1));
      PassageCandidate candidate;
      candidate.chunk = hit.chunk;
      candidate.document = (*chunk)[0]->document_id;
      candidate.text = (*chunk)[0]->text;
      candidate.score = hit.score;
      candidate.embedding = *(*index)->row(hit.chunk);
      candidates.push_back(std::move(candidate));
    }
    auto ranking = defence.rank(asked, candidates, top_k, {});
    Found found;
    EXPECT_TRUE(ranking.ok()) << ranking.error().message;
    if (!ranking.ok()) return found;
    for (const DefendedPassage& passage : ranking->passages) {
      const PassageCandidate& candidate = passage.candidate < candidates.size()
                                              ? candidates[passage.candidate]
                                              : ranking->added[passage.candidate - candidates.size()];
      found.documents.push_back(candidate.document);
      found.scores.push_back(passage.score);
    }
    found.ranking = *std::move(ranking);
    return found;
  }

  /// Forty words about nothing, the same for the same number.
  static std::string prose(std::uint64_t number) {
    RandomStream random(number, "prose");
    std::string out;
    for (int i = 0; i < 40; ++i) out += (i > 0 ? " " : "") + ("word" + std::to_string(random.below(5000)));
    return out;
  }

  TemporaryFolder folder_;
  ThreadPool pool_{2};
  std::unique_ptr<Encoder> encoder_;
  std::unique_ptr<Store> store_;
  DefenceServices services_;
  SigningKey key_ = SigningKey::generate();
};

}  // namespace casemate::test
