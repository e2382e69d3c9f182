#include "word_segmenter.h"

#include <unicode/brkiter.h>
#include <unicode/bytestream.h>
#include <unicode/normalizer2.h>
#include <unicode/ubrk.h>
#include <unicode/utext.h>

#include <algorithm>

#include "casemate/core/utf8.h"
#include "failure.h"

namespace casemate {
namespace {

constexpr std::size_t kMaxWordBytes = 128;

[[noreturn]] void fail(UErrorCode code) {
  throw Failure{Error{ErrorCode::kUnsupported, std::string("ICU cannot segment text: ") + u_errorName(code)}};
}

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

}  // namespace

struct WordSegmenter::State {
  std::unique_ptr<icu::BreakIterator> words;
  const icu::Normalizer2* folding = nullptr;  // ICU's own, lives for ever
  std::string folded;

  void fold(std::string_view text) {
    folded.clear();
    if (is_ascii(text)) {
      folded.assign(text);
      for (char& c : folded) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
      return;
    }
    const std::string valid = is_valid_utf8(text) ? std::string() : to_valid_utf8(text);
    const std::string_view source = valid.empty() ? text : std::string_view(valid);
    icu::StringByteSink<std::string> sink(&folded);
    UErrorCode code = U_ZERO_ERROR;
    folding->normalizeUTF8(0, icu::StringPiece(source.data(), static_cast<int32_t>(source.size())), sink, nullptr,
                           code);
    if (U_FAILURE(code)) fail(code);
  }
};

WordSegmenter::WordSegmenter() : state_(std::make_unique<State>()) {
  UErrorCode code = U_ZERO_ERROR;
  state_->words.reset(icu::BreakIterator::createWordInstance(icu::Locale::getRoot(), code));
  if (U_FAILURE(code)) fail(code);
  state_->folding = icu::Normalizer2::getNFKCCasefoldInstance(code);
  if (U_FAILURE(code)) fail(code);
}
WordSegmenter::~WordSegmenter() = default;

void WordSegmenter::segment(std::string_view text, const Callback& word) {
  state_->fold(text);
  const std::string& folded = state_->folded;
  UErrorCode code = U_ZERO_ERROR;
  const std::unique_ptr<UText, UText* (*)(UText*)> source(
      utext_openUTF8(nullptr, folded.data(), static_cast<int64_t>(folded.size()), &code), utext_close);
  if (U_FAILURE(code)) fail(code);
  icu::BreakIterator& words = *state_->words;
  words.setText(source.get(), code);
  if (U_FAILURE(code)) fail(code);
  auto begin = static_cast<std::size_t>(words.first());
  for (int32_t next = words.next(); next != icu::BreakIterator::DONE; next = words.next()) {
    const auto end = static_cast<std::size_t>(next);
    if (words.getRuleStatus() >= UBRK_WORD_NUMBER) {
      const std::string_view whole(folded.data() + begin, end - begin);
      if (!word(utf8_prefix(whole, kMaxWordBytes), begin, end)) return;
    }
    begin = end;
  }
}

}  // namespace casemate
