// The way to a call, without what only hands it on.
#include "analyze/model/call_path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyze/model/place.h"

namespace turnpike::analyze {
namespace {

using ::testing::ElementsAre;

constexpr const char* kPackages = "/venv/lib/python3.12/site-packages/";

trace::Frame python(std::string function, std::string file, std::uint32_t line) {
  return {.kind = trace::FrameKind::kPython, .function = std::move(function), .file = std::move(file), .line = line};
}

trace::Frame package(std::string function, const std::string& file, std::uint32_t line) {
  return python(std::move(function), kPackages + file, line);
}

std::vector<const trace::Frame*> pointers_to(const std::vector<trace::Frame>& frames) {
  std::vector<const trace::Frame*> pointers;
  for (const trace::Frame& frame : frames) pointers.push_back(&frame);
  return pointers;
}

// Of the frames on the way, outermost first.
std::vector<std::string> sites_of(const std::vector<trace::Frame>& frames) {
  std::vector<std::string> sites;
  for (const trace::Frame& frame : frames) {
    if (is_on_path(frame)) sites.insert(sites.begin(), path_frame(frame).site);
  }
  return sites;
}

std::optional<std::string> library_site_of(const std::vector<trace::Frame>& frames) {
  return place_of(pointers_to(frames), false, "call").library_site;
}

const trace::Frame kMain = python("main", "/home/me/train.py", 15);

TEST(CallPath, GoesFromTheProgramIntoTheLibrary) {
  const std::vector<trace::Frame> frames = {
      {.kind = trace::FrameKind::kNative, .function = "cudaMemcpyAsync", .file = "libcudart.so"},
      package("to_item", "lightning/fabric/utilities/apply_func.py", 134),
      package("Module._call_impl", "torch/nn/modules/module.py", 1790),
      package("context_decorator.<locals>.decorate_context", "torch/utils/_contextlib.py", 120),
      package("Trainer.fit", "lightning/pytorch/trainer/trainer.py", 584),
      kMain};
  EXPECT_THAT(sites_of(frames), ElementsAre("train.py:15", "lightning: pytorch/trainer/trainer.py:584",
                                            "lightning: fabric/utilities/apply_func.py:134"));
  EXPECT_EQ(library_site_of(frames), "lightning: fabric/utilities/apply_func.py:134");
}

TEST(CallPath, OfTheProgramAloneNamesNoLibrary) {
  const std::vector<trace::Frame> wrapped = {package("Module.to", "torch/nn/modules/module.py", 1370), kMain};
  EXPECT_THAT(sites_of(wrapped), ElementsAre("train.py:15"));
  EXPECT_EQ(library_site_of(wrapped), std::nullopt);
  EXPECT_EQ(library_site_of({kMain}), std::nullopt);
}

TEST(CallPath, LinesOfTheUserBelowALibraryAreOnIt) {
  const std::vector<trace::Frame> frames = {python("Net.training_step", "/home/me/net.py", 44),
                                            package("call", "lightning/trainer/call.py", 9), kMain};
  EXPECT_THAT(sites_of(frames), ElementsAre("train.py:15", "lightning: trainer/call.py:9", "net.py:44"));
  EXPECT_EQ(library_site_of(frames), std::nullopt) << "the user's own line made the call";
}

TEST(CallPath, OfALibraryAloneStandsForItself) {
  const std::vector<trace::Frame> frames = {package("_pin_memory_loop", "torch/utils/data/_utils/pin_memory.py", 40)};
  EXPECT_THAT(sites_of(frames), ElementsAre("torch: utils/data/_utils/pin_memory.py:40"));
  EXPECT_EQ(library_site_of(frames), std::nullopt) << "it is the place itself";
}

TEST(CallPath, WhatDataclassesWritesIsNoLineOfTheProgram) {
  const std::vector<trace::Frame> frames = {python("__create_fn__.<locals>.__init__", "<string>", 5), kMain};
  EXPECT_THAT(sites_of(frames), ElementsAre("train.py:15"));
  EXPECT_EQ(place_of(pointers_to(frames), false, "call").site, "train.py:15");
  EXPECT_THAT(sites_of({python("main", "<string>", 3)}), ElementsAre("<string>:3")) << "python -c";
}

TEST(LibraryFile, KnowsPackagesTheStandardLibraryAndOurOwnCalls) {
  const auto split = [](std::string_view file) {
    const LibraryFile found = library_file(file);
    return std::string(found.library) + "|" + std::string(found.path);
  };
  EXPECT_EQ(split("/v/lib/python3.12/site-packages/torch/optim/adam.py"), "torch|optim/adam.py");
  EXPECT_EQ(split("/usr/lib/python3/dist-packages/yaml.py"), "yaml|yaml.py");
  EXPECT_EQ(split("/usr/lib/python3.13t/json/encoder.py"), "json|encoder.py");
  EXPECT_EQ(split("/usr/lib/python3.12/threading.py"), "threading|threading.py");
  EXPECT_EQ(split("torch/optim/adam.py"), "torch|optim/adam.py") << "as torch.profiler shortens it";
  EXPECT_EQ(split("<frozen importlib._bootstrap>"), "importlib|<frozen importlib._bootstrap>");
  EXPECT_EQ(split("/src/python/turnpike/_move/to.py"), "turnpike|_move/to.py");
  EXPECT_EQ(split("/home/me/train.py"), "|");
  EXPECT_EQ(split("/usr/lib/python3.x/train.py"), "|");
}

TEST(Wrappers, AreKnownByFileAndByName) {
  EXPECT_TRUE(is_wrapper(package("Tensor.__bool__", "torch/_tensor.py", 1)));
  EXPECT_TRUE(is_wrapper(package("f.<locals>.wrapper", "transformers/utils/deprecation.py", 1)));
  EXPECT_TRUE(is_wrapper(python("wrap", "/usr/lib/python3.12/functools.py", 1)));
  EXPECT_FALSE(is_wrapper(package("_save", "torch/serialization.py", 1311)));
  EXPECT_FALSE(is_wrapper(package("Adam.step", "torch/optim/adam.py", 1)));
  EXPECT_FALSE(is_wrapper(python("f.<locals>.wrapper", "/home/me/train.py", 1))) << "the user wrote it";
}

}  // namespace
}  // namespace turnpike::analyze
