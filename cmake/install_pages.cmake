# Part of the installation (Install.cmake sets the variables): runs weft to write its manual pages, completions and
# schemas, and fills the paths of this installation into the systemd unit.
cmake_policy(SET CMP0054 NEW)
cmake_policy(SET CMP0057 NEW)

# The folder `relative` of the prefix, where it will be in use (without DESTDIR).
function(installed_path variable relative)
  if(IS_ABSOLUTE "${relative}")
    set(${variable} "${relative}" PARENT_SCOPE)
  else()
    set(${variable} "${CMAKE_INSTALL_PREFIX}/${relative}" PARENT_SCOPE)
  endif()
endfunction()

if(CMAKE_INSTALL_PREFIX STREQUAL "/usr" AND etc_dir STREQUAL "etc")
  set(etc_dir "/etc")
endif()
installed_path(bin "${bin_dir}")
installed_path(etc "${etc_dir}")
installed_path(data "${data_dir}")
installed_path(man "${man_dir}")
installed_path(systemd "${systemd_dir}")
installed_path(zsh "${zsh_dir}")

execute_process(COMMAND mktemp -d OUTPUT_VARIABLE made OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
function(run_weft)
  execute_process(COMMAND ${emulator} "${program}" --quiet ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()
run_weft(man --directory "${made}/man")
run_weft(schema --directory "${made}/schemas" --url "file://${data}/weft/schemas")
run_weft(completion bash --file "${made}/weft")
run_weft(completion zsh --file "${made}/_weft")
run_weft(completion fish --file "${made}/weft.fish")
set(WEFT_BIN "${bin}")
set(WEFT_ETC "${etc}/weft")
configure_file("${source}/packaging/systemd/weft.service.in" "${made}/weft.service" @ONLY)

# Readable by all, whatever the umask.
set(readable FILE_PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ
  DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
foreach(section 1 5)
  file(GLOB pages "${made}/man/man${section}/*")
  file(INSTALL DESTINATION "${man}/man${section}" TYPE FILE ${readable} FILES ${pages})
endforeach()
file(GLOB schemas "${made}/schemas/*.json")
file(INSTALL DESTINATION "${data}/weft/schemas" TYPE FILE ${readable} FILES ${schemas})
file(INSTALL DESTINATION "${data}/bash-completion/completions" TYPE FILE ${readable} FILES "${made}/weft")
file(INSTALL DESTINATION "${zsh}" TYPE FILE ${readable} FILES "${made}/_weft")
file(INSTALL DESTINATION "${data}/fish/vendor_completions.d" TYPE FILE ${readable} FILES "${made}/weft.fish")
file(INSTALL DESTINATION "${systemd}" TYPE FILE ${readable} FILES "${made}/weft.service")
file(REMOVE_RECURSE "${made}")

# A settings file that the administrator has edited stays as it is.
if(NOT EXISTS "$ENV{DESTDIR}${etc}/weft/serve.conf")
  file(INSTALL DESTINATION "${etc}/weft" TYPE FILE ${readable} FILES "${source}/packaging/etc/serve.conf")
endif()
