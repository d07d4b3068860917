"""All ladders of the library, in the order in which a learner reads them."""

from __future__ import annotations

from cuda_ops.library.activation.ladder import RELU, SIGMOID
from cuda_ops.library.add.ladder import ADD
from cuda_ops.library.norm.ladder import LAYER_NORM, RMS_NORM
from cuda_ops.library.reduce.ladder import DOT, SUM
from cuda_ops.library.softmax.ladder import SOFTMAX

LADDERS = (ADD, RELU, SIGMOID, SUM, DOT, SOFTMAX, LAYER_NORM, RMS_NORM)
