// Times the encoder's forward pass, and forward with backward, on the same made-up token sequences.
//
//   bench_gradient MODEL_DIR THREADS [ROUNDS]
//
// Prints {"tokens", "threads", "forward_seconds", "gradient_seconds", "backward_to_forward"}: medians; the backward
// pass's time is what the gradient takes beyond a forward pass. Runs alternate, after one of each to warm up.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iostream>

#include "casemate/core/random.h"
#include "casemate/encoder/bert_encoder.h"
#include "timing.h"

int main(int argc, char** argv) {
  using namespace casemate;
  if (argc < 3) {
    std::cerr << "usage: bench_gradient MODEL_DIR THREADS [ROUNDS]\n";
    return 2;
  }
  const int rounds = argc > 3 ? std::max(1, std::atoi(argv[3])) : 5;
  const ThreadPool pool(std::atoi(argv[2]));
  const auto encoder = load_bert_encoder(argv[1], {}, pool);
  if (!encoder) {
    std::cerr << encoder.error().message << '\n';
    return 3;
  }
  RandomStream random(1, "bench gradient");
  std::vector<std::vector<TokenId>> sequences(64);
  std::size_t tokens = 0;
  for (auto& sequence : sequences) {
    sequence.resize(110 + random.below(41));
    for (TokenId& id : sequence) id = static_cast<TokenId>(random.below((*encoder)->tokenizer().vocabulary_size()));
    tokens += sequence.size();
  }
  std::vector<float> weights(sequences.size() * (*encoder)->info().dimension);
  for (float& w : weights) w = static_cast<float>(random.normal());
  std::vector<double> forward, gradient;
  bool good = true;
  for (int round = -1; round < rounds; ++round) {
    const double one = seconds_of([&] { good = good && (*encoder)->encode_tokens(sequences).ok(); });
    const double two = seconds_of([&] { good = good && (*encoder)->gradient(sequences, weights).ok(); });
    if (round < 0) continue;
    forward.push_back(one);
    gradient.push_back(two);
  }
  if (!good) return 3;
  std::printf(
      "{\"tokens\": %zu, \"threads\": %d, \"forward_seconds\": %.4f, \"gradient_seconds\": %.4f, "
      "\"backward_to_forward\": %.3f}\n",
      tokens, pool.threads(), median(forward), median(gradient), median(gradient) / median(forward) - 1);
  return 0;
}
