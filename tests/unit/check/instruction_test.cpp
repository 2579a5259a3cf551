#include "programs.hpp"

#include <nki/check/instruction.hpp>

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace check_test;
using enum nki::DType;
using ir::Engine;
using ir::Space;

/// What is wrong with the last instruction of a program, by the rules of one instruction alone.
std::vector<Violation> rules_of_last(const ir::Program& p, const Arch* target,
                                     check::Certainty certainty = check::Certainty::must) {
  const std::vector<ir::Range> ranges = ir::expression_ranges(p);
  std::vector<Violation> out;
  check::instruction_rules(
      p, p.instrs.back(), [&](ir::ExprId e) { return ranges[e]; }, target, certainty,
      [&](Violation v) { out.push_back(std::move(v)); });
  return out;
}

/// Two tiles, declared in this order.
struct Two {
  ir::BufferId dst, src;
};
void copy(Maker& k, Two t, Engine engine = Engine::vector) {
  k.copy(k.whole(t.dst), k.whole(t.src), engine);
}
void transpose(Maker& k, Two t) {
  k.transpose(k.whole(t.dst), k.whole(t.src));
}

/// A rule about a number: legal up to the limit, on each core, and with texts that say what was met and allowed.
struct Limit {
  const char* id;
  std::int64_t trn1, trn2, trn3;
  ir::Program (*make)(std::int64_t n);
  std::int64_t allowed_less = 0;  // the limit minus the number in the text

  std::int64_t of(const Arch& a) const { return a.generation == 2 ? trn1 : a.generation == 3 ? trn2 : trn3; }
};

std::string printed(const Limit& l) {
  return l.id;
}

ir::Program matmul_of(std::int64_t k_stationary, std::int64_t k_moving, std::int64_t m, std::int64_t n,
                      DType out = f32) {
  Maker k;
  const auto a = k.sbuf(bf16, {128, 16384}), b = k.sbuf(bf16, {128, 16384}), c = k.psum(out, {128, 16384});
  k.matmul(k.part(c, {{0, m}, {0, n}}), k.part(a, {{0, k_stationary}, {0, m}}), k.part(b, {{0, k_moving}, {0, n}}));
  return k.p;
}

const Limit limits[] = {
    {"NKI-E101", 128, 128, 128,
     [](std::int64_t n) {
       Maker k;
       const auto a = k.sbuf(f32, {400, 4});
       k.memset(k.part(a, {{0, n}, {0, 4}}));
       return k.p;
     }},
    {"NKI-E105", 1, 1, 1,
     [](std::int64_t n) {
       Maker k;
       const auto a = k.sbuf(f32, {128, 4});
       k.memset(k.part(a, {{0, 32, static_cast<std::int32_t>(n)}, {0, 4}}));
       return k.p;
     }},
    {"NKI-E205", 128, 128, 128, [](std::int64_t n) { return matmul_of(64, 64, n, 64); }},
    {"NKI-E206", 512, 512, 4096, [](std::int64_t n) { return matmul_of(64, 64, 64, n); }},
    {"NKI-E206", 512, 512, 8192, [](std::int64_t n) { return matmul_of(64, 64, 64, n, bf16); }},
    {"NKI-E222", 128, 128, 128,
     [](std::int64_t n) {
       Maker k;
       const auto a = k.sbuf(bf16, {128, 1024}), b = k.psum(bf16, {128, 1024});
       k.transpose(k.part(b, {{0, n}, {0, 128}}), k.part(a, {{0, 128}, {0, n}}));
       return k.p;
     }},
    {"NKI-E222", 32, 32, 32,
     [](std::int64_t n) {
       Maker k;
       const auto a = k.sbuf(bf16, {128, 1024}), b = k.sbuf(bf16, {128, 1024});
       k.transpose(k.part(b, {{0, 32}, {0, n}}), k.part(a, {{0, n}, {0, 32}}), Engine::vector);
       return k.p;
     }},
    {"NKI-E231", 600, 600, 600,  // the end of a slice of a tensor with 600 rows
     [](std::int64_t n) {
       Maker k;
       const auto a = k.input(bf16, {600, 64}), b = k.sbuf(bf16, {128, 64});
       k.dma(k.part(b, {{0, 88}, {0, 64}}), k.part(a, {{n - 88, 88}, {0, 64}}));
       return k.p;
     },
     1},
    {"NKI-E233", 65535, 65535, 65535,
     [](std::int64_t n) {
       Maker k;
       const auto a = k.sbuf(u8, {128, 70000});
       k.memset(k.part(a, {{0, 128}, {0, n}}));
       return k.p;
     }},
    {"NKI-E233", 32767, 32767, 32767,
     [](std::int64_t n) {
       Maker k;
       const auto a = k.sbuf(u8, {128, 3, n});
       k.memset(k.part(a, {{0, 128}, {0, 3}, {0, 1}}));
       return k.p;
     }},
    {"NKI-E233", 65536, 65536, 65536,  // elements of a partition: dimensions of one axis may overlap
     [](std::int64_t n) {
       Maker k;
       const auto a = k.sbuf(u8, {128, 32768});
       k.memset(k.view(a, {{k.number(0), k.number(128), 1, 0, false}, {k.number(0), k.number(n), 0, 1, false}}));
       return k.p;
     }},
};

