# A room is a folder of src/: the static library weft_<room>, the test binary <room>_test made of its *_test.cc, and a
# layer. See Rooms.cmake for the list.

include(PlainOnly)

file(GLOB watched CONFIGURE_DEPENDS LIST_DIRECTORIES true "${PROJECT_SOURCE_DIR}/src/*")  # notices a new room
set(WEFT_ROOMS "")
add_library(weft_all INTERFACE)  # every room; for what stands outside them (end-to-end tests, fuzzing, benchmarks)

# Coverage feedback for the fuzzers is needed in the rooms that they drive, not in the tests of those rooms. The build
# that also holds the tests counts edges alone: tracing comparisons as well doubles its time, and is for long runs.
function(weft_instrument target)
  if(WEFT_FUZZ AND WEFT_TESTS)
    target_compile_options(${target} PRIVATE -fsanitize-coverage=inline-8bit-counters,pc-table)
  elseif(WEFT_FUZZ)
    target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
  endif()
endfunction()

# Most of the time a file takes to compile goes into the standard library, {fmt} and GoogleTest. Headers of ours stay out
# of it, so that a change of one does not rebuild everything. Only clang's builds use it: GCC 12 then warns about the
# standard library's own code, and a build without it still finds a missing #include.
if(WEFT_PCH)
  set(WEFT_PCH_HEADERS <algorithm> <array> <cstdint> <filesystem> <functional> <map> <memory> <optional> <set> <span>
    <string> <string_view> <unordered_map> <utility> <variant> <vector> <fmt/format.h>)
  add_library(weft_pch OBJECT "${PROJECT_SOURCE_DIR}/cmake/empty.cc")
  target_link_libraries(weft_pch PRIVATE fmt::fmt)
  target_precompile_headers(weft_pch PRIVATE ${WEFT_PCH_HEADERS})
  weft_instrument(weft_pch)
  if(WEFT_TESTS)
    add_library(weft_test_pch OBJECT "${PROJECT_SOURCE_DIR}/cmake/empty.cc")
    target_link_libraries(weft_test_pch PRIVATE fmt::fmt GTest::gmock GTest::gtest_main)
    target_precompile_headers(weft_test_pch PRIVATE ${WEFT_PCH_HEADERS} <gmock/gmock.h> <gtest/gtest.h>)
  endif()
endif()

# Several sources compiled as one, where scripts/bundles.py finds that no name of theirs clashes: at least twice as
# fast as each by itself when all must be compiled. The everyday build goes without, so that a change compiles one
# file, and a missing #include is seen.
function(weft_bundle target)
  find_program(WEFT_PYTHON python3)
  if(NOT WEFT_BUNDLE OR NOT WEFT_PYTHON)
    return()
  endif()
  execute_process(COMMAND "${WEFT_PYTHON}" "${PROJECT_SOURCE_DIR}/scripts/bundles.py" ${ARGN}
    OUTPUT_VARIABLE bundles COMMAND_ERROR_IS_FATAL ANY)
  foreach(source bundle IN ZIP_LISTS ARGN bundles)
    set_source_files_properties("${source}" PROPERTIES UNITY_GROUP "${bundle}")
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  # A name that one of the files begins or ends to use must bring a new look.
  set_property(DIRECTORY "${PROJECT_SOURCE_DIR}" APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
    "${PROJECT_SOURCE_DIR}/scripts/bundles.py" ${ARGN})
endfunction()

