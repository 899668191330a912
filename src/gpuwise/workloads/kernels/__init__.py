"""gpuwise's own Triton kernels, and the FP8 products whose casts are among them.

The recipe `tuned` runs them; `model.recipe` lists which switches and precisions ask for them. Each is a torch
operator with a fake implementation, so that torch.compile keeps it whole, and each is compared with plain
torch in the tests. Only modules of this folder import triton, and only when a recipe asks for them.
"""
