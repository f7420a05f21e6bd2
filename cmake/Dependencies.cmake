# Everything from outside, each as an imported target so that its headers count as system headers.
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(OpenSSL REQUIRED COMPONENTS Crypto SSL)
find_package(ZLIB REQUIRED)

# Headers only: base/lazy_curl loads the library at run time. A package of weft must depend on libcurl4.
find_package(CURL REQUIRED)
add_library(weft_curl_headers INTERFACE IMPORTED)
set_target_properties(weft_curl_headers PROPERTIES
  INTERFACE_INCLUDE_DIRECTORIES "${CURL_INCLUDE_DIRS}" INTERFACE_LINK_LIBRARIES "${CMAKE_DL_LIBS}")

find_path(WEFT_YAML_INCLUDE yaml.h REQUIRED)
find_library(WEFT_YAML_LIBRARY yaml REQUIRED)
add_library(weft_libyaml INTERFACE IMPORTED)
set_target_properties(weft_libyaml PROPERTIES
  INTERFACE_INCLUDE_DIRECTORIES "${WEFT_YAML_INCLUDE}" INTERFACE_LINK_LIBRARIES "${WEFT_YAML_LIBRARY}")

# SQLite keeps the journal of the control plane (docs/adr/0023-control-plane.md).
find_path(WEFT_SQLITE_INCLUDE sqlite3.h REQUIRED)
find_library(WEFT_SQLITE_LIBRARY sqlite3 REQUIRED)
add_library(weft_sqlite INTERFACE IMPORTED)
set_target_properties(weft_sqlite PROPERTIES
  INTERFACE_INCLUDE_DIRECTORIES "${WEFT_SQLITE_INCLUDE}" INTERFACE_LINK_LIBRARIES "${WEFT_SQLITE_LIBRARY}")

# Boost.Asio and Beast, headers only: the HTTP server of the control plane.
find_path(WEFT_BOOST_INCLUDE boost/beast.hpp REQUIRED)
add_library(weft_boost INTERFACE IMPORTED)
set_target_properties(weft_boost PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${WEFT_BOOST_INCLUDE}"
  INTERFACE_LINK_LIBRARIES Threads::Threads)

# FreeIPMI has no CMake package and is under the GPL: see docs/adr/0017-out-of-band.md for what that means to binaries.
if(WEFT_IPMI)
  find_path(WEFT_FREEIPMI_INCLUDE freeipmi/freeipmi.h REQUIRED)
  find_library(WEFT_FREEIPMI_LIBRARY freeipmi REQUIRED)
  find_library(WEFT_IPMICONSOLE_LIBRARY ipmiconsole REQUIRED)
  add_library(weft_freeipmi INTERFACE IMPORTED)
  set_target_properties(weft_freeipmi PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${WEFT_FREEIPMI_INCLUDE}"
    INTERFACE_LINK_LIBRARIES "${WEFT_FREEIPMI_LIBRARY};${WEFT_IPMICONSOLE_LIBRARY}")
endif()

if(WEFT_TESTS)
  find_package(GTest REQUIRED)
  include(GoogleTest)
endif()
if(WEFT_BENCH)
  find_package(benchmark QUIET)
endif()
