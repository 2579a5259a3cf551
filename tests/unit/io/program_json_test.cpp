#include "../core/small_program.hpp"

#include <nki/io/program_json.hpp>
#include <nki/ir/flatten.hpp>
#include <nki/ir/hash.hpp>
#include <nki/ir/print.hpp>

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <limits>
#include <random>
#include <string>
#include <string_view>

namespace {

namespace io = nki::io;
namespace ir = nki::ir;

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  if (at == std::string::npos)
    ADD_FAILURE() << from << " is not in the text";
  else
    text.replace(at, from.size(), to);
  return text;
}

/// The error of loading `text`, "" if there is none.
std::string error_of(std::string_view text, std::string_view id = {}) {
  try {
    io::load_program(text, "p.json");
  } catch (const nki::Error& e) {
    EXPECT_EQ(e.violation().error_class, nki::ErrorClass::damaged_file) << e.what();
    EXPECT_NE(std::string_view(e.what()).find("p.json"), std::string_view::npos) << e.what();
    EXPECT_TRUE(id.empty() || e.id() == id) << e.what();
    return e.what();
  }
  EXPECT_TRUE(id.empty()) << id << " is not reported";
  return {};
}
void expect_error(std::string_view text, std::string_view id, std::string_view part) {
  const std::string error = error_of(text, id);
  EXPECT_NE(error.find(part), std::string::npos) << error;
}

void expect_round_trip(const ir::Program& p) {
  const std::string text = io::save_program(p);
  const ir::Program q = io::load_program(text, "p.json");
  EXPECT_EQ(ir::hash(q), ir::hash(p));
  EXPECT_EQ(io::save_program(q), text);
  EXPECT_EQ(ir::to_text(q), ir::to_text(p));
}

TEST(ProgramJson, RoundTripKeepsHashTextAndNames) {
  expect_round_trip(small_program());
  expect_round_trip(ir::flatten(small_program()));
  expect_round_trip(nki::Builder().finish());
}

