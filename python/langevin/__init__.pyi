# Written by scripts/python-stubs from the library's registry. Do not edit.
from typing import Any, Literal, Sequence

from ._agent import Agent as Agent
from ._agent_files import load as load
from ._linear_agent import LinearAgent as LinearAgent
from ._library import EnvironmentFailed as EnvironmentFailed, Error as Error, FileError as FileError
from ._library import Interrupted as Interrupted, NumericError as NumericError, OutOfMemory as OutOfMemory
from ._library import UsageError as UsageError
from ._mdp import Model as Model, TabularMDP as TabularMDP
from ._runs import evaluate as evaluate, read_run as read_run, read_runs as read_runs, run as run, sweep as sweep
from .envs import NativeEnv as NativeEnv, NativeVectorEnv as NativeVectorEnv

__version__: str

def agents() -> dict[str, type[Agent]]: ...
def kernels() -> str: ...

class LMCLSVI(LinearAgent):
    """Langevin Monte Carlo LSVI (the paper's Algorithm 1).

    env: a Gymnasium environment with Discrete actions or the name of one, a vector of such, or a TabularMDP.
    seed: of the agent, and of the environment's first reset in learn().
    steps, episodes: how long it will be trained, for schedules that depend on it; left out, the first learn() tells.
    reward_range: the least and the greatest reward, which Gymnasium does not tell, for agents that ask for it.
    Whatever is None is filled in by a preset, or has the default that is named below.

    Parameters of lmc-lsvi:

        lambda_: ridge: Lambda_h = lambda I + sum phi phi^T. Default 1e-6; a number in (0, 1e12].
        pool: share the data between stages (stationary problems only); auto: where that is right. Default false;
            false | true | auto.
        features: phi(s,a); auto: the environment's own where it has them, else one-hot. Default auto; auto | one-
            hot | env.
        gram: how Lambda is kept; diagonal needs one-hot features. Default auto; auto | diagonal | dense.
        schedule: tuned: the constants given here; theory: those of the regret theorem. Default tuned; tuned |
            theory.
        delta: failure probability in the constants of schedule = theory. Default 0.2; a number in (0, 1).
        beta: inverse temperature; the noise has scale 1/sqrt(beta); inf: no noise. Default 100; a number in (0,
            inf].
        eta_scale: step size eta in units of 1/lambda_max. Default 0.25; a number in (0, 0.5).
        updates: J, chain steps an episode and stage; 0: the theorem's J_k. Default 0; a whole number in [0, 1e12].
        sampler: exact: the J steps in closed form; loop: one by one; sgld, svrg: minibatch gradients. Default
            exact; exact | loop | sgld | svrg.
        batch: samples in a minibatch of sgld and svrg. Default 32; a whole number in [1, 1e6].
        snapshot_every: svrg: steps between full gradients. Default 32; a whole number in [1, 1e9].
    """

    def __init__(
        self,
        env: Any,
        *,
        seed: int = 0,
        steps: int | None = None,
        episodes: int | None = None,
        reward_range: tuple[float, float] | None = None,
        lambda_: float | None = None,
        pool: Literal['false', 'true', 'auto'] | bool | None = None,
        features: Literal['auto', 'one-hot', 'env'] | None = None,
        gram: Literal['auto', 'diagonal', 'dense'] | None = None,
        schedule: Literal['tuned', 'theory'] | None = None,
        delta: float | None = None,
        beta: float | None = None,
        eta_scale: float | None = None,
        updates: int | None = None,
        sampler: Literal['exact', 'loop', 'sgld', 'svrg'] | None = None,
        batch: int | None = None,
        snapshot_every: int | None = None,
    ) -> None: ...

class MSLMCLSVI(LinearAgent):
    """LMC-LSVI that is greedy in the maximum of M Langevin samples.

    env: a Gymnasium environment with Discrete actions or the name of one, a vector of such, or a TabularMDP.
    seed: of the agent, and of the environment's first reset in learn().
    steps, episodes: how long it will be trained, for schedules that depend on it; left out, the first learn() tells.
    reward_range: the least and the greatest reward, which Gymnasium does not tell, for agents that ask for it.
    Whatever is None is filled in by a preset, or has the default that is named below.

    Parameters of ms-lmc-lsvi:

        lambda_: ridge: Lambda_h = lambda I + sum phi phi^T. Default 1e-6; a number in (0, 1e12].
        pool: share the data between stages (stationary problems only); auto: where that is right. Default false;
            false | true | auto.
        features: phi(s,a); auto: the environment's own where it has them, else one-hot. Default auto; auto | one-
            hot | env.
        gram: how Lambda is kept; diagonal needs one-hot features. Default auto; auto | diagonal | dense.
        schedule: tuned: the constants given here; theory: those of the regret theorem. Default tuned; tuned |
            theory.
        delta: failure probability in the constants of schedule = theory. Default 0.2; a number in (0, 1).
        beta: inverse temperature; the noise has scale 1/sqrt(beta); inf: no noise. Default 100; a number in (0,
            inf].
        eta_scale: step size eta in units of 1/lambda_max. Default 0.25; a number in (0, 0.5).
        updates: J, chain steps an episode and stage; 0: the theorem's J_k. Default 0; a whole number in [0, 1e12].
        sampler: exact: the J steps in closed form; loop: one by one; sgld, svrg: minibatch gradients. Default
            exact; exact | loop | sgld | svrg.
        batch: samples in a minibatch of sgld and svrg. Default 32; a whole number in [1, 1e6].
        snapshot_every: svrg: steps between full gradients. Default 32; a whole number in [1, 1e9].
        samples: M, samples of w a stage; Q is their maximum. Default 10; a whole number in [1, 1e6].
    """

    def __init__(
        self,
        env: Any,
        *,
        seed: int = 0,
        steps: int | None = None,
        episodes: int | None = None,
        reward_range: tuple[float, float] | None = None,
        lambda_: float | None = None,
        pool: Literal['false', 'true', 'auto'] | bool | None = None,
        features: Literal['auto', 'one-hot', 'env'] | None = None,
        gram: Literal['auto', 'diagonal', 'dense'] | None = None,
        schedule: Literal['tuned', 'theory'] | None = None,
        delta: float | None = None,
        beta: float | None = None,
        eta_scale: float | None = None,
        updates: int | None = None,
        sampler: Literal['exact', 'loop', 'sgld', 'svrg'] | None = None,
        batch: int | None = None,
        snapshot_every: int | None = None,
        samples: int | None = None,
    ) -> None: ...

class LSVIUCB(LinearAgent):
    """LSVI with an upper-confidence bonus.

    env: a Gymnasium environment with Discrete actions or the name of one, a vector of such, or a TabularMDP.
    seed: of the agent, and of the environment's first reset in learn().
    steps, episodes: how long it will be trained, for schedules that depend on it; left out, the first learn() tells.
    reward_range: the least and the greatest reward, which Gymnasium does not tell, for agents that ask for it.
    Whatever is None is filled in by a preset, or has the default that is named below.

    Parameters of lsvi-ucb:

        lambda_: ridge: Lambda_h = lambda I + sum phi phi^T. Default 1e-6; a number in (0, 1e12].
        pool: share the data between stages (stationary problems only); auto: where that is right. Default false;
            false | true | auto.
        features: phi(s,a); auto: the environment's own where it has them, else one-hot. Default auto; auto | one-
            hot | env.
        gram: how Lambda is kept; diagonal needs one-hot features. Default auto; auto | diagonal | dense.
        schedule: tuned: the constants given here; theory: those of the regret theorem. Default tuned; tuned |
            theory.
        delta: failure probability in the constants of schedule = theory. Default 0.2; a number in (0, 1).
        bonus: width of the confidence bound, in units of ||phi||_{Lambda^-1}. Default 0.1; a number in [0, 1e12].
    """

    def __init__(
        self,
        env: Any,
        *,
        seed: int = 0,
        steps: int | None = None,
        episodes: int | None = None,
        reward_range: tuple[float, float] | None = None,
        lambda_: float | None = None,
        pool: Literal['false', 'true', 'auto'] | bool | None = None,
        features: Literal['auto', 'one-hot', 'env'] | None = None,
        gram: Literal['auto', 'diagonal', 'dense'] | None = None,
        schedule: Literal['tuned', 'theory'] | None = None,
        delta: float | None = None,
        bonus: float | None = None,
    ) -> None: ...

class LSVIPHE(LinearAgent):
    """LSVI that is greedy in the maximum of M regressions on perturbed histories.

    env: a Gymnasium environment with Discrete actions or the name of one, a vector of such, or a TabularMDP.
    seed: of the agent, and of the environment's first reset in learn().
    steps, episodes: how long it will be trained, for schedules that depend on it; left out, the first learn() tells.
    reward_range: the least and the greatest reward, which Gymnasium does not tell, for agents that ask for it.
    Whatever is None is filled in by a preset, or has the default that is named below.

    Parameters of lsvi-phe:

        lambda_: ridge: Lambda_h = lambda I + sum phi phi^T. Default 1e-6; a number in (0, 1e12].
        pool: share the data between stages (stationary problems only); auto: where that is right. Default false;
            false | true | auto.
        features: phi(s,a); auto: the environment's own where it has them, else one-hot. Default auto; auto | one-
            hot | env.
        gram: how Lambda is kept; diagonal needs one-hot features. Default auto; auto | diagonal | dense.
        schedule: tuned: the constants given here; theory: those of the regret theorem. Default tuned; tuned |
            theory.
        delta: failure probability in the constants of schedule = theory. Default 0.2; a number in (0, 1).
        sigma: standard deviation of the noise on a regression target. Default 0.1; a number in [0, 1e12].
        samples: M, samples of w a stage; Q is their maximum. Default 10; a whole number in [1, 1e6].
    """

    def __init__(
        self,
        env: Any,
        *,
        seed: int = 0,
        steps: int | None = None,
        episodes: int | None = None,
        reward_range: tuple[float, float] | None = None,
        lambda_: float | None = None,
        pool: Literal['false', 'true', 'auto'] | bool | None = None,
        features: Literal['auto', 'one-hot', 'env'] | None = None,
        gram: Literal['auto', 'diagonal', 'dense'] | None = None,
        schedule: Literal['tuned', 'theory'] | None = None,
        delta: float | None = None,
        sigma: float | None = None,
        samples: int | None = None,
    ) -> None: ...

class OPTRLSVI(LinearAgent):
    """Randomized LSVI with an optimistic default value where data are scarce.

    env: a Gymnasium environment with Discrete actions or the name of one, a vector of such, or a TabularMDP.
    seed: of the agent, and of the environment's first reset in learn().
    steps, episodes: how long it will be trained, for schedules that depend on it; left out, the first learn() tells.
    reward_range: the least and the greatest reward, which Gymnasium does not tell, for agents that ask for it.
    Whatever is None is filled in by a preset, or has the default that is named below.

    Parameters of opt-rlsvi:

        lambda_: ridge: Lambda_h = lambda I + sum phi phi^T. Default 1e-2; a number in (0, 1e12].
        pool: share the data between stages (stationary problems only); auto: where that is right. Default false;
            false | true | auto.
        features: phi(s,a); auto: the environment's own where it has them, else one-hot. Default auto; auto | one-
            hot | env.
        gram: how Lambda is kept; diagonal needs one-hot features. Default auto; auto | diagonal | dense.
        schedule: tuned: the constants given here; theory: those of the regret theorem. Default tuned; tuned |
            theory.
        delta: failure probability in the constants of schedule = theory. Default 0.2; a number in (0, 1).
        sigma: standard deviation of the noise on a regression target. Default 0.1; a number in [0, 1e12].
        alpha_low: up to this ||phi||_{Lambda^-1} the regression alone is trusted. Default 0.9; a number in [0,
            inf].
        alpha_high: from this ||phi||_{Lambda^-1} on Q is the greatest possible value. Default 0.99; a number in [0,
            inf].
    """

    def __init__(
        self,
        env: Any,
        *,
        seed: int = 0,
        steps: int | None = None,
        episodes: int | None = None,
        reward_range: tuple[float, float] | None = None,
        lambda_: float | None = None,
        pool: Literal['false', 'true', 'auto'] | bool | None = None,
        features: Literal['auto', 'one-hot', 'env'] | None = None,
        gram: Literal['auto', 'diagonal', 'dense'] | None = None,
        schedule: Literal['tuned', 'theory'] | None = None,
        delta: float | None = None,
        sigma: float | None = None,
        alpha_low: float | None = None,
        alpha_high: float | None = None,
    ) -> None: ...

