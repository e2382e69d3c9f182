#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <string_view>

#include "casemate/llm/prompt.h"

namespace casemate {
namespace {

constexpr std::string_view kSeparator = "\xC2\xB7";  // U+00B7, which people see

/// Fixed special strings of model families in use (Llama 2 and 3, Mistral, Gemma, BERT, T5, GPT).
constexpr std::array<std::string_view, 32> kFixed = {"[INST]",
                                                     "[/INST]",
                                                     "<<SYS>>",
                                                     "<</SYS>>",
                                                     "<s>",
                                                     "</s>",
                                                     "<unk>",
                                                     "<pad>",
                                                     "<bos>",
                                                     "<eos>",
                                                     "<mask>",
                                                     "<start_of_turn>",
                                                     "<end_of_turn>",
                                                     "[CLS]",
                                                     "[SEP]",
                                                     "[MASK]",
                                                     "[PAD]",
                                                     "[UNK]",
                                                     "[BOS]",
                                                     "[EOS]",
                                                     "[TOOL_CALLS]",
                                                     "[AVAILABLE_TOOLS]",
                                                     "[/AVAILABLE_TOOLS]",
                                                     "[TOOL_RESULTS]",
                                                     "[/TOOL_RESULTS]",
                                                     "[SYSTEM_PROMPT]",
                                                     "[/SYSTEM_PROMPT]",
                                                     "<tool_call>",
                                                     "</tool_call>",
                                                     "<think>",
                                                     "</think>",
                                                     "<endoftext>"};

bool same_ignoring_case(std::string_view a, std::string_view b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) {
           return std::tolower(static_cast<unsigned char>(x)) == std::tolower(static_cast<unsigned char>(y));
         });
}

/// Length of "<|name|>" (also with full-width bars, as DeepSeek writes them) at the start of `text`, or 0.
std::size_t bar_token_length(std::string_view text) {
  constexpr std::string_view kWideBar = "\xEF\xBD\x9C";
  constexpr std::size_t kLongestName = 64;
  for (const std::string_view bar : {std::string_view("|"), kWideBar}) {
    const std::string open = "<" + std::string(bar);
    if (!text.starts_with(open)) continue;
    const std::size_t close = text.substr(0, open.size() + kLongestName).find(std::string(bar) + ">", open.size());
    if (close == std::string_view::npos) continue;
    const std::string_view name = text.substr(open.size(), close - open.size());
    if (name.find_first_of("<>\n") == std::string_view::npos) return close + bar.size() + 1;
  }
  return 0;
}

/// Where a byte of the joined text stands.
struct Byte {
  std::size_t part = 0;
  std::size_t offset = 0;
};

std::size_t special_length(std::string_view text) {
  if (text.front() != '<' && text.front() != '[') return 0;
  if (const std::size_t length = bar_token_length(text); length > 0) return length;
  for (const std::string_view fixed : kFixed) {
    if (same_ignoring_case(text.substr(0, fixed.size()), fixed)) return fixed.size();
  }
  return 0;
}

}  // namespace

std::vector<NeutralisedString> neutralise_special_strings(Prompt& prompt) {
  std::vector<NeutralisedString> found;
  for (std::size_t m = 0; m < prompt.messages.size(); ++m) {
    // The parts are joined before the model sees them, so a special string may begin in one and end in another.
    std::vector<PromptPart>& parts = prompt.messages[m].parts;
    std::string whole;
    std::vector<Byte> bytes;
    for (std::size_t p = 0; p < parts.size(); ++p) {
      whole += parts[p].text;
      for (std::size_t i = 0; i < parts[p].text.size(); ++i) bytes.push_back({p, i});
      parts[p].text.clear();
    }
    std::size_t separator_at = std::string::npos;
    for (std::size_t at = 0; at < whole.size(); ++at) {
      if (const std::size_t length = special_length(std::string_view(whole).substr(at)); length > 0) {
        const auto untrusted = [&](const Byte& byte) { return !parts[byte.part].trusted; };
        const auto first = bytes.begin() + static_cast<std::ptrdiff_t>(at);
        const auto hit = std::find_if(first, first + static_cast<std::ptrdiff_t>(length), untrusted);
        if (hit != first + static_cast<std::ptrdiff_t>(length)) {
          found.push_back({static_cast<int>(m), static_cast<int>(hit->part), hit->offset, whole.substr(at, length)});
          // After the first character, or before the untrusted text where trusted text began the string.
          separator_at = std::max(at + 1, static_cast<std::size_t>(hit - bytes.begin()));
        }
      }
      if (at == separator_at) parts[bytes[at].part].text += kSeparator;
      parts[bytes[at].part].text += whole[at];
    }
  }
  return found;
}

}  // namespace casemate
