"""gpuwise's own Triton kernels, and the FP8 products whose casts are among them.

The recipe `tuned` runs them; `model.question` lists which switches and precisions ask for them. Each is a
torch operator with a fake implementation, so that torch.compile keeps it whole, and each is compared with
plain torch in the tests. Only modules of this folder import triton, and only when a recipe asks for them.
"""

# The normal distribution's tail as the kernels of GELU compute it.
#
#     share beyond a = 2^(c0 + c1 a + ... + c5 a^5), a from 0
#
# torch.compile evaluates erf in some fifty instructions a value, longer than the memory takes; this is one
# exponential and five sums. The coefficients minimise (0.15 + a) times the error of the share up to a = 5
# (a linear program; beyond, the last one lets the tail vanish). GELU is off by 6e-7 at most, its slope by
# 4e-6: 16 bits cannot show it.
TAIL = (-1.00001073, -1.15095164, -0.459670566, -0.0520966933, 0.0071836122, -0.000486383454)
