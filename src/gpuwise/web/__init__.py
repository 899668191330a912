"""The explorer: everything known, measured, predicted and advised, as pages of a browser.

A view is a function of what is known (`facts`) and of what was asked (`asked`) to a `View`; `pages` makes
HTML, JSON or CSV of it, `server` answers requests with it, and `site`
lists all views and writes them as files.
"""
