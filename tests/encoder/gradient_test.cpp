// Gradients of tiny random checkpoints of every architecture against central differences of the double-precision twin.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "casemate/encoder/bert_encoder.h"
#include "double_transformer.h"
#include "support/temporary_folder.h"

namespace casemate {
namespace {

using test::Matrix;
using test::Perturbation;

constexpr Architecture kAll[] = {Architecture::kBert, Architecture::kRoberta, Architecture::kXlmRoberta,
                                 Architecture::kDistilBert};
const ThreadPool kPool(2);

std::vector<float> random_floats(std::size_t count, std::uint64_t seed) {
  RandomStream random(seed, "gradient test");
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(random.normal());
  return values;
}

std::vector<std::vector<TokenId>> random_sequences(const ModelConfig& config, std::span<const std::size_t> lengths) {
  RandomStream random(5, "gradient test ids");
  std::vector<std::vector<TokenId>> sequences;
  for (const std::size_t length : lengths) {
    sequences.emplace_back();
    for (std::size_t t = 0; t < length; ++t)
      sequences.back().push_back(static_cast<TokenId>(random.below(static_cast<std::uint64_t>(config.vocabulary))));
  }
  return sequences;
}

/// One checkpoint with its encoder, and the scalar weights . embedding(ids) of the twin.
struct Case {
  Case(Architecture architecture, const char* activation, Pooling pooling_, bool normalize_)
      : tiny(test::write_tiny_checkpoint(folder.root(), architecture, Head::kNone, false, activation)),
        pooling(pooling_),
        normalize(normalize_) {
    BertEncoderOptions options;
    options.pooling = pooling;
    options.normalize = normalize;
    auto loaded = load_bert_encoder(folder.root(), options, kPool);
    EXPECT_TRUE(loaded.ok()) << loaded.error().message;
    encoder = *std::move(loaded);
  }

  double scalar(const std::vector<TokenId>& ids, const Perturbation& perturbation,
                std::span<const float> weights) const {
    const Matrix states = test::double_forward(tiny, ids, {}, perturbation);
    std::vector<double> pooled = states[0];
    if (pooling == Pooling::kMean) {
      std::fill(pooled.begin(), pooled.end(), 0.0);
      double total = 0;
      for (std::size_t t = 0; t < states.size(); ++t) {
        const double presence = perturbation.presence.empty() ? 1.0 : perturbation.presence[t];
        total += presence;
        for (std::size_t d = 0; d < pooled.size(); ++d) pooled[d] += presence * states[t][d];
      }
      for (double& value : pooled) value /= total;
    }
    double norm = 0;
    double sum = 0;
    for (std::size_t d = 0; d < pooled.size(); ++d) {
      norm += pooled[d] * pooled[d];
      sum += pooled[d] * static_cast<double>(weights[d]);
    }
    return normalize ? sum / std::sqrt(norm) : sum;
  }

