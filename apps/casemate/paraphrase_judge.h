// apps/casemate/paraphrase_judge.h
#pragma once

#include <memory>
#include <string>

#include "context.h"

namespace casemate::cli {

/// The encoder of a store, to be named for `load_paraphrase_judge`: `name_or_path`, or what the store remembers.
[[nodiscard]] Result<EncoderChoice> encoder_choice_of(const Store& store, const std::string& name_or_path);

/// The encoder that judges whether a paraphrase means what its document does: `judge` by name or folder, else the
/// checkpoint of `choice` with the other pooling (first token for mean, mean for first token), so that it is not the
/// very function that the attack optimises. Error: what loading says; InvalidOption where it is the same encoder with
/// the same pooling.
[[nodiscard]] Result<std::unique_ptr<Encoder>> load_paraphrase_judge(Context& context, const Encoder& target,
                                                                     const EncoderChoice& choice,
                                                                     const std::string& judge);

}  // namespace casemate::cli
