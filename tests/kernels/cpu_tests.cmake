# Tests of src/kernels/cpu.
octet_test(kernels_cpu
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/cpu_kernels_test.cpp ${CMAKE_CURRENT_LIST_DIR}/cpu_ops_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/fp4_panels_test.cpp
  DEPS octet_kernels)
