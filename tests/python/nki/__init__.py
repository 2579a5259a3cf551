"""A strict stand-in for NKI 0.6, for tests of what the project writes.

It runs a kernel on numpy arrays, one instruction after the other, and refuses what NKI or the machine would refuse:
names and keywords that NKI does not have, views outside their tensor, memories and partitions that an engine does not
reach, elements that nothing has written, more storage than there is. It has the parts of NKI that the project writes
and no others. It says nothing about time.
"""

import functools
import inspect

import numpy as np

from nki import _machine
from nki._lint import lint  # noqa: F401
from nki._machine import NkiTensor, NkiValidationError  # noqa: F401


class Host:
    """An argument whose dtype numpy has no name for: values, rounded to the dtype on entry."""

    def __init__(self, values, dtype):
        if not isinstance(dtype, _machine.DType):
            raise TypeError(f"nki.Host: dtype is one of nl's, not {dtype!r}")
        self.dtype = dtype
        self.values = dtype.of_float32(np.asarray(values, np.float32))


_of_numpy = {
    np.dtype(d.storage): d
    for d in (_machine.float32, _machine.float16, _machine.int8, _machine.int16, _machine.int32, _machine.uint8,
              _machine.uint16, _machine.uint32, _machine.bool_)
}


class Kernel:
    """What nki.jit makes of a function. `last_run` is the machine of the last call, for tests to look at."""

    def __init__(self, function):
        functools.update_wrapper(self, function)
        self._function = function
        self.last_run = None

    def __getitem__(self, lnc):
        if lnc != 1:
            raise NotImplementedError("the stand-in is one core")
        return self

    def __call__(self, *args):
        if _machine.Machine.current is not None:
            raise NkiValidationError("a kernel does not call another kernel")
        names = list(inspect.signature(self._function).parameters)
        if len(args) != len(names):
            raise TypeError(f"{self.__name__}() takes {len(names)} arguments ({', '.join(names)}), not {len(args)}")
        machine = _machine.Machine.current = self.last_run = _machine.Machine()
        try:
            inputs = [self._input(machine, name, value) for name, value in zip(names, args)]
            returned = self._function(*inputs)
            outputs = returned if isinstance(returned, tuple) else (returned,)
            results = tuple(self._output(tensor) for tensor in outputs)
            machine.require_capacity()
        finally:
            _machine.Machine.current = None
        return results if isinstance(returned, tuple) else results[0]

    @staticmethod
    def _input(machine, name, value):
        if isinstance(value, Host):
            values, dtype = value.values, value.dtype
        elif isinstance(value, np.ndarray):
            values, dtype = value, _of_numpy.get(value.dtype)
            if dtype is None:
                raise TypeError(f"argument {name}: NKI has no {value.dtype}")
        else:
            raise TypeError(f"argument {name} is a numpy array or an nki.Host, not {value!r}")
        storage = _machine.Storage(machine, values.shape, dtype, _machine.private_hbm, name, "", is_input=True)
        storage.flat[:] = values.reshape(-1)
        storage.defined[:] = True
        return NkiTensor.whole(storage)

    @staticmethod
    def _output(tensor):
        if not isinstance(tensor, NkiTensor) or tensor.buffer is not _machine.shared_hbm:
            raise NkiValidationError(f"a kernel returns tensors in nl.shared_hbm, not {tensor!r}")
        storage = tensor._storage
        if tensor.shape != storage.shape:
            raise NkiValidationError(f"a kernel returns whole tensors, not {tensor!r}")
        if not storage.defined.all():
            raise NkiValidationError(f"the output {storage} has {int((~storage.defined).sum())} elements that nothing "
                                     "has written")
        return storage.flat.reshape(storage.shape).copy()


def jit(fn=None, **kwargs):
    if kwargs:
        raise TypeError(f"nki.jit() has no parameter '{next(iter(kwargs))}'")
    return jit if fn is None else Kernel(fn)


def simulate(kernel):
    return kernel