TEST(InstructionRules, HoldUpToTheirLimitAndSayBothNumbersBeyondIt) {
  for (const Limit& l : limits)
    for (const Arch* core : arch::all) {
      SCOPED_TRACE(printed(l) + " on " + core->name + ", limit " + std::to_string(l.of(*core)));
      const std::int64_t limit = l.of(*core);
      EXPECT_TRUE(limit == 1 || !has(rules_of_last(l.make(limit - 1), core), l.id));
      // 65536 elements are too many for one dimension, but that is another case of the rule.
      const std::string at_limit = text_of(rules_of_last(l.make(limit), core), l.id);
      EXPECT_TRUE(at_limit.empty() || (limit == 65536 && at_limit.find("65535") != std::string::npos)) << at_limit;
      for (const check::Certainty certainty : {check::Certainty::must, check::Certainty::may}) {
        const auto found = rules_of_last(l.make(limit + 1), core, certainty);
        std::string text;
        for (const Violation& v : found)
          if (v.id == l.id) text = v.text();  // the last one is about the total
        EXPECT_NE(text.find(std::to_string(limit + 1 - l.allowed_less)), std::string::npos) << text;
        EXPECT_NE(text.find(std::to_string(limit - l.allowed_less)), std::string::npos) << text;
        EXPECT_NE(text.find("hint: "), std::string::npos) << text;
      }
    }
}

TEST(InstructionRules, WithoutATargetTheLoosestLimitsHold) {
  EXPECT_TRUE(rules_of_last(matmul_of(64, 64, 64, 4096), nullptr).empty());
  EXPECT_TRUE(has(rules_of_last(matmul_of(64, 64, 64, 4097), nullptr), "NKI-E206"));
  Maker k;
  const auto a = k.sbuf(bf16, {128, 64}), b = k.sbuf(f32, {128, 64});
  copy(k, {a, b}, Engine::scalar);
  EXPECT_TRUE(rules_of_last(k.p, nullptr).empty());
  EXPECT_TRUE(has(rules_of_last(k.p, &arch::trn1), "NKI-E220"));
  EXPECT_TRUE(rules_of_last(k.p, &arch::trn2).empty());
}

