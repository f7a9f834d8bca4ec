#!/bin/sh
# abi_test.sh [--write] LIBRARY INCLUDE FILE: the binary interface of the shared library is the one that FILE
# (abi/langevin.abi) describes: every exported function and every type of INCLUDE/langevin.h that one of them reaches.
# --write writes FILE instead. Both read the library's debug information with Debian's abigail-tools; optimization,
# compiler and folder leave no trace in it.
set -eu
write=no
if [ "$1" = --write ]; then write=yes && shift; fi
library=$1 include=$2 file=$3

if ! command -v abidw >/dev/null || ! command -v abidiff >/dev/null; then
  echo "abidw and abidiff are missing: scripts/setup installs Debian's abigail-tools"
  if [ $write = yes ] || [ -n "${CI:-}" ]; then exit 1; fi
  exit 77
fi
if ! readelf -S "$library" | grep -q '\.debug_info'; then
  echo "$library has no debug information: compile it with -g"
  exit 1
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

abidw --headers-dir "$include" --drop-private-types --exported-interfaces-only --drop-undefined-syms \
  --no-show-locs --no-corpus-path --no-comp-dir-path --no-elf-needed --no-architecture \
  --no-write-default-sizes --no-parameter-names --out-file "$work/built" "$library"
sed -i "s|path='[^']*/src/|path='src/|" "$work/built" # relative to the build folder until here
test "$(grep -c '<function-decl ' "$work/built")" -gt 50 || { echo "too few functions found in $library"; exit 1; }
grep -q "<class-decl name='lgv_env_type' size-in-bits=" "$work/built" || { echo "the types of $include are missing"; exit 1; }
if [ $write = yes ]; then
  cp "$work/built" "$file"
  exit 0
fi

# "Harmless" changes, such as a new value of an enum, count too.
if abidiff --harmless --leaf-changes-only "$file" "$work/built" >"$work/changes"; then exit 0; fi
cat "$work/changes"
echo "The binary interface differs from $file (docs/abi.md)."
echo "If the change is intended, run 'make abi' and commit the file together with the change."
exit 1
