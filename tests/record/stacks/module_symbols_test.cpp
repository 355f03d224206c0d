// Symbols of ELF files made by hand: which functions have names, and which files are refused.
#include "record/stacks/module_symbols.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>

#include "record/stacks/loaded_module.h"

namespace turnpike::record {
namespace {

struct ElfSymbol {
  std::string name;
  std::uint64_t address = 0;
  std::uint64_t size = 0;
  unsigned char type = STT_FUNC;
  std::uint16_t section = 1;
};

// Sections: the null one, names, and the tables of symbols that are given.
struct ElfFile {
  struct Table {
    std::uint32_t type;
    std::vector<ElfSymbol> symbols;
  };
  std::vector<Table> tables;
  // May damage what is written.
  std::function<void(Elf64_Ehdr&, std::vector<Elf64_Shdr>&)> damage = [](auto&, auto&) {};
  Elf64_Phdr segment{.p_type = PT_LOAD,
                     .p_flags = 5,
                     .p_offset = 0,
                     .p_vaddr = 0x1000,
                     .p_paddr = 0,
                     .p_filesz = 7,
                     .p_memsz = 9,
                     .p_align = 0};
};

class ModuleSymbolsTest : public testing::Test {
 protected:
  ModuleSymbolsTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "symbols-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~ModuleSymbolsTest() override { std::filesystem::remove_all(folder_); }

  std::string write(const ElfFile& file, const std::string& name = "module.so") const {
    std::string names(1, '\0'), symbols;
    std::vector<Elf64_Shdr> sections(2);
    constexpr std::uint64_t kSymbolsAt = sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr);
    for (const ElfFile::Table& table : file.tables) {
      Elf64_Shdr section{};
      section.sh_type = table.type;
      section.sh_link = 1;
      section.sh_offset = kSymbolsAt + symbols.size();
      section.sh_size = table.symbols.size() * sizeof(Elf64_Sym);
      sections.push_back(section);
      for (const ElfSymbol& each : table.symbols) {
        Elf64_Sym symbol{};
        symbol.st_name = each.name.empty() ? 0 : static_cast<std::uint32_t>(names.size());
        symbol.st_info = static_cast<unsigned char>(ELF64_ST_INFO(STB_GLOBAL, each.type));
        symbol.st_shndx = each.section;
        symbol.st_value = each.address;
        symbol.st_size = each.size;
        symbols.append(reinterpret_cast<const char*>(&symbol), sizeof symbol);
        if (!each.name.empty()) names += each.name + '\0';
      }
    }
    sections[1].sh_type = SHT_STRTAB;
    sections[1].sh_offset = kSymbolsAt + symbols.size();
    sections[1].sh_size = names.size();
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_phentsize = sizeof(Elf64_Phdr);
    header.e_phoff = sizeof header;
    header.e_phnum = 1;
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shoff = kSymbolsAt + symbols.size() + names.size();
    header.e_shnum = static_cast<std::uint16_t>(sections.size());
    file.damage(header, sections);
    const std::string path = folder_ / name;
    std::ofstream out(path, std::ios::binary);
    out.write(reinterpret_cast<const char*>(&header), sizeof header);
    out.write(reinterpret_cast<const char*>(&file.segment), sizeof file.segment);
    out << symbols << names;
    for (const Elf64_Shdr& section : sections) out.write(reinterpret_cast<const char*>(&section), sizeof section);
    return path;
  }

  // The name at 0x100 of a file that is damaged like this; "refused" when it cannot be opened.
  std::string name_in_damaged(std::function<void(Elf64_Ehdr&, std::vector<Elf64_Shdr>&)> damage) const {
    const auto file = SymbolFile::open(write({{{SHT_SYMTAB, {{"f", 0x100, 16}}}}, std::move(damage)}));
    return file == nullptr ? "refused" : std::string(file->function_at(0x100));
  }

