#!/usr/bin/env python3
"""A training job that can be stopped at any moment: docs/guide/first-job.md runs it.

    python3 train.py [--epochs N] [--crash-at EPOCH]

Fits a line to noisy points by gradient descent: on a GPU where PyTorch finds one, else in plain
Python. It saves a checkpoint after each epoch and when it is told to stop, and begins where the last
checkpoint of its task ends. --crash-at makes the first attempt fail, to see a retry.
"""

import argparse
import json
import os
import random
import signal
import sys
import time

TASK = os.environ.get("BERTH_TASK_ID", "by-hand")
ATTEMPT = int(os.environ.get("BERTH_ATTEMPT", "1"))
CHECKPOINT = f"checkpoint-{TASK}.json"
POINTS = 20000
stopping = False


def find_device():
    """"cuda" where PyTorch and a GPU are there, else None."""
    try:
        import torch
    except ImportError:
        return None
    return "cuda" if torch.cuda.is_available() else None


def make_points():
    """Points on y = 3x - 1, with noise; the same in each attempt."""
    draw = random.Random(7)
    xs = [draw.uniform(-1, 1) for _ in range(POINTS)]
    return xs, [3 * x - 1 + draw.gauss(0, 0.1) for x in xs]


def gradient_in_python(xs, ys, slope, offset):
    errors = [slope * x + offset - y for x, y in zip(xs, ys)]
    loss = sum(error * error for error in errors) / len(errors)
    return (loss, 2 * sum(error * x for error, x in zip(errors, xs)) / len(errors),
            2 * sum(errors) / len(errors))


def gradient_on_gpu(xs, ys, slope, offset):
    errors = slope * xs + offset - ys
    return ((errors * errors).mean().item(), (2 * errors * xs).mean().item(),
            (2 * errors).mean().item())


def load():
    """The last checkpoint of this task, or the beginning."""
    if not os.path.exists(CHECKPOINT):
        return {"epoch": 0, "slope": 0.0, "offset": 0.0}
    with open(CHECKPOINT) as file:
        return json.load(file)


def save(state):
    """Whole or not at all: a stop in the middle leaves the one before."""
    with open(CHECKPOINT + ".new", "w") as file:
        json.dump(state, file)
        file.write("\n")
        file.flush()
        os.fsync(file.fileno())
    os.replace(CHECKPOINT + ".new", CHECKPOINT)


def stop(signum, frame):
    global stopping
    stopping = True


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--crash-at", type=int, default=0)
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, stop)

    device = find_device()
    gpus = os.environ.get("CUDA_VISIBLE_DEVICES", "none")
    print(f"attempt {ATTEMPT}, GPUs {gpus}, computing on {device or 'the CPU'}", flush=True)
    xs, ys = make_points()
    gradient = gradient_in_python
    if device:
        import torch
        xs, ys = torch.tensor(xs, device=device), torch.tensor(ys, device=device)
        gradient = gradient_on_gpu

    state = load()
    if state["epoch"]:
        print(f"going on behind epoch {state['epoch']}", flush=True)
    while state["epoch"] < options.epochs:
        loss, by_slope, by_offset = gradient(xs, ys, state["slope"], state["offset"])
        state["slope"] -= 0.3 * by_slope
        state["offset"] -= 0.3 * by_offset
        state["epoch"] += 1
        save(state)
        print(f"epoch {state['epoch']} of {options.epochs}, loss {loss:.4f}", flush=True)
        if stopping:
            print(f"told to stop; {CHECKPOINT} has epoch {state['epoch']}", flush=True)
            return 143
        if state["epoch"] == options.crash_at and ATTEMPT == 1:
            print("crashing, as asked", file=sys.stderr, flush=True)
            return 1
        time.sleep(0.5)  # a real epoch takes longer
    print(f"y = {state['slope']:.2f} x + {state['offset']:.2f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
