#pragma once

#include <nki/error.hpp>

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

/// Reads files of one JSON object a record at a time, so that memory follows what is wanted of a file, and names the
/// place of whatever is wrong in it.
namespace nki::inline v0_1::io {

// What may be wrong with a file, whatever it holds. NKI-E05x are the rules for the program inside.
inline constexpr std::string_view damaged_syntax = "NKI-E060: a file is JSON from its first to its last byte";
inline constexpr std::string_view foreign_schema = "NKI-E061: a file of a program names its schema, nki.program/1";
inline constexpr std::string_view newer_schema = "NKI-E062: a file is of a version that this library reads";
inline constexpr std::string_view missing_field = "NKI-E063: a file has each of its fields once";
inline constexpr std::string_view wrong_type = "NKI-E064: a field holds a value of its type";
inline constexpr std::string_view out_of_range = "NKI-E065: a number of a file lies in its range";
inline constexpr std::string_view beyond_limits = "NKI-E066: a file stays within the limits on size and nesting";

namespace detail {

inline constexpr std::size_t max_file_bytes = std::size_t{512} << 20;
inline constexpr std::size_t max_depth = 32;
inline constexpr std::size_t max_record_values = 1 << 16;

/// `rule` is "NKI-Ennn: sentence".
[[noreturn]] inline void throw_damaged(std::string_view rule, std::string got, std::string allowed, std::string hint,
                                       std::string file = {}, std::uint32_t line = 0) {
  throw Error({.id = std::string(rule.substr(0, 8)),
               .sentence = std::string(rule.substr(10)),
               .got = std::move(got),
               .allowed = std::move(allowed),
               .hint = std::move(hint),
               .file = std::move(file),
               .line = line,
               .error_class = ErrorClass::damaged_file});
}

/// Text from a file, fit for one line of a message.
inline std::string shown(std::string_view text) {
  constexpr std::size_t longest = 60;
  std::string out;
  for (const char c : text.substr(0, longest)) out += c >= ' ' && c <= '~' ? c : '?';
  return text.size() > longest ? out + "..." : out;
}

/// One element of an array of the file's object, or one of its other members, with everything inside it.
struct Record {
  enum class Kind : std::uint8_t { null, boolean, integer, number, string, array, object };
  /// Values in the order of the text; the parts of a container follow it, up to `end`.
  struct Value {
    Kind kind = Kind::null;
    std::uint32_t end = 0;
    std::uint32_t key = 0, key_size = 0;    ///< in `text`
    std::uint32_t word = 0, word_size = 0;  ///< in `text`, of a string
    std::int64_t integer = 0;
    double number = 0;
  };
  std::vector<Value> values;
  std::string text;
  std::string_view file;
  std::string section;      ///< the member of the file's object
  std::int64_t index = -1;  ///< -1: the member itself; of an array it shows the beginning

  void clear() {
    values.clear();
    text.clear();
  }
};

/// A value inside a record. The accessors throw nki::Error where the value is not what is asked for.
class Json {
 public:
  using Kind = Record::Kind;

  explicit Json(const Record& r, std::uint32_t at = 0) : record_(&r), at_(at) {}

  Kind kind() const { return value().kind; }
  bool is(Kind k) const { return value().kind == k; }

  std::string_view string() const {
    require(Kind::string, "a string");
    return std::string_view(record_->text).substr(value().word, value().word_size);
  }
  std::int64_t integer(std::int64_t least, std::int64_t most) const {
    require(Kind::integer, "a whole number");
    const std::int64_t i = value().integer;
    if (i < least || i > most)
      fail(out_of_range, std::to_string(i), std::to_string(least) + ".." + std::to_string(most));
    return i;
  }
  template <class Int>
  Int integer() const {
    // The largest 32-bit number stands for `none` in programs.
    return static_cast<Int>(integer(
        std::numeric_limits<Int>::min(),
        static_cast<std::int64_t>(std::numeric_limits<Int>::max()) - (std::is_same_v<Int, std::uint32_t> ? 1 : 0)));
  }
  double number() const {
    if (is(Kind::integer)) return static_cast<double>(value().integer);
    require(Kind::number, "a number");
    return value().number;
  }

  bool truth() const {
    require(Kind::boolean, "a boolean");
    return value().integer != 0;
  }

