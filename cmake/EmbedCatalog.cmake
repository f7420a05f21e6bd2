# Generates catalog.cc, which holds every catalog/**.yaml, so that the executable works away from the source tree. See
# src/model/embedded.h for the names. weft_model compiles it.
file(GLOB_RECURSE catalog_files CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}"
  "${PROJECT_SOURCE_DIR}/catalog/*.yaml")
list(SORT catalog_files)
list(TRANSFORM catalog_files PREPEND "${PROJECT_SOURCE_DIR}/" OUTPUT_VARIABLE catalog_paths)

# The list is a file of its own: the output must be made anew when a file goes away, too.
list(JOIN catalog_files "\n" catalog_manifest)
file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/catalog.manifest" CONTENT "${catalog_manifest}" @ONLY)

set(WEFT_CATALOG_SOURCE "${PROJECT_BINARY_DIR}/catalog.cc")
add_custom_command(
  OUTPUT "${WEFT_CATALOG_SOURCE}"
  COMMAND "${CMAKE_COMMAND}" -D "ROOT=${PROJECT_SOURCE_DIR}" -D "MANIFEST=${PROJECT_BINARY_DIR}/catalog.manifest"
          -D "OUTPUT=${WEFT_CATALOG_SOURCE}" -P "${PROJECT_SOURCE_DIR}/cmake/embed_files.cmake"
  DEPENDS ${catalog_paths} "${PROJECT_BINARY_DIR}/catalog.manifest" "${PROJECT_SOURCE_DIR}/cmake/embed_files.cmake"
  COMMENT "Embedding the catalogue"
  VERBATIM)
set_source_files_properties("${WEFT_CATALOG_SOURCE}" PROPERTIES COMPILE_OPTIONS "-w")
