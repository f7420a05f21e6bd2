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

# weft_bundle(TARGET VARIABLE source...): several sources compiled as one, where scripts/bundles.py finds that no name of
# theirs clashes: at least twice as fast as each by itself when all must be compiled. What is left to compile goes to
# VARIABLE. A bundle names its members relative to src/, so that clones in different folders share the compiler cache.
# The everyday build goes without, so that a change compiles one file, and a missing #include is seen.
function(weft_bundle target variable)
  set(${variable} ${ARGN} PARENT_SCOPE)
  find_program(WEFT_PYTHON python3)
  if(NOT WEFT_BUNDLE OR NOT WEFT_PYTHON)
    return()
  endif()
  execute_process(COMMAND "${WEFT_PYTHON}" "${PROJECT_SOURCE_DIR}/scripts/bundles.py"
      --write "${PROJECT_BINARY_DIR}/bundles/${target}" ${ARGN}
    OUTPUT_VARIABLE bundled COMMAND_ERROR_IS_FATAL ANY)
  set(${variable} ${bundled} PARENT_SCOPE)
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
  weft_bundle(weft_${room} compiled ${sources})
  add_library(weft_${room} STATIC ${compiled})
  target_include_directories(weft_${room} PUBLIC "${PROJECT_SOURCE_DIR}/src")
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
# by name where they spawn the executable, and in the everyday build. Elsewhere WEFT_SHARDS processes share the tests of
# a binary: thousands of processes of a few milliseconds' work each cost more than the work. Under AddressSanitizer all
# binaries run so: there a process ends with a search for leaks, which takes seconds on some machines (3 s on aarch64
# with clang 14); tests that spawn the executable do without the search on such a machine.
function(weft_gtest name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "SPAWNS" "PREFIX" "SOURCES;LINK")
  weft_bundle(${name} compiled ${arg_SOURCES})
  add_executable(${name} ${compiled})
  target_link_libraries(${name} PRIVATE ${arg_LINK} weft_test_places GTest::gmock GTest::gtest_main)
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    target_compile_options(${name} PRIVATE -Wno-gnu-zero-variadic-macro-arguments)  # TYPED_TEST_SUITE and its like
  endif()
  if(arg_SPAWNS)
    add_dependencies(${name} weft)
  endif()
  if(WEFT_SANITIZE MATCHES "address" OR (WEFT_SHARDS AND NOT arg_SPAWNS AND NOT WEFT_SANITIZE))
    set(shards ${WEFT_SHARDS})
    if(shards EQUAL 0)
      set(shards 2)
    endif()
    math(EXPR last "${shards} - 1")
    foreach(shard RANGE ${last})
      set(test "${name}.${shard}")
      add_test(NAME ${test} COMMAND ${name})
      set(environment "GTEST_TOTAL_SHARDS=${shards};GTEST_SHARD_INDEX=${shard}")
      if(WEFT_SANITIZE)
        list(APPEND environment "GTEST_FILTER=-${WEFT_PLAIN_ONLY}")
      endif()
      set_tests_properties(${test} PROPERTIES TIMEOUT 1800 ENVIRONMENT "${environment}")
      if(WEFT_SANITIZE AND arg_SPAWNS AND CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
        set_tests_properties(${test} PROPERTIES
          ENVIRONMENT_MODIFICATION "ASAN_OPTIONS=string_append::detect_leaks=0")
      endif()
    endforeach()
  else()
    gtest_discover_tests(${name} TEST_PREFIX "${arg_PREFIX}." DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 300
      PROPERTIES TIMEOUT 900)
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

# See src/base/test_places.h.
set(WEFT_EXECUTABLE "${PROJECT_BINARY_DIR}/weft")
configure_file("${PROJECT_SOURCE_DIR}/cmake/test_places.cc.in" "${PROJECT_BINARY_DIR}/test_places.cc" @ONLY)
add_library(weft_test_places STATIC EXCLUDE_FROM_ALL "${PROJECT_BINARY_DIR}/test_places.cc")
target_include_directories(weft_test_places PRIVATE "${PROJECT_SOURCE_DIR}/src")

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
