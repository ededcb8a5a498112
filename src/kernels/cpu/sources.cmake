# Sources of the CPU kernels, from src/kernels. The vector files have flags of their own: nothing else may be compiled
# with them, and they may not emit code that the linker could use elsewhere (scripts/check_isa_leaks).
set(OCTET_KERNELS_CPU_SOURCES cpu/cpu_ops.cpp cpu/fp4_pack.cpp cpu/isa.cpp cpu/kernels_portable.cpp
  cpu/read_probe.cpp cpu/weight_rows.cpp)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  list(APPEND OCTET_KERNELS_CPU_SOURCES
    cpu/kernels_avx2.cpp cpu/kernels_avx512.cpp
    cpu/fp4_panels_avx2.cpp cpu/fp4_panels_avx512.cpp cpu/fp4_panels_avx512_vnni.cpp
    cpu/fp4_panels_avx512_vbmi.cpp)
else()
  list(APPEND OCTET_KERNELS_CPU_SOURCES cpu/kernels_no_x86.cpp cpu/fp4_panels_no_x86.cpp)
endif()

# Tiles become registers only if their loops are unrolled, which -O2 does not do.
set(OCTET_UNROLL "$<$<CONFIG:Release>:-O3>")
# GCC 12's own AVX-512 header reads "undefined" registers on purpose and then warns about them (GCC bug 105593).
set(OCTET_GCC_12_AVX512 "$<$<CXX_COMPILER_ID:GNU>:-Wno-uninitialized;-Wno-maybe-uninitialized>")
set(OCTET_AVX2 "${OCTET_UNROLL};-mavx2;-mfma;-mf16c")
set(OCTET_AVX512 "${OCTET_AVX2};-mavx512f;-mavx512bw;-mavx512vl;-mavx512dq;${OCTET_GCC_12_AVX512}")
set_source_files_properties(cpu/kernels_portable.cpp PROPERTIES COMPILE_OPTIONS "${OCTET_UNROLL}")
set_source_files_properties(cpu/kernels_avx2.cpp cpu/fp4_panels_avx2.cpp PROPERTIES COMPILE_OPTIONS "${OCTET_AVX2}")
set_source_files_properties(cpu/kernels_avx512.cpp cpu/fp4_panels_avx512.cpp PROPERTIES
  COMPILE_OPTIONS "${OCTET_AVX512}")
set_source_files_properties(cpu/fp4_panels_avx512_vnni.cpp PROPERTIES COMPILE_OPTIONS "${OCTET_AVX512};-mavx512vnni")
set_source_files_properties(cpu/fp4_panels_avx512_vbmi.cpp PROPERTIES
  COMPILE_OPTIONS "${OCTET_AVX512};-mavx512vnni;-mavx512vbmi")
