// tests/attack/small_corpus.h
#pragma once

#include "casemate/attack/attack.h"

namespace casemate::test {

/// Twelve made-up passages, two questions each: a year and a name.
struct SmallCorpus {
  SmallCorpus() {
    static const char* const kNames[] = {"Adler",  "Birk",   "Cremona", "Dorn",   "Elsner", "Falk",
                                         "Gruber", "Harlan", "Ibsen",   "Jarvis", "Keller", "Lomond"};
    for (int i = 0; i < 12; ++i) {
      const std::string name = kNames[i];
      const std::string year = std::to_string(1800 + 7 * i);
      const std::string id = "p" + std::to_string(i);
      passages.push_back({id, UntrustedText("Bridge " + std::to_string(i)),
                          UntrustedText("The bridge over the river number" + std::to_string(i) + " was planned by " +
                                        name + " and opened in " + year + ". In " + year + " it had two lanes.")});
      targets.push_back({"year" + std::to_string(i),
                         UntrustedText("When was bridge " + std::to_string(i) + " opened?"),
                         id,
                         {UntrustedText(year)}});
      targets.push_back({"name" + std::to_string(i),
                         UntrustedText("Who planned bridge " + std::to_string(i) + "?"),
                         id,
                         {UntrustedText(name)}});
    }
  }

  [[nodiscard]] AttackInput input(std::uint64_t seed = 42) const { return {passages, targets, seed}; }
  [[nodiscard]] const CorpusPassage& passage(const std::string& id) const {
    for (const CorpusPassage& each : passages) {
      if (each.id == id) return each;
    }
    return passages.front();
  }

  std::vector<CorpusPassage> passages;
  std::vector<AttackTarget> targets;
};

}  // namespace casemate::test
