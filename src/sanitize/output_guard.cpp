#include "casemate/sanitize/output_guard.h"

#include <algorithm>
#include <deque>

#include "casemate/core/named_options.h"
#include "casemate/core/utf8.h"
#include "sanitize/decoded.h"
#include "sanitize/options.h"
#include "sanitize/run_matcher.h"

namespace casemate {
namespace {

using sanitize::RunMatcher;
using sanitize::RunningMatch;
using sanitize::SoughtText;

constexpr std::string_view kWithheld = "[withheld]";
constexpr std::size_t kCanaryLetters = 10;  ///< so many of a canary in a row are no chance

/// What of a canary nobody can guess: behind the last "-", where that is long enough.
std::string_view secret_of(std::string_view canary) {
  const std::size_t dash = canary.rfind('-');
  if (dash == std::string_view::npos || canary.size() - dash - 1 < kCanaryLetters) return canary;
  return canary.substr(dash + 1);
}

constexpr std::array<std::pair<std::string_view, GuardReaction>, 3> kReactions = {
    {{"stop", GuardReaction::kStop}, {"redact", GuardReaction::kRedact}, {"facts", GuardReaction::kFacts}}};

}  // namespace

struct OutputGuard::State {
  GuardOptions options;
  GuardReport report;
  sanitize::Skeleton skeleton;
  sanitize::SoughtTexts sought;
  RunMatcher matcher{sought};
  std::vector<std::vector<bool>> reproduced;  ///< words of each passage
  std::vector<std::size_t> reproduced_count;

  std::string undecoded;              ///< the beginning of a character whose end has not come yet
  std::string pending;                ///< text that was not given out
  std::deque<std::size_t> letter_at;  ///< for the last letters: how many bytes of `pending` stand before each
  sanitize::EncodedRun encoded;
  std::size_t encoded_at = 0;  ///< bytes of `pending` before the coded run
  bool code_found = false;     ///< the coded run is what ends the answer
  bool redacting = false;

  [[nodiscard]] std::size_t limit() const { return static_cast<std::size_t>(options.max_run_words); }

  void incident(GuardIncident each) {
    // One for each passage, kind and form is enough to act on; a stream of them would only fill the report.
    for (GuardIncident& known : report.incidents) {
      if (known.kind != each.kind || known.passage != each.passage || known.form != each.form) continue;
      known.words = std::max(known.words, each.words);
      known.share = std::max(known.share, each.share);
      return;
    }
    report.incidents.push_back(std::move(each));
  }

  /// Looks at what runs now. True: the answer must end. `too_long` is set where a run is over the limit.
  bool examine(const RunMatcher& runs, std::string_view coding, bool& too_long) {
    bool end = false;
    for (const RunningMatch& match : runs.matches()) {
      const SoughtText& text = sought.texts()[match.text];
      const std::string form(coding.empty() ? text.form : coding);
      if (text.canary) {
        if (match.letters() >= std::min(kCanaryLetters, text.letters.size())) {
          incident({IncidentKind::kCanary, text.passage, 0, 0, form});
          end = true;
        }
        continue;
      }
      const RunMatcher::Words words = runs.words(match);
      report.longest_run_words = std::max(report.longest_run_words, words.count);
      const double share = mark(text, words);
      if (words.count > limit()) {
        incident({IncidentKind::kRun, text.passage, words.count, share, form});
        too_long = true;
      }
      if (share > options.max_share && reproduced_count[text.passage] > limit()) {
        incident({IncidentKind::kShare, text.passage, reproduced_count[text.passage], share, form});
        end = true;
      }
    }
    return end;
  }

  /// Counts the words of a run into what was reproduced of its passage; the share of it.
  double mark(const SoughtText& text, const RunMatcher::Words& words) {
    std::vector<bool>& seen = reproduced[text.passage];
    if (words.count >= static_cast<std::size_t>(options.share_run_words)) {
      for (std::size_t i = 0; i < words.count; ++i) {
        const std::uint32_t own = text.own_word[words.first + i];
        if (!seen[own]) ++reproduced_count[text.passage];
        seen[own] = true;
      }
    }
    const double share =
        seen.empty() ? 0 : static_cast<double>(reproduced_count[text.passage]) / static_cast<double>(seen.size());
    report.largest_share = std::max(report.largest_share, share);
    return share;
  }

