#include "double_transformer.h"

#include <cmath>

namespace casemate::test {
namespace {

using Vector = std::vector<double>;

Vector row(const TinyCheckpoint& c, const std::string& name, std::size_t index) {
  const auto width = static_cast<std::size_t>(c.config.hidden);
  const auto& values = c.tensors.at(name);
  return {values.begin() + static_cast<std::ptrdiff_t>(index * width),
          values.begin() + static_cast<std::ptrdiff_t>((index + 1) * width)};
}

Vector layer_norm(const TinyCheckpoint& c, const std::string& name, const Vector& x) {
  double mean = 0;
  for (const double v : x) mean += v / static_cast<double>(x.size());
  double variance = 0;
  for (const double v : x) variance += (v - mean) * (v - mean) / static_cast<double>(x.size());
  const auto& gamma = c.tensors.at(name + ".weight");
  const auto& beta = c.tensors.at(name + ".bias");
  Vector out(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    out[i] = (x[i] - mean) / std::sqrt(variance + static_cast<double>(c.config.layer_norm_epsilon)) *
                 static_cast<double>(gamma[i]) +
             static_cast<double>(beta[i]);
  }
  return out;
}

double activate(Activation kind, double x) {
  if (kind == Activation::kRelu) return std::max(x, 0.0);
  if (kind == Activation::kGeluTanh) return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
  return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
}

Vector add(const Vector& a, const Vector& b) {
  Vector out(a);
  for (std::size_t i = 0; i < a.size(); ++i) out[i] += b[i];
  return out;
}

Matrix attention(const TinyCheckpoint& c, const std::string& base, const Matrix& x, bool distil,
                 const std::vector<double>& presence) {
  const auto heads = static_cast<std::size_t>(c.config.heads);
  const std::size_t width = static_cast<std::size_t>(c.config.hidden) / heads;
  Matrix q, k, v;
  for (const Vector& token : x) {
    q.push_back(double_linear(c, base + (distil ? "attention.q_lin" : "attention.self.query"), token));
    k.push_back(double_linear(c, base + (distil ? "attention.k_lin" : "attention.self.key"), token));
    v.push_back(double_linear(c, base + (distil ? "attention.v_lin" : "attention.self.value"), token));
  }
  Matrix out(x.size(), Vector(x[0].size(), 0.0));
  for (std::size_t h = 0; h < heads; ++h) {
    for (std::size_t i = 0; i < x.size(); ++i) {
      Vector weights;
      double total = 0;
      for (std::size_t j = 0; j < x.size(); ++j) {
        double dot = 0;
        for (std::size_t d = h * width; d < (h + 1) * width; ++d) dot += q[i][d] * k[j][d];
        weights.push_back(std::exp(dot / std::sqrt(static_cast<double>(width))) *
                          (presence.empty() ? 1.0 : presence[j]));
        total += weights.back();
      }
      for (std::size_t j = 0; j < x.size(); ++j) {
        for (std::size_t d = h * width; d < (h + 1) * width; ++d) out[i][d] += weights[j] / total * v[j][d];
      }
    }
  }
  for (Vector& token : out)
    token = double_linear(c, base + (distil ? "attention.out_lin" : "attention.output.dense"), token);
  return out;
}

}  // namespace

std::vector<double> double_linear(const TinyCheckpoint& c, const std::string& name, const Vector& x) {
  const auto& weights = c.tensors.at(name + ".weight");
  const auto& bias = c.tensors.at(name + ".bias");
  Vector out;
  for (std::size_t o = 0; o < bias.size(); ++o) {
    // Eight sums side by side: one alone would wait for each addition, and MiniLM has 10 million weights.
    double sums[8] = {static_cast<double>(bias[o])};
    const float* row = weights.data() + o * x.size();
    std::size_t i = 0;
    for (; i + 8 <= x.size(); i += 8) {
      for (std::size_t lane = 0; lane < 8; ++lane) sums[lane] += static_cast<double>(row[i + lane]) * x[i + lane];
    }
    for (; i < x.size(); ++i) sums[0] += static_cast<double>(row[i]) * x[i];
    double sum = 0;
    for (const double part : sums) sum += part;
    out.push_back(sum);
  }
  return out;
}

Matrix double_forward(const TinyCheckpoint& c, const std::vector<TokenId>& ids, const std::vector<TokenId>& types,
                      const Perturbation& perturbation) {
  const bool distil = c.config.architecture == Architecture::kDistilBert;
  const bool roberta =
      c.config.architecture == Architecture::kRoberta || c.config.architecture == Architecture::kXlmRoberta;
  Matrix x;
  for (std::size_t t = 0; t < ids.size(); ++t) {
    Vector state = add(row(c, "embeddings.word_embeddings.weight", static_cast<std::size_t>(ids[t])),
                       row(c, "embeddings.position_embeddings.weight", t + (roberta ? 2 : 0)));
    if (!perturbation.shift.empty()) state = add(state, perturbation.shift[t]);
    if (!distil)
      state = add(state, row(c, "embeddings.token_type_embeddings.weight",
                             types.empty() ? 0 : static_cast<std::size_t>(types[t])));
    x.push_back(layer_norm(c, "embeddings.LayerNorm", state));
  }
  for (int i = 0; i < c.config.layers; ++i) {
    const std::string base = (distil ? "transformer.layer." : "encoder.layer.") + std::to_string(i) + ".";
    const Matrix mixed = attention(c, base, x, distil, perturbation.presence);
    for (std::size_t t = 0; t < x.size(); ++t) {
      x[t] = layer_norm(c, base + (distil ? "sa_layer_norm" : "attention.output.LayerNorm"), add(x[t], mixed[t]));
      Vector inner = double_linear(c, base + (distil ? "ffn.lin1" : "intermediate.dense"), x[t]);
      for (double& value : inner) value = activate(c.config.activation, value);
      const Vector outer = double_linear(c, base + (distil ? "ffn.lin2" : "output.dense"), inner);
      x[t] = layer_norm(c, base + (distil ? "output_layer_norm" : "output.LayerNorm"), add(x[t], outer));
    }
  }
  return x;
}

}  // namespace casemate::test
