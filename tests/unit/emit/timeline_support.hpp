#pragma once

#include <nki/emit/event_names.hpp>
#include <nki/emit/timeline_data.hpp>
#include <nki/ir/program.hpp>
#include <nki/sim/result.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

/// Runs for the tests of timelines, and a reader for what they write.
namespace timeline_test {

using nki::emit::is_queue;
using nki::emit::TimelineText;
using nki::sim::Event;
using nki::sim::Result;
using nki::sim::Timeline;
namespace emit = nki::emit;
namespace ir = nki::ir;
namespace machine = nki::machine;
namespace sim = nki::sim;

// ---- a reader of JSON: as little as the laws need, and strict

struct Json {
  enum class Kind { null, boolean, number, string, array, object } kind = Kind::null;
  double number = 0;
  std::string text;
  std::vector<Json> list;
  std::vector<std::string> keys;  ///< of an object: of list's values

  const Json* find(std::string_view name) const {
    for (std::size_t i = 0; i < keys.size(); ++i)
      if (keys[i] == name) return &list[i];
    return nullptr;
  }
  const Json& operator[](std::string_view name) const {
    static const Json none;
    const Json* found = find(name);
    return found == nullptr ? none : *found;
  }
  const Json& operator[](std::size_t i) const { return list.at(i); }
  std::size_t size() const { return list.size(); }
  std::int64_t integer() const { return static_cast<std::int64_t>(number); }
};

class JsonReader {
 public:
  explicit JsonReader(std::string_view text) : text_(text) {}
  /// False where the text is not one JSON value.
  bool read(Json& out) {
    const bool good = value(out);
    blank();
    return good && at_ == text_.size();
  }
  std::size_t place() const { return at_; }

