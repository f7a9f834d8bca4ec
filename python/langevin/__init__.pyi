# Written by scripts/python-stubs from the library's registry. Do not edit.
from typing import Any, Literal, Sequence
from typing_extensions import TypedDict, Unpack

from ._agent import Agent as Agent
from ._agent_files import load as load
from ._callbacks import CheckpointCallback as CheckpointCallback, EvalCallback as EvalCallback
from ._callbacks import StopOnReward as StopOnReward
from ._classes import auto as auto
from ._feature_map import FeatureMap as FeatureMap
from ._linear_agent import LinearAgent as LinearAgent
from ._hub import push_to_hub as push_to_hub
from ._library import EnvironmentFailed as EnvironmentFailed, Error as Error, FileError as FileError
from ._library import Interrupted as Interrupted, NumericError as NumericError, OutOfMemory as OutOfMemory
from ._library import UsageError as UsageError
from ._minari import read_dataset as read_dataset, write_dataset as write_dataset
from ._mdp import Model as Model, TabularMDP as TabularMDP
from ._runs import evaluate as evaluate, read_run as read_run, read_runs as read_runs, run as run, sweep as sweep
from ._tune import tune as tune
from .envs import NativeEnv as NativeEnv, NativeVectorEnv as NativeVectorEnv

__version__: str

def agents() -> dict[str, type[Agent]]: ...
def kernels() -> str: ...

class AdamParams(TypedDict, total=False):
    lr: float | None
    l2: float | None
    compensated: bool | None
    alpha1: float | None
    alpha2: float | None
    eps: float | None

class ASGLDParams(TypedDict, total=False):
    lr: float | None
    l2: float | None
    compensated: bool | None
    beta: float | None
    a: float | None
    alpha1: float | None
    alpha2: float | None
    eps: float | None
    form: Literal['paper', 'code'] | None

class LangevinAdamParams(TypedDict, total=False):
    lr: float | None
    l2: float | None
    compensated: bool | None
    beta: float | None
    alpha1: float | None
    alpha2: float | None
    eps: float | None

class PSGLDParams(TypedDict, total=False):
    lr: float | None
    l2: float | None
    compensated: bool | None
    beta: float | None
    alpha2: float | None
    eps: float | None

class SGLDParams(TypedDict, total=False):
    lr: float | None
    l2: float | None
    compensated: bool | None
    beta: float | None

class ULMCParams(TypedDict, total=False):
    lr: float | None
    l2: float | None
    compensated: bool | None
    beta: float | None
    a: float | None
    alpha1: float | None
    alpha2: float | None
    eps: float | None
    friction: float | None
    drift: Literal['asgld', 'plain'] | None

class LinearParams(TypedDict, total=False):
    lambda_: float | None
    pool: Literal['false', 'true', 'auto'] | bool | None
    schedule: Literal['tuned', 'theory'] | None
    delay: int | None

class LMCLSVIParams(LinearParams, total=False):
    features: str | None
    gram: Literal['auto', 'diagonal', 'dense'] | None
    delta: float | None
    form: Literal['auto', 'stages', 'discounted'] | None
    gamma: float | None
    sweeps: int | None
    prior_std: float | None
    beta: float | None
    eta_scale: float | None
    updates: int | None
    sampler: Literal['exact', 'loop', 'sgld', 'svrg', 'underdamped'] | None
    friction: float | None
    feel_good: float | None
    batch: int | None
    snapshot_every: int | None

class LMCLSVI(LinearAgent):
    """Langevin Monte Carlo LSVI (the paper's Algorithm 1). help(langevin.LMCLSVI) explains the parameters."""
    def __init__(
        self, env: Any, *, seed: int = 0, schedule_steps: int | None = None, schedule_episodes: int | None = None,
        reward_range: tuple[float, float] | None = None,
        **params: Unpack[LMCLSVIParams],
    ) -> None: ...

class MSLMCLSVIParams(LinearParams, total=False):
    features: str | None
    gram: Literal['auto', 'diagonal', 'dense'] | None
    delta: float | None
    form: Literal['auto', 'stages', 'discounted'] | None
    gamma: float | None
    sweeps: int | None
    prior_std: float | None
    beta: float | None
    eta_scale: float | None
    updates: int | None
    sampler: Literal['exact', 'loop', 'sgld', 'svrg', 'underdamped'] | None
    friction: float | None
    feel_good: float | None
    batch: int | None
    snapshot_every: int | None
    samples: int | None

