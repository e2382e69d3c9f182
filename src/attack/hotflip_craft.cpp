#include <algorithm>
#include <atomic>
#include <cstring>

#include "attack/craft_progress.h"
#include "attack/flip_search.h"
#include "attack/hotflip_plan.h"
#include "attack/slot_layout.h"
#include "attack/words.h"
#include "casemate/attack/craft_cache.h"
#include "casemate/attack/hotflip.h"
#include "casemate/core/hash.h"
#include "casemate/core/thread_pool.h"

namespace casemate {
namespace {

class Crafting {
 public:
  Crafting(const HotFlip& attack, const AttackInput& input, const DifferentiableEncoder& encoder, std::stop_token stop)
      : attack_(attack),
        options_(attack.options()),
        input_(input),
        encoder_(encoder),
        stop_(std::move(stop)),
        progress_(input.tools.progress) {}

  Result<CraftedAttack> run() {
    auto planned = plan_hotflip(attack_, input_, encoder_);
    if (!planned) return planned.error();
    plan_ = *std::move(planned);
    const std::vector<HotFlipJob>& jobs = plan_.jobs;
    const TokenPool pool(encoder_);
    progress_.begin(attack_.name(), jobs.size(), static_cast<std::uint64_t>(options_.iterations), budget());
    std::vector<CraftedDocument> documents(jobs.size());
    std::vector<std::optional<Error>> errors(jobs.size());
    std::atomic<bool> failed = false;
    const auto work = [&](std::size_t i, int /*worker*/) {
      if (failed) return;
      auto made = craft(jobs[i], pool);
      if (made) {
        documents[i] = *std::move(made);
      } else {
        errors[i] = made.error();
        failed = true;
      }
    };
    if (input_.tools.pool != nullptr) {
      input_.tools.pool->parallel_for(jobs.size(), work);
    } else {
      for (std::size_t i = 0; i < jobs.size(); ++i) work(i, 0);
    }
    progress_.end();
    for (const auto& error : errors) {
      if (error) return *error;
    }
    CraftedAttack out;
    for (std::size_t i = 0; i < documents.size(); ++i) {
      documents[i].id = attack_document_id(attack_.name(), i);
      out.fell_back += documents[i].fell_back ? 1 : 0;
    }
    out.documents = std::move(documents);
    return out;
  }

 private:
  Result<CraftedDocument> craft(const HotFlipJob& job, const TokenPool& pool) {
    CraftedDocument document;
    document.title = job.source->title;
    document.source_document = job.source->id;
    document.target_queries = job.queries;
    document.text = job.source->text;
    const std::string& source = job.source->text.bytes();
    const auto plain_copy = [&document](const char* why) {
      document.fell_back = true;
      document.note = std::string(why) + ": a plain copy";
      return document;
    };
    if (job.group == nullptr) return plain_copy("the query is empty");
    const PoisonDraft draft(encoder_, source, lay_out_slots(encoder_, source, options_));
    FlipTrail trail;
    if (options_.start == FlipStart::kMask) {
      if (encoder_.tokenizer().mask_id() < 0) {
        return Error{ErrorCode::kInvalidOption,
                     std::string(attack_.name()) + ": the encoder has no mask token; use start: query"};
      }
      trail.start.assign(draft.slots(), encoder_.tokenizer().mask_id());
    } else {
      const Tokens tokens = encoder_.tokenizer().tokenize(job.lead, SpecialTokens::kAsText);
      auto filled = draft.fill(tokens.ids);
      if (!filled || !draft.write(*filled)) return plain_copy("no token of the query can be written");
      trail.start = *std::move(filled);
    }
    if (Status searched = search(job, draft, pool, trail); !searched) return searched.error();
    if (Status told = describe(job, draft, trail, document); !told) return told.error();
    return document;
  }

