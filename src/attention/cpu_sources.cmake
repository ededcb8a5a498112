# Sources of CPU attention, from src/attention.
set(OCTET_ATTENTION_CPU_SOURCES cpu_attention.cpp cpu_select.cpp cpu_softmax.cpp)
