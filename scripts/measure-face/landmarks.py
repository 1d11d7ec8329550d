"""What two programs that know nothing of the renderer see in the pictures of a film."""

import os
import subprocess
import sys

import numpy as np

os.environ["GLOG_minloglevel"] = "3"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import cv2  # noqa: E402  (comes with mediapipe)
import mediapipe  # noqa: E402

SIZE = 512
# Points of the mesh of MediaPipe. The distance of the outer corners of the eyes is the unit of all lengths.
OUTER_CORNERS = (33, 263)
INNER_LIPS = ((13, 14), (82, 87), (312, 317))
MOUTH_CORNERS = (61, 291)
# Height and width of each eye.
EYES = (((159, 145), (33, 133)), ((386, 374), (362, 263)))
# Inner lips among the 68 points of dlib.
DLIB_INNER_LIPS = ((61, 67), (62, 66), (63, 65))


def read_frames(path):
    """The pictures of a film of 512 × 512 pixels: an array of frames × 512 × 512 × 3."""
    command = ["ffmpeg", "-v", "error", "-i", path, "-f", "rawvideo", "-pix_fmt", "rgb24", "-"]
    raw = subprocess.run(command, capture_output=True, check=True).stdout
    return np.frombuffer(raw, np.uint8).reshape(-1, SIZE, SIZE, 3)


def _distance(points, pair):
    return float(np.hypot(*(points[pair[0]] - points[pair[1]])))


def _mean(points, pairs):
    return float(np.mean([_distance(points, pair) for pair in pairs]))


def find_mesh(mesh, frame):
    """The points of the face in pixels, or `None`."""
    found = mesh.process(np.ascontiguousarray(frame)).multi_face_landmarks
    return np.array([(point.x, point.y) for point in found[0].landmark]) * SIZE if found else None


def open_mesh(is_film):
    return mediapipe.solutions.face_mesh.FaceMesh(
        static_image_mode=not is_film,
        max_num_faces=1,
        refine_landmarks=is_film,
        min_detection_confidence=0.3,
        min_tracking_confidence=0.3,
    )


def turn_upright(frame, mesh):
    """The frame and the mesh, turned so that the eyes are level. dlib misses shut eyes of a tilted head by up to 50 pixels."""
    left, right = (mesh[index] for index in OUTER_CORNERS)
    middle = tuple(float(value) for value in (left + right) / 2)
    turn = cv2.getRotationMatrix2D(middle, float(np.degrees(np.arctan2(*(right - left)[::-1]))), 1)
    return cv2.warpAffine(frame, turn, (SIZE, SIZE)), mesh @ turn[:, :2].T + turn[:, 2]


class Dlib:
    """The 68 points and the face descriptor of dlib."""

    def __init__(self):
        import dlib
        import face_recognition_models

        self._dlib = dlib
        self._points = dlib.shape_predictor(face_recognition_models.pose_predictor_model_location())
        self._network = dlib.face_recognition_model_v1(face_recognition_models.face_recognition_model_location())

    def _shape(self, frame, mesh):
        left, top = mesh[:468].min(axis=0)
        right, bottom = mesh[:468].max(axis=0)
        top += 0.12 * (bottom - top)
        return self._points(frame, self._dlib.rectangle(int(left), int(top), int(right), int(bottom)))

    def gap(self, frame, mesh):
        """The gap of the lips in pixels."""
        shape = self._shape(np.ascontiguousarray(frame), mesh)
        return _mean(np.array([(shape.part(i).x, shape.part(i).y) for i in range(68)]), DLIB_INNER_LIPS)

    def descriptor(self, frame, mesh):
        """128 numbers. Those of one person are less than 0.6 apart."""
        frame, mesh = turn_upright(np.ascontiguousarray(frame), mesh)
        return np.array(self._network.compute_face_descriptor(frame, self._shape(frame, mesh)))


def open_dlib():
    """`None` when dlib is not installed."""
    try:
        return Dlib()
    except ImportError as error:
        print(f"dlib is missing: {error}", file=sys.stderr)
        return None


def track(frames, dlib):
    """
    Curves with one value for each frame, `nan` where no face was found: `gap` and `width` of the mouth and `gap_dlib` in units of
    the distance of the eyes, and `eyes`, the height of the eyes over their width.
    """
    mesh = open_mesh(is_film=True)
    rows = []
    for frame in frames:
        points = find_mesh(mesh, frame)
        if points is None:
            rows.append((np.nan,) * 4)
            continue
        unit = _distance(points, OUTER_CORNERS)
        eyes = np.mean([_distance(points, height) / _distance(points, width) for height, width in EYES])
        gap_dlib = dlib.gap(frame, points) / unit if dlib else np.nan
        rows.append((_mean(points, INNER_LIPS) / unit, _distance(points, MOUTH_CORNERS) / unit, gap_dlib, eyes))
    return dict(zip(("gap", "width", "gap_dlib", "eyes"), np.array(rows, float).T))


def identity(frames, dlib, step=40):
    """The distances of the descriptors of every `step`-th frame from that of the third one."""
    mesh = open_mesh(is_film=False)
    described = []
    for index in (2, *range(10, len(frames), step)):
        points = find_mesh(mesh, frames[index])
        if points is not None:
            described.append(dlib.descriptor(frames[index], points))
    return [float(np.linalg.norm(each - described[0])) for each in described[1:]]
