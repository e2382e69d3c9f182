// casemate/eval/faithfulness.h
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "casemate/core/untrusted_text.h"

namespace casemate {

/// How far what was read supports an answer, by its words: 1 where the whole answer (SQuAD's normal form, whole words)
/// stands in one of the passages; else the largest share of the answer's content words (not stop words) that one
/// passage has. Nothing where the answer claims nothing: one that is empty, declines, or has no content words; means
/// are over the others. Without passages an answer that claims something is 0. In [0, 1]. It sees words and not
/// meanings: a wrong sentence made of a passage's words counts as supported, and a true paraphrase may not.
[[nodiscard]] std::optional<double> faithfulness(std::string_view answer, std::span<const UntrustedText> passages);

}  // namespace casemate
