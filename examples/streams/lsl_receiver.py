"""Prints what a camera sends with ``--lsl``, with the time since capture.

python examples/streams/lsl_receiver.py
"""

import pylsl


def main() -> None:
    (stream,) = pylsl.resolve_byprop("name", "rankotom-edge", minimum=1, timeout=30)[:1]
    inlet = pylsl.StreamInlet(stream)
    names = inlet.info().get_channel_labels()
    expressions = names[names.index("quality") + 1 :]
    correction = inlet.time_correction()  # of the sender's clock to this machine's
    while True:
        values, captured = inlet.pull_sample()
        sample = dict(zip(names, values, strict=True))
        ago = pylsl.local_clock() - (captured + correction)
        if sample["faces"]:
            top = max(expressions, key=sample.get)
            track = sample["track"]
            print(f"face {track:.0f}: {top} {sample[top]:.0%}, {ago:.2f} s ago", flush=True)


if __name__ == "__main__":
    main()
