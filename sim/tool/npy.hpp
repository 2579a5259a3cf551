#pragma once

#include <nki/dtype.hpp>
#include <nki/exec/tensor.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// NumPy's .npy files: versions 1 to 3, arrays of plain numbers.
namespace nki::tool {

struct NpyArray {
  char kind = 'f';  ///< as NumPy writes it: f, i, u, b, or V for raw bytes
  int item_bytes = 4;
  std::vector<std::int64_t> shape;
  std::string data;  ///< row-major, little-endian

  std::int64_t elements() const;
};

/// Throws nki::Error (damaged_file) for anything but a whole, well-formed file of such an array.
NpyArray parse_npy(std::string_view bytes, const std::string& source);
std::string npy_text(const NpyArray& a);

/// An argument's values from an array of floats, which are rounded to `dtype`, of the same integers, or of raw elements
/// (V or unsigned of the dtype's size, for the dtypes that NumPy lacks). Throws a usage failure for any other array.
exec::HostTensor tensor_from_npy(const NpyArray& a, std::string name, DType dtype, const std::string& source);

/// The files that hold a tensor: {"", bytes}, and for dtypes that NumPy lacks a float32 view of the values under "" and
/// the raw elements under ".bf16" and so on.
std::vector<std::pair<std::string, std::string>> npy_files(const exec::HostTensor& t);

}  // namespace nki::tool
