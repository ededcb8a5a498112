// Stands in for the panels of AVX2 and AVX-512 on other architectures.
#include "kernels/cpu/fp4_panels.h"

namespace octet::cpu {

const PanelKernels* avx2_panel_kernels() { return nullptr; }
const PanelKernels* avx512_panel_kernels() { return nullptr; }
const PanelKernels* avx512_vnni_panel_kernels() { return nullptr; }
const PanelKernels* avx512_vbmi_panel_kernels() { return nullptr; }

}  // namespace octet::cpu
