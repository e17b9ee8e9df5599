#!/usr/bin/env python3
"""Storm waves enter a harbour: a 2-D physical problem on any number of ranks, with mpi4py and NumPy.

    mpiexec -n 4 python examples/harbour/waves.py

Long waves over a sea of changing depth h follow the linear shallow-water equation

    d2(eta)/dt2 = div(g h grad(eta))        eta: height of the water above its rest, in metres

Where there is land, h is 0 and no water crosses: a wall that reflects. At the edges of the sea the water is led
towards the incoming swell; beach and stones take energy away. Space: central differences; time: leapfrog.

How it is parallel: the sea is cut into blocks, one for each rank (MPI_Cart_create). Each step the ranks exchange
one row or column with each neighbour (subarray datatypes, nonblocking), and now and then they agree on the
highest wave and on the energy (MPI_Allreduce). At the end rank 0 gathers the sea, computes it once more alone
with the same code, and compares: every value must be equal to the last bit.
"""

import argparse
import json
import pathlib
import sys
import time

import numpy as np
from mpi4py import MPI
from place import LENGTH, SWELL_DEPTH, SWELL_HEIGHT, SWELL_PERIOD, absorbing_rates, depth_of_the_sea

GRAVITY = 9.81  # m/s2


# ---- the sea ----


def step_time(cell):
    """Seconds of one step: nine tenths of what is stable for square cells of this length in metres."""
    return 0.9 * cell / np.sqrt(2 * GRAVITY * SWELL_DEPTH)


class Sea:
    """One rank's block of the sea, with a border one cell wide that belongs to the neighbours."""

    def __init__(self, comm, rows, columns):
        self.rows, self.columns, self.cell = rows, columns, LENGTH / columns
        self.comm = comm.Create_cart(MPI.Compute_dims(comm.size, 2), periods=(False, False))
        self.block = tuple(
            own_part(n, parts, at) for n, parts, at in zip((rows, columns), self.comm.dims, self.comm.coords)
        )
        shape = tuple(part.stop - part.start for part in self.block)
        self.now, self.before, self.change = (np.zeros((shape[0] + 2, shape[1] + 2)) for _ in range(3))
        self.highest = np.zeros(shape)
        self.exchanges = self.plan_exchanges(shape)
        self.time, self.step_time = 0.0, step_time(self.cell)
        self.prepare_depths()
        self.factor = GRAVITY * (self.step_time / self.cell) ** 2

    def prepare_depths(self):
        """Depth on the faces between cells: the harmonic mean, so that a face at land lets nothing through."""
        whole = np.pad(depth_of_the_sea(self.rows, self.columns), 1)
        down, along = (slice(part.start, part.stop + 2) for part in self.block)
        depth = whole[down, along]
        with np.errstate(invalid="ignore"):
            self.face_x = np.nan_to_num(2 * depth[1:-1, 1:] * depth[1:-1, :-1] / (depth[1:-1, 1:] + depth[1:-1, :-1]))
            self.face_y = np.nan_to_num(2 * depth[1:, 1:-1] * depth[:-1, 1:-1] / (depth[1:, 1:-1] + depth[:-1, 1:-1]))
        rates = (rate[self.block] * self.step_time / 2 for rate in absorbing_rates(self.rows, self.columns))
        self.swell_share, self.damping = rates
        self.damping += self.swell_share

    def plan_exchanges(self, shape):
        """(neighbour, what we send, what we receive) for the four sides, as subarray datatypes."""
        plans = []
        for axis in (0, 1):
            low, high = self.comm.Shift(axis, 1)
            size = [n + 2 for n in shape]
            strip = [n if a != axis else 1 for a, n in enumerate(shape)]

            def side(at):
                start = [1 if a != axis else at for a in (0, 1)]
                return MPI.DOUBLE.Create_subarray(size, strip, start).Commit()

            plans.append((low, side(1), side(0)))
            plans.append((high, side(shape[axis]), side(shape[axis] + 1)))
        return plans

    def exchange(self):
        """Fills the border with the neighbours' edges. Where there is no neighbour it stays 0."""
        requests = []
        for neighbour, _, border in self.exchanges:
            requests.append(self.comm.Irecv([self.now, 1, border], neighbour))
        for neighbour, edge, _ in self.exchanges:
            requests.append(self.comm.Isend([self.now, 1, edge], neighbour))
        MPI.Request.Waitall(requests)

    def step(self):
        """One step of time for the whole block."""
        self.exchange()
        now, change = self.now, self.change[1:-1, 1:-1]
        flow_x = self.face_x * (now[1:-1, 1:] - now[1:-1, :-1])
        flow_y = self.face_y * (now[1:, 1:-1] - now[:-1, 1:-1])
        np.subtract(flow_x[:, 1:], flow_x[:, :-1], out=change)
        change += flow_y[1:]
        change -= flow_y[:-1]
        change *= self.factor
        change += 2 * now[1:-1, 1:-1]
        change -= (1 - self.damping) * self.before[1:-1, 1:-1]
        self.time += self.step_time
        rise = self.swell(self.time) - self.swell(self.time - 2 * self.step_time)
        change += self.swell_share * rise[None, self.block[1]]
        change /= 1 + self.damping
        self.before, self.now, self.change = self.now, self.change, self.before
        if self.time > 16 * SWELL_PERIOD:  # when the waves have reached the coast
            np.maximum(self.highest, np.abs(self.now[1:-1, 1:-1]), out=self.highest)

    def swell(self, seconds):
        """The incoming wave at each column of the whole domain, at this time."""
        x = (np.arange(self.columns) + 0.5) * self.cell
        speed = np.sqrt(GRAVITY * SWELL_DEPTH)
        phase = np.clip(seconds - x / speed, 0, None)
        rise = np.clip(phase / (2 * SWELL_PERIOD), 0, 1)
        return SWELL_HEIGHT / 2 * rise * np.sin(2 * np.pi / SWELL_PERIOD * phase)

    def measure(self):
        """(highest water anywhere, potential energy per area) of the whole sea: two reductions."""
        inside = self.now[1:-1, 1:-1]
        highest = self.comm.allreduce(float(np.abs(inside).max()), op=MPI.MAX)
        total = np.array([0.5 * 1000 * GRAVITY * np.sum(inside**2)])
        self.comm.Allreduce(MPI.IN_PLACE, total, op=MPI.SUM)
        return highest, total[0] / (self.rows * self.columns)

    def gather(self):
        """The whole sea on rank 0: (water now, highest water); None elsewhere."""
        parts = self.comm.gather((self.block, self.now[1:-1, 1:-1], self.highest), root=0)
        if parts is None:
            return None
        whole = np.zeros((2, self.rows, self.columns))
        for block, now, highest in parts:
            whole[0][block], whole[1][block] = now, highest
        return whole

    def close(self):
        for _, edge, border in self.exchanges:
            edge.Free()
            border.Free()
        self.comm.Free()


