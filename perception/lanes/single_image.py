"""Lane lines from a single picture, without the confirmation over time that `LaneDetector` requires."""

from __future__ import annotations

from dataclasses import replace

from av_core.types import CameraImage, CameraModel, Image, LaneEstimate, Stamp
from perception.lanes.detector import check_picture, fits_in
from perception.lanes.road_view import road_view
from perception.lanes.segmentation import columns_of
from perception.lanes.selection import SINGLE_IMAGE_SIGMA_MAX_M, select_lane_lines
from perception.lanes.self_calibration import angles_of, vanishing_point
from perception.lanes.tracker import tracks_from_fits


def lanes_in_picture(bgr: Image, camera: CameraModel) -> LaneEstimate:
    """The lines beside the ego in one picture (height, width, 3) uint8 BGR, taken through `camera`.

    None on a side where no line is found, and on both where the camera shows no road. Raises ValueError when the
    picture is not of the camera's size.
    """
    image = CameraImage(Stamp(0, 0.0), camera, bgr)
    check_picture(image)
    view = road_view(camera)
    if view is None:
        return LaneEstimate(image.stamp, None, None)
    fits = fits_in(image, view, columns_of(view))
    return select_lane_lines(tracks_from_fits(fits), image.stamp, SINGLE_IMAGE_SIGMA_MAX_M)


def camera_turned_to(bgr: Image, camera: CameraModel) -> CameraModel:
    """`camera` with the pitch and yaw from one picture's lane lines; unchanged where they have no vanishing point.

    Lines that run along a straight road meet in its vanishing point. On a bend the point is off to the side, so a
    picture of a straight road is needed.
    """
    point = vanishing_point(bgr, camera)
    if point is None:
        return camera
    pitch_rad, yaw_rad = angles_of(point, camera)
    return replace(camera, pitch_rad=pitch_rad, yaw_rad=yaw_rad)
