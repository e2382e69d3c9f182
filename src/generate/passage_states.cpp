#include "casemate/generate/passage_states.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <list>
#include <map>
#include <mutex>
#include <system_error>

namespace casemate {

struct PassageStates::State {
  struct Entry {
    Digest key{};
    std::shared_ptr<const SequenceState> state;
  };

  std::filesystem::path file(const Digest& key) const { return std::filesystem::path(options.folder) / to_hex(key); }

  void evict_to(std::size_t room) {
    while (use.bytes > room && !recent.empty()) {
      use.bytes -= recent.back().state->bytes.size();
      places.erase(recent.back().key);
      recent.pop_back();
      ++use.evicted;
    }
  }

  void put(const Digest& key, std::shared_ptr<const SequenceState> state) {
    drop(key);
    if (state->bytes.size() > options.max_bytes) return;
    evict_to(options.max_bytes - state->bytes.size());
    use.bytes += state->bytes.size();
    recent.push_front({key, std::move(state)});
    places[key] = recent.begin();
  }

  void drop(const Digest& key) {
    const auto place = places.find(key);
    if (place == places.end()) return;
    use.bytes -= place->second->state->bytes.size();
    recent.erase(place->second);
    places.erase(place);
  }

  std::shared_ptr<const SequenceState> read(const Digest& key) const {
    if (options.folder.empty()) return nullptr;
    std::ifstream in(file(key), std::ios::binary);
    if (!in) return nullptr;
    auto state = std::make_shared<SequenceState>();
    state->bytes.assign(std::istreambuf_iterator<char>(in), {});
    return in.bad() ? nullptr : state;
  }

  PassageStatesOptions options;
  mutable std::mutex mutex;
  std::list<Entry> recent;
  std::map<Digest, std::list<Entry>::iterator> places;
  PassageStatesUse use;
  std::uint64_t written = 0;
};

PassageStates::PassageStates(std::unique_ptr<State> state) : state_(std::move(state)) {}
PassageStates::~PassageStates() = default;

Result<std::unique_ptr<PassageStates>> PassageStates::create(const PassageStatesOptions& options) {
  if (!options.folder.empty()) {
    std::error_code failed;
    std::filesystem::create_directories(options.folder, failed);
    if (failed) return Error{ErrorCode::kIo, "cannot make the folder " + options.folder + ": " + failed.message()};
  }
  auto state = std::make_unique<State>();
  state->options = options;
  return std::unique_ptr<PassageStates>(new PassageStates(std::move(state)));
}

Digest PassageStates::key(std::string_view model_hash, std::string_view tenant, std::span<const TokenId> tokens) {
  return FieldHasher()
      .add(model_hash)
      .add(tenant)
      .add_raw({reinterpret_cast<const char*>(tokens.data()), tokens.size_bytes()})
      .finish();
}

std::shared_ptr<const SequenceState> PassageStates::find(const Digest& key) {
  const std::lock_guard lock(state_->mutex);
  const auto place = state_->places.find(key);
  if (place != state_->places.end()) {
    ++state_->use.hits;
    state_->recent.splice(state_->recent.begin(), state_->recent, place->second);
    return place->second->state;
  }
  auto read = state_->read(key);
  ++(read ? state_->use.hits : state_->use.misses);
  if (read) state_->put(key, read);
  return read;
}

void PassageStates::keep(const Digest& key, SequenceState state) {
  const std::lock_guard lock(state_->mutex);
  auto kept = std::make_shared<const SequenceState>(std::move(state));
  if (!state_->options.folder.empty()) {
    // Written aside and renamed, so that no reader sees half a state.
    const auto target = state_->file(key);
    const auto aside = target.string() + "." + std::to_string(++state_->written) + ".tmp";
    std::ofstream out(aside, std::ios::binary);
    out.write(kept->bytes.data(), static_cast<std::streamsize>(kept->bytes.size()));
    out.close();
    std::error_code failed;
    if (out) std::filesystem::rename(aside, target, failed);
    if (!out || failed) std::filesystem::remove(aside, failed);
  }
  state_->put(key, std::move(kept));
}

void PassageStates::forget(const Digest& key) {
  const std::lock_guard lock(state_->mutex);
  state_->drop(key);
  std::error_code ignored;
  if (!state_->options.folder.empty()) std::filesystem::remove(state_->file(key), ignored);
}

PassageStatesUse PassageStates::use() const {
  const std::lock_guard lock(state_->mutex);
  return state_->use;
}

}  // namespace casemate
