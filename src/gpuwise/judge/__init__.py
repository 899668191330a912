"""What follows from records: choices, acceptance, and audits."""
