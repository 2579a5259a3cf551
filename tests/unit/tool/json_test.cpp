#include <sim/tool/json.hpp>

#include <nki/error.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

namespace {

using nki::tool::dump;
using nki::tool::Json;
using nki::tool::parse_json;

TEST(Json, KeepsTheOrderOfItsKeys) {
  EXPECT_EQ(dump(Json::object({{"z", 1}, {"a", Json::array().push("x").push(true)}, {"m", Json()}})),
            R"({"z":1,"a":["x",true],"m":null})");
  EXPECT_EQ(dump(Json::object({{"z", 1}, {"a", 2}}).set("z", 3)), R"({"z":3,"a":2})");
  EXPECT_EQ(dump(Json::object()), "{}");
  EXPECT_EQ(dump(Json::array()), "[]");
}

TEST(Json, DoublesReadBackToTheSameValue) {
  for (const double x : {0.1, 1.0 / 3, 1e300, 5e-324, 123456789.123456789, -0.0, 1e23, 2.5}) {
    const Json back = parse_json(dump(Json(x)), "text");
    EXPECT_EQ(back.as_double(), x);
  }
  EXPECT_EQ(dump(Json(0.1)), "0.1");
  EXPECT_EQ(dump(Json(1.0)), "1.0");  // stays a double for readers that tell them apart
}

TEST(Json, NonFiniteNumbersAreStrings) {
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(dump(Json::array().push(inf).push(-inf).push(std::nan(""))), R"(["inf","-inf","nan"])");
}

TEST(Json, IntegersKeepAllTheirDigits) {
  EXPECT_EQ(dump(Json(INT64_MAX)), "9223372036854775807");
  EXPECT_EQ(parse_json("9223372036854775807", "text").as_integer(), INT64_MAX);
  EXPECT_EQ(parse_json("18446744073709551615", "text").as_double(), 18446744073709551615.0);
}

TEST(Json, BytesThatAreNoTextAreReplaced) {
  EXPECT_EQ(dump(Json(std::string("a\xff"
                                  "b"))),
            "\"a\xef\xbf\xbd"
            "b\"");
  EXPECT_EQ(dump(Json(std::string("\"\\\n\x01"))), R"("\"\\\n\u0001")");
}

TEST(Json, DamagedTextIsRefusedWithItsName) {
  for (const char* text : {"", "{", "{} {}", "{\"a\":1e999}", "nul", "[1,]", "\xff"}) {
    try {
      parse_json(text, "r.json");
      ADD_FAILURE() << text;
    } catch (const nki::Error& e) {
      EXPECT_EQ(e.violation().error_class, nki::ErrorClass::damaged_file);
      EXPECT_NE(e.violation().got.find("r.json"), std::string::npos);
    }
  }
  EXPECT_THROW(parse_json(std::string(100000, '['), "deep"), nki::Error);
  EXPECT_THROW(parse_json(std::string(100, '[') + std::string(100, ']'), "deep"), nki::Error);
}

}  // namespace
