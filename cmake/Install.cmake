# What is installed beside bin/weft: manual pages, shell completion, JSON Schemas, the systemd unit, documents and
# examples. `weft` itself writes the pages when it is installed (install_pages.cmake), so they are always its own.
include(GNUInstallDirs)
set(WEFT_SYSTEMD_DIR "lib/systemd/system" CACHE STRING "Where the unit of `weft serve` goes")
set(WEFT_ZSH_DIR "${CMAKE_INSTALL_DATADIR}/zsh/site-functions" CACHE STRING "Where the completion for zsh goes")

install(TARGETS weft)
install(FILES packaging/systemd/weft.sysusers DESTINATION lib/sysusers.d RENAME weft.conf)
install(FILES packaging/examples/access.yaml packaging/examples/local-engine.conf
  DESTINATION "${CMAKE_INSTALL_DOCDIR}/examples")
file(GLOB weft_documents CONFIGURE_DEPENDS docs/*.md)
install(FILES README.md CHANGELOG.md DESTINATION "${CMAKE_INSTALL_DOCDIR}")
install(FILES ${weft_documents} DESTINATION "${CMAKE_INSTALL_DOCDIR}/docs")
install(DIRECTORY docs/reference docs/img DESTINATION "${CMAKE_INSTALL_DOCDIR}/docs")
file(GLOB weft_examples CONFIGURE_DEPENDS examples/*.yaml examples/*.csv examples/*.py)
install(FILES ${weft_examples} DESTINATION "${CMAKE_INSTALL_DOCDIR}/examples")
install(DIRECTORY examples/running DESTINATION "${CMAKE_INSTALL_DOCDIR}/examples")
install(FILES clients/python/weft.py DESTINATION "${CMAKE_INSTALL_DOCDIR}/examples/python")

# The prefix may be another one when it is installed than when it was configured. Names without "weft_" are read by
# install_pages.cmake.
install(CODE "
  set(emulator \"${CMAKE_CROSSCOMPILING_EMULATOR}\")
  set(program \"$<TARGET_FILE:weft>\")
  set(source \"${PROJECT_SOURCE_DIR}\")
  set(bin_dir \"${CMAKE_INSTALL_BINDIR}\")
  set(etc_dir \"${CMAKE_INSTALL_SYSCONFDIR}\")
  set(data_dir \"${CMAKE_INSTALL_DATADIR}\")
  set(man_dir \"${CMAKE_INSTALL_MANDIR}\")
  set(systemd_dir \"${WEFT_SYSTEMD_DIR}\")
  set(zsh_dir \"${WEFT_ZSH_DIR}\")")
install(SCRIPT cmake/install_pages.cmake)
