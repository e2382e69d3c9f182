// Indexes nothing and asks everything: what counts is that headers, libraries and their dependencies are all there.
#include <casemate/llm/language_model.h>
#include <casemate/models/manifest.h>
#include <casemate/pipeline/indexer.h>
#include <casemate/pipeline/pipeline.h>
#include <casemate/retrieve/dense_index.h>

#include <cstdio>

int main(int argc, char** argv) {
  const auto manifest = casemate::builtin_manifest();
  const auto policy = casemate::find_policy("off");
  if (argc < 2 || !manifest || !policy) return 1;
  const auto store = casemate::Store::create(argv[1], [] {
    casemate::EncoderIdentity identity;
    identity.model = "consumer";
    identity.dimension = 4;
    identity.pooling = "mean";
    identity.max_tokens = 16;
    return identity;
  }());
  if (!store) {
    std::printf("%s\n", store.error().message.c_str());
    return 1;
  }
  const casemate::ThreadPool pool(1);
  const auto pipeline = casemate::Pipeline::create({store->get(), nullptr, nullptr, nullptr, nullptr, &pool}, *policy);
  std::printf("consumer: %zu models known, policy %s, pipeline %s\n", manifest->models.size(), policy->name.c_str(), pipeline ? "made" : "refused");
  return pipeline ? 0 : 1;
}
