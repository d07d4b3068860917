"""Lane lines from a single picture, without the confirmation over time that `LaneDetector` requires."""

from __future__ import annotations

from dataclasses import dataclass, replace

from av_core.types import CameraImage, CameraModel, Image, LaneEstimate, LaneLine, Stamp
from perception.lanes.detector import check_picture, fits_in
from perception.lanes.road_view import road_view
from perception.lanes.segmentation import columns_of
from perception.lanes.selection import SINGLE_IMAGE_SIGMA_MAX_M, select_lane_lines
from perception.lanes.self_calibration import turned_camera
from perception.lanes.tracker import tracks_from_fits

UNCALIBRATED_CONFIDENCE_MAX = 0.2
"""Maximum confidence of a line seen through a camera whose pitch is only guessed: a pitch that is wrong by 4 degrees
moves a line at 15 m by half a lane's width and more."""


@dataclass(frozen=True, slots=True)
class UnmountedLanes:
    """Lanes through a camera of unknown pitch and yaw.

    With `is_calibrated`, the picture's vanishing point gave both angles of `camera`. Without, `camera` is the guess,
    and no line's confidence exceeds `UNCALIBRATED_CONFIDENCE_MAX`.
    """

    lanes: LaneEstimate
    camera: CameraModel
    is_calibrated: bool


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


def lanes_and_mount(bgr: Image, guess: CameraModel) -> UnmountedLanes:
    """The lines beside the ego in one picture, taken through a camera whose pitch and yaw are not known.

    Pitches up to some 8 degrees from the guess are tried. Height, field of view and roll are taken from `guess`. Raises
    ValueError when the picture is not of the camera's size.
    """
    check_picture(CameraImage(Stamp(0, 0.0), guess, bgr))
    turned = turned_camera(bgr, guess)
    lanes = lanes_in_picture(bgr, turned or guess)
    return UnmountedLanes(lanes if turned else _unsure(lanes), turned or guess, turned is not None)


def camera_turned_to(bgr: Image, camera: CameraModel) -> CameraModel:
    """`camera` with the pitch and yaw from one picture's lane lines; unchanged where they have no vanishing point.

    Lines that run along a straight road meet in its vanishing point. On a bend the point is off to the side, so a
    picture of a straight road is needed.
    """
    return turned_camera(bgr, camera) or camera


def _unsure(lanes: LaneEstimate) -> LaneEstimate:
    return LaneEstimate(
        lanes.stamp, *map(_unsure_line, (lanes.left, lanes.right, lanes.left_neighbour, lanes.right_neighbour))
    )


def _unsure_line(line: LaneLine | None) -> LaneLine | None:
    if line is None:
        return None
    return replace(line, confidence=min(line.confidence, UNCALIBRATED_CONFIDENCE_MAX))
