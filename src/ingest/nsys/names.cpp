// Looks names up when they are first needed: the table also holds the program's output and whole files, which nobody
// asks for.
#include "ingest/nsys/names.h"

namespace turnpike::ingest {
namespace {

constexpr std::size_t kMaxNameBytes = 64 << 10;

bool is_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

NsysNames::NsysNames(SqliteFile& file) : file_(file), has_string_key_(file.is_primary_key("StringIds", "id")) {
  texts_.emplace_back();
  if (has_string_key_) return;
  file_.scan("StringIds", {"id", "value"}, 2, [this](SqliteRow& row) {
    const std::int64_t id = row.needed_integer(0);
    const auto value = row.text(1);
    if (value && row.is_readable()) by_string_id_[id] = intern(*value);
  });
}

std::uint32_t NsysNames::intern(std::string_view text) {
  text = text.substr(0, kMaxNameBytes);
  if (const auto found = by_text_.find(text); found != by_text_.end()) return found->second;
  const auto number = static_cast<std::uint32_t>(texts_.size());
  texts_.emplace_back(text);
  by_text_.emplace(texts_.back(), number);
  return number;
}

std::uint32_t NsysNames::of_string_id(std::int64_t id) {
  if (const auto found = by_string_id_.find(id); found != by_string_id_.end()) return found->second;
  if (!has_string_key_) return trace::kNoId;
  const auto value = file_.text_by_key("StringIds", "value", "id", id);
  const std::uint32_t number = value ? intern(*value) : trace::kNoId;
  by_string_id_.emplace(id, number);
  return number;
}

const std::string& NsysNames::text(std::uint32_t name) const {
  return texts_[name < texts_.size() ? name : trace::kNoId];
}

std::string_view without_api_version(std::string_view name) {
  // The versions are those of CUDA times 1000, such as _v3020 and _v11060; _v2 and _v3 belong to the name.
  const auto version = name.rfind("_v");
  if (version != std::string_view::npos && is_digits(name.substr(version + 2)) && name.size() - version - 2 >= 4) {
    name = name.substr(0, version);
  }
  for (const std::string_view suffix : {"_ptsz", "_ptds"}) {
    if (name.ends_with(suffix)) return name.substr(0, name.size() - suffix.size());
  }
  return name;
}

}  // namespace turnpike::ingest