class OPPO(LinearAgent):
    """Optimistic proximal policy optimization (for linear and tabular MDPs).

    env: a Gymnasium environment with Discrete actions or the name of one, a vector of such, or a TabularMDP.
    seed: of the agent, and of the environment's first reset in learn().
    steps, episodes: how long it will be trained, for schedules that depend on it; left out, the first learn() tells.
    reward_range: the least and the greatest reward, which Gymnasium does not tell, for agents that ask for it.
    Whatever is None is filled in by a preset, or has the default that is named below.

    Parameters of oppo:

        lambda_: ridge: Lambda_h = lambda I + sum phi phi^T. Default 1e-6; a number in (0, 1e12].
        pool: share the data between stages (stationary problems only); auto: where that is right. Default false;
            false | true | auto.
        features: phi(s,a); auto: the environment's own where it has them, else one-hot. Default auto; auto | one-
            hot | env.
        gram: how Lambda is kept; diagonal needs one-hot features. Default auto; auto | diagonal | dense.
        schedule: tuned: the constants given here; theory: those of the regret theorem. Default tuned; tuned |
            theory.
        delta: failure probability in the constants of schedule = theory. Default 0.2; a number in (0, 1).
        bonus: width of the confidence bound, in units of ||phi||_{Lambda^-1}. Default 0.5; a number in [0, 1e12].
        step: alpha, how much of Q an episode adds to the policy's logits. Default 1; a number in [0, 1e12].
    """

    def __init__(
        self,
        env: Any,
        *,
        seed: int = 0,
        steps: int | None = None,
        episodes: int | None = None,
        reward_range: tuple[float, float] | None = None,
        lambda_: float | None = None,
        pool: Literal['false', 'true', 'auto'] | bool | None = None,
        features: Literal['auto', 'one-hot', 'env'] | None = None,
        gram: Literal['auto', 'diagonal', 'dense'] | None = None,
        schedule: Literal['tuned', 'theory'] | None = None,
        delta: float | None = None,
        bonus: float | None = None,
        step: float | None = None,
    ) -> None: ...

class RLSVI(LinearAgent):
    """Randomized LSVI: greedy in one draw of Bayesian linear regression.

    env: a Gymnasium environment with Discrete actions or the name of one, a vector of such, or a TabularMDP.
    seed: of the agent, and of the environment's first reset in learn().
    steps, episodes: how long it will be trained, for schedules that depend on it; left out, the first learn() tells.
    reward_range: the least and the greatest reward, which Gymnasium does not tell, for agents that ask for it.
    Whatever is None is filled in by a preset, or has the default that is named below.

    Parameters of rlsvi:

        lambda_: prior precision of a weight: its prior variance is 1 / lambda. Default 1e-5; a number in (0, 1e12].
        pool: share the data between stages (stationary problems only); auto: where that is right. Default false;
            false | true | auto.
        features: phi(s,a); auto: the environment's own where it has them, else one-hot. Default auto; auto | one-
            hot | env.
        gram: how Lambda is kept; diagonal needs one-hot features. Default auto; auto | diagonal | dense.
        schedule: tuned: the constants given here; theory: those of the regret theorem. Default tuned; tuned |
            theory.
        sigma: standard deviation of the noise on a regression target. Default 0.1; a number in (0, 1e12].
    """

    def __init__(
        self,
        env: Any,
        *,
        seed: int = 0,
        steps: int | None = None,
        episodes: int | None = None,
        reward_range: tuple[float, float] | None = None,
        lambda_: float | None = None,
        pool: Literal['false', 'true', 'auto'] | bool | None = None,
        features: Literal['auto', 'one-hot', 'env'] | None = None,
        gram: Literal['auto', 'diagonal', 'dense'] | None = None,
        schedule: Literal['tuned', 'theory'] | None = None,
        sigma: float | None = None,
    ) -> None: ...

class PSRL(LinearAgent):
    """Posterior sampling: plays the optimal policy of a model drawn from the posterior.

    env: a Gymnasium environment with Discrete actions or the name of one, a vector of such, or a TabularMDP.
    seed: of the agent, and of the environment's first reset in learn().
    steps, episodes: how long it will be trained, for schedules that depend on it; left out, the first learn() tells.
    reward_range: the least and the greatest reward, which Gymnasium does not tell, for agents that ask for it.
    Whatever is None is filled in by a preset, or has the default that is named below.

    Parameters of psrl:

        lambda_: prior precision of a mean reward: its prior variance is 1 / lambda. Default 1; a number in (0,
            1e12].
        pool: share the data between stages (stationary problems only); auto: where that is right. Default auto;
            false | true | auto.
        schedule: tuned: the constants given here; theory: those of the regret theorem. Default tuned; tuned |
            theory.
        sigma: standard deviation of the noise on a reward. Default 0.1; a number in (0, 1e12].
        prior_mass: Dirichlet prior: visits that count as seen, spread evenly over the next states. Default 1; a
            number in (0, 1e12].
    """

    def __init__(
        self,
        env: Any,
        *,
        seed: int = 0,
        steps: int | None = None,
        episodes: int | None = None,
        reward_range: tuple[float, float] | None = None,
        lambda_: float | None = None,
        pool: Literal['false', 'true', 'auto'] | bool | None = None,
        schedule: Literal['tuned', 'theory'] | None = None,
        sigma: float | None = None,
        prior_mass: float | None = None,
    ) -> None: ...

class DQN(Agent):
    """Deep Q-network with epsilon-greedy exploration.

    env: a Gymnasium environment with Discrete actions or the name of one, a vector of such, or a TabularMDP.
    seed: of the agent, and of the environment's first reset in learn().
    steps, episodes: how long it will be trained, for schedules that depend on it; left out, the first learn() tells.
    reward_range: the least and the greatest reward, which Gymnasium does not tell, for agents that ask for it.
    Whatever is None is filled in by a preset, or has the default that is named below.

    Parameters of dqn:

        preset: values for what is left open; auto: atari for images, one-hot for one-hot observations where there
            is one, else small. zoo: dqn as DQN Zoo has it. Default auto; auto | small | one-hot | cyclic | atari |
            zoo.
        net: nature: three convolutions and dense layers; auto: nature for images, else mlp. Default auto; auto |
            mlp | nature.
        hidden: widths of the hidden dense layers. Default 32,32; a list like 32,32; each a whole number in [1,
            1e6].
        scale_input: divide bytes by 255. Default false; true | false.
        gamma: discount. Default 0.99; a number in [0, 1].
        n_step: rewards in a target before it bootstraps. Default 1; a whole number in [1, 1000].
        batch: transitions in a minibatch. Default 32; a whole number in [1, 65536].
        replay: steps the replay holds; the last observation of an episode counts as one. Default 10000; a whole
            number in [2, 1e9].
        warmup: transitions before the first update. Default 32; a whole number in [1, 1e9].
        update_every: environment steps between updates; 0: update between episodes only. Default 10; a whole number
            in [0, 1e9].
        updates: J: gradient steps each time. Default 1; a whole number in [1, 1e9].
        target_every: gradient steps between copies to the target network. Default 100; a whole number in [1, 1e9].
        double: the online network chooses the action that the target network values. Default false; true | false.
        loss: mse: mean of the squared error; huber: half of that up to 1, linear beyond. Default mse; mse | huber.
        shared_bias: the output layer has one bias for all actions. Default false; true | false.
        prioritized: draw transitions in proportion to (their last error)^priority_alpha. Default false; true |
            false.
        priority_alpha: 0: uniform draws. Default 0.6; a number in [0, 10].
        priority_beta: how far weights undo the bias of such draws when learning begins. Default 0.4; a number in
            [0, 1].
        priority_beta_end: what it moves to. Default 1; a number in [0, 1].
        priority_beta_steps: environment steps over which it moves, from agent.warmup on. Default 100000; a whole
            number in [0, 1e12].
        priority_uniform: share of draws that are uniform nevertheless. Default 0.001; a number in [0, 1].
        epsilon_start: probability of a uniform action until agent.warmup. Default 1; a number in [0, 1].
        epsilon_end: what it falls to. Default 0.01; a number in [0, 1].
        epsilon_steps: environment steps over which it falls, from agent.warmup on. Default 1000; a whole number in
            [0, 1e12].
        epsilon_eval: probability of a uniform action in evaluations. Default 0; a number in [0, 1].

    Parameters of its optimizer, adam (optimizer= names another one, and takes its parameters):

        lr: step size. Default 1e-4; a number in (0, 1e6].
        l2: ridge: adds l2 w to the gradient. Default 0; a number in [0, 1e6].
        compensated: keep parameters as sums of two floats, so that tiny noise is not rounded away. Default false;
            true | false.
        alpha1: decay of m, the mean gradient. Default 0.9; a number in [0, 1).
        alpha2: decay of v, the mean of g^2. Default 0.999; a number in [0, 1).
        eps: keeps the step finite: sqrt(v) + eps. Default 1e-8; a number in (0, 1].

    Presets (preset=...; auto chooses by the observations):

        small: agent.warmup=200 agent.update_every=1 optim.lr=1e-3
        atari: agent.hidden=512 agent.replay=1000000 agent.n_step=3 agent.double=true agent.target_every=500
            agent.epsilon_end=0.05 agent.epsilon_steps=1000000 optim.lr=1e-4
        zoo: agent.hidden=512 agent.scale_input=true agent.replay=1000000 agent.warmup=50000 agent.update_every=4
            agent.target_every=2500 agent.loss=huber agent.epsilon_end=0.1 agent.epsilon_steps=1000000
            agent.epsilon_eval=0.05 optim.name=rmsprop optim.lr=2.5e-4 optim.eps=9.765625e-6
    """

    def __init__(
        self,
        env: Any,
        *,
        seed: int = 0,
        steps: int | None = None,
        episodes: int | None = None,
        optimizer: str | None = None,
        reward_range: tuple[float, float] | None = None,
        preset: Literal['auto', 'small', 'one-hot', 'cyclic', 'atari', 'zoo'] | None = None,
        net: Literal['auto', 'mlp', 'nature'] | None = None,
        hidden: Sequence[int] | int | None = None,
        scale_input: bool | None = None,
        gamma: float | None = None,
        n_step: int | None = None,
        batch: int | None = None,
        replay: int | None = None,
        warmup: int | None = None,
        update_every: int | None = None,
        updates: int | None = None,
        target_every: int | None = None,
        double: bool | None = None,
        loss: Literal['mse', 'huber'] | None = None,
        shared_bias: bool | None = None,
        prioritized: bool | None = None,
        priority_alpha: float | None = None,
        priority_beta: float | None = None,
        priority_beta_end: float | None = None,
        priority_beta_steps: int | None = None,
        priority_uniform: float | None = None,
        epsilon_start: float | None = None,
        epsilon_end: float | None = None,
        epsilon_steps: int | None = None,
        epsilon_eval: float | None = None,
        lr: float | None = None,
        l2: float | None = None,
        compensated: bool | None = None,
        alpha1: float | None = None,
        alpha2: float | None = None,
        eps: float | None = None,
    ) -> None: ...

