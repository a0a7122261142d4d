"""What is said about a kernel without a device: report, race detector, stepper, shared layouts that are solved for."""
