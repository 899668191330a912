"""How many marked errors the audit finds, and whom it accuses wrongly."""