function(weft_room room)
  if(NOT EXISTS "${PROJECT_SOURCE_DIR}/src/${room}")
    return()
  endif()
  set(allowed ${ARGN})
  if("ALL" IN_LIST allowed)
    set(allowed ${WEFT_ROOMS})
  endif()

  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/${room}/*.cc")
  list(FILTER sources EXCLUDE REGEX "(_test|_bench|/cli/main)\\.cc$")
  if(NOT WEFT_IPMI)
    list(FILTER sources EXCLUDE REGEX "/oob/ipmi_")
  endif()
  if(NOT sources)
    set(sources "${PROJECT_SOURCE_DIR}/cmake/empty.cc")  # only headers so far; an archive needs an object
  endif()
  add_library(weft_${room} STATIC ${sources})
  target_include_directories(weft_${room} PUBLIC "${PROJECT_SOURCE_DIR}/src")
  if(WEFT_PCH)
    target_precompile_headers(weft_${room} REUSE_FROM weft_pch)
  endif()
  weft_bundle(weft_${room} ${sources})
  weft_instrument(weft_${room})
  foreach(other IN LISTS allowed)
    if(TARGET weft_${other})
      target_link_libraries(weft_${room} PUBLIC weft_${other})
    endif()
  endforeach()
  target_link_libraries(weft_all INTERFACE weft_${room})
  set(WEFT_ROOMS ${WEFT_ROOMS} ${room} PARENT_SCOPE)
endfunction()

# weft_room_sources(room [SOURCES file...] [LINK target...] [DEFINE macro...]): what a room needs beyond its folder.
function(weft_room_sources room)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINK;DEFINE")
  if(TARGET weft_${room})
    target_sources(weft_${room} PRIVATE ${arg_SOURCES})
    target_link_libraries(weft_${room} PUBLIC ${arg_LINK})
    target_compile_definitions(weft_${room} PUBLIC ${arg_DEFINE})
  endif()
endfunction()

# weft_gtest(name [SPAWNS] PREFIX prefix SOURCES file... LINK target...): a test binary. ctest knows each of its tests
# by name, except under AddressSanitizer: there a process ends with a search for leaks, which takes seconds on some
# machines (3 s on aarch64 with clang 14), so the binary runs as two shards, and tests that spawn the executable, once
# per test or more, do without the search on such a machine.
function(weft_gtest name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "SPAWNS" "PREFIX" "SOURCES;LINK")
  add_executable(${name} ${arg_SOURCES})
  weft_bundle(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LINK} GTest::gmock GTest::gtest_main)
  if(WEFT_PCH)
    target_precompile_headers(${name} REUSE_FROM weft_test_pch)
  endif()
  target_compile_definitions(${name} PRIVATE "WEFT_SOURCE_DIR=\"${PROJECT_SOURCE_DIR}\"")
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    target_compile_options(${name} PRIVATE -Wno-gnu-zero-variadic-macro-arguments)  # TYPED_TEST_SUITE and its like
  endif()
  if(arg_SPAWNS)
    target_compile_definitions(${name} PRIVATE "WEFT_BINARY=\"$<TARGET_FILE:weft>\"")
    add_dependencies(${name} weft)
  endif()
  if(WEFT_SANITIZE MATCHES "address")
    foreach(shard RANGE 1)
      set(test "${name}.${shard}")
      add_test(NAME ${test} COMMAND ${name})
      set_tests_properties(${test} PROPERTIES TIMEOUT 900
        ENVIRONMENT "GTEST_TOTAL_SHARDS=2;GTEST_SHARD_INDEX=${shard};GTEST_FILTER=-${WEFT_PLAIN_ONLY}")
      if(arg_SPAWNS AND CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
        set_tests_properties(${test} PROPERTIES
          ENVIRONMENT_MODIFICATION "ASAN_OPTIONS=string_append::detect_leaks=0")
      endif()
    endforeach()
  else()
    gtest_discover_tests(${name} TEST_PREFIX "${arg_PREFIX}." DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
      PROPERTIES TIMEOUT 300)
  endif()
  weft_note_thread_tests(${name} ${arg_SOURCES})
endfunction()

# Under ThreadSanitizer only the binaries that hold tests with "Concurrent" in their names are worth building.
add_custom_target(weft_thread_tests)
function(weft_note_thread_tests name)
  if(NOT WEFT_SANITIZE STREQUAL "thread")
    return()
  endif()
  set_property(DIRECTORY "${PROJECT_SOURCE_DIR}" APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${ARGN})
  foreach(source IN LISTS ARGN)
    file(STRINGS "${source}" found REGEX "^TEST.*Concurrent" LIMIT_COUNT 1)
    if(found)
      add_dependencies(weft_thread_tests ${name})
      return()
    endif()
  endforeach()
endfunction()

# The executable, then the unit tests of every room.
function(weft_finish_rooms)
  file(GLOB main CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/cli/main.cc")
  if(main)
    add_executable(weft "${main}")
    target_link_libraries(weft PRIVATE weft_all)
    install(TARGETS weft)
  endif()
  if(NOT WEFT_TESTS)
    return()
  endif()
  foreach(room IN LISTS WEFT_ROOMS)
    file(GLOB tests CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/${room}/*_test.cc")
    if(NOT WEFT_IPMI)
      list(FILTER tests EXCLUDE REGEX "/oob/ipmi_")
    endif()
    if(tests)
      weft_gtest(${room}_test PREFIX ${room} SOURCES ${tests} LINK weft_${room})
    endif()
  endforeach()
endfunction()
