"""Dtypes, memories and tensors of the stand-in: storage that knows which of its elements were written."""

import linecache
import os
import re
import sys

import numpy as np


class NkiValidationError(Exception):
    """A kernel that breaks a rule of NKI."""


# ---- dtypes


class DType:
    """An element type. `storage` is what numpy holds: small floats are kept as float32 values, already rounded."""

    def __init__(self, name, itemsize, kind, storage, rounding=None, limits=None):
        self.name = name
        self.itemsize = itemsize
        self.kind = kind  # float, int, bool or packed
        self.storage = storage
        self.rounding = rounding
        self.limits = limits

    def __repr__(self):
        return "nl." + self.name

    def of_float32(self, values):
        """float32 values in this dtype, rounded to nearest, ties to even."""
        with np.errstate(all="ignore"):
            if self.kind == "int":
                rounded = np.rint(np.nan_to_num(values.astype(np.float64), nan=0.0))
                return np.clip(rounded, self.limits[0], self.limits[1]).astype(self.storage)
            if self.kind == "bool":
                return values != 0
            return (values if self.rounding is None else self.rounding(values)).astype(self.storage)

    def of_scalar(self, value):
        return self.of_float32(np.asarray(value, np.float32)) if self.kind == "float" else self.storage(value)


def round_bfloat16(values):
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    rounded = ((bits + (np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1)))) & np.uint32(0xFFFF0000))
    rounded = rounded.view(np.float32).reshape(values.shape)
    return np.where(np.isnan(values), values, rounded)


def small_float(mantissa, smallest_exponent, largest, beyond):
    """Rounding to `mantissa` stored bits; beyond the largest value comes an infinity or a NaN."""

    def rounding(values):
        wide = values.astype(np.float64)
        exponent = np.maximum(np.frexp(wide)[1] - 1, smallest_exponent)
        step = np.ldexp(1.0, exponent - mantissa)
        rounded = np.rint(wide / step) * step
        rounded = np.where(np.abs(rounded) > largest, np.sign(wide) * beyond, rounded)
        return np.where(np.isfinite(wide), rounded, wide).astype(np.float32)

    return rounding


float32 = DType("float32", 4, "float", np.float32)
tfloat32 = DType("tfloat32", 4, "float", np.float32)
bfloat16 = DType("bfloat16", 2, "float", np.float32, round_bfloat16)
float16 = DType("float16", 2, "float", np.float16)
float8_e4m3 = DType("float8_e4m3", 1, "float", np.float32, small_float(3, -6, 240.0, np.inf))
float8_e4m3fn = DType("float8_e4m3fn", 1, "float", np.float32, small_float(3, -6, 448.0, np.nan))
float8_e5m2 = DType("float8_e5m2", 1, "float", np.float32, small_float(2, -14, 57344.0, np.inf))
float8_e8m0fnu = DType("float8_e8m0fnu", 1, "packed", np.uint8)
float8_e4m3fn_x4 = DType("float8_e4m3fn_x4", 4, "packed", np.uint32)
float8_e5m2_x4 = DType("float8_e5m2_x4", 4, "packed", np.uint32)
float4_e2m1fn_x4 = DType("float4_e2m1fn_x4", 2, "packed", np.uint16)
int8 = DType("int8", 1, "int", np.int8, limits=(-(2**7), 2**7 - 1))
int16 = DType("int16", 2, "int", np.int16, limits=(-(2**15), 2**15 - 1))
int32 = DType("int32", 4, "int", np.int32, limits=(-(2**31), 2**31 - 1))
uint8 = DType("uint8", 1, "int", np.uint8, limits=(0, 2**8 - 1))
uint16 = DType("uint16", 2, "int", np.uint16, limits=(0, 2**16 - 1))
uint32 = DType("uint32", 4, "int", np.uint32, limits=(0, 2**32 - 1))
bool_ = DType("bool_", 1, "bool", np.bool_)

DTYPES = {
    d.name: d
    for d in (float32, tfloat32, bfloat16, float16, float8_e4m3, float8_e4m3fn, float8_e5m2, float8_e8m0fnu,
              float8_e4m3fn_x4, float8_e5m2_x4, float4_e2m1fn_x4, int8, int16, int32, uint8, uint16, uint32, bool_)
}


# ---- memories


class Buffer:
    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return "nl." + self.name


sbuf = Buffer("sbuf")
psum = Buffer("psum")
private_hbm = Buffer("private_hbm")
shared_hbm = Buffer("shared_hbm")

PARTITIONS = 128
PSUM_BANK_BYTES = 2048
PSUM_BANKS = 8