TEST(InstructionRules, E102AgreesWithThePublishedTableOfStarts) {
  const auto published = [](std::int64_t start, std::int64_t count) {
    if (count >= 65) return start == 0;
    if (count >= 33) return start == 0 || start == 64;
    return start == 0 || start == 32 || start == 64 || start == 96;
  };
  for (std::int64_t count = 1; count <= 128; ++count)
    for (std::int64_t start = 0; start + count <= 128; ++start) {
      Maker k;
      const auto a = k.sbuf(f32, {128, 4});
      k.memset(k.part(a, {{start, count}, {0, 4}}));
      ASSERT_EQ(rules_of_last(k.p, &arch::trn2).empty(), published(start, count)) << start << " " << count;
    }
  Maker k;
  const auto a = k.sbuf(f32, {128, 4});
  k.memset(k.part(a, {{32, 33}, {0, 4}}));
  const std::string text = text_of(rules_of_last(k.p, &arch::trn2), "NKI-E102");
  EXPECT_NE(text.find("dst 't0' at partition 32 with 33 partitions"), std::string::npos) << text;
  EXPECT_NE(text.find("partition 0 or 64"), std::string::npos) << text;
}

TEST(InstructionRules, ADmaReachesAnyPartition) {
  Maker k;
  const auto a = k.sbuf(f32, {128, 4}), b = k.input(f32, {10, 4});
  k.dma(k.part(a, {{7, 10, 2}, {0, 4}}), k.whole(b));
  EXPECT_TRUE(rules_of_last(k.p, &arch::trn2).empty());
}

// clang-format off
// One legal and one illegal program for each rule that is not about a limit.
struct Pair {
  const char* id;
  const char* got;      // a part of the illegal text
  const char* allowed;  // another
  void (*legal)(Maker&);
  void (*illegal)(Maker&);
};

constexpr auto dma_tiles = [](Maker& k, DType d, DType s) {
  const auto src = k.input(s, {128, 64});
  return std::pair{k.whole(k.sbuf(d, {128, 64})), k.whole(src)};
};
constexpr auto product = [](Maker& k, DType c, DType a, DType b) {
  const auto x = k.whole(k.sbuf(a, {128, 64})), y = k.whole(k.sbuf(b, {128, 256}));
  k.matmul(k.whole(k.psum(c, {64, 256})), x, y);
};

