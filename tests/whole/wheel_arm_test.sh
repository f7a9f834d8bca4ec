#!/bin/sh
# wheel_arm_test.sh PYTHON: cross-builds the wheel for 64-bit ARM with scripts/wheel and uses it under
# qemu-user, with Debian's Python and NumPy for ARM (scripts/setup-arm). It learns what the package
# of PYTHON, of this machine, learns with portable kernels, bit for bit.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset PYTHONPATH LANGEVIN_LIBRARY LANGEVIN_PYTHON LANGEVIN_COMMAND LANGEVIN_EXPERIMENTS
sysroot=$root/.sysroot-arm

"$root/scripts/setup-arm" python3-numpy
"$root/scripts/wheel" "$work/dist" aarch64
wheel=$(echo "$work"/dist/langevin-*-manylinux_2_*_aarch64.whl)
[ "$(stat -c %s "$wheel")" -lt 10000000 ]
python3 -m zipfile -e "$wheel" "$work/package"

cat >"$work/learn.py" <<'END'
import hashlib, langevin, numpy, os, platform, sys
assert platform.machine() == sys.argv[1], platform.machine()
if sys.argv[1] == "aarch64":
    assert langevin.__file__.startswith(os.path.join(os.getcwd(), "package")), langevin.__file__
mdp = langevin.TabularMDP(numpy.full((2, 2, 2), 0.5), [[0, 1], [0, 1]], 4)
agents = [langevin.LMCLSVI(mdp, seed=1)]
agents += [agent(mdp, seed=1, warmup=20) for agent in (langevin.AdamLMCDQN, langevin.DQN)]
for agent in agents:
    agent.learn(episodes=40)
    agent.save("agent-" + sys.argv[1])
    arrays = langevin.load("agent-" + sys.argv[1], env=mdp).arrays()
    digest = hashlib.sha256()
    for name in sorted(arrays):
        digest.update(name.encode() + numpy.ascontiguousarray(arrays[name]).tobytes())
    print(type(agent).__name__, digest.hexdigest())
END
cd "$work"
export LANGEVIN_KERNELS=portable PYTHONDONTWRITEBYTECODE=1
"$1" learn.py "$(uname -m)" >here
PYTHONPATH=$work/package qemu-aarch64 -L "$sysroot" "$sysroot/usr/bin/python3" learn.py aarch64 >there
cat there
[ "$(wc -l <there)" = 3 ]
diff here there
# The command line of the wheel.
unset LANGEVIN_KERNELS
chmod +x package/langevin/bin/langevin # zipfile drops the mode, pip keeps it
qemu-aarch64 -L "$sysroot" package/langevin/bin/langevin version | grep -q neon
qemu-aarch64 -L "$sysroot" package/langevin/bin/langevin run --env riverswim --agent psrl --episodes 20 --out run >/dev/null
test -s run/summary.json
