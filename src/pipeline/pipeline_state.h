// src/pipeline/pipeline_state.h
#pragma once

#include <map>
#include <memory>

#include "casemate/pipeline/pipeline.h"

namespace casemate {

struct Pipeline::State {
  const Store* store = nullptr;
  LanguageModel* model = nullptr;
  Policy policy;
  std::map<RetrievalMode, std::unique_ptr<Retriever>> retrievers;
};

}  // namespace casemate
