"""Whether the event file of a run says what its metrics.csv says, as TensorBoard itself reads it.

    tensorboard_reader.py RUN    exit 0: every value is there, once, and no other
"""
import csv
import math
import os
import struct
import sys

from tensorboard.backend.event_processing import event_accumulator, event_file_loader


def single(text):
    return struct.unpack("<f", struct.pack("<f", float(text)))[0]


def expected_scalars(directory):
    """{name: [(step, value), ...]} of metrics.csv, but for the step itself."""
    scalars = {}
    with open(os.path.join(directory, "metrics.csv"), newline="") as file:
        for row in csv.DictReader(file):
            step = int(row.pop("step"))
            for name, text in row.items():
                if text:
                    scalars.setdefault(name, []).append((step, single(text)))
    return scalars


def main(directory):
    accumulator = event_accumulator.EventAccumulator(directory, size_guidance={event_accumulator.SCALARS: 0})
    accumulator.Reload()
    tags = accumulator.Tags()["scalars"]
    found = {tag.split("/", 1)[1]: [(e.step, e.value) for e in accumulator.Scalars(tag)] for tag in tags}
    expected = expected_scalars(directory)
    assert found == expected, f"found {found}\nexpected {expected}"
    assert sum(map(len, found.values())) > 0
    assert {tag.split("/")[0] for tag in tags} <= {"run", "agent", "env"}

    path = os.path.join(directory, "events.out.tfevents.langevin")
    times = [event.wall_time for event in event_file_loader.EventFileLoader(path).Load()]
    assert all(a <= b for a, b in zip(times, times[1:])), "times fall"
    assert math.isfinite(times[0]) and abs(times[-1] - os.path.getmtime(path)) < 600


main(sys.argv[1])
