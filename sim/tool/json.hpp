#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// What the programs write to stdout and read back: JSON values that keep the order of their keys. The library that
/// prints and parses them is included in json.cpp only.
namespace nki::tool {

class Json {
 public:
  enum class Kind : std::uint8_t { null, boolean, integer, number, string, array, object };

  Json() = default;
  Json(bool value) : kind_(Kind::boolean), integer_(value ? 1 : 0) {}
  template <std::integral T>
  Json(T value) : kind_(Kind::integer), integer_(static_cast<std::int64_t>(value)) {}
  /// Non-finite values are written as the strings "nan", "inf" and "-inf".
  Json(double value) : kind_(Kind::number), number_(value) {}
  Json(std::string value) : kind_(Kind::string), text_(std::move(value)) {}
  Json(std::string_view value) : kind_(Kind::string), text_(value) {}
  Json(const char* value) : kind_(Kind::string), text_(value) {}

  static Json array() { return Json(Kind::array); }
  static Json object() { return Json(Kind::object); }
  static Json object(std::initializer_list<std::pair<const char*, Json>> members) {
    Json o(Kind::object);
    for (const auto& [key, value] : members) o.set(key, value);
    return o;
  }

  /// Give a member a value: in its place if there is one, else at the end.
  Json& set(std::string_view key, Json value);
  Json& push(Json value);

  Kind kind() const { return kind_; }
  bool is_object() const { return kind_ == Kind::object; }
  bool is_array() const { return kind_ == Kind::array; }
  bool is_string() const { return kind_ == Kind::string; }
  bool is_number() const { return kind_ == Kind::number || kind_ == Kind::integer; }
  bool as_bool() const { return integer_ != 0; }
  std::int64_t as_integer() const { return integer_; }
  double as_double() const { return kind_ == Kind::integer ? static_cast<double>(integer_) : number_; }
  const std::string& as_string() const { return text_; }

  /// Members of an object or items of an array, in order.
  std::size_t size() const { return items_.size(); }
  const std::string& key(std::size_t i) const { return keys_[i]; }
  const Json& item(std::size_t i) const { return items_[i]; }
  /// The member of that name, or nullptr.
  const Json* find(std::string_view key) const;

 private:
  explicit Json(Kind kind) : kind_(kind) {}

  Kind kind_ = Kind::null;
  std::int64_t integer_ = 0;
  double number_ = 0;
  std::string text_;
  std::vector<std::string> keys_;
  std::vector<Json> items_;
};

/// One line, or with `indent` spaces a level. Doubles are written with the digits that read back to the same value.
std::string dump(const Json& value, int indent = -1);

/// Reads one JSON value. Throws nki::Error (damaged_file) that names `source`.
Json parse_json(std::string_view text, const std::string& source);

}  // namespace nki::tool