class DoubleDQN(Agent):
    """DQN whose targets separate the choice of an action from its value.

    env: a Gymnasium environment with Discrete actions or the name of one, a vector of such, or a TabularMDP.
    seed: of the agent, and of the environment's first reset in learn().
    steps, episodes: how long it will be trained, for schedules that depend on it; left out, the first learn() tells.
    reward_range: the least and the greatest reward, which Gymnasium does not tell, for agents that ask for it.
    Whatever is None is filled in by a preset, or has the default that is named below.

    Parameters of double-dqn:

        preset: values for what is left open; auto: atari for images, one-hot for one-hot observations where there
            is one, else small. zoo: dqn as DQN Zoo has it. Default auto; auto | small | one-hot | cyclic | atari |
            zoo.
        net: nature: three convolutions and dense layers; auto: nature for images, else mlp. Default auto; auto |
            mlp | nature.
        hidden: widths of the hidden dense layers. Default 32,32; a list like 32,32; each a whole number in [1,
            1e6].
        scale_input: divide bytes by 255. Default false; true | false.
        gamma: discount. Default 0.99; a number in [0, 1].
        n_step: rewards in a target before it bootstraps. Default 1; a whole number in [1, 1000].
        batch: transitions in a minibatch. Default 32; a whole number in [1, 65536].
        replay: steps the replay holds; the last observation of an episode counts as one. Default 10000; a whole
            number in [2, 1e9].
        warmup: transitions before the first update. Default 32; a whole number in [1, 1e9].
        update_every: environment steps between updates; 0: update between episodes only. Default 10; a whole number
            in [0, 1e9].
        updates: J: gradient steps each time. Default 1; a whole number in [1, 1e9].
        target_every: gradient steps between copies to the target network. Default 100; a whole number in [1, 1e9].
        double: the online network chooses the action that the target network values. Default false; true | false.
        loss: mse: mean of the squared error; huber: half of that up to 1, linear beyond. Default mse; mse | huber.
        shared_bias: the output layer has one bias for all actions. Default false; true | false.
        prioritized: draw transitions in proportion to (their last error)^priority_alpha. Default false; true |
            false.
        priority_alpha: 0: uniform draws. Default 0.6; a number in [0, 10].
        priority_beta: how far weights undo the bias of such draws when learning begins. Default 0.4; a number in
            [0, 1].
        priority_beta_end: what it moves to. Default 1; a number in [0, 1].
        priority_beta_steps: environment steps over which it moves, from agent.warmup on. Default 100000; a whole
            number in [0, 1e12].
        priority_uniform: share of draws that are uniform nevertheless. Default 0.001; a number in [0, 1].
        epsilon_start: probability of a uniform action until agent.warmup. Default 1; a number in [0, 1].
        epsilon_end: what it falls to. Default 0.01; a number in [0, 1].
        epsilon_steps: environment steps over which it falls, from agent.warmup on. Default 1000; a whole number in
            [0, 1e12].
        epsilon_eval: probability of a uniform action in evaluations. Default 0; a number in [0, 1].

    Parameters of its optimizer, adam (optimizer= names another one, and takes its parameters):

        lr: step size. Default 1e-4; a number in (0, 1e6].
        l2: ridge: adds l2 w to the gradient. Default 0; a number in [0, 1e6].
        compensated: keep parameters as sums of two floats, so that tiny noise is not rounded away. Default false;
            true | false.
        alpha1: decay of m, the mean gradient. Default 0.9; a number in [0, 1).
        alpha2: decay of v, the mean of g^2. Default 0.999; a number in [0, 1).
        eps: keeps the step finite: sqrt(v) + eps. Default 1e-8; a number in (0, 1].

    Presets (preset=...; auto chooses by the observations):

        small: agent.double=true agent.warmup=200 agent.update_every=1 optim.lr=1e-3
        atari: agent.double=true agent.shared_bias=true agent.hidden=512 agent.scale_input=true agent.replay=1000000
            agent.warmup=50000 agent.update_every=4 agent.target_every=7500 agent.loss=huber agent.epsilon_end=0.01
            agent.epsilon_steps=1000000 agent.epsilon_eval=0.01 optim.name=rmsprop optim.lr=2.5e-4
            optim.eps=9.765625e-6
    """

    def __init__(
        self,
        env: Any,
        *,
        seed: int = 0,
        steps: int | None = None,
        episodes: int | None = None,
        optimizer: str | None = None,
        reward_range: tuple[float, float] | None = None,
        preset: Literal['auto', 'small', 'one-hot', 'cyclic', 'atari', 'zoo'] | None = None,
        net: Literal['auto', 'mlp', 'nature'] | None = None,
        hidden: Sequence[int] | int | None = None,
        scale_input: bool | None = None,
        gamma: float | None = None,
        n_step: int | None = None,
        batch: int | None = None,
        replay: int | None = None,
        warmup: int | None = None,
        update_every: int | None = None,
        updates: int | None = None,
        target_every: int | None = None,
        double: bool | None = None,
        loss: Literal['mse', 'huber'] | None = None,
        shared_bias: bool | None = None,
        prioritized: bool | None = None,
        priority_alpha: float | None = None,
        priority_beta: float | None = None,
        priority_beta_end: float | None = None,
        priority_beta_steps: int | None = None,
        priority_uniform: float | None = None,
        epsilon_start: float | None = None,
        epsilon_end: float | None = None,
        epsilon_steps: int | None = None,
        epsilon_eval: float | None = None,
        lr: float | None = None,
        l2: float | None = None,
        compensated: bool | None = None,
        alpha1: float | None = None,
        alpha2: float | None = None,
        eps: float | None = None,
    ) -> None: ...

class PrioritizedDQN(Agent):
    """Double DQN that replays in proportion to its errors.

    env: a Gymnasium environment with Discrete actions or the name of one, a vector of such, or a TabularMDP.
    seed: of the agent, and of the environment's first reset in learn().
    steps, episodes: how long it will be trained, for schedules that depend on it; left out, the first learn() tells.
    reward_range: the least and the greatest reward, which Gymnasium does not tell, for agents that ask for it.
    Whatever is None is filled in by a preset, or has the default that is named below.

    Parameters of prioritized-dqn:

        preset: values for what is left open; auto: atari for images, one-hot for one-hot observations where there
            is one, else small. zoo: dqn as DQN Zoo has it. Default auto; auto | small | one-hot | cyclic | atari |
            zoo.
        net: nature: three convolutions and dense layers; auto: nature for images, else mlp. Default auto; auto |
            mlp | nature.
        hidden: widths of the hidden dense layers. Default 32,32; a list like 32,32; each a whole number in [1,
            1e6].
        scale_input: divide bytes by 255. Default false; true | false.
        gamma: discount. Default 0.99; a number in [0, 1].
        n_step: rewards in a target before it bootstraps. Default 1; a whole number in [1, 1000].
        batch: transitions in a minibatch. Default 32; a whole number in [1, 65536].
        replay: steps the replay holds; the last observation of an episode counts as one. Default 10000; a whole
            number in [2, 1e9].
        warmup: transitions before the first update. Default 32; a whole number in [1, 1e9].
        update_every: environment steps between updates; 0: update between episodes only. Default 10; a whole number
            in [0, 1e9].
        updates: J: gradient steps each time. Default 1; a whole number in [1, 1e9].
        target_every: gradient steps between copies to the target network. Default 100; a whole number in [1, 1e9].
        double: the online network chooses the action that the target network values. Default false; true | false.
        loss: mse: mean of the squared error; huber: half of that up to 1, linear beyond. Default mse; mse | huber.
        shared_bias: the output layer has one bias for all actions. Default false; true | false.
        prioritized: draw transitions in proportion to (their last error)^priority_alpha. Default false; true |
            false.
        priority_alpha: 0: uniform draws. Default 0.6; a number in [0, 10].
        priority_beta: how far weights undo the bias of such draws when learning begins. Default 0.4; a number in
            [0, 1].
        priority_beta_end: what it moves to. Default 1; a number in [0, 1].
        priority_beta_steps: environment steps over which it moves, from agent.warmup on. Default 100000; a whole
            number in [0, 1e12].
        priority_uniform: share of draws that are uniform nevertheless. Default 0.001; a number in [0, 1].
        epsilon_start: probability of a uniform action until agent.warmup. Default 1; a number in [0, 1].
        epsilon_end: what it falls to. Default 0.01; a number in [0, 1].
        epsilon_steps: environment steps over which it falls, from agent.warmup on. Default 1000; a whole number in
            [0, 1e12].
        epsilon_eval: probability of a uniform action in evaluations. Default 0; a number in [0, 1].

    Parameters of its optimizer, adam (optimizer= names another one, and takes its parameters):

        lr: step size. Default 1e-4; a number in (0, 1e6].
        l2: ridge: adds l2 w to the gradient. Default 0; a number in [0, 1e6].
        compensated: keep parameters as sums of two floats, so that tiny noise is not rounded away. Default false;
            true | false.
        alpha1: decay of m, the mean gradient. Default 0.9; a number in [0, 1).
        alpha2: decay of v, the mean of g^2. Default 0.999; a number in [0, 1).
        eps: keeps the step finite: sqrt(v) + eps. Default 1e-8; a number in (0, 1].

    Presets (preset=...; auto chooses by the observations):

        small: agent.prioritized=true agent.double=true agent.hidden=64,64 agent.n_step=5 agent.batch=128
            agent.replay=50000 agent.warmup=1000 agent.update_every=2 agent.target_every=200
            agent.epsilon_steps=10000 optim.lr=3e-4
        atari: agent.prioritized=true agent.priority_beta_steps=49950000 agent.double=true agent.shared_bias=true
            agent.hidden=512 agent.scale_input=true agent.replay=1000000 agent.warmup=50000 agent.update_every=4
            agent.target_every=7500 agent.loss=huber agent.epsilon_end=0.01 agent.epsilon_steps=1000000
            agent.epsilon_eval=0.01 optim.name=rmsprop optim.lr=6.25e-5 optim.eps=6.103515625e-7
    """

    def __init__(
        self,
        env: Any,
        *,
        seed: int = 0,
        steps: int | None = None,
        episodes: int | None = None,
        optimizer: str | None = None,
        reward_range: tuple[float, float] | None = None,
        preset: Literal['auto', 'small', 'one-hot', 'cyclic', 'atari', 'zoo'] | None = None,
        net: Literal['auto', 'mlp', 'nature'] | None = None,
        hidden: Sequence[int] | int | None = None,
        scale_input: bool | None = None,
        gamma: float | None = None,
        n_step: int | None = None,
        batch: int | None = None,
        replay: int | None = None,
        warmup: int | None = None,
        update_every: int | None = None,
        updates: int | None = None,
        target_every: int | None = None,
        double: bool | None = None,
        loss: Literal['mse', 'huber'] | None = None,
        shared_bias: bool | None = None,
        prioritized: bool | None = None,
        priority_alpha: float | None = None,
        priority_beta: float | None = None,
        priority_beta_end: float | None = None,
        priority_beta_steps: int | None = None,
        priority_uniform: float | None = None,
        epsilon_start: float | None = None,
        epsilon_end: float | None = None,
        epsilon_steps: int | None = None,
        epsilon_eval: float | None = None,
        lr: float | None = None,
        l2: float | None = None,
        compensated: bool | None = None,
        alpha1: float | None = None,
        alpha2: float | None = None,
        eps: float | None = None,
    ) -> None: ...

class C51(Agent):
    """DQN that learns the distribution of returns on a grid.

    env: a Gymnasium environment with Discrete actions or the name of one, a vector of such, or a TabularMDP.
    seed: of the agent, and of the environment's first reset in learn().
    steps, episodes: how long it will be trained, for schedules that depend on it; left out, the first learn() tells.
    reward_range: the least and the greatest reward, which Gymnasium does not tell, for agents that ask for it.
    Whatever is None is filled in by a preset, or has the default that is named below.

    Parameters of c51:

        preset: values for what is left open; auto: atari for images, one-hot for one-hot observations where there
            is one, else small. zoo: dqn as DQN Zoo has it. Default auto; auto | small | one-hot | cyclic | atari |
            zoo.
        net: nature: three convolutions and dense layers; auto: nature for images, else mlp. Default auto; auto |
            mlp | nature.
        hidden: widths of the hidden dense layers. Default 32,32; a list like 32,32; each a whole number in [1,
            1e6].
        scale_input: divide bytes by 255. Default false; true | false.
        gamma: discount. Default 0.99; a number in [0, 1].
        n_step: rewards in a target before it bootstraps. Default 1; a whole number in [1, 1000].
        batch: transitions in a minibatch. Default 32; a whole number in [1, 65536].
        replay: steps the replay holds; the last observation of an episode counts as one. Default 10000; a whole
            number in [2, 1e9].
        warmup: transitions before the first update. Default 32; a whole number in [1, 1e9].
        update_every: environment steps between updates; 0: update between episodes only. Default 10; a whole number
            in [0, 1e9].
        updates: J: gradient steps each time. Default 1; a whole number in [1, 1e9].
        target_every: gradient steps between copies to the target network. Default 100; a whole number in [1, 1e9].
        double: the online network chooses the action that the target network values. Default false; true | false.
        loss: mse: mean of the squared error; huber: half of that up to 1, linear beyond. Default mse; mse | huber.
        prioritized: draw transitions in proportion to (their last error)^priority_alpha. Default false; true |
            false.
        priority_alpha: 0: uniform draws. Default 0.6; a number in [0, 10].
        priority_beta: how far weights undo the bias of such draws when learning begins. Default 0.4; a number in
            [0, 1].
        priority_beta_end: what it moves to. Default 1; a number in [0, 1].
        priority_beta_steps: environment steps over which it moves, from agent.warmup on. Default 100000; a whole
            number in [0, 1e12].
        priority_uniform: share of draws that are uniform nevertheless. Default 0.001; a number in [0, 1].
        grad_clip: greatest norm of a gradient, which is shortened to it; 0: any. Default 0; a number in [0, 1e12].
        epsilon_start: probability of a uniform action until agent.warmup. Default 1; a number in [0, 1].
        epsilon_end: what it falls to. Default 0.01; a number in [0, 1].
        epsilon_steps: environment steps over which it falls, from agent.warmup on. Default 1000; a whole number in
            [0, 1e12].
        epsilon_eval: probability of a uniform action in evaluations. Default 0; a number in [0, 1].
        atoms: points of the grid. Default 51; a whole number in [2, 10000].
        v_min: least return on the grid; left out: what the rewards can add up to, if known. Default -10; a number
            in [-1e+30, 1e30].
        v_max: greatest return on the grid; left out: likewise. Default 10; a number in [-1e+30, 1e30].

    Parameters of its optimizer, adam (optimizer= names another one, and takes its parameters):

        lr: step size. Default 1e-4; a number in (0, 1e6].
        l2: ridge: adds l2 w to the gradient. Default 0; a number in [0, 1e6].
        compensated: keep parameters as sums of two floats, so that tiny noise is not rounded away. Default false;
            true | false.
        alpha1: decay of m, the mean gradient. Default 0.9; a number in [0, 1).
        alpha2: decay of v, the mean of g^2. Default 0.999; a number in [0, 1).
        eps: keeps the step finite: sqrt(v) + eps. Default 1e-8; a number in (0, 1].

    Presets (preset=...; auto chooses by the observations):

        small: agent.double=true agent.hidden=64,64 agent.n_step=5 agent.batch=64 agent.replay=100000
            agent.warmup=1000 agent.update_every=1 agent.target_every=200 agent.epsilon_steps=10000 optim.lr=3e-4
        atari: agent.v_min=-10 agent.v_max=10 agent.grad_clip=10 agent.hidden=512 agent.scale_input=true
            agent.replay=1000000 agent.warmup=50000 agent.update_every=4 agent.target_every=2500
            agent.epsilon_end=0.01 agent.epsilon_steps=1000000 agent.epsilon_eval=0.001 optim.lr=2.5e-4
            optim.eps=3.125e-4
    """

    def __init__(
        self,
        env: Any,
        *,
        seed: int = 0,
        steps: int | None = None,
        episodes: int | None = None,
        optimizer: str | None = None,
        reward_range: tuple[float, float] | None = None,
        preset: Literal['auto', 'small', 'one-hot', 'cyclic', 'atari', 'zoo'] | None = None,
        net: Literal['auto', 'mlp', 'nature'] | None = None,
        hidden: Sequence[int] | int | None = None,
        scale_input: bool | None = None,
        gamma: float | None = None,
        n_step: int | None = None,
        batch: int | None = None,
        replay: int | None = None,
        warmup: int | None = None,
        update_every: int | None = None,
        updates: int | None = None,
        target_every: int | None = None,
        double: bool | None = None,
        loss: Literal['mse', 'huber'] | None = None,
        prioritized: bool | None = None,
        priority_alpha: float | None = None,
        priority_beta: float | None = None,
        priority_beta_end: float | None = None,
        priority_beta_steps: int | None = None,
        priority_uniform: float | None = None,
        grad_clip: float | None = None,
        epsilon_start: float | None = None,
        epsilon_end: float | None = None,
        epsilon_steps: int | None = None,
        epsilon_eval: float | None = None,
        atoms: int | None = None,
        v_min: float | None = None,
        v_max: float | None = None,
        lr: float | None = None,
        l2: float | None = None,
        compensated: bool | None = None,
        alpha1: float | None = None,
        alpha2: float | None = None,
        eps: float | None = None,
    ) -> None: ...

