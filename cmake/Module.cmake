# A module is a folder of src/: the static library weft_<module>, the test binary <module>_test made of its *_test.cc, and
# a layer. Its folders are sub-modules: they order its files, and are compiled and linked with it. See Modules.cmake for
# the list.

include(LongTests)

file(GLOB watched CONFIGURE_DEPENDS LIST_DIRECTORIES true "${PROJECT_SOURCE_DIR}/src/*")  # notices a new module
set(WEFT_MODULES "")
add_library(weft_all INTERFACE)  # every module; for what is outside them (end-to-end tests, fuzzing, benchmarks)

# Coverage feedback for the fuzzers is needed in the modules that they drive. Only the build for long runs has it: it adds
# half to the time of a build, and the short run of `make test` replays the seeds and mutates them blindly.
function(weft_instrument target)
  if(WEFT_FUZZ AND NOT WEFT_TESTS)
    target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
  endif()
endfunction()

# weft_bundle(TARGET VARIABLE source...): several sources compiled as one, where scripts/bundles.py finds that no name of
# theirs clashes: several times as fast as each by itself when all must be compiled. What is left to compile goes to
# VARIABLE. A bundle names its members relative to src/ or tests/, so that clones in different folders share the compiler
# cache. The everyday build goes without, so that a change compiles one file, and a missing #include is seen.
# ENTRY name: a function that every source has, and that becomes <name>_<source>.
function(weft_bundle target variable)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "ENTRY" "")
  set(sources ${arg_UNPARSED_ARGUMENTS})
  set(${variable} ${sources} PARENT_SCOPE)
  set(entry "")
  if(arg_ENTRY)
    set(entry --entry "${arg_ENTRY}")
  endif()
  find_program(WEFT_PYTHON python3)
  if(NOT WEFT_BUNDLE OR NOT WEFT_PYTHON)
    return()
  endif()
  execute_process(COMMAND "${WEFT_PYTHON}" "${PROJECT_SOURCE_DIR}/scripts/bundles.py"
      --write "${PROJECT_BINARY_DIR}/bundles/${target}" --max ${WEFT_BUNDLE_MAX} ${entry} ${sources}
    OUTPUT_VARIABLE bundled COMMAND_ERROR_IS_FATAL ANY)
  set(${variable} ${bundled} PARENT_SCOPE)
  # A name that one of the files begins or ends to use must bring a new look.
  set_property(DIRECTORY "${PROJECT_SOURCE_DIR}" APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
    "${PROJECT_SOURCE_DIR}/scripts/bundles.py" ${sources})
endfunction()

# For tests/layers.py, which checks it; the build compiles a module as one.
function(weft_submodule module name)
  if(NOT IS_DIRECTORY "${PROJECT_SOURCE_DIR}/src/${module}/${name}")
    message(FATAL_ERROR "weft_submodule(${module} ${name}): there is no src/${module}/${name}")
  endif()
endfunction()

function(weft_module module)
  set(allowed ${ARGN})
  if("ALL" IN_LIST allowed)
    set(allowed ${WEFT_MODULES})
  endif()

  file(GLOB sources CONFIGURE_DEPENDS
    "${PROJECT_SOURCE_DIR}/src/${module}/*.cc" "${PROJECT_SOURCE_DIR}/src/${module}/*/*.cc")
  list(FILTER sources EXCLUDE REGEX "(_test|_bench|/cli/main)\\.cc$")
  if(NOT WEFT_IPMI)
    list(FILTER sources EXCLUDE REGEX "/oob/ipmi/")
  endif()
  if(NOT sources)
    set(sources "${PROJECT_SOURCE_DIR}/cmake/empty.cc")  # only headers so far; an archive needs an object
  endif()
  weft_bundle(weft_${module} compiled ${sources})
  add_library(weft_${module} STATIC ${compiled})
  target_include_directories(weft_${module} PUBLIC "${PROJECT_SOURCE_DIR}/src")
  weft_instrument(weft_${module})
  if(module IN_LIST WEFT_LIGHT_MODULES)
    target_compile_options(weft_${module} PRIVATE "$<$<CONFIG:Release>:${WEFT_LIGHT_OPTIONS}>")
  endif()
  foreach(other IN LISTS allowed)
    if(TARGET weft_${other})
      target_link_libraries(weft_${module} PUBLIC weft_${other})
    endif()
  endforeach()
  target_link_libraries(weft_all INTERFACE weft_${module})
  set(WEFT_MODULES ${WEFT_MODULES} ${module} PARENT_SCOPE)
