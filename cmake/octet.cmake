# Compiler settings and the two functions that every CMakeLists.txt below uses.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
find_package(Threads REQUIRED)

find_program(OCTET_CCACHE ccache)
if(OCTET_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${OCTET_CCACHE})
endif()

add_compile_options(
  -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion -Wno-missing-field-initializers -Werror
  -fstack-protector-strong -fcf-protection
  # The same operations in the same order on every build: no contraction that the source does not ask for.
  -ffp-contract=off)
add_compile_definitions(_GLIBCXX_ASSERTIONS)
if(NOT CMAKE_BUILD_TYPE STREQUAL "Debug" AND NOT OCTET_SANITIZE)
  add_compile_options(-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3)
endif()
add_link_options(-Wl,-z,relro,-z,now -pie)

# address,undefined or thread; set by the presets `asan` and `tsan`.
set(OCTET_SANITIZE "" CACHE STRING "Sanitizers to build with")
if(OCTET_SANITIZE)
  # GCC's instrumentation makes it see uninitialized reads that are not there.
  add_compile_options(-fsanitize=${OCTET_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer
                      $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  add_link_options(-fsanitize=${OCTET_SANITIZE})
endif()

# octet_library(name [SOURCES file...] [DEPS target...]): the library octet_<name> of one src/ folder. DEPS are what its
# headers need; they follow the table "who may include whom" of docs/architecture.md.
function(octet_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  if(ARG_SOURCES)
    add_library(octet_${name} STATIC ${ARG_SOURCES})
    set(scope PUBLIC)
  else()
    add_library(octet_${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_include_directories(octet_${name} ${scope} ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(octet_${name} ${scope} ${ARG_DEPS} Threads::Threads)
endfunction()

# octet_test(name SOURCES file... DEPS target...): the GoogleTest program <name>_tests. Tests whose name ends in "Slow"
# run under `make test-slow` only.
function(octet_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${name}_tests ${ARG_SOURCES})
  target_include_directories(${name}_tests PRIVATE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/tests)
  target_compile_definitions(${name}_tests PRIVATE OCTET_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  target_link_libraries(${name}_tests PRIVATE ${ARG_DEPS} GTest::gtest GTest::gtest_main)
  set_property(GLOBAL APPEND PROPERTY OCTET_TEST_PROGRAMS ${name}_tests)
endfunction()

# octet_test_script(file [SLOW]): a Python test. It is called with the build folder as its argument and ends with the
# line "N passed, N failed, N skipped"; with SLOW it belongs to the slow suite.
function(octet_test_script file)
  cmake_parse_arguments(ARG "SLOW" "" "" ${ARGN})
  set(suite fast)
  if(ARG_SLOW)
    set(suite slow)
  endif()
  file(RELATIVE_PATH path ${CMAKE_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/${file})
  set_property(GLOBAL APPEND PROPERTY OCTET_TEST_SCRIPTS "${suite} ${path}")
endfunction()
