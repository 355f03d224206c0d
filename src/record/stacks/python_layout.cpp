// Where the fields of CPython's structures are, version by version.
#include "record/stacks/python_layout.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace turnpike::record {
namespace {

// From offsetof on the headers of 3.10.13, 3.11.7 and 3.12.1 (x86-64; the sizes are those of any 64-bit build).
// tests/record/stacks checks them against each interpreter.
constexpr PythonLayout kLayouts[] = {
    {.version = 0x030A,
     .interpreter_threads = 8,
     .thread_id = 176,
     .thread_frame = 24,
     .thread_base_frame = kNotThere,
     .thread_cframe = 48,
     .cframe_frame = kNotThere,
     .frame_code = 32,
     .frame_previous = 24,
     .frame_instruction = 96,
     .frame_owner = kNotThere,
     .code_first_line = 40,
     .code_filename = 104,
     .code_name = 112,
     .code_line_table = 120,
     .code_bytecode = kNotThere,
     .code_version = kNotThere,
     .ascii_size = 48,
     .compact_size = 72,
     .first_evaluator_owner = kNoSuchOwner,
     .last_evaluator_owner = kNoSuchOwner,
     .code_tag = 0},
    {.version = 0x030B,
     .interpreter_threads = 16,
     .thread_id = 152,
     .thread_frame = kNotThere,
     .thread_base_frame = kNotThere,
     .thread_cframe = 56,
     .cframe_frame = 8,
     .frame_code = 32,
     .frame_previous = 48,
     .frame_instruction = 56,
     .frame_owner = 69,
     .code_first_line = 72,
     .code_filename = 112,
     .code_name = 128,
     .code_line_table = 136,
     .code_bytecode = 184,
     .code_version = kNotThere,
     .ascii_size = 48,
     .compact_size = 72,
     .first_evaluator_owner = kNoSuchOwner,
     .last_evaluator_owner = kNoSuchOwner,
     .code_tag = 0},
    {.version = 0x030C,
     .interpreter_threads = 72,
     .thread_id = 136,
     .thread_frame = kNotThere,
     .thread_base_frame = kNotThere,
     .thread_cframe = 56,
     .cframe_frame = 0,
     .frame_code = 0,
     .frame_previous = 8,
     .frame_instruction = 56,
     .frame_owner = 70,
     .code_first_line = 68,
     .code_filename = 112,
     .code_name = 128,
     .code_line_table = 136,
     .code_bytecode = 192,
     .code_version = 92,
     .ascii_size = 40,
     .compact_size = 56,
     .first_evaluator_owner = 3,
     .last_evaluator_owner = 3,
     .code_tag = 0},
};

// The words of the published table that are read. Where a structure's words stand in the table changes with the minor
// version, and so does what the table does not say.
struct TableForm {
  std::uint32_t version;
  std::uint8_t last_evaluator_owner;  // the first is 3 in all of them
  std::uint8_t code_tag;
  // The position of each structure's `size` in the table, in words; its fields follow. 0: not published.
  std::uint8_t interpreter;
  std::uint8_t thread;
  std::uint8_t thread_base_frame;
  std::uint8_t thread_id;
  std::uint8_t frame;
  std::uint8_t code;
  std::uint8_t object;
  std::uint8_t bytes;
  std::uint8_t str;
};

// 3.14 tags the pointers in frames (_PyStackRef), 3.15 gives each thread a base frame.
constexpr TableForm kForms[] = {
    {.version = 0x030D,
     .last_evaluator_owner = 3,
     .code_tag = 0,
     .interpreter = 6,
     .thread = 19,
     .thread_base_frame = 0,
     .thread_id = 24,
     .frame = 28,
     .code = 34,
     .object = 44,
     .bytes = 0,
     .str = 67},
    {.version = 0x030E,
     .last_evaluator_owner = 4,
     .code_tag = 3,
     .interpreter = 6,
     .thread = 22,
     .thread_base_frame = 0,
     .thread_id = 27,
     .frame = 31,
     .code = 39,
     .object = 50,
     .bytes = 74,
     .str = 77},
    {.version = 0x030F,
     .last_evaluator_owner = 3,
     .code_tag = 3,
     .interpreter = 6,
     .thread = 22,
     .thread_base_frame = 27,
     .thread_id = 30,
     .frame = 39,
     .code = 47,
     .object = 58,
     .bytes = 86,
     .str = 89},
};

constexpr std::uint8_t kFirstEvaluatorOwner = 3;
// Far more than any of the structures has, and far less than a pointer or garbage would be.
constexpr std::uint64_t kMaxStructure = 1 << 12;
constexpr std::uint64_t kMaxThread = 1 << 14;
constexpr std::uint64_t kMaxInterpreter = 1 << 24;

// One structure of the table. Its size comes first; fields are numbered from there.
class Structure {
 public:
  Structure(const void* table, std::uint8_t size_at, std::uint64_t max_size) noexcept
      : table_(static_cast<const char*>(table)), size_at_(size_at), is_plausible_(size() > 0 && size() <= max_size) {}

