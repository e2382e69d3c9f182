#include "casemate/pipeline/indexer.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "casemate/core/utf8.h"
#include "casemate/retrieve/retriever.h"
#include "casemate/text/clean_text.h"
#include "pipeline/document_ids.h"

namespace casemate {
namespace {

constexpr std::size_t kMaxProblems = 10'000;
constexpr std::size_t kMaxMoved = 1'000;  ///< a transaction

/// Bytes of all regular files under the paths: what progress counts in. Unreadable ones are the reader's to report.
std::uint64_t total_bytes(std::span<const std::string> paths) {
  namespace fs = std::filesystem;
  std::uint64_t total = 0;
  for (const std::string& path : paths) {
    std::error_code error;
    if (fs::is_regular_file(path, error)) total += fs::file_size(path, error);
    if (!fs::is_directory(path, error)) continue;
    fs::recursive_directory_iterator it(path, fs::directory_options::skip_permission_denied, error);
    for (const fs::recursive_directory_iterator end; !error && it != end; it.increment(error)) {
      std::error_code ignored;
      if (it->is_regular_file(ignored) && !it->is_symlink(ignored)) total += it->file_size(ignored);
    }
  }
  return total;
}

std::string metadata_json(const Document& document) {
  nlohmann::ordered_json out = nlohmann::ordered_json::object();
  for (const auto& [key, value] : document.metadata) out[to_valid_utf8(key)] = to_valid_utf8(value);
  return out.dump();
}

std::string findings_json(const Document& document) {
  std::string out = "[";
  for (const Finding& finding : document.findings) out += (out.size() > 1 ? "," : "") + finding_json(finding);
  return out + "]";
}

/// What makes a document the same as the one in the store. Labels and trust are in it so that a run with others
/// replaces.
Digest content_hash_of(const Document& document, const std::set<std::string>& labels, bool trusted) {
  FieldHasher hasher;
  hasher.add(document.title.bytes());
  hasher.add(document.text.bytes());
  hasher.add(format_name(document.format));
  for (const auto& [key, value] : document.metadata) {
    hasher.add(key);
    hasher.add(value);
  }
  for (const std::string& label : labels) hasher.add("label " + label);
  if (trusted) hasher.add("trusted");
  // The same text may come from other markup: findings and the way back to the source belong to the record too.
  hasher.add(findings_json(document));
  for (const OffsetMap::Piece& piece : document.offsets.pieces()) {
    const std::size_t numbers[] = {piece.text.begin, piece.text.end, piece.source.begin, piece.source.end};
    hasher.add_raw(std::string_view(reinterpret_cast<const char*>(numbers), sizeof numbers));
  }
  for (const PageStart& page : document.pages)
    hasher.add(std::to_string(page.number) + "@" + std::to_string(page.begin));
  return hasher.finish();
}

int page_of(const Document& document, std::size_t at) {
  int page = 0;
  for (const PageStart& start : document.pages) {
    if (start.begin > at) break;
    page = start.number;
  }
  return page;
}

class IndexRun final : public DocumentSink {
 public:
  IndexRun(const IndexOptions& options, Store& store, const Encoder& encoder, Progress& progress, std::stop_token stop)
      : options_(options),
        store_(store),
        encoder_(encoder),
        progress_(progress),
        stop_(std::move(stop)),
        ids_(store, options.tenant),
        batch_(static_cast<std::size_t>(options.batch_chunks)) {
    for (const VectorRecipe* recipe : options.recipes) batch_ = std::min(batch_, recipe->passages_at_once());
  }

