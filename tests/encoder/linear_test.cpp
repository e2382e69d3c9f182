#include "encoder/linear.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "casemate/core/random.h"
#include "encoder/activation_layer.h"

namespace casemate {
namespace {

struct Layer {
  std::size_t in, out;
  std::vector<float> weights, bias, x;
};

Layer make_layer(std::size_t in, std::size_t out, std::size_t rows) {
  RandomStream random(7, "linear");
  const auto draw = [&](std::size_t n) {
    std::vector<float> values(n);
    for (float& value : values) value = static_cast<float>(random.normal());
    return values;
  };
  return {in, out, draw(in * out), draw(out), draw(rows * in)};
}

double activate(double v, Epilogue epilogue) {
  switch (epilogue) {
    case Epilogue::kNone:
    case Epilogue::kAddToOutput:
      return v;
    case Epilogue::kGeluErf:
      return 0.5 * v * (1 + std::erf(v / std::sqrt(2.0)));
    case Epilogue::kGeluTanh:
      return 0.5 * v * (1 + std::tanh(std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v)));
    case Epilogue::kRelu:
      return std::max(v, 0.0);
  }
  return v;
}

TEST(Linear, EqualsTheSumInDoublePrecisionWithEachEpilogue) {
  for (const Epilogue epilogue :
       {Epilogue::kNone, Epilogue::kGeluErf, Epilogue::kGeluTanh, Epilogue::kRelu, Epilogue::kAddToOutput}) {
    for (const auto& [in, out] : {std::pair<std::size_t, std::size_t>{8, 24}, {33, 7}, {384, 96}}) {
      const std::size_t rows = 5;
      const Layer layer = make_layer(in, out, Linear::padded_rows(rows));
      const auto linear = Linear::create(layer.weights, layer.bias, in, out, epilogue);
      ASSERT_TRUE(linear.ok()) << linear.error().message;
      std::vector<float> y(Linear::padded_rows(rows) * out, 1.5F);
      Scratch scratch;
      ASSERT_TRUE(linear->run(layer.x.data(), y.data(), rows, scratch).ok());
      for (std::size_t r = 0; r < rows; ++r) {
        for (std::size_t o = 0; o < out; ++o) {
          double sum = static_cast<double>(layer.bias[o]);
          for (std::size_t i = 0; i < in; ++i)
            sum += static_cast<double>(layer.x[r * in + i]) * static_cast<double>(layer.weights[o * in + i]);
          const double expected = activate(sum, epilogue) + (epilogue == Epilogue::kAddToOutput ? 1.5 : 0.0);
          ASSERT_NEAR(static_cast<double>(y[r * out + o]), expected, 1e-4 * std::max(1.0, std::abs(expected)))
              << in << "x" << out;
        }
      }
    }
  }
}

TEST(Linear, InFixedPointItIsTheSameSumWithinFourDigitsAndLetsGradientsThrough) {
  for (const Epilogue epilogue :
       {Epilogue::kNone, Epilogue::kGeluErf, Epilogue::kGeluTanh, Epilogue::kRelu, Epilogue::kAddToOutput}) {
    for (const auto& [in, out] : {std::pair<std::size_t, std::size_t>{8, 24}, {33, 7}, {384, 96}}) {
      const std::size_t rows = 21;
      const std::size_t padded = Linear::padded_rows(rows);
      const Layer layer = make_layer(in, out, padded);
      const auto exact = Linear::create(layer.weights, layer.bias, in, out, epilogue);
      const auto fixed = Linear::create(layer.weights, layer.bias, in, out, epilogue, Precision::kFixed16);
      ASSERT_TRUE(exact.ok() && fixed.ok());
      Scratch scratch;
      const auto expect_close = [&](const Linear& a, const Linear& b, std::size_t width) {
        std::vector<float> y(padded * width, 1.5F), z(padded * width, 1.5F);
        ASSERT_TRUE(a.run(layer.x.data(), y.data(), rows, scratch).ok());
        ASSERT_TRUE(b.run(layer.x.data(), z.data(), rows, scratch).ok());
        double worst = 0;
        for (std::size_t i = 0; i < rows * width; ++i)
          worst = std::max(worst, std::abs(static_cast<double>(y[i] - z[i])));
        // Elements of both are near 1 and off by 1e-4 at most, independently.
        EXPECT_LT(worst, 1e-4 * 5 * std::sqrt(static_cast<double>(in)));
        EXPECT_GT(worst, 0);
      };
      expect_close(*exact, *fixed, out);
      expect_close(exact->without_activation(), fixed->without_activation(), out);
    }
  }
  const Layer square = make_layer(40, 40, 16);
  const auto exact = Linear::create(square.weights, square.bias, 40, 40, Epilogue::kNone);
  const auto fixed = Linear::create(square.weights, square.bias, 40, 40, Epilogue::kNone, Precision::kFixed16);
  ASSERT_TRUE(exact.ok() && fixed.ok());
  const auto back = exact->transposed(Epilogue::kNone);
  const auto fixed_back = fixed->transposed(Epilogue::kNone);
  ASSERT_TRUE(back.ok() && fixed_back.ok());
  Scratch scratch;
  std::vector<float> dx(16 * 40), fixed_dx(16 * 40);
  ASSERT_TRUE(back->run(square.x.data(), dx.data(), 16, scratch).ok());
  ASSERT_TRUE(fixed_back->run(square.x.data(), fixed_dx.data(), 16, scratch).ok());
  for (std::size_t i = 0; i < dx.size(); ++i) ASSERT_NEAR(dx[i], fixed_dx[i], 4e-3F);
}

TEST(Linear, ARowDoesNotDependOnTheOtherRowsOrOnHowManyThereAre) {
  const std::size_t most = 1024;
  for (const Precision precision : {Precision::kFloat32, Precision::kFixed16})
    for (const auto& [in, out] : {std::pair<std::size_t, std::size_t>{384, 1152},
                                  {384, 384},
                                  {384, 1536},
                                  {1536, 384},
                                  {1152, 384},
                                  {48, 40}}) {
      const Layer layer = make_layer(in, out, most);
      const auto linear = Linear::create(layer.weights, layer.bias, in, out, Epilogue::kGeluErf, precision);
      ASSERT_TRUE(linear.ok());
      Scratch scratch;
      std::vector<float> all(most * out);
      ASSERT_TRUE(linear->run(layer.x.data(), all.data(), most, scratch).ok());
      for (const std::size_t rows : {1, 15, 16, 17, 48, 100, 129, 256, 400, 513}) {
        std::vector<float> some(Linear::padded_rows(rows) * out);
        ASSERT_TRUE(linear->run(layer.x.data(), some.data(), rows, scratch).ok());
        EXPECT_EQ(std::memcmp(some.data(), all.data(), rows * out * sizeof(float)), 0)
            << rows << " rows, " << in << "->" << out;
      }
    }
}

TEST(Linear, TransposedGivesTheGradientWithRespectToTheInput) {
  const std::size_t in = 33;
  const std::size_t out = 7;
  const std::size_t rows = 5;
  const Layer layer = make_layer(in, out, Linear::padded_rows(rows));
  const auto linear = Linear::create(layer.weights, layer.bias, in, out, Epilogue::kGeluErf);
  ASSERT_TRUE(linear.ok());
  for (const Epilogue epilogue : {Epilogue::kNone, Epilogue::kAddToOutput}) {
    const auto back = linear->transposed(epilogue);
    ASSERT_TRUE(back.ok()) << back.error().message;
    const std::vector<float> dy(layer.x.begin(), layer.x.begin() + Linear::padded_rows(rows) * out);
    std::vector<float> dx(Linear::padded_rows(rows) * in, 0.5F);
    Scratch scratch;
    ASSERT_TRUE(back->run(dy.data(), dx.data(), rows, scratch).ok());
    for (std::size_t r = 0; r < rows; ++r) {
      for (std::size_t i = 0; i < in; ++i) {
        double expected = epilogue == Epilogue::kNone ? 0.0 : 0.5;
        for (std::size_t o = 0; o < out; ++o)
          expected += static_cast<double>(dy[r * out + o]) * static_cast<double>(layer.weights[o * in + i]);
        ASSERT_NEAR(static_cast<double>(dx[r * in + i]), expected, 1e-5 * std::max(1.0, std::abs(expected)));
      }
    }
  }
}

TEST(ActivationLayer, IsTheFusedActivationBitForBitAndItsSlopeTheFiniteDifference) {
  for (const Epilogue epilogue : {Epilogue::kGeluErf, Epilogue::kGeluTanh, Epilogue::kRelu}) {
    for (const auto& [in, out] : {std::pair<std::size_t, std::size_t>{384, 1536}, {24, 40}}) {
      const std::size_t rows = 37;
      const std::size_t padded = Linear::padded_rows(rows);
      const Layer layer = make_layer(in, out, padded);
      const auto fused = Linear::create(layer.weights, layer.bias, in, out, epilogue);
      const auto activation = ActivationLayer::create(epilogue, out);
      ASSERT_TRUE(fused.ok() && activation.ok());
      const Linear bare = fused->without_activation();
      Scratch scratch;
      std::vector<float> together(padded * out), before(padded * out), apart(padded * out), slope(padded * out, 1.0F);
      ASSERT_TRUE(fused->run(layer.x.data(), together.data(), rows, scratch).ok());
      ASSERT_TRUE(bare.run(layer.x.data(), before.data(), rows, scratch).ok());
      ASSERT_TRUE(activation->run(before.data(), apart.data(), rows, scratch).ok());
      EXPECT_EQ(std::memcmp(together.data(), apart.data(), rows * out * sizeof(float)), 0);
      ASSERT_TRUE(activation->run_backward(before.data(), slope.data(), rows, scratch).ok());
      for (std::size_t i = 0; i < rows * out; i += 11) {
        const auto x = static_cast<double>(before[i]);
        const double step = 1e-5;
        if (std::abs(x) < step) continue;  // the kink of ReLU
        const double expected = (activate(x + step, epilogue) - activate(x - step, epilogue)) / (2 * step);
        ASSERT_NEAR(static_cast<double>(slope[i]), expected, 1e-5) << x;
      }
    }
  }
  EXPECT_FALSE(ActivationLayer::create(Epilogue::kNone, 8).ok());
}

TEST(Linear, SizesThatDoNotAgreeAreAnError) {
  EXPECT_FALSE(Linear::create(std::vector<float>(5), std::vector<float>(2), 3, 2, Epilogue::kNone).ok());
}

}  // namespace
}  // namespace casemate
