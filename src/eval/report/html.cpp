#include "eval/report/html.h"

#include <array>
#include <cstdio>
#include <utility>

#include "casemate/core/untrusted_text.h"

namespace casemate {

std::string html_text(std::string_view text) { return UntrustedText(std::string(text)).for_html(); }

std::string fixed_text(double value, int digits) {
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, "%.*f", digits, value);
  // A mean that rounds to zero from below is zero.
  return std::string_view(buffer).find_first_not_of("-0.") == std::string_view::npos && buffer[0] == '-' ? buffer + 1
                                                                                                         : buffer;
}

std::string interval_text(const std::optional<Interval>& interval, int digits) {
  if (!interval) return {};
  return "[" + fixed_text(interval->low, digits) + ", " + fixed_text(interval->high, digits) + "]";
}

std::string p_value_text(double p) { return p < 0.0001 ? "< 0.0001" : fixed_text(p, 4); }

std::string html_choice(std::string_view name) {
  const std::size_t brace = name.find('{');
  std::string out = "<span class=\"choice\"><b>" + html_text(name.substr(0, brace)) + "</b>";
  if (brace != std::string_view::npos) out += "<small>" + html_text(name.substr(brace)) + "</small>";
  return out + "</span>";
}

std::string_view metric_help(std::string_view metric) {
  constexpr std::array kHelp = {
      std::pair{"recall", "share of queries whose answering passage is among the first k"},
      std::pair{"precision", "answering passages among the first k, over k"},
      std::pair{"mrr", "mean of 1 / rank of the answering passage"},
      std::pair{"ndcg", "normalised discounted gain over the first k"},
      std::pair{"asr", "share of queries with any planted document among the first k"},
      std::pair{"targeted-asr", "share of queries with a document planted for them among the first k"},
      std::pair{"poison-share", "planted documents among the first k, over k"},
      std::pair{"success", "share of queries with any answering passage among the first k"},
      std::pair{"map", "mean average precision over the first k"},
      std::pair{"poison-rank", "mean of 1 / rank of the first planted document"},
      std::pair{"exact_match", "share of answers equal to a right one, as SQuAD 1.1 counts"},
      std::pair{"f1", "mean F1 of words with the best right answer, as SQuAD 1.1 counts"},
      std::pair{"bleu", "mean sentence BLEU, over 100"},
      std::pair{"rouge_l", "mean ROUGE-L with the best right answer"},
      std::pair{"disclosed", "share of the passages' characters that the generator was shown"},
      std::pair{"judged", "share of answers that the language model calls right"},
      std::pair{"right", "share of answers that hold a right answer"},
      std::pair{"score", "mean share of the facts that a long text holds"},
      std::pair{"attack_success", "share of judged answers that hold the attacker's wrong answer"},
      std::pair{"valid", "share of answers that are not empty and not cut short"},
      std::pair{"declined", "share of answers that decline"},
      std::pair{"faithfulness", "mean share of an answer's words that a passage which was read has"},
  };
  const std::string_view base = metric.substr(0, metric.find('@'));
  for (const auto& [name, help] : kHelp) {
    if (base == name) return help;
  }
  return {};
}

}  // namespace casemate