class QRDQN(Agent):
    """DQN that learns quantiles of the return.

    env: a Gymnasium environment with Discrete actions or the name of one, a vector of such, or a TabularMDP.
    seed: of the agent, and of the environment's first reset in learn().
    steps, episodes: how long it will be trained, for schedules that depend on it; left out, the first learn() tells.
    reward_range: the least and the greatest reward, which Gymnasium does not tell, for agents that ask for it.
    Whatever is None is filled in by a preset, or has the default that is named below.

    Parameters of qr-dqn:

        preset: values for what is left open; auto: atari for images, one-hot for one-hot observations where there
            is one, else small. zoo: dqn as DQN Zoo has it. Default auto; auto | small | one-hot | cyclic | atari |
            zoo.
        net: nature: three convolutions and dense layers; auto: nature for images, else mlp. Default auto; auto |
            mlp | nature.
        hidden: widths of the hidden dense layers. Default 32,32; a list like 32,32; each a whole number in [1,
            1e6].
        scale_input: divide bytes by 255. Default false; true | false.
        gamma: discount. Default 0.99; a number in [0, 1].
        n_step: rewards in a target before it bootstraps. Default 1; a whole number in [1, 1000].
        batch: transitions in a minibatch. Default 32; a whole number in [1, 65536].
        replay: steps the replay holds; the last observation of an episode counts as one. Default 10000; a whole
            number in [2, 1e9].
        warmup: transitions before the first update. Default 32; a whole number in [1, 1e9].
        update_every: environment steps between updates; 0: update between episodes only. Default 10; a whole number
            in [0, 1e9].
        updates: J: gradient steps each time. Default 1; a whole number in [1, 1e9].
        target_every: gradient steps between copies to the target network. Default 100; a whole number in [1, 1e9].
        double: the online network chooses the action that the target network values. Default false; true | false.
        loss: mse: mean of the squared error; huber: half of that up to 1, linear beyond. Default mse; mse | huber.
        prioritized: draw transitions in proportion to (their last error)^priority_alpha. Default false; true |
            false.
        priority_alpha: 0: uniform draws. Default 0.6; a number in [0, 10].
        priority_beta: how far weights undo the bias of such draws when learning begins. Default 0.4; a number in
            [0, 1].
        priority_beta_end: what it moves to. Default 1; a number in [0, 1].
        priority_beta_steps: environment steps over which it moves, from agent.warmup on. Default 100000; a whole
            number in [0, 1e12].
        priority_uniform: share of draws that are uniform nevertheless. Default 0.001; a number in [0, 1].
        grad_clip: greatest norm of a gradient, which is shortened to it; 0: any. Default 0; a number in [0, 1e12].
        epsilon_start: probability of a uniform action until agent.warmup. Default 1; a number in [0, 1].
        epsilon_end: what it falls to. Default 0.01; a number in [0, 1].
        epsilon_steps: environment steps over which it falls, from agent.warmup on. Default 1000; a whole number in
            [0, 1e12].
        epsilon_eval: probability of a uniform action in evaluations. Default 0; a number in [0, 1].
        quantiles: N: quantiles of the return of every action. Default 51; a whole number in [1, 10000].
        kappa: errors up to which the quantile loss is a square; linear beyond. Default 1; a number in (0, 1e30].

    Parameters of its optimizer, adam (optimizer= names another one, and takes its parameters):

        lr: step size. Default 1e-4; a number in (0, 1e6].
        l2: ridge: adds l2 w to the gradient. Default 0; a number in [0, 1e6].
        compensated: keep parameters as sums of two floats, so that tiny noise is not rounded away. Default false;
            true | false.
        alpha1: decay of m, the mean gradient. Default 0.9; a number in [0, 1).
        alpha2: decay of v, the mean of g^2. Default 0.999; a number in [0, 1).
        eps: keeps the step finite: sqrt(v) + eps. Default 1e-8; a number in (0, 1].

    Presets (preset=...; auto chooses by the observations):

        small: agent.quantiles=32 agent.grad_clip=10 agent.double=true agent.hidden=64,64 agent.n_step=5
            agent.batch=128 agent.replay=50000 agent.warmup=1000 agent.update_every=2 agent.target_every=200
            agent.epsilon_steps=10000 optim.lr=3e-4
        atari: agent.quantiles=201 agent.grad_clip=10 agent.hidden=512 agent.scale_input=true agent.replay=1000000
            agent.warmup=50000 agent.update_every=4 agent.target_every=2500 agent.epsilon_end=0.01
            agent.epsilon_steps=1000000 agent.epsilon_eval=0.001 optim.lr=5e-5 optim.eps=3.125e-4
    """

    def __init__(
        self,
        env: Any,
        *,
        seed: int = 0,
        steps: int | None = None,
        episodes: int | None = None,
        optimizer: str | None = None,
        reward_range: tuple[float, float] | None = None,
        preset: Literal['auto', 'small', 'one-hot', 'cyclic', 'atari', 'zoo'] | None = None,
        net: Literal['auto', 'mlp', 'nature'] | None = None,
        hidden: Sequence[int] | int | None = None,
        scale_input: bool | None = None,
        gamma: float | None = None,
        n_step: int | None = None,
        batch: int | None = None,
        replay: int | None = None,
        warmup: int | None = None,
        update_every: int | None = None,
        updates: int | None = None,
        target_every: int | None = None,
        double: bool | None = None,
        loss: Literal['mse', 'huber'] | None = None,
        prioritized: bool | None = None,
        priority_alpha: float | None = None,
        priority_beta: float | None = None,
        priority_beta_end: float | None = None,
        priority_beta_steps: int | None = None,
        priority_uniform: float | None = None,
        grad_clip: float | None = None,
        epsilon_start: float | None = None,
        epsilon_end: float | None = None,
        epsilon_steps: int | None = None,
        epsilon_eval: float | None = None,
        quantiles: int | None = None,
        kappa: float | None = None,
        lr: float | None = None,
        l2: float | None = None,
        compensated: bool | None = None,
        alpha1: float | None = None,
        alpha2: float | None = None,
        eps: float | None = None,
    ) -> None: ...

class IQN(Agent):
    """DQN that learns the quantile function of the return.

    env: a Gymnasium environment with Discrete actions or the name of one, a vector of such, or a TabularMDP.
    seed: of the agent, and of the environment's first reset in learn().
    steps, episodes: how long it will be trained, for schedules that depend on it; left out, the first learn() tells.
    reward_range: the least and the greatest reward, which Gymnasium does not tell, for agents that ask for it.
    Whatever is None is filled in by a preset, or has the default that is named below.

    Parameters of iqn:

        preset: values for what is left open; auto: atari for images, one-hot for one-hot observations where there
            is one, else small. zoo: dqn as DQN Zoo has it. Default auto; auto | small | one-hot | cyclic | atari |
            zoo.
        net: nature: three convolutions and dense layers; auto: nature for images, else mlp. Default auto; auto |
            mlp | nature.
        hidden: widths of the hidden dense layers. Default 32,32; a list like 32,32; each a whole number in [1,
            1e6].
        scale_input: divide bytes by 255. Default false; true | false.
        gamma: discount. Default 0.99; a number in [0, 1].
        n_step: rewards in a target before it bootstraps. Default 1; a whole number in [1, 1000].
        batch: transitions in a minibatch. Default 32; a whole number in [1, 65536].
        replay: steps the replay holds; the last observation of an episode counts as one. Default 10000; a whole
            number in [2, 1e9].
        warmup: transitions before the first update. Default 32; a whole number in [1, 1e9].
        update_every: environment steps between updates; 0: update between episodes only. Default 10; a whole number
            in [0, 1e9].
        updates: J: gradient steps each time. Default 1; a whole number in [1, 1e9].
        target_every: gradient steps between copies to the target network. Default 100; a whole number in [1, 1e9].
        double: the online network chooses the action that the target network values. Default false; true | false.
        loss: mse: mean of the squared error; huber: half of that up to 1, linear beyond. Default mse; mse | huber.
        prioritized: draw transitions in proportion to (their last error)^priority_alpha. Default false; true |
            false.
        priority_alpha: 0: uniform draws. Default 0.6; a number in [0, 10].
        priority_beta: how far weights undo the bias of such draws when learning begins. Default 0.4; a number in
            [0, 1].
        priority_beta_end: what it moves to. Default 1; a number in [0, 1].
        priority_beta_steps: environment steps over which it moves, from agent.warmup on. Default 100000; a whole
            number in [0, 1e12].
        priority_uniform: share of draws that are uniform nevertheless. Default 0.001; a number in [0, 1].
        grad_clip: greatest norm of a gradient, which is shortened to it; 0: any. Default 0; a number in [0, 1e12].
        epsilon_start: probability of a uniform action until agent.warmup. Default 1; a number in [0, 1].
        epsilon_end: what it falls to. Default 0.01; a number in [0, 1].
        epsilon_steps: environment steps over which it falls, from agent.warmup on. Default 1000; a whole number in
            [0, 1e12].
        epsilon_eval: probability of a uniform action in evaluations. Default 0; a number in [0, 1].
        cosines: cos(pi i tau), i = 1.., that stand for tau. Default 64; a whole number in [1, 4096].
        taus: N: draws of tau in the loss, and in its targets. Default 64; a whole number in [1, 4096].
        taus_act: K: draws of tau by which actions are valued. Default 64; a whole number in [1, 4096].
        kappa: errors up to which the quantile loss is a square; linear beyond. Default 1; a number in (0, 1e30].

    Parameters of its optimizer, adam (optimizer= names another one, and takes its parameters):

        lr: step size. Default 1e-4; a number in (0, 1e6].
        l2: ridge: adds l2 w to the gradient. Default 0; a number in [0, 1e6].
        compensated: keep parameters as sums of two floats, so that tiny noise is not rounded away. Default false;
            true | false.
        alpha1: decay of m, the mean gradient. Default 0.9; a number in [0, 1).
        alpha2: decay of v, the mean of g^2. Default 0.999; a number in [0, 1).
        eps: keeps the step finite: sqrt(v) + eps. Default 1e-8; a number in (0, 1].

    Presets (preset=...; auto chooses by the observations):

        small: agent.cosines=32 agent.taus=8 agent.taus_act=16 agent.grad_clip=10 agent.double=true
            agent.hidden=64,64 agent.n_step=5 agent.batch=64 agent.replay=50000 agent.warmup=1000
            agent.update_every=2 agent.target_every=200 agent.epsilon_steps=10000 optim.lr=5e-4
        atari: agent.hidden=512 agent.scale_input=true agent.replay=1000000 agent.warmup=20000 agent.update_every=4
            agent.target_every=2500 agent.epsilon_end=0.01 agent.epsilon_steps=1000000 agent.epsilon_eval=0.001
            optim.lr=5e-5 optim.eps=3.125e-4
    """

    def __init__(
        self,
        env: Any,
        *,
        seed: int = 0,
        steps: int | None = None,
        episodes: int | None = None,
        optimizer: str | None = None,
        reward_range: tuple[float, float] | None = None,
        preset: Literal['auto', 'small', 'one-hot', 'cyclic', 'atari', 'zoo'] | None = None,
        net: Literal['auto', 'mlp', 'nature'] | None = None,
        hidden: Sequence[int] | int | None = None,
        scale_input: bool | None = None,
        gamma: float | None = None,
        n_step: int | None = None,
        batch: int | None = None,
        replay: int | None = None,
        warmup: int | None = None,
        update_every: int | None = None,
        updates: int | None = None,
        target_every: int | None = None,
        double: bool | None = None,
        loss: Literal['mse', 'huber'] | None = None,
        prioritized: bool | None = None,
        priority_alpha: float | None = None,
        priority_beta: float | None = None,
        priority_beta_end: float | None = None,
        priority_beta_steps: int | None = None,
        priority_uniform: float | None = None,
        grad_clip: float | None = None,
        epsilon_start: float | None = None,
        epsilon_end: float | None = None,
        epsilon_steps: int | None = None,
        epsilon_eval: float | None = None,
        cosines: int | None = None,
        taus: int | None = None,
        taus_act: int | None = None,
        kappa: float | None = None,
        lr: float | None = None,
        l2: float | None = None,
        compensated: bool | None = None,
        alpha1: float | None = None,
        alpha2: float | None = None,
        eps: float | None = None,
    ) -> None: ...