  std::uint64_t size() const noexcept { return word(size_at_); }
  std::uint64_t at(std::size_t place) const noexcept { return word(size_at_ + place); }
  // The field of the place, of `bytes`: it lies inside and is aligned.
  std::uint64_t field(std::size_t place, std::uint64_t bytes = 8) noexcept {
    const std::uint64_t offset = at(place);
    expect(offset % bytes == 0 && offset < size() && size() - offset >= bytes);
    return offset;
  }
  void expect(bool is_so) noexcept { is_plausible_ = is_plausible_ && is_so; }
  bool is_plausible() const noexcept { return is_plausible_; }

 private:
  std::uint64_t word(std::size_t place) const noexcept {
    std::uint64_t value;
    std::memcpy(&value, table_ + place * sizeof value, sizeof value);
    return value;
  }

  const char* table_;
  std::uint8_t size_at_;
  bool is_plausible_;
};

bool read_interpreter_and_thread(const void* table, const TableForm& form, PythonLayout& layout) noexcept {
  Structure interpreter(table, form.interpreter, kMaxInterpreter);
  const std::uint64_t threads = interpreter.field(3);
  interpreter.expect(threads > 0);
  Structure thread(table, form.thread, kMaxThread);
  thread.expect(thread.field(1) == 0 && thread.field(2) == kThreadNext && thread.field(3) == kThreadNext + 8);
  const std::uint64_t frame = thread.field(4);
  const std::size_t id_place = static_cast<std::size_t>(form.thread_id - form.thread);
  const std::uint64_t id = thread.field(id_place);
  thread.expect(frame > kThreadNext + 8 && id > frame && thread.field(id_place + 1) == id + 8);
  layout.thread_base_frame = kNotThere;
  if (form.thread_base_frame != 0) {
    const std::uint64_t base = thread.field(static_cast<std::size_t>(form.thread_base_frame - form.thread));
    thread.expect(base == frame + 8);
    layout.thread_base_frame = static_cast<std::uint16_t>(base);
  }
  layout.interpreter_threads = static_cast<std::uint32_t>(threads);
  layout.thread_frame = static_cast<std::uint16_t>(frame);
  layout.thread_id = static_cast<std::uint16_t>(id);
  return interpreter.is_plausible() && thread.is_plausible();
}

bool read_frame(const void* table, const TableForm& form, PythonLayout& layout) noexcept {
  Structure frame(table, form.frame, kMaxStructure);
  const std::array<std::uint64_t, 4> pointers = {frame.field(1), frame.field(2), frame.field(3), frame.field(4)};
  const auto [previous, code, instruction, locals] = pointers;
  const std::uint64_t owner = frame.field(5, 1);
  // The owner is a byte behind the pointers; what is local stands last, and one of it counts.
  frame.expect(locals + 8 == frame.size() && instruction > previous && instruction > code && previous != code);
  frame.expect(owner >= instruction + 8 && owner < locals);
  layout.frame_previous = static_cast<std::uint16_t>(previous);
  layout.frame_code = static_cast<std::uint16_t>(code);
  layout.frame_instruction = static_cast<std::uint16_t>(instruction);
  layout.frame_owner = static_cast<std::uint16_t>(owner);
  return frame.is_plausible();
}

bool read_code(const void* table, const TableForm& form, PythonLayout& layout) noexcept {
  Structure code(table, form.code, kMaxStructure);
  const std::uint64_t filename = code.field(1);
  const std::uint64_t qualified_name = code.field(3);
  const std::uint64_t line_table = code.field(4);
  const std::uint64_t first_line = code.field(5, 4);
  const std::uint64_t local_names = code.field(7);
  const std::uint64_t bytecode = code.field(9);
  // File, name, qualified name and table stand in a row, and the bytecode last.
  code.expect(code.at(2) == filename + 8 && qualified_name == filename + 16 && line_table == filename + 24);
  code.expect(line_table + 8 <= kCodeHeadEnd && bytecode > line_table && bytecode + 8 == code.size());
  // Not published: the version is the word before the names of the locals.
  code.expect(first_line >= 24 && local_names >= first_line + 8 && local_names < filename);
  layout.code_filename = static_cast<std::uint16_t>(filename);
  layout.code_name = static_cast<std::uint16_t>(qualified_name);
  layout.code_line_table = static_cast<std::uint16_t>(line_table);
  layout.code_first_line = static_cast<std::uint16_t>(first_line);
  layout.code_version = static_cast<std::uint16_t>(local_names - 4);
  layout.code_bytecode = static_cast<std::uint16_t>(bytecode);
  return code.is_plausible();
}

bool read_objects(const void* table, const TableForm& form, PythonLayout& layout) noexcept {
  Structure object(table, form.object, kMaxStructure);
  object.expect(object.size() == 16 && object.field(1) == kObjectType);
  Structure str(table, form.str, kMaxStructure);
  const std::uint64_t ascii = str.at(3);
  str.expect(str.field(1, 4) == kStrState && str.field(2) == kObjectSize && ascii == kStrState + 8);
  // Of a compact str that is not ASCII: the same, with the length and the text of its UTF-8 behind.
  str.expect(str.size() == ascii + 24);
  layout.ascii_size = static_cast<std::uint16_t>(ascii);
  layout.compact_size = static_cast<std::uint16_t>(ascii + 16);
  if (form.bytes != 0) {
    Structure bytes(table, form.bytes, kMaxStructure);
    bytes.expect(bytes.field(1) == kObjectSize && bytes.at(2) == kBytesData && bytes.size() == kBytesData + 8);
    object.expect(bytes.is_plausible());
  }
  return object.is_plausible() && str.is_plausible();
}

// PY_VERSION_HEX has the level in its last byte but four bits: 0xA alpha, 0xB beta, 0xC candidate, 0xF final.
bool is_frozen(std::uint32_t hex) noexcept {
  return (hex >> 4 & 0xF) >= 0xC;
}

}  // namespace

