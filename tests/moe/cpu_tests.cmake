# Tests of src/moe/experts/cpu.
octet_test(moe_cpu SOURCES ${CMAKE_CURRENT_LIST_DIR}/cpu_rows_test.cpp DEPS octet_moe)
