# cmake -D ROOT=... -D MANIFEST=... -D OUTPUT=... -D HEADER=... -D SPACE=... -D NAME=... -P embed_files.cmake
# Writes OUTPUT, a C++ source with the contents of the files named in MANIFEST (one per line, relative to ROOT), as the
# array NAME of the namespace SPACE and its size NAMESize, as HEADER declares them. With FUNCTION instead of NAME, each
# file is what the function template FUNCTION<"path below its top folder"> of HEADER returns. Bytes are written as \x
# escapes in string literals: compilers read those much faster than arrays of numbers.
string(REPEAT "." 64 line_of_hex)
set(table "")
set(index 0)
set(arrays "")
set(functions "")
set(texts "")
file(STRINGS "${MANIFEST}" names)
foreach(name IN LISTS names)
  file(READ "${ROOT}/${name}" hex HEX)
  file(SIZE "${ROOT}/${name}" size)
  string(REGEX REPLACE "(${line_of_hex})" "\\1\n" hex "${hex}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "\\\\x\\1" hex "${hex}")
  string(REGEX REPLACE "\n" "\"\n    \"" hex "${hex}")
  string(APPEND arrays "const char file_${index}[] =\n    \"${hex}\";\n")
  string(APPEND table "    {\"${name}\", file_${index}, ${size}},\n")
  string(REGEX REPLACE "^[^/]*/(.*)$" "\\1" below "${name}")
  string(APPEND functions "template std::string_view ${FUNCTION}<\"${below}\">();\n")
  string(APPEND texts "    {\"${below}\", {file_${index}, ${size}}},\n")
  math(EXPR index "${index} + 1")
endforeach()
if(index EQUAL 0)
  set(table "    {\"\", \"\", 0},  // an array cannot be empty; the size below says that it is\n")
endif()
if(FUNCTION)
  # In one source, so that the template is defined once; the instances are what other sources refer to.
  set(definitions "struct Text {
  std::string_view path, text;
};
constexpr Text texts[] = {
${texts}};

template <AssetPath path>
std::string_view ${FUNCTION}() {
  for (const Text& file : texts) {
    if (file.path == path.text) return file.text;
  }
  return {};
}
${functions}")
else()
  set(definitions "extern const EmbeddedFile ${NAME}[] = {
${table}};
extern const std::size_t ${NAME}Size = ${index};
")
endif()
file(WRITE "${OUTPUT}.new" "// Generated; do not edit.
#include \"${HEADER}\"

namespace ${SPACE} {
namespace {

${arrays}
}  // namespace

${definitions}
}  // namespace ${SPACE}
")
file(RENAME "${OUTPUT}.new" "${OUTPUT}")
