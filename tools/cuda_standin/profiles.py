"""The machines that the stand-in can be."""

from dataclasses import dataclass

MIB = 2**20


@dataclass(frozen=True)
class Profile:
    """A machine with CUDA."""

    name: str  # of the GPUs, as the driver writes it
    capability: tuple[int, int]
    multiprocessors: int
    memory: int  # bytes of each GPU
    clocks: tuple[int, int]  # of the multiprocessors and of the memory, in kHz
    bus: int  # width of the memory bus in bits
    gpus: int = 1  # how many there are
    fake_tensors_touch_the_gpu: bool = (
        False  # PyTorch 2.11's `FakeTensorMode` made a real tensor on each device
    )
    tf32: bool = (
        False  # switched on by the environment, as in NVIDIA's images (TORCH_ALLOW_TF32_CUBLAS_OVERRIDE=1)
    )
    broken: bool = False  # its products are wrong by one


_H100 = ("NVIDIA H100 80GB HBM3", (9, 0), 132, 81_079 * MIB, (1_980_000, 2_619_000), 5120)

PROFILES = {
    "h100": Profile(*_H100, fake_tensors_touch_the_gpu=True),
    "rtx4060-laptop": Profile(
        "NVIDIA GeForce RTX 4060 Laptop GPU", (8, 9), 24, 8_188 * MIB, (2_250_000, 8_001_000), 128, tf32=True
    ),
    "t4": Profile("Tesla T4", (7, 5), 40, 15_095 * MIB, (1_590_000, 5_001_000), 256),
    "eight-h100": Profile(*_H100, gpus=8),
    "broken": Profile(*_H100, broken=True),
}
SOUND = [name for name, profile in PROFILES.items() if not profile.broken]