const Pair pairs[] = {
    {"NKI-E120", "dst 't1' in psum", "hbm, sbuf",
     [](Maker& k) { const auto [d, s] = dma_tiles(k, f32, f32); k.dma(d, s); },
     [](Maker& k) {
       const auto s = k.input(f32, {128, 64});
       k.dma(k.whole(k.psum(f32, {128, 64})), k.whole(s));
     }},
    {"NKI-E121", "with 8192 elements, src 't0' with 8128", "equal",
     [](Maker& k) {
       const auto s = k.input(f32, {64, 128});
       k.dma(k.whole(k.sbuf(f32, {128, 64})), k.whole(s));
     },
     [](Maker& k) {
       const auto s = k.input(f32, {127, 64});
       k.dma(k.whole(k.sbuf(f32, {128, 64})), k.whole(s));
     }},
    {"NKI-E122", "dst 't1' of bf16, src 't0' of f32 on queue sync", "equal dtypes, or queue gpsimd",
     [](Maker& k) { const auto [d, s] = dma_tiles(k, bf16, f32); k.dma(d, s, Engine::gpsimd); },
     [](Maker& k) { const auto [d, s] = dma_tiles(k, bf16, f32); k.dma(d, s, Engine::sync); }},
    {"NKI-E122", "dge_mode swdge on queue scalar", "hwdge",
     [](Maker& k) { const auto [d, s] = dma_tiles(k, f32, f32); k.dma(d, s, Engine::scalar, ir::DgeMode::hwdge); },
     [](Maker& k) { const auto [d, s] = dma_tiles(k, f32, f32); k.dma(d, s, Engine::scalar, ir::DgeMode::swdge); }},
    {"NKI-E122", "dge_mode hwdge on queue gpsimd", "swdge",
     [](Maker& k) { const auto [d, s] = dma_tiles(k, f32, f32); k.dma(d, s, Engine::gpsimd, ir::DgeMode::none); },
     [](Maker& k) { const auto [d, s] = dma_tiles(k, f32, f32); k.dma(d, s, Engine::gpsimd, ir::DgeMode::hwdge); }},
    {"NKI-E123", "dma_copy on vector", "scalar, gpsimd, sync",
     [](Maker& k) { const auto [d, s] = dma_tiles(k, f32, f32); k.dma(d, s, Engine::sync); },
     [](Maker& k) { const auto [d, s] = dma_tiles(k, f32, f32); k.dma(d, s, Engine::vector); }},
    {"NKI-E201", "dst 't2' in sbuf", "psum", [](Maker& k) { product(k, f32, bf16, bf16); },
     [](Maker& k) {
       const auto a = k.whole(k.sbuf(bf16, {128, 64})), b = k.whole(k.sbuf(bf16, {128, 64}));
       k.matmul(k.whole(k.sbuf(f32, {64, 64})), a, b);
     }},
    {"NKI-E202", "moving 't1' in psum", "sbuf", [](Maker& k) { product(k, f32, f16, bf16); },
     [](Maker& k) {
       const auto a = k.whole(k.sbuf(bf16, {128, 64})), b = k.whole(k.psum(bf16, {128, 64}));
       k.matmul(k.whole(k.psum(f32, {64, 64})), a, b);
     }},
    {"NKI-E202", "stationary 't0' in hbm", "sbuf", [](Maker& k) { product(k, f32, f16, bf16); },
     [](Maker& k) {
       const auto a = k.whole(k.input(bf16, {128, 64})), b = k.whole(k.sbuf(bf16, {128, 64}));
       k.matmul(k.whole(k.psum(f32, {64, 64})), a, b);
     }},
    {"NKI-E203", "dst 't2' of f16", "f32", [](Maker& k) { product(k, f32, f32, f32); },
     [](Maker& k) { product(k, f16, bf16, bf16); }},
    {"NKI-E204", "stationary 't0' with 128 partitions, moving 't1' with 64 partitions", "equal",
     [](Maker& k) { product(k, f32, f8e5m2, f8e4m3); },
     [](Maker& k) {
       const auto a = k.whole(k.sbuf(bf16, {128, 64})), b = k.whole(k.sbuf(bf16, {64, 64}));
       k.matmul(k.whole(k.psum(f32, {64, 64})), a, b);
     }},
    {"NKI-E207", "dst 't2' of [64, 128]", "[64, 256]", [](Maker& k) { product(k, f32, tf32, f32); },
     [](Maker& k) {
       const auto a = k.whole(k.sbuf(bf16, {128, 64})), b = k.whole(k.sbuf(bf16, {128, 256}));
       k.matmul(k.whole(k.psum(f32, {64, 128})), a, b);
     }},
    {"NKI-E210", "stationary 't0' of f32, moving 't1' of bf16", "f32 or tf32 for both",
     [](Maker& k) { product(k, f32, f32, tf32); }, [](Maker& k) { product(k, f32, f32, bf16); }},
    {"NKI-E210", "moving 't1' of i8", "bf16", [](Maker& k) { product(k, f32, f8e4m3, f8e4m3); },
     [](Maker& k) { product(k, f32, i8, i8); }},
    {"NKI-E220", "tensor_copy on tensor", "scalar, gpsimd, vector",
     [](Maker& k) { copy(k, {k.sbuf(f32, {64, 64}), k.psum(f32, {64, 64})}); },
     [](Maker& k) { copy(k, {k.sbuf(f32, {64, 64}), k.psum(f32, {64, 64})}, Engine::tensor); }},
    {"NKI-E220", "tensor_copy on gpsimd, src 't1' in psum", "sbuf",
     [](Maker& k) { copy(k, {k.sbuf(f32, {64, 64}), k.sbuf(f32, {64, 64})}, Engine::gpsimd); },
     [](Maker& k) { copy(k, {k.sbuf(f32, {64, 64}), k.psum(f32, {64, 64})}, Engine::gpsimd); }},
    {"NKI-E220", "dst 't0' in hbm", "sbuf, psum",
     [](Maker& k) { k.memset(k.whole(k.psum(f32, {64, 64}))); },
     [](Maker& k) { k.memset(k.whole(k.argument(ir::BufferKind::output, f32, {64, 64}))); }},
    {"NKI-E220", "nc_transpose on tensor, dst 't0' in sbuf", "psum",
     [](Maker& k) { transpose(k, {k.psum(u16, {64, 128}), k.sbuf(u16, {128, 64})}); },
     [](Maker& k) { transpose(k, {k.sbuf(u16, {64, 128}), k.sbuf(u16, {128, 64})}); }},
    {"NKI-E221", "dst 't0' of f32, data 't1' of bf16", "equal",
     [](Maker& k) { transpose(k, {k.psum(bf16, {64, 128}), k.sbuf(bf16, {128, 64})}); },
     [](Maker& k) { transpose(k, {k.psum(f32, {64, 128}), k.sbuf(bf16, {128, 64})}); }},
    {"NKI-E223", "dst 't0' of [64, 64]", "[64, 128]",
     [](Maker& k) { transpose(k, {k.psum(f32, {32, 2, 16}), k.sbuf(f32, {32, 4, 8})}); },
     [](Maker& k) { transpose(k, {k.psum(f32, {64, 64}), k.sbuf(f32, {128, 64})}); }},
    {"NKI-E224", "dst 't0' of [64, 64], src 't1' of [64, 65]", "equal",
     [](Maker& k) { copy(k, {k.sbuf(f32, {64, 4, 16}), k.sbuf(bf16, {64, 64})}); },
     [](Maker& k) { copy(k, {k.sbuf(f32, {64, 64}), k.sbuf(f32, {64, 65})}); }},
    {"NKI-E224", "dst 't0' of [64, 64], src 't1' of [32, 64]", "equal",
     [](Maker& k) { copy(k, {k.sbuf(f32, {64, 64}), k.sbuf(f32, {64, 64})}); },
     [](Maker& k) { copy(k, {k.sbuf(f32, {64, 64}), k.sbuf(f32, {32, 64})}); }},
    {"NKI-E225", "300", "255", [](Maker& k) { k.memset(k.whole(k.sbuf(u8, {64, 64})), 255); },
     [](Maker& k) { k.memset(k.whole(k.sbuf(u8, {64, 64})), 300); }},
    {"NKI-E226", "dst 't0' of f8e5m2_x4, src 't1' of f32", "equal",
     [](Maker& k) { copy(k, {k.sbuf(f8e5m2_x4, {64, 64}), k.sbuf(f8e5m2_x4, {64, 64})}); },
     [](Maker& k) { copy(k, {k.sbuf(f8e5m2_x4, {64, 64}), k.sbuf(f32, {64, 64})}); }},
    {"NKI-E312", "dst 't0', an input, written by dma_copy", "reads",
     [](Maker& k) {
       const auto d = k.argument(ir::BufferKind::output, f32, {64, 64});
       k.dma(k.whole(d), k.whole(k.sbuf(f32, {64, 64})));
     },
     [](Maker& k) {
       const auto d = k.input(f32, {64, 64});
       k.dma(k.whole(d), k.whole(k.sbuf(f32, {64, 64})));
     }},
    {"NKI-E312", "src 't0', an output, read by dma_copy", "writes",
     [](Maker& k) { const auto [d, s] = dma_tiles(k, f32, f32); k.dma(d, s); },
     [](Maker& k) {
       const auto s = k.argument(ir::BufferKind::output, f32, {64, 64});
       k.dma(k.whole(k.sbuf(f32, {64, 64})), k.whole(s));
     }},
};

