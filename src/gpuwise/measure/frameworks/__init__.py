"""The frameworks that measure, each behind one `Adapter`; importing this loads none of them."""
