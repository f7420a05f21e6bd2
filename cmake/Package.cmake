# The Debian package, which cpack makes: `make package`, docs/release.md. dpkg-shlibdeps finds the libraries that weft is
# linked with; those that it loads at their first use (docs/adr/0032-libraries-loaded-at-first-use.md) are named here.
set(WEFT_MAINTAINER "weft developers <weft-developers@lists.example.org>" CACHE STRING "Maintainer of packages")

# The Debian package that has the library of `names`: its name differs between releases (libssl3, libssl3t64).
function(weft_debian_package variable fallback)
  set(${variable} "${fallback}" PARENT_SCOPE)
  find_library(weft_lazy_${fallback} NAMES ${ARGN})
  mark_as_advanced(weft_lazy_${fallback})
  if(NOT weft_lazy_${fallback})
    return()
  endif()
  file(REAL_PATH "${weft_lazy_${fallback}}" library)
  foreach(path IN ITEMS "${library}" "/usr${library}")
    execute_process(COMMAND dpkg-query --search "${path}" OUTPUT_VARIABLE owner ERROR_QUIET RESULT_VARIABLE failed)
    if(NOT failed AND owner MATCHES "^([^:]+):")
      set(${variable} "${CMAKE_MATCH_1}" PARENT_SCOPE)
      return()
    endif()
  endforeach()
endfunction()
weft_debian_package(weft_ssl_package libssl3 ssl)
weft_debian_package(weft_curl_package libcurl4 curl)
weft_debian_package(weft_sqlite_package libsqlite3-0 sqlite3)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME weft)
set(CPACK_PACKAGE_VENDOR weft)
set(CPACK_PACKAGE_CONTACT "${WEFT_MAINTAINER}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "design and operate the networks of GPU clusters")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "weft compiles one file that describes an AI cluster into its complete design:
switches, ports, cables, transceivers, addresses and racks of four separate
networks, and into the configuration of each device, host and service.
.
It checks designs and running clusters, simulates traffic and training jobs,
manages BMCs and switches out of band, and runs jobs through Slurm and
Kubernetes (weft serve).")
set(CPACK_STRIP_FILES TRUE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "${weft_ssl_package}, ${weft_curl_package}, ${weft_sqlite_package}")
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "ca-certificates, openssh-client")
if(WEFT_IPMI)
  weft_debian_package(weft_freeipmi_package libfreeipmi17 freeipmi)
  weft_debian_package(weft_ipmiconsole_package libipmiconsole2 ipmiconsole)
  string(APPEND CPACK_DEBIAN_PACKAGE_RECOMMENDS ", ${weft_freeipmi_package}, ${weft_ipmiconsole_package}")
endif()
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "slurm-client, bash-completion")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION TRUE)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/debian/conffiles" CONTENT "/etc/weft/serve.conf\n")
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA "${PROJECT_BINARY_DIR}/debian/conffiles"
  "${PROJECT_SOURCE_DIR}/packaging/debian/postinst" "${PROJECT_SOURCE_DIR}/packaging/debian/prerm"
  "${PROJECT_SOURCE_DIR}/packaging/debian/postrm")
# Debian's places and compressed pages; the changelog and the license.
set(CPACK_PRE_BUILD_SCRIPTS "${PROJECT_SOURCE_DIR}/cmake/debian_layout.cmake")
set(CPACK_WEFT_SOURCE "${PROJECT_SOURCE_DIR}")
set(CPACK_WEFT_TIME "${WEFT_COMMIT_TIME}")
include(CPack)