// clang-format on

TEST(InstructionRules, TakeTheLegalAndNameTheIllegal) {
  for (const Pair& c : pairs) {
    SCOPED_TRACE(std::string(c.id) + " " + c.got);
    Maker legal, illegal;
    c.legal(legal);
    c.illegal(illegal);
    for (const check::Certainty certainty : {check::Certainty::must, check::Certainty::may}) {
      EXPECT_TRUE(rules_of_last(legal.p, &arch::trn2, certainty).empty())
          << all_text(rules_of_last(legal.p, &arch::trn2, certainty));
      const auto found = rules_of_last(illegal.p, &arch::trn2, certainty);
      ASSERT_TRUE(has(found, c.id)) << all_text(found);
      EXPECT_NE(text_of(found, c.id).find(c.got), std::string::npos) << text_of(found, c.id);
      EXPECT_NE(text_of(found, c.id).find(c.allowed), std::string::npos) << text_of(found, c.id);
    }
  }
}

TEST(InstructionRules, EachHasARowWithTheSameSentence) {
  for (const std::string_view text : check::detail::instr_rule_texts) {
    const check::Rule* rule = check::find_rule(text.substr(0, 8));
    ASSERT_NE(rule, nullptr) << text;
    EXPECT_EQ(rule->sentence, text.substr(10));
    EXPECT_FALSE(rule->reason.empty());
  }
}

