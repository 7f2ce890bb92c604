"""From a checkpoint to the file that runs on the device, with its calibration kept."""
