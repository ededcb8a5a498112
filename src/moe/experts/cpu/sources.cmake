# Sources of the CPU expert backends, from src/moe.
set(OCTET_MOE_CPU_SOURCES experts/cpu/rows.cpp)
