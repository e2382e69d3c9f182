// src/retrieve/aligned_array.h
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <span>

namespace casemate {

/// Zeroed memory, 64-byte aligned, for kernels. Empty where there was not enough.
template <typename T>
class AlignedArray {
 public:
  AlignedArray() = default;
  explicit AlignedArray(std::size_t size) {
    constexpr std::size_t kAlignment = 64;
    const std::size_t bytes = (size * sizeof(T) + kAlignment) / kAlignment * kAlignment;
    memory_.reset(static_cast<T*>(std::aligned_alloc(kAlignment, bytes)));
    if (!memory_) return;
    size_ = size;
    std::fill_n(memory_.get(), size, T());
  }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] T* data() noexcept { return memory_.get(); }
  [[nodiscard]] const T* data() const noexcept { return memory_.get(); }

 private:
  struct Free {
    void operator()(void* block) const noexcept { std::free(block); }
  };
  std::unique_ptr<T[], Free> memory_;
  std::size_t size_ = 0;
};

}  // namespace casemate
