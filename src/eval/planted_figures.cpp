#include "eval/planted_figures.h"

#include <nlohmann/json.hpp>

#include "casemate/core/file_system.h"

namespace casemate {
namespace {

class Figures {
 public:
  void add(bool fell_back, std::optional<double> similarity) {
    ++out_.documents;
    out_.fell_back += fell_back ? 1 : 0;
    if (!similarity) return;
    sum_ += *similarity;
    ++optimised_;
  }
  PlantedFigures done() {
    if (optimised_ > 0) out_.similarity = sum_ / static_cast<double>(optimised_);
    return out_;
  }

 private:
  PlantedFigures out_;
  double sum_ = 0;
  std::size_t optimised_ = 0;
};

}  // namespace

PlantedFigures planted_of(const CraftedAttack& crafted) {
  Figures figures;
  for (const CraftedDocument& each : crafted.documents)
    figures.add(each.fell_back, each.trace ? std::optional(each.trace->similarity) : std::nullopt);
  return figures.done();
}

Result<PlantedFigures> read_planted(const std::string& path) {
  const auto text = read_file(path);
  if (!text) return text.error();
  Figures figures;
  for (std::size_t at = 0; at < text->size();) {
    const std::size_t end = text->find('\n', at);
    const auto record =
        nlohmann::json::parse(text->substr(at, end == std::string::npos ? end : end - at), nullptr, false);
    if (end == std::string::npos || !record.is_object() || !record.contains("fell_back"))
      return Error{ErrorCode::kInvalidInput, path + ": is not whole"};
    at = end + 1;
    const auto similarity = record.find("final_similarity");
    figures.add(record["fell_back"] == true, similarity != record.end() && similarity->is_number()
                                                 ? std::optional(similarity->get<double>())
                                                 : std::nullopt);
  }
  return figures.done();
}

}  // namespace casemate
