"""nki.isa of the stand-in: NKI 0.6's signatures, its rules, and the arithmetic in numpy."""

import enum
import functools
import inspect

import numpy as np

from nki import _machine
from nki._machine import NkiTensor, NkiValidationError, Storage, is_on_chip


class engine(enum.Enum):
    unknown = 0
    tensor = 1
    scalar = 2
    gpsimd = 3
    dma = 4
    vector = 5
    sync = 6


class dge_mode(enum.Enum):
    unknown = 0
    swdge = 1
    hwdge = 2
    none = 3


class oob_mode(enum.Enum):
    error = 0
    skip = 1


class matmul_perf_mode(enum.Enum):
    none = "none"
    double_row = "double_row"


_engine, _dge_mode, _oob_mode = engine, dge_mode, oob_mode  # the parameters hide them


def instruction(function):
    """Checks a call against the signature and hands the instruction its machine and its name."""
    signature = inspect.signature(function)
    known = list(signature.parameters)[1:]
    name = function.__name__

    @functools.wraps(function)
    def call(*args, **kwargs):
        machine = _machine.Machine.running(f"nisa.{name}")
        for keyword in kwargs:
            if keyword not in known:
                raise TypeError(f"nki.isa.{name}() has no parameter '{keyword}'; it takes {', '.join(known)}")
        op = Op(machine, name)
        try:
            bound = signature.bind(op, *args, **kwargs)
        except TypeError as error:
            raise TypeError(f"nki.isa.{name}(): {error}") from None
        for parameter, value in bound.arguments.items():
            if parameter in ("dst", "src", "data", "stationary", "moving") and not isinstance(value, NkiTensor):
                raise TypeError(f"nki.isa.{name}(): {parameter} is a tensor, not {value!r}")
            kinds = {"engine": _engine, "dge_mode": _dge_mode, "oob_mode": _oob_mode, "perf_mode": matmul_perf_mode}
            if parameter in kinds and not isinstance(value, kinds[parameter]):
                raise TypeError(f"nki.isa.{name}(): {parameter} is a member of nisa.{kinds[parameter].__name__}, not {value!r}")
        function(*bound.args, **bound.kwargs)
        machine.clock += 1
        machine.counts[name] = machine.counts.get(name, 0) + 1

    call.parameters = known
    return call


class Op:
    """What the rules of one instruction have in common."""

    def __init__(self, machine, name):
        self.machine = machine
        self.name = name

    def require(self, holds, text):
        if not holds:
            raise NkiValidationError(f"nki.isa.{self.name}: {text}")

    def without(self, **options):
        for name, is_default in options.items():
            if not is_default:
                raise NotImplementedError(f"nki.isa.{self.name}: the stand-in has no {name}")

    def engine(self, chosen, *allowed):
        if chosen is _engine.unknown:
            return allowed[0]
        self.require(chosen in allowed, f"engine is {', '.join(e.name for e in allowed)}; got {chosen.name}")
        return chosen

    def on_chip(self, operand, tensor):
        """The rules of an operand that an engine walks."""
        self.require(is_on_chip(tensor.buffer), f"{operand} is in SBUF or PSUM; {tensor!r}")
        count, start = tensor.shape[0], tensor._start_partition()
        quadrants = (0,) if count > 64 else (0, 64) if count > 32 else (0, 32, 64, 96)
        self.require(start in quadrants, f"{operand} has {count} partitions from partition {start} on; they start at "
                                         f"{', '.join(map(str, quadrants))}; {tensor!r}")
        for step, extent in tensor._dims[1:]:
            self.require(extent <= 65535, f"{operand}: an access pattern counts to 65535; {tensor!r}")
            self.require(extent == 1 or -32768 <= step <= 32767, f"{operand}: an access pattern steps within 16 bits; {tensor!r}")
        elems = tensor.size // count
        self.require(elems <= (65536 if tensor.buffer is _machine.sbuf else 4096),
                     f"{operand} has too many elements in a partition: {elems}; {tensor!r}")

    def not_for_gpsimd(self, chosen, **operands):
        for operand, tensor in operands.items():
            self.require(chosen is not _engine.gpsimd or tensor.buffer is _machine.sbuf,
                         f"GpSimd does not reach PSUM, where {operand} is; {tensor!r}")

    def read(self, operand, tensor):
        defined = tensor._strided(tensor._storage.defined)
        if not defined.all():
            first = tuple(int(i) for i in np.argwhere(~defined)[0])
            raise NkiValidationError(f"nki.isa.{self.name}: {operand} reads {int((~defined).sum())} elements of "
                                     f"{tensor._storage} that nothing has written, the first at {first} of the view")
        tensor._storage.touch()
        return tensor._strided(tensor._storage.flat)

    def write(self, tensor, values, by_matmul=False):
        storage = tensor._storage
        self.require(not storage.is_input, f"dst is an input of the kernel, which is only read; {tensor!r}")
        if tensor._repeats:
            places = tensor._strided(np.arange(storage.flat.size))
            self.require(np.unique(places).size == places.size, f"dst names an element twice; {tensor!r}")
        storage.touch()
        tensor._strided(storage.flat)[...] = values
        tensor._strided(storage.defined)[...] = True
        matmul = tensor._strided(storage.matmul)
        if by_matmul:
            matmul[...] = Storage.LAST
        else:
            matmul[matmul == Storage.LAST] = Storage.BEFORE


