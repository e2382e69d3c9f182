// casemate/certify/retrieval_condition.h
#pragma once

#include <cstdint>

#include "casemate/certify/certificate.h"
#include "casemate/defend/ragpart_index.h"

namespace casemate {

/// The passages that an attacker adds to the corpus.
struct PlantedPassages {
  int planted = 1;             ///< n_a, passages and not files; >= 1
  int poisoned_fragments = 1;  ///< n_p: slots of each with arbitrary content, repeats of a last fragment included; >= 0
  double s_max = 0.5;          ///< the largest similarity of its other slots; in [-1, 1]
  double rounding = 1e-5;      ///< what a similarity of unit vectors may exceed 1 by; in [0, 0.01]
};

/// How the passages came from the store, as far as the condition depends on it.
struct RetrievalPath {
  RagPartAggregation aggregation = RagPartAggregation::kMajority;
  bool renormalise = false;
  bool exact_dense_scan = true;  ///< false: approximate candidates, or a fusion with BM25
  bool unit_vectors = true;      ///< of query and fragments
  bool later_stages = false;     ///< a stage after RAGPart that looks at several passages
};

/// The evidence for a certificate, from a search with keep_lists. Error: Unsupported where the condition says nothing
/// of this path, naming what; InvalidArgument where there were fewer passages than top_p (any planted one enters), for
/// lists that were not kept, or values out of range; what `bound_retrieval` says.
[[nodiscard]] Result<RetrievalEvidence> retrieval_condition(const RagPartRanking& ranking, int fragments,
                                                            const RagPartSearchOptions& search,
                                                            const RetrievalPath& path, const PlantedPassages& planted);

/// Fills in what follows: planted_votes (V), kept_votes (v-), outsider_votes (v_out), planted_at_most (j) and
/// changed_at_most (j with v_out: planted passages can also let a clean outsider overtake). Sound for any planted
/// passages within the assumptions. Error: InvalidArgument for fields out of range, lists that are not one for each
/// choice or not in order; Limit where placements times lists exceed 2^28.
[[nodiscard]] Status bound_retrieval(RetrievalEvidence& evidence);

}  // namespace casemate