class NoisyNetDQN(Agent):
    """DQN whose dense layers have learned noise.

    env: a Gymnasium environment with Discrete actions or the name of one, a vector of such, or a TabularMDP.
    seed: of the agent, and of the environment's first reset in learn().
    steps, episodes: how long it will be trained, for schedules that depend on it; left out, the first learn() tells.
    reward_range: the least and the greatest reward, which Gymnasium does not tell, for agents that ask for it.
    Whatever is None is filled in by a preset, or has the default that is named below.

    Parameters of noisynet-dqn:

        preset: values for what is left open; auto: atari for images, one-hot for one-hot observations where there
            is one, else small. zoo: dqn as DQN Zoo has it. Default auto; auto | small | one-hot | cyclic | atari |
            zoo.
        net: nature: three convolutions and dense layers; auto: nature for images, else mlp. Default auto; auto |
            mlp | nature.
        hidden: widths of the hidden dense layers. Default 32,32; a list like 32,32; each a whole number in [1,
            1e6].
        scale_input: divide bytes by 255. Default false; true | false.
        gamma: discount. Default 0.99; a number in [0, 1].
        n_step: rewards in a target before it bootstraps. Default 1; a whole number in [1, 1000].
        batch: transitions in a minibatch. Default 32; a whole number in [1, 65536].
        replay: steps the replay holds; the last observation of an episode counts as one. Default 10000; a whole
            number in [2, 1e9].
        warmup: transitions before the first update. Default 32; a whole number in [1, 1e9].
        update_every: environment steps between updates; 0: update between episodes only. Default 10; a whole number
            in [0, 1e9].
        updates: J: gradient steps each time. Default 1; a whole number in [1, 1e9].
        target_every: gradient steps between copies to the target network. Default 100; a whole number in [1, 1e9].
        double: the online network chooses the action that the target network values. Default false; true | false.
        loss: mse: mean of the squared error; huber: half of that up to 1, linear beyond. Default mse; mse | huber.
        prioritized: draw transitions in proportion to (their last error)^priority_alpha. Default false; true |
            false.
        priority_alpha: 0: uniform draws. Default 0.6; a number in [0, 10].
        priority_beta: how far weights undo the bias of such draws when learning begins. Default 0.4; a number in
            [0, 1].
        priority_beta_end: what it moves to. Default 1; a number in [0, 1].
        priority_beta_steps: environment steps over which it moves, from agent.warmup on. Default 100000; a whole
            number in [0, 1e12].
        priority_uniform: share of draws that are uniform nevertheless. Default 0.001; a number in [0, 1].
        sigma0: initial sigma, times sqrt(fan_in). Default 0.5; a number in [0, 100].

    Parameters of its optimizer, adam (optimizer= names another one, and takes its parameters):

        lr: step size. Default 1e-4; a number in (0, 1e6].
        l2: ridge: adds l2 w to the gradient. Default 0; a number in [0, 1e6].
        compensated: keep parameters as sums of two floats, so that tiny noise is not rounded away. Default false;
            true | false.
        alpha1: decay of m, the mean gradient. Default 0.9; a number in [0, 1).
        alpha2: decay of v, the mean of g^2. Default 0.999; a number in [0, 1).
        eps: keeps the step finite: sqrt(v) + eps. Default 1e-8; a number in (0, 1].

    Presets (preset=...; auto chooses by the observations):

        small: agent.update_every=4 optim.lr=1e-3
        atari: agent.hidden=512 agent.replay=1000000 agent.n_step=3 agent.double=true agent.target_every=500
            optim.lr=1e-4
    """

    def __init__(
        self,
        env: Any,
        *,
        seed: int = 0,
        steps: int | None = None,
        episodes: int | None = None,
        optimizer: str | None = None,
        reward_range: tuple[float, float] | None = None,
        preset: Literal['auto', 'small', 'one-hot', 'cyclic', 'atari', 'zoo'] | None = None,
        net: Literal['auto', 'mlp', 'nature'] | None = None,
        hidden: Sequence[int] | int | None = None,
        scale_input: bool | None = None,
        gamma: float | None = None,
        n_step: int | None = None,
        batch: int | None = None,
        replay: int | None = None,
        warmup: int | None = None,
        update_every: int | None = None,
        updates: int | None = None,
        target_every: int | None = None,
        double: bool | None = None,
        loss: Literal['mse', 'huber'] | None = None,
        prioritized: bool | None = None,
        priority_alpha: float | None = None,
        priority_beta: float | None = None,
        priority_beta_end: float | None = None,
        priority_beta_steps: int | None = None,
        priority_uniform: float | None = None,
        sigma0: float | None = None,
        lr: float | None = None,
        l2: float | None = None,
        compensated: bool | None = None,
        alpha1: float | None = None,
        alpha2: float | None = None,
        eps: float | None = None,
    ) -> None: ...

class BootstrappedDQN(Agent):
    """An ensemble of DQNs with random priors, one member an episode.

    env: a Gymnasium environment with Discrete actions or the name of one, a vector of such, or a TabularMDP.
    seed: of the agent, and of the environment's first reset in learn().
    steps, episodes: how long it will be trained, for schedules that depend on it; left out, the first learn() tells.
    reward_range: the least and the greatest reward, which Gymnasium does not tell, for agents that ask for it.
    Whatever is None is filled in by a preset, or has the default that is named below.

    Parameters of bootstrapped-dqn:

        preset: values for what is left open; auto: atari for images, one-hot for one-hot observations where there
            is one, else small. zoo: dqn as DQN Zoo has it. Default auto; auto | small | one-hot | cyclic | atari |
            zoo.
        net: nature: three convolutions and dense layers; auto: nature for images, else mlp. Default auto; auto |
            mlp | nature.
        hidden: widths of the hidden dense layers. Default 32,32; a list like 32,32; each a whole number in [1,
            1e6].
        scale_input: divide bytes by 255. Default false; true | false.
        gamma: discount. Default 0.99; a number in [0, 1].
        n_step: rewards in a target before it bootstraps. Default 1; a whole number in [1, 1000].
        batch: transitions in a minibatch. Default 32; a whole number in [1, 65536].
        replay: steps the replay holds; the last observation of an episode counts as one. Default 10000; a whole
            number in [2, 1e9].
        warmup: transitions before the first update. Default 32; a whole number in [1, 1e9].
        update_every: environment steps between updates; 0: update between episodes only. Default 10; a whole number
            in [0, 1e9].
        updates: J: gradient steps each time. Default 1; a whole number in [1, 1e9].
        target_every: gradient steps between copies to the target network. Default 100; a whole number in [1, 1e9].
        double: the online network chooses the action that the target network values. Default false; true | false.
        loss: mse: mean of the squared error; huber: half of that up to 1, linear beyond. Default mse; mse | huber.
        epsilon_start: probability of a uniform action until agent.warmup. Default 1; a number in [0, 1].
        epsilon_end: what it falls to. Default 0.01; a number in [0, 1].
        epsilon_steps: environment steps over which it falls, from agent.warmup on. Default 1000; a whole number in
            [0, 1e12].
        epsilon_eval: probability of a uniform action in evaluations. Default 0; a number in [0, 1].
        heads: K: members of the ensemble. Default 10; a whole number in [1, 64].
        members: heads of one network, or separate networks. Default heads; heads | networks.
        prior_scale: weight of each member's fixed random prior network. Default 1; a number in [0, 1e6].
        mask: probability that a member learns from a transition. Default 1; a number in (0, 1].
        eval: evaluations: one member an episode, or the vote of all. Default sample; sample | vote.

    Parameters of its optimizer, adam (optimizer= names another one, and takes its parameters):

        lr: step size. Default 1e-4; a number in (0, 1e6].
        l2: ridge: adds l2 w to the gradient. Default 0; a number in [0, 1e6].
        compensated: keep parameters as sums of two floats, so that tiny noise is not rounded away. Default false;
            true | false.
        alpha1: decay of m, the mean gradient. Default 0.9; a number in [0, 1).
        alpha2: decay of v, the mean of g^2. Default 0.999; a number in [0, 1).
        eps: keeps the step finite: sqrt(v) + eps. Default 1e-8; a number in (0, 1].

    Presets (preset=...; auto chooses by the observations):

        small: agent.members=networks agent.heads=20 agent.prior_scale=3 agent.eval=vote agent.epsilon_start=0
            agent.epsilon_end=0 agent.batch=64 agent.update_every=1 agent.target_every=4 optim.lr=5e-4
        atari: agent.hidden=512 agent.replay=1000000 agent.n_step=3 agent.double=true agent.target_every=500
            agent.epsilon_end=0.05 agent.epsilon_steps=1000000 optim.lr=1e-4
    """

    def __init__(
        self,
        env: Any,
        *,
        seed: int = 0,
        steps: int | None = None,
        episodes: int | None = None,
        optimizer: str | None = None,
        reward_range: tuple[float, float] | None = None,
        preset: Literal['auto', 'small', 'one-hot', 'cyclic', 'atari', 'zoo'] | None = None,
        net: Literal['auto', 'mlp', 'nature'] | None = None,
        hidden: Sequence[int] | int | None = None,
        scale_input: bool | None = None,
        gamma: float | None = None,
        n_step: int | None = None,
        batch: int | None = None,
        replay: int | None = None,
        warmup: int | None = None,
        update_every: int | None = None,
        updates: int | None = None,
        target_every: int | None = None,
        double: bool | None = None,
        loss: Literal['mse', 'huber'] | None = None,
        epsilon_start: float | None = None,
        epsilon_end: float | None = None,
        epsilon_steps: int | None = None,
        epsilon_eval: float | None = None,
        heads: int | None = None,
        members: Literal['heads', 'networks'] | None = None,
        prior_scale: float | None = None,
        mask: float | None = None,
        eval: Literal['sample', 'vote'] | None = None,
        lr: float | None = None,
        l2: float | None = None,
        compensated: bool | None = None,
        alpha1: float | None = None,
        alpha2: float | None = None,
        eps: float | None = None,
    ) -> None: ...

