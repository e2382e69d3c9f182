#include "testing/simulated_disk.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "casemate/core/random.h"

namespace casemate::testing {
namespace {

void apply(std::string& content, const SimulatedDisk::Inode::Pending& change, std::size_t bytes) {
  if (change.truncate) {
    content.resize(static_cast<std::size_t>(change.offset));
    return;
  }
  const auto offset = static_cast<std::size_t>(change.offset);
  if (content.size() < offset + bytes) content.resize(offset + bytes);
  std::copy_n(change.data.begin(), bytes, content.begin() + static_cast<std::ptrdiff_t>(offset));
}

std::string content_after_cut(const SimulatedDisk::Inode& inode, FaultyFileSystem::Unsynced unsynced,
                              RandomStream& random) {
  std::string content = inode.durable;
  if (unsynced == FaultyFileSystem::Unsynced::kDropped) return content;
  for (std::size_t i = 0; i < inode.pending.size(); ++i) {
    const SimulatedDisk::Inode::Pending& change = inode.pending[i];
    if (unsynced == FaultyFileSystem::Unsynced::kRandom && random.below(2) == 0) continue;
    const bool torn = unsynced == FaultyFileSystem::Unsynced::kTorn && i + 1 == inode.pending.size();
    apply(content, change, torn ? change.data.size() / 2 : change.data.size());
  }
  return content;
}

}  // namespace

SimulatedDisk::Verdict SimulatedDisk::count(bool takes_space) {
  const std::lock_guard<std::mutex> lock(mutex_);
  ++operations_;
  const bool now = fault_at_ != 0 && operations_ == fault_at_;
  if (now) tripped_ = true;
  if (!tripped_ || fault_at_ == 0) return Verdict::kGo;
  switch (fault_) {
    case FaultyFileSystem::Fault::kIoError:
      return now ? Verdict::kIoError : Verdict::kGo;
    case FaultyFileSystem::Fault::kDiskFull:
      return takes_space ? Verdict::kDiskFull : Verdict::kGo;
    case FaultyFileSystem::Fault::kPowerCut:
      return Verdict::kIoError;
  }
  return Verdict::kGo;
}

bool SimulatedDisk::is_dead() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return tripped_ && fault_at_ != 0 && fault_ == FaultyFileSystem::Fault::kPowerCut;
}

std::shared_ptr<SimulatedDisk::Inode> SimulatedDisk::adopt(const std::string& path) {
  const auto found = current_.find(path);
  if (found != current_.end()) return found->second;
  if (seen_.count(path) != 0) return nullptr;  // it was removed or renamed
  std::ifstream file(path, std::ios::binary);
  if (!file) return nullptr;
  auto inode = std::make_shared<Inode>();
  inode->durable.assign(std::istreambuf_iterator<char>(file), {});
  current_[path] = inode;
  durable_[path] = inode;
  seen_.insert(path);
  return inode;
}

void SimulatedDisk::set_name(const std::string& path, std::shared_ptr<Inode> inode) {
  seen_.insert(path);
  name_changes_.push_back({path, inode});
  if (inode) {
    current_[path] = std::move(inode);
  } else {
    current_.erase(path);
  }
}

std::shared_ptr<SimulatedDisk::Inode> SimulatedDisk::find(const std::string& path) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return adopt(path);
}

std::shared_ptr<SimulatedDisk::Inode> SimulatedDisk::create(const std::string& path) {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::shared_ptr<Inode> inode = adopt(path);
  if (inode) {
    inode->pending.push_back({true, 0, {}});
    return inode;
  }
  inode = std::make_shared<Inode>();
  set_name(path, inode);
  return inode;
}

void SimulatedDisk::write(Inode& inode, std::uint64_t offset, std::string_view data) {
  const std::lock_guard<std::mutex> lock(mutex_);
  inode.pending.push_back({false, offset, std::string(data)});
}
void SimulatedDisk::truncate(Inode& inode, std::uint64_t size) {
  const std::lock_guard<std::mutex> lock(mutex_);
  inode.pending.push_back({true, size, {}});
}
void SimulatedDisk::sync(Inode& inode) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const Inode::Pending& change : inode.pending) apply(inode.durable, change, change.data.size());
  inode.pending.clear();
}

void SimulatedDisk::rename(const std::string& from, const std::string& to) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const std::shared_ptr<Inode> inode = adopt(from);
  adopt(to);
  set_name(to, inode);
  set_name(from, nullptr);
}
void SimulatedDisk::remove(const std::string& path) {
  const std::lock_guard<std::mutex> lock(mutex_);
  adopt(path);
  set_name(path, nullptr);
}
void SimulatedDisk::sync_directory(const std::string& folder) {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::erase_if(name_changes_, [&](const NameChange& change) {
    if (parent_path(change.path) != folder) return false;
    if (change.inode) {
      durable_[change.path] = change.inode;
    } else {
      durable_.erase(change.path);
    }
    return true;
  });
}

std::uint64_t SimulatedDisk::operations() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return operations_;
}
void SimulatedDisk::arm(FaultyFileSystem::Fault fault, std::uint64_t at) {
  const std::lock_guard<std::mutex> lock(mutex_);
  fault_ = fault;
  fault_at_ = operations_ + at;
  tripped_ = false;
}
void SimulatedDisk::disarm() {
  const std::lock_guard<std::mutex> lock(mutex_);
  fault_at_ = 0;
}
bool SimulatedDisk::tripped() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return tripped_;
}

Status SimulatedDisk::restore(FaultyFileSystem::Unsynced unsynced, std::uint64_t seed) {
  const std::lock_guard<std::mutex> lock(mutex_);
  RandomStream random(seed, "testing/power-cut");
  std::size_t surviving = 0;
  if (unsynced == FaultyFileSystem::Unsynced::kTorn) surviving = name_changes_.size();
  if (unsynced == FaultyFileSystem::Unsynced::kRandom)
    surviving = static_cast<std::size_t>(random.below(name_changes_.size() + 1));
  Names names = durable_;
  for (std::size_t i = 0; i < surviving; ++i) {
    if (name_changes_[i].inode) {
      names[name_changes_[i].path] = name_changes_[i].inode;
    } else {
      names.erase(name_changes_[i].path);
    }
  }
  for (const std::string& path : seen_) {
    std::error_code ignored;
    std::filesystem::remove(path + "-shm", ignored);  // memory of the processes that died
    if (names.count(path) == 0) std::filesystem::remove(path, ignored);
  }
  Names settled;
  for (const auto& [path, inode] : names) {
    auto kept = std::make_shared<Inode>();
    kept->durable = content_after_cut(*inode, unsynced, random);
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file.write(kept->durable.data(), static_cast<std::streamsize>(kept->durable.size()));
    if (!file.flush()) return Error{ErrorCode::kIo, path + ": cannot restore the file"};
    settled[path] = std::move(kept);
  }
  current_ = settled;
  durable_ = std::move(settled);
  name_changes_.clear();
  fault_at_ = 0;
  tripped_ = false;
  return {};
}

}  // namespace casemate::testing
