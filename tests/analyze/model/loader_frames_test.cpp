// What stacks of a thread show of loading.
#include "analyze/model/loader_frames.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace turnpike::analyze {
namespace {

using trace::Frame;

const std::string kSitePackages = "/opt/lib/python3.12/site-packages/";
const std::string kDataLoader = kSitePackages + "torch/utils/data/dataloader.py";

Frame python(const std::string& function, const std::string& file, std::uint32_t line = 1) {
  return {.kind = trace::FrameKind::kPython, .function = function, .file = file, .line = line};
}

std::vector<const Frame*> pointers_to(const std::vector<Frame>& frames) {
  std::vector<const Frame*> pointers;
  for (const Frame& frame : frames) pointers.push_back(&frame);
  return pointers;
}

// In a loop of the program; innermost first.
std::optional<Doing> doing_in(std::vector<Frame> frames) {
  frames.push_back(python("train", "/home/me/train.py", 39));
  return doing_of(pointers_to(frames));
}

TEST(DoingOf, KnowsTheDataLoader) {
  const Frame iter = python("DataLoader.__iter__", kDataLoader);
  const Frame get_iterator = python("DataLoader._get_iterator", kDataLoader);
  const Frame next = python("_BaseDataLoaderIter.__next__", kDataLoader);
  EXPECT_EQ(doing_in({get_iterator, iter}), Doing::kStartsWorkers);
  EXPECT_EQ(doing_in({python("_SingleProcessDataLoaderIter.__init__", kDataLoader), get_iterator, iter}),
            Doing::kLoads);
  EXPECT_EQ(doing_in({python("_MultiProcessingDataLoaderIter._shutdown_workers", kDataLoader), next}),
            Doing::kStartsWorkers);
  EXPECT_EQ(doing_in({python("_MultiProcessingDataLoaderIter._reset", kDataLoader), iter}), Doing::kAwaitsWorkers)
      << "the workers are there";
  EXPECT_EQ(doing_in({python("_MultiProcessingDataLoaderIter._try_get_data", kDataLoader), next}),
            Doing::kAwaitsWorkers);
  EXPECT_EQ(doing_in({python("pin_memory", kSitePackages + "torch/utils/data/_utils/pin_memory.py"),
                      python("_SingleProcessDataLoaderIter._next_data", kDataLoader), next}),
            Doing::kLoads);
  EXPECT_EQ(doing_in({python("_StatefulMultiProcessingDataLoaderIter._get_data",
                             kSitePackages + "torchdata/stateful_dataloader/stateful_dataloader.py")}),
            Doing::kAwaitsWorkers);
}

TEST(DoingOf, TellsTakingABatchOverFromWaitingForIt) {
  const Frame get = python("Queue.get", "/opt/lib/python3.12/multiprocessing/queues.py");
  const Frame try_get = python("_MultiProcessingDataLoaderIter._try_get_data", kDataLoader);
  const Frame rebuild = python("rebuild_storage_fd", kSitePackages + "torch/multiprocessing/reductions.py");
  EXPECT_EQ(doing_in({python("DupFd.detach", "/opt/lib/python3.12/multiprocessing/resource_sharer.py"), rebuild, get,
                      try_get}),
            Doing::kReceives);
  EXPECT_EQ(doing_in({python("Connection._poll", "/opt/lib/python3.12/multiprocessing/connection.py"), get, try_get}),
            Doing::kAwaitsWorkers);
  EXPECT_EQ(doing_in({rebuild, get}), Doing::kElse) << "a queue of the program's own";
}

TEST(DoingOf, DoesNotGuessWhoLoads) {
  EXPECT_EQ(doing_in({python("record_function.__exit__", kSitePackages + "torch/autograd/profiler.py"),
                      python("_BaseDataLoaderIter.__next__", kDataLoader)}),
            std::nullopt);
}

TEST(DoingOf, KnowsTheDataLoaderWithoutQualifiedNames) {
  const Frame start = python("start", "/opt/lib/python3.10/multiprocessing/process.py");
  const Frame init = python("__init__", kDataLoader);
  EXPECT_EQ(doing_in({start, init, python("_get_iterator", kDataLoader), python("__iter__", kDataLoader)}),
            Doing::kStartsWorkers);
  EXPECT_EQ(doing_in({python("_try_get_data", kDataLoader), python("__next__", kDataLoader)}), Doing::kAwaitsWorkers);
  EXPECT_EQ(doing_in({python("fetch", kSitePackages + "torch/utils/data/_utils/fetch.py"),
                      python("_next_data", kDataLoader), python("__next__", kDataLoader)}),
            Doing::kLoads);
  EXPECT_EQ(doing_in({start}), Doing::kElse) << "processes of the program's own";
}

TEST(DoingOf, KnowsWhatWritesResults) {
  const std::string standard = "/opt/lib/python3.12/";
  for (const Frame& frame :
       {python("_save", kSitePackages + "torch/serialization.py"), python("Image.save", kSitePackages + "PIL/Image.py"),
        python("save_image", kSitePackages + "torchvision/utils.py"), python("dump", standard + "json/__init__.py"),
        python("Figure.savefig", kSitePackages + "matplotlib/figure.py"),
        python("StreamHandler.flush", standard + "logging/__init__.py"),
        python("SummaryWriter.add_scalar", kSitePackages + "torch/utils/tensorboard/writer.py")}) {
    EXPECT_EQ(doing_in({frame}), Doing::kOtherWork) << frame.file;
  }
  for (const Frame& frame :
       {python("load", kSitePackages + "torch/serialization.py"), python("open", kSitePackages + "PIL/Image.py"),
        python("imread", kSitePackages + "matplotlib/image.py"), python("load", standard + "json/__init__.py"),
        python("save", "/home/me/json/__init__.py"), python("save", "/home/me/train.py")}) {
    EXPECT_EQ(doing_in({frame}), Doing::kElse) << frame.file;
  }
}

TEST(DoingOf, TakesWhatADataSetWritesForLoading) {
  EXPECT_EQ(doing_in({python("_save", kSitePackages + "torch/serialization.py"),
                      python("Images.__getitem__", "/home/me/images.py"),
                      python("_MapDatasetFetcher.fetch", kSitePackages + "torch/utils/data/_utils/fetch.py")}),
            Doing::kLoads);
}

TEST(LoopLine, IsTheProgramsOutsideOfAllDataLoaders) {
  const Frame next = python("_BaseDataLoaderIter.__next__", kDataLoader, 741);
  const Frame loop = python("train", "/home/me/train.py", 39);
  const std::vector<Frame> nested = {
      next,
      python("Both.__iter__", "/home/me/images.py", 8),
      python("_IterableDatasetFetcher.fetch", kSitePackages + "torch/utils/data/_utils/fetch.py"),
      next,
      python("_FetchIterator.__next__", kSitePackages + "lightning/pytorch/loops/fetchers.py"),
      loop,
      python("<module>", "/home/me/train.py", 90)};
  const auto where = loop_line_of(pointers_to(nested));
  ASSERT_TRUE(where);
  EXPECT_EQ(where->site, "train.py:39");
  EXPECT_EQ(where->function, "train");
  EXPECT_EQ(where->library_site, "torch: utils/data/dataloader.py (DataLoader.__iter__)");
  const std::vector<Frame> without_loader = {loop};
  EXPECT_FALSE(loop_line_of(pointers_to(without_loader)));
  const std::vector<Frame> without_program = {next, python("Thread.run", "/opt/lib/python3.12/threading.py", 1010)};
  EXPECT_FALSE(loop_line_of(pointers_to(without_program)));
}

}  // namespace
}  // namespace turnpike::analyze
