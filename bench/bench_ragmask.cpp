// Times RAGMask against the forward passes that it cannot do without, and compares screening with the exact method.
//
//   bench_ragmask MODEL_DIR PAIRS.tsv THREADS QUERIES [agreement|screening|shares]
//
// PAIRS has question<TAB>passage lines; the pool of a question is the 20 passages nearest to it (alpha 4, p 5). Prints
// JSON: for each setting seconds of RAGMask and of what it is compared with, over QUERIES questions, with ratios. The
// settings are the paper's (mask, delta 0.01, all candidates) but for screening: deletion and delta 0.3 of the
// similarity, as policy `balanced` has them, every segment that is predicted to matter, and only candidates that can be
// reached.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <functional>
#include <iostream>
#include <numeric>
#include <string>
#include <vector>

#include "casemate/defend/passage_cache.h"
#include "casemate/defend/ragmask.h"
#include "casemate/encoder/bert_encoder.h"
#include "ragmask_repeated.h"
#include "ragmask_screening.h"

namespace {

using namespace casemate;

constexpr int kTopK = 5;
constexpr std::size_t kPool = 20;

/// Elapsed time, and processor time of all threads, which says more where the machine is busy.
struct Times {
  double wall = 0;
  double cpu = 0;
  Times& operator+=(const Times& other) {
    wall += other.wall;
    cpu += other.cpu;
    return *this;
  }
};

Times seconds_of(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  const std::clock_t cpu = std::clock();
  work();
  return {std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(),
          static_cast<double>(std::clock() - cpu) / CLOCKS_PER_SEC};
}

template <typename T>
T need(Result<T> result) {
  if (result) return *std::move(result);
  std::cerr << result.error().message << '\n';
  std::exit(3);
}

struct Question {
  DefenceQuery query;
  std::vector<PassageCandidate> pool;
};

std::vector<Question> read_questions(const Encoder& encoder, const char* path, std::size_t count) {
  std::vector<std::string> questions, passages;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const std::size_t tab = line.find('\t');
    if (tab == std::string::npos) continue;
    questions.push_back(line.substr(0, tab));
    passages.push_back(line.substr(tab + 1));
  }
  if (passages.size() < std::max(kPool, count)) {
    std::cerr << path << ": too few lines\n";
    std::exit(2);
  }
  questions.resize(count);
  const auto embed = [&](const std::vector<std::string>& texts, TextRole role) {
    const std::vector<std::string_view> views(texts.begin(), texts.end());
    return need(encoder.encode(views, {role, SpecialTokens::kAsText})).embeddings;
  };
  const Embeddings rows = embed(passages, TextRole::kPassage);
  const Embeddings asked = embed(questions, TextRole::kQuery);
  std::vector<Question> out(count);
  for (std::size_t q = 0; q < count; ++q) {
    std::vector<PassageCandidate> all;
    for (std::size_t p = 0; p < passages.size(); ++p) {
      PassageCandidate& candidate = all.emplace_back();
      candidate.chunk = static_cast<ChunkId>(p) + 1;
      candidate.embedding.assign(rows.row(p).begin(), rows.row(p).end());
      candidate.score = std::inner_product(asked.row(q).begin(), asked.row(q).end(), candidate.embedding.begin(), 0.0);
    }
    std::partial_sort(all.begin(), all.begin() + kPool, all.end(),
                      [](const auto& a, const auto& b) { return a.score > b.score; });
    all.resize(kPool);
    for (PassageCandidate& candidate : all)
      candidate.text = UntrustedText(passages[static_cast<std::size_t>(candidate.chunk) - 1]);
    out[q].query.text = UntrustedText(questions[q]);
    out[q].query.embedding.assign(asked.row(q).begin(), asked.row(q).end());
    out[q].pool = std::move(all);
  }
  return out;
}

/// Time of one forward pass over the texts of the pool's passages that `wanted` names.
Times forward_seconds(const Encoder& encoder, const Question& question, const std::vector<char>& wanted) {
  std::vector<std::string_view> texts;
  for (std::size_t i = 0; i < question.pool.size(); ++i) {
    if (wanted[i] != 0) texts.push_back(question.pool[i].text.bytes());
  }
  return seconds_of([&] { need(encoder.encode_passages(texts)); });
}

