"""nki.language of the stand-in: dtypes, memories, ndarray, ds, tile_size."""

from nki import _machine
from nki._machine import (NkiTensor, bfloat16, bool_, float4_e2m1fn_x4, float8_e4m3, float8_e4m3fn, float8_e4m3fn_x4,  # noqa: F401
                          float8_e5m2, float8_e5m2_x4, float8_e8m0fnu, float16, float32, int8, int16, int32, is_on_chip,
                          private_hbm, psum, sbuf, shared_hbm, tfloat32, uint8, uint16, uint32)

hbm = private_hbm


class tile_size:
    pmax = 128
    psum_bank_fmax = 512
    psum_bank_fmax_bytes = 2048
    gemm_stationary_fmax = 128
    gemm_moving_fmax = 512
    bn_stats_fmax = 512
    psum_num_banks = 8


def is_hbm(buffer):
    return buffer in (private_hbm, shared_hbm)


def is_sbuf(buffer):
    return buffer is sbuf


def is_psum(buffer):
    return buffer is psum


def ds(start, size):
    return _machine.Ds(start, size)


def ndarray(shape, dtype, buffer=sbuf, name="", address=None):
    machine = _machine.Machine.running("nl.ndarray")
    if not isinstance(shape, (tuple, list)):
        raise TypeError(f"nl.ndarray: shape is a tuple of ints, not {shape!r}")
    if not isinstance(dtype, _machine.DType):
        raise TypeError(f"nl.ndarray: dtype is one of nl's, such as nl.float32, not {dtype!r}")
    if not isinstance(buffer, _machine.Buffer):
        raise TypeError(f"nl.ndarray: buffer is nl.sbuf, nl.psum, nl.hbm or nl.shared_hbm, not {buffer!r}")
    if address is not None:
        raise NotImplementedError("the stand-in places tensors itself")
    if dtype.kind == "packed":
        raise NotImplementedError(f"the stand-in does not hold {dtype}")
    variable, place = _machine.name_from_source(2)
    name = name or variable
    shape = [_machine.as_int(extent, f"nl.ndarray: an extent of '{name}'") for extent in shape]
    if not 1 <= len(shape) <= 5 or min(shape) < 1:
        raise _machine.NkiValidationError(f"nl.ndarray: '{name}' has 1 to 5 extents of 1 or more, not {tuple(shape)}")
    if is_on_chip(buffer) and shape[0] > _machine.PARTITIONS:
        raise _machine.NkiValidationError(f"nl.ndarray: '{name}' has {shape[0]} partitions; the most is 128")
    storage = _machine.Storage(machine, shape, dtype, buffer, name, place)
    if storage.psum_banks > _machine.PSUM_BANKS:
        raise _machine.NkiValidationError(f"nl.ndarray: '{name}' is larger than PSUM")
    return NkiTensor.whole(storage)


_removed = {
    "arange": "slice tensors with start:stop instead",
    "mgrid": "slice tensors with start:stop instead",
    "par_dim": "dimension 0 is the partition dimension",
    "affine_range": "it is a deprecated name of range",
    "sequential_range": "it is a deprecated name of range",
    "static_range": "it is a deprecated name of range",
}


def __getattr__(name):
    if name in _removed:
        raise AttributeError(f"nl.{name}: {_removed[name]}")
    raise AttributeError(f"nl.{name} is not in the stand-in")
