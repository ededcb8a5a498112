#include "kernels/cpu/isa.h"

#include "base/error.h"

namespace octet::cpu {
namespace {

const CpuKernels* find_kernels(CpuIsa isa) {
  switch (isa) {
    case CpuIsa::portable:
      return portable_kernels();
    case CpuIsa::avx2:
      return avx2_kernels();
    case CpuIsa::avx512:
      return avx512_kernels();
  }
  return nullptr;
}

}  // namespace

bool can_run(CpuIsa isa, const CpuFeatures& features) {
  if (find_kernels(isa) == nullptr) return false;
  if (isa == CpuIsa::avx512) return features.avx512;
  if (isa == CpuIsa::avx2) return features.avx2_fma;
  return true;
}

CpuIsa best_isa(const CpuFeatures& features) {
  if (can_run(CpuIsa::avx512, features)) return CpuIsa::avx512;
  if (can_run(CpuIsa::avx2, features)) return CpuIsa::avx2;
  return CpuIsa::portable;
}

const CpuKernels& kernels_for(CpuIsa isa) {
  const CpuKernels* kernels = find_kernels(isa);
  OCTET_CHECK(kernels != nullptr);
  return *kernels;
}

CpuFeatures limited_to(CpuIsa isa, CpuFeatures features) {
  if (isa == CpuIsa::avx512) return features;
  const bool avx2_fma = isa == CpuIsa::avx2 && features.avx2_fma;
  return {.avx2_fma = avx2_fma};
}

}  // namespace octet::cpu
