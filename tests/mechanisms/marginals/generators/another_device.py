"""A device with a memory of its own, to run what is written for a GPU where there is none.

Its tensors wrap tensors of the CPU, which do the work, so numbers are those of a CPU. Like CUDA's,
they are not mixed with the CPU's (scalars and positions in an index excepted) nor given to numpy.
Whether a generator of random numbers is of the device it can't tell.

PyTorch's registration of devices in Python is experimental: where a new release breaks this
module, `torch.utils.backend_registration` has what replaced it.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch.utils._mode_utils import no_dispatch
from torch.utils._pytree import tree_leaves, tree_map
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

NAME = "elsewhere"

_CROSSING = ("_to_copy", "copy_", "index", "index_put_", "_index_put_impl_")
_MADE_BY_TORCH = (  # it looks for these themselves, and takes no fallback
    torch.ops.aten.empty.memory_format,
    torch.ops.aten.empty_strided.default,
    torch.ops.aten._to_copy.default,
)


class Elsewhere(torch.Tensor):
    """A tensor on the device; `held` is what it wraps."""

    held: torch.Tensor
    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, held: torch.Tensor) -> "Elsewhere":
        made: Elsewhere = torch.Tensor._make_wrapper_subclass(  # type: ignore[attr-defined]
            cls,
            held.shape,
            strides=held.stride(),
            storage_offset=held.storage_offset(),
            dtype=held.dtype,
            device=DEVICE,
        )
        made.held = held
        return made

    @classmethod
    def __torch_dispatch__(
        cls, operator: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None
    ) -> Any:
        return _done(operator, args, kwargs or {})


class Generator(torch.Generator):
    """As `torch.Generator`, for any device; its numbers are the CPU's."""

    def __new__(cls, device: torch.device | str = "cpu") -> "Generator":
        return super().__new__(cls)


def _asked(operator: Any, *args: Any, **kwargs: Any) -> Any:
    return _done(operator, args, kwargs)


def _done(operator: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """The operator done on the CPU; what it returns is here or there as it would be on CUDA."""
    name = operator.overloadpacket.__name__
    tensors = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
    ours = [tensor for tensor in tensors if isinstance(tensor, Elsewhere)]
    asked = kwargs.get("device")
    there = bool(ours) if asked is None else torch.device(asked).type == NAME
    strangers = [t for t in tensors if t.dim() and not isinstance(t, Elsewhere)]
    if ours and strangers and name not in _CROSSING:
        raise RuntimeError(f"{operator}: expected all tensors to be on one device")
    held_args, held_kwargs = tree_map(_held, (tuple(args), dict(kwargs)))
    if asked is not None:
        held_kwargs["device"] = torch.device("cpu")
    result = operator(*held_args, **held_kwargs)
    if torch.Tag.inplace_view in operator.tags and ours:  # shapes of the wrapper change with it
        with no_dispatch():
            operator(*args, **kwargs)
    if not there:
        return result
    wrappers = {id(tensor.held): tensor for tensor in ours}  # what works in place returns the same

    def wrapped(x: Any) -> Any:
        if not isinstance(x, torch.Tensor):
            return x
        return wrappers[id(x)] if id(x) in wrappers else Elsewhere(x)

    return tree_map(wrapped, result)


def _held(x: Any) -> Any:
    return x.held if isinstance(x, Elsewhere) else x


def _registered() -> tuple[torch.library.Library, ...]:
    """Make the device known; it is for as long as what this returns is kept."""
    _setup_privateuseone_for_python_backend(NAME)  # type: ignore[no-untyped-call]
    every, factories = torch.library.Library("_", "IMPL"), torch.library.Library("aten", "IMPL")
    every.fallback(_asked, "PrivateUse1")
    for operator in _MADE_BY_TORCH:
        factories.impl(operator, partial(_asked, operator), "PrivateUse1")
    return every, factories


# At import, for PyTorch counts its devices when a process first takes a gradient.
_LIBRARIES = _registered()
DEVICE = torch.device(NAME, 0)
"""The device, as PyTorch knows it from the import of this module to the end of the process."""
