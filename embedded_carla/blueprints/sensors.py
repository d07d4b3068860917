"""Blueprints of sensors, with the attributes and defaults of CARLA's reference."""

from __future__ import annotations

from embedded_carla.blueprints.attributes import choice, free, role_name
from embedded_carla.types import Attribute, Blueprint

_TICK = free("sensor_tick", "float", "0.0")
_ROS = free("ros_name", "string", "")

_IMAGE = (
    ("image_size_x", "int", "800"),
    ("image_size_y", "int", "600"),
    ("fov", "float", "90.0"),
)
_LENS = (
    ("lens_circle_falloff", "float", "5.0"),
    ("lens_circle_multiplier", "float", "0.0"),
    ("lens_k", "float", "-1.0"),
    ("lens_kcube", "float", "0.0"),
    ("lens_x_size", "float", "0.08"),
    ("lens_y_size", "float", "0.08"),
)
_POST_PROCESS = (
    ("bloom_intensity", "float", "0.675"),
    ("fstop", "float", "1.4"),
    ("iso", "float", "100.0"),
    ("gamma", "float", "2.2"),
    ("lens_flare_intensity", "float", "0.1"),
    ("shutter_speed", "float", "200.0"),
    ("min_fstop", "float", "1.2"),
    ("blade_count", "int", "5"),
    ("exposure_min_bright", "float", "10.0"),
    ("exposure_max_bright", "float", "12.0"),
    ("exposure_speed_up", "float", "3.0"),
    ("exposure_speed_down", "float", "1.0"),
    ("calibration_constant", "float", "16.0"),
    ("focal_distance", "float", "1000.0"),
    ("blur_amount", "float", "1.0"),
    ("blur_radius", "float", "0.0"),
    ("motion_blur_intensity", "float", "0.0"),  # CARLA's default is 0.45
    ("motion_blur_max_distortion", "float", "0.35"),
    ("motion_blur_min_object_screen_size", "float", "0.1"),
    ("slope", "float", "0.88"),
    ("toe", "float", "0.55"),
    ("shoulder", "float", "0.26"),
    ("black_clip", "float", "0.0"),
    ("white_clip", "float", "0.04"),
    ("temp", "float", "6500.0"),
    ("tint", "float", "0.0"),
    ("chromatic_aberration_intensity", "float", "0.0"),
    ("chromatic_aberration_offset", "float", "0.0"),
    ("exposure_compensation", "float", "0.0"),
)
_DVS = (
    ("positive_threshold", "float", "0.3"),
    ("negative_threshold", "float", "0.3"),
    ("sigma_positive_threshold", "float", "0.0"),
    ("sigma_negative_threshold", "float", "0.0"),
    ("refractory_period_ns", "int", "0"),
    ("log_eps", "float", "0.001"),
)
_LIDAR = (
    ("channels", "int", "32"),
    ("range", "float", "10.0"),
    ("points_per_second", "int", "56000"),
    ("rotation_frequency", "float", "10.0"),
    ("upper_fov", "float", "10.0"),
    ("lower_fov", "float", "-30.0"),
    ("horizontal_fov", "float", "360.0"),
)
_LIDAR_NOISE = (
    ("atmosphere_attenuation_rate", "float", "0.004"),
    ("dropoff_general_rate", "float", "0.45"),
    ("dropoff_intensity_limit", "float", "0.8"),
    ("dropoff_zero_intensity", "float", "0.4"),
    ("noise_stddev", "float", "0.0"),
    ("noise_seed", "int", "0"),
)
_GNSS = (
    *((f"noise_{axis}_{kind}", "float", "0.0") for axis in ("alt", "lat", "lon") for kind in ("bias", "stddev")),
    ("noise_seed", "int", "0"),
)
_IMU = (
    *((f"noise_accel_stddev_{axis}", "float", "0.0") for axis in "xyz"),
    *((f"noise_gyro_bias_{axis}", "float", "0.0") for axis in "xyz"),
    *((f"noise_gyro_stddev_{axis}", "float", "0.0") for axis in "xyz"),
    ("noise_seed", "int", "0"),
)
_OBSTACLE = (("distance", "float", "5.0"), ("hit_radius", "float", "0.5"))
_RADAR = (
    ("horizontal_fov", "float", "30"),
    ("vertical_fov", "float", "30"),
    ("range", "float", "100"),
    ("points_per_second", "int", "1500"),
    ("noise_seed", "int", "0"),
)
_V2X = (
    ("channel_id", "string", ""),
    ("transmit_power", "float", "21.5"),
    ("receiver_sensitivity", "float", "-99.0"),
    ("frequency_ghz", "float", "5.9"),
    ("noise_seed", "int", "0"),
    ("path_loss_exponent", "float", "2.7"),
    ("d_ref", "float", "1.0"),
    ("combined_antenna_gain", "float", "10.0"),
    ("filter_distance", "float", "500.0"),
)
_CAM = (
    ("gen_cam_min", "float", "0.1"),
    ("gen_cam_max", "float", "1.0"),
    ("fixed_rate", "bool", "false"),
    *(
        (f"noise_{what}_{kind}", "float", "0.0")
        for what in ("lat", "lon", "alt", "head")
        for kind in ("stddev", "bias")
    ),
    *((f"noise_accel_stddev_{axis}", "float", "0.0") for axis in "xyz"),
    ("noise_yawrate_stddev", "float", "0.0"),
    ("noise_yawrate_bias", "float", "0.0"),
    ("noise_vel_stddev_x", "float", "0.0"),
)