class AdamLMCDQN(Agent):
    """Langevin Monte Carlo DQN with Adam SGLD (the paper's Algorithm 2).

    env: a Gymnasium environment with Discrete actions or the name of one, a vector of such, or a TabularMDP.
    seed: of the agent, and of the environment's first reset in learn().
    steps, episodes: how long it will be trained, for schedules that depend on it; left out, the first learn() tells.
    reward_range: the least and the greatest reward, which Gymnasium does not tell, for agents that ask for it.
    Whatever is None is filled in by a preset, or has the default that is named below.

    Parameters of adam-lmcdqn:

        preset: values for what is left open; auto: atari for images, one-hot for one-hot observations where there
            is one, else small. zoo: dqn as DQN Zoo has it. Default auto; auto | small | one-hot | cyclic | atari |
            zoo.
        net: nature: three convolutions and dense layers; auto: nature for images, else mlp. Default auto; auto |
            mlp | nature.
        hidden: widths of the hidden dense layers. Default 32,32; a list like 32,32; each a whole number in [1,
            1e6].
        scale_input: divide bytes by 255. Default false; true | false.
        gamma: discount. Default 0.99; a number in [0, 1].
        n_step: rewards in a target before it bootstraps. Default 1; a whole number in [1, 1000].
        batch: transitions in a minibatch. Default 32; a whole number in [1, 65536].
        replay: steps the replay holds; the last observation of an episode counts as one. Default 10000; a whole
            number in [2, 1e9].
        warmup: transitions before the first update. Default 32; a whole number in [1, 1e9].
        update_every: environment steps between updates; 0: update between episodes only. Default 10; a whole number
            in [0, 1e9].
        updates: J: gradient steps each time. Default 1; a whole number in [1, 1e9].
        target_every: gradient steps between copies to the target network. Default 100; a whole number in [1, 1e9].
        double: the online network chooses the action that the target network values. Default false; true | false.
        loss: mse: mean of the squared error; huber: half of that up to 1, linear beyond. Default mse; mse | huber.
        shared_bias: the output layer has one bias for all actions. Default false; true | false.
        one_hot_gain: one-hot observations of n states are this times sqrt(n) where they are on, so that initial
            values differ between states however many there are; 0: they are 1. Default 0; a number in [0, 1e6].
        warmup_actions: actions until agent.warmup: of the initial network, or uniform. Default greedy; greedy |
            uniform.
        final_lr: share of optim.lr that is left at the end of the run, to which it falls in a line; 1: it stays.
            Default 1; a number in [0, 1].
        average: updates over which parameters are averaged for evaluation; 0: it takes the current ones. Default 0;
            a whole number in [0, 1e9].
        stages: shared: one network; per-stage: one for each stage, fitted in a backward sweep before every episode.
            Default shared; shared | per-stage.

    Parameters of its optimizer, asgld (optimizer= names another one, and takes its parameters):

        lr: step size. Default 1e-4; a number in (0, 1e6].
        l2: ridge: adds l2 w to the gradient. Default 0; a number in [0, 1e6].
        compensated: keep parameters as sums of two floats, so that tiny noise is not rounded away. Default false;
            true | false.
        beta: inverse temperature: noise is scaled by 1/sqrt(beta); inf: no noise. Default 1e12; a number in (0,
            inf].
        a: weight of the Adam bias term beside the gradient. Default 0.1; a number in [0, 1e6].
        alpha1: decay of m, the mean gradient. Default 0.9; a number in [0, 1).
        alpha2: decay of v, the mean of g^2; 0: as the form has it, 0.99 or 0.999. Default 0; a number in [0, 1).
        eps: keeps the Adam term finite: sqrt(v + eps), or sqrt(v) + eps, by form. Default 1e-8; a number in (0, 1].
        form: paper: the moments of the step before, eps inside the root; code: as the authors program it, with the
            moments updated first and eps outside. Default paper; paper | code.

    Presets (preset=...; auto chooses by the observations):

        small: agent.warmup=1000 agent.warmup_actions=uniform agent.update_every=1 agent.batch=64 agent.replay=20000
            agent.n_step=30 agent.double=true agent.target_every=500 agent.final_lr=0.05 agent.average=2000
            optim.lr=2e-3 optim.a=0.01 optim.beta=3e3 optim.l2=0.03 optim.form=paper
        one-hot: agent.warmup=1000 agent.warmup_actions=uniform agent.update_every=1 agent.hidden=64,64
            agent.one_hot_gain=3 agent.replay=100000 agent.target_every=200 optim.lr=1e-3 optim.a=0.1 optim.beta=3e3
            optim.form=paper
        cyclic: agent.warmup=1000 agent.warmup_actions=uniform agent.update_every=1 agent.hidden=64,64
            agent.one_hot_gain=3 agent.replay=100000 agent.target_every=200 agent.double=true agent.final_lr=0.05
            agent.average=1000 optim.lr=1e-3 optim.a=0.1 optim.beta=3e4 optim.form=paper
        atari: agent.hidden=512 agent.replay=1000000 agent.n_step=3 agent.double=true agent.target_every=500
            optim.lr=1e-4 optim.a=0.1 optim.beta=1e16 optim.form=code
    """

    def __init__(
        self,
        env: Any,
        *,
        seed: int = 0,
        steps: int | None = None,
        episodes: int | None = None,
        optimizer: str | None = None,
        reward_range: tuple[float, float] | None = None,
        preset: Literal['auto', 'small', 'one-hot', 'cyclic', 'atari', 'zoo'] | None = None,
        net: Literal['auto', 'mlp', 'nature'] | None = None,
        hidden: Sequence[int] | int | None = None,
        scale_input: bool | None = None,
        gamma: float | None = None,
        n_step: int | None = None,
        batch: int | None = None,
        replay: int | None = None,
        warmup: int | None = None,
        update_every: int | None = None,
        updates: int | None = None,
        target_every: int | None = None,
        double: bool | None = None,
        loss: Literal['mse', 'huber'] | None = None,
        shared_bias: bool | None = None,
        one_hot_gain: float | None = None,
        warmup_actions: Literal['greedy', 'uniform'] | None = None,
        final_lr: float | None = None,
        average: int | None = None,
        stages: Literal['shared', 'per-stage'] | None = None,
        lr: float | None = None,
        l2: float | None = None,
        compensated: bool | None = None,
        beta: float | None = None,
        a: float | None = None,
        alpha1: float | None = None,
        alpha2: float | None = None,
        eps: float | None = None,
        form: Literal['paper', 'code'] | None = None,
    ) -> None: ...

class LMCDQN(Agent):
    """Langevin Monte Carlo DQN without preconditioning (SGLD).

    env: a Gymnasium environment with Discrete actions or the name of one, a vector of such, or a TabularMDP.
    seed: of the agent, and of the environment's first reset in learn().
    steps, episodes: how long it will be trained, for schedules that depend on it; left out, the first learn() tells.
    reward_range: the least and the greatest reward, which Gymnasium does not tell, for agents that ask for it.
    Whatever is None is filled in by a preset, or has the default that is named below.

    Parameters of lmc-dqn:

        preset: values for what is left open; auto: atari for images, one-hot for one-hot observations where there
            is one, else small. zoo: dqn as DQN Zoo has it. Default auto; auto | small | one-hot | cyclic | atari |
            zoo.
        net: nature: three convolutions and dense layers; auto: nature for images, else mlp. Default auto; auto |
            mlp | nature.
        hidden: widths of the hidden dense layers. Default 32,32; a list like 32,32; each a whole number in [1,
            1e6].
        scale_input: divide bytes by 255. Default false; true | false.
        gamma: discount. Default 0.99; a number in [0, 1].
        n_step: rewards in a target before it bootstraps. Default 1; a whole number in [1, 1000].
        batch: transitions in a minibatch. Default 32; a whole number in [1, 65536].
        replay: steps the replay holds; the last observation of an episode counts as one. Default 10000; a whole
            number in [2, 1e9].
        warmup: transitions before the first update. Default 32; a whole number in [1, 1e9].
        update_every: environment steps between updates; 0: update between episodes only. Default 10; a whole number
            in [0, 1e9].
        updates: J: gradient steps each time. Default 1; a whole number in [1, 1e9].
        target_every: gradient steps between copies to the target network. Default 100; a whole number in [1, 1e9].
        double: the online network chooses the action that the target network values. Default false; true | false.
        loss: mse: mean of the squared error; huber: half of that up to 1, linear beyond. Default mse; mse | huber.
        shared_bias: the output layer has one bias for all actions. Default false; true | false.
        one_hot_gain: one-hot observations of n states are this times sqrt(n) where they are on, so that initial
            values differ between states however many there are; 0: they are 1. Default 0; a number in [0, 1e6].
        warmup_actions: actions until agent.warmup: of the initial network, or uniform. Default greedy; greedy |
            uniform.
        final_lr: share of optim.lr that is left at the end of the run, to which it falls in a line; 1: it stays.
            Default 1; a number in [0, 1].
        average: updates over which parameters are averaged for evaluation; 0: it takes the current ones. Default 0;
            a whole number in [0, 1e9].
        stages: shared: one network; per-stage: one for each stage, fitted in a backward sweep before every episode.
            Default shared; shared | per-stage.

    Parameters of its optimizer, sgld (optimizer= names another one, and takes its parameters):

        lr: step size. Default 1e-4; a number in (0, 1e6].
        l2: ridge: adds l2 w to the gradient. Default 0; a number in [0, 1e6].
        compensated: keep parameters as sums of two floats, so that tiny noise is not rounded away. Default false;
            true | false.
        beta: inverse temperature: noise is scaled by 1/sqrt(beta); inf: no noise. Default 1e4; a number in (0,
            inf].

    Presets (preset=...; auto chooses by the observations):

        small: agent.warmup=200 agent.warmup_actions=uniform agent.updates=4 optim.lr=3e-3 optim.beta=3e3
            optim.l2=0.1
        atari: agent.hidden=512 agent.replay=1000000 agent.n_step=3 agent.double=true agent.target_every=500
            optim.lr=1e-4 optim.beta=1e16
    """

    def __init__(
        self,
        env: Any,
        *,
        seed: int = 0,
        steps: int | None = None,
        episodes: int | None = None,
        optimizer: str | None = None,
        reward_range: tuple[float, float] | None = None,
        preset: Literal['auto', 'small', 'one-hot', 'cyclic', 'atari', 'zoo'] | None = None,
        net: Literal['auto', 'mlp', 'nature'] | None = None,
        hidden: Sequence[int] | int | None = None,
        scale_input: bool | None = None,
        gamma: float | None = None,
        n_step: int | None = None,
        batch: int | None = None,
        replay: int | None = None,
        warmup: int | None = None,
        update_every: int | None = None,
        updates: int | None = None,
        target_every: int | None = None,
        double: bool | None = None,
        loss: Literal['mse', 'huber'] | None = None,
        shared_bias: bool | None = None,
        one_hot_gain: float | None = None,
        warmup_actions: Literal['greedy', 'uniform'] | None = None,
        final_lr: float | None = None,
        average: int | None = None,
        stages: Literal['shared', 'per-stage'] | None = None,
        lr: float | None = None,
        l2: float | None = None,
        compensated: bool | None = None,
        beta: float | None = None,
    ) -> None: ...

class PSGLDDQN(Agent):
    """Langevin Monte Carlo DQN with RMSProp preconditioning (pSGLD).

    env: a Gymnasium environment with Discrete actions or the name of one, a vector of such, or a TabularMDP.
    seed: of the agent, and of the environment's first reset in learn().
    steps, episodes: how long it will be trained, for schedules that depend on it; left out, the first learn() tells.
    reward_range: the least and the greatest reward, which Gymnasium does not tell, for agents that ask for it.
    Whatever is None is filled in by a preset, or has the default that is named below.

    Parameters of psgld-dqn:

        preset: values for what is left open; auto: atari for images, one-hot for one-hot observations where there
            is one, else small. zoo: dqn as DQN Zoo has it. Default auto; auto | small | one-hot | cyclic | atari |
            zoo.
        net: nature: three convolutions and dense layers; auto: nature for images, else mlp. Default auto; auto |
            mlp | nature.
        hidden: widths of the hidden dense layers. Default 32,32; a list like 32,32; each a whole number in [1,
            1e6].
        scale_input: divide bytes by 255. Default false; true | false.
        gamma: discount. Default 0.99; a number in [0, 1].
        n_step: rewards in a target before it bootstraps. Default 1; a whole number in [1, 1000].
        batch: transitions in a minibatch. Default 32; a whole number in [1, 65536].
        replay: steps the replay holds; the last observation of an episode counts as one. Default 10000; a whole
            number in [2, 1e9].
        warmup: transitions before the first update. Default 32; a whole number in [1, 1e9].
        update_every: environment steps between updates; 0: update between episodes only. Default 10; a whole number
            in [0, 1e9].
        updates: J: gradient steps each time. Default 1; a whole number in [1, 1e9].
        target_every: gradient steps between copies to the target network. Default 100; a whole number in [1, 1e9].
        double: the online network chooses the action that the target network values. Default false; true | false.
        loss: mse: mean of the squared error; huber: half of that up to 1, linear beyond. Default mse; mse | huber.
        shared_bias: the output layer has one bias for all actions. Default false; true | false.
        one_hot_gain: one-hot observations of n states are this times sqrt(n) where they are on, so that initial
            values differ between states however many there are; 0: they are 1. Default 0; a number in [0, 1e6].
        warmup_actions: actions until agent.warmup: of the initial network, or uniform. Default greedy; greedy |
            uniform.
        final_lr: share of optim.lr that is left at the end of the run, to which it falls in a line; 1: it stays.
            Default 1; a number in [0, 1].
        average: updates over which parameters are averaged for evaluation; 0: it takes the current ones. Default 0;
            a whole number in [0, 1e9].
        stages: shared: one network; per-stage: one for each stage, fitted in a backward sweep before every episode.
            Default shared; shared | per-stage.

    Parameters of its optimizer, psgld (optimizer= names another one, and takes its parameters):

        lr: step size. Default 1e-4; a number in (0, 1e6].
        l2: ridge: adds l2 w to the gradient. Default 0; a number in [0, 1e6].
        compensated: keep parameters as sums of two floats, so that tiny noise is not rounded away. Default false;
            true | false.
        beta: inverse temperature: noise is scaled by 1/sqrt(beta); inf: no noise. Default 1e4; a number in (0,
            inf].
        alpha2: decay of v, the mean of g^2. Default 0.99; a number in [0, 1).
        eps: keeps step and noise finite: G = sqrt(v) + eps. Default 1e-8; a number in (0, 1].

    Presets (preset=...; auto chooses by the observations):

        small: agent.warmup=200 agent.warmup_actions=uniform agent.updates=4 optim.lr=1e-3 optim.beta=3e4
            optim.l2=0.1
        atari: agent.hidden=512 agent.replay=1000000 agent.n_step=3 agent.double=true agent.target_every=500
            optim.lr=1e-4 optim.beta=1e16
    """

    def __init__(
        self,
        env: Any,
        *,
        seed: int = 0,
        steps: int | None = None,
        episodes: int | None = None,
        optimizer: str | None = None,
        reward_range: tuple[float, float] | None = None,
        preset: Literal['auto', 'small', 'one-hot', 'cyclic', 'atari', 'zoo'] | None = None,
        net: Literal['auto', 'mlp', 'nature'] | None = None,
        hidden: Sequence[int] | int | None = None,
        scale_input: bool | None = None,
        gamma: float | None = None,
        n_step: int | None = None,
        batch: int | None = None,
        replay: int | None = None,
        warmup: int | None = None,
        update_every: int | None = None,
        updates: int | None = None,
        target_every: int | None = None,
        double: bool | None = None,
        loss: Literal['mse', 'huber'] | None = None,
        shared_bias: bool | None = None,
        one_hot_gain: float | None = None,
        warmup_actions: Literal['greedy', 'uniform'] | None = None,
        final_lr: float | None = None,
        average: int | None = None,
        stages: Literal['shared', 'per-stage'] | None = None,
        lr: float | None = None,
        l2: float | None = None,
        compensated: bool | None = None,
        beta: float | None = None,
        alpha2: float | None = None,
        eps: float | None = None,
    ) -> None: ...

