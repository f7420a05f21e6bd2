# Run by cpack on the installed tree before it is packed: what Debian's policy asks for beyond the common layout.
set(root "${CPACK_TEMPORARY_INSTALL_DIRECTORY}")
set(share "${root}/usr/share")
set(doc "${share}/doc/weft")

file(MAKE_DIRECTORY "${root}/lib/systemd/system" "${share}/zsh/vendor-completions")
file(RENAME "${root}/usr/lib/systemd/system/weft.service" "${root}/lib/systemd/system/weft.service")
file(REMOVE_RECURSE "${root}/usr/lib/systemd")
file(RENAME "${share}/zsh/site-functions/_weft" "${share}/zsh/vendor-completions/_weft")
file(REMOVE_RECURSE "${share}/zsh/site-functions")

execute_process(COMMAND "${CPACK_WEFT_SOURCE}/scripts/debian-changelog.py" --maintainer "${CPACK_PACKAGE_CONTACT}"
    --time "${CPACK_WEFT_TIME}" --version "${CPACK_PACKAGE_VERSION}" "${CPACK_WEFT_SOURCE}/CHANGELOG.md"
  OUTPUT_FILE "${doc}/changelog" COMMAND_ERROR_IS_FATAL ANY)
file(COPY_FILE "${CPACK_WEFT_SOURCE}/packaging/debian/copyright" "${doc}/copyright")
file(CHMOD "${doc}/copyright" "${doc}/changelog"
  PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
file(RENAME "${doc}/CHANGELOG.md" "${doc}/NEWS.md")
file(GLOB pages "${share}/man/man*/*")
execute_process(COMMAND gzip -9 -n "${doc}/changelog" "${doc}/NEWS.md" ${pages} COMMAND_ERROR_IS_FATAL ANY)