TEST(InstructionRules, GenerationsDifferByTheirRows) {
  const auto broken_on = [](void (*make)(Maker&), const char* id) {
    Maker k;
    make(k);
    std::string out;
    for (const Arch* core : arch::all)
      if (has(rules_of_last(k.p, core), id)) out += std::string(core->name) + " ";
    return out;
  };
  EXPECT_EQ(broken_on(
                [](Maker& k) {
                  const auto [d, s] = dma_tiles(k, f32, f32);
                  k.dma(d, s, Engine::sync);
                },
                "NKI-E122"),
            "trn1 ");
  EXPECT_EQ(broken_on(
                [](Maker& k) {
                  copy(k, {k.sbuf(f32, {8, 8}), k.sbuf(f32, {8, 8})}, Engine::scalar);
                },
                "NKI-E220"),
            "trn1 ");
  EXPECT_EQ(broken_on([](Maker& k) { product(k, bf16, bf16, bf16); }, "NKI-E203"), "trn1 trn2 ");
  EXPECT_EQ(broken_on([](Maker& k) { product(k, f32, f8e4m3fn, f8e4m3fn); }, "NKI-E210"), "trn1 trn2 ");
  EXPECT_EQ(broken_on([](Maker& k) { product(k, f32, f8e4m3, f8e4m3fn); }, "NKI-E210"), "trn1 trn2 trn3 ");
  EXPECT_EQ(broken_on([](Maker& k) { product(k, f32, f8e4m3, f8e5m2); }, "NKI-E210"), "");
}

TEST(InstructionRules, MemsetTakesWhatRoundsToAValueOfTheDtype) {
  using check::detail::is_value_of;
  constexpr double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(is_value_of(bf16, 0.1) && is_value_of(f32, -3e38) && is_value_of(f32, -3.4028235e38));
  EXPECT_FALSE(is_value_of(f32, 3.5e38) || is_value_of(f16, 65520.0) || is_value_of(f8e4m3, 248.0));
  EXPECT_TRUE(is_value_of(f16, 65519.0) && is_value_of(f8e4m3, 247.0) && is_value_of(f8e4m3fn, 448.0));
  EXPECT_TRUE(is_value_of(f32, -inf) && is_value_of(bf16, inf) && is_value_of(f32, nan));
  EXPECT_FALSE(is_value_of(f8e4m3fn, inf) || is_value_of(i32, nan) || is_value_of(i32, inf) || is_value_of(u8, -inf));
  EXPECT_TRUE(is_value_of(i8, -128) && is_value_of(i32, 2147483647.0) && is_value_of(u32, 4294967295.0));
  EXPECT_FALSE(is_value_of(i8, -129) || is_value_of(i32, 0.5) || is_value_of(u8, -1) || is_value_of(boolean, 2));
  EXPECT_TRUE(is_value_of(boolean, 1) && is_value_of(f8e5m2_x4, 0));
  EXPECT_FALSE(is_value_of(f8e5m2_x4, 1) || is_value_of(f8e8m0fnu, 0) || is_value_of(f8e8m0fnu, -1));
}

