#!/bin/sh
# exports_test.sh LIBRARY HEADER: the shared library shows what the header declares, and nothing else.
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
