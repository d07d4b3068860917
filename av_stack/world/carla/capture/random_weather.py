"""Random weather for training pictures."""

from __future__ import annotations

import numpy as np


def random_weather(rng: np.random.Generator) -> dict[str, float]:
    """CARLA's weather parameters by name: any hour, dry or wet, clear or foggy; extremes in a share of the draws."""
    wet = rng.uniform() < 0.4
    foggy = rng.uniform() < 0.25
    return {
        "cloudiness": float(rng.uniform(0.0, 100.0)),
        "precipitation": float(rng.uniform(0.0, 100.0)) if wet and rng.uniform() < 0.6 else 0.0,
        "precipitation_deposits": float(rng.uniform(0.0, 100.0)) if wet else 0.0,
        "wetness": float(rng.uniform(20.0, 100.0)) if wet else 0.0,
        "wind_intensity": float(rng.uniform(0.0, 100.0)),
        "sun_azimuth_angle": float(rng.uniform(0.0, 360.0)),
        "sun_altitude_angle": float(rng.uniform(-30.0, 0.0) if rng.uniform() < 0.25 else rng.uniform(0.0, 90.0)),
        "fog_density": float(rng.uniform(10.0, 80.0)) if foggy else float(rng.uniform(0.0, 5.0)),
        "fog_distance": float(rng.uniform(0.0, 60.0)),
        "fog_falloff": float(rng.uniform(0.1, 2.0)),
        "scattering_intensity": float(rng.uniform(0.5, 1.5)),
        "mie_scattering_scale": 0.03,
        "dust_storm": float(rng.uniform(0.0, 60.0)) if rng.uniform() < 0.05 else 0.0,
    }
