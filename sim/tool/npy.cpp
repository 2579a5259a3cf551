#include <sim/tool/failure.hpp>
#include <sim/tool/npy.hpp>

#include <nki/error.hpp>

#include <bit>
#include <cstddef>
#include <cstring>
#include <optional>

namespace nki::tool {

static_assert(std::endian::native == std::endian::little, "the files' byte order is taken as it is");

namespace {

constexpr std::string_view magic = "\x93NUMPY";
constexpr std::size_t header_max = 65536;  // NumPy writes 118 bytes for plain arrays
constexpr std::int64_t elements_max = std::int64_t{1} << 40;
constexpr std::size_t rank_max = 32;

[[noreturn]] void damaged(const std::string& source, const std::string& got, const std::string& hint = {}) {
  throw Error({.id = "NKI-E613",
               .sentence = "a tensor file is a .npy file as numpy.save writes it",
               .got = source + ": " + got,
               .allowed = {},
               .hint = hint.empty() ? "write it again with numpy.save" : hint,
               .file = {},
               .error_class = ErrorClass::damaged_file});
}

/// The header: a Python dictionary of three known keys.
class Header {
 public:
  Header(std::string_view text, const std::string& source) : text_(text), source_(source) {}

  std::string descr;
  bool fortran_order = false;
  std::vector<std::int64_t> shape;

  void parse() {
    bool seen[3] = {};
    expect('{');
    while (!take('}')) {
      const std::string key = string();
      expect(':');
      const int which = key == "descr" ? 0 : key == "fortran_order" ? 1 : key == "shape" ? 2 : -1;
      if (which < 0) damaged(source_, "the key '" + key.substr(0, 40) + "' in its header");
      if (seen[which]) damaged(source_, "the key '" + key + "' twice in its header");
      seen[which] = true;
      if (which == 0) {
        skip();
        if (at_ < text_.size() && text_[at_] == '[')
          damaged(source_, "an array of records", "save one array of plain numbers");
        descr = string();
      } else if (which == 1) {
        fortran_order = boolean();
      } else {
        tuple();
      }
      if (!take(',')) {
        expect('}');
        break;
      }
    }
    skip();
    if (at_ != text_.size() || !seen[0] || !seen[1] || !seen[2]) damaged(source_, "a header without an end or a key");
  }

 private:
  void skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  bool take(char c) {
    skip();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) damaged(source_, std::string("a header without '") + c + "' at byte " + std::to_string(at_));
  }
  std::string string() {
    skip();
    if (at_ == text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) damaged(source_, "a header without a string");
    const char quote = text_[at_++];
    const std::size_t end = text_.find(quote, at_);
    if (end == std::string_view::npos) damaged(source_, "a header with an open string");
    std::string s(text_.substr(at_, end - at_));
    at_ = end + 1;
    return s;
  }
  bool boolean() {
    skip();
    for (const bool value : {false, true}) {
      const std::string_view word = value ? "True" : "False";
      if (text_.substr(at_, word.size()) == word) {
        at_ += word.size();
        return value;
      }
    }
    damaged(source_, "a fortran_order that is neither True nor False");
  }
  void tuple() {
    expect('(');
    while (!take(')')) {
      skip();
      std::int64_t n = 0;
      const std::size_t first = at_;
      for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
        n = n * 10 + (text_[at_] - '0');
        if (n > elements_max) damaged(source_, "an extent beyond 2^40");
      }
      if (at_ == first) damaged(source_, "a shape that is no tuple of whole numbers");
      if (shape.size() == rank_max) damaged(source_, "more than 32 dimensions");
      shape.push_back(n);
      if (!take(',')) {
        expect(')');
        break;
      }
    }
  }

  std::string_view text_;
  const std::string& source_;
  std::size_t at_ = 0;
};

/// Column-major data in row-major order.
std::string row_major(const std::string& data, const std::vector<std::int64_t>& shape, std::size_t item) {
  std::string out(data.size(), '\0');
  std::vector<std::int64_t> index(shape.size(), 0), stride(shape.size(), 1);
  for (std::size_t d = 1; d < shape.size(); ++d) stride[d] = stride[d - 1] * shape[d - 1];
  for (std::size_t to = 0; to < out.size(); to += item) {
    std::int64_t from = 0;
    for (std::size_t d = 0; d < shape.size(); ++d) from += index[d] * stride[d];
    std::memcpy(out.data() + to, data.data() + static_cast<std::size_t>(from) * item, item);
    for (std::size_t d = shape.size(); d-- > 0;) {
      if (++index[d] < shape[d]) break;
      index[d] = 0;
    }
  }
  return out;
}

/// How NumPy calls a dtype, where it has it.
std::optional<std::pair<char, int>> numpy_kind(DType t) {
  const DTypeInfo& i = info(t);
  if (t == DType::f32) return std::pair{'f', 4};
  if (t == DType::f16) return std::pair{'f', 2};
  if (t == DType::boolean) return std::pair{'b', 1};
  if (i.is_integer) return std::pair{i.is_signed ? 'i' : 'u', i.bytes};
  return std::nullopt;
}

std::string spelled(const NpyArray& a) {
  return std::string(1, a.kind) + std::to_string(a.item_bytes);
}

}  // namespace

std::int64_t NpyArray::elements() const {
  std::int64_t n = 1;
  for (std::int64_t extent : shape) n *= extent;
  return n;
}