  test::TemporaryFolder folder;
  test::TinyCheckpoint tiny;
  Pooling pooling;
  bool normalize;
  std::unique_ptr<DifferentiableEncoder> encoder;
};

double length_of(std::span<const float> values) {
  double squares = 0;
  for (const float value : values) squares += static_cast<double>(value) * static_cast<double>(value);
  return std::sqrt(squares);
}

TEST(Gradient, EveryComponentEqualsTheCentralDifferenceOfTheTwin) {
  for (const Architecture architecture : kAll) {
    const Case c(architecture, "gelu", Pooling::kMean, true);
    const std::size_t lengths[] = {5};
    const auto sequences = random_sequences(c.tiny.config, lengths);
    const std::vector<float> weights = random_floats(c.encoder->info().dimension, 1);
    const auto result = c.encoder->gradient(sequences, weights);
    ASSERT_TRUE(result.ok()) << result.error().message;
    const std::size_t hidden = c.encoder->hidden();
    const double size = length_of(result->gradients) / std::sqrt(static_cast<double>(result->gradients.size()));
    for (std::size_t i = 0; i < result->gradients.size(); ++i) {
      double value[2];
      for (const int side : {0, 1}) {
        Perturbation perturbation;
        perturbation.shift.assign(5, std::vector<double>(hidden));
        perturbation.shift[i / hidden][i % hidden] = side == 0 ? -1e-5 : 1e-5;
        value[side] = c.scalar(sequences[0], perturbation, weights);
      }
      const double expected = (value[1] - value[0]) / 2e-5;
      ASSERT_NEAR(static_cast<double>(result->gradients[i]), expected, 1e-5 * std::max(size, std::abs(expected)))
          << static_cast<int>(architecture) << " component " << i;
    }
  }
}

TEST(Gradient, ARandomDirectionEqualsTheCentralDifferenceForEachPoolingActivationAndLength) {
  double worst = 0;
  for (const Architecture architecture : kAll) {
    for (const char* activation : {"gelu", "relu", "gelu_new"}) {
      for (const Pooling pooling : {Pooling::kMean, Pooling::kCls}) {
        for (const bool normalize : {true, false}) {
          const Case c(architecture, activation, pooling, normalize);
          const std::size_t lengths[] = {1, 2, 9, 40, 17};
          const auto sequences = random_sequences(c.tiny.config, lengths);
          const std::size_t d = c.encoder->info().dimension;
          const std::vector<float> weights = random_floats(std::size(lengths) * d, 2);
          const auto result = c.encoder->gradient(sequences, weights);
          ASSERT_TRUE(result.ok()) << result.error().message;
          for (std::size_t s = 0; s < sequences.size(); ++s) {
            const auto gradient = result->gradient(s);
            const std::vector<float> direction = random_floats(gradient.size(), 3 + s);
            double analytic = 0;
            for (std::size_t i = 0; i < gradient.size(); ++i)
              analytic += static_cast<double>(gradient[i]) * static_cast<double>(direction[i]);
            double value[2];
            for (const int side : {0, 1}) {
              Perturbation perturbation;
              perturbation.shift.assign(sequences[s].size(), std::vector<double>(d));
              for (std::size_t i = 0; i < gradient.size(); ++i)
                perturbation.shift[i / d][i % d] = (side == 0 ? -1e-5 : 1e-5) * static_cast<double>(direction[i]);
              value[side] = c.scalar(sequences[s], perturbation, std::span(weights).subspan(s * d, d));
            }
            // A random direction's derivative is about as large as the gradient; one near 0 by chance is held to that.
            const double difference = std::abs((value[1] - value[0]) / 2e-5 - analytic);
            const double error = difference / std::max(std::abs(analytic), length_of(gradient));
            worst = std::max(worst, error);
            ASSERT_LT(error, 1e-4) << static_cast<int>(architecture) << ' ' << activation << " sequence " << s;
          }
        }
      }
    }
  }
  RecordProperty("largest_relative_error", std::to_string(worst * 1e6) + "e-6");
}

TEST(Gradient, PresenceEqualsTheCentralDifferenceOfTheTokensWeight) {
  for (const Architecture architecture : kAll) {
    for (const Pooling pooling : {Pooling::kMean, Pooling::kCls}) {
      const Case c(architecture, "gelu", pooling, true);
      const std::size_t lengths[] = {7};
      const auto sequences = random_sequences(c.tiny.config, lengths);
      const std::vector<float> weights = random_floats(c.encoder->info().dimension, 4);
      const auto result = c.encoder->gradient(sequences, weights);
      ASSERT_TRUE(result.ok());
      for (std::size_t t = 0; t < 7; ++t) {
        double value[2];
        for (const int side : {0, 1}) {
          Perturbation perturbation;
          perturbation.presence.assign(7, 1.0);
          perturbation.presence[t] += side == 0 ? -1e-5 : 1e-5;
          value[side] = c.scalar(sequences[0], perturbation, weights);
        }
        EXPECT_NEAR(static_cast<double>(result->presence[t]), (value[1] - value[0]) / 2e-5,
                    1e-5 * std::max(1.0, length_of(result->presence)));
      }
    }
  }
}

TEST(Gradient, EmbeddingsAreThoseOfEncodingAndNothingDependsOnBatchOrThreads) {
  for (const Architecture architecture : kAll) {
    const Case c(architecture, "gelu", Pooling::kMean, true);
    std::vector<std::size_t> lengths;
    for (std::size_t i = 0; i < 60; ++i) lengths.push_back(1 + i * 7 % 40);
    const auto sequences = random_sequences(c.tiny.config, lengths);
    const std::size_t d = c.encoder->info().dimension;
    const std::vector<float> weights = random_floats(sequences.size() * d, 6);
    const auto together = c.encoder->gradient(sequences, weights);
    const auto encoded = c.encoder->encode_tokens(sequences);
    ASSERT_TRUE(together.ok() && encoded.ok());
    EXPECT_EQ(together->embeddings.values, encoded->values);
    EXPECT_EQ(together->forward_tokens, together->offsets.back());
    EXPECT_EQ(together->backward_tokens, together->offsets.back());
    const ThreadPool one_thread(1);
    const auto alone_encoder = load_bert_encoder(c.folder.root(), {}, one_thread);
    ASSERT_TRUE(alone_encoder.ok());
    for (std::size_t s = 0; s < sequences.size(); ++s) {
      const auto alone =
          (*alone_encoder)->gradient(std::span(sequences).subspan(s, 1), std::span(weights).subspan(s * d, d));
      ASSERT_TRUE(alone.ok());
      EXPECT_EQ(std::memcmp(alone->gradients.data(), together->gradient(s).data(), together->gradient(s).size_bytes()),
                0);
      EXPECT_EQ(std::memcmp(alone->presence.data(), together->presence_of(s).data(), lengths[s] * sizeof(float)), 0);
    }
  }
}

TEST(Gradient, TheLossMayDependOnTheEmbedding) {
  const Case c(Architecture::kBert, "gelu", Pooling::kMean, false);
  const std::size_t lengths[] = {6, 3};
  const auto sequences = random_sequences(c.tiny.config, lengths);
  // L = |e|^2 / 2, whose gradient is e: the same as with e given as a constant.
  const auto squares = c.encoder->gradient(sequences, [](std::size_t, std::span<const float> e, std::span<float> g) {
    std::copy(e.begin(), e.end(), g.begin());
  });
  ASSERT_TRUE(squares.ok());
  const auto constant = c.encoder->gradient(sequences, squares->embeddings.values);
  ASSERT_TRUE(constant.ok());
  EXPECT_EQ(squares->gradients, constant->gradients);
}

TEST(Gradient, TheWordEmbeddingTableIsTheCheckpoints) {
  const Case c(Architecture::kRoberta, "gelu", Pooling::kMean, true);
  const auto table = c.encoder->word_embeddings();
  const auto& expected = c.tiny.tensors.at("embeddings.word_embeddings.weight");
  EXPECT_EQ(std::vector<float>(table.begin(), table.end()), expected);
  EXPECT_EQ(table.size(), static_cast<std::size_t>(c.tiny.config.vocabulary) * c.encoder->hidden());
}

TEST(Gradient, HostileInputsAreErrorsThatNameTheSequence) {
  const Case c(Architecture::kBert, "gelu", Pooling::kMean, true);
  const std::size_t d = c.encoder->info().dimension;
  using Sequences = std::vector<std::vector<TokenId>>;
  const auto nothing = c.encoder->gradient(Sequences{}, std::span<const float>());
  ASSERT_TRUE(nothing.ok());
  EXPECT_EQ(nothing->embeddings.rows, 0U);
  EXPECT_EQ(nothing->offsets, std::vector<std::size_t>{0});

  const auto expect_refused = [&](const Sequences& sequences, const std::vector<float>& weights, const char* named) {
    const auto result = c.encoder->gradient(sequences, weights);
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(result.error().message.find(named), std::string::npos) << result.error().message;
  };
  std::vector<float> weights(2 * d, 1.0F);
  expect_refused({{2, 3}, {}}, weights, "input 1");
  expect_refused({{2, 3}, {2, 99, 3}}, weights, "input 1");
  expect_refused({{2, 3}, {2, -1, 3}}, weights, "input 1");
  expect_refused({{2, 3}, std::vector<TokenId>(41, 5)}, weights, "input 1");
  expect_refused({{2, 3}}, weights, "need 24 each");
  weights[d + 3] = std::numeric_limits<float>::quiet_NaN();
  expect_refused({{2, 3}, {2, 5, 3}}, weights, "sequence 1");
  weights[d + 3] = std::numeric_limits<float>::infinity();
  expect_refused({{2, 3}, {2, 5, 3}}, weights, "sequence 1");
}

}  // namespace
}  // namespace casemate