/// Sums over questions.
struct Ratio {
  Times ours, theirs;
  double segments = 0;
  double passages = 0;
  double tokens = 0;
  double segment_tokens = 0;  ///< tokens of a passage times its segments: what embedding each segment's variant costs
  void print(const char* name, bool last) const {
    std::printf(
        "  \"%s\": {\"ragmask_seconds\": %.4f, \"compared_seconds\": %.4f, \"ratio\": %.3f, \"cpu_ratio\": %.3f, "
        "\"segments_a_passage\": %.2f, \"segments_a_token\": %.2f}%s\n",
        name, ours.wall, theirs.wall, ours.wall / theirs.wall, ours.cpu / theirs.cpu,
        passages > 0 ? segments / passages : 0.0, tokens > 0 ? segment_tokens / tokens : 0.0, last ? "" : ",");
  }
};

void add_segments(const MaskReport& report, Ratio& ratio) {
  for (const MaskJudgement& judgement : report.judgements) {
    const auto segments = static_cast<double>(judgement.segments.size());
    ratio.segments += segments;
    ratio.passages += 1;
    ratio.tokens += static_cast<double>(judgement.tokens);
    ratio.segment_tokens += segments * static_cast<double>(judgement.tokens);
  }
}

void time_all(const Encoder& encoder, const std::vector<Question>& questions, const ThreadPool& pool) {
  const RagMaskOptions exact;  // the paper's: m 10, delta 0.01, mask
  const RagMaskOptions deleting = bench::deleting(0.3);
  const auto cache = need(make_memory_passage_cache(std::size_t{1} << 30U));
  const auto cold = need(RagMask::create(exact, encoder, nullptr));
  const auto screening = need(RagMask::create(bench::screened(deleting, 0.0), encoder, nullptr));
  const auto warm = need(RagMask::create(exact, encoder, cache.get()));
  for (const Question& question : questions) need(warm->precompute("default", question.pool, {}));
  need(screening->examine(questions[0].query, questions[0].pool, {}));  // lays out the weights
  Ratio nothing_cached, with_screen, never_seen, repeated;
  int screened_same = 0;
  for (const Question& question : questions) {
    const std::vector<char> everything(question.pool.size(), 1);
    const Times forward = forward_seconds(encoder, question, everything);
    MaskReport report;
    nothing_cached.ours += seconds_of([&] { report = need(cold->examine(question.query, question.pool, {})); });
    nothing_cached.theirs += forward;
    add_segments(report, nothing_cached);
    with_screen.ours += seconds_of([&] { need(screening->rank(question.query, question.pool, kTopK, {})); });
    with_screen.theirs += forward;
    const auto same = bench::screen(deleting, encoder, nullptr, question).ranking ==
                      bench::screen(screening->options(), encoder, nullptr, question).ranking;
    screened_same += same ? 1 : 0;
    add_segments(report, with_screen);
    never_seen.ours += seconds_of([&] { need(warm->rank(question.query, question.pool, kTopK, {})); });
    report = need(warm->examine(question.query, question.pool, {}));
    std::vector<char> again;
    for (const MaskJudgement& judgement : report.judgements) again.push_back(judgement.suspicious() > 0 ? 1 : 0);
    never_seen.theirs += forward_seconds(encoder, question, again);
    add_segments(report, never_seen);
  }
  // The sanitised passages are in the cache now.
  bench::UndefendedSearch search(encoder, pool);
  for (const Question& question : questions) {
    search.run(question.query.text, kTopK);  // warm
    repeated.theirs += seconds_of([&] { search.run(question.query.text, kTopK); });
    repeated.ours += seconds_of([&] {
      search.run(question.query.text, static_cast<int>(kPool));
      need(warm->rank(question.query, question.pool, kTopK, {}));
    });
  }
  std::printf("{\n  \"queries\": %zu, \"threads\": %d,\n", questions.size(), pool.threads());
  never_seen.print("masks_cached_new_query", false);
  repeated.print("repeated_query", false);
  nothing_cached.print("nothing_cached", false);
  std::printf("  \"screened_same_ranking\": %d,\n", screened_same);
  with_screen.print("gradient_screen", true);
  std::printf("}\n");
}

/// Exact and predicted drop of one segment.
struct Drop {
  double exact = 0;
  double predicted = 0;
};

