#include "attack/hotflip_plan.h"

#include "attack/words.h"

namespace casemate {
namespace {

bool is_blank(std::string_view text) { return blank_separated_words(text).empty(); }

class Planner {
 public:
  Planner(const HotFlip& attack, const AttackInput& input) : attack_(attack), input_(input) {}

  Result<HotFlipPlan> run(const Encoder& encoder) {
    std::vector<std::string_view> texts;
    std::vector<std::size_t> aimed;  // targets with a query
    for (std::size_t t = 0; t < input_.targets.size(); ++t) {
      if (is_blank(input_.targets[t].query.bytes())) continue;
      aimed.push_back(t);
      texts.emplace_back(input_.targets[t].query.bytes());
    }
    const auto encoded = encoder.encode_queries(texts);
    if (!encoded) return encoded.error();
    const auto clusters = static_cast<std::size_t>(attack_.options().clusters);
    out_.groups = group_queries(encoded->embeddings, clusters, input_.seed);
    if (Status planned = one_by_one(encoded->inputs, clusters > 0); !planned) return planned.error();
    if (clusters > 0) {
      if (Status planned = by_cluster(encoded->inputs, aimed); !planned) return planned.error();
    }
    return std::move(out_);
  }

 private:
  /// Every target; of clustered ones those without a query.
  template <typename Inputs>
  Status one_by_one(const Inputs& inputs, bool clustered) {
    std::size_t next = 0;
    for (const AttackTarget& target : input_.targets) {
      HotFlipJob job;
      job.queries = {target.query_id};
      job.lead_id = target.query_id;
      if (!is_blank(target.query.bytes())) {
        if (clustered) continue;
        job.group = &out_.groups[next];
        job.query_cut = inputs[next].truncated();
        ++next;
        job.lead = target.query.bytes();
      }
      if (Status added = add(job, {target.gold_document}); !added) return added;
    }
    return {};
  }

  template <typename Inputs>
  Status by_cluster(const Inputs& inputs, const std::vector<std::size_t>& aimed) {
    for (const QueryGroup& group : out_.groups) {
      HotFlipJob job;
      job.group = &group;
      std::vector<std::string> golds;
      for (const std::size_t member : group.members) {
        const AttackTarget& target = input_.targets[aimed[member]];
        job.queries.push_back(target.query_id);
        golds.push_back(target.gold_document);
        job.query_cut = job.query_cut || inputs[member].truncated();
      }
      const AttackTarget& nearest = input_.targets[aimed[group.nearest]];
      job.lead = nearest.query.bytes();
      job.lead_id = nearest.query_id;
      if (Status added = add(job, golds); !added) return added;
    }
    return {};
  }

  Status add(HotFlipJob& job, const std::vector<std::string>& golds) {
    const auto drawn = draw_irrelevant(input_, attack_.name(), job.lead_id, golds,
                                       static_cast<std::size_t>(attack_.options().documents_per_query));
    if (!drawn) return drawn.error();
    for (const std::size_t index : *drawn) {
      job.source = &input_.corpus[index];
      out_.jobs.push_back(job);
    }
    return {};
  }

  const HotFlip& attack_;
  const AttackInput& input_;
  HotFlipPlan out_;
};

}  // namespace

Result<HotFlipPlan> plan_hotflip(const HotFlip& attack, const AttackInput& input, const Encoder& encoder) {
  return Planner(attack, input).run(encoder);
}

}  // namespace casemate