class MSLMCLSVI(LinearAgent):
    """LMC-LSVI that is greedy in the maximum of M Langevin samples. help(langevin.MSLMCLSVI) explains the parameters."""
    def __init__(
        self, env: Any, *, seed: int = 0, schedule_steps: int | None = None, schedule_episodes: int | None = None,
        reward_range: tuple[float, float] | None = None,
        **params: Unpack[MSLMCLSVIParams],
    ) -> None: ...

class LSVIUCBParams(LinearParams, total=False):
    features: str | None
    gram: Literal['auto', 'diagonal', 'dense'] | None
    delta: float | None
    form: Literal['auto', 'stages', 'discounted'] | None
    gamma: float | None
    sweeps: int | None
    prior_std: float | None
    bonus: float | None

class LSVIUCB(LinearAgent):
    """LSVI with an upper-confidence bonus. help(langevin.LSVIUCB) explains the parameters."""
    def __init__(
        self, env: Any, *, seed: int = 0, schedule_steps: int | None = None, schedule_episodes: int | None = None,
        reward_range: tuple[float, float] | None = None,
        **params: Unpack[LSVIUCBParams],
    ) -> None: ...

class LSVIPHEParams(LinearParams, total=False):
    features: str | None
    gram: Literal['auto', 'diagonal', 'dense'] | None
    delta: float | None
    form: Literal['auto', 'stages', 'discounted'] | None
    gamma: float | None
    sweeps: int | None
    prior_std: float | None
    sigma: float | None
    samples: int | None

class LSVIPHE(LinearAgent):
    """LSVI that is greedy in the maximum of M regressions on perturbed histories. help(langevin.LSVIPHE) explains the parameters."""
    def __init__(
        self, env: Any, *, seed: int = 0, schedule_steps: int | None = None, schedule_episodes: int | None = None,
        reward_range: tuple[float, float] | None = None,
        **params: Unpack[LSVIPHEParams],
    ) -> None: ...

class OPTRLSVIParams(LinearParams, total=False):
    features: str | None
    gram: Literal['auto', 'diagonal', 'dense'] | None
    delta: float | None
    form: Literal['auto', 'stages', 'discounted'] | None
    gamma: float | None
    sweeps: int | None
    prior_std: float | None
    sigma: float | None
    alpha_low: float | None
    alpha_high: float | None

class OPTRLSVI(LinearAgent):
    """Randomized LSVI with an optimistic default value where data are scarce. help(langevin.OPTRLSVI) explains the parameters."""
    def __init__(
        self, env: Any, *, seed: int = 0, schedule_steps: int | None = None, schedule_episodes: int | None = None,
        reward_range: tuple[float, float] | None = None,
        **params: Unpack[OPTRLSVIParams],
    ) -> None: ...

class OPPOParams(LinearParams, total=False):
    features: str | None
    gram: Literal['auto', 'diagonal', 'dense'] | None
    delta: float | None
    bonus: float | None
    step: float | None

class OPPO(LinearAgent):
    """Optimistic proximal policy optimization (for linear and tabular MDPs). help(langevin.OPPO) explains the parameters."""
    def __init__(
        self, env: Any, *, seed: int = 0, schedule_steps: int | None = None, schedule_episodes: int | None = None,
        reward_range: tuple[float, float] | None = None,
        **params: Unpack[OPPOParams],
    ) -> None: ...

class RLSVIParams(LinearParams, total=False):
    features: str | None
    gram: Literal['auto', 'diagonal', 'dense'] | None
    form: Literal['auto', 'stages', 'discounted'] | None
    gamma: float | None
    sweeps: int | None
    prior_std: float | None
    sigma: float | None

class RLSVI(LinearAgent):
    """Randomized LSVI: greedy in one draw of Bayesian linear regression. help(langevin.RLSVI) explains the parameters."""
    def __init__(
        self, env: Any, *, seed: int = 0, schedule_steps: int | None = None, schedule_episodes: int | None = None,
        reward_range: tuple[float, float] | None = None,
        **params: Unpack[RLSVIParams],
    ) -> None: ...

class PSRLParams(LinearParams, total=False):
    sigma: float | None
    prior_mass: float | None

class PSRL(LinearAgent):
    """Posterior sampling: plays the optimal policy of a model drawn from the posterior. help(langevin.PSRL) explains the parameters."""
    def __init__(
        self, env: Any, *, seed: int = 0, schedule_steps: int | None = None, schedule_episodes: int | None = None,
        reward_range: tuple[float, float] | None = None,
        **params: Unpack[PSRLParams],
    ) -> None: ...

