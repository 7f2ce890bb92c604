# %% [markdown]
# # Who smiled when?
# Cell by cell in VS Code, Jupyter (with jupytext) or Spyder; or as a script:
#
#     pip install rankotom-edge pandas
#     python examples/notebook.py party.mp4

# %%
import sys

import pandas

from rankotom_edge import Reader

video = sys.argv[1] if len(sys.argv) > 1 else "party.mp4"

# %% A row for each face of each frame, five frames a second
with Reader() as reader:
    readings = pandas.DataFrame(reader.table(video, fps=5))
readings.head()

# %% How often each face showed each expression, where the reading is sure
sure = readings[readings["verdict"] == "sure"]
print(sure.groupby(["track", "top"]).size().unstack(fill_value=0))

# %% Calibrated probabilities can be averaged: the expected share of each expression
probabilities = readings.filter(like="probability:")
print(probabilities.mean().sort_values(ascending=False).round(3))

# %% Why readings were unsure
print(readings["reason"].value_counts())

# %% One frame, with everything that is known of its faces
with Reader() as reader:
    for frame in reader.frames(video, fps=5):
        if frame.faces:
            print(frame.time, frame.faces[0])
            break