/// The decisions that screening with `cap` exact segments takes of one passage, against the exact ones.
void count_decisions(std::vector<Drop> drops, MaskAction action, double delta, std::size_t cap, double& same,
                     double& passages) {
  std::stable_sort(drops.begin(), drops.end(), [](const Drop& a, const Drop& b) { return a.predicted > b.predicted; });
  const double near = action == MaskAction::kDelete ? RagMaskOptions().screen_share * delta : -1e9;
  std::size_t embedded = 0;
  double residual = 0;
  for (; embedded < std::min(cap, drops.size()) && drops[embedded].predicted >= near; ++embedded)
    residual += drops[embedded].exact - drops[embedded].predicted;
  const double shift = action == MaskAction::kMask && embedded > 0 ? residual / static_cast<double>(embedded) : 0.0;
  bool all = true;
  for (std::size_t s = 0; s < drops.size(); ++s) {
    const double drop = s < embedded ? drops[s].exact : drops[s].predicted + shift;
    const bool agree = (drop >= delta) == (drops[s].exact >= delta);
    same += agree ? 1 : 0;
    all = all && agree;
  }
  passages += all ? 1 : 0;
}

double correlation(const std::vector<std::vector<Drop>>& passages) {
  double n = 0, x = 0, y = 0, xx = 0, yy = 0, xy = 0;
  for (const auto& passage : passages) {
    for (const Drop& drop : passage) {
      n += 1;
      x += drop.exact;
      y += drop.predicted;
      xx += drop.exact * drop.exact;
      yy += drop.predicted * drop.predicted;
      xy += drop.exact * drop.predicted;
    }
  }
  return (n * xy - x * y) / std::sqrt((n * xx - x * x) * (n * yy - y * y));
}

/// How well gradients predict drops, and how often screening decides as the exact method does, for each delta and each
/// number of exact segments.
void print_agreement(const Encoder& encoder, const std::vector<Question>& questions) {
  for (const MaskAction action : {MaskAction::kMask, MaskAction::kDelete}) {
    RagMaskOptions options;
    options.perturb = options.sanitise = action;
    const auto exact = need(RagMask::create(options, encoder, nullptr));
    RagMaskOptions far = options;  // nothing is near this delta: every segment keeps its prediction
    far.perturb = MaskAction::kDelete;
    far.delta = 1000;
    far.screen = MaskScreen::kGradient;
    const auto predicting = need(RagMask::create(far, encoder, nullptr));
    std::vector<std::vector<Drop>> passages;
    double segments = 0;
    for (const Question& question : questions) {
      const auto a = need(exact->examine(question.query, question.pool, {}));
      const auto b = need(predicting->examine(question.query, question.pool, {}));
      for (std::size_t i = 0; i < question.pool.size(); ++i) {
        const MaskJudgement& judgement = a.judgements[i];
        passages.emplace_back();
        for (std::size_t s = 0; s < judgement.segments.size(); ++s) {
          passages.back().push_back({judgement.similarity - judgement.segments[s].perturbed,
                                     judgement.similarity - b.judgements[i].segments[s].perturbed});
        }
        segments += static_cast<double>(judgement.segments.size());
      }
    }
    const std::string name(mask_action_name(action));
    std::printf("{\"perturb\": \"%s\", \"segments\": %.0f, \"correlation\": %.3f}\n", name.c_str(), segments,
                correlation(passages));
    for (const double delta : {0.01, 0.03, 0.1, 0.2}) {
      double suspicious = 0;
      for (const auto& passage : passages)
        suspicious += static_cast<double>(
            std::count_if(passage.begin(), passage.end(), [&](const Drop& d) { return d.exact >= delta; }));
      for (const std::size_t cap : {0, 1, 2, 4, 1000}) {
        double same = 0, same_sets = 0;
        for (const auto& passage : passages) count_decisions(passage, action, delta, cap, same, same_sets);
        std::printf(
            "{\"perturb\": \"%s\", \"delta\": %.2f, \"suspicious\": %.3f, \"screen_exact\": %zu, "
            "\"segments_agree\": %.3f, \"passages_agree\": %.3f}\n",
            name.c_str(), delta, suspicious / segments, cap, same / segments,
            same_sets / static_cast<double>(passages.size()));
      }
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    std::cerr << "usage: bench_ragmask MODEL_DIR PAIRS.tsv THREADS QUERIES [agreement|screening|shares]\n";
    return 2;
  }
  const ThreadPool pool(std::atoi(argv[3]));
  const auto encoder = need(load_bert_encoder(argv[1], {}, pool));
  const auto questions = read_questions(*encoder, argv[2], static_cast<std::size_t>(std::max(1, std::atoi(argv[4]))));
  const std::string_view mode = argc > 5 ? argv[5] : "";
  if (mode == "screening" || mode == "shares") {
    const auto cache = need(make_memory_passage_cache(std::size_t{4} << 30U));
    bench::print_screening(*encoder, questions, *cache, mode == "shares");
  } else if (!mode.empty()) {
    print_agreement(*encoder, questions);
  } else {
    time_all(*encoder, questions, pool);
  }
  return 0;
}