def is_on_chip(buffer):
    return buffer in (sbuf, psum)


# Usable SBUF bytes of a partition: the size less what the compiler keeps.
SBUF_BYTES = {2: 196608 - 16384, 3: 229376 - 16384 - 8, 4: 262144 - 16384 - 8}
GENERATIONS = {"trn1": 2, "inf2": 2, "gen2": 2, "trn2": 3, "gen3": 3, "trn3": 4, "gen4": 4}


class Machine:
    """One run of a kernel: the target, the life of every on-chip tensor, and what ran."""

    current = None

    def __init__(self):
        target = os.environ.get("NEURON_PLATFORM_TARGET_OVERRIDE", "trn2")
        if target not in GENERATIONS:
            raise ValueError(f"NEURON_PLATFORM_TARGET_OVERRIDE is one of {', '.join(GENERATIONS)}, not {target!r}")
        self.generation = GENERATIONS[target]
        self.clock = 0  # instructions so far
        self.lives = []
        self.peak = {"sbuf_bytes": 0, "psum_banks": 0}
        self.counts = {}

    @classmethod
    def running(cls, what):
        if cls.current is None:
            raise NkiValidationError(f"{what} is for kernels: call it inside a function under @nki.jit")
        return cls.current

    def require_capacity(self):
        """A tensor needs its place from its first writing to its last use, in the order of the program."""
        self._require("sbuf_bytes", SBUF_BYTES[self.generation], "SBUF is full", "bytes of a partition")
        self._require("psum_banks", PSUM_BANKS, "PSUM is full", "banks")

    def _require(self, what, limit, text, unit):
        changes = []
        for life in self.lives:
            amount = getattr(life, what)
            if amount > 0:
                changes += [(life.first, amount), (life.last + 1, -amount)]
        used = 0
        for clock, amount in sorted(changes):  # what ends at an instruction's end makes room for the next one
            used += amount
            self.peak[what] = max(self.peak[what], used)
            if used > limit:
                alive = [life for life in self.lives if life.first <= clock <= life.last and getattr(life, what) > 0]
                alive.sort(key=lambda life: -getattr(life, what))
                names = ", ".join(f"{life.name} {getattr(life, what)}" for life in alive[:5])
                raise NkiValidationError(f"{text}: {used} of {limit} {unit} are in use at once; the largest: {names}")


class Life:
    """From the first writing of a tensor to its last use, in instructions."""

    def __init__(self, name, sbuf_bytes, psum_banks, clock):
        self.name = name
        self.sbuf_bytes = sbuf_bytes
        self.psum_banks = psum_banks
        self.first = self.last = clock


