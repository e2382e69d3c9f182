// tests/certify/samples.h
#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "casemate/certify/certificate.h"
#include "casemate/certify/verify.h"

namespace casemate::test {

/// Small random numbers, the same on every machine.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}
  /// In [low, high].
  int roll(int low, int high) { return low + static_cast<int>(engine_() % static_cast<std::uint64_t>(high - low + 1)); }
  bool chance(int percent) { return roll(1, 100) <= percent; }

 private:
  std::mt19937_64 engine_;
};

/// A key from fixed bytes.
SigningKey key_of(char seed);

/// A certificate without evidence, of `passages` passages.
Certificate frame(std::int64_t passages, std::int64_t group_size, Billionths epsilon, std::int64_t vocabulary = 0);

/// What the verifier says of `certificate` with `k_prime`, whatever that is, signed by key_of('k').
Verification verify_claim(Certificate certificate, std::int64_t k_prime);

/// True where it holds. Prints the first check that does not, when asked to.
bool claim_holds(const Certificate& certificate, std::int64_t k_prime);

/// One certificate of each kind that holds, by name, as files: voting, keyword, keyword_sets, decoding,
/// decoding_fallback, composed.
const std::map<std::string, std::string>& sample_files();
/// The same before they are written.
const std::map<std::string, Certificate>& samples();

}  // namespace casemate::test