class LangevinDQN(Agent):
    """DQN with Adam and preconditioned noise (Langevin DQN).

    env: a Gymnasium environment with Discrete actions or the name of one, a vector of such, or a TabularMDP.
    seed: of the agent, and of the environment's first reset in learn().
    steps, episodes: how long it will be trained, for schedules that depend on it; left out, the first learn() tells.
    reward_range: the least and the greatest reward, which Gymnasium does not tell, for agents that ask for it.
    Whatever is None is filled in by a preset, or has the default that is named below.

    Parameters of langevin-dqn:

        preset: values for what is left open; auto: atari for images, one-hot for one-hot observations where there
            is one, else small. zoo: dqn as DQN Zoo has it. Default auto; auto | small | one-hot | cyclic | atari |
            zoo.
        net: nature: three convolutions and dense layers; auto: nature for images, else mlp. Default auto; auto |
            mlp | nature.
        hidden: widths of the hidden dense layers. Default 32,32; a list like 32,32; each a whole number in [1,
            1e6].
        scale_input: divide bytes by 255. Default false; true | false.
        gamma: discount. Default 0.99; a number in [0, 1].
        n_step: rewards in a target before it bootstraps. Default 1; a whole number in [1, 1000].
        batch: transitions in a minibatch. Default 32; a whole number in [1, 65536].
        replay: steps the replay holds; the last observation of an episode counts as one. Default 10000; a whole
            number in [2, 1e9].
        warmup: transitions before the first update. Default 32; a whole number in [1, 1e9].
        update_every: environment steps between updates; 0: update between episodes only. Default 10; a whole number
            in [0, 1e9].
        updates: J: gradient steps each time. Default 1; a whole number in [1, 1e9].
        target_every: gradient steps between copies to the target network. Default 100; a whole number in [1, 1e9].
        double: the online network chooses the action that the target network values. Default false; true | false.
        loss: mse: mean of the squared error; huber: half of that up to 1, linear beyond. Default mse; mse | huber.
        shared_bias: the output layer has one bias for all actions. Default false; true | false.
        one_hot_gain: one-hot observations of n states are this times sqrt(n) where they are on, so that initial
            values differ between states however many there are; 0: they are 1. Default 0; a number in [0, 1e6].
        warmup_actions: actions until agent.warmup: of the initial network, or uniform. Default greedy; greedy |
            uniform.
        final_lr: share of optim.lr that is left at the end of the run, to which it falls in a line; 1: it stays.
            Default 1; a number in [0, 1].
        average: updates over which parameters are averaged for evaluation; 0: it takes the current ones. Default 0;
            a whole number in [0, 1e9].
        stages: shared: one network; per-stage: one for each stage, fitted in a backward sweep before every episode.
            Default shared; shared | per-stage.

    Parameters of its optimizer, langevin-adam (optimizer= names another one, and takes its parameters):

        lr: step size. Default 1e-4; a number in (0, 1e6].
        l2: ridge: adds l2 w to the gradient. Default 0; a number in [0, 1e6].
        compensated: keep parameters as sums of two floats, so that tiny noise is not rounded away. Default false;
            true | false.
        beta: inverse temperature: noise is scaled by 1/sqrt(beta); inf: no noise. Default 1e12; a number in (0,
            inf].
        alpha1: decay of m, the mean gradient. Default 0.9; a number in [0, 1).
        alpha2: decay of v, the mean of g^2. Default 0.999; a number in [0, 1).
        eps: keeps step and noise finite: sqrt(v) + eps. Default 1e-8; a number in (0, 1].

    Presets (preset=...; auto chooses by the observations):

        small: agent.warmup=200 agent.warmup_actions=uniform agent.updates=4 optim.lr=1e-3 optim.beta=1e5
            optim.l2=0.1
        atari: agent.hidden=512 agent.replay=1000000 agent.n_step=3 agent.double=true agent.target_every=500
            optim.lr=1e-4 optim.beta=1e16
    """

    def __init__(
        self,
        env: Any,
        *,
        seed: int = 0,
        steps: int | None = None,
        episodes: int | None = None,
        optimizer: str | None = None,
        reward_range: tuple[float, float] | None = None,
        preset: Literal['auto', 'small', 'one-hot', 'cyclic', 'atari', 'zoo'] | None = None,
        net: Literal['auto', 'mlp', 'nature'] | None = None,
        hidden: Sequence[int] | int | None = None,
        scale_input: bool | None = None,
        gamma: float | None = None,
        n_step: int | None = None,
        batch: int | None = None,
        replay: int | None = None,
        warmup: int | None = None,
        update_every: int | None = None,
        updates: int | None = None,
        target_every: int | None = None,
        double: bool | None = None,
        loss: Literal['mse', 'huber'] | None = None,
        shared_bias: bool | None = None,
        one_hot_gain: float | None = None,
        warmup_actions: Literal['greedy', 'uniform'] | None = None,
        final_lr: float | None = None,
        average: int | None = None,
        stages: Literal['shared', 'per-stage'] | None = None,
        lr: float | None = None,
        l2: float | None = None,
        compensated: bool | None = None,
        beta: float | None = None,
        alpha1: float | None = None,
        alpha2: float | None = None,
        eps: float | None = None,
    ) -> None: ...

class FGLMCDQN(Agent):
    """Adam LMCDQN with the feel-good term.

    env: a Gymnasium environment with Discrete actions or the name of one, a vector of such, or a TabularMDP.
    seed: of the agent, and of the environment's first reset in learn().
    steps, episodes: how long it will be trained, for schedules that depend on it; left out, the first learn() tells.
    reward_range: the least and the greatest reward, which Gymnasium does not tell, for agents that ask for it.
    Whatever is None is filled in by a preset, or has the default that is named below.

    Parameters of fg-lmcdqn:

        preset: values for what is left open; auto: atari for images, one-hot for one-hot observations where there
            is one, else small. zoo: dqn as DQN Zoo has it. Default auto; auto | small | one-hot | cyclic | atari |
            zoo.
        net: nature: three convolutions and dense layers; auto: nature for images, else mlp. Default auto; auto |
            mlp | nature.
        hidden: widths of the hidden dense layers. Default 32,32; a list like 32,32; each a whole number in [1,
            1e6].
        scale_input: divide bytes by 255. Default false; true | false.
        gamma: discount. Default 0.99; a number in [0, 1].
        n_step: rewards in a target before it bootstraps. Default 1; a whole number in [1, 1000].
        batch: transitions in a minibatch. Default 32; a whole number in [1, 65536].
        replay: steps the replay holds; the last observation of an episode counts as one. Default 10000; a whole
            number in [2, 1e9].
        warmup: transitions before the first update. Default 32; a whole number in [1, 1e9].
        update_every: environment steps between updates; 0: update between episodes only. Default 10; a whole number
            in [0, 1e9].
        updates: J: gradient steps each time. Default 1; a whole number in [1, 1e9].
        target_every: gradient steps between copies to the target network. Default 100; a whole number in [1, 1e9].
        double: the online network chooses the action that the target network values. Default false; true | false.
        loss: mse: mean of the squared error; huber: half of that up to 1, linear beyond. Default mse; mse | huber.
        shared_bias: the output layer has one bias for all actions. Default false; true | false.
        one_hot_gain: one-hot observations of n states are this times sqrt(n) where they are on, so that initial
            values differ between states however many there are; 0: they are 1. Default 0; a number in [0, 1e6].
        warmup_actions: actions until agent.warmup: of the initial network, or uniform. Default greedy; greedy |
            uniform.
        final_lr: share of optim.lr that is left at the end of the run, to which it falls in a line; 1: it stays.
            Default 1; a number in [0, 1].
        average: updates over which parameters are averaged for evaluation; 0: it takes the current ones. Default 0;
            a whole number in [0, 1e9].
        stages: shared: one network; per-stage: one for each stage, fitted in a backward sweep before every episode.
            Default shared; shared | per-stage.
        feel_good: eta_fg: weight of optimism at the first observation of an episode. Default 0.1; a number in [0,
            1e6].

    Parameters of its optimizer, asgld (optimizer= names another one, and takes its parameters):

        lr: step size. Default 1e-4; a number in (0, 1e6].
        l2: ridge: adds l2 w to the gradient. Default 0; a number in [0, 1e6].
        compensated: keep parameters as sums of two floats, so that tiny noise is not rounded away. Default false;
            true | false.
        beta: inverse temperature: noise is scaled by 1/sqrt(beta); inf: no noise. Default 1e12; a number in (0,
            inf].
        a: weight of the Adam bias term beside the gradient. Default 0.1; a number in [0, 1e6].
        alpha1: decay of m, the mean gradient. Default 0.9; a number in [0, 1).
        alpha2: decay of v, the mean of g^2; 0: as the form has it, 0.99 or 0.999. Default 0; a number in [0, 1).
        eps: keeps the Adam term finite: sqrt(v + eps), or sqrt(v) + eps, by form. Default 1e-8; a number in (0, 1].
        form: paper: the moments of the step before, eps inside the root; code: as the authors program it, with the
            moments updated first and eps outside. Default paper; paper | code.

    Presets (preset=...; auto chooses by the observations):

        small: agent.warmup=200 agent.warmup_actions=uniform agent.updates=4 agent.feel_good=0.01 optim.lr=3e-3
            optim.a=0.1 optim.beta=3e3 optim.l2=0.03 optim.form=paper
        atari: agent.hidden=512 agent.replay=1000000 agent.n_step=3 agent.double=true agent.target_every=500
            agent.feel_good=0.001 optim.lr=1e-4 optim.a=0.1 optim.beta=1e16 optim.form=code
    """

    def __init__(
        self,
        env: Any,
        *,
        seed: int = 0,
        steps: int | None = None,
        episodes: int | None = None,
        optimizer: str | None = None,
        reward_range: tuple[float, float] | None = None,
        preset: Literal['auto', 'small', 'one-hot', 'cyclic', 'atari', 'zoo'] | None = None,
        net: Literal['auto', 'mlp', 'nature'] | None = None,
        hidden: Sequence[int] | int | None = None,
        scale_input: bool | None = None,
        gamma: float | None = None,
        n_step: int | None = None,
        batch: int | None = None,
        replay: int | None = None,
        warmup: int | None = None,
        update_every: int | None = None,
        updates: int | None = None,
        target_every: int | None = None,
        double: bool | None = None,
        loss: Literal['mse', 'huber'] | None = None,
        shared_bias: bool | None = None,
        one_hot_gain: float | None = None,
        warmup_actions: Literal['greedy', 'uniform'] | None = None,
        final_lr: float | None = None,
        average: int | None = None,
        stages: Literal['shared', 'per-stage'] | None = None,
        feel_good: float | None = None,
        lr: float | None = None,
        l2: float | None = None,
        compensated: bool | None = None,
        beta: float | None = None,
        a: float | None = None,
        alpha1: float | None = None,
        alpha2: float | None = None,
        eps: float | None = None,
        form: Literal['paper', 'code'] | None = None,
    ) -> None: ...

