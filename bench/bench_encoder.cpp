// Times the encoder on token ids that another program wrote, so that both see the same input.
//
//   bench_encoder MODEL_DIR IDS_FILE THREADS [OUT_FILE [PRECISION]]
//
// IDS_FILE has one sequence a line, ids separated by blanks. Prints {"seconds", "tokens"}; writes the embeddings as raw
// float32 to OUT_FILE. The model is warmed up before the clock starts.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>

#include "casemate/encoder/bert_encoder.h"

int main(int argc, char** argv) {
  using namespace casemate;
  if (argc < 4) {
    std::cerr << "usage: bench_encoder MODEL_DIR IDS_FILE THREADS [OUT_FILE [PRECISION]]\n";
    return 2;
  }
  const ThreadPool pool(std::atoi(argv[3]));
  BertEncoderOptions options;
  const auto precision = parse_precision(argc > 5 ? argv[5] : "float32");
  if (!precision) {
    std::cerr << precision.error().message << '\n';
    return 2;
  }
  options.precision = *precision;
  const auto encoder = load_bert_encoder(argv[1], options, pool);
  if (!encoder) {
    std::cerr << encoder.error().message << '\n';
    return 3;
  }
  std::vector<std::vector<TokenId>> sequences;
  std::size_t tokens = 0;
  std::ifstream file(argv[2]);
  for (std::string line; std::getline(file, line);) {
    std::istringstream ids(line);
    sequences.emplace_back();
    for (TokenId id = 0; ids >> id;) sequences.back().push_back(id);
    tokens += sequences.back().size();
  }
  const std::size_t warm = std::min<std::size_t>(sequences.size(), 64);
  (void)(*encoder)->encode_tokens(std::span(sequences).first(warm)).ok();
  const auto begin = std::chrono::steady_clock::now();
  const auto result = (*encoder)->encode_tokens(sequences);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (!result) {
    std::cerr << result.error().message << '\n';
    return 3;
  }
  if (argc > 4) {
    std::ofstream out(argv[4], std::ios::binary);
    out.write(reinterpret_cast<const char*>(result->values.data()),
              static_cast<std::streamsize>(result->values.size() * sizeof(float)));
  }
  std::printf("{\"seconds\": %.6f, \"tokens\": %zu}\n", seconds, tokens);
  return 0;
}
