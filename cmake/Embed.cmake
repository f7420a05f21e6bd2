# Generates C++ sources that hold every catalog/**.yaml, every runbooks/**.yaml and every file of assets/, so that the
# executable works away from the source tree: see src/base/embedded_file.h and src/base/asset.h. weft_model, weft_oob and
# weft_base compile them.

# weft_embed(FOLDER PATTERN VARIABLE option...): embeds the files of FOLDER whose names match PATTERN. The options go to
# embed_files.cmake; the source's path is left in VARIABLE.
function(weft_embed folder pattern variable)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/${folder}/${pattern}")
  list(SORT files)
  list(TRANSFORM files PREPEND "${PROJECT_SOURCE_DIR}/" OUTPUT_VARIABLE paths)

  # The list is a file of its own: the output must be made anew when a file goes away, too.
  list(JOIN files "\n" manifest)
  set(manifest_path "${PROJECT_BINARY_DIR}/${folder}.manifest")
  file(CONFIGURE OUTPUT "${manifest_path}" CONTENT "${manifest}" @ONLY)

  set(source "${PROJECT_BINARY_DIR}/${folder}.cc")
  set(script "${PROJECT_SOURCE_DIR}/cmake/embed_files.cmake")
  set(options "")
  foreach(option IN LISTS ARGN)
    list(APPEND options -D "${option}")
  endforeach()
  add_custom_command(
    OUTPUT "${source}"
    COMMAND "${CMAKE_COMMAND}" -D "ROOT=${PROJECT_SOURCE_DIR}" -D "MANIFEST=${manifest_path}" -D "OUTPUT=${source}"
            ${options} -P "${script}"
    DEPENDS ${paths} "${manifest_path}" "${script}"
    COMMENT "Embedding ${folder}"
    VERBATIM)
  set_source_files_properties("${source}" PROPERTIES COMPILE_OPTIONS "-w")
  set(${variable} "${source}" PARENT_SCOPE)
endfunction()

weft_embed(catalog *.yaml WEFT_CATALOG_SOURCE HEADER=model/embedded.h SPACE=weft::model NAME=kEmbeddedCatalog)
weft_embed(runbooks *.yaml WEFT_RUNBOOKS_SOURCE
  HEADER=oob/rescue/runbook_embedded.h SPACE=weft::oob NAME=kEmbeddedRunbooks)
weft_embed(assets * WEFT_ASSETS_SOURCE HEADER=base/asset.h SPACE=weft FUNCTION=asset)
