#!/usr/bin/env bash
# scripts/format.sh [--check]: formats the C++ sources in place, or fails and names those that are not formatted.
set -euo pipefail
cd "$(dirname "$0")/.."

tool=$(command -v clang-format-14 || command -v clang-format)
mapfile -d '' -t files < <(find src tests bench cmake '(' -name '*.cc' -o -name '*.h' ')' -print0 2>/dev/null |
  LC_ALL=C sort -z)
if ((${#files[@]} == 0)); then
  exit 0
fi

if [[ ${1:-} != --check ]]; then
  exec "$tool" -i "${files[@]}"
fi
wrong=$("$tool" --dry-run "${files[@]}" 2>&1 | sed -n 's/^\([^ :]*\):[0-9]*:[0-9]*: warning: .*/\1/p' |
  LC_ALL=C sort -u)
if [[ -n $wrong ]]; then
  echo "not formatted (make fmt):"
  echo "$wrong"
  exit 1
fi
echo "format: ${#files[@]} files"
