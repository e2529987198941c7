"""A driver of a virtio network device over PCI, after VIRTIO 1.2, sections 3.1.1, 4.1.4, 4.1.5 and 5.1: it knows the
device by its capabilities and registers alone."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

ACKNOWLEDGE, DRIVER, DRIVER_OK, FEATURES_OK, NEEDS_RESET, FAILED = 1, 2, 4, 8, 64, 128
NO_VECTOR = 0xFFFF
VERSION_1, ACCESS_PLATFORM, RING_PACKED, RING_RESET = 1 << 32, 1 << 33, 1 << 34, 1 << 40
COMMON_CFG, NOTIFY_CFG, ISR_CFG, DEVICE_CFG, PCI_CFG = range(1, 6)

# struct virtio_pci_common_cfg (4.1.4.3): offset and bytes of each field
COMMON = {
    **{"device_feature_select": (0x00, 4), "device_feature": (0x04, 4)},
    **{"driver_feature_select": (0x08, 4), "driver_feature": (0x0C, 4)},
    **{"config_msix_vector": (0x10, 2), "num_queues": (0x12, 2), "device_status": (0x14, 1)},
    **{"config_generation": (0x15, 1), "queue_select": (0x16, 2), "queue_size": (0x18, 2)},
    **{"queue_msix_vector": (0x1A, 2), "queue_enable": (0x1C, 2), "queue_notify_off": (0x1E, 2)},
    **{"queue_desc_lo": (0x20, 4), "queue_desc_hi": (0x24, 4), "queue_driver_lo": (0x28, 4)},
    **{"queue_driver_hi": (0x2C, 4), "queue_device_lo": (0x30, 4), "queue_device_hi": (0x34, 4)},
    **{"queue_notify_data": (0x38, 2), "queue_reset": (0x3A, 2)},
}


class Window(Protocol):
    """The device's BARs, by number and offset, with accesses of 1, 2 and 4 bytes."""

    async def read(self, bar: int, offset: int, size: int, /) -> int:
        """What is there."""

    async def write(self, bar: int, offset: int, size: int, value: int, /) -> None:
        """Put it there."""


@dataclass
class PciWindow:
    """The BARs by the window in configuration space (4.1.4.9), whose capability is at `place`.

    `config_read` takes address and bytes, `config_write` address, bytes and value.
    """

    place: int
    config_read: Callable[[int, int], Awaitable[int]]
    config_write: Callable[[int, int, int], Awaitable[None]]

    async def aim(self, bar: int, offset: int, size: int) -> None:
        """Set what pci_cfg_data shows."""
        await self.config_write(self.place + 4, 1, bar)
        await self.config_write(self.place + 8, 4, offset)
        await self.config_write(self.place + 12, 4, size)

    async def read(self, bar: int, offset: int, size: int) -> int:
        """An access by reading pci_cfg_data."""
        await self.aim(bar, offset, size)
        return await self.config_read(self.place + 16, size)

    async def write(self, bar: int, offset: int, size: int, value: int) -> None:
        """An access by writing it."""
        await self.aim(bar, offset, size)
        await self.config_write(self.place + 16, size, value)


@dataclass(frozen=True)
class Structure:
    """Where a structure lies (struct virtio_pci_cap)."""

    bar: int
    offset: int
    length: int
    multiplier: int = 0  # of notify


@dataclass
class VirtioDriver:
    """A function's driver: `structures` by cfg_type; `pause` is called between looks at what takes time."""

    window: Window
    structures: dict[int, Structure]
    pause: Callable[[], Awaitable[None]]
    features: int = 0

    async def get(self, name: str) -> int:
        """A field of the common configuration."""
        offset, size = COMMON[name]
        where = self.structures[COMMON_CFG]
        return await self.window.read(where.bar, where.offset + offset, size)

    async def set(self, name: str, value: int) -> None:
        """Write a field of the common configuration."""
        offset, size = COMMON[name]
        where = self.structures[COMMON_CFG]
        await self.window.write(where.bar, where.offset + offset, size, value)

    async def reset(self, limit: int = 1000) -> None:
        """Write 0, and wait until it is read."""
        await self.set("device_status", 0)
        for _ in range(limit):
            if await self.get("device_status") == 0:
                return
            await self.pause()
        raise AssertionError("the device does not come out of its reset")

    async def offered(self) -> int:
        """All 64 feature bits."""
        value = 0
        for half in range(2):
            await self.set("device_feature_select", half)
            value |= await self.get("device_feature") << 32 * half
        return value

    async def negotiate(self, wanted: int) -> bool:
        """Steps 1 to 6 of 3.1.1; says whether the device agrees."""
        await self.reset()
        await self.set("device_status", ACKNOWLEDGE)
        await self.set("device_status", ACKNOWLEDGE | DRIVER)
        self.features = wanted
        for half in range(2):
            await self.set("driver_feature_select", half)
            await self.set("driver_feature", wanted >> 32 * half & 0xFFFF_FFFF)
        await self.set("device_status", ACKNOWLEDGE | DRIVER | FEATURES_OK)
        return bool(await self.get("device_status") & FEATURES_OK)

    async def begin_queue(self, queue: int, size: int, addresses: tuple[int, int, int], vector: int) -> None:
        """4.1.5.1.3: descriptors, driver's and device's event suppression structures."""
        await self.set("queue_select", queue)
        most = await self.get("queue_size")
        assert size <= most, f"queue {queue} has {most} descriptors"
        await self.set("queue_size", size)
        for name, address in zip(("desc", "driver", "device"), addresses, strict=True):
            await self.set(f"queue_{name}_lo", address & 0xFFFF_FFFF)
            await self.set(f"queue_{name}_hi", address >> 32)
        await self.set("queue_msix_vector", vector)
        assert await self.get("queue_msix_vector") == vector
        await self.set("queue_enable", 1)

    async def reset_queue(self, queue: int, limit: int = 1000) -> None:
        """2.6.1 and 4.1.4.3: the queue alone."""
        await self.set("queue_select", queue)
        await self.set("queue_reset", 1)
        for _ in range(limit):
            if not await self.get("queue_reset"):
                assert not await self.get("queue_enable")
                return
            await self.pause()
            await self.set("queue_select", queue)
        raise AssertionError("the queue does not come out of its reset")

    async def ready(self) -> None:
        """The device is live."""
        await self.set("device_status", ACKNOWLEDGE | DRIVER | FEATURES_OK | DRIVER_OK)

    async def notify(self, queue: int, offset: int) -> None:
        """A doorbell, at the queue's queue_notify_off."""
        where = self.structures[NOTIFY_CFG]
        await self.window.write(where.bar, where.offset + offset * where.multiplier, 2, queue)

    async def isr(self) -> int:
        """ISR status, which reading clears."""
        where = self.structures[ISR_CFG]
        return await self.window.read(where.bar, where.offset, 1)

    async def config(self, offset: int, size: int) -> int:
        """A field of struct virtio_net_config, read as 2.5.4 says."""
        where = self.structures[DEVICE_CFG]
        while True:
            before = await self.get("config_generation")
            value = await self.window.read(where.bar, where.offset + offset, size)
            if await self.get("config_generation") == before:
                return value
