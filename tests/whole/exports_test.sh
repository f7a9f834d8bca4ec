#!/bin/sh
# exports_test.sh LIBRARY HEADER ARCHIVE: the shared library exports what the header declares and nothing else, and every
# global name of the static library begins with lgv_.
set -eu
library=$1 header=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

nm -D --defined-only "$library" | awk '{ print $3 }' | sort >"$work/exported"
tr '\n' ' ' <"$header" | grep -o 'LGV_API [^;]*;' |
  awk 'match($0, /lgv_[a-z0-9_]+\(/) { print substr($0, RSTART, RLENGTH - 1) }' | sort >"$work/declared"

test "$(wc -l <"$work/declared")" -gt 50 || { echo "too few declarations found"; exit 1; }
if grep -v '^lgv_[a-z0-9]' "$work/exported"; then
  echo "these names are exported and do not begin with lgv_ and a letter"
  exit 1
fi
if ! diff "$work/declared" "$work/exported"; then
  echo "< declared, not exported; > exported, not declared"
  exit 1
fi

# The archive shows its internals to the linker, too: they must not collide with a host program's names.
archive=$3
nm -g --defined-only "$archive" 2>/dev/null | awk 'NF == 3 { print $3 }' | sort -u >"$work/archived"
test "$(wc -l <"$work/archived")" -gt 200 || { echo "too few names found in $archive"; exit 1; }
if grep -v '^lgv_' "$work/archived"; then
  echo "these names of the archive do not begin with lgv_"
  exit 1
fi
