"""Public measurements in the form that `validate` scores: one module a set."""
