"""The command line: one module a command. To add one:

1. Write ``cli/NAME.py`` with one function, its options as ``Annotated`` parameters or as the
   fields of a dataclass (``option_groups``). It parses, calls one function of ``calib``,
   ``train``, ``export`` or the app, and renders. The first paragraph of its docstring is its row
   in ``--help``: the purpose on one line, an example on the next.
2. Import what it needs inside the function: ``--help`` must not wait for numpy, cv2 or torch.
   Import what an extra installs under ``extras.extra("train")``.
3. Call ``output.check_outputs`` before the work, so that an option that cannot be met costs no
   minutes, and ``output.show`` before files are written, so that a full disk loses no report.
4. Register it in ``app.py``, under the panel where a person would look for it.
"""
