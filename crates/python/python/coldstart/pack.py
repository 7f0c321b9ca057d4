"""What packing relocations would save. Nothing is written: `coldstart pack` does that, and proves it."""

from coldstart._coldstart import plan_pack as plan

__all__ = ["plan"]