  /// Runs the search from where the cache has it, and keeps what it did, also where it is stopped.
  Status search(const HotFlipJob& job, const PoisonDraft& draft, const TokenPool& pool, FlipTrail& trail) {
    FlipSettings settings;
    settings.iterations = options_.iterations;
    settings.candidates = options_.candidates;
    settings.batch = options_.batch;
    settings.seed = input_.seed;
    settings.stream = "attack/" + std::string(attack_.name()) + "/" + job.lead_id + "/" + job.source->id;
    CraftCache* cache = input_.tools.cache;
    const std::string key = cache != nullptr ? cache_key(job, draft, trail, settings) : "";
    if (cache != nullptr) {
      if (const auto kept = cache->find(key); kept) {
        auto parsed = parse_trail(*kept, draft.slots());
        if (!parsed) return parsed.error();
        trail = *std::move(parsed);
      }
    }
    const int had = trail.values.empty() ? 0 : trail.iterations();
    const std::uint64_t forward = trail.values.empty() ? 0 : trail.forward_tokens.back();
    const std::uint64_t backward = trail.values.empty() ? 0 : trail.backward_tokens.back();
    progress_.advance(static_cast<std::uint64_t>(std::min(had, settings.iterations)));
    const std::unique_ptr<PoisonObjective> objective = make_objective(*job.group);
    const Status done = search_flips(draft, pool, *objective, settings, trail, stop_, [this] { progress_.advance(1); });
    if (trail.values.empty()) return done;
    if (trail.iterations() < settings.iterations && trail.settled)
      progress_.advance(static_cast<std::uint64_t>(settings.iterations - std::max(trail.iterations(), had)));
    progress_.spend(trail.forward_tokens.back() - forward, trail.backward_tokens.back() - backward);
    if (cache != nullptr && trail.iterations() > had) {
      if (Status kept = cache->put(key, to_text(trail)); !kept) return kept;
    }
    return done;
  }

  [[nodiscard]] std::unique_ptr<PoisonObjective> make_objective(const QueryGroup& group) const {
    switch (options_.goal) {
      case FlipGoal::kRagPart:
        return make_ragpart_objective(encoder_, group.centre, options_);
      case FlipGoal::kRagMask:
        return make_ragmask_objective(encoder_, group.centre, options_);
      case FlipGoal::kSimilarity:
        break;
    }
    return make_similarity_objective(encoder_, group.centre);
  }

  /// Over everything that a search depends on, except how long it is.
  [[nodiscard]] std::string cache_key(const HotFlipJob& job, const PoisonDraft& draft, const FlipTrail& trail,
                                      const FlipSettings& settings) const {
    FieldHasher hasher;
    hasher.add("flip trail 1");
    for (const auto& [name, value] : attack_.parameters()) {
      if (name == "iterations" || name == "documents_per_query" || name == "clusters") continue;
      hasher.add(name);
      hasher.add(value);
    }
    const EncoderInfo& encoder = encoder_.info();
    hasher.add(encoder.model_hash);
    hasher.add(encoder.passage_prefix);
    hasher.add(std::string(pooling_name(encoder.pooling)) + std::to_string(encoder.max_tokens) +
               (encoder.normalized ? "n" : "p"));
    hasher.add(std::to_string(settings.seed));
    hasher.add(settings.stream);
    hasher.add(job.source->text.bytes());
    for (const SlotGroup& group : draft.groups())
      hasher.add(std::to_string(group.at) + "+" + std::to_string(group.slots));
    for (const TokenId id : trail.start) hasher.add(std::to_string(id));
    std::string target(job.group->centre.size() * sizeof(float), '\0');
    std::memcpy(target.data(), job.group->centre.data(), target.size());
    hasher.add(target);
    return std::string(attack_.name()) + "/" + to_hex(hasher.finish());
  }

