#include <iostream>
#include <nlohmann/json.hpp>

#include "command.h"

namespace casemate::cli {
namespace {

constexpr int kPage = 500;

struct DocumentsChoice {
  std::string store;
  std::string tenant = "default";
  bool findings = false;
};

using Json = nlohmann::ordered_json;

Json parse_or_null(const std::string& text) {
  Json value = Json::parse(text, nullptr, false);
  return value.is_discarded() ? Json(nullptr) : value;
}

Json document_json(const StoredDocument& document) {
  return {{"id", document.id},
          {"title", document.title.for_json()},
          {"source", UntrustedText(document.source_path).for_json()},
          {"format", document.format},
          {"labels", document.labels},
          {"chunks", document.chunk_count},
          {"ingested_at", format_utc(document.ingested_at)},
          {"metadata", parse_or_null(document.metadata_json)},
          {"findings", parse_or_null(document.findings_json)}};
}

std::string text_of(const Json& entry, const char* field) {
  const auto it = entry.find(field);
  return it != entry.end() && it->is_string() ? UntrustedText(it->get<std::string>()).for_log() : "";
}

std::uint64_t number_of(const Json& entry, const char* field) {
  const auto it = entry.find(field);
  return it != entry.end() && it->is_number_unsigned() ? it->get<std::uint64_t>() : 0;
}

void print_document(const StoredDocument& document, bool findings) {
  const Json found = parse_or_null(document.findings_json);
  std::cout << UntrustedText(document.id).for_log() << "  " << document.format << "  " << document.chunk_count
            << " passages";
  for (const std::string& label : document.labels) std::cout << "  [" << UntrustedText(label).for_log() << "]";
  std::cout << '\n';
  if (!findings || !found.is_array()) return;
  for (const Json& each : found) {
    if (!each.is_object()) continue;
    std::cout << "  " << text_of(each, "kind") << " at " << number_of(each, "begin") << "-" << number_of(each, "end")
              << ": " << text_of(each, "note") << " \"" << text_of(each, "excerpt") << "\"\n";
  }
}

int run(Context& context, const DocumentsChoice& choice) {
  const auto store = context.open_store(choice.store, true, false);
  if (!store) return context.fail(store.error());
  std::int64_t documents = 0;
  std::int64_t passages = 0;
  std::string after;
  while (!context.stop.stop_requested()) {
    const auto page = (*store)->documents(choice.tenant, after, kPage);
    if (!page) return context.fail(page.error());
    for (const StoredDocument& document : *page) {
      ++documents;
      passages += document.chunk_count;
      if (choice.findings && parse_or_null(document.findings_json).empty()) continue;
      if (context.json) {
        std::cout << document_json(document).dump(-1, ' ', false, Json::error_handler_t::replace) << '\n';
      } else {
        print_document(document, choice.findings);
      }
    }
    if (page->size() < static_cast<std::size_t>(kPage)) break;
    after = page->back().id;
  }
  // Counted here: the store's own totals would tell one tenant about the others.
  context.say(std::to_string(documents) + " documents, " + std::to_string(passages) + " passages");
  return kDone;
}

}  // namespace

std::function<int()> set_up_documents(CLI::App& app, Context& context) {
  auto choice = std::make_shared<DocumentsChoice>();
  app.add_option("store", choice->store, "the store's folder")->required();
  app.add_option("--tenant", choice->tenant, "whose documents")->capture_default_str();
  app.add_flag("--findings", choice->findings, "only documents of which clean-up kept something out, and what");
  return [choice, &context] { return run(context, *choice); };
}

}  // namespace casemate::cli
