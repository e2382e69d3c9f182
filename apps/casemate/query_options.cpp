#include "query_options.h"

namespace casemate::cli {

void add_query_options(CLI::App& app, QueryChoice& choice, const char* text_name) {
  app.add_option("store", choice.store, "the store's folder")->required();
  app.add_option(text_name, choice.text, "the text")->required();
  app.add_option("--policy", choice.policy, "named set of choices (casemate policies lists them)")
      ->capture_default_str();
  app.add_option("--tenant", choice.tenant, "whose documents")->capture_default_str();
  app.add_option("-k,--top-k", choice.top_k, "passages; 0: as the policy says")->check(CLI::Range(0, 1000));
  app.add_option("--mode", choice.mode, "dense, bm25 or hybrid; default: as the policy says");
  app.add_option("--encoder", choice.encoder, "where the store's encoder lies, if not where the store remembers");
  app.add_option("--label", choice.any_label, "only documents with one of these labels")->delimiter(',');
  app.add_option("--all-labels", choice.all_labels, "only documents with all of these labels")->delimiter(',');
  app.add_option("--no-label", choice.no_label, "no documents with any of these labels")->delimiter(',');
}

Result<QueryOptions> query_options(const QueryChoice& choice) {
  QueryOptions options;
  options.tenant = choice.tenant;
  options.seed = choice.seed;
  if (choice.top_k > 0) options.top_k = choice.top_k;
  if (!choice.mode.empty()) {
    const auto mode = parse_retrieval_mode(choice.mode);
    if (!mode) return mode.error();
    options.mode = *mode;
  }
  if (!choice.any_label.empty()) options.filter.any_of = choice.any_label;
  options.filter.all_of = choice.all_labels;
  options.filter.none_of = choice.no_label;
  return options;
}

Result<std::unique_ptr<Encoder>> encoder_for(Context& context, const Store& store, const std::string& encoder,
                                             RetrievalMode mode) {
  if (mode == RetrievalMode::kBm25) return std::unique_ptr<Encoder>();
  return context.load_encoder_of(store, encoder);
}

std::string place_text(const Hit& hit) {
  std::string place = UntrustedText(hit.document).for_log();
  if (hit.page > 0) place += ", page " + std::to_string(hit.page);
  if (hit.line > 0) place += ", line " + std::to_string(hit.line);
  return place + ", bytes " + std::to_string(hit.source_begin) + "-" + std::to_string(hit.source_end);
}

std::string excerpt(const UntrustedText& text, std::size_t width, std::size_t max_lines, const std::string& indent) {
  std::string out;
  std::string line;
  std::size_t lines = 0;
  const std::string shown = text.for_terminal();
  for (std::size_t at = 0; at < shown.size() && lines < max_lines;) {
    const std::size_t begin = shown.find_first_not_of(" \t\n", at);
    if (begin == std::string::npos) break;
    const std::size_t end = std::min(shown.find_first_of(" \t\n", begin), shown.size());
    const std::string word = shown.substr(begin, end - begin);
    if (!line.empty() && line.size() + 1 + word.size() > width) {
      out += indent + line + (++lines == max_lines ? " ...\n" : "\n");
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
    at = end;
  }
  if (lines < max_lines && !line.empty()) out += indent + line + "\n";
  return out;
}

}  // namespace casemate::cli
