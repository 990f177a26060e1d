"""Makes the event files beside this script with TensorBoard's own classes (pip install tensorboard==2.20.0).

`old` holds scalars as PyTorch's writer stores them, `new` as TensorFlow 2 does, with a histogram among them.
"""

import pathlib

from tensorboard.compat.proto import event_pb2, summary_pb2, tensor_pb2, tensor_shape_pb2
from tensorboard.summary.writer.record_writer import RecordWriter

here = pathlib.Path(__file__).parent


def write(path, events):
    path.parent.mkdir(exist_ok=True)
    with open(path, "wb") as file:
        writer = RecordWriter(file)
        writer.write(event_pb2.Event(wall_time=1.7e9, file_version="brain.Event:2").SerializeToString())
        for event in events:
            writer.write(event.SerializeToString())


def simple(tag, step, value):
    summary = summary_pb2.Summary(value=[summary_pb2.Summary.Value(tag=tag, simple_value=value)])
    return event_pb2.Event(wall_time=1.7e9 + step, step=step, summary=summary)


def tensor(tag, step, plugin, **content):
    metadata = summary_pb2.SummaryMetadata(plugin_data=summary_pb2.SummaryMetadata.PluginData(plugin_name=plugin))
    proto = tensor_pb2.TensorProto(tensor_shape=tensor_shape_pb2.TensorShapeProto(), **content)
    value = summary_pb2.Summary.Value(tag=tag, metadata=metadata, tensor=proto)
    return event_pb2.Event(wall_time=1.7e9 + step, step=step, summary=summary_pb2.Summary(value=[value]))


points = [simple("Loss/train", step, 2.0 / (step + 1)) for step in range(0, 100, 10)]
points += [simple("Loss/val", step, 3.0 / (step + 1)) for step in (45, 95)]
write(here / "old" / "events.out.tfevents.1700000000.host.1.0", points)
# The run was resumed at step 80.
write(here / "old" / "events.out.tfevents.1700000100.host.2.0", [simple("Loss/train", step, 0.5) for step in (80, 90)])
points = [tensor("epoch_loss", step, "scalars", dtype=1, float_val=[0.25 * step]) for step in (1, 2)]
points += [tensor("epoch_accuracy", step, "scalars", dtype=2, double_val=[0.1 * step]) for step in (1, 2)]
points += [tensor("weights", 1, "histograms", dtype=1, float_val=[1.0])]
write(here / "new" / "events.out.tfevents.1700000000.host.3.0", points)