  Status document(Document document) override {
    if (stop_.stop_requested()) return cancelled();
    if (options_.strict && first_problem_) return *first_problem_;
    advance(document);
    for (const Finding& finding : document.findings)
      summary.findings[std::string(finding_kind_name(finding.kind))] += finding.count;
    const auto id = ids_.id_of(document);
    if (!id && id.error().code != ErrorCode::kAlreadyExists) return id.error();
    if (!id) {
      ++summary.refused;
      problem({document.path, document.line, id.error().in(UntrustedText(document.path).for_log())});
      return {};
    }
    document.id = id->id;
    const Digest hash = content_hash_of(document, options_.labels, options_.trusted);
    const auto known = store_.contains(options_.tenant, document.id, hash);
    if (!known) return known.error();
    if (*known) {
      ++summary.unchanged;
      if (!id->source_differs) return {};
      moved_.push_back({document.id, document.absolute_path});
    } else if (Status taken = take(document, hash); !taken) {
      return taken;
    }
    ids_.give_out(document.id, document);
    const bool is_enough = texts_.size() >= batch_ || moved_.size() >= kMaxMoved;
    return is_enough ? flush() : Status();
  }

  void problem(const InputProblem& problem) override {
    add_problem(problem.error.message);
    if (!first_problem_) first_problem_ = problem.error;
  }

  /// Embeds and commits what is waiting. A document that the model cannot embed is refused by itself; the rest goes on.
  Status flush() {
    if (!moved_.empty()) {
      if (Status set = store_.set_sources(options_.tenant, moved_); !set) return set;
      moved_.clear();
    }
    if (waiting_.empty()) return ids_.settle(), Status();
    Status done = embed_and_add(waiting_, texts_);
    if (!done && done.error().code == ErrorCode::kModel && waiting_.size() > 1) {
      done = Status();
      std::size_t first = 0;
      for (std::size_t i = 0; i < waiting_.size() && (done || done.error().code == ErrorCode::kModel); ++i) {
        const std::size_t count = waiting_[i].chunks.size();
        done = embed_and_add(std::span(waiting_).subspan(i, 1),
                             std::span<const std::string>(texts_).subspan(first, count));
        if (!done && done.error().code == ErrorCode::kModel) refuse(waiting_[i], done.error());
        first += count;
      }
    } else if (!done && done.error().code == ErrorCode::kModel) {
      refuse(waiting_[0], done.error());
    }
    waiting_.clear();
    texts_.clear();
    ids_.settle();
    if (!done && done.error().code != ErrorCode::kModel) return done;
    return {};
  }

  [[nodiscard]] const std::optional<Error>& first_problem() const { return first_problem_; }
  [[nodiscard]] static Error cancelled() {
    return {ErrorCode::kCancelled, "stopped; what was finished is stored, and running it again goes on from there"};
  }

  IndexSummary summary;

 private:
  /// Progress counts input bytes: those of files that are behind, and the place in the current one.
  void advance(const Document& document) {
    if (document.path != current_path_) {
      finished_bytes_ += current_size_;
      std::error_code ignored;
      const std::uintmax_t size = std::filesystem::file_size(document.path, ignored);
      current_size_ = ignored ? 0 : size;
      current_path_ = document.path;
    }
    progress_.update(finished_bytes_ + std::min<std::uint64_t>(document.record.end, current_size_));
  }

  /// `texts` are the documents' chunks, in order.
  Status embed_and_add(std::span<NewDocument> documents, std::span<const std::string> texts) {
    const std::vector<std::string_view> views(texts.begin(), texts.end());
    const auto encoded = encoder_.encode_passages(views);
    if (!encoded) return encoded.error();
    const std::size_t d = encoded->embeddings.dimension;
    std::size_t row = 0;
    for (NewDocument& document : documents) {
      const auto from = encoded->embeddings.values.begin() + static_cast<std::ptrdiff_t>(row * d);
      document.embeddings.assign(from, from + static_cast<std::ptrdiff_t>(document.chunks.size() * d));
      row += document.chunks.size();
    }
    if (Status added = add_extra_vectors(documents, views); !added) return added;
    const auto results = store_.add_documents(documents);
    if (!results) return results.error();
    for (const AddResult& result : *results) count(result);
    for (const EncodedInput& input : encoded->inputs) summary.truncated_chunks += input.truncated() ? 1 : 0;
    summary.chunks += texts.size();
    return {};
  }