NpyArray parse_npy(std::string_view bytes, const std::string& source) {
  if (!bytes.starts_with(magic))
    damaged(source, bytes.empty() ? "an empty file" : "a file that does not begin as .npy");
  if (bytes.size() < 10) damaged(source, "a file that ends in its header");
  const auto byte = [&](std::size_t i) { return static_cast<std::size_t>(static_cast<unsigned char>(bytes[i])); };
  const std::size_t version = byte(6);
  if (version < 1 || version > 3)
    damaged(source, "version " + std::to_string(version) + " of the format", "versions 1 to 3 can be read");
  const std::size_t start = version == 1 ? 10 : 12;
  if (bytes.size() < start) damaged(source, "a file that ends in its header");
  const std::size_t length =
      version == 1 ? byte(8) | byte(9) << 8 : byte(8) | byte(9) << 8 | byte(10) << 16 | byte(11) << 24;
  if (length > header_max) damaged(source, "a header of " + std::to_string(length) + " bytes");
  if (bytes.size() - start < length) damaged(source, "a file that ends in its header");
  Header h(bytes.substr(start, length), source);
  h.parse();

  NpyArray a;
  const std::string& d = h.descr;
  if (d.size() < 3 || std::string_view("<>|=").find(d[0]) == std::string_view::npos)
    damaged(source, "the element type '" + d.substr(0, 40) + "'", "save numbers of one plain type, such as float32");
  if (d[0] == '>') damaged(source, "big-endian elements", "save it with array.astype(array.dtype.newbyteorder('<'))");
  a.kind = d[1];
  const std::string width = d.substr(2);
  const bool known = (width == "1" || width == "2" || width == "4" || width == "8") &&
                     std::string_view("fiubV").find(a.kind) != std::string_view::npos;
  if (!known || (a.kind == 'f' && width == "1") || (a.kind == 'b' && width != "1"))
    damaged(source, "the element type '" + d.substr(0, 40) + "'", "save numbers of one plain type, such as float32");
  a.item_bytes = width[0] - '0';
  a.shape = h.shape;
  std::int64_t n = 1;
  for (std::int64_t extent : a.shape) {
    if (extent != 0 && n > elements_max / extent) damaged(source, "a shape of more than 2^40 elements");
    n *= extent;
  }
  const std::size_t wanted = static_cast<std::size_t>(n) * static_cast<std::size_t>(a.item_bytes);
  const std::size_t there = bytes.size() - start - length;
  if (there != wanted)
    damaged(source, std::to_string(there) + " bytes of data where its shape asks for " + std::to_string(wanted));
  a.data.assign(bytes.substr(start + length));
  if (h.fortran_order) a.data = row_major(a.data, a.shape, static_cast<std::size_t>(a.item_bytes));
  return a;
}

std::string npy_text(const NpyArray& a) {
  std::string shape;
  for (std::int64_t extent : a.shape) shape += std::to_string(extent) + ", ";
  if (a.shape.size() > 1) shape.resize(shape.size() - 2);
  if (a.shape.size() == 1) shape.pop_back();
  std::string header = std::string("{'descr': '") + (a.item_bytes == 1 || a.kind == 'V' ? "|" : "<") + spelled(a) +
                       "', 'fortran_order': False, 'shape': (" + shape + "), }";
  constexpr std::size_t alignment = 64, before = 10;
  header.append(alignment - (before + header.size() + 1) % alignment, ' ');
  header += '\n';
  std::string out(magic);
  out += '\x01';
  out += '\0';
  out += static_cast<char>(header.size() & 0xFF);
  out += static_cast<char>(header.size() >> 8);
  return out + header + a.data;
}

exec::HostTensor tensor_from_npy(const NpyArray& a, std::string name, DType dtype, const std::string& source) {
  exec::HostTensor t = exec::make_tensor(std::move(name), dtype, a.shape);
  const auto known = numpy_kind(dtype);
  const bool same = known && known->first == a.kind && known->second == a.item_bytes;
  const bool raw = !known && (a.kind == 'V' || a.kind == 'u') && a.item_bytes == bytes(dtype);
  if (same || raw) {
    std::memcpy(t.data.data(), a.data.data(), a.data.size());
    return t;
  }
  if (!info(dtype).is_float || a.kind != 'f')
    usage("NKI-E603", "a tensor file must hold the argument's elements, or floats that are rounded to them",
          source + " with elements " + spelled(a) + " for " + t.name + " (" + nki::name(dtype) + ")",
          known ? std::string(1, known->first) + std::to_string(known->second)
                : "f4, or raw elements u" + std::to_string(bytes(dtype)),
          "convert it with array.astype, or record the kernel with another --dtype");
  exec::fill(t, [&](std::int64_t i) {
    const char* at = a.data.data() + i * a.item_bytes;
    if (a.item_bytes == 2) {
      std::uint16_t code = 0;
      std::memcpy(&code, at, sizeof code);
      return static_cast<double>(f16_value(code));
    }
    if (a.item_bytes == 4) {
      float value = 0;
      std::memcpy(&value, at, sizeof value);
      return static_cast<double>(value);
    }
    double value = 0;
    std::memcpy(&value, at, sizeof value);
    return value;
  });
  return t;
}

std::vector<std::pair<std::string, std::string>> npy_files(const exec::HostTensor& t) {
  const auto raw_data = [&] { return std::string(reinterpret_cast<const char*>(t.data.data()), t.data.size()); };
  if (const auto known = numpy_kind(t.dtype))
    return {{"", npy_text({known->first, known->second, t.shape, raw_data()})}};
  const std::vector<float> values = exec::to_floats(t);
  const std::string view(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
  return {{"", npy_text({'f', 4, t.shape, view})},
          {std::string(".") + name(t.dtype), npy_text({'u', bytes(t.dtype), t.shape, raw_data()})}};
}

}  // namespace nki::tool
