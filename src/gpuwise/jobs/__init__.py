"""What pages are made of, for a command as for the explorer: read once, put together without arithmetic.

`facts` holds what is known (catalog, offers, published and measured speeds), `forecasts` what is predicted
of it, and `compose` makes of both the material of a report, a card and an article.
"""
