#include "casemate/pipeline/calibrate.h"

#include <iomanip>
#include <iostream>
#include <nlohmann/json.hpp>

#include "casemate/defend/passage_cache.h"
#include "casemate/formats/squad.h"
#include "command.h"
#include "language_model_choice.h"
#include "question_sample.h"

namespace casemate::cli {
namespace {

using Json = nlohmann::ordered_json;

struct CalibrateChoice {
  std::string store;
  std::string tenant = "default";
  std::string defence = "ragmask";
  std::string encoder;
  std::string questions;
  int generate = 0;
  int sample = 200;
  double loss = 0.02;
  bool dry_run = false;
  std::string perturb = "delete";
  std::string sanitise;  ///< empty: as perturb
  RagMaskCalibrationOptions ragmask;
  LanguageModelChoice model;
};

void print_curve(const MaskCalibration& measured, bool relative) {
  std::cout << std::fixed << std::setprecision(4) << measured.questions << " questions; undefended: clean success "
            << measured.undefended_success;
  if (measured.undefended_attack_success) std::cout << ", attack success " << *measured.undefended_attack_success;
  std::cout << "\n\n"
            << (relative ? "delta_relative" : "         delta")
            << "  clean success  attack success  suspicious segments\n";
  for (const MaskCalibrationPoint& point : measured.curve) {
    std::cout << std::setw(14) << point.delta << std::setw(15) << point.clean_success << std::setw(16);
    if (point.attack_success) {
      std::cout << *point.attack_success;
    } else {
      std::cout << "-";
    }
    std::cout << std::setw(21) << point.suspicious_share << (point.delta == measured.delta ? "  <-" : "") << '\n';
  }
}

Result<std::vector<CalibrationQuestion>> questions_of(Context& context, const Store& store,
                                                      const CalibrateChoice& choice) {
  std::vector<CalibrationQuestion> out;
  if (!choice.questions.empty()) {
    auto read = read_squad_questions(choice.questions, {});
    if (!read) return read.error();
    for (SquadQuestion& each : question_sample(std::move(read->questions), choice.sample, choice.ragmask.seed))
      out.push_back({std::move(each.question), std::move(each.gold_passage_id)});
    return out;
  }
  if (choice.generate <= 0) {
    return Error{ErrorCode::kInvalidArgument,
                 "ragmask is calibrated on questions: give --questions FILE (SQuAD JSON), or --generate N to have the "
                 "language model ask about N passages"};
  }
  auto model = load_language_model(context, choice.model);
  if (!model) return model.error();
  return generate_questions(store, choice.tenant, **model, choice.generate, choice.ragmask.seed, context.progress(),
                            context.stop);
}

int keep(Context& context, Store& store, const CalibrateChoice& choice, const Calibration& calibration) {
  if (!choice.dry_run) {
    if (Status written = write_calibration(store, choice.tenant, calibration); !written)
      return context.fail(written.error());
  }
  if (context.json) {
    std::cout << Json{{"defence", calibration.defence},
                      {"setting", calibration.setting},
                      {"value", calibration.value},
                      {"kept", !choice.dry_run},
                      {"details", Json::parse(calibration.details_json)}}
                     .dump()
              << '\n';
  } else {
    std::cout << '\n'
              << calibration.defence << ": " << calibration.value << " for " << calibration.setting
              << (choice.dry_run ? " (not kept: --dry-run)" : " (kept in the store)") << '\n';
  }
  return kDone;
}

int calibrate_mask(Context& context, Store& store, CalibrateChoice& choice) {
  choice.ragmask.ragmask.perturb = choice.perturb == "mask" ? MaskAction::kMask : MaskAction::kDelete;
  const std::string& sanitise = choice.sanitise.empty() ? choice.perturb : choice.sanitise;
  choice.ragmask.ragmask.sanitise = sanitise == "mask" ? MaskAction::kMask : MaskAction::kDelete;
  choice.ragmask.clean_success_loss = choice.loss;
  const auto questions = questions_of(context, store, choice);
  if (!questions) return context.fail(questions.error());
  const auto encoder = context.load_encoder_of(store, choice.encoder);
  if (!encoder) return context.fail(encoder.error());
  const auto retriever = Retriever::create(store, encoder->get(), {}, context.pool());
  if (!retriever) return context.fail(retriever.error());
  const auto cache = make_store_passage_cache(store);
  const auto measured =
      calibrate_ragmask_on(store, **encoder, **retriever, choice.dry_run ? nullptr : cache.get(), choice.tenant,
                           *questions, choice.ragmask, context.progress(), context.stop);
  if (!measured) return context.fail(measured.error());
  if (!context.json) print_curve(*measured, choice.ragmask.relative);
  return keep(context, store, choice, ragmask_calibration(*measured, choice.ragmask.ragmask, choice.ragmask.relative));
}

int calibrate_model(Context& context, Store& store, const CalibrateChoice& choice) {
  const auto model = load_language_model(context, choice.model);
  if (!model) return context.fail(model.error());
  const auto measured = calibrate_perplexity(store, choice.tenant, **model, choice.loss, choice.sample,
                                             choice.ragmask.seed, context.progress(), context.stop);
  if (!measured) return context.fail(measured.error());
  if (!context.json) {
    std::cout << "share of passages above a perplexity\n";
    for (const double share : kSharesAbovePerplexity) {
      std::cout << std::fixed << std::setprecision(3) << std::setw(8) << share << std::setw(14)
                << quantile(measured->values, 1 - share) << '\n';
    }
  }
  return keep(context, store, choice, perplexity_calibration(*measured, **model, choice.loss));
}

int run(Context& context, CalibrateChoice& choice) {
  const auto store = context.open_store(choice.store, choice.dry_run);
  if (!store) return context.fail(store.error());
  return choice.defence == "ragmask" ? calibrate_mask(context, **store, choice)
                                     : calibrate_model(context, **store, choice);
}

}  // namespace

std::function<int()> set_up_calibrate(CLI::App& app, Context& context) {
  auto choice = std::make_shared<CalibrateChoice>();
  RagMaskCalibrationOptions& ragmask = choice->ragmask;
  app.add_option("store", choice->store, "the store's folder")->required();
  app.add_option("--defence", choice->defence, "whose threshold to measure: ragmask (delta) or perplexity")
      ->check(CLI::IsMember({"ragmask", "perplexity"}))
      ->capture_default_str();
  app.add_option("--tenant", choice->tenant, "on whose documents")->capture_default_str();
  app.add_option("--loss", choice->loss,
                 "share of clean questions (ragmask) or passages (perplexity) that may be lost to the defence")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  app.add_option("--questions", choice->questions, "ragmask: SQuAD 1.1 JSON about the store's passages");
  app.add_option("--generate", choice->generate, "ragmask: have the language model ask about so many passages instead");
  app.add_option("--sample", choice->sample, "questions or passages used, drawn at random; 0: all")
      ->capture_default_str();
  app.add_option("--perturb", choice->perturb, "ragmask: mask or delete")
      ->check(CLI::IsMember({"mask", "delete"}))
      ->capture_default_str();
  app.add_option("--sanitise", choice->sanitise, "ragmask: mask or delete; default: as --perturb")
      ->check(CLI::IsMember({"mask", "delete"}));
  app.add_option("--pool-factor", ragmask.ragmask.pool_factor, "ragmask: candidates for each passage returned")
      ->capture_default_str();
  app.add_option("--mask-length", ragmask.ragmask.mask_length_tokens, "ragmask: tokens of a segment")
      ->capture_default_str();
  app.add_flag("--relative", ragmask.relative, "ragmask: a share of the similarity instead of an absolute drop");
  app.add_flag("!--no-attack", ragmask.attack, "ragmask: do not plant each question to show attack success");
  app.add_option("-k,--top-k", ragmask.top_k, "passages that reach the answer")->capture_default_str();
  app.add_option("--seed", ragmask.seed, "of what is drawn")->capture_default_str();
  app.add_option("--encoder", choice->encoder, "where the store's encoder lies, if not where the store remembers");
  app.add_flag("--dry-run", choice->dry_run, "measure and print, keep nothing");
  add_language_model_options(app, choice->model);
  return [choice, &context] { return run(context, *choice); };
}

}  // namespace casemate::cli