  Status add_extra_vectors(std::span<NewDocument> documents, std::span<const std::string_view> texts) {
    for (NewDocument& document : documents) document.extra_vectors.clear();  // a second try after a failed one
    for (const VectorRecipe* recipe : options_.recipes) {
      const auto rows = recipe->vectors(texts, &summary.repeated_fragments, stop_);
      if (!rows) return rows.error();
      const std::size_t floats_a_chunk = texts.empty() ? 0 : rows->size() / texts.size();
      auto from = rows->begin();
      for (NewDocument& document : documents) {
        ExtraVectors extra;
        extra.kind = recipe->kind();
        extra.rows_per_chunk = recipe->rows_per_chunk();
        extra.dimension = static_cast<int>(floats_a_chunk / static_cast<std::size_t>(extra.rows_per_chunk));
        const auto to = from + static_cast<std::ptrdiff_t>(document.chunks.size() * floats_a_chunk);
        extra.rows.assign(from, to);
        from = to;
        if (!document.chunks.empty()) document.extra_vectors.push_back(std::move(extra));
      }
    }
    return {};
  }

  void refuse(const NewDocument& document, const Error& error) {
    ++summary.refused;
    add_problem(document.source_path + ": " + UntrustedText(document.id).for_log() +
                " is not stored: " + error.message);
  }

  Status take(const Document& document, const Digest& hash) {
    ChunkerOptions chunking = options_.chunking;
    chunking.one_passage = chunking.one_passage || document.one_passage;
    const auto chunks = chunk_text(document.text.bytes(), encoder_.tokenizer(), chunking);
    if (!chunks) return chunks.error();
    NewDocument added;
    added.tenant = options_.tenant;
    added.id = document.id;
    added.title = document.title;
    added.source_path = document.absolute_path.empty() ? document.path : document.absolute_path;
    added.format = format_name(document.format);
    added.content_hash = hash;
    added.labels = options_.labels;
    added.trusted = options_.trusted;
    added.metadata_json = metadata_json(document);
    added.findings_json = findings_json(document);
    for (const Chunk& chunk : *chunks) {
      const std::string text = document.text.bytes().substr(chunk.span.begin, chunk.span.size());
      const ByteSpan source = document.offsets.to_source(chunk.span);
      added.chunks.push_back({UntrustedText(text), source.begin, source.end, page_of(document, chunk.span.begin),
                              static_cast<int>(document.line)});
      texts_.push_back(text);
    }
    waiting_.push_back(std::move(added));
    return {};
  }

  void count(const AddResult& result) {
    switch (result.outcome) {
      case AddOutcome::kAdded:
        ++summary.added;
        break;
      case AddOutcome::kUnchanged:
        ++summary.unchanged;
        break;
      case AddOutcome::kReplaced:
        ++summary.replaced;
        break;
      case AddOutcome::kRefused:
        ++summary.refused;
        if (result.error) add_problem(result.error->message);
        if (result.error && !first_problem_) first_problem_ = result.error;
        break;
    }
  }

  void add_problem(const std::string& message) {
    progress_.note(message);
    if (summary.problems.size() < kMaxProblems) {
      summary.problems.push_back(message);
    } else {
      ++summary.problems_left_out;
    }
  }