TEST(InstructionRules, MemsetRangesAgreeWithRoundingToF16AndBf16) {
  std::uint64_t state = 1;
  for (int i = 0; i < 20000; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const double v = std::ldexp(static_cast<double>(state >> 40) - 8388608.0, static_cast<int>(state % 120) - 20);
    EXPECT_EQ(check::detail::is_value_of(f16, v), std::isfinite(nki::f16_value(nki::f16_bits(static_cast<float>(v)))))
        << v;
  }
}

TEST(InstructionRules, AnEmptyInstructionBreaksNone) {
  for (const std::int64_t count : {0, -5}) {
    Maker k;
    const auto a = k.sbuf(f32, {300, 4}), b = k.input(bf16, {7});
    k.dma(k.part(a, {{-9, 200}, {0, count}}), k.part(b, {{100, 3}}), Engine::vector);
    EXPECT_TRUE(rules_of_last(k.p, &arch::trn1).empty());
    EXPECT_TRUE(rules_of_last(k.p, &arch::trn1, check::Certainty::may).empty());
  }
}

TEST(InstructionRules, MustLeavesToMayWhatSomeIndexKeeps) {
  Maker k;
  const auto a = k.input(f32, {500, 4}), b = k.sbuf(f32, {128, 4});
  const auto i = k.open(4);
  const auto start = k.mul(i, 128), four = k.number(4), zero = k.number(0), rows = k.number(128);
  k.dma(k.whole(b), k.view(a, {{start, rows, 1, 0, false}, {zero, four, 1, 1, false}}));
  k.close();
  EXPECT_TRUE(rules_of_last(k.p, &arch::trn2).empty());
  const std::string text = text_of(rules_of_last(k.p, &arch::trn2, check::Certainty::may), "NKI-E231");
  EXPECT_NE(text.find("src 't0' at 0..511 of axis 0 (allowed: 0..499)"), std::string::npos) << text;
}

TEST(InstructionRules, MustFindsAStartThatNoIndexMakesLegal) {
  const auto broken = [](std::int64_t factor, std::int64_t offset, std::int64_t count) {
    Maker k;
    const auto b = k.sbuf(f32, {128, 4});
    const auto i = k.open(3);
    const auto scaled = k.mul(i, factor), shift = k.number(offset);
    const auto start = k.add(scaled, shift), n = k.number(count), zero = k.number(0), four = k.number(4);
    k.memset(k.view(b, {{start, n, 1, 0, false}, {zero, four, 1, 1, false}}));
    k.close();
    return has(rules_of_last(k.p, &arch::trn2), "NKI-E102");
  };
  EXPECT_FALSE(broken(32, 0, 32));
  EXPECT_TRUE(broken(4, 3, 32));    // 3..11
  EXPECT_FALSE(broken(16, 3, 32));  // 3..35 holds 32, as far as intervals tell
  EXPECT_TRUE(broken(16, 3, 33));   // 3..35 holds neither 0 nor 64
  EXPECT_TRUE(broken(16, 3, 65));
}

TEST(InstructionRules, NothingIsTooLargeForThem) {
  constexpr std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t start : {-huge, std::int64_t{-1}, huge})
    for (const std::int64_t count : {std::int64_t{1}, huge})
      for (const std::int32_t step :
           {std::numeric_limits<std::int32_t>::min(), -1, 0, 1, std::numeric_limits<std::int32_t>::max()}) {
        Maker k;
        const auto a = k.sbuf(f32, {128, 4}), b = k.sbuf(f32, {128, 4});
        k.copy(k.part(a, {{0, 128}, {start, count, step}}), k.whole(b));
        EXPECT_TRUE(has(rules_of_last(k.p, &arch::trn2), "NKI-E231")) << start << " " << count << " " << step;
      }
}

}  // namespace