  /// The member of an object.
  Json at(std::string_view key) const {
    const Json found = find(key);
    if (found.at_ == at_) fail(missing_field, "no \"" + std::string(key) + "\"", {});
    return found;
  }
  /// Whether an object has a member.
  bool has(std::string_view key) const { return find(key).at_ != at_; }
  /// The members of an object or the elements of an array, in order: fn(Json).
  template <class Fn>
  void for_each(Kind container, Fn&& fn) const {
    require(container, container == Kind::array ? "an array" : "an object");
    for (std::uint32_t i = at_ + 1; i < value().end; i = record_->values[i].end) fn(Json(*record_, i));
  }
  std::int64_t size(Kind container) const {
    std::int64_t n = 0;
    for_each(container, [&](const Json&) { ++n; });
    return n;
  }
  std::string_view key() const { return std::string_view(record_->text).substr(value().key, value().key_size); }

  /// Where this value stands in its file: $.instrs[3].operands.dst
  std::string path() const {
    std::string out = "$." + shown(record_->section);
    if (record_->index >= 0) out += "[" + std::to_string(record_->index) + "]";
    for (std::uint32_t in = 0; in != at_;) {
      std::uint32_t child = in + 1, n = 0;
      for (; record_->values[child].end <= at_; child = record_->values[child].end) ++n;
      if (record_->values[in].kind == Kind::object)
        out += "." + shown(Json(*record_, child).key());
      else
        out += "[" + std::to_string(n) + "]";
      in = child;
    }
    return out;
  }
  [[noreturn]] void fail(std::string_view rule, const std::string& got, std::string allowed) const {
    throw_damaged(rule, got + " at " + path() + " of " + std::string(record_->file), std::move(allowed),
                  "write the file again; it may have been cut short or edited");
  }
  void require(Kind k, const char* what) const {
    constexpr const char* names[] = {"null",     "a boolean", "a whole number", "a number",
                                     "a string", "an array",  "an object"};
    if (!is(k)) fail(wrong_type, names[static_cast<std::size_t>(kind())], what);
  }

 private:
  const Record::Value& value() const { return record_->values[at_]; }
  /// This value itself stands for none.
  Json find(std::string_view key) const {
    require(Kind::object, "an object");
    for (std::uint32_t i = at_ + 1; i < value().end; i = record_->values[i].end)
      if (Json(*record_, i).key() == key) return Json(*record_, i);
    return *this;
  }

  const Record* record_;
  std::uint32_t at_;
};

using WantsSection = std::function<bool(std::string_view section)>;
using TakeRecord = std::function<bool(std::string_view section, std::int64_t index, const Json& value)>;

/// Takes the parser's events and hands out records. `fn(section, index, value)` says whether to go on; sections that
/// `wants(section)` does not want are passed over.
class RecordReader {
 public:
  RecordReader(std::string_view text, std::string_view file, const WantsSection& wants, const TakeRecord& fn)
      : text_(text), wants_(&wants), fn_(&fn) {
    record_.file = file;
  }

