"""Show: results, comparisons and specifications as tables. Pure; printing is cli/print.py's."""
