// Names of PyTorch's DataLoader, and of what writes results.
#include "analyze/model/loader_frames.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "analyze/model/call_path.h"
#include "analyze/model/place.h"

namespace turnpike::analyze {
namespace {

using trace::Frame;

// Functions of a library that write what a loop has made. The place is a folder or a file inside of the library.
struct Writer {
  std::string_view library;
  std::string_view place;
  std::string_view word;  // in the function's name
};
constexpr std::array kWriters = {
    Writer{"torch", "serialization.py", "save"},
    Writer{"torch", "distributed/checkpoint/", "save"},
    Writer{"torch", "utils/tensorboard/", ""},
    Writer{"safetensors", "", "save"},
    Writer{"torchvision", "utils.py", "save_image"},
    Writer{"torchvision", "utils.py", "make_grid"},
    Writer{"torchvision", "io/", "write"},
    Writer{"PIL", "", "save"},
    Writer{"imageio", "", "imwrite"},
    Writer{"imageio", "", "imsave"},
    Writer{"matplotlib", "", "save"},
    Writer{"matplotlib", "", "draw"},
    Writer{"matplotlib", "", "plot"},
    Writer{"matplotlib", "", "show"},
    Writer{"matplotlib", "", "figure"},
    Writer{"numpy", "lib/", "save"},
    Writer{"pandas", "", "to_csv"},
    Writer{"pandas", "", "to_parquet"},
    Writer{"json", "", "dump"},
    Writer{"pickle", "", "dump"},
    Writer{"csv", "", "write"},
    Writer{"logging", "", ""},
    Writer{"tensorboard", "", ""},
    Writer{"tensorboardX", "", ""},
    Writer{"wandb", "", ""},
    Writer{"mlflow", "", ""},
};

bool writes_results(const Frame& frame) {
  const LibraryFile file = library_file(frame.file);
  return !file.library.empty() && std::any_of(kWriters.begin(), kWriters.end(), [&](const Writer& writer) {
    return file.library == writer.library && file.path.starts_with(writer.place) &&
           frame.function.find(writer.word) != std::string::npos;
  });
}

// Before Python 3.11 a function has no qualified name.
std::string_view last_name(const Frame& frame) {
  const std::string_view name = frame.function;
  const auto dot = name.rfind('.');
  return dot == name.npos ? name : name.substr(dot + 1);
}

bool is_of_data_loader(const Frame& frame) {
  const std::string_view file = frame.file;
  return file.ends_with("torch/utils/data/dataloader.py") ||
         file.ends_with("torchdata/stateful_dataloader/stateful_dataloader.py");
}

bool has_word(const Frame& frame, std::string_view word) {
  return frame.function.find(word) != std::string::npos;
}

// Where workers stay for all epochs, an epoch begins without _get_iterator: _reset then asks those that are there.
bool starts_workers(const Frame& frame) {
  return is_of_data_loader(frame) && (last_name(frame) == "_get_iterator" || last_name(frame) == "_shutdown_workers");
}

bool awaits_workers(const Frame& frame) {
  const std::string_view name = last_name(frame);
  if (name == "_try_get_data") return true;
  return is_of_data_loader(frame) && (name == "_get_data" || name == "_try_put_index" || name == "_process_data" ||
                                      has_word(frame, "MultiProcessingDataLoaderIter"));
}

// A tensor comes from another process as a file descriptor, over a connection that is made for it.
bool receives(const Frame& frame) {
  const std::string_view file = frame.file;
  return file.ends_with("torch/multiprocessing/reductions.py") ||
         file.ends_with("multiprocessing/resource_sharer.py") || file.ends_with("multiprocessing/reduction.py");
}

bool loads_here(const Frame& frame) {
  return is_of_data_set(frame) || (is_of_data_loader(frame) && has_word(frame, "SingleProcessDataLoaderIter"));
}

template <typename Test>
bool has_frame(std::span<const Frame* const> frames, const Test& is_sought) {
  return std::any_of(frames.begin(), frames.end(), [&](const Frame* frame) { return is_sought(*frame); });
}

}  // namespace

bool is_of_data_set(const Frame& frame) {
  return std::string_view(frame.file).ends_with("torch/utils/data/_utils/fetch.py");
}

// A data set may write, too, and a DataLoader without workers also has an iterator to get.
std::optional<Doing> doing_of(std::span<const Frame* const> frames) {
  if (has_frame(frames, loads_here)) return Doing::kLoads;
  if (has_frame(frames, starts_workers)) return Doing::kStartsWorkers;
  if (has_frame(frames, awaits_workers)) return has_frame(frames, receives) ? Doing::kReceives : Doing::kAwaitsWorkers;
  if (has_frame(frames, is_of_data_loader)) return std::nullopt;
  return has_frame(frames, writes_results) ? Doing::kOtherWork : Doing::kElse;
}

// A data set may use a DataLoader of its own: the loop is outside of the outermost one.
std::optional<Where> loop_line_of(std::span<const Frame* const> frames) {
  std::optional<std::size_t> outermost;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    if (is_of_data_loader(*frames[i])) outermost = i;
  }
  if (!outermost) return std::nullopt;
  const Place place = place_of(frames.subspan(*outermost + 1), false, "");
  if (!place.file || place.is_of_library) return std::nullopt;
  Where where = place;
  Frame entry = *frames[*outermost];
  entry.function = "DataLoader.__iter__";
  entry.line = 0;  // the function is the same in all versions
  where.library_site = path_frame(entry).site;
  return where;
}

}  // namespace turnpike::analyze
