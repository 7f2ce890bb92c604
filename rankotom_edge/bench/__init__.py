"""What reading faces costs on this machine: the loop, two models compared, hours of running."""