  /// Bytes of `pending` that may go out.
  [[nodiscard]] std::size_t releasable() const {
    std::size_t out = encoded.holds() ? std::min(encoded_at, pending.size()) : pending.size();
    for (const RunningMatch& match : matcher.matches()) {
      const bool canary = sought.texts()[match.text].canary;
      const std::size_t beyond = canary ? match.letters() : matcher.letters_beyond(match, limit());
      if (beyond == 0) continue;
      const std::size_t from = letter_at.size() - std::min(beyond, letter_at.size());
      if (from < letter_at.size()) out = std::min(out, letter_at[from]);
    }
    return out;
  }

  std::string release(std::size_t bytes) {
    std::string out = pending.substr(0, bytes);
    pending.erase(0, bytes);
    for (std::size_t& at : letter_at) at = at > bytes ? at - bytes : 0;
    encoded_at = encoded_at > bytes ? encoded_at - bytes : 0;
    return out;
  }

  bool end_answer(std::string& out) {
    const std::size_t most = code_found ? std::min(encoded_at, pending.size()) : pending.size();
    out += release(std::min(most, releasable()));
    pending.clear();
    letter_at.clear();
    report.ended = true;
    return true;
  }

  /// One character. True: the answer ends.
  bool take(char32_t value, std::string_view bytes, std::string& out) {
    const std::u32string letters = skeleton.of(value);
    const std::size_t at = pending.size();
    pending += bytes;
    bool too_long = false;
    bool end = false;
    for (const char32_t letter : letters) {
      letter_at.push_back(at);
      matcher.push(letter);
      end = examine(matcher, {}, too_long) || end;
    }
    // Letters before what has been given out are of no use any more.
    while (letter_at.size() > 4096) letter_at.pop_front();
    if (encoded.empty()) encoded_at = at;
    if (encoded.push(value)) {
      end = look_into_code() || end;
      encoded_at += encoded.trim();
    }
    if (encoded.empty()) encoded_at = pending.size();
    if (end) return end_answer(out);
    if (!too_long) {
      if (!redacting) return false;
      if (letters.empty()) {
        pending.resize(at);  // blanks and points inside what is withheld
      } else {
        pending.insert(0, " ");
        for (std::size_t& each : letter_at) ++each;
        redacting = false;
      }
      return false;
    }
    if (options.reaction != GuardReaction::kRedact) return end_answer(out);
    if (!redacting) {
      out += release(releasable());
      out += kWithheld;
      ++report.redacted;
    }
    redacting = true;
    drop_whole_words();
    return false;
  }

  /// Of a run that is withheld, only the word that has just begun is left: it may turn out to be another one.
  void drop_whole_words() {
    std::size_t begun = letter_at.size();
    for (const RunningMatch& match : matcher.matches()) {
      const std::size_t words = matcher.words(match).count;
      if (!sought.texts()[match.text].canary && words > limit())
        begun = std::min(begun, matcher.letters_beyond(match, words));
    }
    const std::size_t keep = begun == 0 ? pending.size() : letter_at[letter_at.size() - begun];
    pending.erase(0, keep);
    letter_at.erase(letter_at.begin(), letter_at.end() - static_cast<std::ptrdiff_t>(begun));
    for (std::size_t& each : letter_at) each -= keep;
    encoded_at = encoded_at > keep ? encoded_at - keep : 0;
  }