def converted(values, source, target):
    """Bits for equal dtypes; others go through float32."""
    if source is target:
        return values
    with np.errstate(all="ignore"):
        return target.of_float32(values.astype(np.float32))


@instruction
def dma_copy(op, dst, src, priority=None, oob_mode=oob_mode.error, dge_mode=dge_mode.unknown, engine=engine.unknown,
             name=None):
    for operand, tensor in (("dst", dst), ("src", src)):
        op.require(tensor.buffer is not _machine.psum, f"a DMA does not reach PSUM, where {operand} is; {tensor!r}")
    op.require(dst.size == src.size, f"{dst.size} elements in dst, {src.size} in src; {dst!r} {src!r}")
    op.require(priority is None or op.machine.generation >= 4, "priority needs NC-v4")
    op.require(engine in (_engine.unknown, _engine.sync, _engine.scalar), f"engine is sync or scalar; got {engine.name}")
    if dge_mode is _dge_mode.hwdge:
        op.require(op.machine.generation >= 3, "descriptors in hardware need NC-v3 or later")
        op.require(dst.dtype is src.dtype, f"descriptors in hardware do not convert {src.dtype} to {dst.dtype}")
    else:
        op.require(engine is _engine.unknown, "engine goes with dge_mode.hwdge")
    values = op.read("src", src)
    op.write(dst, converted(np.ascontiguousarray(values).reshape(dst.shape), src.dtype, dst.dtype))


