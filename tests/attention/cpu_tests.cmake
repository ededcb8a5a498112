# Tests of CPU attention.
octet_test(attention_cpu SOURCES ${CMAKE_CURRENT_LIST_DIR}/cpu_attention_test.cpp DEPS octet_attention)
