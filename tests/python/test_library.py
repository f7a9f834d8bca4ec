"""The mirror of langevin.h in ctypes: structs against a compiled program, functions against their declarations."""

import ctypes
import pathlib
import re
import shutil
import subprocess
import sys

import pytest
from conftest import ROOT

import langevin
from langevin import _library as library

HEADER = ROOT / "include" / "langevin.h"
STRUCTS = {
    "lgv_rng": library.CRng,
    "lgv_error": library.CError,
    "lgv_param": library.CParam,
    "lgv_preset": library.CPreset,
    "lgv_entry": library.CEntry,
    "lgv_action_space": library.CActionSpace,
    "lgv_action": library.CAction,
    "lgv_env_spec": library.CSpec,
    "lgv_outcome": library.COutcome,
    "lgv_obs": library.CObs,
    "lgv_transition": library.CTransition,
    "lgv_save_options": library.CSaveOptions,
    "lgv_episode": library.CEpisode,
    "lgv_summary": library.CSummary,
    "lgv_recorder_options": library.CRecorderOptions,
    "lgv_progress": library.CProgress,
    "lgv_run_news": library.CRunNews,
    "lgv_batch": library.CBatch,
    "lgv_sweep_info": library.CSweepInfo,
    "lgv_sweep_job": library.CSweepJob,
}


@pytest.mark.skipif(not shutil.which("cc"), reason="needs a C compiler")
def test_structs(tmp_path):
    lines = []
    for name, cls in STRUCTS.items():
        lines.append(f'printf("{name} %zu\\n", sizeof({name}));')
        for field, *_ in cls._fields_:
            lines.append(f'printf("{name}.{field} %zu\\n", offsetof({name}, {field}));')
    source = tmp_path / "sizes.c"
    source.write_text('#include "langevin.h"\n#include <stdio.h>\nint main(void) {' + "\n".join(lines) + "return 0; }")
    subprocess.run(["cc", f"-I{HEADER.parent}", source, "-o", tmp_path / "sizes"], check=True)
    output = subprocess.run([tmp_path / "sizes"], check=True, capture_output=True, text=True).stdout
    for line in output.splitlines():
        name, size = line.split()
        struct, _, field = name.partition(".")
        cls = STRUCTS[struct]
        if field:
            assert getattr(cls, field).offset == int(size), name
        else:
            assert ctypes.sizeof(cls) == int(size), name


KINDS = {
    "size_t": ctypes.c_size_t,
    "int64_t": ctypes.c_int64,
    "int32_t": ctypes.c_int32,
    "uint64_t": ctypes.c_uint64,
    "double": ctypes.c_double,
    "bool": ctypes.c_bool,
    "lgv_mode": ctypes.c_int,
}


def declarations():
    text = re.sub(r"/\*.*?\*/", " ", HEADER.read_text(), flags=re.S)
    found = {}
    for match in re.finditer(r"LGV_API (?:LGV_CHECK )?([\w *]+?)(lgv_\w+)\((.*?)\)\s*(?:LGV_PRINTF.*?)?;", text, re.S):
        result, name, parameters = match.groups()
        depth, parts, start = 0, [], 0
        for i, c in enumerate(parameters + ","):
            depth += (c == "(") - (c == ")")
            if c == "," and depth == 0:
                parts.append(" ".join(parameters[start:i].split()))
                start = i + 1
        found[name] = result.strip(), [p for p in parts if p != "void"]
    return found


def test_functions():
    declared = declarations()
    assert len(declared) > 60
    for name, result, parameters in library.FUNCTIONS:
        c_result, c_parameters = declared[name]
        if result is library.STATUS:
            assert c_result == "lgv_status" and c_parameters[-1] == "lgv_error *err", name
            c_parameters = c_parameters[:-1]
        else:
            assert (c_result == "void") == (result is None) and ("*" in c_result) == (
                result in (ctypes.c_char_p, library.P) or hasattr(result, "contents")
            ), name
        assert len(parameters) == len(c_parameters), f"{name}: {c_parameters}"
        for kind, text in zip(parameters, c_parameters):
            if "*" in text or "(" in text:
                assert kind in (library.P, ctypes.c_char_p) or hasattr(kind, "_restype_"), f"{name}: {text}"
            else:
                assert kind is KINDS[text.rsplit(" ", 1)[0]], f"{name}: {text}"


