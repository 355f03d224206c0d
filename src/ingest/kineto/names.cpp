// Tables of names, and the parsing of the composed ones.
#include "ingest/kineto/names.h"

#include <algorithm>
#include <charconv>

#include "base/utf8.h"

namespace turnpike::ingest {
namespace {

using trace::CopyKind;
using trace::MemoryKind;

MemoryKind memory_kind_of(std::string_view name) {
  struct Named {
    std::string_view name;
    MemoryKind kind;
  };
  constexpr Named kKinds[] = {
      {"Pageable", MemoryKind::kPageable},
      {"Pinned", MemoryKind::kPinned},
      {"Device", MemoryKind::kDevice},
      {"Array", MemoryKind::kArray},
      {"Managed", MemoryKind::kManaged},
      {"Device Static", MemoryKind::kDeviceStatic},
      {"Managed Static", MemoryKind::kManagedStatic},
  };
  const auto* found =
      std::find_if(std::begin(kKinds), std::end(kKinds), [&](const Named& known) { return known.name == name; });
  return found == std::end(kKinds) ? MemoryKind::kUnknown : found->kind;
}

// H or M (Intel's memory of the host), D, A, P.
CopyKind copy_kind_of(char from, char to) {
  if (from == 'M') from = 'H';
  if (to == 'M') to = 'H';
  struct Ends {
    char from;
    char to;
    CopyKind kind;
  };
  constexpr Ends kEnds[] = {
      {'H', 'D', CopyKind::kHostToDevice},  {'D', 'H', CopyKind::kDeviceToHost}, {'D', 'D', CopyKind::kDeviceToDevice},
      {'P', 'P', CopyKind::kPeerToPeer},    {'H', 'H', CopyKind::kHostToHost},   {'H', 'A', CopyKind::kHostToArray},
      {'A', 'H', CopyKind::kArrayToHost},   {'A', 'A', CopyKind::kArrayToArray}, {'A', 'D', CopyKind::kArrayToDevice},
      {'D', 'A', CopyKind::kDeviceToArray},
  };
  for (const Ends& ends : kEnds) {
    if (ends.from == from && ends.to == to) return ends.kind;
  }
  return CopyKind::kUnknown;
}

// "HtoD" or "M2D" at the start of a word.
CopyKind short_copy_kind(std::string_view word) {
  if (word.size() >= 4 && word.substr(1, 2) == "to") return copy_kind_of(word[0], word[3]);
  if (word.size() >= 3 && word[1] == '2') return copy_kind_of(word[0], word[2]);
  return CopyKind::kUnknown;
}

// "CopyHostToDevice" (AMD).
CopyKind long_copy_kind(std::string_view name) {
  const auto copy = name.find("Copy");
  if (copy == std::string_view::npos) return CopyKind::kUnknown;
  const std::string_view ends = name.substr(copy + 4);
  const auto to = ends.find("To");
  if (to == std::string_view::npos || to == 0 || to + 2 >= ends.size()) return CopyKind::kUnknown;
  return copy_kind_of(ends[0], ends[to + 2]);
}

// Of "\uXXXX" at the start of the text.
std::optional<std::uint32_t> unit_of(std::string_view text) {
  if (text.size() < 6 || !text.starts_with("\\u")) return std::nullopt;
  std::uint32_t unit = 0;
  const auto [end, error] = std::from_chars(text.data() + 2, text.data() + 6, unit, 16);
  return error == std::errc{} && end == text.data() + 6 ? std::optional(unit) : std::nullopt;
}

// Appends what the escape at the start of the text stands for; gives how long it is, 0 when it is none.
std::size_t append_escape(std::string& out, std::string_view text) {
  constexpr std::string_view kLetters = "\"\\/bfnrt";
  constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
  if (text.size() < 2) return 0;
  if (const auto known = kLetters.find(text[1]); known != std::string_view::npos) {
    out += kMeanings[known];
    return 2;
  }
  const auto unit = unit_of(text);
  if (!unit) return 0;
  const bool is_high = *unit >= 0xD800 && *unit < 0xDC00;
  const auto low = is_high ? unit_of(text.substr(6)) : std::nullopt;
  if (low && *low >= 0xDC00 && *low < 0xE000) {
    append_utf8(out, 0x10000 + ((*unit - 0xD800) << 10) + (*low - 0xDC00));
    return 12;
  }
  append_utf8(out, *unit);
  return 6;
}

}  // namespace

CopyName parse_copy_name(std::string_view name) {
  CopyName copy;
  std::string_view rest = name;
  if (rest.starts_with("Memcpy ")) rest.remove_prefix(7);
  copy.copy_kind = short_copy_kind(rest);
  if (copy.copy_kind == CopyKind::kUnknown) copy.copy_kind = long_copy_kind(name);
  const auto open = name.rfind('(');
  const auto arrow = name.find(" -> ", open == std::string_view::npos ? name.size() : open);
  const auto close = name.find(')', arrow == std::string_view::npos ? name.size() : arrow);
  if (close == std::string_view::npos) return copy;
  copy.src_kind = memory_kind_of(name.substr(open + 1, arrow - open - 1));
  copy.dst_kind = memory_kind_of(name.substr(arrow + 4, close - arrow - 4));
  return copy;
}

MemoryKind parse_memset_name(std::string_view name) {
  const auto open = name.find('(');
  const auto close = name.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return MemoryKind::kUnknown;
  return memory_kind_of(name.substr(open + 1, close - open - 1));
}

PythonName parse_python_name(std::string_view name) {
  PythonName python{.function = name};
  const auto close = name.find("): ");
  const auto open = close == std::string_view::npos ? close : name.rfind('(', close);
  if (open == std::string_view::npos || name.starts_with("<built-in ") || name.starts_with("nn.Module: ")) {
    return python;
  }
  const std::string_view digits = name.substr(open + 1, close - open - 1);
  std::uint32_t line = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), line);
  if (error != std::errc{} || end != digits.data() + digits.size()) return python;
  return {.is_python = true, .file = name.substr(0, open), .function = name.substr(close + 3), .first_line = line};
}

std::string_view without_address(std::string_view name) {
  if (!name.starts_with('<') || !name.ends_with('>')) return name;
  const auto address = name.rfind(" at 0x");
  return address == std::string_view::npos ? name : name.substr(0, address);
}

std::string_view thread_name_of(std::string_view label) {
  const auto open = label.find(" (");
  if (!label.starts_with("thread ") || open == std::string_view::npos || !label.ends_with(')')) return label;
  return label.substr(open + 2, label.size() - open - 3);
}

std::string unescaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const auto plain = std::min(text.find('\\'), text.size());
    out += text.substr(0, plain);
    text.remove_prefix(plain);
    if (text.empty()) break;
    const std::size_t escape_bytes = append_escape(out, text);
    if (escape_bytes == 0) out += text.front();
    text.remove_prefix(std::max<std::size_t>(escape_bytes, 1));
  }
  return out;
}

}  // namespace turnpike::ingest
