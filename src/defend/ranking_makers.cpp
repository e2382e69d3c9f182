#include "casemate/defend/calibrated_ragmask.h"
#include "casemate/defend/cluster.h"
#include "casemate/defend/consistency.h"
#include "casemate/defend/perplexity.h"
#include "casemate/defend/ragmask.h"
#include "casemate/defend/rerank.h"
#include "casemate/defend/suppression.h"
#include "defend/makers.h"

namespace casemate {
namespace {

template <class T>
MadeDefence upcast(Result<std::unique_ptr<T>> made) {
  if (!made) return made.error();
  return std::unique_ptr<RetrievalDefence>(*std::move(made));
}

constexpr std::array<std::pair<std::string_view, MaskAction>, 2> kMaskActions = {
    {{"mask", MaskAction::kMask}, {"delete", MaskAction::kDelete}}};

/// A number in [0, high], or "auto".
Status read_threshold(const std::optional<YamlValue>& value, double high, double& out, bool& is_auto) {
  if (!value) return {};
  const auto text = value->text();
  is_auto = text.ok() && *text == "auto";
  if (is_auto) return {};
  const auto number = value->number(0.0, high);
  if (!number) return number.error();
  out = *number;
  return {};
}

}  // namespace

MadeDefence make_suppression(const YamlValue& map, const DefenceServices& /*services*/) {
  SuppressionOptions out;
  YamlOptions options(map);
  options.read("pool_size", out.pool_size, 1, 1000).read("max_cosine", out.max_cosine, 0.0, 1.0);
  if (Status read = options.finish(); !read) return read.error();
  return upcast(Suppression::create(out));
}

MadeDefence make_cluster(const YamlValue& map, const DefenceServices& /*services*/) {
  ClusterOptions out;
  YamlOptions options(map);
  options.read("pool_size", out.pool_size, 1, 200)
      .read("min_cosine", out.min_cosine, -1.0, 1.0)
      .read("min_rouge_l", out.min_rouge_l, 0.0, 1.0);
  if (Status read = options.finish(); !read) return read.error();
  return upcast(Cluster::create(out));
}

MadeDefence make_rerank(const YamlValue& map, const DefenceServices& services) {
  RerankOptions out;
  std::string by;
  YamlOptions options(map);
  options.read("pool_size", out.pool_size, 1, 1000).read("by", by);
  if (Status read = options.finish(); !read) return read.error();
  constexpr std::array<std::pair<std::string_view, RerankBy>, 2> kChoices = {
      {{"likelihood", RerankBy::kLikelihood}, {"cross-encoder", RerankBy::kCrossEncoder}}};
  if (Status read = read_choice(by, "rerank.by", kChoices, out.by); !read) return read.error();
  return upcast(Rerank::create(out, services));
}

MadeDefence make_consistency(const YamlValue& map, const DefenceServices& services) {
  ConsistencyOptions out;
  YamlOptions options(map);
  options.read("pool_size", out.pool_size, 1, 100)
      .read("min_f1", out.min_f1, 0.0, 1.0)
      .read("min_agreeing", out.min_agreeing, 2, 100)
      .read("max_new_tokens", out.max_new_tokens, 1, 200);
  if (Status read = options.finish(); !read) return read.error();
  return upcast(Consistency::create(out, services));
}

MadeDefence make_perplexity(const YamlValue& map, const DefenceServices& services) {
  PerplexityOptions out;
  double max_perplexity = 0;
  YamlOptions options(map);
  options.read("pool_size", out.pool_size, 1, 1000).read("max_perplexity", max_perplexity, 1.0, 1e300);
  if (Status read = options.finish(); !read) return read.error();
  if (max_perplexity > 0) out.max_perplexity = max_perplexity;
  return upcast(Perplexity::create(out, services));
}

MadeDefence make_ragmask(const YamlValue& map, const DefenceServices& services) {
  RagMaskOptions out;
  std::string perturb;
  std::string sanitise;
  std::string screen;
  std::string text_out;
  std::string examine;
  std::optional<YamlValue> delta;
  std::optional<YamlValue> relative;
  YamlOptions options(map);
  options.read("mask_length_tokens", out.mask_length_tokens, 1, 512)
      .read("delta", delta)
      .read("delta_relative", relative)
      .read("perturb", perturb)
      .read("sanitise", sanitise)
      .read("pool_factor", out.pool_factor, 1, 100)
      .read("screen", screen)
      .read("screen_share", out.screen_share, 0.0, 1.0)
      .read("screen_exact", out.screen_exact, 1, 10000)
      .read("text_out", text_out)
      .read("examine", examine);
  if (Status read = options.finish(); !read) return read.error();
  bool delta_is_auto = false;
  bool relative_is_auto = false;
  if (Status read = read_threshold(delta, 1000.0, out.delta, delta_is_auto); !read) return read.error();
  if (Status read = read_threshold(relative, 1.0, out.delta_relative, relative_is_auto); !read) return read.error();
  if (delta_is_auto && relative_is_auto)
    return Error{ErrorCode::kInvalidOption, "ragmask: only one of delta and delta_relative can be auto"};
  if (Status read = read_choice(perturb, "ragmask.perturb", kMaskActions, out.perturb); !read) return read.error();
  if (Status read = read_choice(sanitise, "ragmask.sanitise", kMaskActions, out.sanitise); !read) return read.error();
  constexpr std::array<std::pair<std::string_view, MaskScreen>, 2> kScreens = {
      {{"none", MaskScreen::kNone}, {"gradient", MaskScreen::kGradient}}};
  if (Status read = read_choice(screen, "ragmask.screen", kScreens, out.screen); !read) return read.error();
  constexpr std::array<std::pair<std::string_view, MaskTextOut>, 2> kTexts = {
      {{"original", MaskTextOut::kOriginal}, {"sanitised", MaskTextOut::kSanitised}}};
  if (Status read = read_choice(text_out, "ragmask.text_out", kTexts, out.text_out); !read) return read.error();
  constexpr std::array<std::pair<std::string_view, MaskExamine>, 2> kExamine = {
      {{"all", MaskExamine::kAll}, {"reachable", MaskExamine::kReachable}}};
  if (Status read = read_choice(examine, "ragmask.examine", kExamine, out.examine); !read) return read.error();
  if (delta_is_auto || relative_is_auto) return upcast(CalibratedRagMask::create(out, relative_is_auto, services));
  if (services.encoder == nullptr)
    return Error{ErrorCode::kInvalidArgument, "ragmask embeds masked passages: it needs the store's encoder"};
  return upcast(RagMask::create(out, *services.encoder, services.cache));
}

}  // namespace casemate