class Storage:
    """The elements behind a tensor and its views, with a shadow: which were written, and which by nc_matmul."""

    NEVER, LAST, BEFORE = 0, 1, 2  # written by nc_matmul never, last, or before another instruction wrote

    def __init__(self, machine, shape, dtype, buffer, name, place, is_input=False):
        self.machine = machine
        self.shape = tuple(shape)
        self.dtype = dtype
        self.buffer = buffer
        self.name = name
        self.place = place
        self.is_input = is_input
        self.life = None
        count = int(np.prod(self.shape, dtype=np.int64))
        # What nothing has written looks like nothing that was meant.
        self.flat = np.full(count, np.nan if dtype.kind == "float" else 4, dtype.storage)
        self.defined = np.zeros(count, np.bool_)
        self.matmul = np.zeros(count, np.uint8)
        per_partition = count // self.shape[0] * dtype.itemsize
        self.sbuf_bytes = per_partition if buffer is sbuf else 0
        self.psum_banks = -(-per_partition // PSUM_BANK_BYTES) if buffer is psum else 0

    def __str__(self):
        return f"'{self.name}'" + (f" ({self.place})" if self.place else "")

    def touch(self):
        if self.life is None:
            self.life = Life(str(self), self.sbuf_bytes, self.psum_banks, self.machine.clock)
            self.machine.lives.append(self.life)
        self.life.last = self.machine.clock


def name_from_source(depth):
    """(variable, place) of the assignment that is running `depth` frames up."""
    frame = sys._getframe(depth)
    file, number = frame.f_code.co_filename, frame.f_lineno
    match = re.match(r"\s*(\w+)\s*=[^=]", linecache.getline(file, number))
    return (match[1] if match else "tensor"), f"{os.path.basename(file)}:{number}"


# ---- tensors


def as_int(value, what):
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{what} is an int, not {value!r}")
    if not -(2**31) <= value < 2**31:
        raise NkiValidationError(f"{what} is a 32-bit int, not {value}")
    return value


class Ds:
    """nl.ds(start, size)."""

    def __init__(self, start, size):
        self.start = as_int(start, "nl.ds: start")
        self.size = as_int(size, "nl.ds: size")


class NkiTensor:
    """A view of storage: an offset and, for each dimension, a step and a count, in elements. Views share storage."""

    def __init__(self, storage, offset, dims, repeats=False):
        self._storage = storage
        self._offset = offset
        self._dims = tuple(dims)
        self._repeats = repeats  # may name an element twice
        if len(self._dims) > 5:
            raise NkiValidationError(f"a view has at most 5 dimensions; this one of {storage} has {len(self._dims)}")
        low = offset + sum(min(0, step * (count - 1)) for step, count in self._dims)
        high = offset + sum(max(0, step * (count - 1)) for step, count in self._dims)
        if low < 0 or high >= storage.flat.size:
            raise NkiValidationError(f"a view reaches elements {low}..{high} of {storage}, which has {storage.flat.size}")

    @classmethod
    def whole(cls, storage):
        dims, step = [], 1
        for count in reversed(storage.shape):
            dims.insert(0, (step, count))
            step *= count
        return cls(storage, 0, dims)

    shape = property(lambda self: tuple(count for _, count in self._dims))
    dtype = property(lambda self: self._storage.dtype)
    buffer = property(lambda self: self._storage.buffer)
    name = property(lambda self: self._storage.name)
    ndim = property(lambda self: len(self._dims))
    size = property(lambda self: int(np.prod(self.shape, dtype=np.int64)))

    def __repr__(self):
        return f"<{self._storage} {self.shape} {self.dtype} {self.buffer}>"

    def __bool__(self):
        raise TypeError(f"tensor {self._storage} has no truth value while a kernel is traced")

    __len__ = __iter__ = __setitem__ = None  # tensors are written by nisa instructions only
    __hash__ = object.__hash__

    # -- places in storage

    def _partition_elems(self):
        """Elements of a partition of the storage; 0 in HBM."""
        return self._storage.flat.size // self._storage.shape[0] if is_on_chip(self.buffer) else 0

    def _start_partition(self):
        return self._offset // self._partition_elems()

    def _strided(self, array):
        strides = [step * array.itemsize for step, _ in self._dims]
        return np.lib.stride_tricks.as_strided(array[self._offset:], self.shape, strides)

    def _derive(self, dims, offset=None, repeats=False):
        return NkiTensor(self._storage, self._offset if offset is None else offset, dims, self._repeats or repeats)

    def _dim(self, dim, what, on_chip_first=0):
        dim = as_int(dim, f"{what}: dim")
        if not 0 <= dim < self.ndim:
            raise NkiValidationError(f"{what}: dim is 0..{self.ndim - 1}, not {dim}")
        if is_on_chip(self.buffer) and dim < on_chip_first:
            raise NkiValidationError(f"{what}: dimension 0 of {self._storage} is the partition dimension")
        return dim

    # -- views

    def __getitem__(self, index):
        index = index if isinstance(index, tuple) else (index,)
        if len(index) > self.ndim:
            raise NkiValidationError(f"{len(index)} indices for {self.ndim} dimensions of {self._storage}")
        offset, dims = self._offset, []
        for d, (step, count) in enumerate(self._dims):
            at = index[d] if d < len(index) else slice(None)
            what = f"index {d} of {self._storage}"
            if isinstance(at, Ds):
                at = slice(at.start, at.start + at.size)
            if isinstance(at, slice):
                start = 0 if at.start is None else as_int(at.start, what)
                stop = count if at.stop is None else as_int(at.stop, what)
                stride = 1 if at.step is None else as_int(at.step, what)
                if not 0 <= start < stop <= count or stride < 1:
                    raise NkiValidationError(f"{what}: {start}:{stop}:{stride} is no part of 0:{count}")
                if d == 0 and is_on_chip(self.buffer) and stride != 1:
                    raise NkiValidationError(f"{what}: partitions are taken one after the other")
                offset += start * step
                dims.append((step * stride, -(-(stop - start) // stride)))
                continue
            at = as_int(at, what)
            if not 0 <= at < count:
                raise NkiValidationError(f"{what}: {at} is not in 0..{count - 1}")
            offset += at * step
            if d == 0 and is_on_chip(self.buffer):
                dims.append((step, 1))
        return self._derive(dims, offset)

    def slice(self, dim, start, end, step=1):
        dim = self._dim(dim, "slice")
        return self[(slice(None),) * dim + (slice(start, end, step),)]

    def select(self, dim, index):
        return self[(slice(None),) * self._dim(dim, "select") + (index,)]

    def permute(self, dims):
        if sorted(dims) != list(range(self.ndim)):
            raise NkiValidationError(f"permute: {dims} does not name each of {self.ndim} dimensions once")
        if is_on_chip(self.buffer) and dims[0] != 0:
            raise NkiValidationError(f"permute: dimension 0 of {self._storage} is the partition dimension")
        return self._derive([self._dims[d] for d in dims])

    def reshape_dim(self, dim, shape):
        dim = self._dim(dim, "reshape_dim", 1)
        step, count = self._dims[dim]
        parts = []
        for extent in reversed([as_int(e, "reshape_dim: extent") for e in shape]):
            if extent < 1:
                raise NkiValidationError(f"reshape_dim: extents are 1 or more, not {shape}")
            parts.insert(0, (step, extent))
            step *= extent
        if int(np.prod([e for _, e in parts], dtype=np.int64)) != count:
            raise NkiValidationError(f"reshape_dim: {shape} does not have the {count} elements of dimension {dim}")
        return self._derive(self._dims[:dim] + tuple(parts) + self._dims[dim + 1:])

    def flatten_dims(self, start_dim, end_dim):
        first, last = self._dim(start_dim, "flatten_dims", 1), self._dim(end_dim, "flatten_dims", 1)
        for (outer, _), (inner, count) in zip(self._dims[first:last], self._dims[first + 1:last + 1]):
            if outer != inner * count:
                raise NkiValidationError("flatten_dims: the dimensions do not follow each other in storage")
        count = int(np.prod(self.shape[first:last + 1], dtype=np.int64))
        return self._derive(self._dims[:first] + ((self._dims[last][0], count),) + self._dims[last + 1:])

    def expand_dim(self, dim):
        dim = as_int(dim, "expand_dim: dim")
        if not (1 if is_on_chip(self.buffer) else 0) <= dim <= self.ndim:
            raise NkiValidationError(f"expand_dim: no dimension can stand at {dim}")
        return self._derive(self._dims[:dim] + ((1, 1),) + self._dims[dim:])

    def squeeze_dim(self, dim):
        dim = self._dim(dim, "squeeze_dim", 1)
        if self._dims[dim][1] != 1:
            raise NkiValidationError(f"squeeze_dim: dimension {dim} has {self._dims[dim][1]} elements")
        return self._derive(self._dims[:dim] + self._dims[dim + 1:])

    def broadcast(self, dim, size):
        dim = self._dim(dim, "broadcast", 1)
        if self._dims[dim][1] != 1:
            raise NkiValidationError(f"broadcast: dimension {dim} has {self._dims[dim][1]} elements, not 1")
        size = as_int(size, "broadcast: size")
        return self._derive(self._dims[:dim] + ((0, size),) + self._dims[dim + 1:], repeats=True)

    def ap(self, pattern, offset=None, scalar_offset=None, vector_offset=None, indirect_dim=0, dtype=None):
        """The pattern is over storage, whatever this view is."""
        if scalar_offset is not None or vector_offset is not None or dtype is not None or indirect_dim != 0:
            raise NotImplementedError("the stand-in has static access patterns only")
        dims = [(as_int(step, "ap: step"), as_int(count, "ap: count")) for step, count in pattern]
        if not dims or any(count < 1 for _, count in dims):
            raise NkiValidationError(f"ap: counts are 1 or more, not {pattern}")
        if is_on_chip(self.buffer):
            if dims[0][0] != self._partition_elems():
                raise NkiValidationError(f"ap: the first step is {self._partition_elems()}, the elements of a partition of "
                                         f"{self._storage}; got {dims[0][0]}")
            start = 0 if offset is None else as_int(offset, "ap: offset")
            last = start % dims[0][0] + sum(step * (count - 1) for step, count in dims[1:])
            if last >= dims[0][0] or min(step for step, _ in dims) < 0:
                raise NkiValidationError(f"ap: the pattern leaves its partition of {self._storage}")
        return NkiTensor(self._storage, 0 if offset is None else as_int(offset, "ap: offset"), dims, True)

    def get_pattern(self):
        return [[step, count] for step, count in self._dims]

    def is_contiguous(self):
        step = 1
        for d in range(self.ndim - 1, 0 if is_on_chip(self.buffer) else -1, -1):
            if self._dims[d][1] != 1 and self._dims[d][0] != step:
                return False
            step *= self._dims[d][1]
        return True

    def is_indirect(self):
        return False