@instruction
def nc_matmul(op, dst, stationary, moving, is_stationary_onezero=False, is_moving_onezero=False, is_transpose=False,
              accumulate=None, tile_position=(), tile_size=(), perf_mode=matmul_perf_mode.none, name=None):
    op.without(is_transpose=is_transpose is False, tile_position=tile_position == (), tile_size=tile_size == (),
               perf_mode=perf_mode is matmul_perf_mode.none)
    if accumulate not in (None, True, False) or isinstance(accumulate, (int, float)) and not isinstance(accumulate, bool):
        raise TypeError(f"nki.isa.nc_matmul(): accumulate is None, True or False, not {accumulate!r}")
    op.require(dst.buffer is _machine.psum, f"dst is in PSUM; {dst!r}")
    for operand, tensor in (("dst", dst), ("stationary", stationary), ("moving", moving)):
        op.on_chip(operand, tensor)
        op.require(operand == "dst" or tensor.buffer is _machine.sbuf, f"{operand} is in SBUF; {tensor!r}")

    is_new = op.machine.generation >= 4
    k, m, n = stationary.shape[0], stationary.size // stationary.shape[0], moving.size // moving.shape[0]
    op.require(moving.shape[0] == k, f"{k} partitions in stationary, {moving.shape[0]} in moving")
    op.require(m <= 128, f"stationary has {m} columns; the most is 128; {stationary!r}")
    limit = 512 if not is_new else 4096 if dst.dtype is _machine.float32 else 8192
    op.require(n <= limit, f"moving has {n} columns; the most is {limit}; {moving!r}")
    op.require(dst.shape[0] == m and dst.size == m * n, f"dst is [{m}, {n}]; {dst!r}")
    op.require(dst.dtype is _machine.float32 or is_new and dst.dtype is _machine.bfloat16,
               f"dst is float32 (from NC-v4 on also bfloat16); {dst!r}")
    if not is_new:
        in_partition = dst._offset % dst._partition_elems()
        last = in_partition + sum(step * (count - 1) for step, count in dst._dims[1:])
        bank = _machine.PSUM_BANK_BYTES // dst.dtype.itemsize
        op.require(in_partition // bank == last // bank, f"dst lies in one bank; {dst!r}")

    full, old, new = (_machine.float32, _machine.tfloat32), _machine.float8_e4m3, _machine.float8_e4m3fn
    a, b = stationary.dtype, moving.dtype
    for operand, dtype in (("stationary", a), ("moving", b)):
        op.require(dtype.kind == "float" and (is_new or dtype is not new), f"{operand} is {dtype}, which the array does not take")
    op.require((a in full) == (b in full), f"{a} does not go with {b}")
    op.require({a, b} != {old, new}, f"{a} does not go with {b}")

    left = op.read("stationary", stationary).reshape(k, m).astype(np.float32)
    right = op.read("moving", moving).reshape(k, n).astype(np.float32)
    with np.errstate(all="ignore"):
        product = (left.T @ right).reshape(dst.shape)

    state = dst._strided(dst._storage.matmul)
    adds = np.full(dst.shape, bool(accumulate)) if accumulate is not None else state != Storage.NEVER
    starts = Storage.LAST if not is_new else None
    if adds.any():
        ok = state == starts if starts is not None else dst._strided(dst._storage.defined)
        op.require(bool(ok[adds].all()), f"it adds to elements that no nc_matmul wrote last; {dst!r}")
        with np.errstate(all="ignore"):
            product = np.where(adds, dst._strided(dst._storage.flat) + product, product)
    op.write(dst, dst.dtype.of_float32(product), by_matmul=True)


@instruction
def nc_transpose(op, dst, data, engine=engine.unknown, name=None):
    op.on_chip("dst", dst)
    op.on_chip("data", data)
    if engine is _engine.unknown:
        engine = _engine.tensor if dst.buffer is _machine.psum and data.buffer is _machine.sbuf else _engine.vector
    chosen = op.engine(engine, _engine.tensor, _engine.vector)
    limit = 128 if chosen is _engine.tensor else 32
    p, f = data.shape[0], data.size // data.shape[0]
    op.require(p <= limit and f <= limit, f"data is at most {limit} x {limit} on the {chosen.name} engine; {data!r}")
    op.require(dst.dtype is data.dtype, f"dst has the dtype of data; {dst!r} {data!r}")
    op.require(dst.shape[0] == f and dst.size == f * p, f"dst is [{f}, {p}]; {dst!r}")
    if chosen is _engine.tensor:
        op.require(data.buffer is _machine.sbuf and dst.buffer is _machine.psum,
                   f"the tensor engine goes from SBUF to PSUM; {dst!r} {data!r}")
    op.write(dst, np.ascontiguousarray(op.read("data", data).reshape(p, f).T).reshape(dst.shape))


@instruction
def tensor_copy(op, dst, src, engine=engine.unknown, name=None):
    op.on_chip("dst", dst)
    op.on_chip("src", src)
    chosen = op.engine(engine, _engine.vector, _engine.scalar, _engine.gpsimd)
    op.require(chosen is not _engine.scalar or op.machine.generation >= 3, "the scalar engine copies from NC-v3 on")
    op.not_for_gpsimd(chosen, dst=dst, src=src)
    op.require(dst.shape[0] == src.shape[0] and dst.size == src.size,
               f"dst and src have the same partitions and elements; {dst!r} {src!r}")
    op.write(dst, converted(np.ascontiguousarray(op.read("src", src)).reshape(dst.shape), src.dtype, dst.dtype))


@instruction
def memset(op, dst, value, engine=engine.unknown, name=None):
    op.on_chip("dst", dst)
    op.not_for_gpsimd(op.engine(engine, _engine.vector, _engine.gpsimd), dst=dst)
    kind = {"float": float, "int": int, "bool": bool}[dst.dtype.kind]
    if type(value) is not kind:
        raise TypeError(f"nki.isa.memset(): value of a {dst.dtype} tensor is a {kind.__name__}, not {value!r}")
    if kind is int:
        low, high = dst.dtype.limits
        op.require(low <= value <= high, f"value is {low}..{high}; got {value}")
    op.write(dst, dst.dtype.of_scalar(value))


def __getattr__(name):
    raise AttributeError(f"nisa.{name} is not in the stand-in")
