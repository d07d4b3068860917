"""Localization of the ego: a Kalman filter of GNSS, IMU, wheel speed and matched lane lines."""
