# weft-step TOKEN OUTPUTS PROGRAM [ARGUMENT]...: runs the program of a pipeline's step; if it succeeds, prints the files of
# OUTPUTS ("NAME PATH|NAME PATH") between lines with TOKEN, from which weft reads them. Signals are passed to the program.
# Job files have no line ends in commands: weft leaves out these comments and joins the lines with spaces.
token=$1;
outputs=$2;
shift 2;
"$@" &
child=$!;
trap 'kill -TERM "$child" 2>/dev/null' TERM INT;
wait "$child";
code=$?;
while kill -0 "$child" 2>/dev/null; do
  wait "$child";
  code=$?;
done;
[ "$code" -eq 0 ] || exit "$code";
[ "${RANK:-0}" = 0 ] || exit 0;
set -f;
IFS='|';
for output in $outputs; do
  name=${output%% *};
  path=${output#* };
  if [ ! -r "$path" ]; then
    echo "weft: output $name: cannot read $path" >&2;
    exit 1;
  fi;
  printf 'weft-output-begin %s %s\n' "$token" "$name";
  cat "$path";
  printf '\nweft-output-end %s %s\n' "$token" "$name";
done
