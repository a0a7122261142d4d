"""What is done with layouts: one record an operation, and the functions that decide."""