 private:
  void blank() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) ++at_;
  }
  bool take(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }
  bool value(Json& out) {
    blank();
    if (at_ >= text_.size()) return false;
    switch (text_[at_]) {
      case '{':
        out.kind = Json::Kind::object;
        return sequence('}', [&] {
          out.keys.emplace_back();
          out.list.emplace_back();
          blank();
          if (!string(out.keys.back())) return false;
          blank();
          return take(":") && value(out.list.back());
        });
      case '[':
        out.kind = Json::Kind::array;
        return sequence(']', [&] {
          out.list.emplace_back();
          return value(out.list.back());
        });
      case '"':
        out.kind = Json::Kind::string;
        return string(out.text);
      case 't':
        out.kind = Json::Kind::boolean;
        return take("true");
      case 'f':
        out.kind = Json::Kind::boolean;
        return take("false");
      case 'n':
        return take("null");
      default:
        out.kind = Json::Kind::number;
        return number(out.number);
    }
  }
  template <class Item>
  bool sequence(char close, Item&& item) {
    ++at_;
    blank();
    if (take(std::string_view(&close, 1))) return true;
    while (item()) {
      blank();
      if (take(std::string_view(&close, 1))) return true;
      if (!take(",")) return false;
    }
    return false;
  }
  bool number(double& out) {
    const std::size_t from = at_;
    take("-");
    if (take("0")) {
      if (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') return false;
    } else if (!digits()) {
      return false;
    }
    if (take(".") && !digits()) return false;
    out = std::strtod(std::string(text_.substr(from, at_ - from)).c_str(), nullptr);
    return true;
  }
  bool digits() {
    const std::size_t from = at_;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') ++at_;
    return at_ > from;
  }
  bool string(std::string& out) {
    if (!take("\"")) return false;
    while (at_ < text_.size()) {
      const char c = text_[at_++];
      if (c == '"') return true;
      if (static_cast<unsigned char>(c) < 0x20) return false;
      if (c != '\\') {
        out += c;
        continue;
      }
      if (take("u")) {
        const std::string digits(text_.substr(at_, 4));
        if (digits.size() != 4 || digits.find_first_not_of("0123456789abcdefABCDEF") != std::string::npos) return false;
        at_ += 4;
        const auto code = std::strtoul(digits.c_str(), nullptr, 16);
        if (code < 0x80)
          out += static_cast<char>(code);
        else
          out += "?";
      } else if (std::string_view("\"\\/bfnrt").find(text_[at_]) != std::string_view::npos) {
        out += text_[at_++];
      } else {
        return false;
      }
    }
    return false;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

inline Json parsed(const std::string& text) {
  Json out;
  JsonReader reader(text);
  EXPECT_TRUE(reader.read(out)) << "not JSON at " << reader.place() << ": "
                                << text.substr(reader.place() > 60 ? reader.place() - 60 : 0, 120);
  return out;
}
/// The data of a page.
inline Json data_of(const std::string& html) {
  const std::string open = "<script type=\"application/json\" id=\"nki-data\">";
  const std::size_t from = html.find(open) + open.size();
  return parsed(html.substr(from, html.find("</script>", from) - from));
}

inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}
inline std::size_t count(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++n;
  return n;
}

// ---- runs to look at

struct Sample {
  ir::Program program;
  Timeline timeline;
  Result result;
};

/// A matmul with its default parameters on trn2; `turned`: lhs as [m, k].
Sample simulated(std::int64_t m, std::int64_t n, std::int64_t k, bool turned = false,
                 nki::DType dtype = nki::DType::bf16, std::size_t limit = std::size_t{1} << 20);

/// Bars of every row that never were simulated, to fill pages.
inline Sample synthetic(std::size_t events, const ir::Program& program) {
  Sample run;
  run.program = program;
  std::uint64_t state = 20261201;
  const auto random = [&](std::uint64_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % below;
  };
  std::array<std::int64_t, emit::row_count> free{};
  for (std::size_t i = 0; i < events; ++i) {
    Event e;
    e.row = static_cast<Event::Row>(random(emit::row_count));
    const auto row = static_cast<std::size_t>(e.row);
    e.kind = is_queue(e.row) || e.row == Event::Row::sync ? machine::Kind::dma
             : e.row == Event::Row::tensor                ? machine::Kind::matmul
                                                          : machine::Kind::compute;
    e.site = static_cast<std::uint32_t>(random(program.instrs.size()));
    e.waited = static_cast<std::int64_t>(random(3) == 0 ? random(100000) : 0);
    e.start = e.issued = free[row] + e.waited + static_cast<std::int64_t>(random(5000));
    e.end = e.start + 1 + static_cast<std::int64_t>(random(60000));
    e.cause = static_cast<machine::Cause>(random(machine::cause_count));
    e.producer = i > 0 && random(2) == 0 ? static_cast<std::int64_t>(random(i)) : -1;
    free[row] = e.end;
    run.result.body = std::max(run.result.body, e.end);
    run.timeline.events.push_back(e);
  }
  return run;
}

inline TimelineText text() {
  TimelineText t;
  t.hw = "trn2";
  t.source_line = [](std::string_view, std::uint32_t line) { return "    source of line " + std::to_string(line); };
  return t;
}

inline std::size_t bars_in(const Timeline& t) {
  std::size_t n = 0;
  for (const Event& e : t.events) n += e.kind != machine::Kind::event ? 1 : 0;
  return n;
}

/// (row, start, end) of every bar.
using Spans = std::multiset<std::tuple<int, std::int64_t, std::int64_t>>;
inline Spans spans_of(const Timeline& t) {
  Spans s;
  for (const Event& e : t.events)
    if (e.kind != machine::Kind::event) s.insert({static_cast<int>(e.row), e.start, e.end});
  return s;
}
inline Spans spans_of(const Json& data) {
  Spans s;
  std::int64_t t = 0;
  for (std::size_t i = 0; i < data["t"].size(); ++i) {
    t += data["t"][i].integer();
    s.insert({data["row"].text[i] - '0', t, t + data["d"][i].integer()});
  }
  return s;
}

}  // namespace timeline_test
