"""All whole-grid operations, in the order in which a search without a policy tries them."""

from __future__ import annotations

from env.arc import operations_drawing, operations_geometry, operations_objects
from env.arc.operation import Operation

OPERATIONS: list[Operation] = [
    *operations_geometry.OPERATIONS,
    *operations_objects.OPERATIONS,
    *operations_drawing.OPERATIONS,
]

BY_NAME: dict[str, Operation] = {operation.name: operation for operation in OPERATIONS}
