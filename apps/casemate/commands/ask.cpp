#include <iomanip>
#include <iostream>

#include "casemate/core/file_system.h"
#include "command.h"
#include "open_pipeline.h"

namespace casemate::cli {
namespace {

void print_sources(const Answer& answer, bool explain) {
  std::cout << "\n\nSources:\n";
  for (const Source& source : answer.sources) {
    std::cout << (source.cited ? " *" : "  ") << "[" << source.number << "] " << place_text(source.hit) << '\n';
    if (explain) std::cout << excerpt(source.hit.text, 100, 4, "       ");
  }
  for (const StageEvidence& stage : answer.evidence.stages) {
    for (const Verdict& verdict : stage.verdicts) {
      if (verdict.decision == Decision::kKept) continue;
      std::cout << "  " << decision_name(verdict.decision) << " in stage " << stage.stage << ": "
                << UntrustedText(verdict.document).for_log(80) << ": " << UntrustedText(verdict.reason).for_log()
                << '\n';
    }
    for (const std::string& note : stage.notes) std::cout << "  note: " << UntrustedText(note).for_log(300) << '\n';
  }
  const bool aggregated = answer.evidence.generation.has_value();
  std::cout << "  (* " << (aggregated ? "stands behind the answer" : "named in the answer") << "; policy "
            << answer.policy << ")\n";
}

/// What the answer is worth, in one sentence.
void print_certified(const GenerationEvidence& generation, std::size_t passages) {
  if (!generation.certified) return;
  if (generation.k_prime == 0) {
    std::cout << "Not certified: " << generation.limited_by << ".\n";
    return;
  }
  const std::string budget = std::to_string(generation.k_prime);
  std::cout << "Certified: no " << budget << " of these " << passages << " passages can change this answer"
            << (generation.method == "keyword" ? " (up to case, punctuation, articles and white space)" : "");
  if (!generation.limited_by.empty()) std::cout << " (more is not claimed: " << generation.limited_by << ")";
  std::cout << ".\n";
}

/// Which groups said what, for --explain.
void print_groups(const GenerationEvidence& generation, std::span<const Source> sources) {
  const auto number_of = [&](ChunkId id) {
    for (const Source& source : sources) {
      if (source.hit.id == id) return std::to_string(source.number);
    }
    return std::string("?");
  };
  std::cout << "\nGroups (" << generation.method << ", * stands behind the answer):\n";
  for (const GroupEvidence& group : generation.groups) {
    std::string numbers;
    for (const ChunkId id : group.passages) numbers += (numbers.empty() ? "" : ", ") + number_of(id);
    std::cout << (group.stands_behind ? " *" : "  ") << "[" << numbers << "] ";
    if (group.too_long) {
      std::cout << "does not fit the context";
    } else if (group.abstains) {
      std::cout << "declines";
    } else if (generation.method == "decoding") {
      std::cout << std::fixed << std::setprecision(0) << 100 * group.agreement << " % of the tokens are its own";
    } else {
      std::cout << group.answer.for_log(100);
    }
    if (group.smallest_gap && !group.too_long)
      std::cout << std::fixed << std::setprecision(3) << "  (gap " << *group.smallest_gap << ")";
    std::cout << '\n';
  }
  std::size_t shown = 0;
  for (const auto& [name, count] : generation.counts) {
    if (++shown > 10) break;
    std::cout << "   " << count << " x " << UntrustedText(name).for_log(80) << '\n';
  }
  if (!generation.hints.empty()) {
    std::cout << "   hints:";
    for (const std::string& hint : generation.hints) std::cout << ' ' << UntrustedText(hint).for_log(60) << ';';
    std::cout << '\n';
  }
  std::cout << "   " << generation.decoded_tokens << " tokens computed, " << generation.reused_tokens << " shared\n";
}

/// What stood in the passages' place, for --explain: the owner's view.
void print_protection(const Evidence& evidence) {
  if (evidence.sanitizer) {
    const SanitizerRecord& record = *evidence.sanitizer;
    std::cout << "\nIn the passages' place (" << record.mode << "): " << record.disclosed_characters << " of "
              << record.context_characters << " characters go on\n";
    if (record.keywords) {
      std::cout << "  draft: " << record.keywords->draft.for_log(120) << '\n';
      for (const ApCandidate& each : record.keywords->candidates) {
        std::cout << (each.chosen ? " * " : "   ") << each.phrase.for_log(60) << std::setprecision(3)
                  << std::defaultfloat << "  attention " << each.direct << "  rollout " << each.rollout;
        if (each.loss_change) std::cout << "  loss " << std::showpos << *each.loss_change << std::noshowpos;
        std::cout << "  x" << each.occurrences.size() << '\n';
      }
    }
    for (const FactRecord& fact : record.facts)
      std::cout << "  fact (" << fact_fate_name(fact.fate) << "): " << fact.text.for_log(200) << '\n';
    for (std::size_t i = 0; i < record.passages.size(); ++i) {
      std::cout << "  passage " << i + 1 << ": " << record.passages[i].characters << " characters, at most "
                << record.passages[i].longest_shared_run << " words in a row go on\n";
    }
  }
  if (evidence.guard) {
    const GuardReport& report = *evidence.guard;
    std::cout << "\nGuard: longest run " << report.longest_run_words << " words, largest share " << std::setprecision(2)
              << std::defaultfloat << report.largest_share << (report.ended ? "; ended" : "") << '\n';
    for (const GuardIncident& each : report.incidents)
      std::cout << "  incident: " << incident_kind_name(each.kind) << ", " << each.form << ", passage or canary "
                << each.passage + 1 << ", " << each.words << " words\n";
  }
}

/// What ask is told beside what search is.
struct AskChoice {
  PipelineChoice pipeline;
  std::vector<std::string> options;
  std::string certificate;  ///< file to write
};

int run(Context& context, const AskChoice& asked) {
  PipelineChoice choice = asked.pipeline;
  if (!asked.options.empty() && choice.generation.aggregation.empty()) choice.generation.aggregation = "voting";
  auto open = open_pipeline(context, choice, true);
  if (!open) return context.fail(open.error());
  for (const std::string& option : asked.options) open->options.options.emplace_back(option);
  const bool stream = !context.json;
  const auto answer = open->pipeline->ask(
      UntrustedText(choice.query.text), open->options,
      [stream](const UntrustedText& text) {
        if (stream) std::cout << text.for_terminal() << std::flush;
      },
      context.stop);
  if (!answer) return context.fail(answer.error());
  if (!asked.certificate.empty() && !answer->certificate.empty()) {
    if (Status written = write_file_atomically(FileSystem::posix(), asked.certificate, answer->certificate); !written)
      return context.fail(written.error());
  }
  if (context.json) {
    std::cout << to_json(*answer) << '\n';
    return kDone;
  }
  if (answer->sources.empty()) std::cout << answer->text.for_terminal();
  if (answer->finish_reason == "withheld") std::cout << "\n[withheld: the answer reproduced too much of a passage]";
  print_sources(*answer, choice.explain);
  if (answer->evidence.generation) {
    print_certified(*answer->evidence.generation, answer->sources.size());
    if (!asked.certificate.empty() && !answer->certificate.empty())
      std::cout << "Wrote " << asked.certificate << "; casemate verify checks it.\n";
    if (choice.explain) print_groups(*answer->evidence.generation, answer->sources);
  }
  if (choice.explain) {
    print_protection(answer->evidence);
    std::vector<Hit> hits;
    for (const Source& source : answer->sources) hits.push_back(source.hit);
    print_explanation(hits, answer->evidence);
  }
  return kDone;
}

}  // namespace

std::function<int()> set_up_ask(CLI::App& app, Context& context) {
  auto choice = std::make_shared<AskChoice>();
  add_pipeline_options(app, choice->pipeline, "question");
  add_generation_options(app, choice->pipeline.generation);
  app.add_option("--option", choice->options,
                 "one option of a multiple choice, A first; the answer is a letter (may be given again)");
  app.add_option("--certificate", choice->certificate, "file to write the certificate to");
  return [choice, &context] { return run(context, *choice); };
}

}  // namespace casemate::cli
