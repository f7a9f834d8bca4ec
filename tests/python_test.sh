#!/bin/sh
# python_test.sh LIBRARY SANITIZERS|none [PYTEST ARGUMENTS]: tests of the Python package of the sources with a built library, in .venv.
# Status 77 where .venv is missing, and 1 there if CI is set.
set -eu
library=$1 sanitizers=$2
shift 2
root=$(cd "$(dirname "$0")/.." && pwd)
python=${LANGEVIN_PYTHON:-$root/.venv/bin/python}
if ! "$python" -c 'import gymnasium, pytest' 2>/dev/null; then
  echo "SKIPPED: no Gymnasium and pytest in $python; scripts/setup-python installs them"
  if [ -n "${CI:-}" ]; then exit 1; fi
  exit 77
fi
export LANGEVIN_LIBRARY="$library" LANGEVIN_PYTHON="$python" PYTHONPATH="$root/python" PYTHONDONTWRITEBYTECODE=1
if [ "$sanitizers" != none ]; then # Python is not built with them: their runtime must come first
  export LANGEVIN_SANITIZED=1 ASAN_OPTIONS=detect_leaks=0
  LD_PRELOAD=$(cc -print-file-name=libasan.so) && export LD_PRELOAD
fi
exec "$python" -m pytest -q -p no:cacheprovider --rootdir "$root" "$@"
