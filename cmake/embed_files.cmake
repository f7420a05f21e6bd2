# cmake -D ROOT=... -D MANIFEST=... -D OUTPUT=... -D HEADER=... -D SPACE=... -D NAME=... -P embed_files.cmake
# Writes OUTPUT, a C++ source with the contents of the files named in MANIFEST (one per line, relative to ROOT), as the
# array NAME of the namespace SPACE and its size NAMESize, as HEADER declares them. Bytes are written as \x escapes in string literals: compilers
# read those much faster than arrays of numbers.
string(REPEAT "." 64 line_of_hex)
set(table "")
set(index 0)
set(arrays "")
file(STRINGS "${MANIFEST}" names)
foreach(name IN LISTS names)
  file(READ "${ROOT}/${name}" hex HEX)
  file(SIZE "${ROOT}/${name}" size)
  string(REGEX REPLACE "(${line_of_hex})" "\\1\n" hex "${hex}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "\\\\x\\1" hex "${hex}")
  string(REGEX REPLACE "\n" "\"\n    \"" hex "${hex}")
  string(APPEND arrays "const char file_${index}[] =\n    \"${hex}\";\n")
  string(APPEND table "    {\"${name}\", file_${index}, ${size}},\n")
  math(EXPR index "${index} + 1")
endforeach()
if(index EQUAL 0)
  set(table "    {\"\", \"\", 0},  // an array cannot be empty; the size below says that it is\n")
endif()
file(WRITE "${OUTPUT}.new" "// Generated; do not edit.
#include \"${HEADER}\"

namespace ${SPACE} {
namespace {

${arrays}
}  // namespace

extern const EmbeddedFile ${NAME}[] = {
${table}};
extern const std::size_t ${NAME}Size = ${index};

}  // namespace ${SPACE}
")
file(RENAME "${OUTPUT}.new" "${OUTPUT}")
