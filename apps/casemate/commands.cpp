#include <array>

#include "command.h"

namespace casemate::cli {

std::span<const Command> commands() {
  static constexpr std::array kCommands = {
      Command{"index", "read files, folders or data sets into a store", set_up_index},
      Command{"search", "ranked passages for a query", set_up_search},
      Command{"ask", "an answer from a store's passages, with its sources", set_up_ask},
      Command{"serve", "an HTTP server over a store: OpenAI's interface, retrieval, screening", set_up_serve},
      Command{"keys", "add, list and revoke keys of a server", set_up_keys},
      Command{"audit", "check what a server recorded", set_up_audit},
      Command{"embed", "embeddings of texts, as JSON lines", set_up_embed},
      Command{"keywords", "tokens, parts of speech, lemmas and keywords of texts, as JSON lines", set_up_keywords},
      Command{"models", "list, pull, import and verify models", set_up_models},
      Command{"doctor", "what is installed, what runs here, what is missing", set_up_doctor},
      Command{"policies", "the named policies of this version", set_up_policies},
      Command{"prepare", "make what a policy or defence needs for passages that are stored already", set_up_prepare},
      Command{"calibrate", "thresholds of defences from your own corpus, with the trade-off curve", set_up_calibrate},
      Command{"seal", "sign the trusted documents of a store, or check their seal", set_up_seal},
      Command{"documents", "what a store holds", set_up_documents},
      Command{"delete", "remove documents from a store", set_up_delete},
      Command{"compact", "reclaim the space of deleted documents", set_up_compact},
      Command{"check", "read a store through and report damage", set_up_check},
      Command{"backup", "copy a store, also while it is written", set_up_backup},
      Command{"restore", "make a store from a backup", set_up_restore},
      Command{"migrate", "bring a store of an older format up to date", set_up_migrate},
      Command{"theory", "sufficient conditions of robustness, with their assumptions", set_up_theory},
      Command{"certify", "certificates over a data set: answers that stay right under attack", set_up_certify},
      Command{"verify", "check an answer's certificate, without any model", set_up_verify},
      Command{"recall", "recall and MRR of retrieval on a SQuAD file", set_up_recall},
      Command{"metrics", "metrics over files: rankings, texts, and two logs compared", set_up_metrics},
      Command{"attack", "craft poison for queries, plant it in a store, take it out again", set_up_attack},
      Command{"redteam", "the same attacks against any RAG system over HTTP, cleaned up behind", set_up_redteam},
      Command{"eval", "run an experiment: attacks by defences, with logs and a summary", set_up_eval},
      Command{"report", "one HTML page about one run, or several compared", set_up_report},
  };
  return kCommands;
}

}  // namespace casemate::cli