class LMCTSParams(LinearParams, total=False):
    features: str | None
    gram: Literal['auto', 'diagonal', 'dense'] | None
    delta: float | None
    form: Literal['auto', 'stages', 'discounted'] | None
    gamma: float | None
    sweeps: int | None
    prior_std: float | None
    beta: float | None
    eta_scale: float | None
    updates: int | None
    sampler: Literal['exact', 'loop', 'sgld', 'svrg', 'underdamped'] | None
    friction: float | None
    feel_good: float | None
    batch: int | None
    snapshot_every: int | None

class LMCTS(LinearAgent):
    """Langevin Monte Carlo Thompson sampling, for bandits. help(langevin.LMCTS) explains the parameters."""
    def __init__(
        self, env: Any, *, seed: int = 0, schedule_steps: int | None = None, schedule_episodes: int | None = None,
        reward_range: tuple[float, float] | None = None,
        **params: Unpack[LMCTSParams],
    ) -> None: ...

class LinTSParams(LinearParams, total=False):
    features: str | None
    gram: Literal['auto', 'diagonal', 'dense'] | None
    form: Literal['auto', 'stages', 'discounted'] | None
    gamma: float | None
    sweeps: int | None
    prior_std: float | None
    sigma: float | None

class LinTS(LinearAgent):
    """Linear Thompson sampling, for bandits. help(langevin.LinTS) explains the parameters."""
    def __init__(
        self, env: Any, *, seed: int = 0, schedule_steps: int | None = None, schedule_episodes: int | None = None,
        reward_range: tuple[float, float] | None = None,
        **params: Unpack[LinTSParams],
    ) -> None: ...

class LinUCBParams(LinearParams, total=False):
    features: str | None
    gram: Literal['auto', 'diagonal', 'dense'] | None
    delta: float | None
    form: Literal['auto', 'stages', 'discounted'] | None
    gamma: float | None
    sweeps: int | None
    prior_std: float | None
    bonus: float | None

class LinUCB(LinearAgent):
    """Linear upper confidence bounds, for bandits. help(langevin.LinUCB) explains the parameters."""
    def __init__(
        self, env: Any, *, seed: int = 0, schedule_steps: int | None = None, schedule_episodes: int | None = None,
        reward_range: tuple[float, float] | None = None,
        **params: Unpack[LinUCBParams],
    ) -> None: ...

class DeepParams(TypedDict, total=False):
    net: Literal['auto', 'mlp', 'conv', 'nature'] | None
    conv: str | None
    hidden: Sequence[int] | int | None
    layer_norm: bool | None
    precision: Literal['float', 'bf16x3', 'bf16'] | None
    gamma: float | None
    batch: int | None
    update_every: int | None

class DQNParams(DeepParams, AdamParams, total=False):
    preset: Literal['auto', 'small', 'atari', 'zoo'] | None
    dueling: bool | None
    scale_input: Literal['auto', 'false', 'true', 'channels'] | bool | None
    normalize_obs: Literal['false', 'true', 'auto'] | bool | None
    scale_rewards: Literal['false', 'true', 'limited'] | bool | None
    n_step: int | None
    replay: int | None
    warmup: int | None
    updates: int | None
    target_every: int | None
    double: bool | None
    loss: Literal['mse', 'huber'] | None
    shared_bias: bool | None
    prioritized: bool | None
    priority_alpha: float | None
    priority_beta: float | None
    priority_beta_end: float | None
    priority_beta_steps: int | None
    priority_uniform: float | None
    epsilon_start: float | None
    epsilon_end: float | None
    epsilon_steps: int | None
    epsilon_eval: float | None

class DQN(Agent):
    """Deep Q-network with epsilon-greedy exploration. help(langevin.DQN) explains the parameters."""
    def __init__(
        self, env: Any, *, seed: int = 0, schedule_steps: int | None = None, schedule_episodes: int | None = None,
        reward_range: tuple[float, float] | None = None, optimizer: str | None = None,
        **params: Unpack[DQNParams],
    ) -> None: ...

class DoubleDQNParams(DeepParams, AdamParams, total=False):
    preset: Literal['auto', 'small', 'atari'] | None
    dueling: bool | None
    scale_input: Literal['auto', 'false', 'true', 'channels'] | bool | None
    normalize_obs: Literal['false', 'true', 'auto'] | bool | None
    scale_rewards: Literal['false', 'true', 'limited'] | bool | None
    n_step: int | None
    replay: int | None
    warmup: int | None
    updates: int | None
    target_every: int | None
    double: bool | None
    loss: Literal['mse', 'huber'] | None
    shared_bias: bool | None
    prioritized: bool | None
    priority_alpha: float | None
    priority_beta: float | None
    priority_beta_end: float | None
    priority_beta_steps: int | None
    priority_uniform: float | None
    epsilon_start: float | None
    epsilon_end: float | None
    epsilon_steps: int | None
    epsilon_eval: float | None

