"""The explorer: everything known, measured, predicted and advised, as pages of a browser.

A view is a function of what is known (`facts`) and of what was asked (`asked`) to a `View`; `site` lists all
views and makes HTML, JSON, CSV or files of them, `server` answers requests, `guard` decides which.
"""
