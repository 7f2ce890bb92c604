"""One module a command. To add one:

1. Write ``commands/NAME.py`` with one function, its options as ``Annotated`` parameters. It
   parses, calls one function of ``calib``, ``train``, ``export`` or the live app, and renders.
   The first paragraph of its docstring is its row in ``--help``: the purpose on one line, an
   example on the next.
2. Import what it needs inside the function: ``--help`` must not wait for numpy, cv2 or torch.
   What an extra brings is imported under ``extras.extra("train")``.
3. Call ``output.check_outputs`` before the work and ``output.show`` before files are written:
   an option that cannot be met costs no minutes, and a full disk loses no report.
4. Register it in ``cli.py``, under the panel where a person would look for it.
"""
