#!/bin/sh
# layers_test.sh SOURCE: every file includes only what docs/architecture.md allows its folder to.
set -eu
cd "$1"
allowed() {
  case $1 in
  base) echo base ;;
  math) echo base math ;;
  env) echo base math env ;;
  optim) echo base math optim ;;
  nn) echo base math nn ;;
  replay) echo base math nn replay ;;
  agent) echo base math nn optim replay agent ;;
  stats) echo base stats ;;
  config) echo base math env agent stats config registry.h ;;
  record) echo base config record ;;
  train) echo base math env agent stats config record train registry.h ;;
  sweep) echo base stats config record train sweep registry.h ;;
  report) echo base stats config record train sweep report ;;
  esac
}
wrong=0 seen=0
for file in $(find src -mindepth 2 -name '*.[ch]' | sort); do
  folder=${file#src/}
  folder=${folder%%/*}
  for include in $(sed -n 's/^#include "\([^"]*\)".*/\1/p' "$file"); do
    seen=$((seen + 1))
    case " $(allowed "$folder") langevin.h " in
    *" $include "* | *" ${include%%/*} "*) ;;
    *) echo "$file includes $include" && wrong=1 ;;
    esac
  done
done
for file in cli/*.c cli/*.h; do
  for include in $(sed -n 's/^#include "\([^"]*\)".*/\1/p' "$file"); do
    seen=$((seen + 1))
    case $include in
    cli.h | langevin.h | report/tools.h | bench/bench.h) ;;
    *) echo "$file includes $include" && wrong=1 ;;
    esac
  done
done
[ $seen -gt 100 ] || { echo "too few includes found"; exit 1; }
exit $wrong
