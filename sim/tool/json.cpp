#include <sim/tool/json.hpp>

#include <nki/error.hpp>

#include <nlohmann/json.hpp>

#include <cmath>
#include <cstddef>

namespace nki::tool {

Json& Json::set(std::string_view key, Json value) {
  kind_ = Kind::object;
  for (std::size_t i = 0; i < keys_.size(); ++i)
    if (keys_[i] == key) {
      items_[i] = std::move(value);
      return *this;
    }
  keys_.emplace_back(key);
  items_.push_back(std::move(value));
  return *this;
}

Json& Json::push(Json value) {
  kind_ = Kind::array;
  items_.push_back(std::move(value));
  return *this;
}

const Json* Json::find(std::string_view key) const {
  for (std::size_t i = 0; i < keys_.size(); ++i)
    if (keys_[i] == key) return &items_[i];
  return nullptr;
}

namespace {

using Library = nlohmann::ordered_json;

// Our own files nest a handful of levels; the limit keeps a hostile one from using up the stack.
constexpr int max_depth = 64;

Library to_library(const Json& v) {
  switch (v.kind()) {
    case Json::Kind::null:
      return nullptr;
    case Json::Kind::boolean:
      return v.as_bool();
    case Json::Kind::integer:
      return v.as_integer();
    case Json::Kind::number: {
      const double x = v.as_double();
      if (std::isnan(x)) return "nan";
      if (std::isinf(x)) return x > 0 ? "inf" : "-inf";
      return x;
    }
    case Json::Kind::string:
      return v.as_string();
    case Json::Kind::array: {
      Library out = Library::array();
      for (std::size_t i = 0; i < v.size(); ++i) out.push_back(to_library(v.item(i)));
      return out;
    }
    case Json::Kind::object: {
      Library out = Library::object();
      // `set` keeps the keys apart, so no search for an equal key is needed here.
      auto& members = out.get_ref<Library::object_t&>();
      for (std::size_t i = 0; i < v.size(); ++i) members.emplace_back(v.key(i), to_library(v.item(i)));
      return out;
    }
  }
  return nullptr;
}

[[noreturn]] void damaged(const std::string& source, const std::string& got) {
  throw Error({.id = "NKI-E612",
               .sentence = "a result file holds one JSON object, as the programs write it with --json",
               .got = source + ": " + got,
               .allowed = {},
               .hint = "write the file again; it may have been cut short or edited",
               .file = {},
               .error_class = ErrorClass::damaged_file});
}

Json from_library(const Library& v, const std::string& source, int depth) {
  if (depth > max_depth) damaged(source, "more than " + std::to_string(max_depth) + " levels of nesting");
  switch (v.type()) {
    case Library::value_t::boolean:
      return v.get<bool>();
    case Library::value_t::number_integer:
      return v.get<std::int64_t>();
    case Library::value_t::number_unsigned: {
      const auto n = v.get<std::uint64_t>();
      if (n > static_cast<std::uint64_t>(INT64_MAX)) return static_cast<double>(n);
      return static_cast<std::int64_t>(n);
    }
    case Library::value_t::number_float:
      return v.get<double>();
    case Library::value_t::string:
      return v.get<std::string>();
    case Library::value_t::array: {
      Json out = Json::array();
      for (const auto& item : v) out.push(from_library(item, source, depth + 1));
      return out;
    }
    case Library::value_t::object: {
      Json out = Json::object();
      for (const auto& [key, item] : v.items()) out.set(key, from_library(item, source, depth + 1));
      return out;
    }
    default:
      return {};
  }
}

}  // namespace

std::string dump(const Json& value, int indent) {
  return to_library(value).dump(indent, ' ', false, Library::error_handler_t::replace);
}

Json parse_json(std::string_view text, const std::string& source) {
  try {
    return from_library(Library::parse(text.begin(), text.end()), source, 0);
  } catch (const Library::exception& e) {
    // The library's text begins with its own name and number in brackets.
    std::string_view what = e.what();
    if (const auto at = what.find("] "); at != std::string_view::npos) what.remove_prefix(at + 2);
    damaged(source, std::string(what));
  }
}

}  // namespace nki::tool
