// A table for Python: the capsules of Arrow's interface. Their readers take rows without the GIL, which nothing here
// needs.
#include "python/table.h"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ingest/run_reader.h"
#include "python/error.h"
#include "report/table/arrow_stream.h"
#include "report/table/table.h"
#include "report/text/incomplete.h"

namespace nb = nanobind;

namespace turnpike::python {
namespace {

// Who takes what is inside sets its `release` to nullptr.
template <typename Structure>
nb::object capsule_of(std::unique_ptr<Structure> structure, const char* name) {
  PyObject* const capsule = PyCapsule_New(structure.get(), name, [](PyObject* dying) {
    auto* const inside = static_cast<Structure*>(PyCapsule_GetPointer(dying, PyCapsule_GetName(dying)));
    if (inside->release != nullptr) inside->release(inside);
    delete inside;
  });
  if (capsule == nullptr) {
    structure->release(structure.get());
    throw nb::python_error();
  }
  structure.release();
  return nb::steal(capsule);
}

class Table {
 public:
  Table(std::vector<std::filesystem::path> paths, std::string name, std::size_t batch_rows, bool has_dictionaries)
      : paths_(std::move(paths)),
        name_(std::move(name)),
        batch_rows_(batch_rows),
        texts_(has_dictionaries ? report::table::Texts::kDictionary : report::table::Texts::kPlain),
        columns_(value_or_throw(report::table::columns_of(name_))) {}

  std::vector<std::string> columns() const {
    std::vector<std::string> names;
    for (const report::table::Column& column : columns_) names.push_back(column.name);
    return names;
  }

  nb::object schema() const {
    auto schema = std::make_unique<ArrowSchema>();
    report::table::export_schema(columns_, texts_, schema.get());
    return capsule_of(std::move(schema), "arrow_schema");
  }

  // Reads the run anew.
  nb::object stream() const {
    auto stream = std::make_unique<ArrowArrayStream>();
    {
      const nb::gil_scoped_release without_gil;
      report::table::export_stream(value_or_throw(opened()), texts_, stream.get());
    }
    return capsule_of(std::move(stream), "arrow_array_stream");
  }

  // Reads the run, too.
  std::size_t row_count() const {
    const nb::gil_scoped_release without_gil;
    auto table = value_or_throw(opened());
    for (std::size_t count = 0;;) {
      const auto* const batch = value_or_throw(table.next());
      if (batch == nullptr) return count;
      count += batch->row_count();
    }
  }

  // Whether the table is about kernels, which the run has none of. It reads the run.
  bool lacks_kernels() const {
    const nb::gil_scoped_release without_gil;
    auto table = value_or_throw(opened());
    static_cast<void>(table.next());
    return table.lacks_kernels();
  }

  // Of what was read so far.
  std::string incomplete() const { return report::incomplete_sentence(*remarks_); }

 private:
  Result<report::table::TableStream> opened() const {
    return report::table::TableStream::open(
        name_, paths_, analyze::noting_unread({.kind_of = ingest::kind_of, .read = ingest::read_file}, remarks_),
        batch_rows_);
  }

  std::vector<std::filesystem::path> paths_;
  std::string name_;
  std::size_t batch_rows_;
  report::table::Texts texts_;
  std::vector<report::table::Column> columns_;
  std::shared_ptr<analyze::InputRemarks> remarks_ = std::make_shared<analyze::InputRemarks>();
};

std::vector<std::string> names() {
  return {report::table::table_names().begin(), report::table::table_names().end()};
}

}  // namespace

void bind_table(nb::module_& module) {
  nb::class_<Table>(module, "Table")
      .def(nb::init<std::vector<std::filesystem::path>, std::string, std::size_t, bool>(), nb::arg("paths"),
           nb::arg("name"), nb::arg("batch_rows"), nb::arg("dictionary"))
      .def_prop_ro("columns", &Table::columns)
      .def("schema", &Table::schema)
      .def("stream", &Table::stream)
      .def("row_count", &Table::row_count)
      .def("lacks_kernels", &Table::lacks_kernels)
      .def_prop_ro("incomplete", &Table::incomplete);
  module.def("table_names", &names);
}

}  // namespace turnpike::python
