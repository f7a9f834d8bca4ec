#!/bin/sh
# browser_test.sh BROWSER_DIGESTS: the library compiled to WebAssembly learns the same, bit for bit, as the
# portable kernels of this machine. Node runs it here, tests/whole/site_test.py two worlds in Chromium. Exit code 77, a
# skip, where node or the compiler of scripts/browser is missing.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if ! command -v node >/dev/null; then echo "skipped: there is no node" && exit 77; fi
if ! command -v clang >/dev/null || ! clang --target=wasm32-wasi -x c -c -o "$work/probe" - 2>/dev/null <<END; then
#include <stdlib.h>
END
  echo "skipped: there is no clang with WASI's C library; scripts/setup-site installs them" && exit 77
fi
"$root/scripts/browser"
wasm=$root/build-browser/langevin.wasm
[ "$(stat -c %s "$wasm")" -lt 1500000 ] # as a text on the page, a third more

for world in "env.name=deepsea env.n=10" "env.name=nchain env.n=12" "env.name=nchain env.n=12 env.scramble=true"; do
  for agent in dqn adam-lmcdqn pathwise-lmcdqn; do echo "$world agent.name=$agent"; done
done >"$work/cases"
echo "env.name=deepsea agent.name=dqm" >>"$work/cases"
echo "env.name=deepsea env.n=many agent.name=dqn" >>"$work/cases"
"$1" 100 <"$work/cases" >"$work/native"
node "$root/tests/whole/browser_digests.mjs" "$root/site/theme/langevin.js" "$wasm" 100 <"$work/cases" >"$work/wasm"
diff "$work/native" "$work/wasm"
[ "$(grep -c ': [0-9a-f]\{16\}$' "$work/native")" = 9 ]
[ "$(sed 's/.*: //' "$work/native" | sort -u | wc -l)" = 11 ] # no two cases are the same
cat "$work/wasm"
