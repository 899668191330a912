"""gpuwise: measure any GPU for deep learning, keep the result, and say where it stands."""

__version__ = "0.1.0"
