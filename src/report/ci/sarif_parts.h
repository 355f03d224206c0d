// Pieces that every SARIF 2.1.0 document of ours has.
#pragma once

#include <string>

#include "report/findings/repository_path.h"
#include "report/json/item_json.h"

namespace turnpike::report {

// RFC 3986: all but unreserved characters and the slash in per cent form, byte by byte.
std::string as_uri(const std::string& path);

Json artifact_location(const CodeLine& line);
Json location_object(const CodeLine& line);

// The whole document: one run of one tool.
std::string sarif_document(Json rules, Json results);

}  // namespace turnpike::report
