"""A device to move things to, on every machine."""

from __future__ import annotations

import torch

# Without a GPU the meta device stands in for it. It keeps shapes and devices, but no data: nothing can be computed
# there, but it shows what was moved.
OTHER_DEVICE = torch.device("cuda" if torch.cuda.is_available() else "meta")
