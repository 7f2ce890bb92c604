"""Panels next to faces: over none of them, and steady."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankotom_edge.views.drawing.rect import Rect
from rankotom_edge.views.window.panel_placement import (
    Place,
    Placement,
    Scene,
    arrange,
    arrange_most,
    is_roomy,
    keep_places,
)

PICTURE = Rect(0, 0, 640, 480)
COLUMN = Rect(648, 8, 208, 464)
SIZES = ((208.0, 184.0), (208.0, 104.0), (140.0, 24.0))
GAP = 8.0


def scene(*faces: Rect, column: Rect | None = None, picture: Rect = PICTURE) -> Scene:
    return Scene(dict(enumerate(faces, 1)), picture, column, SIZES, GAP)


def square(x: float, y: float, side: float) -> Rect:
    return Rect(x, y, side, side)


def arranged(wanted: Scene, previous: Placement | None = None) -> Placement:
    placement = arrange(wanted, previous or Placement())
    assert placement is not None
    return placement


def only_place(placement: Placement) -> Place:
    (place,) = placement.places.values()
    return place


def assert_clear(placement: Placement, of: Scene) -> None:
    for place in placement.places.values():
        area = of.column if place.side == "column" else of.picture
        assert area is not None
        assert area.contains(place.rect)
        assert not any(place.rect.overlaps(face) for face in of.faces.values())
    for one, other in itertools.combinations(placement.places.values(), 2):
        assert not one.rect.overlaps(other.rect)


faces_anywhere = st.builds(
    square,
    st.floats(-50, 600),
    st.floats(-50, 440),
    st.floats(4, 500),
).map(lambda face: face.within(PICTURE))


@settings(max_examples=60)
@given(
    frames=st.lists(
        st.dictionaries(st.integers(1, 12), faces_anywhere, max_size=8), min_size=1, max_size=3
    )
)
def test_no_panel_ever_covers_a_face_or_another_panel_or_leaves_its_area(
    frames: list[dict[int, Rect]],
) -> None:
    placement = Placement()
    for faces in frames:
        crowd = Scene(faces, PICTURE, COLUMN, SIZES, GAP)
        placement = (
            keep_places(crowd, placement)
            or arrange(crowd, placement)
            or arrange_most(crowd, placement)
        )
        assert_clear(placement, crowd)
        assert placement.places.keys() <= faces.keys()


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_few_faces_side_by_side_all_get_their_bars(count: int) -> None:
    room = scene(*(square(60 + 200 * number, 200, 100) for number in range(count)))
    placement = arranged(room)
    assert len(placement.places) == count
    assert placement.level < 2
    assert_clear(placement, room)


@pytest.mark.parametrize(
    ("picture", "side"), [(PICTURE, 80.0), (Rect(0, 0, 1920, 1080), 180.0)], ids=["480", "1080"]
)
def test_eight_faces_all_get_a_panel(picture: Rect, side: float) -> None:
    across, down = picture.width / 4, picture.height / 2
    faces = [
        square(across * (number % 4) + 20, down * (number // 4) + 30, side) for number in range(8)
    ]
    crowd = scene(*faces, picture=picture)
    if picture is not PICTURE:
        crowd = replace(crowd, panel_sizes=[(2.25 * width, 2.25 * high) for width, high in SIZES])
    placement = arrange(crowd, Placement()) or arrange_most(crowd, Placement())
    assert len(placement.places) == 8
    assert_clear(placement, crowd)


def test_the_panel_goes_to_the_side_with_more_room() -> None:
    assert only_place(arranged(scene(square(60, 100, 150)))).side == "right"
    assert only_place(arranged(scene(square(430, 100, 150)))).side == "left"


def test_a_trembling_face_does_not_move_its_panel() -> None:
    placement = arranged(scene(square(100, 100, 120)))
    before = only_place(placement).rect
    for tremble in (2, -2, 3, 1, -3):
        placement = arranged(scene(square(100 + tremble, 100 - tremble, 120)), placement)
        assert only_place(placement).rect == before


def test_a_face_that_walks_pulls_its_panel_along_without_a_jump() -> None:
    placement = arranged(scene(square(20, 100, 120)))
    for x in range(21, 280, 3):
        walked = arranged(scene(square(x, 100, 120)), placement)
        assert abs(only_place(walked).rect.x - only_place(placement).rect.x) <= 3
        assert only_place(walked).rect.x - (x + 120) >= GAP / 2
        placement = walked
    assert only_place(placement).side == "right"


def test_a_panel_keeps_its_side_until_there_is_no_room_there() -> None:
    placement = arranged(scene(square(60, 100, 120)))
    sides = []
    for x in range(60, 500, 10):  # from the left border to the right one
        placement = arranged(scene(square(x, 100, 120)), placement)
        sides.append(only_place(placement).side)
    changes = [pair for pair in itertools.pairwise(sides) if pair[0] != pair[1]]
    assert changes == [("right", "left")]
    assert sides.index("left") > 25  # the middle of the picture is long past


def test_a_newcomer_moves_nobody() -> None:
    alone = arranged(scene(square(100, 100, 100)))
    together = arranged(scene(square(100, 100, 100), square(450, 250, 90)), alone)
    assert together.places[1] == alone.places[1]


def test_a_face_that_fills_the_picture_sends_its_panel_to_the_column() -> None:
    close_up = scene(square(80, 5, 470))
    assert arrange(close_up, Placement()) is None
    placement = arranged(replace(close_up, column=COLUMN))
    assert only_place(placement).side == "column"
    assert placement.column


def test_in_the_column_it_stays_where_nobody_pushes_it() -> None:
    placement = arranged(scene(square(80, 5, 470), column=COLUMN))
    placement = arranged(scene(square(100, 100, 150), column=COLUMN), placement)
    assert only_place(placement).side == "column"
    assert placement.column


def test_who_is_pushed_away_goes_to_the_column_while_it_is_open() -> None:
    placement = arranged(scene(square(400, 100, 100), column=COLUMN))
    assert only_place(placement).side == "left"
    placement = arranged(scene(square(120, 100, 100), column=COLUMN), placement)
    assert only_place(placement).side == "column"


def test_a_face_at_the_limit_does_not_make_its_panel_flip_between_sizes() -> None:
    # 208 x 184 fits below a face that ends at 268, and no longer below one that ends at 300.
    wide = [Rect(10, 0, 620, bottom) for bottom in (268, 300)]
    placement = arranged(scene(wide[0]))
    assert placement.level == 0
    levels = []
    for number in range(12):
        placement = arranged(scene(wide[(number + 1) % 2]), placement)
        levels.append(placement.level)
    assert levels == [1] * 12


def test_it_grows_again_when_there_is_plenty_of_room() -> None:
    placement = arranged(scene(Rect(10, 0, 620, 320)))
    assert placement.level == 1
    assert arranged(scene(square(50, 50, 100)), placement).level == 0


def test_a_settled_layout_is_kept_and_a_changed_one_is_not() -> None:
    placement = arranged(scene(square(100, 100, 100)))
    assert keep_places(scene(square(102, 101, 100)), placement) == placement
    assert keep_places(scene(square(100, 100, 100), square(400, 100, 100)), placement) is None
    assert keep_places(scene(Rect(10, 5, 620, 470)), placement) is None


def test_where_nothing_more_fits_the_largest_faces_have_panels() -> None:
    faces = [square(5 + 80 * (n % 8), 5 + 78 * (n // 8), 70 + n / 10) for n in range(48)]
    crowd = scene(*faces, column=COLUMN)
    placement = arrange_most(crowd, Placement())
    assert 0 < len(placement.places) < 48
    assert max(crowd.faces) in placement.places
    assert_clear(placement, crowd)


def test_a_crowd_has_bars_where_there_is_room_and_headlines_elsewhere() -> None:
    faces = [square(5 + 130 * (n % 5), 5 + 150 * (n // 5), 110) for n in range(15)]
    crowd = scene(*faces, column=COLUMN)
    placement = arrange_most(crowd, Placement())
    levels = [place.level for place in placement.places.values()]
    assert levels.count(1) >= 2
    assert levels.count(2) >= 1
    assert placement.left_out == crowd.faces.keys() - placement.places.keys()
    assert_clear(placement, crowd)
    assert keep_places(crowd, placement) == placement


def test_who_is_gone_for_a_frame_moves_nobody() -> None:
    both = scene(square(100, 100, 100), square(450, 250, 90))
    placement = arranged(both)
    alone = keep_places(scene(square(100, 100, 100)), placement)
    assert alone is not None
    assert alone.places == {1: placement.places[1]}
    assert arranged(both, alone).places == placement.places


def test_small_panels_grow_only_when_they_may() -> None:
    placement = arranged(scene(Rect(10, 0, 620, 320)))
    roomy = scene(square(50, 50, 100))
    small = arrange(roomy, placement, may_grow=False)
    assert small is not None
    assert (placement.level, small.level, arranged(roomy, placement).level) == (1, 1, 0)
    assert is_roomy(roomy)
    assert not is_roomy(scene(Rect(10, 10, 620, 460)))


def test_no_faces_need_no_panels() -> None:
    assert arranged(scene()).places == {}


def swaying(
    across: float, down: float, width: float, time: float, phase: float
) -> tuple[Rect, Rect]:
    """A head and its face, in pixels of 1280x720: who sits there moves by 3 % of the picture."""
    sway = 0.6 * math.sin(0.8 * time + phase) + 0.4 * math.sin(2.3 * time + 2 * phase)
    x, y = 1280 * (across + 0.03 * sway), 720 * (down + 0.03 * math.sin(1.3 * time + phase))
    face = Rect(x - width / 2, y - width / 2, width, width)
    head = Rect(x - 0.56 * width, y - 0.95 * width, 1.12 * width, 1.53 * width)
    return face, head.within(Rect(0, 0, 1280, 720))


@pytest.mark.parametrize("width", [100.0, 150.0, 200.0])
@pytest.mark.parametrize("people", [1, 2])
def test_nobody_s_panel_changes_its_side_while_people_sway(people: int, width: float) -> None:
    sizes = [(1.3 * across, 1.3 * down) for across, down in SIZES]
    placement, sides = Placement(), set()
    for frame in range(60 * 30):
        seen = [
            swaying((place + 0.5) / people, 0.5, width, frame / 30, place)
            for place in range(people)
        ]
        faces, heads = zip(*seen, strict=True)
        view = Scene(
            dict(enumerate(heads)), Rect(0, 0, 1280, 720), None, sizes, GAP, dict(enumerate(faces))
        )
        placement = (frame % 16 and keep_places(view, placement)) or arranged(view, placement)
        assert placement.level == 0
        sides |= {(track, *place[:2]) for track, place in placement.places.items()}
    assert len(sides) == people
