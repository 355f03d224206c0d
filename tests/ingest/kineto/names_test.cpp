// What each name says: every entry of the tables, and names that end where something is expected.
#include "ingest/kineto/names.h"

#include <gtest/gtest.h>

namespace turnpike::ingest {
namespace {

using trace::CopyKind;
using trace::MemoryKind;

TEST(KinetoNames, TellBothEndsOfACopy) {
  const std::pair<const char*, CopyKind> cases[] = {
      {"HtoD", CopyKind::kHostToDevice},  {"DtoH", CopyKind::kDeviceToHost}, {"DtoD", CopyKind::kDeviceToDevice},
      {"PtoP", CopyKind::kPeerToPeer},    {"HtoH", CopyKind::kHostToHost},   {"HtoA", CopyKind::kHostToArray},
      {"AtoH", CopyKind::kArrayToHost},   {"AtoA", CopyKind::kArrayToArray}, {"AtoD", CopyKind::kArrayToDevice},
      {"DtoA", CopyKind::kDeviceToArray}, {"M2D", CopyKind::kHostToDevice},  {"D2M", CopyKind::kDeviceToHost},
      {"M2M", CopyKind::kHostToHost},     {"MtoM", CopyKind::kHostToHost},   {"Hto", CopyKind::kUnknown},
      {"H2", CopyKind::kUnknown},         {"PtoD", CopyKind::kUnknown},      {"HxxD", CopyKind::kUnknown},
  };
  for (const auto& [ends, kind] : cases) {
    EXPECT_EQ(parse_copy_name(ends).copy_kind, kind) << ends;
    EXPECT_EQ(parse_copy_name(std::string("Memcpy ") + ends).copy_kind, kind) << ends;
  }
  EXPECT_EQ(parse_copy_name("CopyHostToDevice").copy_kind, CopyKind::kHostToDevice);
  EXPECT_EQ(parse_copy_name("CopyDeviceToDevice").copy_kind, CopyKind::kDeviceToDevice);
  EXPECT_EQ(parse_copy_name("hipCopyDeviceToHost").copy_kind, CopyKind::kDeviceToHost);
  EXPECT_EQ(parse_copy_name("CopyDToH").copy_kind, CopyKind::kDeviceToHost);
  for (const char* name : {"CopyHostTo", "CopyToDevice", "CopyHost", "Copy", "HostToDevice"}) {
    EXPECT_EQ(parse_copy_name(name).copy_kind, CopyKind::kUnknown) << name;
  }
}

TEST(KinetoNames, TellTheMemoryOfBothEndsAlone) {
  const std::pair<const char*, MemoryKind> cases[] = {
      {"Pageable", MemoryKind::kPageable},
      {"Pinned", MemoryKind::kPinned},
      {"Device", MemoryKind::kDevice},
      {"Array", MemoryKind::kArray},
      {"Managed", MemoryKind::kManaged},
      {"Device Static", MemoryKind::kDeviceStatic},
      {"Managed Static", MemoryKind::kManagedStatic},
      {"device", MemoryKind::kUnknown},
      {"", MemoryKind::kUnknown},
  };
  for (const auto& [name, kind] : cases) {
    const std::string text = name;
    const CopyName source = parse_copy_name("Memcpy HtoD (" + text + " -> x)");
    EXPECT_EQ(source.src_kind, kind) << name;
    EXPECT_EQ(source.dst_kind, MemoryKind::kUnknown) << name;
    const CopyName destination = parse_copy_name("Memcpy HtoD (x -> " + text + ")");
    EXPECT_EQ(destination.src_kind, MemoryKind::kUnknown) << name;
    EXPECT_EQ(destination.dst_kind, kind) << name;
    EXPECT_EQ(parse_memset_name("Memset (" + text + ")"), kind) << name;
  }
  for (const char* name : {"Memset", "Memset (Device", "Memset Device)", ")Device("}) {
    EXPECT_EQ(parse_memset_name(name), MemoryKind::kUnknown) << name;
  }
  for (const char* name : {"Memcpy HtoD (Device, Device)", "Memcpy HtoD (Device -> Device", "Device -> Device)"}) {
    EXPECT_EQ(parse_copy_name(name).src_kind, MemoryKind::kUnknown) << name;
    EXPECT_EQ(parse_copy_name(name).dst_kind, MemoryKind::kUnknown) << name;
  }
}

TEST(KinetoNames, SplitFunctionsOfPython) {
  const PythonName name = parse_python_name("torch/optim/adam.py(214): step");
  EXPECT_TRUE(name.is_python);
  EXPECT_EQ(name.file, "torch/optim/adam.py");
  EXPECT_EQ(name.first_line, 214u);
  EXPECT_EQ(name.function, "step");
  EXPECT_EQ(parse_python_name("a(1).py(2): f(3): g").function, "f(3): g");
  EXPECT_EQ(parse_python_name("a(1).py(2): f(3): g").file, "a(1).py");
  for (const char* text : {"<built-in f(1): g>", "nn.Module: L(1): x", "a.py(x): f", "a.py(1x): f", "a.py(): f",
                           "a.py1): f", "a.py(1) f", "a.py(99999999999): f", ""}) {
    const PythonName none = parse_python_name(text);
    EXPECT_FALSE(none.is_python) << text;
    EXPECT_EQ(none.function, text);
    EXPECT_EQ(none.file, "") << text;
    EXPECT_EQ(none.first_line, 0u) << text;
  }
}

TEST(KinetoNames, LoseAddressesAndNumbersOfThreads) {
  EXPECT_EQ(without_address("<built-in method f of T object at 0x7f>"), "<built-in method f of T object");
  EXPECT_EQ(without_address("<f at 0x1 at 0x2>"), "<f at 0x1");
  EXPECT_EQ(without_address("<built-in function len>"), "<built-in function len>");
  EXPECT_EQ(without_address("f at 0x7f>"), "f at 0x7f>");
  EXPECT_EQ(without_address("<f at 0x7f"), "<f at 0x7f");
  EXPECT_EQ(thread_name_of("thread 679 (pt_autograd_0)"), "pt_autograd_0");
  EXPECT_EQ(thread_name_of("thread 1 ()"), "");
  for (const char* label : {"thread 679", "thread 679 (a", "threads 679 (a)", "main (a)", ""}) {
    EXPECT_EQ(thread_name_of(label), label);
  }
}

TEST(KinetoNames, GetTheCharactersOfTheirEscapes) {
  EXPECT_EQ(unescaped(R"(\"\\\/\b\f\n\r\t)"), "\"\\/\b\f\n\r\t");
  EXPECT_EQ(unescaped("a\\nb"), "a\nb");
  EXPECT_EQ(unescaped("plain"), "plain");
  EXPECT_EQ(unescaped(""), "");
  const std::pair<const char*, const char*> characters[] = {
      {R"(\u0001)", "\x01"},
      {R"(\u007F)", "\x7F"},
      {R"(\u0080)", "\xC2\x80"},
      {R"(\u07ff)", "\xDF\xBF"},
      {R"(\u0800)", "\xE0\xA0\x80"},
      {R"(\uD7FF)", "\xED\x9F\xBF"},
      {R"(\uE000)", "\xEE\x80\x80"},
      {R"(\uFFFF)", "\xEF\xBF\xBF"},
      {R"(\uD800\uDC00)", "\xF0\x90\x80\x80"},
      {R"(\uD83D\uDE00)", "\xF0\x9F\x98\x80"},
      {R"(\uDBFF\uDFFF)", "\xF4\x8F\xBF\xBF"},
      {R"(\uD800)", "\xEF\xBF\xBD"},  // half of a pair
      {R"(\uDFFF)", "\xEF\xBF\xBD"},
      {R"(\uD800x)", "\xEF\xBF\xBDx"},
      {R"(\uDC00\uDC00)", "\xEF\xBF\xBD\xEF\xBF\xBD"},
      {R"(\uDBFF\uE000)", "\xEF\xBF\xBD\xEE\x80\x80"},
      {R"(\uDBFF\uDBFF)", "\xEF\xBF\xBD\xEF\xBF\xBD"},
      // No escapes: they stay as they stand.
      {R"(\x)", R"(\x)"},
      {"\\", "\\"},
      {R"(\u12)", R"(\u12)"},
      {R"(\u12G4)", R"(\u12G4)"},
      {R"(\U0041)", R"(\U0041)"},
      {R"(\u004)", R"(\u004)"},
  };
  for (const auto& [text, expected] : characters) EXPECT_EQ(unescaped(text), expected) << text;
}

}  // namespace
}  // namespace turnpike::ingest
