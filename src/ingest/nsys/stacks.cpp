// Interns frames, chains and stacks: a trace has millions of calls and some hundred places.
#include "ingest/nsys/stacks.h"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace turnpike::ingest {
namespace {

using trace::FrameKind;

bool is_identifier(std::string_view text) {
  const auto is_letter = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text.front())) == 0 &&
         std::all_of(text.begin(), text.end(), is_letter);
}

// Without the brackets of templates and of parameters, and without what stands before the name (the return type).
std::string plain_name(std::string_view symbol) {
  std::string name;
  int depth = 0;
  for (const char letter : symbol) {
    const bool is_opening = letter == '<' || letter == '(' || letter == '[' || letter == '{';
    const bool is_closing = letter == '>' || letter == ')' || letter == ']' || letter == '}';
    if (is_opening) ++depth;
    if (depth == 0 && !is_closing) name += letter;
    if (is_closing && depth > 0) --depth;
  }
  if (name.ends_with(" const")) name.resize(name.size() - 6);
  const auto space = name.rfind(' ');
  return space == std::string::npos ? name : name.substr(space + 1);
}

// Python frames have the source file in the place of the module: "train.py", perhaps with a line.
struct PythonFile {
  std::string_view path;
  std::uint32_t line;
};
std::optional<PythonFile> python_file(std::string_view module) {
  std::uint32_t line = 0;
  const auto colon = module.rfind(':');
  if (colon != std::string_view::npos) {
    const std::string_view digits = module.substr(colon + 1);
    const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), line);
    if (failed == std::errc{} && end == digits.data() + digits.size()) {
      module = module.substr(0, colon);
    } else {
      line = 0;
    }
  }
  if (!module.ends_with(".py") && !module.starts_with("<frozen ")) return std::nullopt;
  return PythonFile{module, line};
}

}  // namespace

std::string linker_name(std::string_view symbol) {
  if (symbol.starts_with("_Z") || symbol.find("operator") != std::string_view::npos) return std::string(symbol);
  const std::string name = plain_name(symbol);
  std::string parts;
  int count = 0;
  for (std::size_t start = 0; start <= name.size(); ++count) {
    const auto end = std::min(name.find("::", start), name.size());
    const auto part = std::string_view(name).substr(start, end - start);
    if (!is_identifier(part)) return std::string(symbol);
    parts += std::to_string(part.size());
    parts += part;
    start = end + 2;
  }
  return count < 2 ? name : "_ZN" + parts + "E";
}

void NsysStacks::read_callchains() {
  std::vector<std::pair<std::int64_t, std::uint32_t>> frames_by_depth;
  std::optional<std::int64_t> current;
  const auto finish = [&] {
    if (current) keep_chain(*current, frames_by_depth);
    frames_by_depth.clear();
  };
  export_.scan("CUDA_CALLCHAINS", {"id", "symbol", "stackDepth", "module", "unresolved"}, 3, [&](SqliteRow& row) {
    const std::int64_t id = row.needed_integer(0);
    const std::int64_t symbol = row.needed_integer(1);
    const std::int64_t depth = row.needed_integer(2);
    const auto module = row.integer(3);
    const bool is_unresolved = row.integer(4).value_or(0) != 0;
    if (!row.is_readable()) return;
    if (current != id) finish();
    current = id;
    NsysNames& names = export_.names;
    const Frame frame =
        frame_of(names.of_string_id(symbol), module ? names.of_string_id(*module) : trace::kNoId, is_unresolved);
    frames_by_depth.emplace_back(depth, frame_id(frame));
  });
  finish();
}

// The rows of a chain stand together. One that comes again is another's: the first counts.
void NsysStacks::keep_chain(std::int64_t id, std::vector<std::pair<std::int64_t, std::uint32_t>>& frames_by_depth) {
  std::stable_sort(frames_by_depth.begin(), frames_by_depth.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  FrameIds content;
  for (const auto& [depth, frame] : frames_by_depth) content.push_back(frame);
  const auto [entry, is_new] =
      content_ids_.try_emplace(std::move(content), static_cast<std::uint32_t>(contents_.size() + 1));
  if (is_new) contents_.push_back(&entry->first);
  content_of_chain_.try_emplace(id, entry->second);
}

NsysStacks::Frame NsysStacks::frame_of(std::uint32_t symbol, std::uint32_t module, bool is_unresolved) {
  NsysNames& names = export_.names;
  if (const auto python = python_file(names.text(module))) {
    const std::string path(python->path);
    return {FrameKind::kPython, symbol, names.intern(path), python->line};
  }
  // An unresolved symbol is an address: no name.
  if (is_unresolved || symbol == trace::kNoId) return {FrameKind::kNative, trace::kNoId, module, 0};
  return {FrameKind::kNative, names.intern(linker_name(names.text(symbol))), module, 0};
}

std::uint32_t NsysStacks::frame_id(const Frame& frame) {
  const auto [entry, is_new] = frame_ids_.try_emplace(frame, static_cast<std::uint32_t>(frames_.size() + 1));
  if (is_new) frames_.push_back(frame);
  return entry->second;
}

OperatorChain NsysStacks::inside(OperatorChain around, std::uint32_t operator_name) {
  const auto next = static_cast<OperatorChain>(operators_.size() + 1);
  const auto [entry, is_new] = operator_chains_.try_emplace({around, operator_name}, next);
  if (is_new) operators_.push_back({around, frame_id({FrameKind::kOperator, operator_name, trace::kNoId, 0})});
  return entry->second;
}

std::uint32_t NsysStacks::stack_of(NsysProcess& process, std::optional<std::int64_t> callchain,
                                   OperatorChain operators) {
  std::uint32_t content = 0;
  // 0 is "none" where call chains were not taken.
  if (callchain && *callchain != 0) {
    const auto found = content_of_chain_.find(*callchain);
    if (found != content_of_chain_.end()) {
      content = found->second;
    } else {
      process.count(trace::Loss::kUndefinedReference);
    }
  }
  if (content == 0 && operators == 0) return trace::kNoId;
  const auto next = static_cast<std::uint32_t>(stacks_.size() + 1);
  const auto [entry, is_new] = stack_ids_.try_emplace({content, operators}, next);
  if (is_new) stacks_.emplace_back(content, operators);
  define_in(process, entry->second);
  return entry->second;
}

// Native frames, then the operators around them, then Python's: from the call outwards, as far as that can be told.
NsysStacks::FrameIds NsysStacks::frames_of(std::uint32_t content, OperatorChain operators) const {
  FrameIds ids = content == 0 ? FrameIds() : *contents_[content - 1];
  const auto is_python = [this](std::uint32_t id) { return frames_[id - 1].kind == FrameKind::kPython; };
  FrameIds around;
  for (OperatorChain at = operators; at != 0; at = operators_[at - 1].around)
    around.push_back(operators_[at - 1].frame);
  ids.insert(std::find_if(ids.begin(), ids.end(), is_python), around.begin(), around.end());
  return ids;
}

void NsysStacks::define_in(NsysProcess& process, std::uint32_t stack) {
  if (process.process.stacks.contains(stack)) return;
  const auto& [content, operators] = stacks_[stack - 1];
  const FrameIds ids = frames_of(content, operators);
  process.process.stacks.set(stack, ids);
  for (const std::uint32_t id : ids) {
    const Frame& frame = frames_[id - 1];
    process.process.frames.try_emplace(id, trace::Frame{.kind = frame.kind,
                                                        .function = export_.names.text(frame.function),
                                                        .file = export_.names.text(frame.file),
                                                        .line = frame.line});
  }
}

}  // namespace turnpike::ingest