  // The events, under the parser's names.
  bool null() { return scalar({}); }
  bool boolean(bool b) { return scalar({.kind = Kind::boolean, .integer = b ? 1 : 0}); }
  bool number_integer(std::int64_t i) { return scalar({.kind = Kind::integer, .integer = i}); }
  bool number_unsigned(std::uint64_t i) {
    if (i > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
      return number_float(static_cast<double>(i), {});
    return number_integer(static_cast<std::int64_t>(i));
  }
  bool number_float(double x, const std::string&) { return scalar({.kind = Kind::number, .number = x}); }
  bool string(const std::string& s) {
    if (!collecting()) return scalar({.kind = Kind::string});
    const std::uint32_t at = keep(s);
    return scalar({.kind = Kind::string, .word = at, .word_size = static_cast<std::uint32_t>(s.size())});
  }
  bool binary(const std::vector<std::uint8_t>&) { return true; }
  bool key(const std::string& k) {
    if (depth_ == 1) {
      for (const std::string& s : sections_)
        if (s == k)
          throw_damaged(missing_field, "a second $." + shown(k) + " of " + std::string(record_.file), "one",
                        "write the file again; it may have been cut short or edited");
      if (sections_.size() == max_sections) beyond("more than " + std::to_string(max_sections) + " members");
      sections_.push_back(k);
      record_.section = k;
      record_.index = -1;
      wanted_ = (*wants_)(std::string_view(k));
    } else if (collecting()) {
      key_ = keep(k);
      key_size_ = static_cast<std::uint32_t>(k.size());
    }
    return true;
  }
  bool start_object(std::size_t) { return open(Kind::object); }
  bool start_array(std::size_t) { return open(Kind::array); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  template <class Exception>
  bool parse_error(std::size_t position, const std::string&, const Exception&) {
    const std::size_t at = position < text_.size() ? position : text_.size();
    std::uint32_t line = 1;
    for (const char c : text_.substr(0, at)) line += c == '\n' ? 1 : 0;
    std::size_t from = at;  // what the line of the damage holds up to it
    while (from > 0 && at - from < 20 && text_[from - 1] != '\n') --from;
    std::string got = position > text_.size() ? "an end after " + std::to_string(at) + " bytes"
                                              : "'" + shown(text_.substr(from, at - from)) + "'";
    throw_damaged(damaged_syntax, std::move(got), {}, "write the file again; it may have been cut short or edited",
                  std::string(record_.file), line);
  }

 private:
  using Kind = Record::Kind;
  static constexpr std::size_t max_sections = 256;

  [[noreturn]] void beyond(const std::string& got) const {
    throw_damaged(beyond_limits, got + " in " + std::string(record_.file),
                  std::to_string(max_file_bytes >> 20) + " MiB, " + std::to_string(max_depth) + " levels, " +
                      std::to_string(max_record_values) + " values in a record",
                  "a file of this library never comes near them");
  }
  bool collecting() const { return wanted_ && depth_ >= 1; }
  std::uint32_t keep(const std::string& s) {
    const auto at = static_cast<std::uint32_t>(record_.text.size());
    record_.text += s;
    return at;
  }
  void push(Record::Value v) {
    if (record_.values.size() == max_record_values) beyond("a record of more values");
    v.key = key_;
    v.key_size = key_size_;
    key_size_ = 0;
    record_.values.push_back(v);
    record_.values.back().end = static_cast<std::uint32_t>(record_.values.size());
  }
  void require_root() const {
    if (depth_ == 0)
      throw_damaged(wrong_type, "no object in " + std::string(record_.file), "an object",
                    "name a file of this library");
  }
  bool hand_out() {
    const bool more = (*fn_)(std::string_view(record_.section), record_.index, Json(record_));
    record_.clear();
    return more;
  }
  bool scalar(const Record::Value& v) {
    require_root();
    if (!wanted_) return true;
    if (in_section_ && open_.empty()) ++record_.index;
    push(v);
    return !open_.empty() || hand_out();
  }
  bool open(Kind kind) {
    if (++depth_ > max_depth) beyond("more levels");
    if (depth_ == 1) {
      if (kind == Kind::object) return true;
      depth_ = 0;
      require_root();
    }
    if (!wanted_) return true;
    if (in_section_ && open_.empty()) ++record_.index;
    push({.kind = kind});
    if (depth_ == 2 && kind == Kind::array) {
      in_section_ = true;  // its elements are records of their own
      return hand_out();
    }
    open_.push_back(static_cast<std::uint32_t>(record_.values.size() - 1));
    return true;
  }
  bool close() {
    --depth_;
    if (!wanted_ || depth_ == 0) return true;
    if (open_.empty()) {
      in_section_ = false;
      return true;
    }
    record_.values[open_.back()].end = static_cast<std::uint32_t>(record_.values.size());
    open_.pop_back();
    return !open_.empty() || hand_out();
  }

  std::string_view text_;
  const WantsSection* wants_;
  const TakeRecord* fn_;
  Record record_;
  std::vector<std::string> sections_;
  std::vector<std::uint32_t> open_;  ///< the open containers of the record
  std::size_t depth_ = 0;
  bool wanted_ = false, in_section_ = false;
  std::uint32_t key_ = 0, key_size_ = 0;
};

/// Reads a file that is one object: `fn(section, index, value)` gets every member that `wants(section)` wants, arrays
/// with index -1 and no elements at their beginning and then element by element, and says whether to read on.
inline void for_each_record(std::string_view text, std::string_view file, const WantsSection& wants,
                            const TakeRecord& fn) {
  if (text.size() > max_file_bytes)
    throw_damaged(beyond_limits, std::to_string(text.size() >> 20) + " MiB in " + std::string(file),
                  std::to_string(max_file_bytes >> 20) + " MiB", "a file of this library never comes near them");
  RecordReader reader(text, file, wants, fn);
  nlohmann::json::sax_parse(text.data(), text.data() + text.size(), &reader);
}

/// Appends a string in quotes. Bytes that are not UTF-8 become the replacement character.
inline void append_quoted(std::string& out, std::string_view text) {
  bool plain = true;
  for (const char c : text) plain = plain && c >= ' ' && c <= '~' && c != '"' && c != '\\';
  if (plain) {
    out += '"';
    out += text;
    out += '"';
  } else {
    out += nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }
}

}  // namespace detail

}  // namespace nki::inline v0_1::io
