"""Rejects what only resembles a face: a printed skull, a pattern, a hand.

Points and box must be placed as in a face (``is_plausible``), and a new face must score well in
several detections before it gets a number (``add_evidence``): three at a score of 0.9, more for a
dark or blurred face. A photograph or a good drawing of a face passes, as it should.
"""

from rankotom_edge.faces.face import Face

# Each detection adds its score minus NEUTRAL_SCORE to the evidence; a miss scores 0. A face is
# accepted at ENOUGH_EVIDENCE. Chosen by eye, like the two scores below.
NEUTRAL_SCORE = 0.65
ENOUGH_EVIDENCE = 0.6
CLEAR_SCORE = 0.75  # accepted at once where frames come too seldom for several detections
CLEAR_SCORE_IN_PHOTO = 0.7  # lower, because a photograph was chosen for what is on it

# Ranges in faces, chosen by eye, with room for turned heads. Lengths are relative to the distance
# from between the eyes down to the mouth.
EYE_DISTANCE = (0.35, 1.6)
BOX_WIDTH = (1.8, 2.75)
NOSE_HEIGHT = (0.1, 0.95)  # 0 is at the eyes, 1 at the mouth
NOSE_ASIDE = 0.55
EYE_SLANT = 0.5  # cosine between the line of the eyes and the line down to the mouth


def is_plausible(face: Face) -> bool:
    """Whether eyes, nose and mouth are placed as in a face, at any tilt and up to a profile."""
    left_eye, right_eye, nose, mouth = (
        complex(*point) for point in (face.left_eye, face.right_eye, face.nose, face.mouth)
    )
    eyes = (left_eye + right_eye) / 2
    down, across = mouth - eyes, right_eye - left_eye
    height, apart = abs(down), abs(across)
    if height == 0 or apart == 0:
        return False
    # Rotated so that the mouth is below: the real part points down, the imaginary part sideways.
    nose_place, eye_line = (nose - eyes) / down, across / down
    return (
        EYE_DISTANCE[0] <= apart / height <= EYE_DISTANCE[1]
        and BOX_WIDTH[0] <= face.box[2] / height <= BOX_WIDTH[1]
        and NOSE_HEIGHT[0] <= nose_place.real <= NOSE_HEIGHT[1]
        and abs(nose_place.imag) <= NOSE_ASIDE
        and abs(eye_line.real) <= EYE_SLANT * abs(eye_line)
        and eye_line.imag < 0  # not mirrored: the left eye is on the left
    )


def add_evidence(evidence: float, score: float) -> float:
    """The evidence for a face after another detection; never below 0."""
    return max(0.0, evidence + score - NEUTRAL_SCORE)
