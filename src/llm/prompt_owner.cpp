#include "casemate/llm/prompt_owner.h"

#include <utility>

namespace casemate {
namespace {

std::string& owner_of_this_thread() noexcept {
  thread_local std::string owner;
  return owner;
}

}  // namespace

PromptOwner::PromptOwner(std::string owner) : outer_(std::exchange(owner_of_this_thread(), std::move(owner))) {}
PromptOwner::~PromptOwner() { owner_of_this_thread() = std::move(outer_); }
const std::string& PromptOwner::current() noexcept { return owner_of_this_thread(); }

}  // namespace casemate
