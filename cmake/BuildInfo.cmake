# What `weft version` prints beside the version: the commit, and what compiled it. One source is generated from it, so
# that another commit compiles one file. The commit comes from git, when it configures a release build, or from
# cmake/commit.txt, where `git archive` writes it into a source archive. Other builds are of trees that are being edited;
# they do not know it, and are the same for every commit.
set(WEFT_COMMIT unknown)
set(WEFT_COMMIT_DATE unknown)
set(WEFT_COMMIT_TIME "")  # seconds since 1970, for SOURCE_DATE_EPOCH
set(WEFT_COMMIT_MODIFIED false)

function(weft_git variable)
  # `sudo make install` configures a folder of another user.
  execute_process(COMMAND "${WEFT_GIT}" -c safe.directory=* -C "${PROJECT_SOURCE_DIR}" ${ARGN}
    OUTPUT_VARIABLE printed ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed)
  if(failed)
    set(printed "")
  endif()
  set(${variable} "${printed}" PARENT_SCOPE)
endfunction()

file(STRINGS "${PROJECT_SOURCE_DIR}/cmake/commit.txt" weft_commit_line LIMIT_COUNT 1)
find_program(WEFT_GIT git)
if(weft_commit_line MATCHES "Format:" AND WEFT_GIT AND CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT WEFT_SANITIZE)
  weft_git(weft_top rev-parse --show-cdup)  # empty at the top: the sources may lie in another repository's folder
  weft_git(weft_inside rev-parse --is-inside-work-tree)
  if(weft_inside STREQUAL "true" AND weft_top STREQUAL "")
    weft_git(weft_commit_line log -1 "--format=%H %ct %cs")
    weft_git(weft_changes status --porcelain --untracked-files=no)
    if(NOT weft_changes STREQUAL "")
      set(WEFT_COMMIT_MODIFIED true)
    endif()
  endif()
endif()
if(weft_commit_line MATCHES "^([0-9a-f]+) ([0-9]+) ([0-9-]+)$")
  set(WEFT_COMMIT "${CMAKE_MATCH_1}")
  set(WEFT_COMMIT_TIME "${CMAKE_MATCH_2}")
  set(WEFT_COMMIT_DATE "${CMAKE_MATCH_3}")
endif()

set(WEFT_TARGET "${CMAKE_CXX_LIBRARY_ARCHITECTURE}")
if(NOT WEFT_TARGET)
  set(WEFT_TARGET "${CMAKE_SYSTEM_PROCESSOR}-linux")
endif()
set(WEFT_BUILD_INFO_SOURCE "${PROJECT_BINARY_DIR}/build_info.cc")
configure_file("${PROJECT_SOURCE_DIR}/cmake/build_info.cc.in" "${WEFT_BUILD_INFO_SOURCE}" @ONLY)
