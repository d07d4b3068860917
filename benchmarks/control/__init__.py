"""The controller and CARLA's published PID through the same manoeuvres, speeds and roads: errors and figures."""
