"""The one exception of this project: a message for the person at the keyboard."""


class RankotomError(Exception):
    """What was tried, what was found and what to do next, in one or two lines.

    The command line prints the message alone and exits with status 2; ``--debug`` shows the
    traceback.
    """