class DoubleDQN(Agent):
    """DQN whose targets separate the choice of an action from its value. help(langevin.DoubleDQN) explains the parameters."""
    def __init__(
        self, env: Any, *, seed: int = 0, schedule_steps: int | None = None, schedule_episodes: int | None = None,
        reward_range: tuple[float, float] | None = None, optimizer: str | None = None,
        **params: Unpack[DoubleDQNParams],
    ) -> None: ...

class PrioritizedDQNParams(DeepParams, AdamParams, total=False):
    preset: Literal['auto', 'small', 'atari'] | None
    dueling: bool | None
    scale_input: Literal['auto', 'false', 'true', 'channels'] | bool | None
    normalize_obs: Literal['false', 'true', 'auto'] | bool | None
    scale_rewards: Literal['false', 'true', 'limited'] | bool | None
    n_step: int | None
    replay: int | None
    warmup: int | None
    updates: int | None
    target_every: int | None
    double: bool | None
    loss: Literal['mse', 'huber'] | None
    shared_bias: bool | None
    prioritized: bool | None
    priority_alpha: float | None
    priority_beta: float | None
    priority_beta_end: float | None
    priority_beta_steps: int | None
    priority_uniform: float | None
    epsilon_start: float | None
    epsilon_end: float | None
    epsilon_steps: int | None
    epsilon_eval: float | None

class PrioritizedDQN(Agent):
    """Double DQN that replays in proportion to its errors. help(langevin.PrioritizedDQN) explains the parameters."""
    def __init__(
        self, env: Any, *, seed: int = 0, schedule_steps: int | None = None, schedule_episodes: int | None = None,
        reward_range: tuple[float, float] | None = None, optimizer: str | None = None,
        **params: Unpack[PrioritizedDQNParams],
    ) -> None: ...

class C51Params(DeepParams, AdamParams, total=False):
    preset: Literal['auto', 'small', 'atari'] | None
    dueling: bool | None
    scale_input: Literal['auto', 'false', 'true', 'channels'] | bool | None
    normalize_obs: Literal['false', 'true', 'auto'] | bool | None
    scale_rewards: Literal['false', 'true', 'limited'] | bool | None
    n_step: int | None
    replay: int | None
    warmup: int | None
    updates: int | None
    target_every: int | None
    double: bool | None
    prioritized: bool | None
    priority_alpha: float | None
    priority_beta: float | None
    priority_beta_end: float | None
    priority_beta_steps: int | None
    priority_uniform: float | None
    grad_clip: float | None
    epsilon_start: float | None
    epsilon_end: float | None
    epsilon_steps: int | None
    epsilon_eval: float | None
    atoms: int | None
    v_min: float | None
    v_max: float | None

class C51(Agent):
    """DQN that learns the distribution of returns on a grid. help(langevin.C51) explains the parameters."""
    def __init__(
        self, env: Any, *, seed: int = 0, schedule_steps: int | None = None, schedule_episodes: int | None = None,
        reward_range: tuple[float, float] | None = None, optimizer: str | None = None,
        **params: Unpack[C51Params],
    ) -> None: ...

class QRDQNParams(DeepParams, AdamParams, total=False):
    preset: Literal['auto', 'small', 'atari'] | None
    dueling: bool | None
    scale_input: Literal['auto', 'false', 'true', 'channels'] | bool | None
    normalize_obs: Literal['false', 'true', 'auto'] | bool | None
    scale_rewards: Literal['false', 'true', 'limited'] | bool | None
    n_step: int | None
    replay: int | None
    warmup: int | None
    updates: int | None
    target_every: int | None
    double: bool | None
    prioritized: bool | None
    priority_alpha: float | None
    priority_beta: float | None
    priority_beta_end: float | None
    priority_beta_steps: int | None
    priority_uniform: float | None
    grad_clip: float | None
    epsilon_start: float | None
    epsilon_end: float | None
    epsilon_steps: int | None
    epsilon_eval: float | None
    quantiles: int | None
    kappa: float | None

class QRDQN(Agent):
    """DQN that learns quantiles of the return. help(langevin.QRDQN) explains the parameters."""
    def __init__(
        self, env: Any, *, seed: int = 0, schedule_steps: int | None = None, schedule_episodes: int | None = None,
        reward_range: tuple[float, float] | None = None, optimizer: str | None = None,
        **params: Unpack[QRDQNParams],
    ) -> None: ...

