#include "casemate/core/progress.h"

namespace casemate {
namespace {

class NoProgress final : public Progress {
 public:
  void begin(std::string_view, std::uint64_t, std::string_view) override {}
  void update(std::uint64_t) override {}
  void note(std::string_view) override {}
  void end() override {}
};

}  // namespace

Progress& Progress::none() {
  static NoProgress progress;
  return progress;
}

}  // namespace casemate