endfunction()

# weft_module_sources(module [SOURCES file...] [LINK target...] [DEFINE macro...]): what a module needs beyond its folder.
function(weft_module_sources module)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINK;DEFINE")
  if(TARGET weft_${module})
    target_sources(weft_${module} PRIVATE ${arg_SOURCES})
    target_link_libraries(weft_${module} PUBLIC ${arg_LINK})
    target_compile_definitions(weft_${module} PUBLIC ${arg_DEFINE})
  endif()
endfunction()

# weft_test_binary(name SOURCES file... LINK target...): an executable of GoogleTest cases.
function(weft_test_binary name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINK")
  weft_bundle(${name} compiled ${arg_SOURCES})
  add_executable(${name} ${compiled})
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/tests")
  target_link_libraries(${name} PRIVATE ${arg_LINK} weft_test_places GTest::gmock GTest::gtest_main
    ${WEFT_TEST_LIBRARIES})
  target_compile_options(${name} PRIVATE "$<$<CONFIG:Release>:${WEFT_LIGHT_OPTIONS}>")  # what is measured is in the libraries
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    target_compile_options(${name} PRIVATE -Wno-gnu-zero-variadic-macro-arguments)  # TYPED_TEST_SUITE and its like
  endif()
endfunction()

# weft_tests_by_name(binary PREFIX prefix [FILTER patterns] [PROPERTIES name value...]): ctest knows each test by its name
# and runs it in a process of its own.
function(weft_tests_by_name binary)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "PREFIX;FILTER" "PROPERTIES")
  set(filter "")
  if(arg_FILTER)
    set(filter TEST_FILTER "${arg_FILTER}")
  endif()
  gtest_discover_tests(${binary} TEST_PREFIX "${arg_PREFIX}." ${filter} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 300
    PROPERTIES TIMEOUT 900 ${arg_PROPERTIES})
endfunction()

# weft_tests_in_shards(binary [COST seconds]): a few processes share the tests of a binary. Under AddressSanitizer a
# process ends with a search for leaks, which takes seconds on some machines (3 s on AArch64 with clang 14), and
# thousands of processes of a few milliseconds' work each cost more than the work.
function(weft_tests_in_shards binary)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "COST" "")
  set(shards 2)
  math(EXPR last "${shards} - 1")
  foreach(shard RANGE ${last})
    set(test "${binary}.${shard}")
    add_test(NAME ${test} COMMAND ${binary})
    set_tests_properties(${test} PROPERTIES TIMEOUT 1800 ENVIRONMENT
      "GTEST_TOTAL_SHARDS=${shards};GTEST_SHARD_INDEX=${shard};GTEST_FILTER=-${WEFT_LONG_TESTS}")
    if(arg_COST)
      set_tests_properties(${test} PROPERTIES COST ${arg_COST})
    endif()
  endforeach()
endfunction()

