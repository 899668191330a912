"""One module a view of the explorer: functions of what is known and what was asked."""
