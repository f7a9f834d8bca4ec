#!/bin/sh
# python_test.sh LIBRARY SANITIZERS|none [PYTEST ARGUMENTS]: tests the Python package of the sources with a built library, in
# .venv. Exits with 77 if .venv is missing, or a package that all of the tests need; with 1 instead if CI is set.
set -eu
skipped() {
  echo "SKIPPED: $1"
  if [ -n "${CI:-}" ]; then exit 1; fi
  exit 77
}
library=$1 sanitizers=$2
shift 2
root=$(cd "$(dirname "$0")/../.." && pwd)
python=${LANGEVIN_PYTHON:-$root/.venv/bin/python}
"$python" -c 'import gymnasium, pytest' 2>/dev/null || skipped "no Gymnasium and pytest in $python; scripts/setup-python installs them"
export LANGEVIN_LIBRARY="$library" LANGEVIN_PYTHON="$python" PYTHONPATH="$root/python" PYTHONDONTWRITEBYTECODE=1
LANGEVIN_COMMAND=$(dirname "$library")/langevin && export LANGEVIN_COMMAND
# An editable install of another folder comes before PYTHONPATH: it would be tested in place of this one.
"$python" -c 'import langevin, os, sys; sys.exit(not os.path.samefile(os.path.dirname(langevin.__file__), sys.argv[1]))' \
  "$root/python/langevin" || { echo "$python imports the package of another folder; run scripts/setup-python here"; exit 1; }
if [ "$sanitizers" != none ]; then # Python is not built with them: their runtime must come first
  export LANGEVIN_SANITIZED=1 ASAN_OPTIONS=detect_leaks=0
  LD_PRELOAD=$(cc -print-file-name=libasan.so) && export LD_PRELOAD
fi
status=0
"$python" -m pytest -q -rs -p no:cacheprovider --rootdir "$root" "$@" || status=$?
if [ $status = 5 ]; then skipped "pytest found nothing that can run here"; fi
exit $status