Rows = tuple[tuple[str, str, str], ...]


def _sensor(type_id: str, *groups: Rows, extra: tuple[Attribute, ...] = (), tick: bool = True) -> Blueprint:
    rows = tuple(free(name, kind, default) for group in groups for name, kind, default in group)
    timing = (_TICK,) if tick else ()
    common = (role_name("front", "back", "left", "right", "front_left", "front_right", "back_left", "back_right"), _ROS)
    return Blueprint(type_id, tuple(type_id.split(".")), (*timing, *common, *rows, *extra))


def sensor_blueprints() -> list[Blueprint]:
    post_process = choice("enable_postprocess_effects", "bool", ("true", "false"))
    exposure = choice("exposure_mode", "string", ("histogram", "manual"))
    camera = "sensor.camera."
    traces = (
        choice("only_dynamics", "bool", ("false", "true")),
        choice("debug_linetrace", "bool", ("false", "true")),
    )
    path_loss = (
        choice("scenario", "string", ("highway", "rural", "urban")),
        choice("path_loss_model", "string", ("winner", "geometric")),
        free("use_etsi_fading", "bool", "true"),
        free("custom_fading_stddev", "float", "0.0"),
    )
    return [
        _sensor(camera + "rgb", _IMAGE, _LENS, _POST_PROCESS, extra=(post_process, exposure)),
        _sensor(camera + "depth", _IMAGE, _LENS),
        _sensor(camera + "semantic_segmentation", _IMAGE, _LENS),
        _sensor(camera + "instance_segmentation", _IMAGE, _LENS),
        _sensor(camera + "cosmos_visualization", _IMAGE, _LENS),
        _sensor(camera + "normals", _IMAGE, _LENS),
        _sensor(camera + "optical_flow", _IMAGE, _LENS),
        _sensor(
            camera + "dvs", _IMAGE, _LENS, _POST_PROCESS, _DVS,
            extra=(post_process, exposure, choice("use_log", "bool", ("true", "false"))),
        ),
        _sensor("sensor.lidar.ray_cast", _LIDAR, _LIDAR_NOISE),
        _sensor("sensor.lidar.ray_cast_semantic", _LIDAR),
        _sensor("sensor.other.collision", tick=False),
        _sensor("sensor.other.gnss", _GNSS),
        _sensor("sensor.other.imu", _IMU),
        _sensor("sensor.other.lane_invasion", tick=False),
        _sensor("sensor.other.obstacle", _OBSTACLE, extra=traces),
        _sensor("sensor.other.radar", _RADAR),
        _sensor("sensor.other.v2x", _V2X, _CAM, extra=path_loss),
        _sensor("sensor.other.v2x_custom", _V2X, extra=path_loss),
    ]  # fmt: skip
