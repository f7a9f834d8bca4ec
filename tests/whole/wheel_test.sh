#!/bin/sh
# wheel_test.sh: builds the wheel with scripts/wheel, checks that it is small and needs nothing but the C library, installs
# it into a fresh virtual environment with NumPy and Gymnasium alone, and runs the tests of the Python package and the
# command line from there. PYTHON names the Python (default python3).
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset PYTHONPATH LANGEVIN_LIBRARY LANGEVIN_PYTHON LANGEVIN_COMMAND LANGEVIN_EXPERIMENTS
quiet() { "$@" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }; }

quiet "${PYTHON:-python3}" -m venv "$work/venv"
pip="$work/venv/bin/python -m pip --disable-pip-version-check"
quiet "$root/scripts/wheel" "$work/dist"
wheel=$(echo "$work"/dist/langevin-*-manylinux_2_*.whl)
[ "$(stat -c %s "$wheel")" -lt 10000000 ]
test -s "$work"/dist/langevin-*.tar.gz

# It is complete with NumPy alone.
quiet $pip install --only-binary :all: "$wheel"
cd "$work"
venv/bin/python -c '
import langevin, numpy, os
assert os.path.dirname(langevin.__file__).startswith(os.getcwd()), langevin.__file__
mdp = langevin.TabularMDP(numpy.full((2, 2, 2), 0.5), [[0, 1], [0, 1]], 4)
agent = langevin.LMCLSVI(mdp).learn(episodes=50)
assert agent.value() == agent.optimal_value == 4
agent.save("agent")
assert (langevin.load("agent", env=mdp).q_table() == agent.q_table()).all()'
version=$(venv/bin/langevin version | head -1)
[ -n "$version" ] && [ "$(venv/bin/python -m langevin version | head -1)" = "$version" ]
quiet venv/bin/langevin reproduce --list
quiet venv/bin/langevin run --env riverswim --agent dqn --set run.steps=500 --out "$work/run"
# No library beside those of the system's C library.
for file in venv/lib/python*/site-packages/langevin/liblangevin.so venv/lib/python*/site-packages/langevin/bin/langevin; do
  ! ldd "$file" | grep -v -e linux-vdso -e libm.so -e libc.so -e ld-linux
done

# The first page, as a stranger follows it, in an environment of its own; 2000 steps instead of 100000.
mkdir stranger
ln -s ../dist stranger/dist
sed -n '/^## From nothing to a trained lander/,/^## Install/p' "$root/README.md" |
  sed -n '/^```sh$/,/^```$/p' | sed -e '/^```/d' -e 's/--steps 100000/--steps 2000/' >stranger/commands
[ "$(wc -l <stranger/commands)" = 7 ]
(cd stranger && sh -e commands >log 2>&1 && cc -std=c99 -c lander.c && test -s lander.svg && test -s lander.mp4) ||
  { cat stranger/log && exit 1; }

quiet $pip install "$wheel[gym]" pytest safetensors
quiet venv/bin/langevin run --env gym:CartPole-v1 --agent dqn --set run.steps=500 --out "$work/gym"
mkdir elsewhere
cd elsewhere
"$work/venv/bin/python" -m pytest -q -p no:cacheprovider -m "not slow" \
  "$root/tests/python/test_library.py" "$root/tests/python/test_agents.py" "$root/tests/python/test_envs.py" \
  "$root/tests/python/test_files.py" "$root/tests/python/test_mdp.py" "$root/tests/python/test_runs.py"
