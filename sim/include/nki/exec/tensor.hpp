#pragma once

#include <nki/dtype.hpp>
#include <nki/error.hpp>
#include <nki/exec/convert.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace nki::inline v0_1::exec {

/// A tensor in host memory, to pass as an argument: row-major, each element stored as the device stores it.
struct HostTensor {
  std::string name;  ///< the argument's name; an empty name fits every argument
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;
  std::vector<std::byte> data;

  /// The number of elements that the shape asks for.
  std::int64_t elements() const {
    std::int64_t n = 1;
    for (std::int64_t extent : shape) n *= extent;
    return n;
  }
  /// The elements as values of a storage type, which must be that of `dtype`.
  template <StorageType T>
  std::span<const T> as() const {
    NKI_ASSERT(dtype_of<T> == dtype, "a host tensor is read with the storage type of another dtype");
    return {reinterpret_cast<const T*>(data.data()), data.size() / sizeof(T)};
  }
  template <StorageType T>
  std::span<T> as() {
    NKI_ASSERT(dtype_of<T> == dtype, "a host tensor is read with the storage type of another dtype");
    return {reinterpret_cast<T*>(data.data()), data.size() / sizeof(T)};
  }
};

/// A tensor of zeros.
inline HostTensor make_tensor(std::string name, DType dtype, std::vector<std::int64_t> shape) {
  HostTensor t{std::move(name), dtype, std::move(shape), {}};
  t.data.resize(static_cast<std::size_t>(t.elements() * bytes(dtype)));
  return t;
}

/// Give element i (in row-major order) the value `value_of_element(i)`, rounded to the tensor's dtype.
///
/// Dtypes:  those of `can_run`. A double is rounded to f32 first, except for integers.
template <class F>
void fill(HostTensor& t, F&& value_of_element) {
  const int size = bytes(t.dtype);
  const std::int64_t n = t.elements();
  for (std::int64_t i = 0; i < n; ++i) {
    const auto value = static_cast<double>(value_of_element(i));
    detail::store_code(t.data.data() + i * size, detail::code_of_number(value, t.dtype), size);
  }
}

/// A tensor with these values in row-major order, rounded to `dtype`; there must be one for each element.
template <class Number>
HostTensor make_tensor(std::string name, DType dtype, std::vector<std::int64_t> shape, std::span<const Number> values) {
  HostTensor t = make_tensor(std::move(name), dtype, std::move(shape));
  NKI_ASSERT(static_cast<std::int64_t>(values.size()) == t.elements(), "a host tensor needs one value per element");
  fill(t, [&](std::int64_t i) { return values[static_cast<std::size_t>(i)]; });
  return t;
}

/// The values of all elements, in row-major order.
inline std::vector<float> to_floats(const HostTensor& t) {
  std::vector<float> values(static_cast<std::size_t>(t.elements()));
  detail::widen(values.data(), t.data.data(), t.dtype, t.elements());
  return values;
}
inline std::vector<double> to_doubles(const HostTensor& t) {
  const std::vector<float> values = to_floats(t);
  return {values.begin(), values.end()};
}

}  // namespace nki::inline v0_1::exec