class IQNParams(DeepParams, AdamParams, total=False):
    preset: Literal['auto', 'small', 'atari'] | None
    dueling: bool | None
    scale_input: Literal['auto', 'false', 'true', 'channels'] | bool | None
    normalize_obs: Literal['false', 'true', 'auto'] | bool | None
    scale_rewards: Literal['false', 'true', 'limited'] | bool | None
    n_step: int | None
    replay: int | None
    warmup: int | None
    updates: int | None
    target_every: int | None
    double: bool | None
    prioritized: bool | None
    priority_alpha: float | None
    priority_beta: float | None
    priority_beta_end: float | None
    priority_beta_steps: int | None
    priority_uniform: float | None
    grad_clip: float | None
    epsilon_start: float | None
    epsilon_end: float | None
    epsilon_steps: int | None
    epsilon_eval: float | None
    cosines: int | None
    taus: int | None
    taus_act: int | None
    kappa: float | None

class IQN(Agent):
    """DQN that learns the quantile function of the return. help(langevin.IQN) explains the parameters."""
    def __init__(
        self, env: Any, *, seed: int = 0, schedule_steps: int | None = None, schedule_episodes: int | None = None,
        reward_range: tuple[float, float] | None = None, optimizer: str | None = None,
        **params: Unpack[IQNParams],
    ) -> None: ...

class NoisyNetDQNParams(DeepParams, AdamParams, total=False):
    preset: Literal['auto', 'small', 'atari'] | None
    dueling: bool | None
    scale_input: Literal['auto', 'false', 'true', 'channels'] | bool | None
    normalize_obs: Literal['false', 'true', 'auto'] | bool | None
    scale_rewards: Literal['false', 'true', 'limited'] | bool | None
    n_step: int | None
    replay: int | None
    warmup: int | None
    updates: int | None
    target_every: int | None
    double: bool | None
    loss: Literal['mse', 'huber'] | None
    prioritized: bool | None
    priority_alpha: float | None
    priority_beta: float | None
    priority_beta_end: float | None
    priority_beta_steps: int | None
    priority_uniform: float | None
    sigma0: float | None

class NoisyNetDQN(Agent):
    """DQN whose dense layers have learned noise. help(langevin.NoisyNetDQN) explains the parameters."""
    def __init__(
        self, env: Any, *, seed: int = 0, schedule_steps: int | None = None, schedule_episodes: int | None = None,
        reward_range: tuple[float, float] | None = None, optimizer: str | None = None,
        **params: Unpack[NoisyNetDQNParams],
    ) -> None: ...

class BootstrappedDQNParams(DeepParams, AdamParams, total=False):
    preset: Literal['auto', 'small', 'atari'] | None
    dueling: bool | None
    scale_input: Literal['auto', 'false', 'true', 'channels'] | bool | None
    normalize_obs: Literal['false', 'true', 'auto'] | bool | None
    scale_rewards: Literal['false', 'true', 'limited'] | bool | None
    n_step: int | None
    replay: int | None
    warmup: int | None
    updates: int | None
    target_every: int | None
    double: bool | None
    loss: Literal['mse', 'huber'] | None
    epsilon_start: float | None
    epsilon_end: float | None
    epsilon_steps: int | None
    epsilon_eval: float | None
    heads: int | None
    members: Literal['heads', 'networks'] | None
    prior_scale: float | None
    mask: float | None
    eval: Literal['sample', 'vote'] | None

class BootstrappedDQN(Agent):
    """An ensemble of DQNs with random priors, one member per episode. help(langevin.BootstrappedDQN) explains the parameters."""
    def __init__(
        self, env: Any, *, seed: int = 0, schedule_steps: int | None = None, schedule_episodes: int | None = None,
        reward_range: tuple[float, float] | None = None, optimizer: str | None = None,
        **params: Unpack[BootstrappedDQNParams],
    ) -> None: ...

class HyperAgentParams(DeepParams, AdamParams, total=False):
    preset: Literal['auto', 'small', 'atari'] | None
    dueling: bool | None
    scale_input: Literal['auto', 'false', 'true', 'channels'] | bool | None
    normalize_obs: Literal['false', 'true', 'auto'] | bool | None
    scale_rewards: Literal['false', 'true', 'limited'] | bool | None
    n_step: int | None
    replay: int | None
    warmup: int | None
    updates: int | None
    target_every: int | None
    double: bool | None
    grad_clip: float | None
    index_dim: int | None
    indices: int | None
    prior_scale: float | None
    sigma: float | None
    eval: Literal['sample', 'mean'] | None

