"""Langevin: randomized exploration in reinforcement learning. The Python half of the Gymnasium bridge."""

__version__ = "0.1.0"