  std::filesystem::path folder_;
};

TEST_F(ModuleSymbolsTest, CoverTheirBytesAndNoMore) {
  const auto file = SymbolFile::open(write({{{SHT_SYMTAB,
                                              {{"late", 0x300, 1},
                                               {"first", 0x100, 0x10},
                                               {"of_assembly", 0x180, 0},
                                               {"outer", 0x200, 0x40},
                                               {"inner", 0x210, 8},
                                               {"endless", 0x1000, std::uint64_t{1} << 40}}}}}));
  ASSERT_NE(file, nullptr);
  EXPECT_EQ(file->function_at(0xFF), "");
  EXPECT_EQ(file->function_at(0x100), "first");
  EXPECT_EQ(file->function_at(0x10F), "first");
  EXPECT_EQ(file->function_at(0x110), "") << "behind its end";
  EXPECT_EQ(file->function_at(0x180), "of_assembly");
  EXPECT_EQ(file->function_at(0x1FF), "of_assembly") << "without a size it reaches up to the next symbol";
  EXPECT_EQ(file->function_at(0x20F), "outer");
  EXPECT_EQ(file->function_at(0x217), "inner");
  EXPECT_EQ(file->function_at(0x300), "late");
  EXPECT_EQ(file->function_at(0x301), "");
  EXPECT_EQ(file->function_at(0x100000FFE), "endless") << "a size that does not fit is the largest that does";
  EXPECT_EQ(file->function_at(0x100000FFF), "");
}

TEST_F(ModuleSymbolsTest, OfOnePlaceAreTheFirstThatReachesTheAddress) {
  const auto file =
      SymbolFile::open(write({{{SHT_SYMTAB, {{"short", 0x100, 4}, {"alias", 0x100, 8}, {"other", 0x100, 8}}}}}));
  ASSERT_NE(file, nullptr);
  EXPECT_EQ(file->function_at(0x103), "short");
  EXPECT_EQ(file->function_at(0x104), "alias");
  EXPECT_EQ(file->function_at(0x108), "");
}

TEST_F(ModuleSymbolsTest, AreThoseOfFunctionsThatAreThere) {
  const auto file = SymbolFile::open(write({{{SHT_SYMTAB,
                                              {{"data", 0x100, 8, STT_OBJECT},
                                               {"resolved", 0x200, 8, STT_GNU_IFUNC},
                                               {"elsewhere", 0x300, 8, STT_FUNC, SHN_UNDEF},
                                               {"", 0x400, 8},
                                               {"last", 0x500, 8}}}}}));
  ASSERT_NE(file, nullptr);
  EXPECT_EQ(file->function_at(0x100), "");
  EXPECT_EQ(file->function_at(0x200), "resolved");
  EXPECT_EQ(file->function_at(0x300), "");
  EXPECT_EQ(file->function_at(0x400), "");
  EXPECT_EQ(file->function_at(0x500), "last");
  EXPECT_GE(file->size_bytes(), 2u * 16);
  EXPECT_LT(file->size_bytes(), 5u * 16) << "only of those that count";
}

TEST_F(ModuleSymbolsTest, OfTheWholeTableAreBetterThanThoseForTheLoader) {
  const ElfFile::Table whole{SHT_SYMTAB, {{"whole", 0x100, 8}}}, loaders{SHT_DYNSYM, {{"loaders", 0x100, 8}}};
  EXPECT_EQ(SymbolFile::open(write({{whole, loaders}}))->function_at(0x100), "whole");
  EXPECT_EQ(SymbolFile::open(write({{loaders, whole}}))->function_at(0x100), "whole");
  EXPECT_EQ(SymbolFile::open(write({{loaders}}))->function_at(0x100), "loaders");
  EXPECT_EQ(SymbolFile::open(write({}))->function_at(0x100), "") << "readable, without a name";
}

TEST_F(ModuleSymbolsTest, OfNoElfFileAreRefused) {
  EXPECT_EQ(SymbolFile::open(folder_ / "none"), nullptr);
  EXPECT_EQ(SymbolFile::open(folder_), nullptr);
  std::ofstream(folder_ / "empty").flush();
  EXPECT_EQ(SymbolFile::open(folder_ / "empty"), nullptr);
  std::ofstream(folder_ / "text") << "text";
  EXPECT_EQ(SymbolFile::open(folder_ / "text"), nullptr);
}

TEST_F(ModuleSymbolsTest, OfDamagedFilesAreRefused) {
  using Sections = std::vector<Elf64_Shdr>;
  EXPECT_EQ(name_in_damaged([](auto&, auto&) {}), "f");
  EXPECT_EQ(name_in_damaged([](Elf64_Ehdr& header, Sections&) { header.e_ident[1] = 'X'; }), "refused");
  EXPECT_EQ(name_in_damaged([](Elf64_Ehdr& header, Sections&) { header.e_ident[EI_CLASS] = ELFCLASS32; }), "refused");
  EXPECT_EQ(name_in_damaged([](Elf64_Ehdr& header, Sections&) { header.e_shentsize = 40; }), "refused");
  EXPECT_EQ(name_in_damaged([](Elf64_Ehdr& header, Sections&) { header.e_shoff = 1 << 20; }), "refused");
  EXPECT_EQ(name_in_damaged([](Elf64_Ehdr& header, Sections&) { ++header.e_shnum; }), "refused");
  EXPECT_EQ(name_in_damaged([](Elf64_Ehdr&, Sections& all) { all[2].sh_offset = 1 << 20; }), "refused");
  EXPECT_EQ(name_in_damaged([](Elf64_Ehdr&, Sections& all) { all[2].sh_size = 1 << 20; }), "refused");
  EXPECT_EQ(name_in_damaged([](Elf64_Ehdr&, Sections& all) { all[1].sh_offset = 1 << 20; }), "refused");
  EXPECT_EQ(name_in_damaged([](Elf64_Ehdr&, Sections& all) { all[1].sh_size = 1 << 20; }), "refused");
  EXPECT_EQ(name_in_damaged([](Elf64_Ehdr&, Sections& all) { all[1].sh_size = 0; }), "refused");
  EXPECT_EQ(name_in_damaged([](Elf64_Ehdr&, Sections& all) { --all[1].sh_size; }), "refused") << "names without an end";
  EXPECT_EQ(name_in_damaged([](Elf64_Ehdr&, Sections& all) { all[2].sh_link = 9; }), "refused") << "names nowhere";
  EXPECT_EQ(name_in_damaged([](Elf64_Ehdr&, Sections& all) { all[1].sh_size = 1; }), "") << "names behind the end";
  EXPECT_EQ(name_in_damaged([](Elf64_Ehdr&, Sections& all) { all[2].sh_size += 23; }), "f") << "half a symbol";
}

TEST_F(ModuleSymbolsTest, KnowTheBuildByItsSegments) {
  const ElfFile file{{{SHT_SYMTAB, {{"f", 0x100, 16}}}}};
  const std::uint64_t expected = hash_segments(&file.segment, 1);
  EXPECT_EQ(SymbolFile::open(write(file))->segments_hash(), expected);
  const auto hash_when = [&](std::function<void(Elf64_Ehdr&)> damage) {
    ElfFile damaged = file;
    damaged.damage = [&](Elf64_Ehdr& header, auto&) { damage(header); };
    return SymbolFile::open(write(damaged))->segments_hash();
  };
  EXPECT_EQ(hash_when([](Elf64_Ehdr& header) { header.e_phentsize = 32; }), 0u);
  EXPECT_EQ(hash_when([](Elf64_Ehdr& header) { header.e_phoff = 1 << 20; }), 0u);
  EXPECT_EQ(hash_when([](Elf64_Ehdr& header) { header.e_phnum = 100; }), 0u);
  const auto changed = [&](auto change) {
    Elf64_Phdr other = file.segment;
    change(other);
    return hash_segments(&other, 1);
  };
  EXPECT_NE(changed([](Elf64_Phdr& segment) { ++segment.p_type; }), expected);
  EXPECT_NE(changed([](Elf64_Phdr& segment) { ++segment.p_offset; }), expected);
  EXPECT_NE(changed([](Elf64_Phdr& segment) { ++segment.p_vaddr; }), expected);
  EXPECT_NE(changed([](Elf64_Phdr& segment) { ++segment.p_filesz; }), expected);
  EXPECT_NE(changed([](Elf64_Phdr& segment) { ++segment.p_memsz; }), expected);
}

TEST_F(ModuleSymbolsTest, OfAnotherBuildAreNotTold) {
  const ElfFile file{{{SHT_SYMTAB, {{"f", 0x100, 16}}}}};
  const std::string path = write(file);
  const std::uint64_t hash = hash_segments(&file.segment, 1);
  ModuleSymbols symbols;
  bool is_readable = false;
  EXPECT_EQ(symbols.function_at(path, hash, 0x100, is_readable), "f");
  EXPECT_TRUE(is_readable);
  EXPECT_EQ(symbols.function_at(path, hash + 1, 0x100, is_readable), "");
  EXPECT_FALSE(is_readable);
  EXPECT_EQ(symbols.function_at(path, hash, 0x200, is_readable), "");
  EXPECT_TRUE(is_readable) << "only that no function is there";
  EXPECT_EQ(symbols.function_at(folder_ / "none", hash, 0x100, is_readable), "");
  EXPECT_FALSE(is_readable);
}

TEST_F(ModuleSymbolsTest, OfTheFilesAskedForLastStayOpen) {
  const ElfFile file{{{SHT_SYMTAB, {{"f", 0x100, 16}}}}};
  const std::string path = write(file);
  const std::uint64_t hash = hash_segments(&file.segment, 1);
  ModuleSymbols symbols;
  bool is_readable = false;
  const auto ask_for_others = [&](int count) {
    bool is_other_readable = false;
    for (int i = 0; i < count; ++i) symbols.function_at("none" + std::to_string(i), hash, 0x100, is_other_readable);
  };
  symbols.function_at(path, hash, 0x100, is_readable);
  std::filesystem::remove(path);
  ask_for_others(255);
  EXPECT_EQ(symbols.function_at(path, hash, 0x100, is_readable), "f");
  ask_for_others(255);
  EXPECT_EQ(symbols.function_at(path, hash, 0x100, is_readable), "f") << "asked for since";
  ask_for_others(256);
  symbols.function_at(path, hash, 0x100, is_readable);
  EXPECT_FALSE(is_readable) << "forgotten, and gone by now";
}

}  // namespace
}  // namespace turnpike::record
