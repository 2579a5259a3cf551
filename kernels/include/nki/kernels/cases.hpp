#pragma once

#include <array>
#include <string_view>

/// Problem sizes that models really have.
namespace nki::inline v0_1::kernels {

/// A named problem: sizes, attributes and dtype as they are written on a command line.
struct Case {
  std::string_view id;      ///< "S01"
  std::string_view kernel;  ///< "matmul"
  std::string_view sizes;   ///< "m=2048,n=6144,k=4096"
  std::string_view attrs;   ///< "layout=lhs", or empty
  std::string_view dtype;   ///< of every operand
  std::string_view model;   ///< where the problem comes from
  std::string_view note;    ///< what is special about it
};

inline constexpr std::string_view cases_source = "public model configurations";

// clang-format off
inline constexpr auto cases = std::to_array<Case>({
    {"S01", "matmul", "m=2048,n=6144,k=4096",  "layout=lhs",  "bf16", "Llama-3-8B (TP=1) qkv, 2k prefill",          "fused QKV: 32 q + 8 k + 8 v heads of 128"},
    {"S02", "matmul", "m=2048,n=4096,k=14336", "layout=lhs",  "bf16", "Llama-3-8B down proj, 2k prefill",           "K=112 tiles of 128; PSUM accumulation depth"},
    {"S03", "matmul", "m=1024,n=1280,k=8192",  "layout=lhs",  "bf16", "Llama-3-70B (TP=8) qkv, 1k prefill",         "N not a multiple of 512"},
    {"S04", "matmul", "m=640,n=2560,k=8192",   "layout=lhs",  "bf16", "Llama-3-70B (TP=8) qkv, 640-token CP slice", "M=5x128"},
    {"S05", "matmul", "m=1280,n=1280,k=5120",  "layout=lhs",  "bf16", "Qwen3-32B (TP=8) qkv",                       "K=40 tiles"},
    {"S06", "matmul", "m=4,n=128256,k=4096",   "layout=lhs",  "bf16", "Llama-3-8B lm_head, decode batch 4",         "M=4; DMA bound"},
    {"S07", "matmul", "m=1,n=4096,k=14336",    "layout=lhs",  "bf16", "Llama-3-8B down proj, decode batch 1",       "M=1"},
    {"S08", "matmul", "m=4096,n=12288,k=5120", "layout=lhs",  "f32",  "NKIBench matmul",                            "tuning non-monotonic in M-block"},
    {"S09", "matmul", "m=4096,n=10944,k=2048", "layout=lhsT", "f32",  "NKIBench transpose_matmul",                  "N=10944=21x512+192 tail"},
    {"S10", "matmul", "m=1500,n=5120,k=1280",  "layout=lhs",  "bf16", "Whisper-large-v3 encoder fc1",               "M=1500=11x128+92 tail"},
    {"S11", "matmul", "m=1576,n=4096,k=1024",  "layout=lhs",  "bf16", "ViT-L/16 fc1 batch 8",                       "M tail 1576=12x128+40"},
    {"S12", "matmul", "m=729,n=4304,k=1152",   "layout=lhs",  "bf16", "SigLIP-so400m fc1 batch 1",                  "M,N both ragged (4304=8x512+208)"},
    {"S13", "matmul", "m=4608,n=21504,k=3072", "layout=lhs",  "bf16", "Flux.1-dev single block linear1",            "very wide N"},
    {"S14", "matmul", "m=1024,n=10240,k=1280", "layout=lhs",  "bf16", "SDXL UNet GEGLU proj",                       "32x32 latent tokens, 2x5120 gate/value"},
});
// clang-format on

/// The case of that id, or nullptr.
constexpr const Case* find_case(std::string_view id) {
  for (const Case& c : cases)
    if (c.id == id) return &c;
  return nullptr;
}

}  // namespace nki::inline v0_1::kernels
