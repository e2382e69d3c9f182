// apps/casemate/context.h
#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "casemate/core/status.h"
#include "casemate/core/thread_pool.h"
#include "casemate/encoder/bert_encoder.h"
#include "casemate/models/model_store.h"
#include "casemate/store/store.h"
#include "exit_codes.h"
#include "terminal_progress.h"

namespace casemate::cli {

/// How an encoder was asked for on the command line; empty fields mean "as the store or the model's folder says".
struct EncoderChoice {
  std::string encoder;  ///< a model's name or a folder
  std::string query_prefix;
  std::string passage_prefix;
  std::string pooling;
  int max_tokens = 0;
  std::string precision;
};

/// What every command shares: global options, output, models, and Ctrl-C.
class Context {
 public:
  bool json = false;
  bool quiet = false;
  int threads = 0;  ///< 0: all cores
  std::string models_folder;
  std::string cache_folder;
  std::string manifest_file;  ///< empty: the built-in manifest
  std::stop_token stop;

  [[nodiscard]] const ThreadPool& pool();
  [[nodiscard]] TerminalProgress& progress();

  /// Prints "casemate: error: ..." on standard error and gives the exit code.
  int fail(const Error& error);
  /// A line for the reader on standard error, unless quiet.
  void say(const std::string& message) const;

  [[nodiscard]] Result<ModelStore> models() const;
  /// The folder or file of a model given by name or path. Error: NotFound, with the command that fetches it.
  [[nodiscard]] Result<std::string> model_path(const std::string& name_or_path) const;
  /// An encoder for a new store, or by itself.
  [[nodiscard]] Result<std::unique_ptr<Encoder>> load_encoder(const EncoderChoice& choice);
  /// The encoder that filled `store`; `name_or_path` says where it lies if that is not where the store remembers.
  [[nodiscard]] Result<std::unique_ptr<Encoder>> load_encoder_of(const Store& store, const std::string& name_or_path);
  [[nodiscard]] Result<std::unique_ptr<Store>> open_store(const std::string& path, bool read_only,
                                                          bool load_vectors = true);

 private:
  std::unique_ptr<ThreadPool> pool_;
  std::unique_ptr<TerminalProgress> progress_;
};

/// True where `name` is a path to a model rather than a model's name: it has a "/", or is "." or "..".
[[nodiscard]] inline bool looks_like_path(const std::string& name) {
  return name.find('/') != std::string::npos || name == "." || name == "..";
}

/// Setting of a store that tells where its encoder's folder lay, where it was given as a path.
inline constexpr char kEncoderPathSetting[] = "encoder_path";
inline constexpr char kDefaultEncoder[] = "all-minilm-l6-v2";
inline constexpr char kDefaultLanguageModel[] = "qwen2.5-coder-0.5b-instruct-q4_k_m";

}  // namespace casemate::cli
