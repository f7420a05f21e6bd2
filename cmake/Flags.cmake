# Compiler and linker flags of everything in the tree. The options are directory-wide rather than per target so that
# no target can be built without them.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(NOT CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(WEFT_CCACHE ccache)
  if(WEFT_CCACHE)
    # Clones in different folders share what does not depend on where they lie.
    set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}" CCACHE_NOHASHDIR=1
      "${WEFT_CCACHE}")
  endif()
endif()

# -Wnull-dereference is left out: with optimization GCC 12 reports it inside libstdc++.
add_compile_options(
  -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wold-style-cast -Wnon-virtual-dtor)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options(-Wduplicated-cond -Wlogical-op)
  # A larger heap before the compiler collects garbage: 8 % less time for a bundle, for 0.5 GB more of memory.
  add_compile_options("SHELL:--param ggc-min-expand=1000" "SHELL:--param ggc-min-heapsize=1000000")
  if(CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    add_compile_options(-Wno-restrict)  # GCC PR 105651: false reports from std::string's operator+
  endif()
endif()

# How the release build compiles code that need not be fast: -O1, and in GCC without the passes that took a sixth of its
# time there and made no command faster (docs/adr/0037-processor-time-of-builds.md). Dominator optimizations stay: without
# them GCC 12 has false warnings.
set(WEFT_LIGHT_OPTIONS -O1)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  list(APPEND WEFT_LIGHT_OPTIONS
    -fno-branch-count-reg -fno-combine-stack-adjustments -fno-cprop-registers -fno-dse -fno-forward-propagate
    -fno-if-conversion -fno-if-conversion2 -fno-ipa-modref -fno-ipa-profile -fno-ipa-pure-const -fno-ipa-reference
    -fno-ivopts -fno-move-loop-invariants -fno-split-wide-types -fno-ssa-backprop -fno-ssa-phiopt -fno-tree-bit-ccp
    -fno-tree-dse -fno-tree-loop-optimize -fno-tree-pta -fno-tree-sink -fno-tree-slsr -fno-tree-ter)
endif()

if(WEFT_BUNDLE)
  add_compile_options(-Wno-shadow)  # a local name may be that of another file in the bundle; clang-tidy has the warning
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # With more to inline GCC 12 has false reports about the standard library.
    add_compile_options(-Wno-maybe-uninitialized -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread)
  endif()
endif()
if(WEFT_WERROR)
  add_compile_options(-Werror)
endif()

# The same arithmetic on every machine: no fused multiply-add unless the source asks for it.
add_compile_options(-ffp-contract=off)
add_compile_definitions($<$<NOT:$<CONFIG:Release>>:_GLIBCXX_ASSERTIONS>)

if(WEFT_FUZZ AND NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  message(FATAL_ERROR "WEFT_FUZZ needs clang")
endif()
if(WEFT_SANITIZE)
  add_compile_options(-fsanitize=${WEFT_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  if(WEFT_SANITIZE_WITHOUT)
    add_compile_options(-fno-sanitize=${WEFT_SANITIZE_WITHOUT})
  endif()
  add_link_options(-fsanitize=${WEFT_SANITIZE})
  find_program(WEFT_LLD NAMES ld.lld ld.lld-14)
  if(WEFT_LLD AND CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    add_link_options(-fuse-ld=lld)  # such objects are large, and there are many programs to link
  endif()
endif()

if(CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT WEFT_SANITIZE)
  include(CheckCXXCompilerFlag)
  include(CheckPIESupported)
  check_pie_supported()
  set(CMAKE_POSITION_INDEPENDENT_CODE ON)
  add_compile_options(-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2 -fstack-protector-strong)
  foreach(flag IN ITEMS -fstack-clash-protection -fcf-protection=full -mbranch-protection=standard)
    string(MAKE_C_IDENTIFIER "WEFT_HAS${flag}" variable)
    check_cxx_compiler_flag(${flag} ${variable})
    if(${variable})
      add_compile_options(${flag})
    endif()
  endforeach()
  add_link_options(-Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack)
endif()