class HyperAgent(Agent):
    """DQN whose last layer is linear in a random index, one index per episode. help(langevin.HyperAgent) explains the parameters."""
    def __init__(
        self, env: Any, *, seed: int = 0, schedule_steps: int | None = None, schedule_episodes: int | None = None,
        reward_range: tuple[float, float] | None = None, optimizer: str | None = None,
        **params: Unpack[HyperAgentParams],
    ) -> None: ...

class AdamLMCDQNParams(DeepParams, ASGLDParams, total=False):
    preset: Literal['auto', 'small', 'pictures', 'small-pictures', 'authors'] | None
    dueling: bool | None
    scale_input: Literal['auto', 'false', 'true', 'channels'] | bool | None
    normalize_obs: Literal['false', 'true', 'auto'] | bool | None
    scale_rewards: Literal['false', 'true', 'limited'] | bool | None
    n_step: int | None
    replay: int | None
    warmup: int | None
    updates: int | None
    target_every: int | None
    double: bool | None
    loss: Literal['mse', 'huber'] | None
    shared_bias: bool | None
    one_hot_gain: float | None
    grad_clip: float | None
    epsilon_start: float | None
    epsilon_end: float | None
    epsilon_steps: int | None
    epsilon_share: float | None
    final_lr: float | None
    average: int | None
    stages: Literal['shared', 'per-stage'] | None

class AdamLMCDQN(Agent):
    """Langevin Monte Carlo DQN with Adam SGLD (the paper's Algorithm 2). help(langevin.AdamLMCDQN) explains the parameters."""
    def __init__(
        self, env: Any, *, seed: int = 0, schedule_steps: int | None = None, schedule_episodes: int | None = None,
        reward_range: tuple[float, float] | None = None, optimizer: str | None = None,
        **params: Unpack[AdamLMCDQNParams],
    ) -> None: ...

class LMCDQNParams(DeepParams, SGLDParams, total=False):
    preset: Literal['auto', 'small', 'authors'] | None
    dueling: bool | None
    scale_input: Literal['auto', 'false', 'true', 'channels'] | bool | None
    normalize_obs: Literal['false', 'true', 'auto'] | bool | None
    scale_rewards: Literal['false', 'true', 'limited'] | bool | None
    n_step: int | None
    replay: int | None
    warmup: int | None
    updates: int | None
    target_every: int | None
    double: bool | None
    loss: Literal['mse', 'huber'] | None
    shared_bias: bool | None
    one_hot_gain: float | None
    grad_clip: float | None
    epsilon_start: float | None
    epsilon_end: float | None
    epsilon_steps: int | None
    epsilon_share: float | None
    final_lr: float | None
    average: int | None
    stages: Literal['shared', 'per-stage'] | None

class LMCDQN(Agent):
    """Langevin Monte Carlo DQN without preconditioning (SGLD). help(langevin.LMCDQN) explains the parameters."""
    def __init__(
        self, env: Any, *, seed: int = 0, schedule_steps: int | None = None, schedule_episodes: int | None = None,
        reward_range: tuple[float, float] | None = None, optimizer: str | None = None,
        **params: Unpack[LMCDQNParams],
    ) -> None: ...

class PSGLDDQNParams(DeepParams, PSGLDParams, total=False):
    preset: Literal['auto', 'small', 'authors'] | None
    dueling: bool | None
    scale_input: Literal['auto', 'false', 'true', 'channels'] | bool | None
    normalize_obs: Literal['false', 'true', 'auto'] | bool | None
    scale_rewards: Literal['false', 'true', 'limited'] | bool | None
    n_step: int | None
    replay: int | None
    warmup: int | None
    updates: int | None
    target_every: int | None
    double: bool | None
    loss: Literal['mse', 'huber'] | None
    shared_bias: bool | None
    one_hot_gain: float | None
    grad_clip: float | None
    epsilon_start: float | None
    epsilon_end: float | None
    epsilon_steps: int | None
    epsilon_share: float | None
    final_lr: float | None
    average: int | None
    stages: Literal['shared', 'per-stage'] | None

class PSGLDDQN(Agent):
    """Langevin Monte Carlo DQN with RMSProp preconditioning (pSGLD). help(langevin.PSGLDDQN) explains the parameters."""
    def __init__(
        self, env: Any, *, seed: int = 0, schedule_steps: int | None = None, schedule_episodes: int | None = None,
        reward_range: tuple[float, float] | None = None, optimizer: str | None = None,
        **params: Unpack[PSGLDDQNParams],
    ) -> None: ...