def test_version():
    text = HEADER.read_text()
    parts = [re.search(rf"LGV_VERSION_{p} (\d+)", text).group(1) for p in ("MAJOR", "MINOR", "PATCH")]
    assert langevin.__version__ == ".".join(parts)
    assert langevin.kernels() in ("ref", "x86", "avx2", "avx512", "amx", "neon", "generic")


def test_names():
    assert {"AdamLMCDQN", "LMCLSVI", "MSLMCLSVI", "LSVIUCB", "LSVIPHE", "OPTRLSVI", "OPPO", "RLSVI", "PSRL"} <= set(
        langevin.agents()
    )
    assert {"LangevinDQN", "NoisyNetDQN", "BootstrappedDQN", "HyperAgent", "C51", "QRDQN", "IQN"} <= set(dir(langevin))
    with pytest.raises(AttributeError, match="did you mean 'AdamLMCDQN'"):
        langevin.AdamLMCDQM  # noqa: B018 (the name is what fails)
    with pytest.warns(FutureWarning, match="GNLMCDQN has been replaced by langevin.PathwiseLMCDQN"):
        assert langevin.GNLMCDQN is langevin.PathwiseLMCDQN
    assert "GNLMCDQN" not in langevin.agents()


def test_without_minari(monkeypatch):
    """A module of None in sys.modules is one that is not installed."""
    monkeypatch.setitem(sys.modules, "minari", None)
    monkeypatch.delitem(sys.modules, "langevin._minari", raising=False)
    for name in ("write_dataset", "read_dataset"):
        monkeypatch.delitem(vars(langevin), name, raising=False)
        assert hasattr(langevin, name)
    with pytest.raises(ImportError, match="pip install 'minari"):
        langevin.write_dataset(None, "cartpole/dqn-v0")
    with pytest.raises(ImportError, match="pip install 'minari"):
        langevin.read_dataset(None, "cartpole/dqn-v0")


def test_import_is_lazy(tmp_path):
    """The worker of the bridge imports modules of the package and must not have the library in its process."""
    import sys

    code = (
        "import sys; sys.argv[0] = 'langevin-worker'; import langevin.worker, langevin.task; "
        "assert 'ctypes' not in sys.modules and 'numpy' not in sys.modules and 'gymnasium' not in sys.modules"
    )
    path = str(pathlib.Path(langevin.__file__).parent.parent)
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path, env={"PYTHONPATH": path})


def test_without_gymnasium(tmp_path):
    import os
    import sys

    code = (
        "import sys, langevin, numpy as np; mdp = langevin.TabularMDP(np.ones((1, 2, 1)), [[0, 1]], 2); "
        "agent = langevin.PSRL(mdp); agent.learn(episodes=20); assert agent.value() == 2; "
        "assert agent.predict(0) == (1, 1); agent.save('agent'); langevin.load('agent', env=mdp); "
        "agent = langevin.DQN(mdp); agent.learn(100); assert agent.q_values(0).shape == (2,); "
        "agent.save('agent'); assert (langevin.load('agent').q_values(0) == agent.q_values(0)).all()\n"
        "try: langevin.DQN('CartPole-v1')\n"
        "except ImportError as error: assert 'pip install gymnasium' in str(error)\n"
        "assert 'gymnasium' not in sys.modules or not hasattr(sys.modules['gymnasium'], 'make')"
    )
    path = f"{ROOT}/tests/fixtures/without_gymnasium{os.pathsep}{pathlib.Path(langevin.__file__).parent.parent}"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path, env={**os.environ, "PYTHONPATH": path})


def test_with_an_old_gymnasium(tmp_path):
    """It is named where it is needed; everything else works."""
    import os
    import sys

    code = (
        "import gymnasium, warnings; del gymnasium.vector.AutoresetMode\n"
        "with warnings.catch_warnings(record=True) as caught:\n"
        "    import langevin\n"
        "assert 'too old' in str(caught[0].message), caught\n"
        "langevin.PSRL(langevin.TabularMDP([[[1], [1]]], [[0, 1]], 2)).learn(episodes=2)\n"
        "env = gymnasium.Env()\n"
        "env.observation_space = env.action_space = gymnasium.spaces.Discrete(2)\n"
        "try:\n"
        "    langevin.DQN(env)\n"
        "except ImportError as error:\n"
        "    assert 'gymnasium>=1.1' in str(error)\n"
        "else:\n"
        "    raise AssertionError\n"
    )
    path = str(pathlib.Path(langevin.__file__).parent.parent)
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path, env={**os.environ, "PYTHONPATH": path})