def own_part(cells, parts, at):
    """The cells of part number `at`, as a slice; parts differ by one cell at most."""
    return slice(cells * at // parts, cells * (at + 1) // parts)


# ---- the run ----


class Progress:
    """A bar that grows in place on a terminal; elsewhere a line now and then. Only rank 0 shows it."""

    def __init__(self, name, steps, shown):
        self.name, self.steps, self.shown = name, steps, shown
        self.live = sys.stdout.isatty()
        self.began, self.last = time.monotonic(), 0.0

    def show(self, step, note):
        share, now = step / self.steps, time.monotonic()
        quiet = 0.1 if self.live else 2.0
        if not self.shown or (now - self.last < quiet and step < self.steps):
            return
        self.last = now
        left = (now - self.began) * (1 / share - 1) if share > 0 else 0
        bar = "#" * round(30 * share) + "." * (30 - round(30 * share))
        line = f"  {self.name} [{bar}] {100 * share:3.0f} %  {left:4.1f} s left  {note}"
        print(f"\r{line}" if self.live else line, end="\n" if step == self.steps or not self.live else "", flush=True)


def simulate(comm, rows, columns, steps, name, shown):
    """Runs the sea on `comm`. Returns the gathered fields (rank 0), the measures and the seconds it took."""
    sea = Sea(comm, rows, columns)
    progress = Progress(name, steps, shown)
    comm.Barrier()
    began = MPI.Wtime()
    for step in range(1, steps + 1):
        sea.step()
        if step % 20 == 0 or step == steps:
            highest, energy = sea.measure()
            if not highest < 100:
                sys.exit(f"the water is {highest} m high: the computation is not stable")
            progress.show(step, f"highest water {highest:.2f} m")
    seconds = MPI.Wtime() - began
    fields = sea.gather()
    sea.close()
    return fields, (highest, energy), seconds


def compare(fields, measures, alone_fields, alone_measures):
    """What differs between the parallel and the serial run, as numbers for the summary."""
    return {
        "values": int(fields.size),
        "values_that_differ": int(np.count_nonzero(fields != alone_fields)),
        "largest_difference": float(np.abs(fields - alone_fields).max()),
        "energy_difference": float(abs(measures[1] - alone_measures[1]) / alone_measures[1]),
    }


def read_options():
    parser = argparse.ArgumentParser(description="Storm waves enter a harbour.")
    parser.add_argument("--columns", type=int, default=480, help="cells from west to east (480)")
    parser.add_argument("--seconds", type=float, default=300, help="how much time passes in the sea (300)")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("build/demo"), help="folder for results")
    return parser.parse_args()


def main():
    options, comm = read_options(), MPI.COMM_WORLD
    rows, columns = options.columns * 3 // 4, options.columns
    steps = int(options.seconds / step_time(LENGTH / columns))
    first = comm.rank == 0
    if first:
        print(f"  {rows} x {columns} cells, {steps} steps, {comm.size} ranks", flush=True)
    fields, measures, seconds = simulate(comm, rows, columns, steps, f"{comm.size} ranks", first)
    if first:
        alone_fields, alone_measures, alone = simulate(MPI.COMM_SELF, rows, columns, steps, "1 rank ", True)
        report = compare(fields, measures, alone_fields, alone_measures)
        report |= {"ranks": comm.size, "steps": steps, "seconds": seconds, "seconds_alone": alone}
        report["right"] = bool(report["values_that_differ"] == 0 and report["energy_difference"] < 1e-10)
        options.out.mkdir(parents=True, exist_ok=True)
        np.save(options.out / "harbour.npy", fields)
        (options.out / "harbour.json").write_text(json.dumps(report, indent=1))
    comm.Barrier()


if __name__ == "__main__":
    main()