class LangevinDQNParams(DeepParams, LangevinAdamParams, total=False):
    preset: Literal['auto', 'small', 'authors'] | None
    dueling: bool | None
    scale_input: Literal['auto', 'false', 'true', 'channels'] | bool | None
    normalize_obs: Literal['false', 'true', 'auto'] | bool | None
    scale_rewards: Literal['false', 'true', 'limited'] | bool | None
    n_step: int | None
    replay: int | None
    warmup: int | None
    updates: int | None
    target_every: int | None
    double: bool | None
    loss: Literal['mse', 'huber'] | None
    shared_bias: bool | None
    one_hot_gain: float | None
    grad_clip: float | None
    epsilon_start: float | None
    epsilon_end: float | None
    epsilon_steps: int | None
    epsilon_share: float | None
    final_lr: float | None
    average: int | None
    stages: Literal['shared', 'per-stage'] | None

class LangevinDQN(Agent):
    """DQN with Adam and preconditioned noise (Langevin DQN). help(langevin.LangevinDQN) explains the parameters."""
    def __init__(
        self, env: Any, *, seed: int = 0, schedule_steps: int | None = None, schedule_episodes: int | None = None,
        reward_range: tuple[float, float] | None = None, optimizer: str | None = None,
        **params: Unpack[LangevinDQNParams],
    ) -> None: ...

class FGLMCDQNParams(DeepParams, ASGLDParams, total=False):
    preset: Literal['auto', 'small', 'authors'] | None
    dueling: bool | None
    scale_input: Literal['auto', 'false', 'true', 'channels'] | bool | None
    normalize_obs: Literal['false', 'true', 'auto'] | bool | None
    scale_rewards: Literal['false', 'true', 'limited'] | bool | None
    n_step: int | None
    replay: int | None
    warmup: int | None
    updates: int | None
    target_every: int | None
    double: bool | None
    loss: Literal['mse', 'huber'] | None
    shared_bias: bool | None
    one_hot_gain: float | None
    grad_clip: float | None
    epsilon_start: float | None
    epsilon_end: float | None
    epsilon_steps: int | None
    epsilon_share: float | None
    final_lr: float | None
    average: int | None
    stages: Literal['shared', 'per-stage'] | None
    feel_good: float | None

class FGLMCDQN(Agent):
    """Adam LMCDQN with the feel-good term. help(langevin.FGLMCDQN) explains the parameters."""
    def __init__(
        self, env: Any, *, seed: int = 0, schedule_steps: int | None = None, schedule_episodes: int | None = None,
        reward_range: tuple[float, float] | None = None, optimizer: str | None = None,
        **params: Unpack[FGLMCDQNParams],
    ) -> None: ...

class ULMCDQNParams(DeepParams, ULMCParams, total=False):
    preset: Literal['auto', 'small', 'authors'] | None
    dueling: bool | None
    scale_input: Literal['auto', 'false', 'true', 'channels'] | bool | None
    normalize_obs: Literal['false', 'true', 'auto'] | bool | None
    scale_rewards: Literal['false', 'true', 'limited'] | bool | None
    n_step: int | None
    replay: int | None
    warmup: int | None
    updates: int | None
    target_every: int | None
    double: bool | None
    loss: Literal['mse', 'huber'] | None
    shared_bias: bool | None
    one_hot_gain: float | None
    grad_clip: float | None
    epsilon_start: float | None
    epsilon_end: float | None
    epsilon_steps: int | None
    epsilon_share: float | None
    final_lr: float | None
    average: int | None
    stages: Literal['shared', 'per-stage'] | None

class ULMCDQN(Agent):
    """Underdamped Langevin Monte Carlo DQN. help(langevin.ULMCDQN) explains the parameters."""
    def __init__(
        self, env: Any, *, seed: int = 0, schedule_steps: int | None = None, schedule_episodes: int | None = None,
        reward_range: tuple[float, float] | None = None, optimizer: str | None = None,
        **params: Unpack[ULMCDQNParams],
    ) -> None: ...

class FGULMCDQNParams(DeepParams, ULMCParams, total=False):
    preset: Literal['auto', 'small', 'authors'] | None
    dueling: bool | None
    scale_input: Literal['auto', 'false', 'true', 'channels'] | bool | None
    normalize_obs: Literal['false', 'true', 'auto'] | bool | None
    scale_rewards: Literal['false', 'true', 'limited'] | bool | None
    n_step: int | None
    replay: int | None
    warmup: int | None
    updates: int | None
    target_every: int | None
    double: bool | None
    loss: Literal['mse', 'huber'] | None
    shared_bias: bool | None
    one_hot_gain: float | None
    grad_clip: float | None
    epsilon_start: float | None
    epsilon_end: float | None
    epsilon_steps: int | None
    epsilon_share: float | None
    final_lr: float | None
    average: int | None
    stages: Literal['shared', 'per-stage'] | None
    feel_good: float | None

