"""The explorer: everything known, measured, predicted and advised, as pages of a browser.

A view is a function of what is known (`facts`) and of what was asked (`asked`) to a `View`; `pages` makes
HTML, JSON or CSV of it, `app` answers requests with it, and `export` writes the same pages as files.
"""
