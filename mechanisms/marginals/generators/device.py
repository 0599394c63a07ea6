"""Where tensors live: on the CPU, or on a GPU that is there."""

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import torch

Device = Literal["auto", "cpu", "cuda"]


def chosen_device(device: Device, where: str = "mechanism.generator.device") -> "torch.device":
    """The device of that name; `auto` is a GPU where there is one.

    Args:
        where: the key of a spec that names it.
    Raises:
        ValueError: `cuda` was asked for, and PyTorch sees none.
    """
    import torch  # here, for it takes a second and 200 MB that few runs need

    if device == "cpu" or (device == "auto" and not torch.cuda.is_available()):
        return torch.device("cpu")
    if not torch.cuda.is_available():
        built = torch.version.cuda
        reason = (
            f"the build for CUDA {built} finds no GPU on this machine"
            if built
            else "this build has no CUDA"
        )
        raise ValueError(
            f"{where}: cuda, but PyTorch {torch.__version__} cannot use it: "
            f"{reason}; set device: auto or cpu, or run where a GPU and a CUDA build of PyTorch "
            "are installed"
        )
    return torch.device("cuda")