class FGULMCDQN(Agent):
    """ULMCDQN with the feel-good term. help(langevin.FGULMCDQN) explains the parameters."""
    def __init__(
        self, env: Any, *, seed: int = 0, schedule_steps: int | None = None, schedule_episodes: int | None = None,
        reward_range: tuple[float, float] | None = None, optimizer: str | None = None,
        **params: Unpack[FGULMCDQNParams],
    ) -> None: ...

class PathwiseLMCDQNParams(DeepParams, AdamParams, total=False):
    preset: Literal['auto', 'small', 'pictures'] | None
    prior: float | None
    sigma: float | None
    rho: float | None
    work: int | None
    cells: int | None

class PathwiseLMCDQN(Agent):
    """Deep exploration: a Langevin chain on the noise of a posterior over any observation. help(langevin.PathwiseLMCDQN) explains the parameters."""
    def __init__(
        self, env: Any, *, seed: int = 0, schedule_steps: int | None = None, schedule_episodes: int | None = None,
        reward_range: tuple[float, float] | None = None, optimizer: str | None = None,
        **params: Unpack[PathwiseLMCDQNParams],
    ) -> None: ...

class ContinuousParams(TypedDict, total=False):
    preset: Literal['auto', 'small', 'atari'] | None
    net: Literal['auto', 'mlp', 'conv', 'nature'] | None
    conv: str | None
    hidden: Sequence[int] | int | None
    layer_norm: bool | None
    precision: Literal['float', 'bf16x3', 'bf16'] | None
    scale_input: Literal['auto', 'false', 'true', 'channels'] | bool | None
    normalize_obs: Literal['false', 'true', 'auto'] | bool | None
    scale_rewards: Literal['false', 'true', 'limited'] | bool | None
    gamma: float | None
    n_step: int | None
    batch: int | None
    replay: int | None
    warmup: int | None
    update_every: int | None
    updates: int | None
    grad_clip: float | None
    tau: float | None
    actor_lr: float | None
    policy_every: int | None

class SACParams(ContinuousParams, AdamParams, total=False):
    alpha: float | None
    learn_alpha: bool | None
    alpha_lr: float | None
    target_entropy: float | None

class SAC(Agent):
    """Soft actor-critic: continuous actions, a learned temperature. help(langevin.SAC) explains the parameters."""
    def __init__(
        self, env: Any, *, seed: int = 0, schedule_steps: int | None = None, schedule_episodes: int | None = None,
        reward_range: tuple[float, float] | None = None, optimizer: str | None = None,
        **params: Unpack[SACParams],
    ) -> None: ...

class TD3Params(ContinuousParams, AdamParams, total=False):
    explore_noise: float | None
    target_noise: float | None
    target_noise_clip: float | None

class TD3(Agent):
    """Twin delayed DDPG: continuous actions, a deterministic policy. help(langevin.TD3) explains the parameters."""
    def __init__(
        self, env: Any, *, seed: int = 0, schedule_steps: int | None = None, schedule_episodes: int | None = None,
        reward_range: tuple[float, float] | None = None, optimizer: str | None = None,
        **params: Unpack[TD3Params],
    ) -> None: ...

class DSACParams(ContinuousParams, AdamParams, total=False):
    alpha: float | None
    learn_alpha: bool | None
    alpha_lr: float | None
    target_entropy: float | None

class DSAC(Agent):
    """DSAC-T: soft actor-critic whose critics learn the distribution of returns. help(langevin.DSAC) explains the parameters."""
    def __init__(
        self, env: Any, *, seed: int = 0, schedule_steps: int | None = None, schedule_episodes: int | None = None,
        reward_range: tuple[float, float] | None = None, optimizer: str | None = None,
        **params: Unpack[DSACParams],
    ) -> None: ...

class LSACParams(ContinuousParams, ASGLDParams, total=False):
    alpha: float | None
    learn_alpha: bool | None
    alpha_lr: float | None
    target_entropy: float | None
    variant: Literal['paper', 'code', 'repaired'] | None
    pairs: int | None
    noise: float | None
    prior_scale: float | None

class LSAC(Agent):
    """Langevin soft actor-critic: continuous actions, critics sampled by Langevin steps. help(langevin.LSAC) explains the parameters."""
    def __init__(
        self, env: Any, *, seed: int = 0, schedule_steps: int | None = None, schedule_episodes: int | None = None,
        reward_range: tuple[float, float] | None = None, optimizer: str | None = None,
        **params: Unpack[LSACParams],
    ) -> None: ...
