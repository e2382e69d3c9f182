// formats/readers.h
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "casemate/core/status.h"
#include "formats/read_context.h"

namespace casemate {

/// One function a format. What is wrong with the file or a record goes to the context as a problem; an error returned
/// is one that ends the run.
[[nodiscard]] Status read_text(const Source& source, ReadContext& context);
[[nodiscard]] Status read_markup(const Source& source, Format format, ReadContext& context);
[[nodiscard]] Status read_pdf(const Source& source, ReadContext& context);
[[nodiscard]] Status read_docx(const Source& source, ReadContext& context);
[[nodiscard]] Status read_csv(const Source& source, Format format, ReadContext& context);
[[nodiscard]] Status read_jsonl(const Source& source, ReadContext& context);
[[nodiscard]] Status read_squad(const Source& source, ReadContext& context);

/// The format of a file by its name and its first bytes. Error: InvalidInput or Unsupported, beginning with the path,
/// where the content is binary, is in another encoding, or contradicts the name.
[[nodiscard]] Result<Format> detect_format(const Source& source, Format forced);

/// A document that is the whole file, still without text.
[[nodiscard]] Document new_document(const Source& source, Format format);

}  // namespace casemate
