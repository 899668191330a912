"""The jobs: one typed function each, a request in, an `Answer` out. `gpuwise` itself has their public names.

    measuring    bench, reproduce, tune: measure this machine; steps: one step of a test, in this process
    serving      a running server, by its API
    accepting    pass or fail of every card
    predicting   speed, memory and watts on GPUs that are not here
    choosing     which GPU to buy or rent, and why; results and GPUs side by side
    facts        the catalog, dated offers, measured and published speeds
    auditing     wrong figures in an article, a table or a result
    reporting    results, a GPU, or two GPUs as one page

The command line, the explorer and the pytest plug-in translate options and forms into these requests, and
answers into tables and pages. Values are typed: seconds, bytes, USD, shares from 0 to 1. No module has the
name of its job, since importing it would then hide the function.
"""