const PythonLayout* unpublished_layout(std::uint32_t hex) noexcept {
  if ((hex & 0xFFFF) != 0 && !is_frozen(hex)) return nullptr;
  const auto* found = std::find_if(std::begin(kLayouts), std::end(kLayouts),
                                   [=](const PythonLayout& layout) { return layout.version == hex >> 16; });
  return found == std::end(kLayouts) ? nullptr : found;
}

Published read_published_layout(const void* table, std::uint32_t hex, PythonLayout& layout) noexcept {
  const auto* form = std::find_if(std::begin(kForms), std::end(kForms),
                                  [=](const TableForm& each) { return each.version == hex >> 16; });
  if (form == std::end(kForms) || !is_frozen(hex)) return Published::kUnknownVersion;
  struct {
    char cookie[8];
    std::uint64_t version;
    std::uint64_t free_threaded;
  } head;
  std::memcpy(&head, table, sizeof head);
  if (std::memcmp(head.cookie, "xdebugpy", sizeof head.cookie) != 0 || head.version != hex) {
    return Published::kImplausible;
  }
  if (head.free_threaded != 0) return Published::kFreeThreaded;
  layout = {};
  layout.version = form->version;
  layout.thread_cframe = 0;
  layout.cframe_frame = kNotThere;
  layout.first_evaluator_owner = kFirstEvaluatorOwner;
  layout.last_evaluator_owner = form->last_evaluator_owner;
  layout.code_tag = form->code_tag;
  const bool is_plausible = read_interpreter_and_thread(table, *form, layout) && read_frame(table, *form, layout) &&
                            read_code(table, *form, layout) && read_objects(table, *form, layout);
  return is_plausible ? Published::kRead : Published::kImplausible;
}

}  // namespace turnpike::record
