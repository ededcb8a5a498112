# Sources of the CPU expert backends, from src/moe.
set(OCTET_MOE_CPU_SOURCES
  experts/cpu/fp4_packed.cpp experts/cpu/groups.cpp experts/cpu/rows.cpp)