  /// What was made, with its similarity as the retriever will see it.
  Status describe(const HotFlipJob& job, const PoisonDraft& draft, const FlipTrail& trail,
                  CraftedDocument& document) const {
    const auto version = draft.write(trail.tokens_after(options_.iterations));
    if (!version) return Error{ErrorCode::kInvalidInput, "kept crafting work does not fit its document; remove it"};
    const std::string_view texts[] = {job.source->text.bytes(), version->text};
    const auto encoded = encoder_.encode_passages(texts);
    if (!encoded) return encoded.error();
    CraftTrace& trace = document.trace.emplace();
    trace.iterations = options_.iterations;
    trace.start_similarity = similarity_to(job.group->centre, encoded->embeddings.row(0));
    trace.similarity = similarity_to(job.group->centre, encoded->embeddings.row(1));
    const auto wanted = static_cast<std::size_t>(options_.iterations);
    const std::size_t last = std::min(wanted, trail.values.size() - 1);
    trace.objective.assign(trail.values.begin(), trail.values.begin() + static_cast<std::ptrdiff_t>(last + 1));
    trace.objective.resize(wanted + 1, trail.values[last]);
    trace.forward_tokens = trail.forward_tokens[last];
    trace.backward_tokens = trail.backward_tokens[last];
    std::size_t open = 0;
    std::size_t unread = 0;
    for (std::size_t s = 0; s < version->slots.size(); ++s) {
      if (version->slots[s] == encoder_.tokenizer().mask_id()) {
        ++open;
        continue;
      }
      unread += options_.goal != FlipGoal::kRagPart && version->positions[s] == PoisonDraft::kCutOff ? 1 : 0;
      const std::size_t character =
          in_characters(version->text, version->slot_bytes[s].begin, version->slot_bytes[s].begin).begin;
      trace.tokens.push_back(
          {character, version->slots[s], std::string(encoder_.tokenizer().piece(version->slots[s]))});
    }
    for (const TokenSpan& group : version->group_bytes) {
      if (group.begin < group.end) document.changed.push_back(in_characters(version->text, group.begin, group.end));
    }
    document.text = UntrustedText(version->text);
    std::string note;
    const auto remark = [&note](const std::string& text) { note += (note.empty() ? "" : "; ") + text; };
    if (open > 0) remark(std::to_string(open) + " places were still open and are left out");
    if (unread > 0) remark(std::to_string(unread) + " tokens are beyond what the retriever reads");
    if (job.query_cut) remark("the query is longer than the retriever reads");
    if (open == 0 && encoded->inputs[1].input_ids != version->ids) remark("the text does not give the tokens back");
    document.note = std::move(note);
    return {};
  }

  /// Tokens that all searches together may cost: a step embeds at most `candidates` texts, and goes forward and back
  /// once.
  [[nodiscard]] std::uint64_t budget() const {
    std::uint64_t out = 0;
    for (const HotFlipJob& job : plan_.jobs) {
      if (job.group == nullptr) continue;
      const std::size_t length = read_passage(encoder_, job.source->text.bytes()).ids.size();
      out += static_cast<std::uint64_t>(options_.iterations) * static_cast<std::uint64_t>(options_.candidates + 2) *
             (length + static_cast<std::uint64_t>(options_.tokens));
    }
    return out;
  }

  const HotFlip& attack_;
  const HotFlipOptions& options_;
  const AttackInput& input_;
  const DifferentiableEncoder& encoder_;
  std::stop_token stop_;
  HotFlipPlan plan_;
  CraftProgress progress_;
};

}  // namespace

Result<CraftedAttack> HotFlip::craft(const AttackInput& input, std::stop_token stop) const {
  if (input.corpus.empty() || input.targets.empty()) return CraftedAttack{};
  if (stop.stop_requested()) return Error{ErrorCode::kCancelled, "stopped"};
  const auto* encoder = dynamic_cast<const DifferentiableEncoder*>(input.tools.encoder);
  if (encoder == nullptr) {
    return Error{ErrorCode::kUnsupported,
                 std::string(name()) + " needs the retriever's weights: an encoder that gives gradients"};
  }
  return Crafting(*this, input, *encoder, std::move(stop)).run();
}

}  // namespace casemate
