#include "paraphrase_judge.h"

namespace casemate::cli {

Result<EncoderChoice> encoder_choice_of(const Store& store, const std::string& name_or_path) {
  EncoderChoice out;
  out.encoder = name_or_path;
  if (!out.encoder.empty()) return out;
  const auto remembered = store.setting("", kEncoderPathSetting);
  if (!remembered) return remembered.error();
  out.encoder = remembered->value_or(store.encoder().model);
  return out;
}

Result<std::unique_ptr<Encoder>> load_paraphrase_judge(Context& context, const Encoder& target,
                                                       const EncoderChoice& choice, const std::string& judge) {
  EncoderChoice wanted = choice;
  if (judge.empty()) {
    wanted.pooling = pooling_name(target.info().pooling == Pooling::kCls ? Pooling::kMean : Pooling::kCls);
  } else {
    // In the target's precision, so that the same checkpoint has the same hash and is refused below.
    wanted = EncoderChoice{judge, "", "", "", 0, std::string(precision_name(target.info().precision))};
  }
  auto loaded = context.load_encoder(wanted);
  if (!loaded) return loaded.error().in("--judge");
  const EncoderInfo& info = (*loaded)->info();
  if (info.model_hash == target.info().model_hash && info.pooling == target.info().pooling) {
    return Error{ErrorCode::kInvalidOption,
                 "--judge is the encoder under attack itself: leave it out for its other pooling, or name another one"};
  }
  return loaded;
}

}  // namespace casemate::cli
