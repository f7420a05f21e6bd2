# Everything from outside, each as an imported target so that its headers count as system headers.
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
find_package(ZLIB REQUIRED)

find_path(WEFT_YAML_INCLUDE yaml.h REQUIRED)
find_library(WEFT_YAML_LIBRARY yaml REQUIRED)
add_library(weft_libyaml INTERFACE IMPORTED)
set_target_properties(weft_libyaml PROPERTIES
  INTERFACE_INCLUDE_DIRECTORIES "${WEFT_YAML_INCLUDE}" INTERFACE_LINK_LIBRARIES "${WEFT_YAML_LIBRARY}")


if(WEFT_TESTS)
  find_package(GTest REQUIRED)
  include(GoogleTest)
endif()
if(WEFT_BENCH)
  find_package(benchmark QUIET)
endif()
