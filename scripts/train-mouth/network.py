"""A network with two hidden layers, trained with Adam in numpy, and its file for packages/face/src/sound/network.ts."""

import struct

import numpy as np

import features

BATCH = 512
LEARNING_RATE, LAST_LEARNING_RATE = 2e-3, 3e-5
WEIGHT_DECAY, DROPOUT, INPUT_NOISE = 1e-4, 0.1, 0.05


def _sigmoid(values):
    return 1 / (1 + np.exp(-values))


def context_indices(count, past, future):
    """For each step, the indices of the steps around it. Before the first and after the last one, these are repeated."""
    return np.clip(np.arange(count)[:, None] + np.arange(-past, future + 1), 0, count - 1)


def inputs(rows, context):
    """The inputs for steps whose context is given: the features of all steps around each, and the slow mean at the last one."""
    around = rows[context, : features.FEATURES].reshape(len(context), -1)
    return np.concatenate([around, rows[context[:, -1], features.FEATURES :]], axis=1)


def run(layers, rows, past, future):
    """The outputs for the features of one stream: an array of steps × outputs."""
    values = inputs(rows, context_indices(len(rows), past, future))
    for index, (weights, bias) in enumerate(layers):
        values = values @ weights + bias
        values = np.maximum(0, values) if index < 2 else _sigmoid(values)
    return values


class Trainer:
    """Trains on streams of (features, shapes, weights of the outputs)."""

    def __init__(self, streams, past, future, hidden, random):
        self._random = random
        starts = np.cumsum([0] + [len(rows) for rows, _, _ in streams])
        self._context = np.concatenate(
            [context_indices(len(rows), past, future) + start for (rows, _, _), start in zip(streams, starts)]
        )
        rows = np.concatenate([rows for rows, _, _ in streams])
        self._mean, self._deviation = rows.mean(axis=0), rows.std(axis=0) + 1e-3
        self._rows = (rows - self._mean) / self._deviation
        self._targets = np.concatenate([targets for _, targets, _ in streams])
        self._weights = np.concatenate([weights for _, _, weights in streams])
        self._span = past + 1 + future
        sizes = [self._span * features.FEATURES + features.BANDS, *hidden, self._targets.shape[1]]
        self._parameters = []
        for count, outputs in zip(sizes, sizes[1:]):
            scale = np.sqrt((1 if outputs == sizes[-1] else 2) / count)
            self._parameters.append(random.normal(0, scale, (count, outputs)).astype(np.float32))
            self._parameters.append(np.zeros(outputs, np.float32))
        self._first = [np.zeros_like(parameter) for parameter in self._parameters]
        self._second = [np.zeros_like(parameter) for parameter in self._parameters]
        self._step = 0

    def _gradients(self, batch):
        """
        The gradients of the weighted cross-entropy, and the weighted squared error. The squared error itself learns rare outputs
        slowly: its gradient vanishes where an output is near 0.
        """
        w1, b1, w2, b2, w3, b3 = self._parameters
        x = inputs(self._rows, self._context[batch])
        x += self._random.standard_normal(x.shape, np.float32) * np.float32(INPUT_NOISE)
        kept = (self._random.random((len(batch), w1.shape[1]), np.float32) > DROPOUT) / np.float32(1 - DROPOUT)
        first = np.maximum(0, x @ w1 + b1) * kept
        second = np.maximum(0, first @ w2 + b2)
        outputs = _sigmoid(second @ w3 + b3)
        weighted = (outputs - self._targets[batch]) * self._weights[batch]
        error = float((weighted * (outputs - self._targets[batch])).sum())
        d3 = weighted / len(batch)
        d2 = (d3 @ w3.T) * (second > 0)
        d1 = (d2 @ w2.T) * (first > 0) * kept
        gradients = (x.T @ d1, d1.sum(0), first.T @ d2, d2.sum(0), second.T @ d3, d3.sum(0))
        return gradients, error

    def _apply(self, gradients, rate):
        self._step += 1
        for index, gradient in enumerate(gradients):
            first, second = self._first[index], self._second[index]
            first += 0.1 * (gradient - first)
            second += 0.001 * (gradient**2 - second)
            change = first / (1 - 0.9**self._step) / (np.sqrt(second / (1 - 0.999**self._step)) + 1e-8)
            decay = WEIGHT_DECAY * self._parameters[index] if index % 2 == 0 else 0
            self._parameters[index] -= (rate * (change + decay)).astype(np.float32)

    def train(self, epochs):
        """Goes over all examples `epochs` times. The learning rate falls along a cosine."""
        for epoch in range(epochs):
            rate = LEARNING_RATE * 0.5 * (1 + np.cos(np.pi * epoch / epochs)) + LAST_LEARNING_RATE
            order = self._random.permutation(len(self._rows))
            error = 0.0
            for start in range(0, len(order) - BATCH + 1, BATCH):
                gradients, batch_error = self._gradients(order[start : start + BATCH])
                self._apply(gradients, rate)
                error += batch_error
            print(f"epoch {epoch + 1}: error {error / len(order):.4f}", flush=True)

    def layers(self):
        """The layers, for features as they are: their scale is part of the first layer."""
        w1, b1, w2, b2, w3, b3 = self._parameters
        mean, deviation = (
            np.concatenate([np.tile(values[: features.FEATURES], self._span), values[features.FEATURES :]])
            for values in (self._mean, self._deviation)
        )
        return [(w1 / deviation[:, None], b1 - (mean / deviation) @ w1), (w2, b2), (w3, b3)]


def quantize(weights):
    """The scale of each output, and its weights in 8 bits: an array of outputs × inputs."""
    rows = weights.T.astype(np.float32)
    scales = np.abs(rows).max(axis=1) / 127
    return scales, np.round(rows / scales[:, None]).astype(np.int8)


def write(path, layers, past, future):
    """Writes the layers as packages/face/src/sound/network.ts reads them, and returns them as it will compute with them."""
    (w1, _), (w2, _), (w3, _) = layers
    rounded = []
    with open(path, "wb") as file:
        file.write(struct.pack("<8i", features.BANDS, past, future, *w1.shape, w2.shape[1], w3.shape[1], 0))
        for weights, bias in layers:
            scales, quantized = quantize(weights)
            file.write(scales.astype("<f4").tobytes() + bias.astype("<f4").tobytes() + quantized.tobytes())
            file.write(b"\0" * (-quantized.size % 4))
            rounded.append(((quantized * scales[:, None]).T, bias.astype(np.float32)))
    return rounded