class ULMCDQN(Agent):
    """Underdamped Langevin Monte Carlo DQN.

    env: a Gymnasium environment with Discrete actions or the name of one, a vector of such, or a TabularMDP.
    seed: of the agent, and of the environment's first reset in learn().
    steps, episodes: how long it will be trained, for schedules that depend on it; left out, the first learn() tells.
    reward_range: the least and the greatest reward, which Gymnasium does not tell, for agents that ask for it.
    Whatever is None is filled in by a preset, or has the default that is named below.

    Parameters of ulmc-dqn:

        preset: values for what is left open; auto: atari for images, one-hot for one-hot observations where there
            is one, else small. zoo: dqn as DQN Zoo has it. Default auto; auto | small | one-hot | cyclic | atari |
            zoo.
        net: nature: three convolutions and dense layers; auto: nature for images, else mlp. Default auto; auto |
            mlp | nature.
        hidden: widths of the hidden dense layers. Default 32,32; a list like 32,32; each a whole number in [1,
            1e6].
        scale_input: divide bytes by 255. Default false; true | false.
        gamma: discount. Default 0.99; a number in [0, 1].
        n_step: rewards in a target before it bootstraps. Default 1; a whole number in [1, 1000].
        batch: transitions in a minibatch. Default 32; a whole number in [1, 65536].
        replay: steps the replay holds; the last observation of an episode counts as one. Default 10000; a whole
            number in [2, 1e9].
        warmup: transitions before the first update. Default 32; a whole number in [1, 1e9].
        update_every: environment steps between updates; 0: update between episodes only. Default 10; a whole number
            in [0, 1e9].
        updates: J: gradient steps each time. Default 1; a whole number in [1, 1e9].
        target_every: gradient steps between copies to the target network. Default 100; a whole number in [1, 1e9].
        double: the online network chooses the action that the target network values. Default false; true | false.
        loss: mse: mean of the squared error; huber: half of that up to 1, linear beyond. Default mse; mse | huber.
        shared_bias: the output layer has one bias for all actions. Default false; true | false.
        one_hot_gain: one-hot observations of n states are this times sqrt(n) where they are on, so that initial
            values differ between states however many there are; 0: they are 1. Default 0; a number in [0, 1e6].
        warmup_actions: actions until agent.warmup: of the initial network, or uniform. Default greedy; greedy |
            uniform.
        final_lr: share of optim.lr that is left at the end of the run, to which it falls in a line; 1: it stays.
            Default 1; a number in [0, 1].
        average: updates over which parameters are averaged for evaluation; 0: it takes the current ones. Default 0;
            a whole number in [0, 1e9].
        stages: shared: one network; per-stage: one for each stage, fitted in a backward sweep before every episode.
            Default shared; shared | per-stage.

    Parameters of its optimizer, ulmc (optimizer= names another one, and takes its parameters):

        lr: step size. Default 1e-3; a number in (0, 1e6].
        l2: ridge: adds l2 w to the gradient. Default 0; a number in [0, 1e6].
        compensated: keep parameters as sums of two floats, so that tiny noise is not rounded away. Default false;
            true | false.
        beta: inverse temperature: noise is scaled by 1/sqrt(beta); inf: no noise. Default 1e10; a number in (0,
            inf].
        a: weight of the Adam bias term beside the gradient. Default 0.1; a number in [0, 1e6].
        alpha1: decay of m, the mean gradient. Default 0.9; a number in [0, 1).
        alpha2: decay of v, the mean of g^2. Default 0.999; a number in [0, 1).
        eps: keeps the Adam term finite: sqrt(v) + eps. Default 1e-8; a number in (0, 1].
        friction: gamma: the velocity forgets at the rate lr friction a step, which must be below 2. Default 1; a
            number in (0, 1e6].
        drift: asgld: with the Adam term, noise in the position; plain: the gradient alone, noise in the velocity.
            Default asgld; asgld | plain.

    Presets (preset=...; auto chooses by the observations):

        small: agent.warmup=200 agent.warmup_actions=uniform agent.updates=4 optim.lr=0.03 optim.friction=10
            optim.a=0.1 optim.beta=3e5 optim.l2=0.03
        atari: agent.hidden=512 agent.replay=1000000 agent.n_step=3 agent.double=true agent.target_every=500
            optim.lr=1e-3 optim.friction=10 optim.a=0.1 optim.beta=1e10
    """

    def __init__(
        self,
        env: Any,
        *,
        seed: int = 0,
        steps: int | None = None,
        episodes: int | None = None,
        optimizer: str | None = None,
        reward_range: tuple[float, float] | None = None,
        preset: Literal['auto', 'small', 'one-hot', 'cyclic', 'atari', 'zoo'] | None = None,
        net: Literal['auto', 'mlp', 'nature'] | None = None,
        hidden: Sequence[int] | int | None = None,
        scale_input: bool | None = None,
        gamma: float | None = None,
        n_step: int | None = None,
        batch: int | None = None,
        replay: int | None = None,
        warmup: int | None = None,
        update_every: int | None = None,
        updates: int | None = None,
        target_every: int | None = None,
        double: bool | None = None,
        loss: Literal['mse', 'huber'] | None = None,
        shared_bias: bool | None = None,
        one_hot_gain: float | None = None,
        warmup_actions: Literal['greedy', 'uniform'] | None = None,
        final_lr: float | None = None,
        average: int | None = None,
        stages: Literal['shared', 'per-stage'] | None = None,
        lr: float | None = None,
        l2: float | None = None,
        compensated: bool | None = None,
        beta: float | None = None,
        a: float | None = None,
        alpha1: float | None = None,
        alpha2: float | None = None,
        eps: float | None = None,
        friction: float | None = None,
        drift: Literal['asgld', 'plain'] | None = None,
    ) -> None: ...

class FGULMCDQN(Agent):
    """ULMCDQN with the feel-good term.

    env: a Gymnasium environment with Discrete actions or the name of one, a vector of such, or a TabularMDP.
    seed: of the agent, and of the environment's first reset in learn().
    steps, episodes: how long it will be trained, for schedules that depend on it; left out, the first learn() tells.
    reward_range: the least and the greatest reward, which Gymnasium does not tell, for agents that ask for it.
    Whatever is None is filled in by a preset, or has the default that is named below.

    Parameters of fg-ulmc-dqn:

        preset: values for what is left open; auto: atari for images, one-hot for one-hot observations where there
            is one, else small. zoo: dqn as DQN Zoo has it. Default auto; auto | small | one-hot | cyclic | atari |
            zoo.
        net: nature: three convolutions and dense layers; auto: nature for images, else mlp. Default auto; auto |
            mlp | nature.
        hidden: widths of the hidden dense layers. Default 32,32; a list like 32,32; each a whole number in [1,
            1e6].
        scale_input: divide bytes by 255. Default false; true | false.
        gamma: discount. Default 0.99; a number in [0, 1].
        n_step: rewards in a target before it bootstraps. Default 1; a whole number in [1, 1000].
        batch: transitions in a minibatch. Default 32; a whole number in [1, 65536].
        replay: steps the replay holds; the last observation of an episode counts as one. Default 10000; a whole
            number in [2, 1e9].
        warmup: transitions before the first update. Default 32; a whole number in [1, 1e9].
        update_every: environment steps between updates; 0: update between episodes only. Default 10; a whole number
            in [0, 1e9].
        updates: J: gradient steps each time. Default 1; a whole number in [1, 1e9].
        target_every: gradient steps between copies to the target network. Default 100; a whole number in [1, 1e9].
        double: the online network chooses the action that the target network values. Default false; true | false.
        loss: mse: mean of the squared error; huber: half of that up to 1, linear beyond. Default mse; mse | huber.
        shared_bias: the output layer has one bias for all actions. Default false; true | false.
        one_hot_gain: one-hot observations of n states are this times sqrt(n) where they are on, so that initial
            values differ between states however many there are; 0: they are 1. Default 0; a number in [0, 1e6].
        warmup_actions: actions until agent.warmup: of the initial network, or uniform. Default greedy; greedy |
            uniform.
        final_lr: share of optim.lr that is left at the end of the run, to which it falls in a line; 1: it stays.
            Default 1; a number in [0, 1].
        average: updates over which parameters are averaged for evaluation; 0: it takes the current ones. Default 0;
            a whole number in [0, 1e9].
        stages: shared: one network; per-stage: one for each stage, fitted in a backward sweep before every episode.
            Default shared; shared | per-stage.
        feel_good: eta_fg: weight of optimism at the first observation of an episode. Default 0.1; a number in [0,
            1e6].

    Parameters of its optimizer, ulmc (optimizer= names another one, and takes its parameters):

        lr: step size. Default 1e-3; a number in (0, 1e6].
        l2: ridge: adds l2 w to the gradient. Default 0; a number in [0, 1e6].
        compensated: keep parameters as sums of two floats, so that tiny noise is not rounded away. Default false;
            true | false.
        beta: inverse temperature: noise is scaled by 1/sqrt(beta); inf: no noise. Default 1e10; a number in (0,
            inf].
        a: weight of the Adam bias term beside the gradient. Default 0.1; a number in [0, 1e6].
        alpha1: decay of m, the mean gradient. Default 0.9; a number in [0, 1).
        alpha2: decay of v, the mean of g^2. Default 0.999; a number in [0, 1).
        eps: keeps the Adam term finite: sqrt(v) + eps. Default 1e-8; a number in (0, 1].
        friction: gamma: the velocity forgets at the rate lr friction a step, which must be below 2. Default 1; a
            number in (0, 1e6].
        drift: asgld: with the Adam term, noise in the position; plain: the gradient alone, noise in the velocity.
            Default asgld; asgld | plain.

    Presets (preset=...; auto chooses by the observations):

        small: agent.warmup=200 agent.warmup_actions=uniform agent.updates=4 agent.feel_good=0.01 optim.lr=0.03
            optim.friction=10 optim.a=0.1 optim.beta=3e5 optim.l2=0.03
        atari: agent.hidden=512 agent.replay=1000000 agent.n_step=3 agent.double=true agent.target_every=500
            agent.feel_good=0.001 optim.lr=1e-3 optim.friction=10 optim.a=0.1 optim.beta=1e10
    """

    def __init__(
        self,
        env: Any,
        *,
        seed: int = 0,
        steps: int | None = None,
        episodes: int | None = None,
        optimizer: str | None = None,
        reward_range: tuple[float, float] | None = None,
        preset: Literal['auto', 'small', 'one-hot', 'cyclic', 'atari', 'zoo'] | None = None,
        net: Literal['auto', 'mlp', 'nature'] | None = None,
        hidden: Sequence[int] | int | None = None,
        scale_input: bool | None = None,
        gamma: float | None = None,
        n_step: int | None = None,
        batch: int | None = None,
        replay: int | None = None,
        warmup: int | None = None,
        update_every: int | None = None,
        updates: int | None = None,
        target_every: int | None = None,
        double: bool | None = None,
        loss: Literal['mse', 'huber'] | None = None,
        shared_bias: bool | None = None,
        one_hot_gain: float | None = None,
        warmup_actions: Literal['greedy', 'uniform'] | None = None,
        final_lr: float | None = None,
        average: int | None = None,
        stages: Literal['shared', 'per-stage'] | None = None,
        feel_good: float | None = None,
        lr: float | None = None,
        l2: float | None = None,
        compensated: bool | None = None,
        beta: float | None = None,
        a: float | None = None,
        alpha1: float | None = None,
        alpha2: float | None = None,
        eps: float | None = None,
        friction: float | None = None,
        drift: Literal['asgld', 'plain'] | None = None,
    ) -> None: ...

class GNLMCDQN(Agent):
    """One Langevin chain on the posterior, with a Gauss-Newton preconditioner.

    env: a Gymnasium environment with Discrete actions or the name of one, a vector of such, or a TabularMDP.
    seed: of the agent, and of the environment's first reset in learn().
    steps, episodes: how long it will be trained, for schedules that depend on it; left out, the first learn() tells.
    reward_range: the least and the greatest reward, which Gymnasium does not tell, for agents that ask for it.
    Whatever is None is filled in by a preset, or has the default that is named below.

    Parameters of gn-lmcdqn:

        hidden: widths of the hidden layers. Default 32; a list like 32,32; each a whole number in [1, 1e6].
        gamma: discount. Default 0.99; a number in [0, 1].
        sigma: standard deviation of a target's error; 0: (1 - gamma) prior_output, or prior_output / horizon if
            gamma is 1. Default 0; a number in [0, 1e6].
        step: share of an error that an update makes up for. Default 0.5; a number in (0, 1].
        upper_step: step of the layers above the first, in units of its step. Default 0.01; a number in [0, 1].
        prior_output: prior deviation of the output; 0: the greatest size of the environment's rewards. Default 0; a
            number in [0, 1e6].
        prior_bias: prior deviation of biases. Default 0.1; a number in (0, 1e6].
        updates: J: chain steps between episodes; 0: 60, or the horizon if that is longer. Default 0; a whole number
            in [0, 1e9].
        capacity: the most distinct transitions. Default 100000; a whole number in [1, 1e9].
        batch: known states that a chain step looks at; 0: all. Default 0; a whole number in [0, 1e9].
        curvature_decay: decay of the mean curvature of what states share, if a step does not look at all. Default
            0.99; a number in [0, 1).
    """

    def __init__(
        self,
        env: Any,
        *,
        seed: int = 0,
        steps: int | None = None,
        episodes: int | None = None,
        reward_range: tuple[float, float] | None = None,
        hidden: Sequence[int] | int | None = None,
        gamma: float | None = None,
        sigma: float | None = None,
        step: float | None = None,
        upper_step: float | None = None,
        prior_output: float | None = None,
        prior_bias: float | None = None,
        updates: int | None = None,
        capacity: int | None = None,
        batch: int | None = None,
        curvature_decay: float | None = None,
    ) -> None: ...
