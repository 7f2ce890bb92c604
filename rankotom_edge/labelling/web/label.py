"""Labels faces in a browser, on this machine or on a phone."""

from collections.abc import Callable

from calib.errors import RankotomError
from rankotom_edge import interrupts
from rankotom_edge.labelling.labelling import Labelling, print_summary
from rankotom_edge.labelling.web.routes import LabellingRoutes
from rankotom_edge.views.web.address import Address
from rankotom_edge.views.web.server import Server

WAIT = 0.2  # seconds between looks at the server; chosen by eye


def label_in_browser(
    labelling: Labelling, address: Address, announce: Callable[[str], None]
) -> None:
    """Returns when the rater has finished, for now or altogether, and closes the address.
    ``announce`` is given each link to open."""
    routes = LabellingRoutes(labelling)
    try:
        with Server(address, routes.app(address)) as server:
            for link in address.links:
                announce(link)
            while not routes.ended.wait(WAIT):
                interrupts.check()
                if not server.running:
                    raise RankotomError("The page for labelling has stopped. Start it again.")
    finally:
        print_summary(labelling)
    if routes.error is not None:
        raise routes.error
