// Times llama.cpp as an encoder on token ids, for comparison with bench_encoder.
//
//   bench_llama_encoder MODEL.gguf IDS_FILE THREADS
//
// MODEL.gguf is the same checkpoint in float32 (bench/peers/minilm_to_gguf.py makes it). Settings are llama.cpp's best
// on the machines measured: micro-batches of 512 tokens, flash attention on.
#include <llama.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  llama_log_set([](ggml_log_level, const char*, void*) {}, nullptr);
  llama_model* model = llama_model_load_from_file(argv[1], llama_model_default_params());
  if (model == nullptr) return 3;
  llama_context_params params = llama_context_default_params();
  params.embeddings = true;
  params.n_ctx = 512 * 8;
  params.n_batch = params.n_ubatch = 512;
  params.n_seq_max = 8;
  params.n_threads = params.n_threads_batch = std::atoi(argv[3]);
  params.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_ENABLED;
  params.pooling_type = LLAMA_POOLING_TYPE_MEAN;
  llama_context* context = llama_init_from_model(model, params);
  if (context == nullptr) return 3;
  std::vector<std::vector<llama_token>> sequences;
  std::size_t tokens = 0;
  std::ifstream file(argv[2]);
  for (std::string line; std::getline(file, line);) {
    std::istringstream ids(line);
    sequences.emplace_back();
    for (llama_token id = 0; ids >> id;) sequences.back().push_back(id);
    tokens += sequences.back().size();
  }
  llama_batch batch = llama_batch_init(512, 0, 8);
  const auto begin = std::chrono::steady_clock::now();
  for (std::size_t next = 0; next < sequences.size();) {
    batch.n_tokens = 0;
    for (int sequence = 0; sequence < 8 && next < sequences.size(); ++sequence, ++next) {
      if (batch.n_tokens + static_cast<int>(sequences[next].size()) > 512) break;
      for (std::size_t i = 0; i < sequences[next].size(); ++i) {
        const int at = batch.n_tokens++;
        batch.token[at] = sequences[next][i];
        batch.pos[at] = static_cast<llama_pos>(i);
        batch.n_seq_id[at] = 1;
        batch.seq_id[at][0] = sequence;
        batch.logits[at] = 1;
      }
    }
    if (llama_encode(context, batch) != 0) return 3;
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::printf("{\"seconds\": %.6f, \"tokens\": %zu}\n", seconds, tokens);
  llama_batch_free(batch);
  llama_free(context);
  llama_model_free(model);
  return 0;
}
