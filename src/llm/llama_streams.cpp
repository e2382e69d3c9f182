#include "llm/llama_streams.h"

#include <algorithm>

namespace casemate::llm {
namespace {

/// Room that sequences have for growing before cells are laid out anew.
constexpr std::size_t kHeadroomTokens = 64;
/// llama.cpp computes neighbouring streams together and begins anew after a gap, which costs about as much as three
/// more rows do: smaller gaps get filler rows that are forgotten afterwards.
constexpr int kSmallGap = 3;

/// A session of at most this share of all cells stays as it is: laying it out anew would save little.
constexpr std::size_t kShareThatIsKept = 4;
/// A larger one goes where nobody has it any more and the next need fewer cells by this factor.
constexpr std::size_t kFarTooLarge = 2;
/// Streams are this long or a multiple of it.
constexpr std::size_t kCellBlock = 256;

bool by_stream(const StepRow& a, const StepRow& b) { return a.user->stream < b.user->stream; }

/// What lies between two streams is filled, so that they are computed together.
bool is_filled(int before, int after) { return after - before - 1 <= kSmallGap; }

}  // namespace

LlamaStreams::LlamaStreams(MakeSession make, int context_tokens, std::size_t max_cells, std::size_t most_rows)
    : make_(std::move(make)),
      most_rows_(std::max<std::size_t>(most_rows, 1)),
      context_tokens_(static_cast<std::size_t>(context_tokens)),
      max_cells_(std::max(max_cells, (kSpareStreams + 2) * stream_length(context_tokens_))) {}

std::size_t LlamaStreams::stream_length(std::size_t tokens) const noexcept {
  const std::size_t cells = std::min(tokens + kHeadroomTokens, context_tokens_ + 1);
  return (cells + kCellBlock - 1) / kCellBlock * kCellBlock;
}

std::size_t LlamaStreams::used() const {
  return static_cast<std::size_t>(
      std::count_if(users_.begin(), users_.end(), [](auto* user) { return user != nullptr; }));
}

Status LlamaStreams::reserve(std::size_t more, std::size_t length) {
  std::size_t longest = length;
  for (const StreamUser* user : users_) longest = std::max(longest, user == nullptr ? 0 : user->cells);
  const Shape least = {used() + more + kSpareStreams, stream_length(longest)};
  Shape now;
  if (session_ != nullptr) {
    now = {static_cast<std::size_t>(session_->options().streams),
           static_cast<std::size_t>(session_->options().tokens_per_stream)};
  }
  const bool too_large =
      used() == 0 && now.cells() > max_cells_ / kShareThatIsKept && now.cells() > kFarTooLarge * least.cells();
  if (!too_large && now.streams >= least.streams && now.length > length) return {};
  Shape shape = least;
  if (!too_large) shape = {std::max(now.streams, least.streams), std::max(now.length, least.length)};
  if (shape.cells() > max_cells_) shape = least;
  if (shape.cells() > max_cells_) {
    return Error{ErrorCode::kLimit, std::to_string(shape.streams) + " streams of " + std::to_string(shape.length) +
                                        " cells would be needed, and there are " + std::to_string(max_cells_) +
                                        " cells; ask for fewer or shorter sequences, or raise max_cells"};
  }
  return rebuild(shape);
}

/// Sequences that are there keep their order and lie without gaps afterwards.
Status LlamaStreams::rebuild(Shape shape) {
  auto fresh = make_(static_cast<int>(shape.streams), static_cast<int>(shape.length));
  if (!fresh) return fresh.error();
  const auto carry = [&](int from, int to) -> Status {
    auto bytes = session_->save(from);
    if (!bytes) return bytes.error();
    return (*fresh)->load(to, *bytes);
  };
  const bool keeps_base = base_.size() <= shape.length;
  if (!base_.empty() && keeps_base) {
    if (Status carried = carry(0, 0); !carried) return carried;
  }
  std::vector<StreamUser*> users(shape.streams, nullptr);
  int next = 1;
  for (StreamUser* user : users_) {
    if (user == nullptr) continue;
    if (user->cells > 0) {
      if (Status carried = carry(user->stream, next); !carried) return carried;
    }
    users[static_cast<std::size_t>(next++)] = user;
  }
  for (std::size_t s = 0; s < users.size(); ++s) {
    if (users[s] != nullptr) users[s]->stream = static_cast<int>(s);
  }
  if (!keeps_base) base_.clear();
  session_ = std::move(*fresh);
  users_ = std::move(users);
  return {};
}

void LlamaStreams::take(StreamUser& user) {
  const auto free = std::find(users_.begin() + 1, users_.end() - 1, nullptr);
  *free = &user;
  user = {static_cast<int>(free - users_.begin()), 0, false};
}

void LlamaStreams::release(StreamUser& user) {
  if (user.stream < 0) return;
  session_->truncate(user.stream, 0);
  users_[static_cast<std::size_t>(user.stream)] = nullptr;
  user = {};
}

void LlamaStreams::truncate(StreamUser& user, std::size_t tokens) {
  if (user.cells <= tokens) return;
  session_->truncate(user.stream, tokens);
  user.cells = tokens;
}

void LlamaStreams::move(int from, int to) {
  StreamUser*& mover = users_[static_cast<std::size_t>(from)];
  StreamUser*& other = users_[static_cast<std::size_t>(to)];
  const int aside = static_cast<int>(users_.size()) - 1;
  if (other != nullptr && other->cells > 0) session_->copy(to, aside);
  session_->copy(from, to);
  if (other != nullptr && other->cells > 0) {
    session_->copy(aside, from);
  } else {
    session_->truncate(from, 0);
  }
  session_->truncate(aside, 0);
  std::swap(mover, other);
  if (mover != nullptr) mover->stream = from;
  other->stream = to;
}

/// Sequences that go on change places with those that have ended or rest.
void LlamaStreams::close_gaps(const std::vector<StepRow>& rows) {
  std::vector<int> at;
  for (const StepRow& row : rows) at.push_back(row.user->stream);
  std::sort(at.begin(), at.end());
  for (int gap = at.front() + 1; gap < at.back(); ++gap) {
    if (std::binary_search(at.begin(), at.end(), gap)) continue;
    const StreamUser* user = users_[static_cast<std::size_t>(gap)];
    if (user != nullptr && !user->rests) continue;
    move(at.back(), gap);
    at.back() = gap;
    std::sort(at.begin(), at.end());
  }
}

Status LlamaStreams::decode(std::span<LlamaStep* const> steps, std::size_t& count) {
  std::vector<StepRow> rows;
  for (const LlamaStep* step : steps) {
    rows.insert(rows.end(), step->rows.begin(), step->rows.end());
    for (const StepRow& row : step->rows) row.user->rests = false;
    for (StreamUser* user : step->resting) user->rests = true;
  }
  std::size_t longest = 0;
  for (const StepRow& row : rows) longest = std::max(longest, row.position + 1);
  if (Status room = reserve(0, longest); !room) return room;
  for (const StepRow& row : rows) truncate(*row.user, row.position);
  close_gaps(rows);
  std::sort(rows.begin(), rows.end(), by_stream);
  const Status decoded = decode_in_parts(rows, count);
  if (!decoded) {
    for (const StepRow& row : rows) {
      row.user->cells = row.position + 1;  // as many as there may be
      truncate(*row.user, row.position);
    }
  }
  return decoded;
}

Status LlamaStreams::decode_in_parts(std::span<const StepRow> rows, std::size_t& count) {
  while (!rows.empty()) {
    const auto taken = decode_part(rows, count);
    if (!taken) return taken.error();
    rows = rows.subspan(*taken);
  }
  return {};
}

Result<std::size_t> LlamaStreams::decode_part(std::span<const StepRow> rows, std::size_t& count) {
  std::vector<Row> input;
  std::vector<std::size_t> places;                   // in `input`, by row
  std::vector<std::pair<int, std::size_t>> fillers;  // stream and where its own cells end
  for (const StepRow& row : rows) {
    const int stream = row.user->stream;
    const int before = input.empty() ? stream - 1 : input.back().stream;
    const int gap_size = is_filled(before, stream) ? stream - before - 1 : 0;
    if (input.size() + static_cast<std::size_t>(gap_size) + 1 > most_rows_) break;
    for (int gap = stream - gap_size; gap < stream; ++gap) {
      const StreamUser* user = users_[static_cast<std::size_t>(gap)];
      fillers.emplace_back(gap, user == nullptr ? 0 : user->cells);
      if (fillers.back().second >= static_cast<std::size_t>(session_->options().tokens_per_stream)) {
        fillers.pop_back();  // it is full: a gap then
        continue;
      }
      input.push_back({row.token, static_cast<std::int32_t>(fillers.back().second), gap, false});
    }
    places.push_back(input.size());
    input.push_back({row.token, static_cast<std::int32_t>(row.position), stream, true});
  }
  // Not to be stopped in the middle: a step is short, and streams that were moved are copied at its beginning.
  const Status decoded = session_->decode(input, {});
  for (const auto& [stream, cells] : fillers) session_->truncate(stream, cells);
  if (!decoded) return decoded.error();
  count += input.size();
  for (std::size_t i = 0; i < places.size(); ++i) {
    rows[i].user->cells = rows[i].position + 1;
    const auto logits = session_->logits(places[i]);
    if (!logits) return logits.error();
    rows[i].logits->assign(logits->begin(), logits->end());
  }
  return places.size();
}

std::size_t LlamaStreams::compute(std::span<LlamaStep* const> steps) {
  std::size_t rows = 0;
  std::vector<LlamaStep*> going;
  for (LlamaStep* step : steps) {
    if (step->stop.stop_requested()) {
      step->status = stopped();
    } else {
      going.push_back(step);
    }
  }
  if (going.empty()) return 0;
  const Status together = decode(going, rows);
  for (LlamaStep* step : going) {
    step->status = together;
    // What went wrong may be one's alone.
    if (!together && going.size() > 1) step->status = decode(std::span(&step, 1), rows);
  }
  return rows;
}

}  // namespace casemate::llm
