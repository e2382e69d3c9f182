#include "casemate/core/nearest_name.h"

#include <gtest/gtest.h>

#include <array>

namespace casemate {
namespace {

constexpr std::array<std::string_view, 4> kKnown = {"top_k", "max_cosine", "pool_size", "mask_length_tokens"};

TEST(NearestName, SlipsOfTheFingerFindTheName) {
  EXPECT_EQ(nearest_name("topk", kKnown), "top_k");
  EXPECT_EQ(nearest_name("tpo_k", kKnown), "top_k");
  EXPECT_EQ(nearest_name("Max-Cosine", kKnown), "max_cosine");
  EXPECT_EQ(nearest_name("pool_szie", kKnown), "pool_size");
  EXPECT_EQ(nearest_name("mask_len_tokens", kKnown), "mask_length_tokens");
}

TEST(NearestName, WhatIsFarFromAllNamesFindsNone) {
  EXPECT_EQ(nearest_name("temperature", kKnown), "");
  EXPECT_EQ(nearest_name("", kKnown), "");
  EXPECT_EQ(nearest_name("z", std::array<std::string_view, 1>{"k"}), "");
  EXPECT_EQ(nearest_name(std::string(100'000, 'x'), kKnown), "");
}

TEST(NearestName, TheHintNamesTheNearOneOrAllOrNothing) {
  EXPECT_EQ(name_hint("topk", kKnown), " (did you mean \"top_k\"?)");
  EXPECT_EQ(name_hint("temperature", kKnown), " (known: top_k, max_cosine, pool_size, mask_length_tokens)");
  EXPECT_EQ(name_hint("topk", std::array<std::string_view, 0>{}), "");
}

}  // namespace
}  // namespace casemate
