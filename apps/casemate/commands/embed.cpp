#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "command.h"

namespace casemate::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kBatch = 256;

struct EmbedChoice {
  std::string input = "-";
  bool jsonl = false;
  bool query = false;
  bool passage = false;
  bool strict = false;
  std::string special_tokens = "text";
  EncoderChoice encoder;
};

struct InputText {
  Json id;
  std::string text;
};

/// Embeds texts batch by batch and prints a JSON line for each.
class EmbedRun {
 public:
  EmbedRun(Context& context, const EmbedChoice& choice, const Encoder& encoder, const EncodeSettings& settings)
      : context_(context), choice_(choice), encoder_(encoder), settings_(settings) {}

  int run(std::istream& input, bool jsonl) {
    std::string line;
    for (std::size_t number = 1; std::getline(input, line); ++number) {
      if (context_.stop.stop_requested()) return kInterrupted;
      if (!line.empty() && line.back() == '\r') line.pop_back();
      if (jsonl && line.find_first_not_of(" \t") == std::string::npos) continue;
      if (!take(line, number, jsonl) && choice_.strict) return flush() ? kWrongUse : code_;
      if (waiting_.size() >= kBatch && !flush()) return code_;
    }
    if (!flush()) return code_;
    if (input.bad()) return context_.fail({ErrorCode::kIo, choice_.input + ": cannot be read to its end"});
    return code_;
  }

 private:
  bool take(const std::string& line, std::size_t number, bool jsonl) {
    if (!jsonl) {
      waiting_.push_back({number, line});
      return true;
    }
    const Json entry = Json::parse(line, nullptr, false);
    if (!entry.is_object() || !entry.contains("text") || !entry["text"].is_string()) {
      std::cerr << "casemate: " << UntrustedText(choice_.input).for_log() << ":" << number << ": "
                << (entry.is_discarded() ? "is not JSON" : "field \"text\" is missing or not a string") << '\n';
      code_ = kWrongUse;
      return false;
    }
    Json id = entry.contains("id") ? entry["id"] : entry.contains("_id") ? entry["_id"] : Json(number);
    waiting_.push_back({std::move(id), entry["text"].get<std::string>()});
    return true;
  }

  /// Prints the waiting texts. Where the model fails, they are tried one by one, and those it cannot embed are named.
  bool flush() {
    if (waiting_.empty()) return true;
    std::vector<std::string_view> views;
    for (const InputText& each : waiting_) views.emplace_back(each.text);
    const auto encoded = encoder_.encode(views, settings_);
    if (encoded) {
      for (std::size_t i = 0; i < waiting_.size(); ++i)
        print(waiting_[i], encoded->inputs[i], encoded->embeddings.row(i));
    } else if (encoded.error().code != ErrorCode::kModel) {
      code_ = context_.fail(encoded.error());
      return false;
    } else {
      for (std::size_t i = 0; i < waiting_.size(); ++i) {
        const auto alone = encoder_.encode(std::span(views).subspan(i, 1), settings_);
        if (alone) {
          print(waiting_[i], alone->inputs[0], alone->embeddings.row(0));
        } else {
          code_ = context_.fail(alone.error().in("id " + UntrustedText(waiting_[i].id.dump()).for_log()));
          if (choice_.strict) return false;
        }
      }
    }
    waiting_.clear();
    return true;
  }

  static void print(const InputText& text, const EncodedInput& input, std::span<const float> row) {
    Json out = {
        {"id", text.id}, {"input_ids", input.input_ids}, {"embedding", std::vector<float>(row.begin(), row.end())}};
    if (input.truncated()) {
      out["truncated"] = true;
      out["full_length"] = input.full_length;
    }
    std::cout << out.dump(-1, ' ', false, Json::error_handler_t::replace) << '\n';
  }

  Context& context_;
  const EmbedChoice& choice_;
  const Encoder& encoder_;
  EncodeSettings settings_;
  std::vector<InputText> waiting_;
  int code_ = kDone;
};

int run(Context& context, const EmbedChoice& choice) {
  EncodeSettings settings;
  if (choice.query && choice.passage)
    return context.fail({ErrorCode::kInvalidArgument, "--query and --passage exclude each other"});
  if (choice.query) settings.role = TextRole::kQuery;
  if (choice.passage) settings.role = TextRole::kPassage;
  if (choice.special_tokens == "hugging-face") settings.special_tokens = SpecialTokens::kHuggingFace;
  std::ifstream file;
  if (choice.input != "-") {
    std::error_code ignored;
    if (std::filesystem::is_directory(choice.input, ignored)) {
      return context.fail({ErrorCode::kInvalidInput, choice.input + ": is a folder; embed reads one file"});
    }
    file.open(choice.input, std::ios::binary);
    if (!file) return context.fail({ErrorCode::kNotFound, choice.input + ": cannot be opened"});
  }
  const auto encoder = context.load_encoder(choice.encoder);
  if (!encoder) return context.fail(encoder.error());
  EmbedRun embed(context, choice, **encoder, settings);
  return embed.run(choice.input == "-" ? std::cin : file, choice.jsonl || choice.input.ends_with(".jsonl"));
}

}  // namespace

std::function<int()> set_up_embed(CLI::App& app, Context& context) {
  auto choice = std::make_shared<EmbedChoice>();
  app.add_option("input", choice->input,
                 "file with one text a line, or JSON lines with \"text\" (--jsonl, or a name that ends in .jsonl); - "
                 "is standard input")
      ->capture_default_str();
  app.add_flag("--jsonl", choice->jsonl, "the input is JSON lines with \"text\" and, if wanted, \"id\"");
  app.add_flag("--query", choice->query, "put the encoder's query prefix before each text");
  app.add_flag("--passage", choice->passage, "put the encoder's passage prefix before each text");
  app.add_option("--special-tokens", choice->special_tokens,
                 "[SEP] and the like in a text: text keeps them text, hugging-face makes them special tokens")
      ->check(CLI::IsMember({"text", "hugging-face"}))
      ->capture_default_str();
  app.add_option("--encoder", choice->encoder.encoder,
                 "a model's name or a Hugging Face folder (default all-minilm-l6-v2)");
  app.add_option("--max-tokens", choice->encoder.max_tokens,
                 "longer texts are cut; default: what the model's folder says");
  app.add_option("--pooling", choice->encoder.pooling, "mean or cls; default: what the model's folder says");
  app.add_option("--precision", choice->encoder.precision, "float32 (default), or fixed16, faster with AVX-512 VNNI");
  app.add_option("--query-prefix", choice->encoder.query_prefix, "prefix that --query puts");
  app.add_option("--passage-prefix", choice->encoder.passage_prefix, "prefix that --passage puts");
  app.add_flag("--strict", choice->strict, "stop at the first bad line");
  return [choice, &context] { return run(context, *choice); };
}

}  // namespace casemate::cli
