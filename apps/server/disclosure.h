// What a reader's key may learn of passages under a policy that protects them.
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "services.h"

namespace casemate::server {

/// The policy that a request follows from its start to its end, whatever the default becomes meanwhile; `named` ""
/// means the tenant's default. A reader whose default protects passages does not choose less: 403 for a policy that
/// does not protect them. 404 for a name that this server does not have. Every route that takes a policy's name asks
/// here, once.
[[nodiscard]] std::variant<const Policy*, ApiError> policy_for(const Services& services, const Caller& caller,
                                                               std::string_view named);

/// True where `policy` protects passages and the caller is a reader.
[[nodiscard]] bool withholds_passages(const Caller& caller, const Policy& policy);

/// Leaves what is listed of sources and evidence: ids, ranks, decisions, counts. Whatever else there is goes, and so
/// does every text that could be a passage's or speak of one: titles, texts, reasons, notes, parameters, keywords,
/// facts, scores, and certificates, whose hashes would tell a guess right. What the described form requires stays,
/// empty.
void hide_passages(Json& value);

/// 403: the route would show passages.
[[nodiscard]] ApiError passages_protected();

}  // namespace casemate::server
