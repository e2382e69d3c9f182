#include <string>
#include <vector>

#include "certify/verify/checks.h"

namespace casemate::verify {

void check_voting(const Certificate& certificate, const VotingEvidence& evidence, Checks& checks) {
  std::vector<std::int64_t> counts(evidence.letters.size(), 0);
  std::int64_t stable = 0;
  bool honest = true;
  for (const VotingGroup& group : evidence.groups) {
    honest = honest && !hides_abstention(group.answer, !group.vote.has_value());
    if (is_unstable(group.margin, certificate.epsilon)) continue;
    ++stable;
    if (group.vote) ++counts[*group.vote];
  }
  const auto groups = static_cast<std::int64_t>(evidence.groups.size());
  const Attacker attacker = attacker_of(certificate.k_prime, stable, groups - stable);
  checks.add("groups whose answer declines abstain", honest);
  checks.add("the counts are those of the stable groups' votes", counts == evidence.counts);
  checks.add("the answer is the winning letter", certificate.answer.bytes() == evidence.letters[evidence.winner]);

  // The worst for one rival: the groups that fall to the attacker voted for the winner and vote for the rival now, as
  // all unstable ones do.
  const std::int64_t before = counts[evidence.winner];
  const std::int64_t left = before - std::min(before, attacker.taken);
  for (std::size_t rival = 0; rival < counts.size(); ++rival) {
    if (rival == evidence.winner) continue;
    const std::int64_t most = counts[rival] + attacker.groups();
    const bool tie_is_won = evidence.winner < rival;
    checks.add("the answer wins against " + UntrustedText(evidence.letters[rival]).for_log(40),
               left > most || (left == most && tie_is_won),
               "keeps " + std::to_string(left) + " votes, the rival gets at most " + std::to_string(most));
  }
}

}  // namespace casemate::verify