TEST(ProgramJson, RoundTripKeepsEveryNumber) {
  for (const double value :
       {0.0, -0.0, 1.0 / 3, 5e-324, 1.7976931348623157e308, -123456789.0, std::numeric_limits<double>::infinity(),
        -std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN(),
        std::bit_cast<double>(std::uint64_t{0xfff8'0000'0000'1234})}) {
    ir::Program p = small_program();
    for (const ir::Instr& i : p.instrs)
      if (i.op == ir::Opcode::memset) p.attr_pool[p.attr_sets[i.attrs].first] = std::bit_cast<std::int64_t>(value);
    expect_round_trip(p);
  }
}

TEST(ProgramJson, RoundTripKeepsStringsThatNeedEscapes) {
  ir::Program p = small_program();
  p.kernel = "a \"kernel\"\\ with\nlines\tand \xc3\xa4";
  p.problem = std::string(1, '\0') + "\x7f\x01";
  p.files[1] = "C:\\kernels\\\xe2\x82\xac.cpp";
  expect_round_trip(p);
  const ir::Program q = io::load_program(io::save_program(p), "p.json");
  EXPECT_EQ(q.kernel, p.kernel);
  EXPECT_EQ(q.problem, p.problem);
  EXPECT_EQ(q.files, p.files);
}

TEST(ProgramJson, BytesThatAreNotUtf8AreReplaced) {
  ir::Program p = small_program();
  p.files[1] = "\xff.cpp";
  EXPECT_EQ(io::load_program(io::save_program(p), "p.json").files[1], "\xef\xbf\xbd.cpp");
}

TEST(ProgramJson, IsReadableAndInAFixedOrder) {
  const std::string text = io::save_program(small_program());
  EXPECT_EQ(text.substr(0, text.find("  \"scopes\"")), R"({
  "schema": "nki.program/1",
  "kernel": "small",
  "problem": "rows=300",
  "params": "bufs=2",
  "files": [
    "",
    "small.cpp"
  ],
)");
  for (
      const char* line : {
          R"(    {"name": "rows", "space": "sbuf", "dtype": "f32", "kind": "tile", "shape": [128, 64], "slots": 2, "loc": 7},)",
          R"(    {"name": "j", "lower": 18, "upper": 6, "kind": "sequential", "loc": 16})",
          R"("operands": {"dst": 0, "src": 1}, "attrs": {"dge_mode": "swdge"}, "loc": 5},)",
          R"("attrs": {"accumulate": "auto"})",
          R"("attrs": {"value": 0.5})",
          R"("attrs": {"value": -1.0})",
          "\n    [\"alloc\", 3],\n    [\"instr\", 0],\n    [\"loop\", 0],\n      [\"alloc\", 4],",
          "\n      [\"loop\", 1],\n        [\"instr\", 6],\n      [\"end\"],",
      })
    EXPECT_NE(text.find(line), std::string::npos) << line << "\n" << text;
}

TEST(ProgramJson, SectionsMayComeInAnyOrder) {
  const std::string text = io::save_program(small_program());
  const std::string schema = "\"schema\": \"nki.program/1\",\n  ";
  std::string moved = replaced(text, schema, "");
  moved = replaced(moved, "\n}\n", ",\n  \"schema\": \"nki.program/1\"}");
  EXPECT_EQ(io::save_program(io::load_program(moved, "p.json")), text);
  const std::string more = replaced(text, schema, schema + "\"comment\": {\"by\": [\"hand\", 1, null]}, ");
  EXPECT_EQ(io::save_program(io::load_program(more, "p.json")), text) << "what is not known is passed over";
}

TEST(ProgramJson, OtherFilesAreForeign) {
  expect_error("{}", "NKI-E061", "no schema");
  expect_error(R"({"schema": "nki.run/1", "ok": true})", "NKI-E061", "nki.run/1");
  expect_error(R"({"schema": "nki.program/", "kernel": ""})", "NKI-E061", "nki.program/");
  expect_error(R"({"schema": 1})", "NKI-E061", "?");
  expect_error("[]", "NKI-E064", "an object");
  expect_error("17", "NKI-E064", "an object");
  expect_error("null", "NKI-E064", "an object");
}

TEST(ProgramJson, NewerFilesAreNotReadByGuess) {
  expect_error(R"({"schema": "nki.program/2", "whatever": 0})", "NKI-E062", "nki.program/2");
  expect_error(replaced(io::save_program(small_program()), "program/1", "program/10"), "NKI-E062", "nki.program/10");
}

TEST(ProgramJson, DamagedTextNamesItsLine) {
  expect_error("", "NKI-E060", "p.json:1");
  expect_error("{", "NKI-E060", "an end after 1 bytes");
  expect_error("hello", "NKI-E060", "'h");
  expect_error("{\"schema\": \"nki.program/1\",\n\n \"kernel\": @", "NKI-E060", "p.json:3");
  expect_error(io::save_program(small_program()) + " x", "NKI-E060", "' x'");
  expect_error("{\"schema\": \"nki.program/1\", \"kernel\": \"\xff\"}", "NKI-E060", "?");
  expect_error(R"({"schema": "nki.program/1", "kernel": 1e999})", "NKI-E060", "1e999");
}

TEST(ProgramJson, DamagedFieldsNameTheirPath) {
  const std::string text = io::save_program(small_program());
  const auto broken = [&](std::string_view from, std::string_view to, std::string_view id, std::string_view path) {
    SCOPED_TRACE(to);
    expect_error(replaced(text, from, to), id, path);
  };
  broken("\"slots\": 2", "\"slotz\": 2", "NKI-E063", "no \"slots\" at $.buffers[4] of p.json");
  broken("\"kernel\": \"small\",", "", "NKI-E063", "no $.kernel");
  broken("\"kernel\":", "\"params\":", "NKI-E063", "a second $.params");
  broken("[\"end\"],\n", "", "NKI-E063", "no [\"end\"]");
  broken("[\"loop\", 1],\n", "", "NKI-E063", "the end of no loop at $.nodes[");
  broken("[\"loop\", 1]", "[\"loop\", 1, 2]", "NKI-E063", "3 parts");
  broken("\"operands\": {", "\"operands\": {\"more\": 1, ", "NKI-E063", "$.instrs[0].operands");
  broken("\"shape\": [300, 64]", "\"shape\": [300, \"64\"]", "NKI-E064", "a string at $.buffers[0].shape[1]");
  broken("\"shape\": [300, 64]", "\"shape\": [300, 64.5]", "NKI-E064", "$.buffers[0].shape[1]");
  broken("\"shape\": [300, 64]", "\"shape\": 300", "NKI-E064", "a whole number at $.buffers[0].shape");
  broken("\"dtype\": \"f32\"", "\"dtype\": \"f33\"", "NKI-E064", "\"f33\" at $.buffers[0].dtype");
  broken("\"op\": \"memset\"", "\"op\": \"memcpy\"", "NKI-E064", "\"memcpy\" at $.instrs[1].op");
  broken("\"accumulate\": \"auto\"", "\"accumulate\": true", "NKI-E064", "attrs.accumulate");
  broken("[\"mul\", ", "[\"div\", ", "NKI-E064", "$.exprs[");
  broken("\"locs\": [", "\"locs\": 3, \"_\": [", "NKI-E064", "$.locs");
  broken("\"slots\": 2", "\"slots\": 3000000000", "NKI-E065", "3000000000 at $.buffers[4].slots");
  broken("\"slots\": 2", "\"slots\": 99999999999999999999", "NKI-E064", "$.buffers[4].slots");
  broken("\"loc\": 7", "\"loc\": -1", "NKI-E065", "-1 at $.buffers[4].loc");
  broken("\"loc\": 7", "\"loc\": 4294967295", "NKI-E065", "$.buffers[4].loc");
  broken("\"shape\": [300, 64]", "\"shape\": [1, 1, 1, 1, 1, 1]", "NKI-E065", "6 extents");
  broken("\"name\": \"rows\"", "\"name\": \"x\"", "NKI-E067", "a second \"x\" at $.buffers[4].name");
  broken("\"name\": \"m\"", "\"name\": \"m): pass #\"", "NKI-E067", "$.loops[0].name");
}

TEST(ProgramJson, ProgramsThatBreakTheirOwnRulesAreDamaged) {
  const std::string text = io::save_program(small_program());
  expect_error(replaced(text, "\"loc\": 7", "\"loc\": 4000000000"), "NKI-E050", "4000000000");
  expect_error(replaced(text, "[\"loop\", 1]", "[\"loop\", 0]"), "NKI-E052", "");
  expect_error(replaced(text, "\"shape\": [300, 64]", "\"shape\": [4611686018427387904, 64]"), "NKI-E055", "");
  expect_error(replaced(text, "\"slots\": 2", "\"slots\": 0"), "NKI-E054", "");
}

TEST(ProgramJson, HostileFilesNeitherCrashNorGrow) {
  const std::string begin = R"({"schema": "nki.program/1", "kernel": )";
  const std::string deep(1'000'000, '[');
  expect_error(deep, "NKI-E064", "");
  expect_error(begin + deep, "NKI-E064", "$.kernel");
  expect_error(begin + R"("", "locs": )" + deep, "NKI-E066", "levels");
  expect_error(begin + R"("", "unknown": )" + deep, "NKI-E066", "levels");
  std::string objects = begin;
  for (int i = 0; i < 100'000; ++i) objects += R"({"a":)";
  expect_error(objects, "NKI-E066", "levels");
  std::string wide = R"({"schema": "nki.program/1", "buffers": [{"name": "x", "shape": [0)";
  for (int i = 0; i < 100'000; ++i) wide += ",1";
  expect_error(wide, "NKI-E066", "values");
  std::string members = "{";
  for (int i = 0; i < 1000; ++i) members += "\"" + std::to_string(i) + "\": 0, ";
  expect_error(members, "NKI-E066", "members");
}

TEST(ProgramJson, TheSchemaKnowsEveryName) {
  std::ifstream file(std::string(NKI_TESTS_DIR) + "/../docs/schema/program.schema.json");
  const std::string schema{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const auto expect_name = [&](std::string_view name) {
    EXPECT_NE(schema.find("\"" + std::string(name) + "\""), std::string::npos) << name;
  };
  expect_name(io::program_schema);
  for (const nki::DTypeInfo& t : nki::dtype_table) expect_name(t.name);
  for (int e = 0; e < ir::engine_count; ++e) expect_name(ir::name(static_cast<ir::Engine>(e)));
  for (const ir::OpInfo& op : ir::op_table) {
    expect_name(op.name);
    for (std::size_t o = 0; o < op.n_operands; ++o) expect_name(op.operands[o].name);
    for (std::size_t a = 0; a < op.n_attrs; ++a) expect_name(op.attrs[a].name);
  }
}

/// Whatever is read must be safe to use. Says whether it was read.
bool read_or_refuse(std::string_view text) {
  try {
    const ir::Program p = io::load_program(text, "p.json");
    const std::string saved = io::save_program(p);
    const ir::Program q = io::load_program(saved, "p.json");
    EXPECT_EQ(ir::hash(q), ir::hash(p));
    EXPECT_EQ(io::save_program(q), saved);
    EXPECT_FALSE(ir::to_text(p).empty());
    return true;
  } catch (const nki::Error& e) {
    EXPECT_NE(e.violation().error_class, nki::ErrorClass::internal) << e.what();
    return false;
  }
}

TEST(ProgramJson, TruncatedFilesAreRefused) {
  for (const ir::Program& p : {small_program(), ir::flatten(small_program())}) {
    const std::string text = io::save_program(p);
    for (std::size_t n = 0; n + 2 < text.size(); n += 97) error_of(std::string_view(text).substr(0, n), "NKI-E060");
  }
}

TEST(ProgramJson, TwoThousandMutationsNeverCrash) {
  constexpr unsigned seed = 7;
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  const std::string rolled = io::save_program(small_program()), flat = io::save_program(ir::flatten(small_program()));
  constexpr std::string_view digits = "0123456789-9999999";
  int read = 0, refused = 0;
  for (int i = 0; i < 2000; ++i) {
    std::string text = i % 4 == 3 ? flat : rolled;
    const auto somewhere = [&] { return static_cast<std::size_t>(random() % text.size()); };
    for (int n = 1 + static_cast<int>(random() % 3); n > 0; --n) switch (random() % 5) {
        case 0:
          text[somewhere()] ^= static_cast<char>(1u << random() % 8);
          break;
        case 1:
          text[somewhere()] = static_cast<char>(random() % 256);
          break;
        case 2: {  // another number, which leaves most files well formed
          const std::size_t at = text.find_first_of("0123456789", somewhere());
          if (at != std::string::npos) text[at] = digits[random() % digits.size()];
          break;
        }
        case 3: {  // a number many digits longer
          const std::size_t at = text.find_first_of("123456789", somewhere());
          if (at != std::string::npos) text.insert(at, std::string(1 + random() % 20, '8'));
          break;
        }
        default: {  // a line less, or twice
          const std::size_t from = text.rfind('\n', somewhere()),
                            to = from == std::string::npos ? from : text.find('\n', from + 1);
          if (to == std::string::npos) break;
          if (random() % 2 == 0)
            text.erase(from, to - from);
          else
            text.insert(to, text.substr(from, to - from));
        }
      }
    ++(read_or_refuse(text) ? read : refused);
    if (HasFailure()) return;
  }
  EXPECT_GT(read, 50);
  EXPECT_GT(refused, 100);
}

}  // namespace
