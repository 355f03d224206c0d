// The tables of strings and stacks, and the caches and symbols behind them.
#include <dlfcn.h>
#include <elf.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <thread>

#include "record/stacks/loaded_module.h"
#include "record/stacks/module_symbols.h"
#include "record/stacks/python_frames.h"
#include "record/stacks/python_lines.h"
#include "record/stacks/python_reader.h"
#include "record/stacks/stack_table.h"
#include "record/stacks/string_table.h"
#include "record/stacks/word_cache.h"

extern "C" __attribute__((noinline, visibility("default"))) int turnpike_named_function(int value) {
  static volatile int sink;
  sink = value;
  return sink + 1;
}

namespace turnpike::record {
namespace {

std::map<std::uint32_t, std::string> read_strings(const std::vector<std::byte>& payload) {
  std::map<std::uint32_t, std::string> strings;
  EXPECT_EQ(payload.size() % 8, 0u);
  for (std::size_t at = 0; at < payload.size();) {
    trace::StringEntry entry;
    std::memcpy(&entry, payload.data() + at, sizeof entry);
    at += sizeof entry;
    strings[entry.id] = std::string(reinterpret_cast<const char*>(payload.data() + at), entry.bytes);
    at += (entry.bytes + 7u) & ~7u;
  }
  return strings;
}

TEST(StringTable, GivesOneTextOneNumberAndDrainsItOnce) {
  StringTable table;
  const std::uint32_t a = table.intern("cudaMemcpyAsync");
  const std::uint32_t b = table.intern("größe");
  const std::uint32_t empty = table.intern("");
  EXPECT_NE(a, trace::kNoId);
  EXPECT_NE(empty, trace::kNoId);
  EXPECT_EQ(table.intern("cudaMemcpyAsync"), a);
  std::vector<std::byte> payload;
  table.drain(payload);
  const std::map<std::uint32_t, std::string> expected{{a, "cudaMemcpyAsync"}, {b, "größe"}, {empty, ""}};
  EXPECT_EQ(read_strings(payload), expected);
  payload.clear();
  table.drain(payload);
  EXPECT_TRUE(payload.empty());
  table.restart();
  table.drain(payload);
  EXPECT_EQ(read_strings(payload), expected);
}

TEST(StringTable, KeepsManyTextsOfManySizes) {
  StringTable table;
  std::map<std::uint32_t, std::string> expected;
  for (std::size_t i = 0; i < 3000; ++i) {
    const std::string text = std::to_string(i) + std::string(i * 37 % 5000, 'x');
    expected[table.intern(text)] = text;
  }
  EXPECT_EQ(expected.size(), 3000u);
  std::vector<std::byte> payload;
  table.drain(payload);
  EXPECT_EQ(read_strings(payload), expected);
}

TEST(StringTable, CutsAnEndlessTextBetweenCharacters) {
  StringTable table;
  std::string endless = "x";
  while (endless.size() < 100000) endless += "ü";
  const std::uint32_t id = table.intern(endless);
  std::vector<std::byte> payload;
  table.drain(payload);
  const std::string kept = read_strings(payload)[id];
  EXPECT_LT(kept.size(), endless.size());
  EXPECT_EQ(kept.size() % 2, 1u);
  EXPECT_EQ(endless.substr(0, kept.size()), kept);
}

TEST(StringTable, RefusesWhatDoesNotFitOneChunk) {
  StringTable table;
  std::uint32_t last = 1;
  std::size_t accepted = 0;
  for (; last != trace::kNoId && accepted < 2000; ++accepted) {
    last = table.intern(std::to_string(accepted) + std::string(60000, 'y'));
  }
  EXPECT_EQ(last, trace::kNoId);
  std::vector<std::byte> payload;
  table.drain(payload);
  EXPECT_LT(payload.size(), trace::kMaxChunkBytes);
  EXPECT_NE(table.intern("small"), trace::kNoId) << "a large text that is refused takes no room from a small one";
}

TEST(StringTable, NamesOfRangesLeaveRoomForTheRest) {
  StringTable table;
  std::uint32_t last = 1;
  std::size_t number = 0;
  for (; last != trace::kNoId && number < 2000; ++number) {
    last = table.intern_range_name(std::to_string(number) + std::string(60000, 'y'));
  }
  ASSERT_EQ(last, trace::kNoId);
  EXPECT_GT(number, 200u);
  EXPECT_EQ(table.refused(), 1u);
  EXPECT_EQ(table.intern_range_name(std::string(60001, 'y')), trace::kNoId);
  EXPECT_NE(table.intern_range_name("0" + std::string(60000, 'y')), trace::kNoId) << "known already";
  EXPECT_EQ(table.refused(), 2u);
  for (std::size_t i = 0; i < 200; ++i) {
    const std::string text = "kernel " + std::to_string(i) + std::string(60000, 'z');
    const std::uint32_t id = table.intern(text);
    EXPECT_EQ(table.text(id), text);
    EXPECT_EQ(table.intern_range_name(text), id) << "what others keep costs a range nothing";
  }
  EXPECT_EQ(table.refused(), 2u);
}

TEST(StringTable, ThreadsAgree) {
  StringTable table;
  std::vector<std::vector<std::uint32_t>> seen(4);
  std::vector<std::thread> threads;
  for (auto& numbers : seen) {
    threads.emplace_back([&] {
      for (int i = 0; i < 2000; ++i) numbers.push_back(table.intern(std::to_string(i % 500)));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& numbers : seen) EXPECT_EQ(numbers, seen[0]);
}

TEST(WordCache, FindsWhatWasInsertedUntilItIsPushedOut) {
  WordCache cache(4);
  std::uint64_t value = 0;
  EXPECT_FALSE(cache.find(1, value));
  for (std::uint64_t key = 1; key < 1000; ++key) {
    cache.insert(key, key * 3);
    ASSERT_TRUE(cache.find(key, value));
    EXPECT_EQ(value, key * 3);
  }
  std::size_t kept = 0;
  for (std::uint64_t key = 1; key < 1000; ++key) {
    if (!cache.find(key, value)) continue;
    ++kept;
    EXPECT_EQ(value, key * 3);
  }
  EXPECT_GT(kept, 32u);
  EXPECT_LE(kept, 64u);
  cache.clear();
  for (std::uint64_t key = 1; key < 1000; ++key) EXPECT_FALSE(cache.find(key, value));
}

TEST(WordCache, GivesItsMemoryBack) {
  const auto mapped_pages = [] {
    long pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    return pages;
  };
  {
    const WordCache first(16);
  }
  const long before = mapped_pages();
  for (int i = 0; i < 20; ++i) const WordCache cache(16);
  EXPECT_LT(mapped_pages() - before, 1024) << "each has as many";
}

TEST(WordCache, NeverGivesAnotherKeysValueWhileThreadsWrite) {
  WordCache cache(2);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937_64 random(t);
      for (int i = 0; i < 200000; ++i) {
        const std::uint64_t key = random() % 64 + 1;
        std::uint64_t value = 0;
        if (cache.find(key, value) && value != key * 0x9E3779B97F4A7C15u) ++wrong;
        cache.insert(key, key * 0x9E3779B97F4A7C15u);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0);
}

TEST(PythonLines, AnyBytesAreATable) {
  std::mt19937 random(5);
  for (int i = 0; i < 20000; ++i) {
    std::vector<unsigned char> table(random() % 40);
    for (unsigned char& byte : table) byte = static_cast<unsigned char>(random());
    const auto at = static_cast<std::int32_t>(random() % 200) - 2;
    line_of_instruction(table, static_cast<std::int32_t>(random()), at);
    line_of_instruction_310(table, static_cast<std::int32_t>(random()), at);
  }
}

// Entries of CPython 3.11 on: a form in bits 3 to 6 of the first byte, units of two bytes in the low three.
TEST(PythonLines, ReadsEveryFormOfTheTable) {
  const auto entry = [](unsigned form, unsigned units) {
    return static_cast<unsigned char>(0x80 | form << 3 | (units - 1));
  };
  const std::vector<unsigned char> table{
      entry(0, 1),  5,                   // bytes 0 and 1: the line stays 10
      entry(10, 2), 1,      2,           // 2 to 5: the same line
      entry(11, 1), 1,      2,           // 6: one more, 11
      entry(12, 8), 1,      2,           // 8 to 23: two more, 13
      entry(13, 1), 6,                   // 24: three more, 16
      entry(13, 1), 7,                   // 26: three less, 13
      entry(14, 1), 64 | 2, 3, 1, 2, 3,  // 28: (3 << 6 | 2) / 2 = 97 more, 110
      entry(15, 1),                      // 30: no line
      entry(9, 1),  1,                   // 32: 110 again
  };
  const std::pair<std::int32_t, std::uint32_t> lines[] = {
      {-1, 10}, {0, 10},  {1, 10},   {2, 10},   {5, 10}, {6, 11}, {7, 11},   {8, 13},   {23, 13}, {24, 16},
      {25, 16}, {26, 13}, {28, 110}, {29, 110}, {30, 0}, {31, 0}, {32, 110}, {33, 110}, {34, 0},
  };
  for (const auto& [byte, line] : lines) EXPECT_EQ(line_of_instruction(table, 10, byte), line) << byte;
  EXPECT_EQ(line_of_instruction(table, -20, 0), 0u) << "no line is below 1";
  EXPECT_EQ(line_of_instruction(table, 0, 6), 1u);
  EXPECT_EQ(line_of_instruction(table, 0, -1), 0u);
  EXPECT_EQ(line_of_instruction({}, 10, 0), 0u);
  const std::vector<unsigned char> cut{entry(13, 1), 64 | 2, 3};
  EXPECT_EQ(line_of_instruction(std::span(cut).first(2), 10, 0), 11u) << "what is behind the table is not of it";
  const std::vector<unsigned char> long_number{entry(13, 1), 64 | 10, 64, 64, 64, 64, 63};
  EXPECT_EQ(line_of_instruction(long_number, 10, 0), 15u) << "30 bits of it";
  for (unsigned form = 0; form < 10; ++form) {
    EXPECT_EQ(line_of_instruction(std::vector<unsigned char>{entry(form, 1), 5}, 10, 0), 10u) << form;
  }
}

TEST(PythonLines, ReadsTheTableOf310) {
  // Two units of line 11, then none, then line 9.
  const std::vector<unsigned char> table{4, 1, 2, 0x80, 6, 0xFE};
  EXPECT_EQ(line_of_instruction_310(table, 10, 0), 11u);
  EXPECT_EQ(line_of_instruction_310(table, 10, 3), 11u);
  EXPECT_EQ(line_of_instruction_310(table, 10, 4), 0u);
  EXPECT_EQ(line_of_instruction_310(table, 10, 6), 9u);
  EXPECT_EQ(line_of_instruction_310(table, 10, 100), 0u);
  EXPECT_EQ(line_of_instruction_310(table, 10, -2), 10u);
  EXPECT_EQ(line_of_instruction_310(table, 10, -1), 10u);
  EXPECT_EQ(line_of_instruction_310(table, 10, 5), 0u);
  EXPECT_EQ(line_of_instruction_310(table, 10, 11), 9u);
  EXPECT_EQ(line_of_instruction_310(table, 10, 12), 0u);
  EXPECT_EQ(line_of_instruction_310(table, 1, 6), 0u) << "no line is below 1";
  const std::vector<unsigned char> far{200, 0x81, 4};
  EXPECT_EQ(line_of_instruction_310(far, 200, 199), 73u) << "lines have a sign, bytes have none";
  EXPECT_EQ(line_of_instruction_310(far, 200, 200), 0u) << "half a pair";
}

TEST(ModuleSymbols, NamesAFunctionFromItsAddressInTheFile) {
  const auto address = reinterpret_cast<std::uintptr_t>(&turnpike_named_function);
  LoadedModule module;
  ASSERT_TRUE(find_module(address, module));
  ModuleSymbols symbols;
  bool is_readable = false;
  EXPECT_EQ(symbols.function_at(file_of(module), module.segments_hash, address - module.base, is_readable),
            "turnpike_named_function");
  EXPECT_TRUE(is_readable);
  EXPECT_EQ(symbols.function_at(file_of(module), module.segments_hash, address - module.base + 3, is_readable),
            "turnpike_named_function");
  EXPECT_EQ(symbols.function_at(file_of(module), module.segments_hash, 1, is_readable), "");
}

TEST(ModuleSymbols, NamesFunctionsOfAStrippedLibraryFromItsDynamicSymbols) {
  const auto address = reinterpret_cast<std::uintptr_t>(dlsym(RTLD_DEFAULT, "gnu_get_libc_version"));
  LoadedModule module;
  ASSERT_TRUE(find_module(address, module));
  ModuleSymbols symbols;
  bool is_readable = false;
  EXPECT_EQ(symbols.function_at(file_of(module), module.segments_hash, address - module.base, is_readable),
            "gnu_get_libc_version");
}

TEST(ModuleSymbols, SaysWhichFilesCannotBeRead) {
  ModuleSymbols symbols;
  bool is_readable = true;
  EXPECT_EQ(symbols.function_at("linux-vdso.so.1", 0, 0x1000, is_readable), "");
  EXPECT_FALSE(is_readable);
  is_readable = true;
  symbols.function_at("/", 0, 0, is_readable);
  EXPECT_FALSE(is_readable);
}

TEST(ModuleSymbols, AFileWithoutAnyNamesIsReadable) {
  std::ifstream self("/proc/self/exe", std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(self)), {});
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof header);
  header.e_shnum = 0;
  std::memcpy(bytes.data(), &header, sizeof header);
  const std::string path = testing::TempDir() + "turnpike_nameless_" + std::to_string(getpid());
  std::ofstream(path, std::ios::binary) << bytes;
  const std::unique_ptr<SymbolFile> symbols = SymbolFile::open(path);
  unlink(path.c_str());
  ASSERT_NE(symbols, nullptr);
  EXPECT_EQ(symbols->function_at(header.e_entry), "");
}

TEST(ModuleSymbols, RefusesTheFileOfAnotherBuild) {
  const auto address = reinterpret_cast<std::uintptr_t>(&turnpike_named_function);
  LoadedModule module;
  ASSERT_TRUE(find_module(address, module));
  ModuleSymbols symbols;
  bool is_readable = true;
  EXPECT_EQ(symbols.function_at(file_of(module), module.segments_hash + 1, address - module.base, is_readable), "");
  EXPECT_FALSE(is_readable);
}

TEST(ModuleSymbols, DamagedFilesAreHarmless) {
  std::ifstream self("/proc/self/exe", std::ios::binary);
  std::string good((std::istreambuf_iterator<char>(self)), {});
  const std::string path = testing::TempDir() + "turnpike_damaged_" + std::to_string(getpid());
  std::mt19937 random(9);
  int named = 0;
  const auto read_all = [&](const std::string& bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
    const std::unique_ptr<SymbolFile> symbols = SymbolFile::open(path);
    if (symbols == nullptr) return;
    for (std::uint64_t address = 0; address < good.size(); address += 9973) {
      named += symbols->function_at(address).empty() ? 0 : 1;
    }
  };
  for (int i = 0; i < 40; ++i) {
    std::string bad = good;
    // The header, and the table of sections at the end.
    for (int flip = 0; flip < 4; ++flip) bad[random() % 64] = static_cast<char>(random());
    if (i % 2 != 0) std::memcpy(bad.data(), good.data(), 64);
    for (int flip = 0; flip < 40; ++flip) bad[bad.size() - 1 - random() % 3000] = static_cast<char>(random());
    if (i % 4 == 0) bad.resize(random() % bad.size());
    read_all(bad);
  }
  unlink(path.c_str());
  EXPECT_GT(named, 0) << "no damage left anything to read";
}

std::uint32_t count_of(const std::vector<std::byte>& payload, std::size_t entry_bytes) {
  return static_cast<std::uint32_t>(payload.size() / entry_bytes);
}

// Two pages, the second of which cannot be read.
class HalfReadable : public testing::Test {
 protected:
  HalfReadable() {
    void* const pages = mmap(nullptr, 2 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(pages, MAP_FAILED);
    pages_ = static_cast<char*>(pages);
    for (int i = 0; i < 4096; ++i) pages_[i] = static_cast<char>(i % 251);
    EXPECT_EQ(mprotect(pages_ + 4096, 4096, PROT_NONE), 0);
  }
  ~HalfReadable() override { munmap(pages_, 2 * 4096); }

  char* pages_ = nullptr;
  CarefulReader reader_;
};

TEST_F(HalfReadable, FieldsAreReadWhereThereAreAny) {
  EXPECT_EQ(reader_.get<std::uint8_t>(pages_, 7), 7u);
  EXPECT_EQ(reader_.get<std::uint8_t>(pages_, 4095), 4095 % 251);
  EXPECT_FALSE(reader_.has_failed());
  EXPECT_EQ(reader_.get<std::uint64_t>(pages_, 4096), 0u);
  EXPECT_TRUE(reader_.has_failed());
  EXPECT_EQ(reader_.get<std::uint8_t>(pages_, 7), 7u);
  EXPECT_TRUE(reader_.has_failed()) << "it stays so";
  reader_.restart();
  EXPECT_FALSE(reader_.has_failed());
  EXPECT_EQ(reader_.get<std::uint32_t>(pages_, 2), 0u) << "no field of CPython is there";
  EXPECT_TRUE(reader_.has_failed());
}

TEST_F(HalfReadable, FieldsMayBeOldUntilThePageIsForgotten) {
  EXPECT_EQ(reader_.get<std::uint8_t>(pages_, 7), 7u);
  pages_[7] = 100;
  EXPECT_EQ(reader_.get<std::uint8_t>(pages_, 7), 7u);
  reader_.forget();
  EXPECT_EQ(reader_.get<std::uint8_t>(pages_, 7), 100u);
  pages_[7] = 101;
  reader_.restart();
  EXPECT_EQ(reader_.get<std::uint8_t>(pages_, 7), 101u);
}

TEST_F(HalfReadable, NothingIsWhereNullptrLeads) {
  EXPECT_EQ(reader_.get<std::uint64_t>(nullptr, 16), 0u);
  EXPECT_TRUE(reader_.has_failed());
  reader_.restart();
  reader_.get<std::uint64_t>(pages_, 16);
  reader_.forget();
  EXPECT_EQ(reader_.get<std::uint64_t>(nullptr, 16), 0u);
  EXPECT_TRUE(reader_.has_failed());
}

TEST_F(HalfReadable, TablesOfLinesAreNotReadBeyondTheirEnd) {
  std::mt19937 random(7);
  for (int i = 0; i < 5000; ++i) {
    const std::size_t size = random() % 12;
    auto* const table = reinterpret_cast<unsigned char*>(pages_ + 4096 - size);
    for (std::size_t at = 0; at < size; ++at) table[at] = static_cast<unsigned char>(random());
    line_of_instruction({table, size}, 10, 1000);
    line_of_instruction_310({table, size}, 10, 1000);
  }
}

TEST_F(HalfReadable, TextsAreThereAsAWholeOrNot) {
  const Pointer view = reader_.view(pages_ + 4090, 6);
  ASSERT_NE(view, nullptr);
  EXPECT_EQ(std::memcmp(view, pages_ + 4090, 6), 0);
  EXPECT_FALSE(reader_.has_failed());
  EXPECT_EQ(reader_.view(pages_ + 4090, 7), nullptr);
  EXPECT_TRUE(reader_.has_failed());
}

TEST(CarefulReader, TakesTextsOfAsMuchAsItHasRoomFor) {
  const std::string text(16'385, 'x');
  CarefulReader reader;
  const Pointer view = reader.view(text.data(), 16'384);
  ASSERT_NE(view, nullptr);
  EXPECT_EQ(std::string_view(view, 16'384), std::string_view(text).substr(0, 16'384));
  EXPECT_FALSE(reader.has_failed());
  EXPECT_EQ(reader.view(text.data(), 16'385), nullptr);
  EXPECT_TRUE(reader.has_failed());
}

TEST(PythonText, HashSeesEveryByte) {
  std::string text(100, 'x');
  for (std::size_t size = 0; size < text.size(); ++size) {
    const std::uint64_t plain = hash_bytes(1, text.data(), size);
    EXPECT_EQ(hash_bytes(1, std::string(text).data(), size), plain);
    EXPECT_NE(hash_bytes(2, text.data(), size), plain);
    for (std::size_t at = 0; at < size; ++at) {
      text[at] = 'y';
      EXPECT_NE(hash_bytes(1, text.data(), size), plain) << at << " of " << size;
      text[at] = 'x';
    }
    text[size] = 'y';
    EXPECT_EQ(hash_bytes(1, text.data(), size), plain) << size;
    text[size] = 'x';
  }
}

TEST_F(HalfReadable, LongTextsAreKnownByTheirEnds) {
  constexpr std::size_t kLimit = 64;
  constexpr std::size_t kSize = 200;
  char* const text = pages_ + 4096 - kSize;
  const auto hashed = [&] {
    reader_.restart();
    const std::uint64_t hash = sample(reader_, 1, text, kSize, kLimit);
    EXPECT_FALSE(reader_.has_failed());
    return hash;
  };
  const std::uint64_t plain = hashed();
  EXPECT_NE(sample(reader_, 1, text, kSize - 1, kLimit), plain);
  for (std::size_t at = 0; at < kSize; ++at) {
    text[at] ^= 1;
    EXPECT_EQ(hashed() != plain, at < kLimit / 2 || at >= kSize - kLimit / 2) << at;
    text[at] ^= 1;
  }
  char* const whole = pages_ + 4096 - kLimit;
  const std::uint64_t short_hash = sample(reader_, 1, whole, kLimit, kLimit);
  for (std::size_t at = 0; at < kLimit; ++at) {
    whole[at] ^= 1;
    EXPECT_NE(sample(reader_, 1, whole, kLimit, kLimit), short_hash) << at;
    whole[at] ^= 1;
  }
}

TEST(StackTable, GivesOneStackOneNumberAndDrainsItOnce) {
  StringTable strings;
  StackTable table(strings);
  std::uint32_t numbers[2];
  for (std::uint32_t& number : numbers) number = table.capture();
  EXPECT_NE(numbers[0], trace::kNoId);
  EXPECT_EQ(numbers[0], numbers[1]);
  std::vector<std::byte> frames, stacks, texts;
  ModuleSymbols symbols;
  table.name_new(symbols);
  table.drain(frames, stacks);
  strings.drain(texts);
  EXPECT_GT(count_of(frames, sizeof(trace::FrameEntry)), 0u);
  EXPECT_EQ(stacks.size() % 8, 0u);
  EXPECT_FALSE(stacks.empty());
  const std::vector<std::byte> first = frames;
  frames.clear();
  stacks.clear();
  table.drain(frames, stacks);
  EXPECT_TRUE(frames.empty());
  EXPECT_TRUE(stacks.empty());
  table.restart();
  table.drain(frames, stacks);
  EXPECT_EQ(frames, first);
  EXPECT_EQ(table.losses().full, 0u);
  EXPECT_EQ(table.losses().not_walked, 0u);
}

// What a stack table has written: its frames and, by their ids, its stacks.
struct Drained {
  std::vector<trace::FrameEntry> frames;
  struct Stack {
    std::uint16_t flags;
    std::vector<std::uint32_t> frames;
    bool operator==(const Stack&) const = default;
  };
  std::map<std::uint32_t, Stack> stacks;
};

Drained drain(StackTable& table) {
  std::vector<std::byte> frames, stacks;
  ModuleSymbols symbols;
  table.name_new(symbols);
  table.drain(frames, stacks);
  Drained drained;
  drained.frames.resize(frames.size() / sizeof(trace::FrameEntry));
  if (!frames.empty()) std::memcpy(drained.frames.data(), frames.data(), frames.size());
  for (std::size_t at = 0; at < stacks.size();) {
    trace::StackEntry entry;
    std::memcpy(&entry, stacks.data() + at, sizeof entry);
    at += sizeof entry;
    Drained::Stack& stack = drained.stacks[entry.id];
    stack.flags = entry.flags;
    stack.frames.resize(entry.frame_count);
    if (entry.frame_count != 0) std::memcpy(stack.frames.data(), stacks.data() + at, 4u * entry.frame_count);
    at += (4u * entry.frame_count + 7u) & ~7u;
  }
  return drained;
}

PythonFrameText frame_of(const char* file, const char* function, std::uint32_t line, std::uint32_t first_line) {
  PythonFrameText text{};
  text.file = file;
  text.function = function;
  text.line = line;
  text.first_line = first_line;
  return text;
}

TEST(StackTable, KeepsEachFrameOfPythonOnceWithAllThatItSays) {
  StringTable strings;
  StackTable table(strings);
  const std::uint32_t id = table.enter_frame(frame_of("/a.py", "step", 7, 5));
  EXPECT_EQ(id, 1u);
  EXPECT_EQ(table.enter_frame(frame_of("/a.py", "step", 7, 5)), 1u);
  EXPECT_EQ(table.enter_frame(frame_of("/b.py", "step", 7, 5)), 2u);
  EXPECT_EQ(table.enter_frame(frame_of("/a.py", "other", 7, 5)), 3u);
  EXPECT_EQ(table.enter_frame(frame_of("/a.py", "step", 8, 5)), 4u);
  EXPECT_EQ(table.enter_frame(frame_of("/a.py", "step", 7, 6)), 5u);
  const Drained drained = drain(table);
  ASSERT_EQ(drained.frames.size(), 5u);
  EXPECT_EQ(drained.frames[1].id, 2u);
  const trace::FrameEntry& frame = drained.frames[0];
  EXPECT_EQ(frame.id, 1u);
  EXPECT_EQ(frame.kind, trace::FrameKind::kPython);
  EXPECT_EQ(strings.text(frame.function), "step");
  EXPECT_EQ(strings.text(frame.file), "/a.py");
  EXPECT_EQ(frame.line, 7u);
  EXPECT_EQ(frame.first_line, 5u);
  EXPECT_EQ(frame.module_offset, 0u);
  EXPECT_EQ(drain(table).frames.size(), 0u);
  table.enter_frame(frame_of("/c.py", "step", 7, 5));
  EXPECT_EQ(drain(table).frames.size(), 1u) << "what is new";
  EXPECT_EQ(table.losses().unnamed_library, 0u);
}

TEST(StackTable, KeepsEachStackOnceWithItsFramesInTheirOrder) {
  StringTable strings;
  StackTable table(strings);
  std::vector<std::uint32_t> ids;
  for (std::uint32_t line = 1; line <= 3; ++line) ids.push_back(table.enter_frame(frame_of("/a.py", "f", line, 1)));
  const std::uint32_t inner[] = {ids[0], ids[1]}, turned[] = {ids[1], ids[0]};
  EXPECT_EQ(table.enter_stack(inner, false), 1u);
  EXPECT_EQ(table.enter_stack(inner, false), 1u);
  EXPECT_EQ(table.enter_stack(inner, true), 2u) << "one that was cut is another";
  EXPECT_EQ(table.enter_stack(turned, false), 3u);
  EXPECT_EQ(table.enter_stack(ids, false), 4u);
  EXPECT_EQ(table.enter_stack({}, false), 5u);
  EXPECT_EQ(table.enter_stack(turned, false), 3u);
  const std::map<std::uint32_t, Drained::Stack> expected{
      {1, {0, {1, 2}}}, {2, {trace::kStackIsTruncated, {1, 2}}}, {3, {0, {2, 1}}}, {4, {0, {1, 2, 3}}}, {5, {0, {}}}};
  EXPECT_EQ(drain(table).stacks, expected);
  EXPECT_TRUE(drain(table).stacks.empty());
  table.restart();
  EXPECT_EQ(drain(table).stacks, expected);
  EXPECT_EQ(table.losses().full, 0u);
  EXPECT_EQ(table.losses().truncated, 0u) << "of walks";
}

TEST(StackTable, DrainsNoStackBeforeItsFrames) {
  StringTable strings;
  StackTable table(strings);
  const std::uint32_t known = table.enter_frame(frame_of("/a.py", "f", 1, 1));
  table.enter_stack({&known, 1}, false);
  ModuleSymbols symbols;
  table.name_new(symbols);
  // As other threads do between the naming and the drain.
  const std::uint32_t late[] = {known, table.enter_frame(frame_of("/a.py", "f", 2, 1))};
  table.enter_stack(late, false);
  table.enter_stack({&known, 1}, true);
  std::vector<std::byte> frames, stacks;
  table.drain(frames, stacks);
  EXPECT_EQ(count_of(frames, sizeof(trace::FrameEntry)), 1u);
  EXPECT_EQ(count_of(stacks, sizeof(trace::StackEntry) + 8), 1u);
  const Drained rest = drain(table);
  EXPECT_EQ(rest.frames.size(), 1u);
  const std::map<std::uint32_t, Drained::Stack> expected{{2, {0, {1, 2}}}, {3, {trace::kStackIsTruncated, {1}}}};
  EXPECT_EQ(rest.stacks, expected);
}

TEST(StackTable, GivesTheFramesOfAStackBack) {
  StringTable strings;
  StackTable table(strings);
  std::vector<std::uint32_t> ids;
  for (std::uint32_t line = 1; line <= 3; ++line) ids.push_back(table.enter_frame(frame_of("/a.py", "f", line, 1)));
  std::reverse(ids.begin(), ids.end());
  const std::uint32_t stack = table.enter_stack(ids, false);
  std::vector<trace::FrameEntry> frames;
  EXPECT_FALSE(table.copy_frames(stack, frames)) << "they have no names yet";
  ModuleSymbols symbols;
  table.name_new(symbols);
  table.copy_frames(trace::kNoId, frames);
  table.copy_frames(stack + 1, frames);
  EXPECT_TRUE(frames.empty());
  table.copy_frames(stack, frames);
  ASSERT_EQ(frames.size(), 3u);
  EXPECT_EQ(frames[0].line, 3u);
  EXPECT_EQ(frames[2].line, 1u);
  table.copy_frames(stack, frames);
  EXPECT_EQ(frames.size(), 6u) << "behind what there is";
}

TEST(StackTable, HasTheModuleAndTheSymbolOfANativeFrame) {
  if (!kWalksNativeFrames) GTEST_SKIP() << "there are no native frames";
  StringTable strings;
  StackTable table(strings);
  ASSERT_NE(table.capture(), trace::kNoId);
  const Drained drained = drain(table);
  ASSERT_FALSE(drained.frames.empty());
  for (const trace::FrameEntry& frame : drained.frames) {
    EXPECT_EQ(frame.kind, trace::FrameKind::kNative);
    EXPECT_EQ(frame.line, 0u);
    const std::string path(strings.text(frame.file));
    EXPECT_TRUE(path.starts_with("/")) << path;
    EXPECT_GT(frame.module_offset, 0u);
    SCOPED_TRACE(path);
    const auto file = SymbolFile::open(path);
    ASSERT_NE(file, nullptr);
    EXPECT_EQ(strings.text(frame.function), file->function_at(frame.module_offset));
  }
}

// Naming may take long: what was drained meanwhile lacks the frames alone, which come later.
TEST(StackTable, DrainsFramesOnceTheyHaveTheirNames) {
  StringTable strings;
  StackTable table(strings);
  const std::uint32_t frame = table.enter_frame(frame_of("/a.py", "f", 1, 1));
  table.enter_stack({&frame, 1}, false);
  std::vector<std::byte> frames, stacks;
  EXPECT_TRUE(table.has_unnamed());
  table.drain(frames, stacks);
  EXPECT_TRUE(frames.empty());
  EXPECT_TRUE(stacks.empty());
  EXPECT_EQ(table.drained_frames(), 0u);
  ModuleSymbols symbols;
  table.name_new(symbols);
  EXPECT_FALSE(table.has_unnamed());
  table.drain(frames, stacks);
  EXPECT_EQ(count_of(frames, sizeof(trace::FrameEntry)), 1u);
  EXPECT_EQ(count_of(stacks, sizeof(trace::StackEntry) + 8), 1u);
  EXPECT_EQ(table.drained_frames(), 1u);
}

TEST(StackTable, ThreadsAgreeOnNumbersAndEveryNumberIsDefined) {
  StringTable strings;
  StackTable table(strings);
  std::vector<std::vector<std::uint32_t>> seen(4);
  std::vector<std::thread> threads;
  std::atomic<bool> stop{false};
  std::vector<std::byte> frames, stacks;
  std::thread namer([&] {
    ModuleSymbols symbols;
    while (!stop) table.name_new(symbols);
  });
  std::thread writer([&] {
    while (!stop) table.drain(frames, stacks);
  });
  for (auto& numbers : seen) {
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) numbers.push_back(table.capture());
    });
  }
  for (std::thread& thread : threads) thread.join();
  stop = true;
  writer.join();
  namer.join();
  ModuleSymbols symbols;
  table.name_new(symbols);
  table.drain(frames, stacks);
  ASSERT_FALSE(stacks.empty());
  for (const auto& numbers : seen) EXPECT_EQ(numbers, seen[0]);
  EXPECT_NE(seen[0][0], trace::kNoId);
  EXPECT_EQ(std::memcmp(stacks.data(), &seen[0][0], sizeof(std::uint32_t)), 0) << "the only stack is the first defined";
}

TEST(StackTable, CountsEachStackThatLacksItsNativeFrames) {
  StringTable strings;
  StackTable table(strings, /*walks_native=*/false);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(table.capture(), trace::kNoId) << "without Python nothing is left";
  EXPECT_EQ(table.losses().without_native, 3u);
  EXPECT_EQ(table.losses().not_walked, 3u);
  EXPECT_EQ(table.losses().truncated, 0u);
  StackTable walking(strings);
  walking.capture();
  EXPECT_EQ(walking.losses().without_native, kWalksNativeFrames ? 0u : 1u);
}

StackTable* g_table;
std::atomic<std::uint32_t> g_interruptions;

TEST(StackTable, ASignalHandlerMayCaptureInsideACapture) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer forbids memory in signal handlers, which a first capture needs";
#endif
  StringTable strings;
  StackTable table(strings);
  g_table = &table;
  struct sigaction action{};
  action.sa_handler = [](int) {
    g_table->capture();
    ++g_interruptions;
  };
  struct sigaction before;
  ASSERT_EQ(sigaction(SIGPROF, &action, &before), 0);
  const itimerval often{{0, 500}, {0, 500}};
  ASSERT_EQ(setitimer(ITIMER_PROF, &often, nullptr), 0);
  while (g_interruptions < 40) table.capture();
  const itimerval never{};
  setitimer(ITIMER_PROF, &never, nullptr);
  sigaction(SIGPROF, &before, nullptr);
  EXPECT_NE(table.capture(), trace::kNoId);
}

}  // namespace
}  // namespace turnpike::record
