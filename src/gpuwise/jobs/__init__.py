"""The jobs: one typed function each, a request in, an `Answer` out. `gpuwise` itself has their public names.

    measuring    bench, reproduce, tune: measure this machine
    predicting   speed, memory and watts on GPUs that are not here
    choosing     which GPU to buy or rent, and why
    comparing    results against the first of them, GPUs side by side
    auditing     wrong figures in an article, a table or a result
    accepting    pass or fail of every card
    reporting    results, a GPU, or two GPUs as one page
    lookups      the catalog, dated offers, measured and published speeds
    steps        one step of a test, timed in this process

The command line, the explorer and the pytest plug-in translate options and forms into these requests, and
answers into tables and pages. Values are typed: seconds, bytes, USD, shares from 0 to 1. No module has the
name of its job, since importing it would then hide the function.
"""
