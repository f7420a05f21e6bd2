# Everything from outside, each as an imported target so that its headers count as system headers.
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(ZLIB REQUIRED)

# Headers only: lazy/library.h loads these at run time. cmake/Package.cmake names their packages. SQLite keeps the journal
# of the control plane (docs/adr/0023-control-plane.md).
find_package(OpenSSL REQUIRED COMPONENTS Crypto SSL)
find_package(CURL REQUIRED)
find_path(WEFT_SQLITE_INCLUDE sqlite3.h REQUIRED)
add_library(weft_lazy_headers INTERFACE IMPORTED)
set_target_properties(weft_lazy_headers PROPERTIES
  INTERFACE_INCLUDE_DIRECTORIES "${OPENSSL_INCLUDE_DIR};${CURL_INCLUDE_DIRS};${WEFT_SQLITE_INCLUDE}"
  INTERFACE_LINK_LIBRARIES "${CMAKE_DL_LIBS}")

find_path(WEFT_YAML_INCLUDE yaml.h REQUIRED)
find_library(WEFT_YAML_LIBRARY yaml REQUIRED)
add_library(weft_libyaml INTERFACE IMPORTED)
set_target_properties(weft_libyaml PROPERTIES
  INTERFACE_INCLUDE_DIRECTORIES "${WEFT_YAML_INCLUDE}" INTERFACE_LINK_LIBRARIES "${WEFT_YAML_LIBRARY}")

# Boost.Asio and Beast, headers only: the HTTP server of the control plane.
find_path(WEFT_BOOST_INCLUDE boost/beast.hpp REQUIRED)
add_library(weft_boost INTERFACE IMPORTED)
set_target_properties(weft_boost PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${WEFT_BOOST_INCLUDE}"
  INTERFACE_LINK_LIBRARIES Threads::Threads)

# weft_soname(variable library): the name by which the dynamic linker finds a library, "libfreeipmi.so.17".
function(weft_soname variable library)
  execute_process(COMMAND "${CMAKE_READELF}" -d "${library}" OUTPUT_VARIABLE entries COMMAND_ERROR_IS_FATAL ANY)
  if(NOT entries MATCHES "SONAME[^[]*\\[([^]]+)\\]")
    message(FATAL_ERROR "${library} has no SONAME")
  endif()
  set(${variable} "${CMAKE_MATCH_1}" PARENT_SCOPE)
endfunction()

# FreeIPMI has no CMake package and is under the GPL: see docs/adr/0017-out-of-band.md for what that means to binaries.
# oob/ipmi/lazy_freeipmi.h loads it at run time. cmake/Package.cmake names their packages.
if(WEFT_IPMI)
  find_path(WEFT_FREEIPMI_INCLUDE freeipmi/freeipmi.h REQUIRED)
  find_library(WEFT_FREEIPMI_LIBRARY freeipmi REQUIRED)
  find_library(WEFT_IPMICONSOLE_LIBRARY ipmiconsole REQUIRED)
  weft_soname(freeipmi_soname "${WEFT_FREEIPMI_LIBRARY}")
  weft_soname(ipmiconsole_soname "${WEFT_IPMICONSOLE_LIBRARY}")
  add_library(weft_freeipmi INTERFACE IMPORTED)
  set_target_properties(weft_freeipmi PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${WEFT_FREEIPMI_INCLUDE}"
    INTERFACE_COMPILE_DEFINITIONS
      "WEFT_FREEIPMI_SONAME=\"${freeipmi_soname}\";WEFT_IPMICONSOLE_SONAME=\"${ipmiconsole_soname}\"")
endif()

if(WEFT_TESTS)
  find_package(GTest REQUIRED)
  # Tests call more of these than weft does, and link them.
  find_library(WEFT_SQLITE_LIBRARY sqlite3 REQUIRED)
  set(WEFT_TEST_LIBRARIES OpenSSL::SSL "${WEFT_SQLITE_LIBRARY}")
  include(GoogleTest)
endif()
if(WEFT_BENCH)
  find_package(benchmark QUIET)
endif()
