// Every structure owns what it points at through its private data, and children can be moved out of their parent.
#include "report/table/arrow_stream.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <exception>
#include <limits>
#include <memory>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

namespace turnpike::report::table {
namespace {

struct SchemaNode {
  std::string format;
  std::string name;
  std::vector<std::unique_ptr<ArrowSchema>> children{};
  std::vector<ArrowSchema*> child_pointers{};
  std::unique_ptr<ArrowSchema> dictionary{};
};

template <typename Structure>
void release_if_there(Structure* structure) {
  if (structure != nullptr && structure->release != nullptr) structure->release(structure);
}

// Of an ArrowSchema or an ArrowArray.
template <typename Structure, typename Node>
void release(Structure* structure) {
  const std::unique_ptr<Node> node(static_cast<Node*>(structure->private_data));
  for (const auto& child : node->children) release_if_there(child.get());
  release_if_there(node->dictionary.get());
  structure->release = nullptr;
}

void fill(std::unique_ptr<SchemaNode> node, ArrowSchema* out) {
  for (const auto& child : node->children) node->child_pointers.push_back(child.get());
  *out = {.format = node->format.c_str(),
          .name = node->name.c_str(),
          .metadata = nullptr,
          .flags = ARROW_FLAG_NULLABLE,
          .n_children = static_cast<std::int64_t>(node->children.size()),
          .children = node->child_pointers.data(),
          .dictionary = node->dictionary.get(),
          .release = release<ArrowSchema, SchemaNode>,
          .private_data = nullptr};
  out->private_data = node.release();
}

constexpr const char* kTextFormat = "u";

const char* format_of(ColumnType type) {
  switch (type) {
    case ColumnType::kText:
      return "i";  // the number in the dictionary
    case ColumnType::kWhole:
      return "l";
    case ColumnType::kReal:
      return "g";
    case ColumnType::kFlag:
      return "b";
    case ColumnType::kTime:
      return "tsn:UTC";
  }
  return "l";
}

void fill_column(const Column& column, Texts texts, ArrowSchema* out) {
  auto node = std::make_unique<SchemaNode>(SchemaNode{.format = format_of(column.type), .name = column.name});
  if (column.type == ColumnType::kText && texts == Texts::kPlain) {
    node->format = kTextFormat;
  } else if (column.type == ColumnType::kText) {
    node->dictionary = std::make_unique<ArrowSchema>();
    fill(std::make_unique<SchemaNode>(SchemaNode{.format = kTextFormat, .name = ""}), node->dictionary.get());
  }
  fill(std::move(node), out);
}

using Bytes = std::vector<std::uint8_t>;

struct ArrayNode {
  Bytes validity{};  // empty: every value is known
  Bytes bits{};
  std::vector<std::int32_t> numbers{};
  std::unique_ptr<std::int32_t[]> indices{};
  Values values{};
  std::string texts{};
  std::array<const void*, 3> buffers{};
  std::vector<std::unique_ptr<ArrowArray>> children{};
  std::vector<ArrowArray*> child_pointers{};
  std::unique_ptr<ArrowArray> dictionary{};
};

void fill(std::unique_ptr<ArrayNode> node, std::size_t length, std::size_t null_count, std::int64_t buffer_count,
          ArrowArray* out) {
  for (const auto& child : node->children) node->child_pointers.push_back(child.get());
  node->buffers[0] = node->validity.empty() ? nullptr : node->validity.data();
  *out = {.length = static_cast<std::int64_t>(length),
          .null_count = static_cast<std::int64_t>(null_count),
          .offset = 0,
          .n_buffers = buffer_count,
          .n_children = static_cast<std::int64_t>(node->children.size()),
          .buffers = node->buffers.data(),
          .children = node->child_pointers.data(),
          .dictionary = node->dictionary.get(),
          .release = release<ArrowArray, ArrayNode>,
          .private_data = nullptr};
  out->private_data = node.release();
}

// Arrow's bits: the first is the lowest of the first byte.
template <typename IsSet>
Bytes packed(std::size_t count, const IsSet& is_set) {
  Bytes bytes((count + 7) / 8);
  for (std::size_t i = 0; i < count; ++i) {
    if (is_set(i)) bytes[i / 8] = static_cast<std::uint8_t>(bytes[i / 8] | 1u << (i % 8));
  }
  return bytes;
}

void add_text(std::string_view text, ArrayNode& node) {
  if (node.texts.size() + text.size() > std::numeric_limits<std::int32_t>::max()) {
    throw std::length_error("the texts of a column take more than 2 GB, which Arrow's format cannot number");
  }
  node.texts += text;
  node.numbers.push_back(static_cast<std::int32_t>(node.texts.size()));
}

void fill_dictionary(const std::vector<std::string>& texts, ArrowArray* out) {
  auto node = std::make_unique<ArrayNode>();
  node->numbers.push_back(0);
  for (const std::string& text : texts) add_text(text, *node);
  node->buffers = {nullptr, node->numbers.data(), node->texts.data()};
  fill(std::move(node), texts.size(), 0, 3, out);
}

void fill_plain_texts(const Cells& cells, std::unique_ptr<ArrayNode> node, ArrowArray* out) {
  node->numbers.push_back(0);
  const std::vector<std::string>& texts = cells.texts.texts();
  for (std::size_t i = 0; i < cells.values.size(); ++i) {
    add_text(cells.are_known[i] ? std::string_view(texts[static_cast<std::size_t>(cells.values[i])]) : "", *node);
  }
  node->buffers = {nullptr, node->numbers.data(), node->texts.data()};
  fill(std::move(node), cells.values.size(), cells.unknown_count, 3, out);
}

// The numbers of texts as Arrow has them, in half of the bytes.
std::unique_ptr<std::int32_t[]> indices_of(std::span<const std::int64_t> values) {
  auto indices = std::make_unique_for_overwrite<std::int32_t[]>(values.size());
  std::transform(values.begin(), values.end(), indices.get(),
                 [](std::int64_t value) { return value < 0 ? 0 : static_cast<std::int32_t>(value); });
  return indices;
}

void fill_column(std::size_t number, Batch& batch, Texts texts, ArrowArray* out) {
  const Column& column = batch.columns()[number];
  const Cells cells = batch.cells(number);
  auto node = std::make_unique<ArrayNode>();
  const std::size_t count = cells.values.size();
  if (cells.unknown_count > 0) node->validity = packed(count, [&](std::size_t i) { return cells.are_known[i]; });
  if (column.type == ColumnType::kText && texts == Texts::kPlain) {
    fill_plain_texts(cells, std::move(node), out);
    return;
  }
  if (column.type == ColumnType::kText) {
    node->indices = indices_of(cells.values);
    node->dictionary = std::make_unique<ArrowArray>();
    fill_dictionary(cells.texts.texts(), node->dictionary.get());
    node->buffers[1] = node->indices.get();
  } else if (column.type == ColumnType::kFlag) {
    node->bits = packed(count, [&](std::size_t i) { return cells.values[i] != 0; });
    node->buffers[1] = node->bits.data();
  } else {
    node->values = batch.take_values(number);
    node->buffers[1] = node->values.get();
  }
  fill(std::move(node), count, cells.unknown_count, 2, out);
}

struct StreamNode {
  TableStream table;
  Texts texts;
  std::string error{};
};

StreamNode& node_of(ArrowArrayStream* stream) {
  return *static_cast<StreamNode*>(stream->private_data);
}

// No exception may cross C.
template <typename Body>
int guarded(ArrowArrayStream* stream, const Body& body) {
  StreamNode& node = node_of(stream);
  try {
    return body(node);
  } catch (const std::bad_alloc&) {
    return ENOMEM;
  } catch (const std::exception& failure) {
    node.error = failure.what();
    return EIO;
  }
}

// An error ends the stream.
int next_of(StreamNode& node, ArrowArray* out) {
  if (!node.error.empty()) return EIO;
  const auto batch = node.table.next();
  if (!batch) {
    node.error = batch.error().message;
    return EIO;
  }
  if (*batch == nullptr) {
    *out = {};
  } else {
    export_batch(**batch, node.texts, out);
  }
  return 0;
}

}  // namespace

void export_schema(const std::vector<Column>& columns, Texts texts, ArrowSchema* out) {
  auto node = std::make_unique<SchemaNode>(SchemaNode{.format = "+s", .name = ""});
  for (const Column& column : columns) fill_column(column, texts, node->children.emplace_back(new ArrowSchema()).get());
  fill(std::move(node), out);
}

void export_batch(Batch& batch, Texts texts, ArrowArray* out) {
  auto node = std::make_unique<ArrayNode>();
  for (std::size_t i = 0; i < batch.columns().size(); ++i) {
    fill_column(i, batch, texts, node->children.emplace_back(new ArrowArray()).get());
  }
  fill(std::move(node), batch.row_count(), 0, 1, out);
}

void export_stream(TableStream table, Texts texts, ArrowArrayStream* out) {
  auto node = std::make_unique<StreamNode>(StreamNode{.table = std::move(table), .texts = texts});
  *out = {.get_schema =
              [](ArrowArrayStream* stream, ArrowSchema* schema) {
                return guarded(stream, [&](StreamNode& one) {
                  export_schema(one.table.columns(), one.texts, schema);
                  return 0;
                });
              },
          .get_next =
              [](ArrowArrayStream* stream, ArrowArray* array) {
                return guarded(stream, [&](StreamNode& one) { return next_of(one, array); });
              },
          .get_last_error = [](ArrowArrayStream* stream) -> const char* {
            const StreamNode& one = node_of(stream);
            return one.error.empty() ? nullptr : one.error.c_str();
          },
          .release =
              [](ArrowArrayStream* stream) {
                delete static_cast<StreamNode*>(stream->private_data);
                stream->release = nullptr;
              },
          .private_data = nullptr};
  out->private_data = node.release();
}

}  // namespace turnpike::report::table
