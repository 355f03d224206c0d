// Groups places by what is the same in both runs, then aligns each group in the order of its lines.
#include "analyze/compare/site_match.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <tuple>

#include "base/file_line.h"

namespace turnpike::analyze {
namespace {

using Indices = std::vector<std::size_t>;
// File, function, operator, kinds, then numbers: direction, phase, line.
using Key = std::tuple<std::string, std::string, std::string, std::string, int, int, std::uint32_t>;
using KeyOf = Key (*)(const Item&);

struct Place {
  std::string_view file;  // its name without folders
  std::uint32_t line = 0;
};

std::string_view without_folders(std::string_view path) {
  const auto slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

// "train.py:23"; a text without a line is all file.
Place parsed(std::string_view site) {
  const auto known = site.find(':') == std::string_view::npos ? std::nullopt : parse_file_line(site);
  return known ? Place{known->file, known->line} : Place{site};
}

Place place_in_file(const Item& item) {
  if (item.file) return {without_folders(*item.file), item.line.value_or(0)};
  return item.forward_site ? parsed(*item.forward_site) : Place{item.site};
}

int direction_of(const Item& item) {
  return item.direction ? static_cast<int>(*item.direction) : -1;
}

int phase_of(const Item& item) {
  return item.phase ? static_cast<int>(*item.phase) : -1;
}

std::string kinds_of(const Item& item) {
  return item.src_kind.value_or("?") + ">" + item.dst_kind.value_or("?");
}

Key strict_key(const Item& item) {
  return {std::string(place_in_file(item).file),
          item.function.value_or(""),
          item.op.value_or(""),
          kinds_of(item),
          direction_of(item),
          phase_of(item),
          0};
}

Key key_without_kinds(const Item& item) {
  Key key = strict_key(item);
  std::get<3>(key).clear();
  return key;
}

Key key_of_line(const Item& item) {
  const Place place = place_in_file(item);
  return {std::string(place.file), item.function.value_or(""), "", "", direction_of(item), -1, place.line};
}

// 0 for the same; 1 for a factor of e.
double distance(double a, double b) {
  return std::fabs(std::log((a + 1) / (b + 1)));
}

double unlikeness(const Item& a, const Item& b) {
  // Enough to decide between places that are alike otherwise, and no more.
  constexpr double kOtherLine = 0.01;
  const auto size_of = [](const Item& item) {
    return item.figures.count > 0 ? item.figures.bytes / item.figures.count : 0;
  };
  return distance(a.figures.count, b.figures.count) + distance(size_of(a), size_of(b)) +
         (place_in_file(a).line == place_in_file(b).line ? 0 : kOtherLine);
}

// Partners, by index into `more`, for all of `fewer`: rising, with the least unlikeness in sum.
Indices aligned(const std::vector<const Item*>& fewer, const std::vector<const Item*>& more) {
  const std::size_t rows = fewer.size();
  const std::size_t columns = more.size();
  Indices partners(rows);
  if (rows == columns || rows > kMaxAligned / columns) {
    for (std::size_t i = 0; i < rows; ++i) partners[i] = i;
    return partners;
  }
  // least[i][j]: the first i of fewer among the first j of more.
  const auto at = [columns](std::size_t i, std::size_t j) { return i * (columns + 1) + j; };
  std::vector<double> least((rows + 1) * (columns + 1), std::numeric_limits<double>::infinity());
  std::fill_n(least.begin(), columns + 1, 0.0);
  for (std::size_t i = 1; i <= rows; ++i) {
    for (std::size_t j = i; j <= columns; ++j) {
      const double paired = least[at(i - 1, j - 1)] + unlikeness(*fewer[i - 1], *more[j - 1]);
      least[at(i, j)] = std::min(least[at(i, j - 1)], paired);
    }
  }
  std::size_t j = columns;
  for (std::size_t i = rows; i > 0; --i) {
    while (j > i && least[at(i, j - 1)] <= least[at(i, j)]) --j;
    partners[i - 1] = --j;
  }
  return partners;
}

class Matching {
 public:
  Matching(const std::vector<Item>& before, const std::vector<Item>& after)
      : before_(before), after_(after), is_before_taken_(before.size()), is_after_taken_(after.size()) {}

  void match_by(KeyOf key_of) {
    struct Group {
      Indices before, after;
    };
    std::map<Key, Group> groups;
    for (const std::size_t i : left(before_, is_before_taken_)) groups[key_of(before_[i])].before.push_back(i);
    for (const std::size_t i : left(after_, is_after_taken_)) groups[key_of(after_[i])].after.push_back(i);
    for (auto& [key, group] : groups) {
      if (group.before.empty() || group.after.empty()) continue;
      const bool is_before_smaller = group.before.size() <= group.after.size();
      const Indices partners = is_before_smaller
                                   ? aligned(by_line(before_, group.before), by_line(after_, group.after))
                                   : aligned(by_line(after_, group.after), by_line(before_, group.before));
      for (std::size_t i = 0; i < partners.size(); ++i) {
        take(group.before[is_before_smaller ? i : partners[i]], group.after[is_before_smaller ? partners[i] : i]);
      }
    }
  }

  std::vector<Match> finish() {
    for (const std::size_t i : left(before_, is_before_taken_)) matches_.push_back({.before = i, .after = {}});
    for (const std::size_t i : left(after_, is_after_taken_)) matches_.push_back({.before = {}, .after = i});
    return std::move(matches_);
  }

 private:
  static Indices left(const std::vector<Item>& items, const std::vector<bool>& is_taken) {
    Indices indices;
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (!is_taken[i]) indices.push_back(i);
    }
    return indices;
  }

  // Sorts the indices, too.
  static std::vector<const Item*> by_line(const std::vector<Item>& items, Indices& indices) {
    std::stable_sort(indices.begin(), indices.end(), [&](std::size_t a, std::size_t b) {
      return place_in_file(items[a]).line < place_in_file(items[b]).line;
    });
    std::vector<const Item*> sorted;
    for (const std::size_t index : indices) sorted.push_back(&items[index]);
    return sorted;
  }

  void take(std::size_t before, std::size_t after) {
    is_before_taken_[before] = is_after_taken_[after] = true;
    matches_.push_back({before, after});
  }

  const std::vector<Item>& before_;
  const std::vector<Item>& after_;
  std::vector<bool> is_before_taken_;
  std::vector<bool> is_after_taken_;
  std::vector<Match> matches_;
};

}  // namespace

std::vector<Match> match_items(const std::vector<Item>& before, const std::vector<Item>& after) {
  Matching matching(before, after);
  matching.match_by(strict_key);
  matching.match_by(key_without_kinds);
  matching.match_by(key_of_line);
  return matching.finish();
}

}  // namespace turnpike::analyze