  /// Reads what a coded run says so far. True: the answer must end; a coded run is never redacted.
  bool look_into_code() {
    for (const sanitize::Decoded& decoded : encoded.decode()) {
      RunMatcher runs(sought);
      bool too_long = false;
      bool end = false;
      for (std::size_t at = 0; at < decoded.text.size();) {
        const CodePoint point = read_code_point(decoded.text, at);
        for (const char32_t letter : skeleton.of(point.value)) {
          runs.push(letter);
          end = examine(runs, decoded.coding, too_long) || end;
        }
        at += point.length;
      }
      code_found = code_found || end || too_long;
    }
    return code_found;
  }
};

std::string_view guard_reaction_name(GuardReaction reaction) noexcept {
  return sanitize::name_of(kReactions, reaction);
}

std::string_view incident_kind_name(IncidentKind kind) noexcept {
  switch (kind) {
    case IncidentKind::kRun:
      return "run";
    case IncidentKind::kShare:
      return "share";
    case IncidentKind::kCanary:
      return "canary";
  }
  return "run";
}

Status validate(const GuardOptions& options) {
  if (options.max_run_words < 3 || options.max_run_words > 1000)
    return Error{ErrorCode::kInvalidOption, "guard: max_run_words must be in 3 to 1000"};
  if (!(options.max_share > 0 && options.max_share <= 1))
    return Error{ErrorCode::kInvalidOption, "guard: max_share must be above 0 and at most 1"};
  if (options.share_run_words < 2 || options.share_run_words > 1000)
    return Error{ErrorCode::kInvalidOption, "guard: share_run_words must be in 2 to 1000"};
  return {};
}

Result<GuardOptions> parse_guard(std::string_view text) {
  GuardOptions out;
  const NamedOptions parts = split_named_options(text);
  if (Status known = read_choice(parts.name, "guard", kReactions, out.reaction); !known) return known.error();
  const auto map = parse_named_options("guard", parts.options);
  if (!map) return map.error();
  YamlOptions fields(*map);
  fields.read("max_run_words", out.max_run_words, 3, 1000)
      .read("max_share", out.max_share, 0.0, 1.0)
      .read("share_run_words", out.share_run_words, 2, 1000);
  if (Status read = fields.finish(); !read) return read.error();
  if (Status good = validate(out); !good) return good.error();
  return out;
}

OutputGuard::OutputGuard(std::unique_ptr<State> state) : state_(std::move(state)) {}
OutputGuard::~OutputGuard() = default;

Result<std::unique_ptr<OutputGuard>> OutputGuard::create(const GuardOptions& options,
                                                         std::span<const ContextPassage> passages,
                                                         std::span<const std::string> canaries) {
  if (Status good = validate(options); !good) return good.error();
  auto state = std::make_unique<State>();
  state->options = options;
  for (std::size_t i = 0; i < passages.size(); ++i)
    state->sought.add_passage(passages[i].title.bytes() + "\n" + passages[i].text.bytes(), i, state->skeleton);
  for (std::size_t i = 0; i < canaries.size(); ++i)
    state->sought.add_canary(std::string(secret_of(canaries[i])), i, state->skeleton);
  for (const std::size_t words : state->sought.words_of_passages()) state->reproduced.emplace_back(words, false);
  state->reproduced_count.assign(state->reproduced.size(), 0);
  return std::unique_ptr<OutputGuard>(new OutputGuard(std::move(state)));  // private constructor; owned at once
}

GuardedText OutputGuard::push(std::string_view piece) {
  State& state = *state_;
  GuardedText out;
  if (state.report.ended) return {{}, true};
  std::string text = std::move(state.undecoded);
  state.undecoded.clear();
  text += piece;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = read_code_point(text, at);
    // A broken sequence at the very end may be a character whose rest is still to come.
    if (point.value == kInvalidCodePoint && at + point.length == text.size() && point.length < 4) {
      state.undecoded = text.substr(at);
      break;
    }
    const bool broken = point.value == kInvalidCodePoint;
    const std::string_view bytes = broken ? "\xEF\xBF\xBD" : std::string_view(text).substr(at, point.length);
    if (state.take(broken ? U'\uFFFD' : point.value, bytes, out.text)) return {std::move(out.text), true};
    at += point.length;
  }
  out.text += state.release(state.releasable());
  return out;
}

GuardedText OutputGuard::finish() {
  State& state = *state_;
  GuardedText out;
  if (state.report.ended) return {{}, true};
  if (!state.undecoded.empty()) {
    state.undecoded.clear();
    if (state.take(U'\uFFFD', "\xEF\xBF\xBD", out.text)) return {std::move(out.text), true};
  }
  // The end of the answer ends whatever word or code ran into it.
  if (state.encoded.finish() && state.look_into_code()) {
    state.end_answer(out.text);
    return {std::move(out.text), true};
  }
  out.text += state.release(state.pending.size());
  return out;
}

const GuardReport& OutputGuard::report() const noexcept { return state_->report; }

}  // namespace casemate
