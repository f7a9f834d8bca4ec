#!/bin/sh
# libm_test.sh SOURCE: no file of src/ calls a function of the C library whose last bits depend on
# the machine, except the calls below. base/portable_math.h has the functions to call instead.
# (sqrt, fabs, floor, ceil, fmod, frexp and their relatives are exact everywhere.)
set -eu
cd "$1"
functions='expf?|exp2f?|exp10f?|expm1f?|logf?|log1pf?|log2f?|log10f?|powf?|sinf?|cosf?|tanf?'
functions="$functions|sincosf?|asinf?|acosf?|atanf?|atan2f?|sinhf?|coshf?|tanhf?"
functions="$functions|asinhf?|acoshf?|atanhf?|hypotf?|cbrtf?|erff?|erfcf?|lgammaf?|tgammaf?|fmaf?"
# file: functions, reason
allowed='
src/base/portable_math.h: exp expf expm1 log logf log1p pow powf sin sinf cos cosf hypot, of native threads
src/base/param.c: log10, in the text of a bound
src/base/rng.c: exp log, with the table that is not portable
src/math/dense.c: hypot, with kernels that are not portable
src/math/kernel_block.c: fmaf, whose result IEEE 754 defines
src/math/kernel_losses.c: logf, in sets that are not portable
src/optim/optim.h: pow, in sets that are not portable
src/report/plot/frame.c: log10 log pow, in figures
'
wrong=0 seen=0
# comments and strings left out
pattern="(^|[^A-Za-z0-9_])($functions)\\("
calls=$(grep -rlE "$pattern" src --include='*.[ch]' | sort | while read -r file; do
  sed -e 's/"[^"]*"//g' -e 's|/\*.*\*/||g' -e '/^ *\/\*/d' -e '/^ *\* /d' "$file" |
    grep -oE "$pattern" | sed "s|^[^a-z]*|$file |; s|($||" | sort -u
done)
while read -r file function; do
  seen=$((seen + 1))
  if ! echo "$allowed" | grep -qE "^$file: ([a-z0-9 ]* )?$function[ ,]"; then
    echo "$file calls $function: its last bits depend on the machine; call lgv__$function"
    wrong=1
  fi
done <<END
$calls
END
[ $seen -ge 10 ] || { echo "too few calls found"; exit 1; }
for file in $(echo "$allowed" | sed -n 's/:.*//p'); do
  echo "$calls" | grep -q "^$file " || { echo "$file no longer calls what is allowed"; wrong=1; }
done
exit $wrong
