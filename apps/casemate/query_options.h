// apps/casemate/query_options.h
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "casemate/pipeline/pipeline.h"
#include "context.h"

namespace casemate::cli {

/// Options that search and ask share.
struct QueryChoice {
  std::string store;
  std::string text;
  std::string policy = "off";
  std::string tenant = "default";
  std::string encoder;
  std::string mode;
  int top_k = 0;  ///< 0: the policy's
  std::uint64_t seed = 0;
  std::vector<std::string> any_label;
  std::vector<std::string> all_labels;
  std::vector<std::string> no_label;
};

void add_query_options(CLI::App& app, QueryChoice& choice, const char* text_name);
/// Error: InvalidOption.
[[nodiscard]] Result<QueryOptions> query_options(const QueryChoice& choice);

/// The store's encoder, or null where the words alone are searched and none is needed.
[[nodiscard]] Result<std::unique_ptr<Encoder>> encoder_for(Context& context, const Store& store,
                                                           const std::string& encoder, RetrievalMode mode);

/// "debian-faq/basics.html, bytes 120-980" for people.
[[nodiscard]] std::string place_text(const Hit& hit);
/// `text` for a terminal: folded white space, at most `max_lines` lines of `width`, indented.
[[nodiscard]] std::string excerpt(const UntrustedText& text, std::size_t width, std::size_t max_lines,
                                  const std::string& indent);

}  // namespace casemate::cli
