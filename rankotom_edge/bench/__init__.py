"""What reading faces costs on this machine."""
