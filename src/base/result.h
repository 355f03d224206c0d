// Result<T>: a value or an Error with a sentence for the user. Inside Turnpike nothing throws; edges turn errors into
// exceptions.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace turnpike {

// What went wrong, as one sentence that names the place and, where it can, says what to do.
struct Error {
  std::string message;
};

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  T& value() { return std::get<0>(state_); }
  const T& value() const { return std::get<0>(state_); }
  T& operator*() { return value(); }
  const T& operator*() const { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const Error& error() const { return std::get<1>(state_); }

 private:
  std::variant<T, Error> state_;
};

// Success, or an Error: what a function returns that has nothing to hand over.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Error error) : error_(std::move(error)) {}

  bool is_ok() const { return !error_; }
  explicit operator bool() const { return is_ok(); }
  const Error& error() const { return *error_; }

 private:
  std::optional<Error> error_;
};

}  // namespace turnpike
