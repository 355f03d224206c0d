#include "guard/event.h"

#include <pthread.h>

#include <array>
#include <cstdio>

#include "base/units.h"
#include "record/stacks/python_runtime.h"

namespace turnpike::guard {
namespace {

std::string_view advice_on(Kind kind) {
  switch (kind) {
    case Kind::kH2d:
      return "Make it on the GPU, or move it before with tp.prefetch or tp.to";
    case Kind::kD2h:
      return "Keep it on the GPU, or tp.fetch it";
    case Kind::kSync:
      return "Let the GPU run ahead: no .item(), no if on a tensor, no synchronize() here";
    case Kind::kPageable:
      return "Use pinned memory: pin_memory=True, tp.to or tp.pinned";
    case Kind::kAlloc:
      return "Allocate before, as in a warm-up";
    case Kind::kRepeat:
      return "Upload it once, and keep it on the GPU";
    case Kind::kD2d:
    case Kind::kP2p:
    case Kind::kH2h:
      break;
  }
  return "Do without the copy";
}

std::string memory_of(const Crossing& crossing) {
  std::string host = std::string(name_of(crossing.host_memory)) + " memory";
  if (crossing.host_memory == HostMemory::kNone) return {};
  if (crossing.kind == Kind::kH2d) return host + " -> GPU";
  if (crossing.kind == Kind::kD2h) return "GPU -> " + host;
  return host;
}

std::string name_of_this_thread() {
  std::array<char, 16> name{};
  return pthread_getname_np(pthread_self(), name.data(), name.size()) == 0 ? name.data() : "";
}

std::string field(std::string_view name, const std::string& json) {
  return json_text(name) + ':' + json;
}

std::string text_or_null(const std::string& text) {
  return text.empty() ? "null" : json_text(text);
}

std::string json_of_stack(const Place& place) {
  std::string json = "[";
  for (const auto& frame : place.frames) {
    if (json.size() > 1) json += ',';
    json += '[' + json_text(frame.file) + ',' + std::to_string(frame.line) + ',' + json_text(frame.function) + ']';
  }
  return json + ']';
}

// An event outlives the call, and its thread.
std::shared_ptr<const Place> lasting(const Place& place) {
  if (!place.is_kept()) return std::make_shared<const Place>(place);
  return {std::shared_ptr<const Place>(), &place};
}

}  // namespace

std::string what_happened(const Event& event) {
  const Crossing& crossing = event.crossing;
  std::string text = (event.kind == Kind::kRepeat ? "repeated " : "") + std::string(name_of(crossing.kind));
  if (crossing.bytes != 0) text += " of " + size_text(crossing.bytes);
  text += " by " + (event.op.empty() ? std::string(crossing.call) : event.op);
  if (record::known_python() == nullptr) return text + " (the lines of this version of Python are not known)";
  if (event.place->file.empty()) return text + " on the thread " + name_of_this_thread() + ", which runs no Python";
  return text + " at " + event.place->site() + " in " + event.place->function + "()";
}

Event make_event(Kind kind, const Crossing& crossing, const Place& place, std::string op, const Rule& rule) {
  Event event{.kind = kind, .crossing = crossing, .place = lasting(place), .op = std::move(op), .text = {}};
  std::string details = memory_of(crossing);
  const auto add = [&](const std::string& detail) { details += (details.empty() ? "" : ", ") + detail; };
  if (crossing.kinds.has(Kind::kSync)) add("the CPU waits");
  if (crossing.is_captured) add("captured into a graph: it will happen at every replay");
  if (crossing.is_move) add("a copy of Turnpike's own, which moves=\"disallow\" guards");
  if (kind == Kind::kRepeat) add("this line uploaded the same bytes before");
  if (crossing.is_over) add("not stopped, because a library outside PyTorch made it");
  if (rule.level == Level::kLimit) {
    const bool is_count = rule.most_count != UINT64_MAX;
    add("more than the " + (is_count ? std::to_string(rule.most_count) : size_text(rule.most_bytes)) + " permitted");
  }
  event.text = std::string(kPrefix) + what_happened(event);
  if (!details.empty()) event.text += ": " + details;
  event.text += ". " + std::string(advice_on(kind)) + "; to permit it: with tp.allow(\"" + std::string(name_of(kind)) +
                "\", reason=...)";
  return event;
}

std::string json_text(std::string_view text) {
  std::string json = "\"";
  for (const char letter : text) {
    if (letter == '"' || letter == '\\') {
      json += '\\';
      json += letter;
    } else if (static_cast<unsigned char>(letter) < 0x20) {
      std::array<char, 8> escaped{};
      std::snprintf(escaped.data(), escaped.size(), "\\u%04x", static_cast<unsigned>(letter));
      json += escaped.data();
    } else {
      json += letter;
    }
  }
  return json + '"';
}

std::string json_of(const Event& event) {
  const Crossing& crossing = event.crossing;
  return '{' + field("text", json_text(event.text)) + ',' + field("kind", json_text(name_of(event.kind))) + ',' +
         field("direction", json_text(name_of(crossing.kind))) + ',' + field("bytes", std::to_string(crossing.bytes)) +
         ',' + field("file", text_or_null(event.place->file)) + ',' + field("line", std::to_string(event.place->line)) +
         ',' + field("function", text_or_null(event.place->function)) + ',' + field("op", text_or_null(event.op)) +
         ',' + field("host_memory", text_or_null(std::string(name_of(crossing.host_memory)))) + ',' +
         field("stream", std::to_string(reinterpret_cast<std::uintptr_t>(crossing.stream))) + ',' +
         field("stack", json_of_stack(*event.place)) + '}';
}

}  // namespace turnpike::guard
