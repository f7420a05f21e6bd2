# Generates C++ sources that hold every catalog/**.yaml and every runbooks/**.yaml, so that the executable works away from
# the source tree: see src/base/embedded_file.h. weft_model and weft_oob compile them.

# weft_embed(FOLDER HEADER SPACE NAME VARIABLE): the source's path is left in VARIABLE.
function(weft_embed folder header space name variable)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/${folder}/*.yaml")
  list(SORT files)
  list(TRANSFORM files PREPEND "${PROJECT_SOURCE_DIR}/" OUTPUT_VARIABLE paths)

  # The list is a file of its own: the output must be made anew when a file goes away, too.
  list(JOIN files "\n" manifest)
  set(manifest_path "${PROJECT_BINARY_DIR}/${folder}.manifest")
  file(CONFIGURE OUTPUT "${manifest_path}" CONTENT "${manifest}" @ONLY)

  set(source "${PROJECT_BINARY_DIR}/${folder}.cc")
  set(script "${PROJECT_SOURCE_DIR}/cmake/embed_files.cmake")
  add_custom_command(
    OUTPUT "${source}"
    COMMAND "${CMAKE_COMMAND}" -D "ROOT=${PROJECT_SOURCE_DIR}" -D "MANIFEST=${manifest_path}" -D "OUTPUT=${source}"
            -D "HEADER=${header}" -D "SPACE=${space}" -D "NAME=${name}" -P "${script}"
    DEPENDS ${paths} "${manifest_path}" "${script}"
    COMMENT "Embedding ${folder}"
    VERBATIM)
  set_source_files_properties("${source}" PROPERTIES COMPILE_OPTIONS "-w")
  set(${variable} "${source}" PARENT_SCOPE)
endfunction()

weft_embed(catalog "model/embedded.h" weft::model kEmbeddedCatalog WEFT_CATALOG_SOURCE)
weft_embed(runbooks "oob/rescue/runbook_embedded.h" weft::oob kEmbeddedRunbooks WEFT_RUNBOOKS_SOURCE)
