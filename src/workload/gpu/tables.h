// Efficiency surfaces measured on one GPU. Numbers only; gpu/rates.h reads and scales them.
#pragma once

#include <array>

namespace weft::workload {

inline constexpr std::array<double, 7> kGemmM{256, 512, 1024, 2048, 4096, 8192, 16384};
inline constexpr std::array<double, 8> kGemmN{512, 1024, 2048, 4096, 5120, 8192, 12288, 16384};
inline constexpr std::array<double, 8> kGemmK{512, 1024, 2048, 4096, 5120, 8192, 12288, 16384};
inline constexpr std::array<double, 2> kAttentionDims{64, 128};
inline constexpr std::array<double, 5> kAttentionHeads{16, 32, 64, 128, 256};
inline constexpr std::array<double, 4> kAttentionLengths{1024, 2048, 4096, 8192};

extern const std::array<double, kGemmM.size() * kGemmN.size() * kGemmK.size()> kGemmTflops;  // by m, n, k
// By head width, batch x heads, length.
extern const std::array<double, kAttentionDims.size() * kAttentionHeads.size() * kAttentionLengths.size()>
    kAttentionForwardTflops;
extern const std::array<double, kAttentionDims.size() * kAttentionHeads.size() * kAttentionLengths.size()>
    kAttentionBackwardTflops;

}  // namespace weft::workload
