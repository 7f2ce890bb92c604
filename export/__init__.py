"""From a checkpoint to the model file that runs on the device, without losing its calibration."""