  const IndexOptions& options_;
  Store& store_;
  const Encoder& encoder_;
  Progress& progress_;
  std::stop_token stop_;
  DocumentIds ids_;
  std::size_t batch_;  ///< chunks embedded and committed together
  std::optional<Error> first_problem_;
  std::vector<DocumentSource> moved_;  ///< unchanged documents whose files lie elsewhere now
  std::vector<NewDocument> waiting_;
  std::vector<std::string> texts_;  ///< of the waiting chunks, in order
  std::string current_path_;
  std::uint64_t current_size_ = 0;
  std::uint64_t finished_bytes_ = 0;
};

}  // namespace

Result<EncoderIdentity> store_identity(const Encoder& encoder, const ChunkerOptions& chunking) {
  if (Status good = check(chunking); !good) return good.error();
  const Tokenizer& tokenizer = encoder.tokenizer();
  const std::size_t framing = tokenizer.prefix().size() + tokenizer.suffix().size() +
                              tokenizer.tokenize(encoder.info().passage_prefix, SpecialTokens::kAsText).ids.size();
  const auto limit = static_cast<std::size_t>(encoder.info().max_tokens);
  if (static_cast<std::size_t>(chunking.max_tokens) + framing > limit) {
    return Error{ErrorCode::kInvalidOption, "chunks of " + std::to_string(chunking.max_tokens) +
                                                " tokens do not fit the encoder: its limit is " +
                                                std::to_string(limit) + ", of which " + std::to_string(framing) +
                                                " are taken by framing and prefix"};
  }
  return identity_of(
      encoder.info(), "sentences",
      "tokens=" + std::to_string(chunking.max_tokens) + " overlap=" + std::to_string(chunking.overlap_tokens));
}

namespace {

Status check_settings(const IndexOptions& options, const Store& store, const Encoder& encoder) {
  if (options.batch_chunks < 1 || options.batch_chunks > 65536)
    return Error{ErrorCode::kInvalidOption, "batch_chunks must be in 1 to 65536"};
  const auto identity = store_identity(encoder, options.chunking);
  if (!identity) return identity.error();
  const auto differing = differences(store.encoder(), *identity);
  if (differing.empty()) return {};
  return Error{ErrorCode::kMismatch, store.path() + ": the store was made with other settings: " + describe(differing) +
                                         " (use these, or make another store)"};
}

Document document_of(const SuppliedDocument& supplied, const std::string& origin) {
  Document document;
  CleanText clean = clean_text(supplied.text.bytes());
  document.id = supplied.id;
  document.title = UntrustedText(clean_text(supplied.title.bytes()).text);
  document.text = UntrustedText(std::move(clean.text));
  document.offsets = std::move(clean.offsets);
  document.findings = std::move(clean.findings);
  document.path = origin;
  document.metadata = supplied.metadata;
  return document;
}

}  // namespace

Result<IndexSummary> index_documents(std::span<const SuppliedDocument> documents, const std::string& origin,
                                     const IndexOptions& options, Store& store, const Encoder& encoder,
                                     Progress& progress, std::stop_token stop) {
  if (Status good = check_settings(options, store, encoder); !good) return good.error();
  IndexRun run(options, store, encoder, Progress::none(), stop);
  progress.begin("indexing", documents.size(), "documents");
  Status taken;
  for (std::size_t i = 0; i < documents.size() && taken; ++i) {
    ++run.summary.reading.documents;
    Document document = document_of(documents[i], origin);
    if (document.text.bytes().find_first_not_of(" \t\n") == std::string::npos) {
      run.problem(
          {origin, 0, {ErrorCode::kInvalidInput, UntrustedText(document.id).for_log() + ": the text is empty"}});
    } else {
      taken = run.document(std::move(document));
    }
    progress.update(i + 1);
  }
  // What was read before an error is worth keeping.
  const Status flushed = run.flush();
  progress.end();
  if (!taken) return taken.error();
  if (!flushed) return flushed.error();
  if (options.strict && run.first_problem()) return *run.first_problem();
  return run.summary;
}

Result<IndexSummary> index_paths(std::span<const std::string> paths, const IndexOptions& options, Store& store,
                                 const Encoder& encoder, Progress& progress, std::stop_token stop) {
  if (Status good = check_settings(options, store, encoder); !good) return good.error();
  IndexRun run(options, store, encoder, progress, stop);
  progress.begin("indexing", total_bytes(paths), "bytes");
  auto read = read_paths(paths, options.reading, run, stop);
  // What was read before an error is worth keeping.
  const Status flushed = run.flush();
  progress.end();
  if (!flushed) return flushed.error();
  if (stop.stop_requested()) return IndexRun::cancelled();
  if (!read) return read.error();
  if (options.strict && run.first_problem()) return *run.first_problem();
  run.summary.reading = *read;
  return run.summary;
}

}  // namespace casemate