# The unit tests of every module, by WEFT_TEST_SET.
function(weft_add_unit_tests)
  set(with_long "")
  set(with_threads "")
  set(thread_modules "")
  foreach(module IN LISTS WEFT_MODULES)
    file(GLOB tests CONFIGURE_DEPENDS
      "${PROJECT_SOURCE_DIR}/src/${module}/*_test.cc" "${PROJECT_SOURCE_DIR}/src/${module}/*/*_test.cc")
    if(NOT WEFT_IPMI)
      list(FILTER tests EXCLUDE REGEX "/oob/ipmi/")
    endif()
    if(NOT tests)
      continue()
    endif()
    set(plain FALSE)
    if(module IN_LIST WEFT_PLAIN_MODULES)
      set(plain TRUE)
    endif()
    if(WEFT_TEST_SET STREQUAL "sanitized" AND plain)
      continue()
    endif()
    if(WEFT_TEST_SET MATCHES "^(all|unit|sanitized)$" OR (WEFT_TEST_SET STREQUAL "product" AND plain))
      weft_test_binary(${module}_test SOURCES ${tests} LINK weft_${module})
      if(WEFT_TEST_SET MATCHES "^(unit|sanitized)$")
        weft_tests_in_shards(${module}_test)
      else()
        weft_tests_by_name(${module}_test PREFIX ${module})
      endif()
      continue()
    endif()
    set_property(DIRECTORY "${PROJECT_SOURCE_DIR}" APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${tests})
    foreach(source IN LISTS tests)
      file(STRINGS "${source}" found REGEX "^(TEST|TEST_F|TEST_P|TYPED_TEST)\\((${WEFT_LONG_SUITES})," LIMIT_COUNT 1)
      file(STRINGS "${source}" any REGEX "^(TYPED_)?TEST(_F|_P)?\\(" LIMIT_COUNT 1)
      if(found OR NOT any)  # a file without tests holds what others of its module share
        list(APPEND with_long "${source}")
      endif()
      file(STRINGS "${source}" found REGEX "^TEST.*Concurrent" LIMIT_COUNT 1)
      if(found)
        list(APPEND with_threads "${source}")
        if(plain)  # its library would bring nearly all others: only what the test is named for
          string(REPLACE "_test.cc" ".cc" tested "${source}")
          list(APPEND with_threads "${tested}")
        else()
          list(APPEND thread_modules weft_${module})
        endif()
      endif()
    endforeach()
  endforeach()
  if(WEFT_TEST_SET STREQUAL "product" AND with_long)
    weft_test_binary(long_test SOURCES ${with_long} LINK weft_all)
    weft_tests_by_name(long_test PREFIX long FILTER "${WEFT_LONG_TESTS}")
  elseif(WEFT_TEST_SET STREQUAL "threads" AND with_threads)
    list(REMOVE_DUPLICATES thread_modules)
    weft_test_binary(thread_test SOURCES ${with_threads} LINK ${thread_modules})
    weft_tests_by_name(thread_test PREFIX threads FILTER "*Concurrent*")
  endif()
endfunction()

# See src/base/test_places.h.
set(WEFT_EXECUTABLE "${PROJECT_BINARY_DIR}/weft")
configure_file("${PROJECT_SOURCE_DIR}/cmake/test_places.cc.in" "${PROJECT_BINARY_DIR}/test_places.cc" @ONLY)
add_library(weft_test_places STATIC EXCLUDE_FROM_ALL "${PROJECT_BINARY_DIR}/test_places.cc")
target_include_directories(weft_test_places PRIVATE "${PROJECT_SOURCE_DIR}/src")

# The executable, then the unit tests of every module.
function(weft_finish_modules)
  file(GLOB main CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/cli/main.cc")
  if(main)
    add_executable(weft "${main}")
    target_link_libraries(weft PRIVATE weft_all)
  endif()
  if(WEFT_TESTS)
    weft_add_unit_tests()
    if(WEFT_TEST_SET STREQUAL "sanitized" AND main)  # nothing there runs the executable, or tests the plain modules
      set(unused ${WEFT_PLAIN_MODULES})
      list(TRANSFORM unused PREPEND "weft_")
      set_target_properties(weft ${unused} PROPERTIES EXCLUDE_FROM_ALL TRUE)
    endif()
  endif()
endfunction()
