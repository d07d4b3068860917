"""Definitions of the ROS 2 messages that the tests write, as rosbag2 puts them into a recording."""

from __future__ import annotations

SEPARATOR = "=" * 80

TIME = "int32 sec\nuint32 nanosec\n"
HEADER = "builtin_interfaces/Time stamp\nstring frame_id\n"
VECTOR = "float64 x\nfloat64 y\nfloat64 z\n"
QUATERNION = "float64 x 0\nfloat64 y 0\nfloat64 z 0\nfloat64 w 1\n"
REGION = "uint32 x_offset\nuint32 y_offset\nuint32 height\nuint32 width\nbool do_rectify\n"
STATUS = """
int8 STATUS_NO_FIX = -1        # unable to fix position
int8 STATUS_FIX = 0
int8 status
uint16 SERVICE_GPS = 1
uint16 service
"""


def _with(text: str, **parts: str) -> str:
    """`text` and the definitions that it uses; `a__b` stands for a/b."""
    pieces = [text, *(f"MSG: {name.replace('__', '/')}\n{part}" for name, part in parts.items())]
    return f"\n{SEPARATOR}\n".join(pieces)


STAMPED = {"std_msgs__Header": HEADER, "builtin_interfaces__Time": TIME}

DEFINITIONS = {
    "sensor_msgs/msg/Image": _with(
        "std_msgs/Header header\nuint32 height\nuint32 width\nstring encoding\nuint8 is_bigendian\nuint32 step\n"
        "uint8[] data\n",
        **STAMPED,
    ),
    "sensor_msgs/msg/CompressedImage": _with("std_msgs/Header header\nstring format\nuint8[] data\n", **STAMPED),
    "sensor_msgs/msg/CameraInfo": _with(
        "std_msgs/Header header\nuint32 height\nuint32 width\nstring distortion_model\nfloat64[] d\nfloat64[9] k\n"
        "float64[9] r\nfloat64[12] p\nuint32 binning_x\nuint32 binning_y\nRegionOfInterest roi\n",
        sensor_msgs__RegionOfInterest=REGION,
        **STAMPED,
    ),
    "sensor_msgs/msg/NavSatFix": _with(
        "std_msgs/Header header\nNavSatStatus status\nfloat64 latitude\nfloat64 longitude\nfloat64 altitude\n"
        "float64[9] position_covariance\nuint8 COVARIANCE_TYPE_UNKNOWN = 0\nuint8 position_covariance_type\n",
        sensor_msgs__NavSatStatus=STATUS,
        **STAMPED,
    ),
    "sensor_msgs/msg/Imu": _with(
        "std_msgs/Header header\ngeometry_msgs/Quaternion orientation\nfloat64[9] orientation_covariance\n"
        "geometry_msgs/Vector3 angular_velocity\nfloat64[9] angular_velocity_covariance\n"
        "geometry_msgs/Vector3 linear_acceleration\nfloat64[9] linear_acceleration_covariance\n",
        geometry_msgs__Quaternion=QUATERNION,
        geometry_msgs__Vector3=VECTOR,
        **STAMPED,
    ),
    "std_msgs/msg/String": "string data\n",
}
