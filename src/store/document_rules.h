#pragma once

#include <optional>
#include <string_view>

#include "casemate/store/document.h"

namespace casemate {

/// What is not acceptable in `document` for a store of `dimension`-d vectors, naming the document; nothing if all is
/// well.
[[nodiscard]] std::optional<Error> find_fault(const NewDocument& document, int dimension);
/// The same for vectors of `chunks` chunks by themselves.
[[nodiscard]] std::optional<Error> find_fault(const ExtraVectors& vectors, std::size_t chunks);
/// A tenant's name: 1 to 128 bytes of UTF-8 without control characters. Error: InvalidArgument.
[[nodiscard]] Status check_tenant_name(std::string_view name);

}  // namespace casemate
