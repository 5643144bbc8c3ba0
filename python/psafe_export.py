"""Writes the posterior of a Bayesian neural network as a file that psafe reads.

One file to copy beside a training script. It needs Python 3.8 and NumPy 1.17 or later, and imports
torch only inside of functions that were given torch modules. docs/start.md of psafe shows its
use; "psafe exporter" prints this file.

    save_torch            torch modules, dense and convolutional: bayesian-torch, blitz, torchbnn, own
                          layers, layers without spread
    save_torch_dropout    MC dropout            save_torch_ensemble   deep, packed, Batch- and Masksembles
    save_laplace          laplace-torch         save_ivon             IVON
    save_vbll             VBLL                  save_posteriors       posteriors
    save_pyro             Pyro                  save_numpyro          NumPyro
    save_tfp              TensorFlow Probability
    save_site_samples     HMC samples by the names of sites, or as trees of flax and equinox
    save_head             a head on features of a frozen network       save_hulls   boxes around features
    save_gaussian, save_samples, save_swag, save_dropout, save_dropconnect   plain arrays
    certify               runs psafe certify on a file or a torch module, and returns its records

Every function that takes plain arrays asks for their layout: "out,in" if a weight has the shape
(outputs, inputs) and is used as x @ W.T, as in torch.nn.Linear; "in,out" if it has the shape (inputs,
outputs) and is used as x @ W, as in Keras, TFP and most JAX code. There is no default.

Every function also takes

    inputs     raw inputs, (N, ...): the first 256 are kept in the file, with the logits
    logits     what the framework's mean network gives for them, (N, outputs); or
    predict    that network: called with inputs, after (inputs - mean) / std if these are given
               (neither is needed where the function can call the network itself; those of torch call
               it with a tensor, and with the raw inputs first: forward() may normalise them itself)
    mean, std  the normalisation between raw inputs and the network: one number, one for each input,
               or shapes that broadcast to one input, such as (3, 1, 1)
    note       free text to keep in the file
    tolerance  how far the logits may lie from what this file's arrays give, relative to the largest
               sum of magnitudes in the last layer (default 1e-5, for float32)
    classes    2 for a binary classifier with one logit y (BCEWithLogitsLoss): the file has the logits 0 and y
    spread     of normal weights: the standard deviations that the framework itself computes, a pair
               (of the weights, of the biases) for each layer, None for what it does not say

With them, the file is compared with the framework before it is written: a wrong order, activation,
layout or normalisation is an error here, and psafe compares once more when it reads the file. Torch
layers are also asked for draws, whose spread must be the exported one within 10 %; and torch networks
are drawn, under given masks and with given weights, and compared with what the layers give then. "The mean
network" is the one with mean weights; network 0 of a set of samples; of MC dropout, the one without
dropout. All errors are a ValueError of one line that names the layer.

SPDX-License-Identifier: Apache-2.0
"""
import collections
import contextlib
import copy
import functools
import inspect
import itertools
import json
import os
import re
import sys

import numpy as np

CONVOLUTION = "%s: %s is a convolution, and here psafe_export knows dense layers only: save_torch takes it, without layers="
REWEIGHTED = "%s: computes its weight from its %s: leave out layers=, so that forward() is followed"
BELOW_ZERO = ("inputs= reach from %.4g to %.4g: if a transform normalised them, give raw images with mean= and std=, or regions are "
              "in normalised units")
ACTIVATIONS = {"relu": lambda z, _: np.maximum(z, 0), "tanh": lambda z, _: np.tanh(z),
               "sigmoid": lambda z, _: 0.5 * (1 + np.tanh(0.5 * z)), "identity": lambda z, _: z,
               "leaky_relu": lambda z, slope: np.where(z > 0, z, slope * z),
               "softplus": lambda z, _: np.logaddexp(0, z),
               "elu": lambda z, slope: np.where(z > 0, z, slope * np.expm1(np.minimum(z, 0)))}
KEPT = "the %s at the end is kept: properties speak of what it gives"
END = "what returns the numbers of the %s at the end"
WORDS = "relu, tanh, sigmoid, softplus, identity, leaky_relu:SLOPE, elu:SLOPE"


# ---- arrays and layers -------------------------------------------------------------------------

def to_numpy(a):
    """A NumPy array of a tensor of torch, TensorFlow or JAX, or of anything like an array."""
    if hasattr(a, "detach"):  # torch
        a = a.detach().cpu()
        return (a if str(a.dtype) == "torch.float64" else a.float()).numpy()
    return np.asarray(a.numpy() if callable(getattr(a, "numpy", None)) else a)


def _numbers(a, what, infinite=False):
    """a as float32 or float64, without NaN or infinity (-inf may stand if infinite is set)."""
    a = to_numpy(a)
    if a.dtype.kind not in "fiu":
        raise ValueError("%s: has the type %s, not numbers" % (what, a.dtype))
    if a.dtype not in (np.float32, np.float64):
        a = a.astype(np.float32 if a.dtype == np.float16 else np.float64)
    bad = np.isnan(a) | (a == np.inf) | ((a == -np.inf) & (not infinite))
    if bad.any():
        place = tuple(int(i) for i in np.argwhere(bad)[0])
        raise ValueError("%s: entry %s is %s" % (what, list(place), a[place]))
    return a


def sd_of(scale, word):
    """The standard deviation, in float64, where scale is stored as word says:
    sd, variance, softplus, softplus:EPS (EPS + log(1 + exp(s))), log_sd, log_variance, none."""
    s, (kind, _, eps) = np.asarray(scale, np.float64), str(word).partition(":")
    if kind == "softplus" and re.fullmatch(r"[-+.\deE]*", eps):
        return float(eps or 0) + np.logaddexp(0.0, s)
    table = {"sd": lambda: s, "variance": lambda: np.sqrt(s), "log_sd": lambda: np.exp(s),
             "log_variance": lambda: np.exp(s / 2), "none": lambda: np.zeros_like(s)}
    if kind not in table:
        raise ValueError("scale %r is none of sd, variance, softplus, softplus:EPS, log_sd, log_variance" % (word,))
    return table[kind]()


def activation_word(word, what="activation"):
    """A word of psafe's: one of WORDS, checked."""
    name, _, slope = str(word).partition(":")
    if (name not in ACTIVATIONS or (name in ("leaky_relu", "elu")) != bool(slope)
            or slope and not (0 < float(slope) < 1 or name == "elu" and float(slope) == 1)):
        raise ValueError("%s: %r is none of %s with 0 < SLOPE < 1 (elu: <= 1)" % (what, word, WORDS))
    return str(word)


class Layer:
    """A dense layer: what the file has of it, with weights (..., in, out). Made by dense()."""

    def __init__(self, label, activation):
        self.label, self.activation, self.rate = label, activation_word(activation, label), None
        self.connected = False  # whether rate is of its weights and not of its inputs
        self.weight, self.bias = {}, None          # part of the name ("mean", "scale", ...) to array
        self.word = {"weight": "none", "bias": "none"}
        self.covariance = None                     # of kind correlated or joint: its word and its arrays by name
        self.notes = []                            # what was changed of it, in words
        self.dropped = None                        # of a graph, the step that drops what it takes
        self.source = None                         # of a graph, torch's weight and bias, and whether the former is turned

    def put(self, part, name, a, layout, infinite=False):
        """Keeps array layers.K.PART.NAME, weights turned to (..., in, out)."""
        a = _numbers(a, "%s: %s %s" % (self.label, part, name), infinite)
        stacked = name in ("samples", "deviations")
        if a.ndim != stacked + (2 if part == "weight" else 1):
            raise ValueError("%s: %s %s has shape %s, want %s%s" % (
                self.label, part, name, a.shape, "two axes" if part == "weight" else "one axis",
                " behind that of the stack" * stacked))
        if part == "weight" and layout == "out,in":
            a = np.swapaxes(a, -1, -2)
        known = getattr(self, part) or {}
        for other, b in known.items():
            if a.shape[-1 - (part == "weight"):] != b.shape[-1 - (part == "weight"):]:
                raise ValueError("%s: %s %s and %s have the shapes %s and %s as (in, out)"
                                 % (self.label, part, other, name, b.shape, a.shape))
        if part == "bias" and a.shape[-1] != self.outputs:
            raise ValueError("%s: %d biases for %d outputs: is layout=%r right?"
                             % (self.label, a.shape[-1], self.outputs, layout))
        known[name] = np.ascontiguousarray(a)
        setattr(self, part, known)

    def put_scale(self, part, scale, word, layout):
        """Keeps a spread; one that is -inf on the scale of a logarithm or of rho is an sd of 0."""
        self.put(part, "scale", scale, layout, infinite=word not in ("sd", "variance"))
        a, self.word[part] = getattr(self, part)["scale"], word
        if (a == -np.inf).any():
            a, self.word[part] = sd_of(a, word), "sd"
        with np.errstate(over="ignore"):
            sd = sd_of(a, self.word[part]) if self.word[part] != "variance" else a
        if (sd < 0).any() or not np.isfinite(sd).all():
            place = tuple(np.argwhere((sd < 0) | ~np.isfinite(sd))[0])
            looks = " (numbers below 0 are often rho, scale softplus, or log_sd)" if word in ("sd", "variance") else ""
            raise ValueError("%s: %s scale at %s is %s, which is no %s%s" % (
                self.label, part, [int(i) for i in place], a[place], "variance" if word == "variance" else "sd", looks))
        getattr(self, part)["scale"] = a

    def centre(self, part, k=0):
        """The weights or biases of the mean network (samples: of network k)."""
        arrays = getattr(self, part)
        if arrays is None:
            return np.zeros(self.outputs)
        return np.asarray(arrays["mean"] if "mean" in arrays else arrays["samples"][k], np.float64)

    def sd(self, part):
        """The standard deviations, NaN if there are none; by a covariance, the roots of its diagonal."""
        a = getattr(self, part)
        if self.covariance is not None:
            law = self.covariance[1]
            variance = (law["QG"] ** 2 @ law["sd"] ** 2 @ law["QA"].T ** 2 if "QG" in law else (law["factor"] ** 2).sum(1)).reshape(self.outputs, -1)
            return np.sqrt(variance[:, :-1].T if part == "weight" else variance[:, -1]) if a else np.full(1, np.nan)
        return sd_of(a["scale"], self.word[part]) if a and "scale" in a else np.full(1, np.nan)

    axis = -1  # of its weights, which is that of its outputs
    inputs = property(lambda self: next(iter(self.weight.values())).shape[-2])
    outputs = property(lambda self: next(iter(self.weight.values())).shape[-1])


def dense(weight, bias, weight_scale=None, bias_scale=None, activation="identity", layout=None, scale=None,
          label="a layer", covariance=None, kron=None):
    """One layer with normal weights, for save_gaussian.

    weight and weight_scale have the shape that layout says, bias and bias_scale (outputs,). bias=None:
    the layer has none. No scale: these weights are certain. scale says what both scales hold (sd_of);
    a pair of words if they differ.

    Weights that depend on each other have a covariance in the place of scales: of the entries of [W b],
    row by row, of shape (outputs, inputs + 1) whatever the layout; without a bias, of those of W.
    covariance= is the matrix, or, of shape (outputs, inputs + 1, inputs + 1), that of each row, which are then
    independent. kron= is a dict of QA (inputs + 1 squared), QG (outputs squared) and S
    (outputs, inputs + 1): [W b] = mean + QG (E * S) QA.T with independent standard normal E. Of Laplace
    with Kronecker factors these are the eigenvectors, and S = (lambda_G lambda_A + delta)^(-1/2).
    """
    if layout not in ("in,out", "out,in"):
        raise ValueError('%s: layout=%r: say "out,in" for x @ W.T (torch) or "in,out" for x @ W (Keras, JAX)'
                         % (label, layout))
    layer, words = Layer(label, activation), scale if isinstance(scale, (tuple, list)) else (scale, scale)
    for part, mean, spread, word in zip(("weight", "bias"), (weight, bias), (weight_scale, bias_scale), words):
        if mean is not None:
            layer.put(part, "mean", mean, layout)
        if spread is not None:
            if mean is None or word is None:
                raise ValueError("%s: %s has a scale but no %s" % (label, part, "mean" if mean is None else "scale= word"))
            layer.put_scale(part, spread, word, layout)
    if covariance is not None or kron is not None:
        if (covariance is None) == (kron is None) or weight_scale is not None or bias_scale is not None:
            raise ValueError("%s: want one of weight_scale= with bias_scale=, covariance= and kron=" % label)
        layer.covariance = _factor(layer, covariance) if kron is None else _kronecker(layer, kron)
    return layer


def _covariance_array(layer, a, what, shape):
    a = np.asarray(_numbers(a, "%s: %s" % (layer.label, what)), np.float64)
    if a.shape != shape:
        raise ValueError("%s: %s has the shape %s, want %s: entries are those of [W b], row by row, (outputs, inputs%s) = (%d, %d)" % (
            layer.label, what, a.shape, shape, " + 1" * (layer.bias is not None), layer.outputs, layer.inputs + (layer.bias is not None)))
    return a


def _factor(layer, covariance):
    """A factor L of a covariance matrix, L @ L.T = covariance: its law is what psafe takes."""
    out, width = layer.outputs, layer.inputs + (layer.bias is not None)
    rows = np.ndim(covariance) == 3
    S = _covariance_array(layer, covariance, "covariance", (out, width, width) if rows else (out * width, out * width))
    L = [_root(a, len(a), "%s: covariance" % layer.label, "", layer.notes) for a in (S if rows else [S])]
    return "rows" if rows else "full", {"factor": _with_bias(layer, np.concatenate(L))}


def _root(S, n, what, entries, notes):
    """L with L @ L.T = S, which has to be a covariance of n numbers."""
    S = np.asarray(S, np.float64)
    if S.shape != (n, n):
        raise ValueError("%s has the shape %s, want %s: entries are %s" % (what, S.shape, (n, n), entries))
    size = np.abs(S).max()
    if not (np.abs(S - S.T) <= 1e-6 * size).all():
        raise ValueError("%s is not symmetric" % what)
    S = (S + S.T) / 2
    try:
        return np.linalg.cholesky(S)
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(S)
        if values[0] < -1e-6 * size:
            raise ValueError("%s has the eigenvalue %g: it is none" % (what, values[0])) from None
        if values[0] < 0:
            notes.append("%s: %d of %d eigenvalues were below 0, the least %.3g beside the largest %.3g: they are 0 in the file"
                         % (what, (values < 0).sum(), len(values), values[0], values[-1]))
        return vectors * np.sqrt(np.maximum(values, 0))


def _with_bias(layer, L):
    """Rows of a factor for [W b]: zeros for a bias that the layer has not."""
    if layer.bias is not None:
        return L
    L = L.reshape(layer.outputs, layer.inputs, -1)
    return np.concatenate([L, np.zeros((layer.outputs, 1, L.shape[2]))], 1).reshape(layer.outputs * (layer.inputs + 1), -1)


def _kronecker(layer, kron):
    if sorted(kron) != ["QA", "QG", "S"]:
        raise ValueError("%s: kron= has %s: want QA, QG and S" % (layer.label, ", ".join(sorted(kron)) or "nothing"))
    out, width = layer.outputs, layer.inputs + (layer.bias is not None)
    QA, QG = (_covariance_array(layer, kron[name], name, (n, n)) for name, n in (("QA", width), ("QG", out)))
    S = _covariance_array(layer, kron["S"], "S", (out, width))
    if (S < 0).any():
        raise ValueError("%s: S has the entry %g: it has standard deviations" % (layer.label, S.min()))
    if layer.bias is None:
        QA, S = np.pad(QA, ((0, 1), (0, 1))), np.pad(S, ((0, 0), (0, 1)))
    return "kron", {"QA": QA, "QG": QG, "sd": S}


def _independent(layer):
    """Independent weights beside others that depend on each other: Kronecker factors that are 1."""
    sds = [np.zeros(n) if np.isnan(layer.sd(part)).any() else layer.sd(part) for part, n in (
        ("weight", (layer.inputs, layer.outputs)), ("bias", (layer.outputs,)))]
    S = np.concatenate([sds[0].T, sds[1][:, None]], 1)
    return "kron", {"QA": np.diag(np.append(np.ones(layer.inputs), float(layer.bias is not None))), "QG": np.eye(layer.outputs), "sd": S}


def split(flat, shapes):
    """Cuts flat parameters, (P,) or (N, P), into arrays of the shapes, in their order and in C order,
    as torch.nn.utils.parameters_to_vector joined them. Nothing may be left over."""
    flat, sizes = to_numpy(flat), [int(np.prod(s)) for s in shapes]
    if flat.shape[-1] != sum(sizes):
        raise ValueError("%d parameters for shapes of %d together" % (flat.shape[-1], sum(sizes)))
    parts = np.split(flat, np.cumsum(sizes)[:-1], axis=-1)
    return [p.reshape(flat.shape[:-1] + tuple(s)) for p, s in zip(parts, shapes)]


# ---- the file ----------------------------------------------------------------------------------

def _stack(layers, k=0):
    """Weights, biases and activations of the mean network (of network k of samples)."""
    return [(layer.centre("weight", k), layer.centre("bias", k), layer.activation) for layer in layers]


def evaluate(stack, x, masks=()):
    """The logits of a network in float64, and the magnitude of the terms of the last sums, which
    rounding is relative to; masks, by layer, multiply what it takes."""
    h, size = np.asarray(x, np.float64), None
    for k, (W, b, activation) in enumerate(stack):
        h = h * masks[k] if k in masks else h
        more = _carried(stack[k - 1][2], z, size) if k and k == len(stack) - 1 and not b.any() and np.array_equal(W, np.eye(len(W))) else 0
        size, z = np.abs(h) @ np.abs(W) + np.abs(b) + more, h @ W + b
        h = _activated(activation, z)
    return h, size


def _activated(activation, z):
    name, _, slope = activation.partition(":")
    return ACTIVATIONS[name](z, float(slope or 0))


def _carried(activation, z, size):
    """What a magnitude of z is behind an activation: times its slope there, of differences as large as rounding may be."""
    off = 1e-5 * size
    return np.abs(_activated(activation, z + off) - _activated(activation, z - off)) / 2e-5


def _normalisation(numbers, what, shape):
    """mean or std as an array of length 1, or of one number for each input."""
    a, count = np.asarray(_numbers(numbers, what + "="), np.float64), int(np.prod(shape))
    if a.size == 1:
        return a.reshape(1)
    if a.size == count:
        return a.reshape(count)
    try:
        return np.array(np.broadcast_to(a, shape)).reshape(count)
    except ValueError:
        raise ValueError("%s=: the shape %s fits no input of shape %s: give one number, one for each input, "
                         "or one for each channel as (C, 1, 1)" % (what, a.shape, tuple(shape))) from None


def _softmax_undone(own, said, margin):
    """What a network that ends in (log-)softmax says, as logits, or None if it does not end so. What
    the rounding of a float32 softmax explains is no difference: of zeros, log_softmax is -log(n)."""
    top = own.max(axis=1, keepdims=True)
    total = top + np.log(np.exp(own - top).sum(axis=1, keepdims=True))
    if own.shape[1] == 1:  # of one output, either is a constant and says nothing
        return None, None
    rounding = 2.0 ** -22 * (1 + np.abs(own) + np.abs(total))
    if (np.abs(own - total - said) <= margin + rounding).all():
        undone, name = said + total, "log_softmax"
    elif (np.abs(np.exp(own - total) - said) <= margin + rounding).all() and (said >= 0).all() and (said <= 1.001).all():
        if (said == 0).any():
            i, j = np.argwhere(said == 0)[0]
            raise ValueError("output %d of input %d is a probability of 0, too small for its logit to be found: take the softmax "
                             "out of the network, or write inputs= that are less certain. Nothing was written" % (j, i))
        undone, name = np.log(said) + total, "softmax"
    else:
        return None, None
    return np.where(np.abs(undone - own) <= rounding, own, undone), name


def _ended(layers):
    """The layers, and behind an activation at the end a certain layer that returns its inputs: the last layer of a file has none."""
    if not layers or layers[-1].activation == "identity":
        return layers
    last, end = layers[-1], Layer(END % layers[-1].activation, "identity")
    for part in ("weight", "bias") if last.bias is not None else ("weight",):
        for name, a in getattr(last, part).items():
            one = np.eye(last.outputs, dtype=np.float32) * (name in ("mean", "samples")) if part == "weight" else np.zeros(last.outputs, np.float32)
            if name != "scale" or "deviations" in last.weight:  # of independent normal weights it has none
                end.put(part, name, np.repeat(one[None], len(a), 0) if name in ("samples", "deviations") else one, "in,out")
                end.word[part] = last.word[part] if name == "scale" else end.word[part]
    end.rate = None if last.rate is None else 0.0
    end.notes.append(KEPT % last.activation)
    return layers + [end]


def _appended(layers):
    """Whether the last layer is one of _ended."""
    return layers[-1].label.startswith(END.partition("%")[0])


def _check_stack(layers):
    """The layers fit each other, and the last one has no activation (see _ended)."""
    if not layers:
        raise ValueError("no layers")
    for before, layer in zip(layers, layers[1:]):
        if layer.inputs != before.outputs:
            raise ValueError("%s takes %d inputs and %s has %d outputs"
                             % (layer.label, layer.inputs, before.label, before.outputs))
    if layers[-1].activation != "identity":
        raise ValueError("%s: the last layer's activation is %s, and there it must be identity" % (layers[-1].label, layers[-1].activation))


def _mistakes(stack, raw, front, shape):
    """Usual mistakes: what each is called, the network that was meant and what it takes."""
    x, last = front(raw), len(stack) - 1
    squares = [k for k, (W, _, _) in enumerate(stack) if W.shape[0] == W.shape[1] > 1]

    def changed(layers, change):
        return [change(*row) if k in layers else row for k, row in enumerate(stack)]

    for some in [[k] for k in squares] + [squares] * (len(squares) > 1):
        yield ("the weights of layer%s look transposed: see to layout" % (" %d" % some[0] if len(some) == 1 else "s " + ", ".join(map(str, some))),
               changed(some, lambda W, b, act: (W.T, b, act)), x)
    for act in ("relu", "tanh", "sigmoid", "identity", "leaky_relu:0.01", "leaky_relu:0.1", "leaky_relu:0.2", "leaky_relu:0.3"):
        if last and any(row[2] != act for row in stack[:last]):
            yield "the hidden layers look as if their activation were " + act, changed(range(last), lambda W, b, _: (W, b, act)), x
        for k in range(last if last > 1 else 0):
            if stack[k][2] != act:
                yield "layer %d looks as if its activation were %s" % (k, act), changed([k], lambda W, b, _: (W, b, act)), x
    for i in range(last + 1):
        for j in range(i + 1, last + 1):
            if stack[i][0].shape == stack[j][0].shape:
                rows = list(stack)
                rows[i], rows[j] = stack[j][:2] + stack[i][2:], stack[i][:2] + stack[j][2:]
                yield "layers %d and %d look swapped" % (i, j), rows, x
    yield "the framework seems to have no biases", changed(range(last + 1), lambda W, b, act: (W, 0 * b, act)), x
    yield "inputs= look normalised already: give raw ones, or leave mean= and std= out", stack, raw
    yield "inputs look normalised twice: give raw ones", stack, front(x)
    yield "the framework seems to divide inputs by 255: give mean=0, std=255", stack, raw / 255
    for mean, std, name in ((0.1307, 0.3081, "MNIST"), (0.286, 0.353, "Fashion-MNIST"), (0.5, 0.5, "-1..1")):
        for top in (1, 255):
            yield ("the framework seems to normalise inputs as for %s: give mean=%g, std=%g" % (name, mean * top, std * top),
                   stack, (raw / top - mean) / std)
    if len(shape) == 3:
        for axes, name in (((1, 2, 0), "last"), ((2, 0, 1), "first")):
            turned = x.reshape((len(x),) + tuple(shape)).transpose([0] + [1 + a for a in axes])
            yield ("layer 0 looks trained on inputs that were flattened channels %s: give inputs= in that order of axes, or the "
                   "rows of layer 0 in the order of inputs=" % name, stack, turned.reshape(len(x), -1))


def _guess(stack, raw, front, shape, said, tolerance):
    """Which usual mistake makes the logits fit, None if there is none that does."""
    own, size = evaluate(stack, front(raw))
    for step in (1, -1) if len(own) > 3 else ():
        rows = slice(1, None) if step == 1 else slice(None, -1)
        if (np.abs(np.roll(own, step, 0) - said) <= tolerance * size.max())[rows].all():
            return "row i of the logits looks like that of input i%+d: give both in the same order" % -step
    for words, network, x in _mistakes(stack, raw, front, shape):
        with np.errstate(over="ignore", invalid="ignore"):
            y, size = evaluate(network, x)
        if (np.abs(y - said) <= tolerance * np.maximum(size.max(axis=1, keepdims=True), 1e-12)).all():
            return words
    order = [int(np.abs(own - said[:, k:k + 1]).max(axis=0).argmin()) for k in range(own.shape[1])]
    if len(set(order)) == len(order) and (np.abs(own[:, order] - said) <= tolerance * size.max()).all():
        return "the outputs look as if they were in another order: the logits have outputs %s of the file" % ", ".join(map(str, order[:16]))
    a, b = _affine(stack, raw, said)
    y, size = evaluate(stack, a * raw + b)
    if a and (np.abs(y - said) <= 10 * tolerance * size.max()).all():
        return "the framework seems to normalise inputs: about mean=%.6g, std=%.6g fits; give its own numbers" % (-b / a, 1 / a)
    factor = float((own * said).sum() / (own * own).sum()) if own.any() else 0.0
    if (np.abs(factor * own - said) <= tolerance * size.max() * max(1.0, abs(factor))).all() and factor:
        return "the logits are %.6g times those of these layers (a temperature?): multiply the last layer, or give logits without" % factor
    return None


def _see_to(stack):
    """What to look at where no usual mistake fits."""
    bare = [str(k) for k, (_, bias, _) in enumerate(stack) if not bias.any()]
    return "see to the layout, the order, the activations, the normalisation (mean=, std=) and what else forward() does" + (
        ", and whether layer %s has a bias, which it has not here" % " or ".join(bare) if bare else "")


def _affine(stack, raw, said):
    """Numbers a and b so that a * raw + b is about what the framework takes, by Gauss and Newton."""
    best = (np.inf, 0.0, 0.0)
    for a, b in ((1.0, 0.0), (3.0, -0.5), (1 / 255, 0.0), (2.0, -1.0)):
        for _ in range(12):
            with np.errstate(all="ignore"):
                y, at_a, at_b = (evaluate(stack, p * raw + q)[0].ravel() for p, q in ((a, b), (a * (1 + 1e-6), b), (a, b + 1e-6)))
                J, r = np.stack([(at_a - y) / (a * 1e-6), (at_b - y) / 1e-6], 1), said.ravel() - y
            if not (np.isfinite(J).all() and np.isfinite(r).all()) or a == 0:
                break
            best = min(best, (np.abs(r).max(), a, b))
            a, b = np.array([a, b]) + np.linalg.lstsq(J, r, rcond=None)[0]
    return best[1:]


def _agreed(evaluated, said, tolerance):
    """The framework's logits if they are what was evaluated (logits and magnitudes), else None; and a
    note if they were no logits."""
    own, size = evaluated
    if said.shape != own.shape:
        raise ValueError("the framework's logits have shape %s, want %s" % (said.shape, own.shape))
    margin = tolerance * np.maximum(size.max(axis=1, keepdims=True), 1e-12)
    if (np.abs(own - said) <= margin).all():
        return said, []
    undone, name = _softmax_undone(own, said, margin)
    return undone, [] if undone is None else ["the %s at the end is left out: psafe speaks of logits" % name]


def _compared(layers, raw, front, shape, said, tolerance, network=None):
    """The framework's logits for raw inputs, (N, inputs), which front() normalises, if the layers (of samples, those of a
    network) give the same, and a note if they were none. If not, the error names the usual mistake that fits."""
    stack, said = _stack(layers, network or 0), _listed_outputs(np.asarray(_numbers(said, "logits"), np.float64))
    agreed, notes = _agreed(evaluate(stack, front(raw)), said, tolerance)
    if agreed is None:
        own, size = evaluate(stack, front(raw))
        i, j = np.unravel_index(np.argmax(np.abs(own - said) / np.maximum(size.max(axis=1, keepdims=True), 1e-12)), own.shape)
        raise ValueError("%soutput %d of input %d is %.9g in the framework and %.9g from these layers: %s. Nothing was written"
                         % ("" if network is None else "network %d: " % network, j, i, said[i, j], own[i, j], _guess(stack, raw, front, shape, said, tolerance) or _see_to(stack)))
    return agreed, notes


def _raw(inputs, first):
    """The first 256 of inputs=, which must fit the first layer."""
    raw = np.asarray(_numbers(inputs, "inputs="), np.float64)
    if raw.ndim < 2 or len(raw) == 0 or int(np.prod(raw.shape[1:])) != first.inputs:
        raise ValueError("inputs= has shape %s: want (N, ...) with %d numbers in each, the inputs of %s"
                         % (raw.shape, first.inputs, first.label))
    return raw[:256]


def _references(layers, inputs, logits, predict, mean, std, tolerance):
    """The arrays input.* and reference.*, the shape of an input or None, and notes."""
    arrays, n_in, shape = {}, layers[0].inputs, None
    if inputs is not None:
        raw = _raw(inputs, layers[0])
        shape = raw.shape[1:]
    elif logits is not None or predict is not None:
        raise ValueError("logits= and predict= need inputs=")
    if (mean is None) != (std is None):
        raise ValueError("mean= and std= come together: give mean=0 or std=1 for the one that does nothing")
    if mean is not None:
        arrays["input.mean"] = _normalisation(mean, "mean", shape or (n_in,))
        arrays["input.std"] = _normalisation(std, "std", shape or (n_in,))
        if (arrays["input.std"] <= 0).any():
            raise ValueError("std= has a number that is not above 0")
    if inputs is None:
        return arrays, None, ["no inputs= were given, so nothing was compared with the framework"]
    if (logits is None) == (predict is None):
        raise ValueError("inputs= needs one of logits= and predict=, and not both: what the framework itself computes for them")
    x = arrays["reference.inputs"] = raw.reshape(len(raw), n_in)
    odd = []
    if mean is None and raw.ndim == 4 and (x < 0).any():
        odd.append(BELOW_ZERO % (x.min(), x.max()))

    def front(x):
        return x if mean is None else (x - arrays["input.mean"]) / arrays["input.std"]

    several = _each(logits if logits is not None else predict)
    if several is not None:
        notes = _every_network(layers, several, x, front, raw.shape, tolerance)
        logits, predict = (several[0], None) if logits is not None else (None, several[0])
    else:
        notes = []
    said = predict(front(x).reshape(raw.shape)) if logits is None else to_numpy(logits)[:256]
    arrays["reference.logits"], more = _compared(layers, x, front, shape, said, tolerance)
    return arrays, shape, notes + more + odd


def _each(given):
    """logits= or predict= as a list, if they are of each network, else None."""
    if isinstance(given, (list, tuple)) and len(given) and (callable(given[0]) or np.ndim(to_numpy(given[0])) == 2) or getattr(given, "ndim", 0) == 3:
        return list(given)
    return None


def _every_network(layers, several, x, front, shape, tolerance):
    """Compares each network of samples but the first, whose logits= or predict= are lists, and returns notes."""
    count = len(next(iter(layers[0].weight.values()))) if "samples" in layers[0].weight else 1
    if len(several) != count:
        raise ValueError("logits= or predict= are lists of %d for %d networks" % (len(several), count))
    notes = []
    for i, one in enumerate(several):
        if i and one is not None:
            said = one(front(x).reshape(shape)) if callable(one) else to_numpy(one)[:256]
            notes += _compared(layers, x, front, shape[1:], said, tolerance, i)[1]
    return sorted(set(notes))


def _described(kind, layers):
    """The header and the arrays layers.*."""
    words = [layer.word[p] for layer in layers for p in ("weight", "bias") if layer.word[p] != "none"]
    main = max(sorted(set(words)), key=words.count) if words else "sd"
    header, arrays = {"format": "psafe-posterior", "version": 1, "layout": "in,out", "layers": []}, {}
    if kind != "gaussian":
        header["kind"] = kind
    if kind in ("gaussian", "swag"):
        header["scale"] = main
    covaries = kind in ("correlated", "joint")
    if covaries:
        header["version"] = 3
    for k, layer in enumerate(layers):
        entry = {"kind": "dense", "activation": layer.activation, "in": layer.inputs, "out": layer.outputs}
        if layer.rate is not None:
            entry["rate"] = layer.rate
        if layer.bias is None:
            entry["bias"] = False
        if kind == "correlated" and layer.covariance is None and layer.word != {"weight": "none", "bias": "none"}:
            layer.covariance = _independent(layer)
        if layer.covariance is not None:
            entry["covariance"], own = layer.covariance
            arrays.update(("layers.%d.covariance.%s" % (k, name), a) for name, a in own.items())
        for part in ("weight", "bias"):
            for name, a in (getattr(layer, part) or {}).items():
                if not covaries or name == "mean":
                    arrays["layers.%d.%s.%s" % (k, part, name)] = a
            if kind == "gaussian" and getattr(layer, part) and layer.word[part] != main:
                entry[part + "_scale"] = layer.word[part]
        header["layers"].append(entry)
    return header, arrays


def _random(layer, part):
    """Whether weights or biases have a spread."""
    return bool(getattr(layer, part)) and (layer.word[part] != "none" or layer.covariance is not None and bool(layer.sd(part).any()))


def _spreads(layers, spread):
    """reference.spread: the mean of the standard deviations of each layer's weights and biases by the
    framework, which must be that of this file, or the error names the scale word that fits; NaN where
    the framework does not say (None)."""
    try:
        pairs = [(weight, bias) for weight, bias in spread]
    except (TypeError, ValueError):
        pairs = []
    pairs += [(None, None)] * (len(layers) == len(pairs) + 1 and _appended(layers))
    if len(pairs) != len(layers):
        raise ValueError("spread=: want a pair for each of the %d layers: the standard deviations of its weights and of its "
                         "biases, None where there are none" % len(layers))
    means = np.full((len(layers), 2), np.nan)
    for k, layer in enumerate(layers):
        for j, (part, said) in enumerate(zip(("weight", "bias"), pairs[k])):
            if said is None:
                continue
            said = np.asarray(_numbers(said, "%s: spread= of its %s" % (layer.label, part)), np.float64).mean()
            own = np.nan_to_num(layer.sd(part)).mean()
            if not abs(own - said) <= 1e-3 * abs(said) + 1e-30:  # as psafe compares them
                fits = []
                for word in ("sd", "variance", "softplus", "log_sd", "log_variance") if layer.word[part] != "none" else ():
                    with np.errstate(all="ignore"):
                        sd = sd_of(getattr(layer, part)["scale"], word).mean()
                    fits += [word] * bool(abs(sd - said) <= 1e-3 * abs(said))
                if layer.covariance is not None:
                    sd = layer.sd(part)
                    fits = ["the matrix looks squared: its diagonal are variances"] * bool(abs(np.sqrt(sd).mean() - said) <= 1e-3 * abs(said)) + [
                        "spread= looks like variances: give their roots"] * bool(abs((sd ** 2).mean() - said) <= 1e-3 * abs(said))
                    raise ValueError("%s: the mean standard deviation of its %s is %.4g by the framework (spread=) and %.4g by the diagonal of its "
                                     "covariance: %s. Nothing was written" % (layer.label, part, said, own, (fits + ["see what its numbers are"])[0]))
                raise ValueError("%s: the mean standard deviation of its %s is %.4g by the framework (spread=) and %.4g as exported with "
                                 "scale=%r: %s. Nothing was written" % (
                                     layer.label, part, said, own, layer.word[part],
                                     "its numbers look like scale %r" % fits[0] if fits else "see what its numbers are"))
            means[k, j] = said if _random(layer, part) else np.nan
    return means


def _own_spread(layers):
    """spread= where the library's source says that the exported numbers are standard deviations."""
    return [[layer.sd(p).mean() if _random(layer, p) else None for p in ("weight", "bias")] for layer in layers]


def _write(path, kind, layers, fields=None, notes=(), inputs=None, logits=None, predict=None, mean=None, std=None,
           note="", tolerance=1e-5, spread=None, compared=False, classes=None):
    """Checks the layers, compares them with the framework and writes the file, whole or not at all. compared says of a covariance
    that it was compared with the framework's."""
    layers = _ended(layers)
    _check_stack(layers)
    if kind in ("correlated", "joint") and not compared:
        more, words = _spread_arrays(layers, spread)  # of these files no array, which is of independent weights
        notes = list(notes) + words
        spread = None
    arrays, shape, more = _references(layers, inputs, logits, predict, mean, std, tolerance)
    if classes is not None:
        layers, spread = _classes(layers, spread, arrays, classes)
    header, own = _described(kind, layers)
    if any(layer.connected and layer.rate for layer in layers):
        header, own = _connections(header, own)
    arrays.update(own)
    header.update(fields or {})
    notes = list(notes) + more + [note for layer in layers for note in layer.notes]
    if kind != "gaussian" and spread is not None:
        raise ValueError("spread= belongs to independent normal weights, and these are %s" % kind)
    if kind == "gaussian":
        more, words = _spread_arrays(layers, spread)
        arrays.update(more)
        notes += words
    if shape and len(shape) > 1:
        header["input_shape"] = [int(n) for n in shape]
    _save(path, header, arrays, note, notes)


def _one_logit(classes, outputs, activation):
    if classes != 2 or outputs != 1:
        raise ValueError("classes=%r with %d outputs: classes=2 is for a network of one output, the logit of class 1" % (classes, outputs))
    if activation in ("relu", "softplus"):
        raise ValueError("classes=2 with the %s at the end: no output is below 0, so this is the logit of no class" % activation)


def _two_logits(last, pair):
    """A last layer with the outputs 0 and y in the place of y, whose softmax is sigmoid(y), and its pair of spread=."""
    last = copy.copy(last)
    for part in ("weight", "bias"):
        own = dict(getattr(last, part) or {})
        if "scale" in own and last.word[part] not in ("sd", "variance"):  # of which 0 is a spread
            own["scale"], last.word = last.sd(part), dict(last.word, **{part: "sd"})
        setattr(last, part, {name: np.concatenate([np.zeros_like(a), a], last.axis if part == "weight" else -1) for name, a in own.items()} or None)
    if last.covariance is not None:
        word, law = last.covariance
        wider = {"QG": lambda a: np.diag([1.0, float(a[0, 0])]), "QA": lambda a: a}
        last.covariance = word, {name: wider.get(name, lambda a: np.concatenate([np.zeros_like(a), a]))(a) for name, a in law.items()}
    return last, [None if a is None else np.mean(to_numpy(a)) / 2 for a in pair]  # half of its weights are certain


def _logits_of(said, own):
    """The logits of which the framework gives the sigmoid: the layers' own where the rounding of float32 explains the difference."""
    with np.errstate(divide="ignore"):
        undone = np.log(said) - np.log1p(-said)
        return np.where(np.abs(undone - own) <= 2.0 ** -21 / np.minimum(said, 1 - said), own, undone)


def _one_sided(said):
    """A note if these logits are of one class, as a probability or its logarithm would be."""
    if said.min() < 0 < said.max():
        return []
    return ["all reference outputs are on one side of 0, so of class %d: classes=2 takes the logit of class 1, not its probability or "
            "the logarithm of it" % (said.min() >= 0)]


def _classes(layers, spread, arrays, classes):
    """The layers with the logits 0 and y in the place of one output, y or sigmoid(y), and spread=; arrays are changed."""
    _one_logit(classes, layers[-1].outputs, layers[-2].activation if _appended(layers) else "")
    layers, said = list(layers), arrays.get("reference.logits")
    if _appended(layers) and layers[-2].activation == "sigmoid":
        layers = layers[:-2] + [copy.copy(layers[-2])]
        layers[-1].activation = "identity"
        layers[-1].notes = layers[-1].notes + ["the sigmoid at the end is left out: psafe speaks of logits"]
        if said is not None:
            said = _logits_of(said, evaluate(_stack(layers), (arrays["reference.inputs"] - arrays.get("input.mean", 0)) / arrays.get("input.std", 1))[0])
    if said is not None:
        layers[-1] = copy.copy(layers[-1])
        layers[-1].notes = layers[-1].notes + _one_sided(said)
    pairs = None if spread is None else list(spread)[:len(layers)]
    last, pair = _two_logits(layers[-1], (None, None) if pairs is None or len(pairs) < len(layers) else pairs[-1])
    if said is not None:
        arrays["reference.logits"] = np.concatenate([np.zeros_like(said), said], 1)
    return layers[:-1] + [last], pairs if pairs is None or len(pairs) < len(layers) else pairs[:-1] + [pair]


def _spread_arrays(layers, spread):
    """The array reference.spread, if there is something to compare with, and notes."""
    means = np.full(1, np.nan) if spread is None else _spreads(layers, spread)
    arrays, notes = {}, []
    if not np.isnan(means).all():  # else psafe would compare the file with itself
        arrays["reference.spread"] = means
    if not any(_random(layer, p) for layer in layers for p in ("weight", "bias")):
        notes.append("no weight has a standard deviation: this is one network, and no posterior")
    elif spread is None:
        own = ["none" if pair[0] is None else "%.3g" % pair[0] for pair in _own_spread(layers)]
        notes.append("the standard deviations (of the weights, on average: %s) are as given and were not compared: no spread= was given"
                     % ", ".join(own))
        if any(layer.covariance is not None for layer in layers):
            notes.append("nor were the covariances: spread= is compared with the roots of their diagonals")
    return arrays, notes


def _save(path, header, arrays, note, notes):
    """Writes the file, whole or not at all."""
    text = "; ".join([note] * bool(note) + notes)
    if text:
        header["note"] = text
    for line in notes:
        print("psafe_export: note: " + line, file=sys.stderr)
    arrays["__meta__"] = np.frombuffer(json.dumps(header).encode(), np.uint8)
    path = os.fspath(path)
    part = "%s.%d.part" % (path, os.getpid())
    try:
        with open(part, "wb") as f:
            np.savez(f, **arrays)
        os.replace(part, path)
    except OSError as e:
        raise ValueError("%s: cannot be written: %s" % (path, e.strerror or e)) from None
    finally:
        if os.path.exists(part):
            os.remove(part)


# ---- plain arrays ------------------------------------------------------------------------------

def save_gaussian(path, layers, spread=None, covariance=None, **reference):
    """Normal weights: layers made by dense(), independent of each other unless covariance= is the matrix of all
    weights: of the entries of [W b] row by row, of layer after layer. With spread=, what the framework itself says of
    the standard deviations, such as [(q.stddev(), None), ...]: it is compared, as means over a layer,
    with what scale= made of the arrays, and kept. Nothing else shows that variances or rho were not taken
    for standard deviations: without it, a note says so."""
    for k, layer in enumerate(layers):
        if not isinstance(layer, Layer):
            raise ValueError("layer %d is a %s: make it by dense()" % (k, _kind(layer)))
        layer.label = "layer %d" % k if layer.label == "a layer" else layer.label
    kind = "correlated" if any(layer.covariance is not None for layer in layers) else "gaussian"
    if covariance is not None:
        kind, layers = "joint", _joint(layers, covariance)
    _write(path, kind, list(layers), spread=spread, **reference)


def _joint(layers, covariance):
    """The layers, each with its rows of a factor of the covariance of all weights."""
    if any(layer.covariance is not None or layer.word != {"weight": "none", "bias": "none"} for layer in layers):
        raise ValueError("covariance= is that of all weights: give layers without scales and without a covariance of their own")
    layers = [copy.copy(layer) for layer in layers]
    layers[0].notes = list(layers[0].notes)
    sizes = [layer.outputs * (layer.inputs + (layer.bias is not None)) for layer in layers]
    L = _root(_numbers(covariance, "covariance="), sum(sizes), "covariance=", "those of [W b] of layer after layer, row by row", layers[0].notes)
    for layer, rows in zip(layers, np.split(L, np.cumsum(sizes)[:-1])):
        layer.covariance = "full", {"factor": _with_bias(layer, rows)}
    return layers


def _stacked(arrays, activations, layout, fill):
    """Layers from [W0, b0, W1, b1, ...] (b may be None), each put there by fill(layer, part, index)."""
    if layout not in ("in,out", "out,in"):
        raise ValueError('layout=%r: say "out,in" for x @ W.T (torch) or "in,out" for x @ W (Keras, JAX)' % (layout,))
    if len(arrays) != 2 * len(activations):
        raise ValueError("%d arrays for %d activations: want W and b (or None) of every layer, and an activation "
                         "for each, the last one identity" % (len(arrays), len(activations)))
    layers = []
    for k, word in enumerate(activations):
        layers.append(Layer("layer %d" % k, word))
        fill(layers[k], "weight", 2 * k)
        if arrays[2 * k + 1] is not None:
            fill(layers[k], "bias", 2 * k + 1)
    return layers


def _counts(counts, networks):
    """How often each network counts, all alike if nothing is said."""
    counts = [1] * networks if counts is None else [float(c) for c in counts]
    if any(c != int(c) for c in counts):
        raise ValueError("counts= has %g: want whole numbers, such as [1, 3] for probabilities of 0.25 and 0.75"
                         % next(c for c in counts if c != int(c)))
    counts = [int(c) for c in counts]
    if not networks or len(counts) != networks or min(counts) < 1:
        raise ValueError("%d networks and %d counts, each of which must be at least 1" % (networks, len(counts)))
    return counts


def _first_alone(networks, reference):
    """The note that of several networks the first alone is compared."""
    given = next((reference[name] for name in ("logits", "predict") if reference.get(name) is not None), None)
    if networks < 2 or given is None or _each(given) is not None or any("were not compared" in note for note in reference.get("notes", ())):
        return []
    return ["network 0 of %d was compared, and no other: logits= and predict= may be lists with one for each" % networks]


def save_samples(path, networks, activations, layout=None, counts=None, draws_of=None, **reference):
    """Finitely many networks (HMC, ensembles): networks is a list of [W0, b0, W1, b1, ...]; network i
    has the probability counts[i] / sum of counts (default: all alike). Logits are those of network 0; logits= and predict= may
    be lists with one for each network (or None), and each is compared.
    draws_of= names the posterior if the networks are independent draws of one (of a guide, say; never
    of a Markov chain): psafe then gives an interval for that posterior too, labelled statistical."""
    networks = [[None if a is None else to_numpy(a) for a in n] for n in networks]
    counts = _counts(counts, len(networks))
    for i, n in enumerate(networks):
        for a, b in zip(networks[0], n):
            if len(n) != len(networks[0]) or (a is None) != (b is None) or a is not None and a.shape != b.shape:
                raise ValueError("network %d has other arrays or shapes than network 0" % i)

    def fill(layer, part, a):
        layer.put(part, "samples", np.stack([n[a] for n in networks]), layout)

    layers = _filled(_stacked(networks[0], activations, layout, fill), "samples")
    if draws_of is not None and max(counts) > 1:
        raise ValueError("draws_of=%r with counts above 1: independent draws count once each" % (draws_of,))
    reference["notes"] = list(reference.get("notes", ())) + _first_alone(len(networks), reference)
    _write(path, "samples", layers, dict({"counts": counts}, **({} if draws_of is None else {"draws_of": str(draws_of)})), **reference)


def save_swag(path, mean, variance, deviations, activations, layout=None, **reference):
    """SWAG: mean and variance (the diagonal) as [W0, b0, ...], and K >= 2 such lists of deviations:
    snapshots minus the running mean. split() cuts flat vectors into such lists."""
    if len(deviations) < 2:
        raise ValueError("%d deviations: SWAG needs at least 2" % len(deviations))

    def fill(layer, part, a):
        layer.put(part, "mean", mean[a], layout)
        layer.put_scale(part, variance[a], "variance", layout)
        layer.put(part, "deviations", np.stack([to_numpy(d[a]) for d in deviations]), layout)

    layers = _stacked(list(mean), activations, layout, fill)
    flat = [np.concatenate([np.asarray(a[name], np.float64).reshape(n, -1) for m in layers for a in (m.weight, m.bias) if a], 1)
            for name, n in (("mean", 1), ("scale", 1), ("deviations", len(deviations)))]
    squares, notes = np.median((flat[2] ** 2).mean(axis=0)), []
    near = [bool(0 < squares and v > 0 and 1 / most < squares / v < most) for v, most in (
        (np.median(flat[1]), 10), (np.median(flat[1] ** 2), 4), (np.median(flat[1] - flat[0] ** 2), 4))]
    if not near[0] and (near[1] or near[2]):
        notes.append("by the deviations, variance= looks like %s: give the variance" % (
            "standard deviations" if near[1] else "means of squares, from which the squares of the means are to be taken off"))
    layers = _filled(layers, "mean", "scale", "deviations")
    _write(path, "swag", layers, {"rank": len(deviations)}, notes, **reference)


def save_dropout(path, weights, rates, activations, layout=None, **reference):
    """MC dropout: weights [W0, b0, ...] as trained; rates[k] is the probability that an input of layer
    k is dropped (inverted dropout: torch, Keras). Logits are those without dropout."""
    layers = _stacked(list(weights), activations, layout,
                      lambda layer, part, a: layer.put(part, "mean", weights[a], layout))
    _write_dropout(path, layers, rates, dict(reference, notes=[RATES]))


RATES = "the rates, and where they act, are as given and were not compared: the logits are those without dropout"


def save_dropconnect(path, weights, rates, activations, layout=None, **reference):
    """DropConnect (Wan et al. 2013): weights [W0, b0, ...] as trained; rates[k] is the probability that a weight
    of layer k is dropped, each by itself, else divided by 1 - rates[k]. Biases stay."""
    layers = _stacked(list(weights), activations, layout,
                      lambda layer, part, a: layer.put(part, "mean", weights[a], layout))
    for layer in layers:
        layer.connected = True
    _write_dropout(path, layers, rates, dict(reference, notes=[RATES]))


def _connections(header, arrays):
    """Header and arrays with layers of DropConnect as the layers of a graph: each weight is the gain of an input
    of its own, which may be dropped, and a convolution adds them up."""
    made, own = [], {}

    def add(entry, **parts):
        made.append(entry)
        own.update(("layers.%d.%s.mean" % (len(made) - 1, part), a) for part, a in parts.items())

    for k, entry in enumerate(header["layers"]):
        weight, bias = (arrays["layers.%d.%s.mean" % (k, part)] for part in ("weight", "bias"))
        if not entry["rate"]:
            add(entry, weight=weight, bias=bias)
            continue
        n, out = weight.shape
        add({"kind": "reorder", "in": n, "take": [int(j) for j in np.repeat(np.arange(n), out)]})
        add({"kind": "batch_norm", "rate": entry["rate"]}, weight=weight.reshape(-1), bias=np.zeros(n * out, weight.dtype))
        add({"kind": "flatten"})
        add({"kind": "conv2d", "input_shape": [1, n, out], "kernel": [1, n], "filters": out, "groups": out, "rate": 0.0,
             "activation": entry["activation"]}, weight=np.ones((1, n, 1, out), weight.dtype), bias=bias)
        add({"kind": "flatten"})
    return dict(header, version=2, layers=made), own


def _write_dropout(path, layers, rates, reference):
    if len(rates) != len(layers) or not all(0 <= r < 1 for r in rates):
        raise ValueError("rates=%s: want a number in [0, 1) for each of the %d layers" % (list(rates), len(layers)))
    for layer, rate in zip(_filled(layers, "mean"), rates):
        layer.rate = float(rate)
    _write(path, "dropout", layers, **reference)


def _filled(layers, *names):
    """Puts zeros where a layer has no bias: only files of kind gaussian may leave it out."""
    for layer in layers:
        if layer.bias is None:
            for name in names:
                layer.put("bias", name, np.zeros_like(layer.weight[name][..., 0, :]), "in,out")
    return layers


# ---- torch -------------------------------------------------------------------------------------

# Where torch layers keep their mean and spread: weight, its spread, bias, its spread, scale word.
NAMES = [
    # IntelLabs/bayesian-torch, layers/variational_layers/linear_variational.py and
    # layers/flipout_layers/linear_flipout.py (09b8d0a): sigma = log1p(exp(rho)), weights (out, in).
    ("mu_weight", "rho_weight", "mu_bias", "rho_bias", "softplus"),
    # conv_variational.py and conv_flipout.py beside them.
    ("mu_kernel", "rho_kernel", "mu_bias", "rho_bias", "softplus"),
    # piEsposito/blitz-bayesian-deep-learning, modules/linear_bayesian_layer.py (0368bce) and
    # modules/weight_sampler.py (0c9ba49): forward() draws from the sampler's mu and rho, which are
    # parameters of their own once the module was moved to another device. ENSTA-U2IS-AI/torch-uncertainty,
    # layers/bayesian/sampler.py (0d0df2b2): sigma = log1p(exp(rho)).
    ("weight_sampler.mu", "weight_sampler.rho", "bias_sampler.mu", "bias_sampler.rho", "softplus"),
    ("weight_mu", "weight_rho", "bias_mu", "bias_rho", "softplus"),
    # Harry24k/bayesian-neural-network-pytorch, torchbnn/modules/linear.py (1a3761a): exp(log_sigma).
    ("weight_mu", "weight_log_sigma", "bias_mu", "bias_log_sigma", "log_sd"),
    # kumar-shridhar/PyTorch-BayesianCNN, layers/BBB/BBBLinear.py: log1p(exp(rho)), kernels too.
    ("W_mu", "W_rho", "bias_mu", "bias_rho", "softplus"),
    # Own layers.
    ("weight_mean", "weight_sd", "bias_mean", "bias_sd", "sd"),
    ("weight_mean", "weight_rho", "bias_mean", "bias_rho", "softplus"),
    ("weight_mean", "weight_log_sd", "bias_mean", "bias_log_sd", "log_sd"),
]


def _get(obj, path):
    """obj.a.b for "a.b", None if there is no such thing."""
    for name in path.split("."):
        obj = getattr(obj, name, None)
    return obj


def _kind(module):
    return type(module).__name__


class _Dense:
    """The tensors of a torch layer: weight, bias and their scales (or None), scale word, layout."""

    def __init__(self, module, label, names=None):
        self.module, self.label, self.layout, self.word = module, label, "out,in", None
        self.place = None  # of a batch norm, what it is to be called with so that its normalisation gives an array, and its
        self.axes = 0      # axes behind the channels
        self.more = {}  # by modes, the arguments beside the first with which the network calls it, and those by name
        rows, self.named = _rows(names), False
        for row in rows:
            if _get(module, row[0]) is not None and _get(module, row[1]) is not None:
                self.weight, self.weight_scale, self.bias, self.bias_scale = (_get(module, p) for p in row[:4])
                self.word = row[4]
                self.layout = row[5] if len(row) > 5 else "out,in"
                self.named = bool(names) and row is rows[0]
                break
        else:
            self.weight, self.weight_scale, self.bias, self.bias_scale = module.weight, None, module.bias, None
        # Blitz keeps bias parameters that forward() does not use, and says so by bias=False.
        if getattr(module, "bias", None) is False:
            self.bias = self.bias_scale = None
        elif self.bias is None and hasattr(getattr(module, "bias", None), "shape"):
            self.bias = module.bias  # a certain bias beside random weights
        known = {p for row in rows for p in row[:4]} | {"weight", "bias"}
        extra = sorted(set(getattr(module, "_parameters", None) or ()) - known)
        # torch-uncertainty's weight_sigma is its sampler's rho.
        extra = [name for name in extra if not any(module._parameters[name] is t for t in (None, self.weight_scale, self.bias_scale))]
        if extra and extra[0].rpartition("_")[0] in ("weight", "bias") and isinstance(getattr(module, "_forward_pre_hooks", None), dict) and any(
                getattr(h, "name", None) == extra[0].rpartition("_")[0] for h in module._forward_pre_hooks.values()):
            raise ValueError(REWEIGHTED % (label, extra[0]))
        if extra:
            raise ValueError("%s: %s has the parameter %s, whose meaning is not known: use save_gaussian with the "
                             "weights that it really has" % (label, _kind(module), extra[0]))

    def called(self, mode):
        """The module as the network calls it in a mode (of _training)."""
        more = self.more.get(getattr(self.module, "training", None) if mode is None else mode)
        return self.module if more is None else lambda x: self.module(x, *more[0], **more[1])

    def layer(self, activation):
        return dense(self.weight, self.bias, self.weight_scale, self.bias_scale, activation, self.layout, self.word,
                     self.label)


def _plain_module(model):
    """Refuses what is no network of torch that can be followed: scripts, traces, compiled ones; and SWAG's."""
    if isinstance(model, type):
        raise ValueError("%s is a class: give a network of it" % model.__name__)
    if not hasattr(model, "named_modules"):
        return
    bases = {c.__name__: c.__module__ for c in type(model).__mro__}
    if any(kind in bases for kind in ("ScriptModule", "RecursiveScriptModule", "TopLevelTracedModule")) or bases.get("OptimizedModule", "").startswith("torch"):
        raise ValueError("%s: give the nn.Module itself, and not what torch.jit, torch.fx or torch.compile made of it" % _kind(model))
    for name, m in model.named_modules():
        if any("ScriptModule" in c.__name__ for c in type(m).__mro__):
            raise ValueError("layer %s (%s): give the nn.Module itself, and not what torch.jit made of it" % (name, _kind(m)))
        if callable(getattr(type(m), "weight", None)):  # of a parametrisation it would be computed, and not always alike
            raise ValueError("layer %s (%s): is quantised: give the network from before that" % (name, _kind(m)))
        kept = set(getattr(m, "_buffers", None) or ())
        for b in sorted(kept):
            part = b[:-len("_sq_mean")]
            if b.endswith("_sq_mean") and part + "_mean" in kept:
                raise ValueError("%s has the buffers NAME_mean and NAME_sq_mean of SWAG: save_swag takes them, of dense layers: NAME_mean is the mean, NAME_sq_mean - "
                                 "NAME_mean ** 2 the variance, and the rows of NAME_cov_mat_sqrt are the deviations" % _kind(model))


# Words in the names of spreads, and what a spread so called is.
SPREADS = [("rho", "softplus"), ("log_var", "log_variance"), ("logvar", "log_variance"), ("log", "log_sd"), ("var", "variance"), ("sigma", "sd"),
           ("std", "sd"), ("sd", "sd"), ("scale", "sd")]


def _names_for(module):
    """names= for a module whose parameters look like means and spreads, or None."""
    named = [(n, tuple(p.shape)) for n, p in (getattr(module, "_parameters", None) or {}).items() if p is not None]
    word = lambda n: next((w for part, w in SPREADS if part in n.lower()), None)  # noqa: E731
    found = []
    for axes in (lambda shape: len(shape) > 1, lambda shape: len(shape) == 1):
        some = [(n, shape) for n, shape in named if axes(shape)]
        means, spreads = [a for a in some if not word(a[0])], [a for a in some if word(a[0])]
        if len(means) != len(spreads) or len(means) > 1 or [a[1] for a in means] != [a[1] for a in spreads]:
            return None
        found += [a[0] for a in means + spreads] or [None, None]
    return None if found[0] is None else tuple(found) + (word(found[1]),)


def _rows(names):
    """Where to look for tensors: names= first, in which None stands for a tensor that no layer has."""
    if names is None:
        return NAMES
    row = tuple("" if n is None else n for n in names)
    if len(row) not in (5, 6) or not all(isinstance(n, str) for n in row) or not row[0] or not row[1]:
        raise ValueError("names=%r: want five words: the weight, its spread, the bias, its spread (None: it has none), and what "
                         "a spread is; as a sixth \"in,out\" for x @ W" % (names,))
    sd_of(0.0, row[4])
    if row[5:] not in ((), ("in,out",), ("out,in",)):
        raise ValueError("names=%r: the sixth is %r, want \"in,out\" or \"out,in\"" % (names, row[5]))
    return [row] + NAMES


def _is_dense(module, names):
    """Whether a torch module is a layer whose weights are known."""
    return _kind(module) == "Linear" or any(
        _get(module, row[0]) is not None and _get(module, row[1]) is not None for row in _rows(names))


def _modules(model, layers, names, label=""):
    """(label, module or activation word) in the order of the forward pass."""
    if layers is not None:
        known = {id(m): n for n, m in model.named_modules()} if hasattr(model, "named_modules") else {}
        for k, item in enumerate(layers):
            for one in item if isinstance(item, (tuple, list)) else (item,):
                if isinstance(one, str):
                    yield "layers[%d]" % k, one
                else:
                    yield from _modules(one, None, names, known.get(id(one)) or "layers[%d]" % k)
        return
    base = next((c for c in type(model).__mro__ if c.__name__ == "Sequential"), None)
    if base is not None:
        if type(model).forward is not base.forward:
            raise ValueError("%s has a forward() of its own, whose order cannot be read: pass layers=" % _kind(model))
        for name, child in model._modules.items():
            yield from _modules(child, None, names, (label + "." if label else "") + name)
        return
    children = list(getattr(model, "_modules", None) or ())
    if "parametrizations" in children:
        raise ValueError(REWEIGHTED % ("layer %s (%s)" % (label, _kind(model)), "parametrizations"))
    if children and not _is_dense(model, names) and "Conv" not in _kind(model):
        dense_ones = [n for n in children if _is_dense(model._modules[n], names)] or children
        pairs = ['(net.%s, "relu")' % n for n in dense_ones[:-1]] + ['(net.%s, "identity")' % dense_ones[-1]]
        raise ValueError("%s is not a Sequential, so its order is not known: pass layers=[%s], every layer with its activation "
                         "in the order of forward()" % (_kind(model), ", ".join(pairs[:2] + ["..."] * (len(pairs) > 3)
                                                                               + pairs[2:][-1:])))
    yield label, model


def _batchnorm(m, label):
    """s and t of s*z + t, which BatchNorm1d computes in evaluation, in float64."""
    if getattr(m, "running_mean", None) is None:
        raise ValueError("%s: BatchNorm1d without running statistics is no fixed function" % label)
    mu, var = (np.asarray(_numbers(a, label), np.float64) for a in (m.running_mean, m.running_var))
    s = 1 / np.sqrt(var + float(m.eps))
    if m.weight is not None:
        s = s * np.asarray(_numbers(m.weight, label), np.float64)
    return s, (0 if m.bias is None else np.asarray(_numbers(m.bias, label), np.float64)) - mu * s


def _batchnorm_first(s, t, label):
    """s*x + t as (x - mean) / std."""
    if (s <= 0).any():
        raise ValueError("%s: at the beginning, with a weight that is not above 0, it is no normalisation" % label)
    return "inputs", -t / s, 1 / s


def _fold(layer, s, t, label, before):
    """Puts s*z + t behind a layer, or before it, which only a layer without spread can take: behind
    a random one, sd becomes |s| sd; before it, the bias would depend on the weights."""
    random = [p for p in ("weight", "bias") if layer.word[p] != "none"]
    if layer.covariance is not None:
        raise ValueError("%s: cannot be put into %s, whose weights have a covariance: leave out layers=, so that forward() is followed" % (
            label, layer.label))
    if (layer.inputs if before else layer.outputs) != len(s):
        raise ValueError("%s: %d features do not fit %s" % (label, len(s), layer.label))
    if before and "weight" in random:
        raise ValueError("%s: BatchNorm1d behind an activation cannot be put into %s, whose weights are random: its "
                         "biases would depend on them; place it before the activation" % (label, layer.label))
    for name in [n for n in layer.weight if n != "scale"]:
        W = np.asarray(layer.weight[name], np.float64)
        b = np.asarray(layer.bias[name], np.float64) if layer.bias else np.zeros(W.shape[:-2] + W.shape[-1:])
        W, b = (W * s[:, None], b + (t @ W)) if before else (W * s, b * s + t)
        layer.weight[name], layer.bias = W, dict(layer.bias or {}, **{name: b})
    for part in [] if before else random:
        getattr(layer, part)["scale"], layer.word[part] = layer.sd(part) * np.abs(s), "sd"


def _chain(model, layers, names, make=None, rates=None):
    """Layers of a torch network, its _Dense objects, notes, and mean and std if the network begins
    with a normalisation (per channel: std and mean of Normalize, else one for each input)."""
    made, tensors, notes, front, pre, rate = [], [], [], None, None, 0.0
    done, acted, ended = None, False, None
    for label, m in _modules(model, layers, names):
        kind, label = ("word", label) if isinstance(m, str) else (_kind(m), "layer %s (%s)" % (label, _kind(m)) if label else _kind(m))
        if ended:
            raise ValueError("%s comes behind %s, which psafe has at the end only" % (label, ended))
        word = {"ReLU": "relu", "Tanh": "tanh", "Sigmoid": "sigmoid"}.get(kind)
        word = "leaky_relu:%r" % float(m.negative_slope) if kind == "LeakyReLU" else activation_word(m, label) if kind == "word" else word
        if kind == "Softplus":
            if float(m.beta) != 1:
                raise ValueError("%s: psafe has softplus with beta 1 only" % label)
            word = "softplus"
        elif kind == "ELU":
            word = activation_word("elu:%r" % float(m.alpha), label)
        if word == "identity" or kind == "Identity" or kind == "Flatten" and (m.start_dim, m.end_dim) == (1, -1):
            continue
        elif word:
            if done is None or acted:
                raise ValueError("%s: an activation must follow a layer with weights" % label)
            if rate and word.split(":")[0] not in ("relu", "leaky_relu"):
                raise ValueError("%s: dropout before %s is not dropout of the next layer's inputs" % (label, word))
            done.activation, acted = activation_word(word, label), True
        elif kind in ("Softmax", "LogSoftmax"):
            ended = kind
        elif kind == "Dropout":
            if rates is None:
                notes.append("Dropout(%g) is off, as in evaluation" % m.p)
            elif rate:
                raise ValueError("%s: two Dropouts in a row" % label)
            rate = float(m.p) if rates is not None else 0.0
        elif kind == "Normalize":
            if done is not None or front is not None:
                raise ValueError("%s: Normalize must come first" % label)
            front = ("channels",) + tuple(np.asarray(_numbers(a, label), np.float64) for a in (m.mean, m.std))
        elif kind == "BatchNorm1d":
            s, t = _batchnorm(m, label)
            if rate or pre is not None or done is None and front is not None:
                raise ValueError("%s: psafe cannot have it behind a Dropout or another normalisation" % label)
            if done is None:
                front, what = _batchnorm_first(s, t, label), "the file's mean and std"
            elif acted:
                pre, what = (s, t, label), "in the layer behind it"
            else:
                what = "in the layer before it"
                _fold(done, s, t, label, before=False)
            notes.append("BatchNorm1d is %s, computed in float64" % what)
        elif "Conv" in kind:
            raise ValueError(CONVOLUTION % (label, kind))
        elif _is_dense(m, names):
            tensors.append(_Dense(m, label, names))
            if len(tensors[-1].weight.shape) == 1:
                raise ValueError("%s: is a batch norm with random weights, and layers= has those of dense layers alone: leave it out, so that forward() "
                                 "is followed" % label)
            if len(tensors[-1].weight.shape) != 2:
                raise ValueError(CONVOLUTION % (label, kind))
            done, acted = (make or _Dense.layer)(tensors[-1], "identity"), False
            if pre is not None:
                _fold(done, pre[0], pre[1], pre[2], before=True)
            made.append(done)
            if rates is not None:
                rates.append(rate)
            pre, rate = None, 0.0
        elif hasattr(m, "__name__"):  # a function such as torch.relu, or a class
            word = m.__name__.lower().replace("leaky_relu", "leaky_relu:SLOPE").replace("leakyrelu", "leaky_relu:SLOPE")
            word = "elu:SLOPE" if word == "elu" else word
            raise ValueError("%s: %s" % (label, 'an activation is a word here: write "%s"' % word if word.split(":")[0] in ACTIVATIONS
                                         else "psafe has no %s: it has %s" % (word, WORDS)))
        else:
            raise ValueError("%s: psafe has no such layer or activation: of lists of layers it has dense layers, BatchNorm1d, Dropout, Flatten, Normalize, "
                             "softmax at the end and the activations %s; for a normalisation pass mean= and std=; of a dense layer "
                             "with random weights, names=(weight, its spread, bias, its spread, scale word) says where they "
                             "are" % (label, WORDS))
    if pre is not None or rate:
        raise ValueError("BatchNorm1d or Dropout behind the last activation is not supported")
    made = _ended(made)
    if rates is not None:
        rates += [0.0] * (len(made) - len(rates))
    return made, tensors, sorted(set(notes), key=notes.index), front


def _front(front, reference, inputs):
    """Joins the network's own normalisation with that of mean= and std= into the latter."""
    if front is None:
        return reference
    if reference.get("mean") is not None:
        raise ValueError("the network begins with a normalisation, and mean=, std= are given: take the first out")
    shape = np.shape(inputs)[1:]
    which, mean, std = front
    if which == "channels" and mean.size > 1:
        mean, std = (np.reshape(a, (-1,) + (1,) * (len(shape) - 1)) for a in (mean, std))
    return dict(reference, mean=mean, std=std)


def _set(tensor, value):
    """Sets a tensor of torch (or an array) in place and returns what it held."""
    if not hasattr(tensor, "detach"):
        old = tensor.copy()
        tensor[...] = value
        return old
    import torch
    old = tensor.detach().clone()
    with torch.no_grad():
        tensor.data.copy_(torch.as_tensor(value).to(tensor.device).expand(tensor.shape))
    return old


def _call(model, x, like):
    """model(x) in NumPy; of a tuple (bayesian-torch returns its KL term too) the first."""
    if hasattr(like, "detach"):
        import torch
        with torch.no_grad():
            out = model(torch.as_tensor(x).to(device=like.device, dtype=like.dtype))
    else:
        out = model(x)
    return _listed_outputs(to_numpy(out[0] if isinstance(out, (tuple, list)) else out))


def _listed_outputs(a):
    """Outputs as (N, outputs): of one output a network may give (N,), by squeeze(-1)."""
    return a[:, None] if a.ndim == 1 else a


@contextlib.contextmanager
def _seeded(like, seed=0):
    """torch's random numbers from this seed, and afterwards as if nothing had been drawn."""
    if not hasattr(like, "detach"):
        yield
        return
    import torch
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        yield


@contextlib.contextmanager
def _training(module, mode):
    """Puts a torch module and all in it into a mode, None for what it is in, and back."""
    modules = list(module.modules()) if hasattr(module, "modules") else []
    modes = [m.training for m in modules]
    try:
        for m in modules if mode is not None else []:
            m.training = mode
        yield
    finally:
        for m, old in zip(modules, modes):
            m.training = old


@contextlib.contextmanager
def _certain(model, tensors, values=(), seed=0):
    """A torch network in evaluation mode, with its spreads as good as 0 (rho = -80 is an sd of 2e-35) and
    with values, pairs of a tensor and what it shall hold; afterwards as it was."""
    put = list(values)
    for d in tensors:
        small = 1e-30 if d.word in ("sd", "variance") else -80.0
        put += [(s, small) for s in (d.weight_scale, d.bias_scale) if s is not None]
    half = [d.label for d in tensors if str(getattr(d.weight, "dtype", "")) in ("torch.float16", "torch.bfloat16")]
    if half:
        raise ValueError("%s is in half precision, whose rounding would hide mistakes: pass model.float()" % half[0])
    old = []
    with _seeded(tensors[0].weight, seed), _training(model, False):
        try:
            for tensor, value in put:
                old.append((tensor, _set(tensor, value)))
            yield
        finally:
            for tensor, value in reversed(old):
                _set(tensor, value)


def _mean_logits(model, tensors, x, values=(), predict=None, seed=0):
    """What a torch network's own forward() (or predict) gives without its spreads, and with values."""
    with _certain(model, tensors, values, seed):
        try:
            return _call(predict or model, x, tensors[0].weight)
        except Exception as e:
            raise ValueError("%s cannot be called with inputs of shape %s: %s: %s; give inputs= as it takes them" % (
                "predict=" if predict else _kind(model), np.shape(x), _kind(e), " ".join(str(e).split()))) from e


STILL = "it does not draw when it is called"


def _frozen(d, layer, x, mode, words, sd, want):
    """Refuses a layer that does not draw although float32 would show that its outputs have standard deviations of want."""
    with _seeded(d.weight), _training(d.module, mode if d.place is None else False):
        size = np.abs(_call(d.called(mode), x, d.weight)).max()
    if want > 1e-5 * size:
        raise ValueError("%s: it draws neither in evaluation nor in training mode as forward() calls it, and its %s would have "
                         "standard deviations of %.3g: unfreeze it, or set its spread to 0 if it is meant to be certain; of weights that are drawn elsewhere, "
                         "spread= says the standard deviations. Nothing was written" % (layer.label, words, sd))


def _network_calls(model, tensors, x):
    """Lets layers know the words with which the network calls them, such as sample=False, in either mode."""
    if not any(d.word for d in tensors) or not hasattr(model, "named_modules"):
        return
    import torch
    leaves, plain = {id(d.module): d for d in tensors if d.word}, torch.nn.Module.__call__

    def recorded(m, *args, **kwargs):
        d = leaves.get(id(m))
        if d is not None and len(args) > 0 and all(isinstance(v, (bool, int, float, str, type(None))) for v in list(args[1:]) + list(kwargs.values())):
            d.more.setdefault(m.training, (args[1:], kwargs))
        return plain(m, *args, **kwargs)

    for mode in (False, True):
        with _seeded(tensors[0].weight), _drawing(model, False):
            for m in model.modules():
                m.training = m.training and mode
            torch.nn.Module.__call__ = recorded
            try:
                _call(model, x, tensors[0].weight)
            except Exception:
                continue  # it is not called so
            finally:
                torch.nn.Module.__call__ = plain


def _drawing_mode(d, x):
    """The mode (of _training) in which a torch layer's outputs for x differ from call to call, and why
    there is none: many layers draw in one mode only."""
    why = STILL
    for mode in (None, True, False) if d.place is None else (False,):  # in training mode a batch norm has the statistics of its batch
        with _seeded(d.weight), _training(d.module, mode):
            try:
                if np.ptp([_call(d.called(mode), x, d.weight) for _ in range(3)], axis=0).any():
                    return mode, None
            except Exception as e:
                why = "it cannot be called alone (%s)" % " ".join(str(e).split())
    if d.place is not None and why is STILL:
        own = copy.deepcopy(d.module).train()
        with _seeded(d.weight):
            if np.ptp([_call(own, np.concatenate([x, 2 * x + 1, 3 * x]), d.weight) for _ in range(3)], axis=0).any():
                why = "it draws in training mode alone, where a batch norm has the statistics of its batch"
    return None, why


def _spread_drawn(d, x, mode, halves, want):
    """The standard deviations of a torch layer's outputs for x, and the largest output. There are so many
    draws that the mean of each half is known to 2 %: that of n equal ones is off by
    1 / sqrt(2 n draws), and unequal ones count as (sum)^2 / (sum of squares)."""
    sums = [(want.ravel()[h].sum(), (want.ravel()[h] ** 2).sum()) for h in halves]
    draws = 25 + int(max(2500 * squares / total ** 2 if total > 0 else 0 for total, squares in sums))
    if hasattr(d.weight, "detach"):
        import torch
        x = torch.as_tensor(x).to(device=d.weight.device, dtype=d.weight.dtype)
    with _seeded(d.weight), _training(d.module, mode):
        call = d.called(mode)
        first = np.asarray(_call(call, x, d.weight), np.float64)
        total, squares = np.zeros(want.shape), np.zeros(want.shape)
        for _ in range(draws - 1):
            off = _call(call, x, d.weight) - first
            total += off
            squares += off ** 2
    variance = np.maximum(squares - total ** 2 / draws, 0) / (draws - 1)
    # The root of an unbiased variance is too small by about 1 in 4 (draws - 1).
    return np.sqrt(variance) * (1 + 0.25 / (draws - 1)), np.abs(first).max()


def _one_hot(d, layer):
    """Inputs with a single 1 for a random torch layer, the standard deviations of its outputs for them but
    for its biases, and at which outputs a weight meets the 1. Of a wide layer only some, so that it
    takes no minutes; of a convolution inputs that meet each weight once."""
    if d.place is not None:  # of a batch norm, all at once
        hot = np.ones((1, layer.outputs) + (1,) * d.axes)
        return hot, layer.sd("weight").reshape(hot.shape), np.ones(hot.shape, bool)
    if len(d.weight.shape) == 2:
        sd = layer.sd("weight").T if isinstance(layer, _Unit) else layer.sd("weight")
        count = min(len(sd), 256, max(16, 16384 // sd.shape[1]))
        rows = np.linspace(0, len(sd) - 1, count).astype(int)
        hot = np.zeros((count, len(sd)))
        hot[np.arange(count), rows] = 1
        return hot, sd[rows], np.ones(sd[rows].shape, bool)
    import torch
    n, sd = len(d.weight.shape) - 2, layer.sd("weight")
    strides, dilation = _several(d.geometry.get("stride", 1), n), _several(d.geometry.get("dilation", 1), n)
    channels = sd.shape[1] * int(d.geometry.get("groups", 1))
    edge = [w * (k - 1) for w, k in zip(dilation, sd.shape[2:])]
    places = list(np.ndindex(*strides))
    some = np.linspace(0, channels - 1, max(1, min(channels, 256 // len(places)))).astype(int)
    hot = np.zeros((len(some) * len(places), channels) + tuple(2 * e + s for e, s in zip(edge, strides)))
    for i, (channel, place) in enumerate((c, p) for c in some for p in places):
        hot[(i, channel) + tuple(e + p for e, p in zip(edge, place))] = 1
    conv = getattr(torch.nn.functional, "conv%dd" % n)
    square, there = (to_numpy(conv(torch.as_tensor(hot), torch.as_tensor(a), **d.geometry)) for a in (sd ** 2, np.ones(sd.shape)))
    return hot, np.sqrt(np.maximum(square, 0)), there > 0.5


def _check_drawn(d, layer):
    """Lets a random torch layer draw, and compares the spread of its outputs with the exported standard
    deviations: for one-hot inputs (256, fewer of a wide layer) those of the weights, for an input of zeros those of
    the biases. It does not matter whether the layer draws weights or, by local reparameterisation,
    outputs. The smaller and the larger half are compared by their means, to 10 %. Returns for weights
    and biases whether they were compared, and a note where they were not."""
    hot, sd, there = _one_hot(d, layer)
    place = d.place or (lambda x: x)
    sd_bias = np.broadcast_to(np.nan_to_num(layer.sd("bias")), layer.outputs).reshape((-1,) + (1,) * (sd.ndim - 2))
    # One-hot inputs so large that the spread of the biases hardly counts.
    gain = min(max(1.0, 10 * sd_bias.mean() / max(sd[there].mean(), 1e-300)), 2.0 ** 20)
    hot, zeros = place(gain * hot), place(np.zeros((1,) + hot.shape[1:]))
    first = np.zeros((1,) + sd.shape[1:], bool)
    first[(slice(None), slice(None)) + (0,) * (sd.ndim - 2)] = True  # of an image, one place: it has one bias
    (mode, why), compared, notes = _drawing_mode(d, hot), [False, False], []
    for j, (part, words, unit, x, want) in enumerate((
            ("weight", "weights", gain, hot, np.hypot(gain * sd, sd_bias)),
            ("bias", "biases", 1, zeros, np.broadcast_to(sd_bias, first.shape)))):
        reason = why
        if why is STILL:
            _frozen(d, layer, x, mode, words, layer.sd(part).mean(), (want if j else gain * sd)[first if j else there].mean())
            compared[j] = not layer.sd(part).any()
        if why is None:
            among = np.flatnonzero(first if j else there)
            halves = np.array_split(among[np.argsort(want.ravel()[among], kind="stable")], min(2, len(among)))
            got, size = _spread_drawn(d, x, mode, halves, want)
            reason = "they are too small beside the layer's other numbers"  # float32 does not tell them from 0
            for half in halves if j or gain * sd[there].mean() >= sd_bias.mean() else []:
                a, b = got.ravel()[half].mean(), want.ravel()[half].mean()
                if max(a, b) > 1e-5 * size:
                    compared[j] = True
                    if abs(a - b) > 0.1 * b:
                        raise ValueError("%s: its %s vary by %.3g when it draws, and by the exported standard deviations it would "
                                         "be %.3g: are these what %r says?" % (layer.label, words, a / unit, b / unit, d.word))
        if not compared[j] and layer.word[part] != "none":
            notes.append("the standard deviations of the %s of %s are as given and were not compared: %s"
                         % (words, layer.label, reason))
    return compared, notes


def _torch_reference(model, tensors, made, front, inputs, reference, values=()):
    """What _write takes from inputs= to std=, with the logits that the network itself, or predict=, gives,
    and notes."""
    if inputs is None:
        raise ValueError("inputs= is missing: a few raw inputs, so that the file can be compared with the network")
    _check_stack(made)
    raw, own = _raw(inputs, made[0]), reference.get("mean") is not None and reference.get("std") is not None
    reference = dict(_front(front, reference, inputs), inputs=inputs)
    if reference.get("logits") is not None:
        return reference, []
    predict = reference.pop("predict", None)
    if not own:
        return dict(reference, logits=_mean_logits(model, tensors, raw, values, predict)), []
    mean, std = (_normalisation(reference[w], w, raw.shape[1:]) for w in ("mean", "std"))
    flat, stack, tolerance = raw.reshape(len(raw), -1), _stack(made), reference.get("tolerance", 1e-5)

    def normalised(x):
        return (x - mean) / std

    try:
        said = np.asarray(_numbers(_mean_logits(model, tensors, raw, values, predict), "logits"), np.float64)
        inside = _agreed(evaluate(stack, normalised(flat)), said, tolerance)[0] is not None
    except ValueError:  # it cannot take raw inputs
        said, inside = None, False
    if inside:
        return dict(reference, logits=said), ["the network normalises its inputs itself, by mean= and std="]
    outside = _mean_logits(model, tensors, normalised(flat).reshape(raw.shape), values, predict)
    if said is not None and said.shape == outside.shape and _agreed(evaluate(stack, normalised(flat)), outside, tolerance)[0] is None and _guess(
            stack, flat, normalised, raw.shape[1:], said, tolerance):
        outside = said  # a mistake, and one that has a name if the network normalises its inputs itself
    return dict(reference, logits=outside), []


# ---- torch: graphs of layers -------------------------------------------------------------------

# What forward() may call, by the name of the function without underscores, and its arguments.
CONV = "input weight bias stride padding dilation groups"
CALLS = {
    "linear": "input weight bias", "conv1d": CONV, "conv2d": CONV,
    "batch_norm": "input running_mean running_var weight bias training momentum eps",
    "relu": "input inplace", "tanh": "input", "sigmoid": "input", "leaky_relu": "input negative_slope inplace",
    "elu": "input alpha inplace", "celu": "input alpha inplace", "softplus": "input beta threshold", "log_sigmoid": "input",
    "prelu": "input weight", "rrelu": "input lower upper training inplace", "threshold": "input threshold value inplace",
    "clamp": "input min max", "clamp_min": "input min", "clamp_max": "input max", "relu6": "input inplace",
    "hardtanh": "input min_val max_val inplace", "maximum": "input other", "minimum": "input other", "max": "input other", "min": "input other",
    "softmax": "input dim", "log_softmax": "input dim",
    "max_pool1d": "input kernel_size stride padding dilation ceil_mode return_indices",
    "max_pool2d": "input kernel_size stride padding dilation ceil_mode return_indices",
    "avg_pool1d": "input kernel_size stride padding ceil_mode count_include_pad",
    "avg_pool2d": "input kernel_size stride padding ceil_mode count_include_pad divisor_override",
    "adaptive_avg_pool1d": "input output_size", "adaptive_avg_pool2d": "input output_size",
    "adaptive_max_pool1d": "input output_size", "adaptive_max_pool2d": "input output_size",
    "mean": "input dim keepdim", "amax": "input dim keepdim", "cat": "tensors dim", "stack": "tensors dim",
    "matmul": "input other", "mm": "input other", "rmatmul": "other input", "addmm": "bias input other beta alpha", "einsum": "equation",
    "add": "input other alpha", "radd": "input other", "sub": "input other alpha", "rsub": "input other alpha",
    "mul": "input other", "rmul": "input other", "div": "input other rounding_mode", "neg": "input",
    "dropout": "input p training inplace", "pad": "input pad mode value", "constant_pad_nd": "input pad value"}
SAME = {"iadd": "add", "isub": "sub", "imul": "mul", "itruediv": "div", "truediv": "div", "true_divide": "div", "divide": "div",
        "multiply": "mul", "negative": "neg", "subtract": "sub", "clip": "clamp", "concat": "cat", "concatenate": "cat", "feature_dropout": "dropout", "dropout1d": "dropout",
        "dropout2d": "dropout", "alpha_dropout": "dropout", "feature_alpha_dropout": "dropout"}
SAME_NUMBERS = {"contiguous", "clone", "detach", "float", "double", "to", "type_as", "requires_grad", "identity", "cpu", "cuda", "get data"}
RESHAPES = {"view", "reshape", "flatten", "unflatten", "squeeze", "unsqueeze", "view_as", "reshape_as", "ravel"}
MOVES = {"permute", "transpose", "swapaxes", "swapdims", "movedim", "moveaxis", "getitem", "narrow", "select", "chunk", "split",
         "tensor_split", "flip", "roll", "pixel_shuffle", "pixel_unshuffle", "channel_shuffle", "unbind"}
CONSTANTS = {"zeros_like", "ones_like", "full_like", "new_zeros", "new_ones", "new_full"}
NO_NUMBERS = {"size", "dim", "ndimension", "numel", "nelement", "len", "stride", "is_contiguous", "is_floating_point", "is_complex",
              "type", "get_device", "element_size", "storage_offset", "repr", "format", "hash", "data_ptr", "is_same_size"}


class _Step:
    """What a call in forward() gives: op and how it was called, the steps in its arguments, the tensor
    that came of it (of two inputs), and which place of the network that is."""

    def __init__(self, index, op, function, args, kwargs, feeds, tensor, place, name, module):
        self.index, self.op, self.function, self.args, self.kwargs, self.feeds = index, op, function, args, kwargs, feeds
        self.value, self.shape, self.place, self.name, self.module, self.part = tensor, tuple(tensor.shape), place, name, module, None

    def bound(self, op=None):
        """The arguments by their names."""
        return _bound(op or self.op, self.args, self.kwargs)


def _bound(op, args, kwargs):
    return dict(zip(CALLS[op].split(), args), **kwargs)


def _op(function):
    """The name of a function of torch, of methods and of what works in place too."""
    name = getattr(function, "__name__", str(function))
    if name == "__get__":
        return "get " + getattr(function.__self__, "__name__", "")
    return SAME.get(name.strip("_"), name.strip("_"))


def _in_place(function, op, args, kwargs):
    """Whether a function of dropout changes the tensor that it takes."""
    return getattr(function, "__name__", "").endswith("_") or bool(_bound(op, args, kwargs).get("inplace"))


def _tensors(value, kind):
    """All that are of a kind in nested lists, tuples and dicts."""
    if isinstance(value, (list, tuple)):
        return [t for v in value for t in _tensors(v, kind)]
    if isinstance(value, dict):
        return _tensors(list(value.values()), kind)
    return [value] if isinstance(value, kind) else []


def _replaced(value, kind, by):
    """value with by(t) for each t of a kind in its lists, tuples and dicts."""
    if isinstance(value, (list, tuple)):
        made = [_replaced(v, kind, by) for v in value]
        if hasattr(value, "_make"):  # named fields
            return value._make(made)
        return made if isinstance(value, list) else tuple(made) if type(value) is tuple else type(value)(made)  # such as what max(dim) gives
    if isinstance(value, dict):
        return {k: _replaced(v, kind, by) for k, v in value.items()}
    return by(value) if isinstance(value, kind) else value


class _Recorder:
    """Runs a network once and records which functions of torch its forward() calls on what: tensors of a
    class of their own tell (__torch_function__), in modules, functions and methods alike. Shapes
    are plain numbers then; whoever asks for the data itself, as an if does, is refused. A layer
    with random weights is one step, in which only convolutions and batch norms are looked at."""

    def __init__(self, model, tensors, drops=False):
        import torch
        self.torch, self.model, self.leaves, self.drops = torch, model, {id(d.module): d for d in tensors}, drops
        self.modules = {id(m): n for n, m in model.named_modules()}
        self.known = {id(p): n for n, p in list(model.named_parameters()) + list(model.named_buffers())}
        self.steps, self.versions, self.kept, self.all = {}, {}, [], []
        self.path, self.inside, self.called = [model], None, set()
        recorder = self

        class Traced(torch.Tensor):
            @classmethod
            def __torch_function__(cls, function, types, args=(), kwargs=None):
                return recorder.call(function, args, kwargs or {})

        self.Traced = Traced

    def run(self, x):
        """Records model(x) and returns the step that gives its output."""
        module, call = self.torch.nn.Module, self.torch.nn.Module.__call__

        def recorded(m, *args, **kwargs):
            self.path.append(m)
            try:
                self.called.add(id(m))
                if id(m) in self.leaves and self.inside is None:
                    return self.layer(m, call, args, kwargs)
                return call(m, *args, **kwargs)
            finally:
                self.path.pop()

        first = self.step("input", None, (), {}, [], x)
        module.__call__ = recorded
        try:
            out = self.model(self.keep(x, first))
        finally:
            module.__call__ = call
        self.beside = [self.steps[id(t)] for t in _tensors(out, self.Traced) if id(t) in self.steps]
        out = out[0] if isinstance(out, (tuple, list)) and len(out) else out
        if id(out) not in self.steps:
            raise ValueError("%s: forward() returns a %s that cannot be followed back to its input: let it return the logits, or those and "
                             "more as a tuple" % (_kind(self.model), _kind(out)))
        return self.steps[id(out)]

    def step(self, op, function, args, kwargs, feeds, tensor):
        module = next((m for m in reversed(self.path) if id(m) in self.modules), self.model)
        name, kind = self.modules.get(id(module), ""), _kind(module)
        place = "layer %s (%s)" % (name, kind) if name else kind
        if not type(module).__module__.startswith("torch.nn") and id(module) not in self.leaves:
            place += ", " + op + self.line()
            name = (name + "." if name else "") + op
        with self.torch._C.DisableTorchFunction():
            made = _Step(len(self.all), op, function, args, kwargs, feeds, tensor.detach().clone(), place, name, module)
        self.all.append(made)
        return made

    def line(self):
        """Which line of the network's source is running."""
        frame, skip = sys._getframe(), (_op.__code__.co_filename, os.path.join(os.path.dirname(self.torch.__file__), ""))
        while frame is not None and frame.f_code.co_filename.startswith(skip):
            frame = frame.f_back
        return "" if frame is None else " in line %d of %s" % (frame.f_lineno, os.path.basename(frame.f_code.co_filename))

    def keep(self, tensor, step):
        """The tensor, traced as what the step gives."""
        if not isinstance(tensor, self.Traced):
            tensor = tensor.as_subclass(self.Traced)
        self.kept.append(tensor)
        with self.torch._C.DisableTorchFunction():
            self.steps[id(tensor)], self.versions[id(tensor)] = step, tensor._version
        return tensor

    def call(self, function, args, kwargs):
        op, before = _op(function), _tensors((args, kwargs), self.Traced)
        with self.torch._C.DisableTorchFunction():
            stale = [t for t in before if id(t) in self.versions and t._version != self.versions[id(t)]]
            out = function(*args, **kwargs)
            if self.drops and op == "dropout" and not _in_place(function, op, args, kwargs):
                out = out.clone()  # in evaluation it is the tensor that it was given, and that is not dropped
        if not _tensors(out, self.torch.Tensor):
            if op in NO_NUMBERS or op.startswith("get ") or self.inside is not None:
                return out
            raise ValueError("%s (%s%s): forward() %s, which cannot be followed: let it compute with tensors alone, the same for all inputs"
                             % (_kind(self.path[-1]), op, self.line(), "writes into a tensor" if op in ("setitem", "copy") else
                                "asks for the numbers themselves, as an if on data does"))
        if self.inside is not None:
            if op.startswith("conv") or op == "batch_norm":
                self.inside.append((op, _bound(op, args, kwargs) if op in CALLS else {}))
            return _replaced(out, self.torch.Tensor, lambda t: t.as_subclass(self.Traced))
        feeds = [self.steps[id(t)] for t in before if id(t) in self.steps]
        args, kwargs = (_replaced(a, self.Traced, lambda t: self.steps.get(id(t), t)) for a in (args, kwargs))
        count = [0]

        def follow(tensor):
            step = self.step("stale" if stale else op, function, args, kwargs, feeds, tensor)
            step.part, count[0] = (count[0] if isinstance(out, (tuple, list)) else None), count[0] + 1
            return self.keep(tensor, step)

        return _replaced(out, self.torch.Tensor, follow)

    def layer(self, m, call, args, kwargs):
        """A layer with random weights."""
        given = list(args) + list(kwargs.values())
        feed = next((self.steps[id(t)] for t in given if id(t) in self.steps), None)
        if feed is None:
            raise ValueError("%s: has random weights and is called with a constant: psafe has no random constants (nor recurrent networks "
                             "whose weights are random)" % self.leaves[id(m)].label)
        self.inside = []
        try:
            out = call(m, *args, **kwargs)
        finally:
            seen, self.inside = self.inside, None
        first = out[0] if isinstance(out, tuple) else out
        first = self.keep(first, self.step("random", None, (self.leaves[id(m)], seen), {}, [feed], first))
        return (first,) + tuple(out[1:]) if isinstance(out, tuple) else first


def _reweighted(module, part, tensor):
    """The parameters from which torch itself computes a weight of a module, always alike (weight_norm, spectral_norm, orthogonal);
    none if it does not."""
    of = getattr(module, "parametrizations", {})
    makers = list(of[part]) if part in of else [h for h in module._forward_pre_hooks.values() if getattr(h, "name", None) == part]
    if not makers or not all(any(c.__module__.startswith("torch.nn.utils.") for c in type(m).__mro__) for m in makers):
        return []
    with _training(module, False):
        own = getattr(module, part)
    if own.shape != tensor.shape or not bool((own == tensor).all()):
        return []
    return list(of[part].parameters()) if part in of else [p for n, p in module._parameters.items() if n.rpartition("_")[0] == part]


class _Unit(Layer):
    """The parameters of a layer of a graph, in the shapes of torch."""

    def put(self, part, name, a, layout, infinite=False):
        a = _numbers(a, "%s: %s %s" % (self.label, part, name), infinite)
        if layout == "in,out" and part == "weight":
            a = a.reshape(len(a), -1).T  # of x @ w, of which w is a vector, too
        known = getattr(self, part) or {}
        for other, b in known.items():
            if a.shape != b.shape:
                raise ValueError("%s: %s %s and %s have the shapes %s and %s" % (self.label, part, other, name, b.shape, a.shape))
        if part == "bias" and a.shape != (self.outputs,):
            raise ValueError("%s: a bias of shape %s for %d outputs" % (self.label, a.shape, self.outputs))
        known[name] = np.ascontiguousarray(a)
        setattr(self, part, known)

    axis = 0
    outputs = property(lambda self: next(iter(self.weight.values())).shape[0])


class _Value:
    """What a layer of the file gives: its name, the shape of one, and whether that is a list of numbers
    in the order of channels first, which it always is of the input; of the input also mean and std of
    a normalisation that forward() begins with."""

    def __init__(self, name, shape, flat, front=None):
        self.name, self.shape, self.flat, self.front = name, tuple(shape), flat, front
        self.rate, self.channels = 0.0, False  # with which its numbers are dropped, one by one or by channels
        self.base, self.pads = None, None  # of zeros around an image: that image, and how many for each direction
        self.constant = None  # numbers that do not depend on the input
        self.dropped = None                    # by which step


def _several(value, n):
    """n numbers of one, or of a list of them."""
    value = tuple(value) if isinstance(value, (tuple, list)) else (value,) * n
    return [int(v) for v in (value * n if len(value) == 1 else value)]


def _reached(ends):
    """The steps that something of ends depends on, by index."""
    reached, todo = {}, list(ends)
    while todo:
        step = todo.pop()
        if step.index not in reached:
            reached[step.index] = step
            todo += step.feeds
    return reached


class _Graph:
    """Layers of a header of version 2 that compute what was recorded."""

    def __init__(self, recorder, end, shape, normal=(), law=None, drops=False):
        self.drops = drops  # whether Dropout is on
        self.member = None  # of a network of an ensemble, what takes what would be written
        self.normal = {id(p): (mean, sd) for p, mean, sd in normal}  # parameters that a posterior is about
        self.law = law  # kind, layers with their covariances, which say what sd does not, and whether it is of the last layer
        self.recorder, self.torch, self.shape, self.layers, self.units = recorder, recorder.torch, tuple(int(n) for n in shape), [], {}
        self.notes, self.items, self.drawn, self.used, self.front, self.values = [], [], [], set(), None, {}
        self.met = set()  # of normal
        self.watch = {}  # name of a layer to the step whose numbers it gives
        while end.op in ("softmax", "log_softmax"):
            end = end.feeds[0]
        reached = _reached([end])
        self.takers = takers = collections.Counter(f.index for step in reached.values() for f in step.feeds)
        for index in sorted(reached):
            self.settled(reached[index], takers)
            self.values[index] = self.carried(reached[index], self.lower(reached[index]))
        self.end = self.values[end.index]
        left = [p for p, _, _ in normal if id(p) not in self.met]
        if left:
            raise ValueError("the posterior is about a parameter of shape %s that belongs to no dense layer or convolution of the network (those of "
                             "batch norms must be certain: freeze them, or take the last layer alone)" % (tuple(left[0].shape),))
        if not self.units or self.end.name == "input":
            raise ValueError("%s has no layer with weights" % _kind(recorder.model))
        if len(self.end.shape) != 1:
            raise ValueError("%s gives an output of shape %s: want a list of logits for each input" % (_kind(recorder.model), self.end.shape))
        self.bound = self.layers[-1].get("activation")  # that of the end: the last layer of a file has none
        if self.bound:
            self.end = self.place(end, self.end, self.end.shape, np.arange(self.end.shape[0]))
        if self.law is not None:
            self.on_top()
        if drops and (not any(u.rate for u in self.units.values()) or self.end.rate):
            raise ValueError("%s has no Dropout in front of a layer, or one at its end" % _kind(recorder.model))
        self.forgotten()

    kind = property(lambda self: self.law[0] if self.law is not None else "dropout" if self.drops else "gaussian" if self.member is None
                    else "samples")

    def settled(self, step, takers):
        """Puts masks in front of a step that takes dropped numbers, but where dropping them later is the same."""
        for f in step.feeds:
            v = self.values[f.index]
            if v.pads is not None and not step.op.startswith("conv") and step.op != "random":
                v = self.values[f.index] = self.padded(f, v)
            alone = takers[f.index] == 1 and len(step.feeds) == 1
            behind = {"linear"} | RESHAPES if not v.channels else {"max_pool1d", "max_pool2d", "avg_pool1d", "avg_pool2d"}
            if v.rate and not (alone and step.op in SAME_NUMBERS | {"relu", "leaky_relu"} | behind):
                self.values[f.index] = self.mask(f, v)

    def carried(self, step, value):
        """value, where the numbers that step takes are dropped."""
        for f in step.feeds:
            v = self.values[f.index]
            if v.rate and step.op == "linear":
                unit = self.units[len(self.layers) - 1]
                unit.rate, unit.dropped = v.rate, v.dropped
            elif v.rate and value is not v:
                value.rate, value.channels, value.dropped = v.rate, v.channels, v.dropped
        return value

    def mask(self, step, v):
        """A batch norm with gains of 1 whose inputs are dropped: channels of an image, or numbers of a list."""
        if v.channels:
            made = self.norm(step, _Value(v.name, v.shape, v.flat, v.front), np.ones(v.shape[0]), np.zeros(v.shape[0]))
        else:
            of, n = self.flatten(step, v), int(np.prod(v.shape))
            made = self.norm(step, _Value(of.name, (n,), True, of.front), np.ones(n), np.zeros(n))
        unit = self.units[len(self.layers) - 1]
        unit.rate, unit.dropped = v.rate, v.dropped
        if not v.channels and len(v.shape) > 1:  # what a batch norm gives is an image of one place
            made = _Value(self.emit(step, "flatten", [made], (n,), True).name, v.shape, True)
        return made

    def on_top(self):
        """Refuses a covariance of another layer than the one that it should be of, and features that are random."""
        for k, unit in self.units.items():
            if self.law[2] and unit.covariance is not None and k != len(self.layers) - (3 if self.bound else 1):
                raise ValueError("%s: has a covariance and is not the last layer, which this posterior is said to be about" % unit.label)
            if unit.word != {"weight": "none", "bias": "none"}:
                raise ValueError("%s: has a spread of its own beside that of Laplace" % unit.label)

    def forgotten(self):
        """Refuses parameters that a layer has and evaluation does not use: a layer may draw in training alone. Layers of
        which another output than the first alone takes all parameters are left out."""
        beside, layers = set(), {}
        for step in _reached(self.recorder.beside).values():
            beside |= {id(b) for t in _tensors((step.args, step.kwargs), self.torch.Tensor) for b in (t, t._base) if b is not None}
        for d in self.recorder.leaves.values():
            if d not in self.drawn:
                self.notes.append("%s is not used for the first output of forward() and left out" % d.label)
        for name, p in self.recorder.model.named_parameters():
            layers.setdefault(name.rpartition(".")[0], []).append(p)
        for name, p in self.recorder.model.named_parameters():
            owner = self.recorder.model
            inside = False
            for part in name.split(".")[:-1]:
                owner = getattr(owner, part)
                inside = inside or id(owner) in self.recorder.leaves
            if inside or id(p) in self.used:
                continue
            if all(id(q) in beside and id(q) not in self.used for q in layers[name.rpartition(".")[0]]):
                self.notes.append("layer %s is not used for the first output of forward() and left out" % (name.rpartition(".")[0] or name))
                continue
            if id(owner) in self.recorder.called and owner is not self.recorder.model:
                raise ValueError("layer %s (%s) has the parameter %s, which evaluation does not use: if it is a spread, names= says so (the "
                                 "weight, its spread, the bias, its spread, scale word)" % (
                                     name.rpartition(".")[0], _kind(owner), name.rpartition(".")[2]))
            self.notes.append("the parameter %s is not used in evaluation and left out" % name)

    # -- layers of the file

    def emit(self, step, kind, feeds, shape, flat=False, unit=None, item=None, **fields):
        """Adds a layer to the file."""
        if len(fields.get("input_shape", ())) > 1:  # of a list, and what a batch norm makes of one is an image of one place
            feeds = [_Value(self.emit(step, "flatten", [v], v.shape, True).name, v.shape, True) if v.flat and self.one_place(v.name) else v for v in feeds]
        taken = {entry["name"] for entry in self.layers} | {"input"}
        name = base = "%s" % (step.name or step.op)
        while name in taken:
            name = "%s-%d" % (base, len(self.layers))
        entry = {"name": name, "kind": kind}
        for v in feeds:
            if v.name == "input":
                if self.front is None:
                    self.front = v.front or (0.0, 1.0)
                elif not all(np.array_equal(a, b) for a, b in zip(self.front, v.front or (0.0, 1.0))):
                    raise ValueError("%s: takes the input normalised otherwise than another layer does: psafe has one normalisation" % step.place)
        if [v.name for v in feeds] != [self.layers[-1]["name"] if self.layers else "input"]:
            entry["from"] = [v.name for v in feeds]
        entry.update(fields)
        if unit is not None:
            self.units[len(self.layers)] = unit
        self.layers.append(entry)
        self.items.append(item)
        value = _Value(name, shape, flat)
        self.watch = dict([(n, s) for n, s in self.watch.items() if s is not step], **{name: step})  # the last of a step
        return value

    def image(self, v):
        """The field that says the shape of a list of numbers that a layer takes as an image."""
        return {"input_shape": list(v.shape)} if v.flat and not (v.name == "input" and v.shape == self.shape) else {}

    def flatten(self, step, v):
        """v as a list, in torch's order."""
        if v.flat:
            return v
        return self.emit(step, "flatten", [v], (int(np.prod(v.shape)),), True)

    def one_place(self, name):
        """Whether what a layer gives is an image of one place to psafe and a list here: what a batch norm makes of a list."""
        k = next((k for k, e in enumerate(self.layers) if e["name"] == name), None)
        if k is None:  # the input
            return False
        feeds, kind = self.layers[k].get("from", [self.layers[k - 1]["name"] if k else "input"]), self.layers[k]["kind"]
        return kind == "batch_norm" or kind in ("activation", "add", "concat") and all(self.one_place(n) for n in feeds)

    def lists(self, step, values):
        """Values that are lists, all of them to psafe too unless none is."""
        places = [self.one_place(v.name) for v in values]
        if all(places) or not any(places):
            return values
        return [_Value(self.emit(step, "flatten", [v], v.shape, True).name, v.shape, True) if place else v for v, place in zip(values, places)]

    # -- operations

    def lower(self, step):
        """The value of a step."""
        op = step.op
        if op == "input":
            return _Value("input", self.shape, True)
        if not step.feeds:
            raise ValueError("%s: what it gives does not depend on the input" % step.place)
        v, out = self.values[step.feeds[0].index], step.shape[1:] or (1,)
        if (op in RESHAPES or op in ("repeat", "expand")) and all(  # einops.repeat of one: the axis of the batch, of two, is the first that is not 1
                tuple(itertools.dropwhile(lambda n: n == 1, s.shape)) == tuple(itertools.dropwhile(lambda n: n == 1, step.shape)) for s in step.feeds[:1]):
            return v
        if step.shape[:1] != self.recorder.all[0].shape[:1]:
            raise ValueError("%s: gives the shape %s for %d inputs: psafe wants inputs one by one, with the axis of the batch first"
                             % (step.place, step.shape, self.recorder.all[0].shape[0]))
        if op in CONSTANTS:
            made = _Value("", out, False)
            made.constant = np.asarray(to_numpy(step.value)[0], np.float64).reshape(out)
            return made
        if v.constant is not None and op not in ("cat", "stack", "add", "radd", "sub", "rsub", "mul", "rmul", "maximum", "minimum", "max", "min") and op not in SAME_NUMBERS:
            raise ValueError("%s: takes numbers that do not depend on the input: write them as a constant" % step.place)
        if op == "random":
            return self.random(step, v, out)
        if op in SAME_NUMBERS:
            return v
        if op in RESHAPES:
            return self.reshape(step, v, out)
        if op in MOVES:
            return self.move(step, v, out)
        method = getattr(self, "on_" + op, None)
        if method is None:
            if op.startswith("conv_transpose"):
                raise ValueError("%s: psafe has no transposed convolution" % step.place)
            names = _names_for(step.module)
            if names is not None and id(step.module) not in self.recorder.leaves:
                raise ValueError("%s: psafe has no %s: if this is a layer with random weights, names=%s says so: the weight, its spread, the bias, its spread "
                                 "and what a spread is" % (step.place, op.replace("get ", "."), names))
            if op == "stale":
                raise ValueError("%s: takes a tensor that was changed in place through another one: use operations that make new tensors" % step.place)
            raise ValueError("%s: psafe has no %s: it has convolutions, batch norms, max and average pools, sums and concatenations of layers, and "
                             "the activations %s" % (step.place, op.replace("get ", "."), WORDS))
        return method(step, v, out, step.bound())

    def layer(self, t):
        """Whether an argument is what a layer gives, and no constant."""
        return isinstance(t, _Step) and self.values[t.index].constant is None

    def two(self, step, a):
        """The values of a function of two, or the value of one and the constant beside it."""
        one, other = a["input"], a["other"]
        one, other = (self.values[t.index].constant if isinstance(t, _Step) and not self.layer(t) else t for t in (one, other))
        if isinstance(one, _Step) and isinstance(other, _Step):
            return self.values[one.index], self.values[other.index], None
        if not isinstance(one, _Step) and not isinstance(other, _Step):
            raise ValueError("%s: what it gives does not depend on the input: write it as a constant" % step.place)
        if isinstance(other, _Step):
            one, other = other, one
        c = np.asarray(_numbers(np.float64(other) if isinstance(other, (int, float)) else other, step.place), np.float64)
        if not isinstance(other, (int, float)):
            self.take(other)
        if c.ndim == len(step.shape) and (c == c[:1]).all():  # also of inputs alike, such as a state of zeros and what comes of it
            c = c[0]
        try:
            return self.values[one.index], None, np.array(np.broadcast_to(c, step.shape[1:] or (1,)))
        except ValueError:
            raise ValueError("%s: a constant of shape %s does not belong to each input alike" % (step.place, c.shape)) from None

    def take(self, tensor):
        self.used |= {id(tensor), id(getattr(tensor, "_base", None))}

    def place(self, step, v, shape, at, constant=None):
        """The channels of v, or the numbers of a list, at the places at of a value of this shape; elsewhere constant, or 0."""
        W, axes = np.zeros((shape[0], v.shape[0]), np.float32), len(v.shape) - 1
        W[at, np.arange(len(at))] = 1
        unit = _Unit(step.place, "identity")
        unit.put("weight", "mean", W.reshape(W.shape + (1,) * axes), None)
        if constant is not None and np.any(constant):
            unit.put("bias", "mean", constant, None)
        if axes == 0:
            return self.emit(step, "dense", [v], shape, True, unit, out=shape[0])
        if axes > 2:
            raise ValueError("%s: takes the shape %s: psafe has images of one and two axes" % (step.place, v.shape))
        return self.emit(step, "conv%dd" % axes, [v], shape, False, unit, kernel=[1] * axes, filters=shape[0], **self.image(v))

    def padded(self, step, v):
        """An image with the zeros around it: a convolution whose windows are single places."""
        base, axes = v.base, len(v.pads)
        unit = _Unit(step.place, "identity")
        unit.put("weight", "mean", np.ones((base.shape[0], 1) + (1,) * axes, np.float32), None)
        return self.emit(step, "conv%dd" % axes, [base], v.shape, False, unit, kernel=[1] * axes, filters=base.shape[0], groups=base.shape[0],
                         padding=v.pads, **self.image(base))

    def affine(self, step, v, gain, shift):
        """gain * x + shift by constants: the file's mean and std, or a batch norm."""
        gain, shift = (np.array(np.broadcast_to(a, v.shape)) for a in (gain, shift))
        axes = tuple(range(1, len(v.shape)))
        if v.name == "input":
            mean, std = v.front or (np.zeros(v.shape), np.ones(v.shape))
            if (gain <= 0).any():
                raise ValueError("%s: multiplies the inputs by numbers that are not above 0: that is no normalisation" % step.place)
            # (x - mean) / std, times gain, plus shift
            std = std / gain
            return _Value("input", v.shape, True, (mean - shift * std, std))
        if np.ptp(gain, axis=axes).any() or np.ptp(shift, axis=axes).any():
            of, n = self.flatten(step, v), int(np.prod(v.shape))  # psafe has them for each number of a list
            return _Value(self.norm(step, _Value(of.name, (n,), True), gain.reshape(n), shift.reshape(n)).name, v.shape, True)
        g, s = (a.reshape(a.shape[0], -1)[:, 0] for a in (gain, shift))
        return self.norm(step, v, g, s)

    def norm(self, step, v, gain, shift):
        unit = _Unit(step.place, "identity")
        unit.put("weight", "mean", gain, None)
        unit.put("bias", "mean", shift, None)
        flat = v.flat and len(v.shape) == 1
        return self.emit(step, "batch_norm", [v], v.shape, flat, unit, **self.image(v))

    def on_add(self, step, v, out, a):
        one, other, c = self.two(step, a)
        if a.get("alpha", 1) != 1 and (c is not None or a["alpha"] == 0):
            raise ValueError("%s: alpha=%s: multiply the constant itself" % (step.place, a["alpha"]))
        if c is not None:
            t = a["other"] if self.layer(a["input"]) else a["input"]
            return self.biased(step, one, c, t) or self.affine(step, one, 1.0, c)
        if a.get("alpha", 1) != 1:
            other = self.norm(step, other, np.full(other.shape[0], float(a["alpha"])), np.zeros(other.shape[0]))
        if one.shape != other.shape:
            raise ValueError("%s: adds the shapes %s and %s: psafe adds layers of one shape" % (step.place, one.shape, other.shape))
        lists = one.flat and other.flat
        if lists:
            one, other = self.lists(step, [one, other])
        shape = {"input_shape": list(one.shape)} if (one.flat or other.flat) and not lists and len(one.shape) > 1 else {}
        return self.emit(step, "add", [one, other], out, lists, **shape)

    on_radd = on_add

    def biased(self, step, v, c, tensor):
        """A constant that is added to a layer which has no bias yet, as that bias; None where that is another network."""
        unit, feed = self.units.get(len(self.layers) - 1), next((s for s in step.feeds if self.values[s.index] is v), None)
        if (unit is None or feed is None or self.watch.get(self.layers[-1]["name"]) is not feed or self.takers[feed.index] != 1 or self.layers[-1]["kind"] == "batch_norm"
                or unit.bias is not None or unit.covariance is not None or unit.word["weight"] != "none" and id(tensor) not in self.normal):
            return None
        c = c.reshape(v.shape[0], -1) if c.shape == v.shape else np.zeros((0, 2))
        if len(c) != unit.outputs or np.ptp(c, axis=1).any():
            return None
        mean, sd = self.normal.get(id(tensor), (None, None))
        unit.put("bias", "mean", c[:, 0] if mean is None else np.reshape(mean, -1), None)
        if id(tensor) in self.normal:
            self.met.add(id(tensor))
            unit.source = unit.source[0], tensor, unit.source[2]
        if sd is not None:
            unit.put_scale("bias", np.reshape(sd, -1), "sd", None)
        self.watch[v.name] = step
        return v

    def on_sub(self, step, v, out, a):
        one, other, c = self.two(step, a)
        if c is None:
            return self.on_add(step, v, out, dict(a, alpha=-a.get("alpha", 1)))
        if a.get("alpha", 1) != 1:
            raise ValueError("%s: alpha=%s: multiply the constant itself" % (step.place, a["alpha"]))
        return self.affine(step, one, 1.0, -c) if self.layer(a["input"]) else self.affine(step, one, -1.0, c)

    def on_rsub(self, step, v, out, a):
        return self.on_sub(step, v, out, dict(a, input=a["other"], other=a["input"]))

    def on_mul(self, step, v, out, a):
        one, other, c = self.two(step, a)
        if c is None:
            raise ValueError("%s: multiplies two layers with each other, which psafe has not" % step.place)
        return self.affine(step, one, c, 0.0)

    on_rmul = on_mul

    def on_div(self, step, v, out, a):
        one, other, c = self.two(step, a)
        if c is None or not self.layer(a["input"]) or a.get("rounding_mode"):
            raise ValueError("%s: divides by a layer, or rounds: psafe divides by constants alone" % step.place)
        if one.name == "input" and (c > 0).all():  # without the rounding of 1 / c
            mean, std = one.front or (np.zeros(one.shape), np.ones(one.shape))
            return _Value("input", one.shape, True, (mean, std * c))
        with np.errstate(divide="ignore"):
            return self.affine(step, one, 1 / c, 0.0)

    def on_neg(self, step, v, out, a):
        return self.affine(step, v, -1.0, 0.0)

    def on_dropout(self, step, v, out, a):
        if a.get("training", True) and a.get("p", 0.5) > 0:
            raise ValueError("%s: it drops in evaluation too (training is True): %s" % (
                step.place, "use nn.Dropout, which drops as eval() and train() say" if self.drops else
                "write training=self.training; MC dropout is save_torch_dropout"))
        if self.drops and a.get("p", 0.5) > 0:
            kind = _kind(step.module)
            if kind not in ("Dropout", "Dropout1d", "Dropout2d") or v.name == "input" and v.front is not None:
                raise ValueError("%s: psafe has nn.Dropout, which drops numbers one by one, nn.Dropout1d and nn.Dropout2d, which drop channels, and none of "
                                 "inputs before they are normalised" % step.place)
            if kind != "Dropout" and len(v.shape) != int(kind[-2]) + 1:
                raise ValueError("%s: %s of numbers of the shape %s: want channels and their places" % (step.place, kind, v.shape))
            value = _Value(v.name, v.shape, v.flat, v.front)
            value.rate, value.channels, value.dropped = float(a.get("p", 0.5)), kind != "Dropout", step
            return value
        self.notes.append("Dropout(%g) is off, as in evaluation" % a.get("p", 0.5))
        return v

    def on_softmax(self, step, v, out, a):
        raise ValueError("%s: comes before other layers, and psafe has a softmax at the end only" % step.place)

    on_log_softmax = on_softmax

    def act(self, step, v, word):
        word = activation_word(word, step.place)
        return self.emit(step, "activation", [v], v.shape, v.flat, None, word, activation=word)

    def on_relu(self, step, v, out, a):
        return self.act(step, v, "relu")

    def on_tanh(self, step, v, out, a):
        return self.act(step, v, "tanh")

    def on_sigmoid(self, step, v, out, a):
        return self.act(step, v, "sigmoid")

    def on_leaky_relu(self, step, v, out, a):
        return self.act(step, v, "leaky_relu:%r" % float(a.get("negative_slope", 0.01)))

    def on_elu(self, step, v, out, a):
        return self.act(step, v, "elu:%r" % float(a.get("alpha", 1.0)))

    def on_softplus(self, step, v, out, a):
        if float(a.get("beta", 1)) != 1:
            raise ValueError("%s: psafe has softplus with beta 1 only" % step.place)
        return self.act(step, v, "softplus")

    def on_clamp(self, step, v, out, a):
        lo, hi = a.get("min"), a.get("max")
        if not all(t is None or isinstance(t, (int, float)) for t in (lo, hi)) or lo is not None and hi is not None and lo >= hi:
            raise ValueError("%s: between %s and %s: psafe has numbers as limits, the lower first" % (step.place, lo, hi))
        n = v.shape[0]
        return self.between(step, v, *(None if t is None else np.full(n, float(t)) for t in (lo, hi)))

    def between(self, step, v, lo, hi):
        """max(z, lo) = lo + relu(z - lo), and min of that and hi = hi - relu((hi - lo) - relu(z - lo)); None is no limit."""
        def line(v, gain, shift):
            plain = gain == 1 and not shift.any()
            return v if plain else self.norm(step, v, np.full(len(shift), gain), shift)

        if lo is not None:
            v = self.act(step, line(v, 1.0, -lo), "relu")
            if hi is None:
                return line(v, 1.0, lo)
        v = self.act(step, line(v, -1.0, hi if lo is None else hi - lo), "relu")
        return line(v, -1.0, hi)

    def on_clamp_min(self, step, v, out, a):
        return self.on_clamp(step, v, out, a)

    on_clamp_max = on_clamp_min

    def on_relu6(self, step, v, out, a):
        return self.on_clamp(step, v, out, {"min": 0, "max": 6})

    def on_hardtanh(self, step, v, out, a):
        return self.on_clamp(step, v, out, {"min": a.get("min_val", -1.0), "max": a.get("max_val", 1.0)})

    def on_maximum(self, step, v, out, a):
        if len(step.args) + len(step.kwargs) != 2 or not isinstance(a.get("other"), (_Step, self.torch.Tensor)):  # max(x, dim) is over places
            raise ValueError("%s: psafe has it of a layer and a constant; amax over all places of an image" % step.place)
        one, _, c = self.two(step, a)
        if c is None or c.shape != one.shape or np.ptp(c.reshape(len(c), -1), axis=1).any():
            raise ValueError("%s: psafe has it of a layer and a constant, one for each channel" % step.place)
        c = c.reshape(len(c), -1)[:, 0]
        return self.between(step, one, *((c, None) if step.op in ("maximum", "max") else (None, c)))

    on_minimum = on_max = on_min = on_maximum

    def on_threshold(self, step, v, out, a):
        if a["threshold"] != 0 or a["value"] != 0:
            raise ValueError("%s: psafe has the threshold 0 with the value 0 alone, which is relu" % step.place)
        return self.act(step, v, "relu")

    def on_prelu(self, step, v, out, a):
        slope = np.asarray(_numbers(self.parameter(step, a["weight"], "slope"), step.place), np.float64)
        if id(a["weight"]) in self.normal or np.ptp(slope) or not 0 <= slope.flat[0] <= 1:
            raise ValueError("%s: psafe has leaky_relu with one certain slope between 0 and 1" % step.place)
        slope = float(slope.flat[0])
        return self.act(step, v, "relu") if slope == 0 else v if slope == 1 else self.act(step, v, "leaky_relu:%r" % slope)

    def on_rrelu(self, step, v, out, a):
        if a.get("training"):
            raise ValueError("%s: it draws in evaluation too (training is True): write training=self.training" % step.place)
        return self.act(step, v, "leaky_relu:%r" % ((float(a.get("lower", 1 / 8)) + float(a.get("upper", 1 / 3))) / 2))

    def on_celu(self, step, v, out, a):
        if float(a.get("alpha", 1.0)) != 1:
            raise ValueError("%s: psafe has celu with alpha 1 alone, which is elu:1" % step.place)
        return self.act(step, v, "elu:1.0")

    def on_log_sigmoid(self, step, v, out, a):  # -softplus(-z)
        n = v.shape[0]
        v = self.act(step, self.norm(step, v, np.full(n, -1.0), np.zeros(n)), "softplus")
        return self.norm(step, v, np.full(n, -1.0), np.zeros(n))

    def on_pad(self, step, v, out, a):
        pads, n = [int(p) for p in a["pad"]], len(v.shape)
        if a.get("mode", "constant") != "constant" or max(pads) <= 0:  # copies of its numbers, or fewer of them
            return self.move(step, v, out)
        pairs = [[0, 0]] * (n - len(pads) // 2) + [pads[i:i + 2] for i in range(len(pads) - 2, -1, -2)]
        value = float(a.get("value") or 0)
        if value or min(pads) < 0 or n > 3:
            raise ValueError("%s: pads by %s with %g: psafe has zeros around lists and images%s" % (
                step.place, tuple(pads), value, "; cut and pad in two calls" if min(pads) < 0 and not value else ""))
        if n == 1:  # an image of one channel
            made = _Value(v.name, (1,) + out, False)
            made.base, made.pads = _Value(v.name, (1,) + v.shape, True, v.front), pairs
            return self.flatten(step, self.padded(step, made))
        if pairs[0] != [0, 0]:
            v = self.place(step, v, (out[0],) + v.shape[1:], pairs[0][0] + np.arange(v.shape[0]))
        if not np.any(pairs[1:]):
            return v
        made = _Value(v.name, out, False)
        made.base, made.pads = v, pairs[1:]
        return made

    on_constant_pad_nd = on_pad

    def reshape(self, step, v, out):
        if out == v.shape:
            return v
        if v.name == "input":
            front = None if v.front is None else tuple(np.reshape(a, out) for a in v.front)
            return _Value("input", out, True, front)
        v = self.flatten(step, v)
        return _Value(v.name, out, True)

    def move(self, step, v, out):
        """What only moves numbers, by where it moves their indices."""
        n, batch = int(np.prod(v.shape)), step.shape[0]
        where = self.torch.arange(batch * n, dtype=self.torch.float64).reshape((batch,) + v.shape)
        with self.torch.no_grad():
            args, kwargs = (_replaced(a, _Step, lambda s: where) for a in (step.args, step.kwargs))
            moved = step.function(*args, **kwargs)
        moved = to_numpy(moved if step.part is None else moved[step.part]).reshape(batch, -1).astype(np.int64)
        if not all(np.array_equal(row - i * n, moved[0]) for i, row in enumerate(moved)) or moved[0].min() < 0 or moved[0].max() >= n:
            raise ValueError("%s: mixes the inputs of a batch" % step.place)
        if np.array_equal(moved[0], np.arange(n)):
            return self.reshape(step, v, out)
        v = self.flatten(step, v)
        v = self.emit(step, "reorder", [v], (len(moved[0]),), True, take=[int(i) for i in moved[0]])
        return _Value(v.name, out, True)

    def on_cat(self, step, v, out, a):
        values, at, constant, n, axis = [], [], np.zeros(out[0]), 0, a.get("dim", 0) % len(step.shape)
        if axis != 1:
            raise ValueError("%s: psafe joins layers along their channels (dim=1)" % step.place)
        for t in a["tensors"]:
            value = self.values[t.index] if isinstance(t, _Step) else None
            if value is not None and value.constant is None:
                values.append(value)
                at, n = at + list(range(n, n + value.shape[0])), n + value.shape[0]
                continue
            c = np.asarray(_numbers(t, step.place) if value is None else value.constant[None], np.float64)
            c, n = c.reshape(c.shape[:2] + (-1,)), n + c.shape[1]
            if (c != c[:1, :, :1]).any():
                raise ValueError("%s: joins layers with constants that differ from place to place, or from input to input" % step.place)
            constant[n - c.shape[1]:n] = c[0, :, 0]
            if value is None:
                self.take(t)
        if not values:
            raise ValueError("%s: what it gives does not depend on the input" % step.place)
        if len(at) < out[0]:
            v = self.joined(step, values, (len(at),) + out[1:])
            return self.place(step, v, out, at, constant)
        return self.joined(step, values, out)

    def on_stack(self, step, v, out, a):
        if a.get("dim", 0) % len(step.shape) != 1 or len(step.shape) != 2:
            raise ValueError("%s: psafe stacks single numbers to a list (dim=1) alone: cat joins layers" % step.place)
        return self.on_cat(step, v, out, dict(a, tensors=[t if isinstance(t, _Step) else t.reshape(-1, 1) for t in a["tensors"]]))

    def joined(self, step, values, out):
        """Layers one after the other, along their channels."""
        if len(values) == 1:
            return values[0]
        if any(v.flat for v in values):
            values = self.lists(step, [self.flatten(step, v) for v in values])
        flat = values[0].flat
        made = self.emit(step, "concat", values, out, flat)
        return _Value(made.name, out, flat)

    # -- layers with weights

    def parameter(self, step, tensor, what):
        base = getattr(tensor, "_base", None)
        if id(tensor) not in self.recorder.known and id(base) in self.recorder.known and base.is_contiguous() and id(base) not in self.normal:
            self.take(base)  # a transpose, or another view of a parameter
        elif id(tensor) not in self.recorder.known:
            made_of = _reweighted(step.module, what, tensor)
            if made_of and not any(id(p) in self.normal for p in made_of):
                for p in made_of:
                    self.take(p)
                return tensor
            raise ValueError("%s: its %s is computed in forward() and is no parameter, so its mean and spread are not known: names= says "
                             "where a layer keeps them (the weight, its spread, the bias, its spread, scale word)" % (step.place, what))
        self.take(tensor)
        return tensor

    def certain(self, step, a, layout=None):
        """The parameters of a layer without spreads."""
        unit = _Unit(step.place, "identity")
        unit.source = a["weight"], a.get("bias"), layout == "in,out"
        for part in ("weight", "bias"):
            if a.get(part) is None:
                continue
            tensor = self.parameter(step, a[part], part)
            mean, sd = self.normal.get(id(tensor), (tensor, None))
            unit.put(part, "mean", mean, layout)
            if id(tensor) in self.normal:
                if id(tensor) in self.met:
                    raise ValueError("%s: its %s is used twice, and psafe takes two layers to be independent" % (step.place, part))
                self.met.add(id(tensor))
            if sd is not None:
                unit.put_scale(part, sd, "sd", layout)
        for layer, covariance in self.law[1] if self.law is not None else ():
            if any(a.get(part) is not None and a[part] is getattr(layer, part) for part in ("weight", "bias")):
                if not all(a.get(part) is getattr(layer, part) for part in ("weight", "bias")) or a.get("groups", 1) != 1:
                    raise ValueError("%s: takes a weight and a bias that are not of one layer, or groups" % step.place)
                unit.covariance = covariance
        return unit

    def on_linear(self, step, v, out, a):
        own = getattr(step.module, "_parameters", {})
        item = step.module if _kind(step.module) == "Linear" and a["weight"] is own.get("weight") and a.get("bias") is own.get("bias") else None
        return self.dense(step, v, out, self.certain(step, a), item)

    def dense(self, step, v, out, unit, item):
        if len(v.shape) != 1:
            raise ValueError("%s: is dense and takes the shape %s: put a Flatten before it" % (step.place, v.shape))
        return self.emit(step, "dense", [v], out, True, unit, item, out=unit.outputs)

    def on_matmul(self, step, v, out, a):
        if not isinstance(a["input"], _Step) or isinstance(a["other"], _Step):
            raise ValueError("%s: psafe has the product of a layer, on the left, and a parameter" % step.place)
        if a.get("beta", 1) != 1 or a.get("alpha", 1) != 1 or isinstance(a.get("bias"), _Step):
            raise ValueError("%s: psafe has x @ W + b alone, with parameters W and b" % step.place)
        weight = a["other"]
        if weight.dim() > 2 or weight.dim() < 2 and id(weight) in self.normal:
            raise ValueError("%s: multiplies by a tensor of shape %s: want a matrix" % (step.place, tuple(weight.shape)))
        return self.dense(step, v, out, self.certain(step, dict(weight=weight, bias=a.get("bias")), "in,out"), None)

    on_mm = on_rmatmul = on_addmm = on_matmul

    def on_einsum(self, step, v, out, a):
        equation, operands = str(step.args[0]).replace(" ", ""), step.args[1:]
        operands = list(operands[0]) if len(operands) == 1 and isinstance(operands[0], (list, tuple)) else list(operands)
        found = re.fullmatch(r"(\w)(\w),(\w)(\w)->(\w)(\w)", equation)
        n, i, w0, w1, n2, o = found.groups() if found else "      "
        if not found or not isinstance(operands[0], _Step) or isinstance(operands[1], _Step) or n != n2 or {w0, w1} != {i, o} or len({n, i, o}) < 3:
            raise ValueError("%s: psafe has einsum for a layer times a matrix alone, as \"ni,io->no\"" % step.place)
        return self.dense(step, v, out, self.certain(step, dict(weight=operands[1]), "in,out" if w0 == i else None), None)

    def on_conv1d(self, step, v, out, a):
        return self.conv(step, v, out, self.certain(step, a), 1, a)

    def on_conv2d(self, step, v, out, a):
        return self.conv(step, v, out, self.certain(step, a), 2, a)

    def conv(self, step, v, out, unit, n, a):
        weight = next(iter(unit.weight.values()))
        if len(v.shape) != n + 1:
            raise ValueError("%s: takes the shape %s: psafe wants (channels, %s) in front of it" % (step.place, v.shape, "length" if n == 1 else "rows, columns"))
        kernel, strides, dilation = list(weight.shape[2:]), _several(a.get("stride", 1), n), _several(a.get("dilation", 1), n)
        padding = a.get("padding", 0)
        if padding == "same":
            total = [d * (k - 1) for d, k in zip(dilation, kernel)]
            pairs = [[t // 2, t - t // 2] for t in total]
        else:
            pairs = [[p, p] for p in _several(0 if padding == "valid" else padding, n)]
        if v.pads is not None:
            pairs, v = [[p + q for p, q in zip(*both)] for both in zip(pairs, v.pads)], v.base
        fields = {"kernel": kernel, "filters": unit.outputs}
        for name, value, plain in (("strides", strides, [1] * n), ("padding", pairs, [[0, 0]] * n), ("dilation", dilation, [1] * n),
                                   ("groups", int(a.get("groups", 1)), 1)):
            if value != plain:
                fields[name] = value
        return self.emit(step, "conv%dd" % n, [v], out, False, unit, **dict(fields, **self.image(v)))

    def random(self, step, v, out):
        d, seen = step.args
        if d in self.drawn:
            raise ValueError("%s: is called twice, and psafe takes two layers to be independent: use two layers" % step.place)
        tied = [o.label for o in self.drawn if o.weight is d.weight or o.weight_scale is d.weight_scale]
        if tied:
            raise ValueError(TIED % (step.place, tied[0]))
        unit, axes = _Unit(d.label, "identity"), len(d.weight.shape)
        for part, mean, spread in (("weight", d.weight, d.weight_scale), ("bias", d.bias, d.bias_scale)):
            if mean is not None:
                unit.put(part, "mean", mean, d.layout if axes == 2 else None)
            if mean is not None and spread is not None:
                unit.put_scale(part, spread, d.word, d.layout if axes == 2 else None)
        self.drawn.append(d)
        d.unit = unit
        unit.source = d.weight, d.bias, axes == 2 and d.layout == "in,out"
        if axes == 2:
            return self.dense(step, v, out, unit, d.module)
        if axes == 1:
            return self.random_norm(step, v, unit, d, seen)
        if axes not in (3, 4):
            raise ValueError("%s: random weights of %d axes: psafe has those of dense layers, convolutions and batch norms" % (step.place, axes))
        if d.layout != "out,in":
            raise ValueError("%s: names= says in,out, which is for dense layers: kernels are (filters, channels, rows, columns)" % step.place)
        calls = [dict((k, a.get(k)) for k in CONV.split()[3:]) for op, a in seen if op == "conv%dd" % (axes - 2)]
        if not calls or len(calls) != len(seen) or any(c != calls[0] for c in calls):
            raise ValueError("%s: its forward() calls %s, where conv%dd was expected, always alike: its stride and padding are not known"
                             % (step.place, ", ".join(sorted({op for op, _ in seen})) or "no convolution", axes - 2))
        d.geometry = dict((k, c) for k, c in calls[0].items() if c is not None)
        return self.conv(step, v, out, unit, axes - 2, d.geometry)

    def random_norm(self, step, v, unit, d, seen):
        """A batch norm with random gains and shifts, behind one without: the file's gains have its variances in them."""
        if [op for op, _ in seen] != ["batch_norm"]:
            raise ValueError("%s: random weights of one axis: psafe has those of batch norms, and its forward() calls %s" % (
                step.place, " and ".join(sorted({op for op, _ in seen})) or "none"))
        v = self.on_batch_norm(step, v, v.shape, dict(seen[0][1], weight=None, bias=None))
        last = self.units[len(self.layers) - 1]
        gain, shift, axes = last.centre("weight"), last.centre("bias"), len(v.shape) - 1
        d.place = lambda x: (x - shift.reshape((1, -1) + (1,) * axes)) / gain.reshape((1, -1) + (1,) * axes)
        d.axes = axes
        return self.emit(step, "batch_norm", [v], v.shape, v.flat and not axes, unit, **self.image(v))

    def on_batch_norm(self, step, v, out, a):
        if a.get("training") or a["running_mean"] is None:
            raise ValueError("%s: a batch norm without running statistics is no fixed function: track_running_stats=True, and eval()" % step.place)
        for what in ("weight", "bias", "running_mean", "running_var"):
            if a.get(what) is not None:
                self.parameter(step, a[what], what)
        norm = type("", (), dict(running_mean=a["running_mean"], running_var=a["running_var"], weight=a.get("weight"), bias=a.get("bias"),
                                 eps=a.get("eps", 1e-5)))
        return self.norm(step, v, *_batchnorm(norm, step.place))

    # -- pools

    def window(self, step, v, a, n):
        """kernel, strides and padding of a pool; with ceil_mode, padding behind as far as windows reach."""
        kernel = _several(a["kernel_size"], n)
        strides = _several(a["stride"], n) if a.get("stride") not in (None, [], ()) else kernel
        padding, dilation = _several(a.get("padding", 0), n), _several(a.get("dilation", 1), n)
        if len(v.shape) != n + 1:
            raise ValueError("%s: takes the shape %s: psafe wants (channels, %s) in front of it" % (step.place, v.shape, "length" if n == 1 else "rows, columns"))
        pairs = []
        for size, got, k, s, p, d in zip(v.shape[1:], step.shape[2:], kernel, strides, padding, dilation):
            over = (got - 1) * s + d * (k - 1) + 1 - (size + 2 * p)
            pairs.append([p, p + max(0, over)])
        fields = {"kernel": kernel}
        for name, value, plain in (("strides", strides, kernel), ("padding", pairs, [[0, 0]] * n), ("dilation", dilation, [1] * n)):
            if value != plain:
                fields[name] = value
        return dict(fields, **self.image(v)), any(b > p for (p, b) in pairs)

    def max_pool(self, step, v, out, a, n):
        if a.get("return_indices"):
            raise ValueError("%s: return_indices=True: psafe has the maxima alone" % step.place)
        fields, _ = self.window(step, v, a, n)
        return self.emit(step, "max_pool", [v], out, **fields)

    def avg_pool(self, step, v, out, a, n):
        if a.get("divisor_override") is not None:
            raise ValueError("%s: divisor_override=%s: psafe divides by the size of the window" % (step.place, a["divisor_override"]))
        fields, over = self.window(step, v, a, n)
        count = bool(a.get("count_include_pad", True))
        if over and count and "padding" in fields and a.get("padding", 0) not in (0, (0, 0), [0, 0]):
            raise ValueError("%s: ceil_mode=True with padding that counts: torch divides by another number at the edge; give "
                             "count_include_pad=False or ceil_mode=False" % step.place)
        if "padding" in fields and count and not over:
            fields["count_padding"] = True
        return self.emit(step, "avg_pool", [v], out, **fields)

    def on_max_pool1d(self, step, v, out, a):
        return self.max_pool(step, v, out, a, 1)

    def on_max_pool2d(self, step, v, out, a):
        return self.max_pool(step, v, out, a, 2)

    def on_avg_pool1d(self, step, v, out, a):
        return self.avg_pool(step, v, out, a, 1)

    def on_avg_pool2d(self, step, v, out, a):
        return self.avg_pool(step, v, out, a, 2)

    def adaptive(self, step, v, out, kind):
        sizes = v.shape[1:], out[1:]
        if sizes[0] == sizes[1]:
            return v
        if all(n == 1 for n in sizes[1]):
            return self.emit(step, "global_" + kind, [v], out, **self.image(v))
        if any(n % m for n, m in zip(*sizes)):
            raise ValueError("%s: from %s to %s: its windows differ in size, which psafe has not; choose an output that divides the input"
                             % (step.place, list(sizes[0]), list(sizes[1])))
        return self.emit(step, kind, [v], out, kernel=[n // m for n, m in zip(*sizes)], **self.image(v))

    def on_adaptive_avg_pool1d(self, step, v, out, a):
        return self.adaptive(step, v, out, "avg_pool")

    def on_adaptive_max_pool1d(self, step, v, out, a):
        return self.adaptive(step, v, out, "max_pool")

    on_adaptive_avg_pool2d, on_adaptive_max_pool2d = on_adaptive_avg_pool1d, on_adaptive_max_pool1d

    def everywhere(self, step, v, out, a, kind):
        """A mean or a maximum over all places of an image."""
        dims = a.get("dim")
        dims = () if dims is None else _several(dims, 1)
        axes = sorted(d % len(step.feeds[0].shape) for d in dims)
        if len(v.shape) < 2 or axes != list(range(2, len(v.shape) + 1)):
            raise ValueError("%s: over the axes %s: psafe has it over all places of an image, (2, 3)" % (step.place, list(dims)))
        made = self.emit(step, kind, [v], out, **self.image(v))
        return made if len(out) > 1 else self.flatten(step, _Value(made.name, (out[0], 1, 1), False))

    def on_mean(self, step, v, out, a):
        return self.everywhere(step, v, out, a, "global_avg_pool")

    def on_amax(self, step, v, out, a):
        return self.everywhere(step, v, out, a, "global_max_pool")

    # -- what became of it

    def chain(self):
        """The layers as save_torch's layers=, if they are dense layers of modules one after the other, else None."""
        layers = self.layers[:-1] if self.bound else self.layers
        if any("from" in e or e["kind"] not in ("dense", "activation", "flatten") for e in layers):
            return None
        pairs = [(e, item) for e, item in zip(layers, self.items) if e["kind"] != "flatten"]
        return None if any(item is None for _, item in pairs) else [item for _, item in pairs]

    def evaluate(self, x, watch=None, drawn=(), masks=()):
        """The logits of the layers in float64 for x, (N, inputs) behind the normalisation, and the
        magnitude of the terms of the last sums; watch(layer, its numbers) is called for each. drawn has weights and
        biases in the place of the means, by layer, and masks by the steps that drop."""
        torch = self.torch
        values = {"input": torch.as_tensor(np.asarray(x, np.float64))}
        last, size, more = "input", None, 0
        with torch.no_grad():
            for k, e in enumerate(self.layers):
                feeds = [values["input"].reshape((-1,) + self.shape) if n == "input" else values[n] for n in e.get("from", [last])]
                if "input_shape" in e:
                    feeds = [h.reshape([len(x)] + e["input_shape"]) for h in feeds]
                unit = self.units.get(k)
                weights = None if unit is None else tuple(map(torch.as_tensor, drawn[k] if k in drawn else [unit.centre(p) for p in ("weight", "bias")]))
                if unit is not None and unit.dropped in masks:
                    mask = torch.as_tensor(masks[unit.dropped])
                    feeds = [h * mask.reshape((1,) + tuple(h.shape[1:]) if mask[0].numel() == h[0].numel() else (1, -1) + (1,) * (h.dim() - 2)) for h in feeds]
                if k == len(self.layers) - (3 if self.bound else 1) or k == len(self.layers) - 1:
                    size = self.apply(e, [h.abs() for h in feeds], weights and tuple(w.abs() for w in weights)) + more
                values[e["name"]] = self.apply(e, feeds, weights)
                if self.bound and k == len(self.layers) - 3:
                    more = torch.as_tensor(_carried(self.bound, values[e["name"]].numpy(), size.numpy())).flatten(1)
                last = e["name"]
                if watch is not None:
                    watch(last, values[last])
        own, size = (to_numpy(h).reshape(len(x), -1) for h in (values[last], size))
        return own, size

    def draw(self, rng, x):
        """As _compare_weights wants it."""
        put, drawn, common = [], {}, {}
        for k, unit in self.units.items():
            if unit.source is None or unit.covariance is None and unit.word == {"weight": "none", "bias": "none"}:
                continue
            drawn[k] = _drawn_layer(unit, rng, common)
            weight, bias, turned = unit.source
            put += [(t, a) for t, a in ((weight, drawn[k][0].T if turned else drawn[k][0]), (bias, drawn[k][1])) if t is not None]
        return put, lambda: self.evaluate(x, drawn=drawn)

    def masks_of(self, module, often, _, p):
        """Which step of the recorded run drops where module does it for so manyth time."""
        drops = [s for s in self.recorder.all if s.op == "dropout" and s.module is module and float(s.bound().get("p", 0.5)) > 0]
        known = {u.dropped for u in self.units.values() if u.dropped is not None}
        return drops[often] if often < len(drops) and drops[often] in known and drops[often].bound().get("p", 0.5) == p else None

    def apply(self, e, feeds, weights):
        torch, h, kind = self.torch, feeds[0], e["kind"]
        F, n = torch.nn.functional, feeds[0].dim() - 2
        if kind == "dense":
            return h.flatten(1) @ weights[0].T + weights[1]
        if kind == "flatten":
            return h.flatten(1)
        if kind == "reorder":
            return h.flatten(1)[:, e["take"]]
        if kind == "activation":
            name, _, slope = e["activation"].partition(":")
            return torch.as_tensor(ACTIVATIONS[name](h.numpy(), float(slope or 0)))
        if kind == "add":
            return feeds[0] + feeds[1].reshape(feeds[0].shape)
        if kind == "concat":
            return torch.cat(feeds, 1)
        if kind == "batch_norm":
            each = (1, -1) + (1,) * (h.dim() - 2)
            return h * weights[0].reshape(each) + weights[1].reshape(each)
        if kind.startswith("global"):
            return (h.amax if "max" in kind else h.mean)(tuple(range(2, h.dim())), keepdim=True)
        pads = [p for pair in reversed(e.get("padding", [[0, 0]] * n)) for p in pair]
        if kind.startswith("conv"):
            return getattr(F, kind)(F.pad(h, pads), weights[0], weights[1], e.get("strides", 1), 0, e.get("dilation", 1), e.get("groups", 1))
        strides = e.get("strides", e["kernel"])
        if kind == "max_pool":
            return getattr(F, "max_pool%dd" % n)(F.pad(h, pads, value=-np.inf), e["kernel"], strides, 0, e.get("dilation", 1))
        total, there = (getattr(F, "avg_pool%dd" % n)(F.pad(a, pads), e["kernel"], strides) for a in (h, torch.ones_like(h)))
        return total if e.get("count_padding") else total / there

    def differs(self, x, tolerance):
        """The first layer whose numbers are not those that the network had there, for the recorded inputs."""
        found = []

        def watch(name, h):
            step = self.watch.get(name)
            if step is None:  # on the way of a step that is several layers
                return
            want = np.asarray(to_numpy(step.value), np.float64).reshape(len(x), -1)
            own = to_numpy(h).reshape(len(x), -1)
            if not found and own.shape == want.shape and np.abs(own - want).max() > 100 * tolerance * max(np.abs(want).max(), 1e-12):
                found.append(step.place)

        self.evaluate(x, watch)
        return found[0] if found else None

    def two_classes(self, spread, said, x, classes):
        """The logits 0 and y in the place of one output, y or sigmoid(y): spread=, the logits and notes."""
        _one_logit(classes, int(np.prod(self.end.shape)), self.bound)
        spread, notes = list(spread), []
        if self.bound == "sigmoid":  # what it takes is the layer before it
            del self.units[len(self.layers) - 1], self.layers[-2:], self.items[-2:], spread[-1]
            self.bound, self.end = None, _Value(self.layers[-1]["name"], (1,), True)
            said = _logits_of(said, self.evaluate(x)[0])
            notes.append("the sigmoid at the end is left out: psafe speaks of logits")
        k = len(self.layers) - 1
        if self.layers[k]["kind"] != "dense":
            self.place(self.recorder.all[-1], self.end, (2,), [1])
            spread.append((None, None))
        else:
            self.units[k], spread[-1] = _two_logits(self.units[k], spread[-1])
            self.layers[k]["out"] = 2
        return spread, np.concatenate([np.zeros_like(said), said], 1), notes + _one_sided(said)

    def header(self):
        """The header and the arrays layers.*."""
        units = list(self.units.values())
        words = [u.word[p] for u in units for p in ("weight", "bias") if u.word[p] != "none"]
        main = max(sorted(set(words)), key=words.count) if words else "sd"
        header, arrays = {"format": "psafe-posterior", "version": 2, "scale": main, "layout": "out,in", "order": "channels_first",
                          "input_shape": list(self.shape), "layers": []}, {}
        needed = {n for e in self.layers for n in e.get("from", [])}
        for k, e in enumerate(self.layers):
            entry, unit = {f: a for f, a in e.items() if f != "name" or a in needed}, self.units.get(k)
            if unit is not None and unit.bias is None and (self.drops or self.member is not None):
                unit.put("bias", "mean", np.zeros(unit.outputs), None)
            if unit is not None and unit.bias is None:
                entry["bias"] = False
            if unit is not None and self.drops:
                entry["rate"] = unit.rate or 0
            for part in ("weight", "bias") if unit is not None else ():
                for name, a in (getattr(unit, part) or {}).items():
                    arrays["layers.%d.%s.%s" % (k, part, name)] = a
                if getattr(unit, part) and unit.word[part] != main and self.kind == "gaussian":
                    entry[part + "_scale"] = unit.word[part]
            if unit is not None and unit.covariance is not None:
                entry["covariance"], own = unit.covariance
                arrays.update(("layers.%d.covariance.%s" % (k, name), a) for name, a in own.items())
            header["layers"].append(entry)
        if self.law is not None:
            header["version"] = 3
        if self.kind != "gaussian":
            header["kind"] = self.kind
            del header["scale"]
        return header, arrays


# ---- torch: networks that are drawn ------------------------------------------------------------

# The logits of the mean network, or without dropout, do not show where masks act, nor that a weight acts in two places. So
# networks are drawn, the same ones in the framework and from the layers that are to be written, and compared too.

def _alike(evaluated, said, tolerance):
    """Whether the framework's logits, or what a softmax or log-softmax made of them, are those that were evaluated."""
    own, size = evaluated
    said = np.asarray(said, np.float64)
    if said.shape != own.shape:
        return False
    margin = tolerance * np.maximum(size.max(axis=1, keepdims=True), 1e-12)
    top = own.max(axis=1, keepdims=True)
    total = top + np.log(np.exp(own - top).sum(axis=1, keepdims=True))
    rounding = 2.0 ** -22 * (1 + np.abs(own) + np.abs(total))
    ends = [(own, 0.0)] + [(own - total, rounding), (np.exp(own - total), rounding)] * (own.shape[1] > 1)
    return any((np.abs(a - said) <= margin + more).all() for a, more in ends)


def _apart(evaluated, said, what, why):
    """The error for networks that differ."""
    own, said = evaluated[0], np.asarray(said, np.float64)
    if said.shape != own.shape:
        return ValueError("%s the framework gives the shape %s and these layers %s. Nothing was written" % (what, said.shape, own.shape))
    i, j = np.unravel_index(np.argmax(np.where(np.isfinite(said), np.abs(own - said), np.inf)), own.shape)
    return ValueError("%s output %d of input %d is %.9g in the framework and %.9g from these layers: %s. Nothing was written" % (
        what, j, i, said[i, j], own[i, j], why))


def _taken(model, tensors, candidates, evaluated, tolerance, values=(), predict=None):
    """Which of the candidates, raw and normalised inputs, the network takes, None if neither gives what was evaluated, and
    what it gives."""
    for x in candidates:
        try:
            said = _mean_logits(model, tensors, x, values, predict)
        except ValueError:
            continue
        if _alike(evaluated, said, tolerance):
            return x, said
    return None, None


NOT_DRAWN = "networks that are drawn were not compared with those of the framework: %s"


def _compare_weights(model, tensors, draw, candidates, evaluated, tolerance, values=(), predict=None):
    """Refuses layers of which two drawn networks are not those of the framework, and returns notes. draw(seed) gives pairs
    of a tensor and what it is to hold, and a function that evaluates the layers then."""
    x, mean = _taken(model, tensors, candidates, evaluated, 10 * tolerance, values, predict)
    if x is None:
        return [NOT_DRAWN % "it gives other logits than logits= says"]
    for seed in (1, 2):
        put, evaluate_drawn = draw(np.random.RandomState(seed))
        own = evaluate_drawn()
        said = _mean_logits(model, tensors, x, list(values) + put, predict)
        if _alike(own, said, 10 * tolerance):
            continue
        if predict is not None and np.array_equal(mean, said):
            return [NOT_DRAWN % "predict= does not call the network that was given"]
        raise _apart(own, said, "of a network that is drawn,",
                     "the mean network agrees, so see to whether forward() uses a random weight in other places too")
    return []


def _drawn_layer(layer, rng, common):
    """A draw of the weights and biases of a layer, as it keeps them; common has the numbers that layers of a joint law share."""
    W, b = layer.centre("weight"), layer.centre("bias")
    if layer.covariance is None:
        return tuple(a + (0 if np.isnan(layer.sd(p)).any() else layer.sd(p) * rng.standard_normal(a.shape)) for a, p in ((W, "weight"), (b, "bias")))
    word, law = layer.covariance
    if word == "kron":
        D = law["QG"] @ (law["sd"] * rng.standard_normal(law["sd"].shape)) @ law["QA"].T
    elif word == "rows":
        columns = law["factor"].shape[1]
        D = np.einsum("oik,ok->oi", law["factor"].reshape(len(b), -1, columns), rng.standard_normal((len(b), columns)))
    else:
        columns = law["factor"].shape[1]
        D = (law["factor"] @ common.setdefault(columns, rng.standard_normal(columns))).reshape(len(b), -1)
    rows = D[:, :-1] if isinstance(layer, _Unit) else D[:, :-1].T
    return W + rows.reshape(W.shape), b + D[:, -1] if layer.bias is not None else b


@contextlib.contextmanager
def _drawing(model, alone):
    """Puts a torch network into the mode in which it draws: into training mode all that keeps no running statistics, or
    Dropouts alone; afterwards its modes and buffers are what they were."""
    import torch
    modules = list(model.modules())
    kept = [(m.training, dict(m._buffers), {n: b.detach().clone() for n, b in m._buffers.items() if b is not None}) for m in modules]
    try:
        for m in modules:
            m.training = _kind(m) in DROPOUTS if alone else getattr(m, "running_mean", None) is None
        yield
    finally:
        with torch.no_grad():
            for m, (mode, buffers, values) in zip(modules, kept):
                m.training = mode
                for name, b in buffers.items():
                    m._buffers[name] = b
                    if b is not None:
                        b.copy_(values[name])


DROPOUTS = ("Dropout", "Dropout1d", "Dropout2d", "Dropout3d")


def _masked(model, call, x, like, given):
    """What call gives for x where all that functions of dropout keep is decided by given(module, how often it has dropped, p,
    shape): a mask, the same one for all inputs."""
    import torch
    path, counts, plain, known = [model], collections.Counter(), torch.nn.Module.__call__, {id(m) for m in model.modules()}

    def drop(function, args, kwargs):
        a, name = _bound("dropout", args, kwargs), getattr(function, "__name__", "")
        h, p = a["input"], float(a.get("p", 0.5))
        if not a.get("training", a.get("train", True)) or p == 0 or "alpha" in name:
            return function(*args, **kwargs)
        module = next((m for m in reversed(path) if id(m) in known), model)
        channels = any(w in name for w in ("1d", "2d", "3d", "feature"))
        mask = given(module, counts[id(module)], p, (1, h.shape[1]) + (1,) * (h.dim() - 2) if channels else (1,) + tuple(h.shape[1:]))
        counts[id(module)] += 1
        mask = torch.as_tensor(mask).to(device=h.device, dtype=h.dtype)
        return h.mul_(mask) if _in_place(function, "dropout", args, kwargs) else h * mask

    class Masked(torch.Tensor):
        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            with torch._C.DisableTorchFunction():
                out = drop(function, args, kwargs or {}) if _op(function) == "dropout" else function(*args, **(kwargs or {}))
            return _replaced(out, torch.Tensor, lambda t: t if isinstance(t, Masked) else t.as_subclass(Masked))

    def recorded(m, *args, **kwargs):
        path.append(m)
        try:
            return plain(m, *args, **kwargs)
        finally:
            path.pop()

    torch.nn.Module.__call__ = recorded
    try:
        with torch.no_grad():
            out = call(torch.as_tensor(x).to(device=like.device, dtype=like.dtype).as_subclass(Masked))
    finally:
        torch.nn.Module.__call__ = plain
    out = out[0] if isinstance(out, (tuple, list)) else out
    if hasattr(out, "as_subclass"):
        out = out.as_subclass(torch.Tensor)
    return np.asarray(to_numpy(out), np.float64)


def _compare_masks(model, call, like, x, places, every, evaluated, tolerance):
    """Refuses layers that are not the network where both drop the same numbers, mask by mask, and returns notes. places(module,
    how often, how many in all, p) is the place of a mask among these layers, one of every, None if they have none there;
    evaluated(masks), by their places, are their logits."""
    def networks(alone, seeds):
        for k, seed in seeds:
            rng, others, masks, count = np.random.RandomState(k), np.random.RandomState(1000 + seed), {}, [0]

            def given(module, often, p, shape):
                place, count[0] = places(module, often, count[0], p), count[0] + 1
                random = others if place is None else rng
                mask = np.where(random.rand(*shape) < 0.3, 0, 0.5 + random.rand(*shape))  # numbers that no two have in common
                return mask if place is None else masks.setdefault(place, mask)

            with _seeded(like, seed), _drawing(model, alone):
                yield _masked(model, call, x, like, given), masks

    def differs(alone):
        try:
            for said, masks in networks(alone, [(k, k) for k in range(6)]):
                if set(masks) != set(every):
                    return ValueError("%s: in training mode forward() drops in %d of the %d places where these layers do: see to which Dropouts it "
                                      "calls, and with which p. Nothing was written" % (_kind(model), len(masks), len(every)))
                try:
                    own = evaluated(masks)
                except ValueError as e:  # masks that fit no layer
                    return e
                if not _alike(own, said, 10 * tolerance):
                    return _apart(own, said, "under the same masks of Dropout,", "it does not drop where these layers do: see to "
                                  "what takes a tensor before it is dropped and behind, and to dropout in training mode alone")
        except Exception as e:
            return ValueError("in training mode %s cannot be called, so that dropout could be compared: %s: %s" % (
                _kind(model), _kind(e), " ".join(str(e).split())))
        return None

    error = differs(False)
    if error is None:
        return []
    if differs(True) is not None:
        raise error
    try:
        (one, _), (two, _) = networks(False, [(0, 1), (0, 2)])
    except Exception:
        return []  # it is not called in training mode as a whole
    if one.shape == two.shape and not np.allclose(one, two, rtol=1e-4, atol=1e-4 * np.abs(one).max()):
        raise ValueError("%s: in training mode something else than the Dropouts that are known draws: psafe has nn.Dropout, nn.Dropout1d and "
                         "nn.Dropout2d. Nothing was written" % _kind(model))
    return ["in training mode forward() is another network than in evaluation: what is written is the one of evaluation, with its Dropouts on"]


def _compare_networks(model, tensors, made, params, drawn, candidates, few, tolerance):
    """Refuses samples of which the second, the middle or the last network is not that of the framework with these parameters."""
    count = len(drawn[0])
    for i in sorted({1, count // 2, count - 1} & set(range(1, count))):
        values, evaluated = [(p, a[i]) for p, a in zip(params, drawn)], evaluate(_stack(made, i), few)
        if _taken(model, tensors, candidates, evaluated, 10 * tolerance, values)[0] is None:
            raise _apart(evaluated, _mean_logits(model, tensors, candidates[0], values), "network %d:" % i, "network 0 agrees")


def _few(made, inputs, reference):
    """The first inputs as the network may take them, raw and normalised, and as a chain of layers takes them."""
    raw = _raw(inputs, made[0])[:16]
    if reference.get("mean") is None:
        return [raw], raw.reshape(len(raw), -1)
    mean, std = (_normalisation(reference[w], w, raw.shape[1:]) for w in ("mean", "std"))
    x = (raw.reshape(len(raw), -1) - mean) / std
    return [raw, x.reshape(raw.shape)], x


def _compare_chain_masks(model, tensors, made, rates, inputs, reference, predict):
    """_compare_masks of a chain: its Dropouts drop in the order of its layers."""
    if not hasattr(model, "named_modules"):
        return [NOT_DRAWN % "it is no torch module"]
    (candidates, x), stack, tolerance = _few(made, inputs, reference), _stack(made), reference.get("tolerance", 1e-5)
    x_torch, _ = _taken(model, tensors, candidates, evaluate(stack, x), 10 * tolerance, (), predict)
    if x_torch is None:
        return [NOT_DRAWN % "it gives other logits than logits= says"]
    order = [k for k, rate in enumerate(rates) if rate]

    def evaluated(masks):
        for k, mask in masks.items():
            if mask.size != len(stack[k][0]):
                raise ValueError("%s takes %d numbers, and the Dropout in front of it drops of %s in forward(): it is not where layers= says. Nothing "
                                 "was written" % (made[k].label, len(stack[k][0]), mask.shape[1:]))
        return evaluate(stack, x, {k: mask.reshape(1, -1) for k, mask in masks.items()})

    return _compare_masks(model, predict or model, tensors[0].weight, x_torch, lambda _, __, n, p: order[n] if n < len(order) and rates[order[n]] == p else None,
                          order, evaluated, tolerance)


def save_torch(path, model, inputs, layers=None, names=None, mean=None, std=None, logits=None, predict=None, **reference):
    """A torch network whose layers have a mean and a spread for each weight; those of nn.Linear, nn.Conv2d
    and the like are certain.

    The forward() of any module is followed as it runs: dense layers, convolutions of one and two
    axes, batch norms, pools, sums and concatenations of layers, activations. What psafe has not is
    refused with its place. layers= says instead which modules and activations a chain of dense layers
    has: [(net.fc1, "relu"), (net.fc2, "identity")]. names= says where your own layers keep their
    tensors: (weight, its spread, bias, its spread, scale word of sd_of), such as ("w_mu", "w_rho",
    "b_mu", "b_rho", "softplus"), None for a tensor that they have not, and as a sixth "in,out" if
    they use x @ W. mean= and std= are the normalisation of the inputs, be it in front of the model or
    in its forward(). The logits are those of model(inputs) itself, with its spreads set to 0 for that
    call, unless logits= or predict= are given.
    """
    if not callable(model):
        raise ValueError("save_torch takes one torch module, and this is a %s: save_torch_ensemble takes several networks, and "
                         "a state_dict is loaded into its module first, or its arrays given to save_gaussian" % _kind(model))
    _plain_module(model)
    reference = dict(reference, mean=mean, std=std, logits=logits, predict=predict)
    if layers is None and not _listed(model, names):
        return _save_graph(path, model, inputs, names, reference)
    said = reference.pop("notes", [])  # of the graph that was found to be this chain
    layers = None if layers is None else list(layers)
    made, tensors, notes, front = _chain(model, layers, names)
    notes += sorted(set(said), key=said.index)
    if not made:
        raise ValueError("%s has no layer with weights" % _kind(model))
    if names is not None and not any(d.named for d in tensors):
        raise ValueError("names=: no layer has both %s and %s" % tuple(names[:2]))
    _untied(tensors)
    reference, more = _torch_reference(model, tensors, made, front, inputs, reference)
    # Before the draws, for a wrong layout shows in their spread too.
    _references(made, *(reference.get(w) for w in ("inputs", "logits", "predict", "mean", "std")), reference.get("tolerance", 1e-5))
    notes += more

    def draw(rng):
        put = []
        for d in tensors:
            a = _drawn_layer(d.layer("identity"), rng, {}) if d.word else ()
            put += [(t, w.T if w.ndim == 2 and d.layout == "out,in" else w) for t, w in zip((d.weight, d.bias), a) if t is not None]

        def evaluate_drawn():
            with _certain(model, tensors, put):
                return evaluate(_stack(_chain(model, layers, names)[0]), few)

        return put, evaluate_drawn

    candidates, few = _few(made, inputs, reference)
    if any(d.word for d in tensors):
        notes += _compare_weights(model, tensors, draw, candidates, evaluate(_stack(made), few), reference.get("tolerance", 1e-5), (), predict)
    if reference.get("spread") is None:
        for x in candidates:
            _network_calls(model, tensors, x[:2])
        reference["spread"], more = _all_drawn(tensors, made, [d.layer("identity") for d in tensors])
        notes += more
    _write(path, "gaussian", made, None, notes, **reference)


def _all_drawn(tensors, made, apart):
    """spread= of layers that draw, with None where it was not compared, and notes; apart are the layers
    without what was folded into them."""
    spread, notes = _own_spread(made), []
    for d, layer, pair in zip(tensors, apart, spread):
        compared, more = _check_drawn(d, layer) if d.word else ([True, True], [])
        pair[:], notes = [a if known else None for a, known in zip(pair, compared)], notes + more
    return spread, notes


TIED = "%s: shares its weights with %s, and psafe takes two layers to be independent"


def _untied(tensors):
    """Refuses a chain in which random weights are those of two layers, or of one layer twice."""
    for i, d in enumerate(tensors):
        for other in tensors[:i] if d.word else ():
            if other.word and any(a is not None and any(a is b for b in (other.weight, other.bias)) for a in (d.weight, d.bias)):
                raise ValueError(TIED % (d.label, other.label if other.module is not d.module else "itself, as it is called twice"))


def _listed(model, names):
    """Whether a module is a Sequential of dense layers and what else _chain reads."""
    kinds = {"ReLU", "Tanh", "Sigmoid", "LeakyReLU", "Softplus", "ELU", "Identity", "Flatten", "Softmax", "LogSoftmax", "Dropout",
             "Normalize", "BatchNorm1d"}
    if not hasattr(model, "named_modules"):
        return True  # no torch
    try:
        return all(_kind(m) in kinds or _is_dense(m, names) and len(_Dense(m, label, names).weight.shape) == 2
                   for label, m in _modules(model, None, names))
    except ValueError:
        return False


def _random_layers(model, names):
    """The layers of a torch network that have spreads, the outermost ones."""
    found = []
    for name, m in model.named_modules():
        if any(name.startswith(d.name + ".") or not d.name for d in found):
            continue
        if any(_get(m, row[0]) is not None and _get(m, row[1]) is not None for row in _rows(names)):
            found.append(_Dense(m, "layer %s (%s)" % (name, _kind(m)) if name else _kind(m), names))
            found[-1].name = name
    if names is not None and not any(d.named for d in found):
        raise ValueError("names=: no layer has both %s and %s" % tuple(names[:2]))
    return found


def _save_graph(path, model, inputs, names, reference, normal=(), law=None, drops=False, notes=(), member=None):
    """save_torch of a network whose forward() is followed; normal lists (parameter, mean, sd) of a posterior
    that the network itself does not have. Returns the layers if they are a chain of dense ones. With
    law=, the covariances of layers, or drops=, for MC dropout, it writes any network as a graph. member= takes what would be
    written of a network of an ensemble."""
    import torch
    if inputs is None:
        raise ValueError("inputs= is missing: a few raw inputs, so that the file can be compared with the network")
    raw = np.asarray(_numbers(inputs, "inputs="), np.float64)[:256]
    if raw.ndim < 2 or len(raw) == 0:
        raise ValueError("inputs= has shape %s: want (N, ...), one input for each row" % (raw.shape,))
    tensors, flat = _random_layers(model, names), raw.reshape(len(raw), -1)
    like = next(iter(model.parameters()), None)
    if like is None:
        raise ValueError("%s has no layer with weights" % _kind(model))
    mean, std = reference.get("mean"), reference.get("std")
    if (mean is None) != (std is None):
        raise ValueError("mean= and std= come together: give mean=0 or std=1 for the one that does nothing")
    given = mean is not None
    if given:
        mean, std = (_normalisation(a, w, raw.shape[1:]) for a, w in ((mean, "mean"), (std, "std")))
        if (std <= 0).any():
            raise ValueError("std= has a number that is not above 0")
    x = (flat - mean) / std if given else flat
    certain = tensors or [type("", (), {"weight": like, "word": "sd", "weight_scale": None, "bias_scale": None, "label": _kind(model)})()]
    recorder = _Recorder(model, tensors, drops)
    values = [(p, mean) for p, mean, _ in normal]
    with _certain(model, certain, values, seed=1), torch.no_grad():
        try:
            two = torch.as_tensor(x[[0, min(1, len(x) - 1)]].reshape((2,) + raw.shape[1:])).to(device=like.device, dtype=like.dtype)
            end = recorder.run(two)
        except ValueError:
            raise
        except Exception as e:
            raise ValueError("%s cannot be called with inputs of shape %s: %s: %s; give inputs= as it takes them" % (
                _kind(model), raw.shape, _kind(e), " ".join(str(e).split()))) from e
    graph = _Graph(recorder, end, raw.shape[1:], normal, law, drops)
    graph.member = member
    if member is not None and graph.drawn:
        raise ValueError("%s: has random weights: an ensemble has networks without" % graph.drawn[0].label)
    if drops:
        if graph.drawn:
            raise ValueError("%s: has random weights: psafe has these or dropout, not both" % graph.drawn[0].label)
    inside = graph.front is not None and not all(np.array_equal(a, np.full_like(a, b)) for a, b in zip(map(np.asarray, graph.front), (0.0, 1.0)))
    if inside:
        own = [np.asarray(a, np.float64).ravel() for a in graph.front]
        if given and not all(np.allclose(np.broadcast_to(a, b.shape), b, rtol=1e-5, atol=1e-7) for a, b in zip((mean, std), own)):
            raise ValueError("forward() normalises its inputs itself, by mean %.6g and std %.6g in front, and mean=, std= are other numbers: leave them out"
                             % tuple(a[0] for a in own))
        mean, std = (a[:1] if np.ptp(a) == 0 else a for a in own)
        x = (flat - mean) / std
    chain = graph.chain() if graph.kind == "gaussian" else None
    if chain is not None and normal:
        return chain
    if chain is not None:
        more = dict(mean=mean, std=std) if inside else {}
        return save_torch(path, model, inputs, chain, names, **dict(reference, notes=list(notes) + graph.notes, **more))
    _write_graph(path, graph, certain, values, raw, x, (mean, std), given and not inside, list(notes) + graph.notes + [
        "the network normalises its inputs itself: mean and std of the file"] * inside, **reference)
    return None


def _write_graph(path, graph, tensors, values, raw, x, front, outside, notes, mean=None, std=None, logits=None, predict=None, note="",
                 tolerance=1e-5, spread=None, classes=None):
    """Compares the layers with the framework, lets its layers draw, and writes the file."""
    model, flat = graph.recorder.model, raw.reshape(len(raw), -1)
    evaluated, normalised = graph.evaluate(x), x.reshape(raw.shape)
    if predict is None and logits is None:
        one, two = (np.asarray(_mean_logits(model, tensors, (normalised if outside else raw)[:2], values, seed=k), np.float64) for k in (0, 2))
        if not np.allclose(one, two, rtol=1e-4, atol=1e-4 * np.abs(one).max()):
            raise ValueError("%s gives other logits when it is called again in evaluation: something else than the layers that are known draws" % _kind(model))
    if logits is not None:
        tries = [np.asarray(_numbers(logits, "logits"), np.float64)[:256]]
    else:
        tries = (_mean_logits(model, tensors, a, values, predict) for a in ([raw] * (not outside or predict is not None) + [normalised] * outside))
    agreed = None
    for said in tries:
        said = _listed_outputs(np.asarray(_numbers(said, "logits"), np.float64))
        agreed, more = _agreed(evaluated, said, tolerance)
        if agreed is not None:
            break
    if agreed is None:
        own, size = evaluated
        i, j = np.unravel_index(np.argmax(np.abs(own - said) / np.maximum(size.max(axis=1, keepdims=True), 1e-12)), own.shape)
        where = graph.differs(x[[0, min(1, len(x) - 1)]], tolerance)
        raise ValueError("output %d of input %d is %.9g in the framework and %.9g from the layers that forward() calls: %s. Nothing was written" % (
            j, i, said[i, j], own[i, j], "the first to differ is " + where if where else
            "see to the normalisation (mean=, std=), to the order of the logits, and to whether forward() does the same for all inputs"))
    units, drawn = list(graph.units.values()), [d for d in graph.drawn if d.word]
    if graph.kind != "gaussian" and spread is not None:
        raise ValueError("spread= belongs to independent normal weights, and these are %s" % graph.kind)
    few, candidates = x[:16], [raw[:16]] * (not outside) + [normalised[:16]] * outside + [raw[:16]] * outside
    if spread is None:
        spread = _own_spread(units)
        _network_calls(model, drawn, candidates[0][:2])
        of, words = _all_drawn(drawn, [d.unit for d in drawn], [d.unit for d in drawn])
        notes = notes + words
        for d, pair in zip(drawn, of):
            spread[next(k for k, u in enumerate(units) if u is d.unit)] = pair
    if graph.drops:
        taken, _ = _taken(model, tensors, candidates, graph.evaluate(few), 10 * tolerance, values, predict)
        more = more + (_compare_masks(model, predict or model, tensors[0].weight, taken, graph.masks_of, {u.dropped for u in units if u.rate},
                                      lambda masks: graph.evaluate(few, masks=masks), tolerance)
                       if taken is not None else [NOT_DRAWN % "it gives other logits than logits= says"])
    elif any(u.covariance is not None or u.word != {"weight": "none", "bias": "none"} for u in units):
        more = more + _compare_weights(model, tensors, lambda rng: graph.draw(rng, few), candidates, graph.evaluate(few), tolerance, values, predict)
    if classes is not None:
        spread, agreed, words = graph.two_classes(spread, agreed, x, classes)
        notes, units = notes + words, list(graph.units.values())
    notes = notes + [KEPT % graph.bound] * bool(graph.bound)
    header, arrays = graph.header()
    arrays["reference.inputs"], arrays["reference.logits"] = flat, agreed
    if front[0] is not None:
        arrays["input.mean"], arrays["input.std"] = front
    more_arrays, words = ({}, []) if graph.kind != "gaussian" else _spread_arrays(units, spread)
    arrays.update(more_arrays)
    notes = notes + more + words
    if front[0] is None and raw.ndim == 4 and (raw < 0).any():
        notes.append(BELOW_ZERO % (raw.min(), raw.max()))
    if graph.member is not None:
        graph.member(header, arrays, note, sorted(set(notes), key=notes.index))
    else:
        _save(path, header, arrays, note, sorted(set(notes), key=notes.index))


def save_torch_dropout(path, model, inputs, layers=None, **reference):
    """MC dropout: a torch network with nn.Dropout, nn.Dropout1d or nn.Dropout2d in front of any layers, whose
    forward() is followed as by save_torch (which says what layers= is). psafe certifies it."""
    rates = []
    _plain_module(model)
    if layers is None and (not _listed(model, None) or _drops_normed(model)):
        _save_graph(path, model, inputs, None, reference, drops=True)
        return
    layers = None if layers is None else list(layers)
    made, tensors, notes, front = _chain(model, layers, None, rates=rates)
    if not any(rates):
        raise ValueError("%s has no Dropout in front of a layer" % _kind(model))
    if any(d.word for d in tensors):
        raise ValueError("a layer has random weights: psafe has these or dropout, not both")
    predict = reference.get("predict")
    reference, more = _torch_reference(model, tensors, made, front, inputs, reference)
    _references(made, *(reference.get(w) for w in ("inputs", "logits", "predict", "mean", "std")), reference.get("tolerance", 1e-5))
    more = more + _compare_chain_masks(model, tensors, made, rates, inputs, reference, predict)
    _write_dropout(path, made, rates, dict(reference, notes=notes + more))


def _drops_normed(model):
    """Whether a Sequential drops what a batch norm gives, which then cannot be put into the layer behind it."""
    kinds = [_kind(m) for _, m in _modules(model, None, None)]
    return "BatchNorm1d" in kinds and "Dropout" in kinds and hasattr(model, "named_modules")


def _same(a, b):
    return len(a or ()) == len(b or ()) and all(np.array_equal(x, y) for x, y in zip(a or (), b or ()))


def save_torch_ensemble(path, models, inputs, layers=None, counts=None, **reference):
    """A deep ensemble: torch networks of the same layers, all alike probable unless counts says
    otherwise, each of which is compared with the layers that are written of it. forward() is followed as by save_torch.
    models may be one module with packed, BatchEnsemble or Masksembles layers of torch-uncertainty, which holds them all.
    layers=, if it is needed, is a function that gives the list of a network. logits= and predict= are those of network 0, or
    lists with one for each network."""
    if hasattr(models, "named_modules") and _kind(models) != "ModuleList":
        models, logits = _members(models, inputs, reference)
        reference = dict({"logits": logits} if reference.get("predict") is None else {}, **reference)
    models = list(models)
    if not models:
        raise ValueError("models= is empty: give the networks of the ensemble")
    for i, m in enumerate(models):
        with _of_network(i):
            _plain_module(m)
    given = [reference.pop(name, None) for name in ("logits", "predict")]
    given = [[None] * len(models) if a is None else _each(a) or [a] + [None] * (len(models) - 1) for a in given]
    if any(len(a) != len(models) for a in given):
        raise ValueError("logits= or predict= are lists of %s for %d networks" % (" and ".join(str(len(a)) for a in given), len(models)))
    silent = sum(any(a[0] is not None for a in given) and logits is None and predict is None for logits, predict in zip(*given))
    notes = ["%d networks behind network 0 were not compared: logits= or predict= are those of network 0" % silent] if silent else []
    own = [dict(reference, logits=logits, predict=predict) for logits, predict in zip(*given)]
    if layers is None and not all(_listed(m, None) for m in models):
        _save_graphs(path, models, inputs, counts, own, notes, silent)
        return
    chains = [_chain(m, layers(m) if layers else None, None) for m in models]
    if any(d.word for _, tensors, _, _ in chains for d in tensors):
        raise ValueError("a layer has random weights: an ensemble has networks without")
    said = []
    for i, (made, tensors, more, front) in enumerate(chains):
        if [a.activation for a in made] != [a.activation for a in chains[0][0]] or not _same(front, chains[0][3]):
            raise ValueError("network %d has other layers than network 0" % i)
        if i == 0 or not silent:
            with _of_network(i):
                taken, words = _torch_reference(models[i], tensors, made, front, inputs, own[i])
            said.append(taken["logits"])
            notes += more + words
            reference = taken if i == 0 else reference
    count = len(tensors)  # without what stands for an activation at the end, which save_samples adds itself
    networks = [[a for m in made[:count] for a in (m.weight["mean"], (m.bias or {}).get("mean"))] for made, _, _, _ in chains]
    reference["logits"] = said if len(said) > 1 else said[0]
    save_samples(path, networks, [m.activation for m in chains[0][0][:count]], "in,out", counts, notes=sorted(set(notes), key=notes.index), **reference)


def _member(m, i, count):
    """Layer m of torch-uncertainty (layers/packed.py, batch_ensemble.py, masksembles.py, 0d0df2b2) as that of network i alone."""
    import torch
    kind, inner = _kind(m), next((a for a in (getattr(m, "conv", None), getattr(m, "linear", None)) if a is not None), m)
    weight, bias, groups = inner.weight.detach(), m.bias if kind[0] != "M" else inner.bias, 1
    axes = (1,) * (weight.dim() - 2)
    if kind.startswith("Packed"):
        every = inner.groups if inner is not m else m.groups
        if weight.is_sparse:
            raise ValueError('%s: implementation="sparse" is not known: save one with another' % kind)
        weight = weight if inner is not m else weight.flatten(0, 1)
        groups, part = max(1, every // count), slice(i * (len(weight) // count), (i + 1) * (len(weight) // count))
        weight, bias = weight[part], None if bias is None else bias[part]
        if inner is m:
            weight, groups = torch.block_diag(*weight.chunk(groups)), 1
    elif getattr(inner, "groups", 1) != 1:
        raise ValueError("%s: has groups: psafe_export takes it apart without" % kind)
    elif kind[0] == "B":
        weight = weight * m.s_group[i].reshape((-1, 1) + axes) * m.r_group[i].reshape((1, -1) + axes)
        bias = None if bias is None else bias[i]
    else:
        weight = weight * m.mask.masks[i].to(weight).reshape((1, -1) + axes)
    made = copy.deepcopy(inner) if inner is not m else torch.nn.Linear(1, 1)
    made.weight, made.bias = torch.nn.Parameter(weight.detach().clone()), None if bias is None else torch.nn.Parameter(bias.detach().clone())
    if hasattr(made, "groups"):
        made.groups = groups
    return made


def _members(model, inputs, reference):
    """The networks of a module with layers of torch-uncertainty that hold several, as modules of their own, and the logits that
    it gives for each."""
    kinds = ("PackedLinear", "PackedConv1d", "PackedConv2d", "BatchLinear", "BatchConv1d", "BatchConv2d", "MaskedLinear", "MaskedConv2d")
    held = {n: m for n, m in model.named_modules() if _kind(m) in kinds}
    counts = {int(getattr(getattr(m, "mask", m), "num_masks", 0) or m.num_estimators) for m in held.values()}
    if len(counts) != 1 or "" in held:
        raise ValueError("%s: give a list of networks, or one with packed, BatchEnsemble or Masksembles layers of torch-uncertainty, all of as many "
                         "networks; psafe_export knows %s" % (_kind(model), ", ".join(kinds)))
    count, packed = counts.pop(), any(_kind(m)[0] == "P" for m in held.values())
    made = []
    for i in range(count):
        made.append(copy.deepcopy(model))
        for m in made[i].modules():  # inputs are not repeated for each
            if isinstance(getattr(m, "num_estimators", None), int):
                m.num_estimators = 1
            if isinstance(getattr(m, "layer_args", None), dict):
                m.layer_args = dict(m.layer_args, num_estimators=1)
        for name, m in model.named_modules():
            owner, _, last = name.rpartition(".")
            if name in held:
                setattr(made[i].get_submodule(owner), last, _member(m, i, count))
            elif packed and _kind(m).startswith("BatchNorm") and m.num_features % count == 0:
                norm, part = made[i].get_submodule(name), slice(i * (m.num_features // count), (i + 1) * (m.num_features // count))
                norm.num_features = m.num_features // count
                for table in (norm._parameters, norm._buffers):
                    for n, a in table.items():
                        if a is not None and a.dim():
                            table[n] = type(a)(a.detach()[part].clone()) if table is norm._parameters else a[part].clone()
    x = np.asarray(_numbers(inputs, "inputs="), np.float64)[:256]
    if reference.get("mean") is not None:
        mean, std = (_normalisation(reference[w], w, x.shape[1:]).reshape((-1,) if np.size(reference[w]) == 1 else x.shape[1:]) for w in ("mean", "std"))
        x = (x - mean) / std
    with _training(model, False):
        logits = _call(model, x, next(made[0].parameters()))  # masks may be doubles
    if len(logits) != count * len(x):
        raise ValueError("%s: gives %d outputs for %d inputs, want %d for each: does it repeat its inputs?" % (_kind(model), len(logits), len(x), count))
    return made, list(logits.reshape(count, len(x), -1))


@contextlib.contextmanager
def _of_network(i):
    """Says of which network of several an error is."""
    try:
        yield
    except ValueError as e:
        raise ValueError(str(e) if i == 0 else "network %d: %s" % (i, e)) from e


def _save_graphs(path, models, inputs, counts, references, notes, silent):
    """An ensemble of networks whose forward() is followed."""
    files = []
    for i, (model, reference) in enumerate(zip(models, references)):
        with _of_network(i):
            if i and silent:  # it is written without being called for its logits
                reference = dict(reference, tolerance=np.inf)
            _save_graph(path, model, inputs, None, reference, member=lambda *file: files.append(file))
    header, arrays, note, more = files[0]
    for i, (other, theirs, _, _) in enumerate(files):
        front = all(np.array_equal(arrays.get(n), theirs.get(n)) for n in ("input.mean", "input.std"))
        if other["layers"] != header["layers"] or not front or any(theirs[n].shape != a.shape for n, a in arrays.items() if n.startswith("layers.")):
            raise ValueError("network %d has other layers than network 0" % i)
    counts = _counts(counts, len(models))
    for name in [n for n in arrays if n.startswith("layers.")]:
        arrays[name[:-len("mean")] + "samples"] = np.stack([theirs[name] for _, theirs, _, _ in files])
        del arrays[name]
    _save(path, dict(header, counts=counts), arrays, note, notes + more)


def _owners(la, shape, model, params):
    """The layers of torch that the parameters of a posterior belong to: dense ones and, of Kronecker factors, convolutions
    without groups."""
    kinds = ("Linear", "Conv1d", "Conv2d") if shape == "Kron" else ("Linear",)
    found = [m for m in model.modules() if _kind(m) in kinds and getattr(m, "groups", 1) == 1 and any(p is m.weight or p is m.bias for p in params)]
    left = [p for p in params if not any(p is m.weight or p is m.bias for m in found)]
    if left or not found:
        raise ValueError("%s is about a parameter of shape %s that belongs to no %s of the network: "
                         "take the last layer alone (subset_of_weights=\"last_layer\"), or a diagonal posterior" % (
                             _kind(la), tuple(left[0].shape) if left else "()",
                             "dense layer or convolution without groups" if shape == "Kron" else "dense layer (of convolutions psafe has Kronecker covariances)"))
    return found


def _matrix_shape(layer):
    """Outputs and inputs of the matrix of a layer of torch: of a convolution filters and the numbers of one, which is how
    laplace-torch flattens it."""
    shape = tuple(layer.weight.shape)
    return shape[0], int(np.prod(shape[1:]))


def _factors(precision, i, shape):
    """Eigenvectors and standard deviations of block i of a KronDecomposed, of a parameter of this shape:
    a weight is Q[0] (E * sd) Q[1].T and a bias Q[0] (e * sd), about the mean.

    aleximmer/Laplace, laplace/utils/matrix.py: a weight has the eigenvalues l1 l2^T + delta, with
    damping (l1 + sqrt(delta)) (l2 + sqrt(delta))^T, and is flattened row by row; a bias has a factor of
    its own. The library itself loses damping where it adds the prior: what the object says counts."""
    Q = [np.asarray(to_numpy(q), np.float64) for q in precision.eigenvectors[i]]
    l = [np.asarray(to_numpy(v), np.float64) for v in precision.eigenvalues[i]]
    delta = float(np.broadcast_to(to_numpy(precision.deltas), (len(precision.eigenvalues),))[i])
    if tuple(len(v) for v in l) != tuple(shape) or any(q.shape != (n, n) for q, n in zip(Q, shape)):
        raise ValueError("block %d of the Kronecker precision has factors of %s for a parameter of shape %s" % (
            i, " and ".join(str(len(v)) for v in l), tuple(shape)))
    damped = len(l) == 2 and getattr(precision, "damping", False)
    eigenvalues = np.outer(*(v + np.sqrt(delta) for v in l)) if damped else (np.outer(*l) if len(l) == 2 else l[0]) + delta
    if not (eigenvalues > 0).all():
        raise ValueError("block %d of the Kronecker precision has the eigenvalue %g: its prior must be above 0" % (i, eigenvalues.min()))
    return Q, eigenvalues ** -0.5


def _factor_rows(out, n, rows, columns):
    """A factor's rows of a weight, (out, n), and of a bias, None where they are certain, in the order of [W b] row by row."""
    written = np.zeros((out, n + 1, columns))
    if rows[0] is not None:
        written[:, :n] = rows[0].reshape(out, n, columns)
    if rows[1] is not None:
        written[:, n] = rows[1]
    return written.reshape(out * (n + 1), columns)


def _factor_of(layer, rows, columns):
    """layer.covariance of a layer of torch from a factor's rows of its weight and of its bias."""
    out, n = layer.weight.shape
    return "full", {"factor": _factor_rows(out, n, rows, columns)}


def _kronecker_law(la, params, layer):
    """layer.covariance of a layer by the posterior's own Kronecker factors."""
    precision, (out, n) = la.posterior_precision, _matrix_shape(layer)
    at = [next((i for i, p in enumerate(params) if p is a), None) for a in (layer.weight, layer.bias)]
    QG, QA, S, sd = np.eye(out), np.eye(n), np.zeros((out, n)), np.zeros(out)
    if at[0] is not None:
        (QG, QA), S = _factors(precision, at[0], (out, n))
    QA, S = np.pad(QA, ((0, 1), (0, 1))), np.pad(S, ((0, 0), (0, 1)))
    if at[1] is not None:
        # The bias has eigenvectors of its own. Where they are those of the outputs, as curvature
        # makes them, both fit into one form: in its basis the covariance is diagonal, up to rounding.
        (QB,), sd = _factors(precision, at[1], (out,))
        if at[0] is None:
            QG = QB
        root = np.linalg.inv(QG) @ (QB * sd)
        S[:, n], QA[n, n] = np.sqrt((root ** 2).sum(1)), 1
        cosines = (root / S[:, n:]) @ (root / S[:, n:]).T
    if at[1] is None or np.abs(cosines - np.eye(out)).sum(1).max() <= 1e-4:
        return "kron", {"QA": QA, "QG": QG, "sd": S}
    if len(layer.weight.shape) > 2:
        raise ValueError("%s: the eigenvectors of the bias of a convolution are not those of the outputs of its weights, and psafe has no such "
                         "law: samples=100 draws networks, or bias=False" % _kind(la))
    if out * (n + 1) > 4096:
        raise ValueError("%s: the eigenvectors of the bias are not those of the outputs of the weights, and psafe has such a law only as a full "
                         "factor, of at most 4096 parameters of a layer: samples=100 draws networks" % _kind(la))
    blocks, columns = [np.kron(QG, QA[:n, :n]) * S[:, :n].ravel(), QB * sd], out * (n + 1)
    return _factor_of(layer, [np.pad(blocks[0], ((0, 0), (0, out))), np.pad(blocks[1], ((0, 0), (out * n, 0)))], columns)


def _low_rank_scale(la):
    """A root of the covariance of a low-rank Laplace approximation, whose precision is U diag(l) U^T + diag(prior)."""
    (U, l), prior = la.posterior_precision
    U, l, prior = (np.asarray(to_numpy(a), np.float64) for a in (U, l, prior))
    if not (prior > 0).all() or (l < 0).any():
        raise ValueError("%s: its prior precision must be above 0, and no eigenvalue below" % _kind(la))
    V = U[:, l > 0] / prior[:, None]
    inner = np.linalg.inv(np.diag(1 / l[l > 0]) + U[:, l > 0].T @ V)
    return np.linalg.cholesky(np.diag(1 / prior) - V @ inner @ V.T)


def _laplace_laws(la, shape, params, layers):
    """The kind of file and, for each of the layers, its layer.covariance."""
    if shape == "Kron":
        return "correlated", [_kronecker_law(la, params, layer) for layer in layers]
    if shape == "Rows":  # of save_vbll
        return "correlated", [("rows", {"factor": la.rows})]
    sizes = [tuple(p.shape) for p in params]
    S = _low_rank_scale(la) if shape == "LowRank" else _numbers(la.posterior_scale, "posterior_scale")
    rows = split(np.arange(sum(int(np.prod(s)) for s in sizes)), sizes)  # laplace-torch has all of W first and then b
    if len(S) != rows[-1].max() + 1 or S.shape[1] > len(S):
        raise ValueError("%s: posterior_scale has the shape %s for %d parameters" % (_kind(la), S.shape, rows[-1].max() + 1))
    of = {id(p): S[r.ravel()] for p, r in zip(params, rows)}
    laws = [_factor_of(layer, [of.get(id(layer.weight)), of.get(id(layer.bias))], S.shape[1]) for layer in layers]
    return ("correlated" if len(layers) == 1 else "joint"), laws


def _whitener(laws, params, layers):
    """What makes draws less their mean, (N, P), flat as laplace-torch has them, into independent standard
    normal numbers, (N, P), if they have the law of a file, which is about [W b] row by row."""
    sizes = [tuple(p.shape) for p in params]

    def arranged(flat, layer):
        out, n = _matrix_shape(layer)
        D = np.zeros((len(flat), out, n + 1))
        for p, a in zip(params, split(flat, sizes)):
            if p is layer.weight:
                D[:, :, :n] = a.reshape(len(flat), out, n)
            elif p is layer.bias:
                D[:, :, n] = a
        return D

    def kronecker(law, layer):
        QG, QA, sd = (np.asarray(law[a], np.float64) for a in ("QG", "QA", "sd"))
        QG, QA = np.linalg.inv(QG), np.linalg.pinv(QA)
        return lambda flat: np.matmul(np.matmul(QG, arranged(flat, layer)), QA.T)[:, sd > 0] / sd[sd > 0]

    def rows(law, layer):
        L = law["factor"].reshape(len(layer.weight), -1, law["factor"].shape[1])
        used = L.any((0, 2))
        V = np.random.RandomState(0).standard_normal((used.sum(), min(16, used.sum())))  # directions: of all, rounding would hide some
        inverse = np.linalg.inv(np.linalg.cholesky((lambda G: G @ G.swapaxes(1, 2))(V.T @ L[:, used]))) @ V.T
        return lambda flat: np.matmul(arranged(flat, layer)[:, :, used].swapaxes(0, 1), inverse.swapaxes(1, 2)).swapaxes(0, 1).reshape(len(flat), -1)

    def factor(laws, layers):
        L = np.concatenate([np.asarray(law["factor"], np.float64) for _, law in laws])
        used = L.any(1)
        inverse = np.linalg.inv(L[used])
        return lambda flat: np.concatenate([arranged(flat, layer).reshape(len(flat), -1) for layer in layers], 1)[:, used] @ inverse.T

    if len({law["factor"].shape[1] for word, law in laws if word == "full"}) == 1 and all(word == "full" for word, _ in laws):
        whiteners = [factor(laws, layers)]
    else:
        whiteners = [kronecker(law, layer) if word == "kron" else rows(law, layer) if word == "rows" else factor([(word, law)], [layer])
                     for (word, law), layer in zip(laws, layers)]
    return lambda flat: np.concatenate([w(flat) for w in whiteners], 1)


def _unlike(la, params, centre, whiten, seed):
    """What of whiten(draws of la.sample() less centre) does not look standard normal, or None. There are
    2,000 draws, of more than 2e5 parameters fewer, and all of it is at seven standard deviations, so that
    chance alone refuses nothing. Directions whose spread float32 rounds away say nothing."""
    count = int(min(getattr(la, "enough", 2000), max(200, 4e8 // len(centre))))
    Y, kept = [], None
    with _seeded(params[0], seed):
        while sum(map(len, Y)) < count:
            flat = np.asarray(to_numpy(la.sample(int(max(1, min(count - sum(map(len, Y)), 1e7 // len(centre)))))), np.float64)
            if flat.ndim != 2 or flat.shape[1] != len(centre) or len(flat) == 0:
                return "they have the shape %s for %d parameters" % (flat.shape, len(centre))
            if kept is None:
                noise = np.random.RandomState(seed).standard_normal((min(20, len(flat)), len(centre))) * (np.abs(flat).max() * 2.0 ** -23)
                kept = np.flatnonzero((whiten(noise) ** 2).mean(0) < 1e-3)
                if len(kept) == 0:
                    return "they are NaN, or rounding hides them"
                kept = kept[np.linspace(0, len(kept) - 1, min(len(kept), 20000)).astype(int)]
            Y.append(whiten(flat - centre)[:, kept])
    Y = np.concatenate(Y)
    variance, N, some = (Y ** 2).mean(0), len(Y), Y[:, np.linspace(0, Y.shape[1] - 1, min(Y.shape[1], 1000)).astype(int)]
    if not abs(variance.mean() - 1) <= 7 * np.sqrt(2 / Y.size) + 0.01:  # NaN is refused
        return "their variance is %.3g of it" % variance.mean()
    i = np.argmax(np.abs(variance - 1))
    if not abs(variance[i] - 1) <= 7 * np.sqrt(2 / N) + 0.01:
        return "in one direction their variance is %.3g of it" % variance[i]
    off = np.abs(some.T @ some / N)
    np.fill_diagonal(off, 0)
    if not max(off.max(), np.abs(Y.mean(0)).max()) <= 7 / np.sqrt(N) + 0.01:
        return "they have correlations or means that it has not"
    return None


def _compare_draws(la, shape, params, centre, whiten, seed):
    """Refuses a law that la.sample() does not draw from, and returns notes."""
    if shape == "LowRank":  # whose sample() has the prior's precision where its variance belongs, in 0.2
        return _compare_variance(la, params, seed)
    if not hasattr(la, "sample"):
        return ["the covariance is as given and was not compared: %s does not draw" % _kind(la)]
    why = _unlike(la, params, centre, whiten, seed)
    if why is not None and shape == "Full":  # laplace-torch 0.2: sample() multiplies by posterior_scale from the other side
        S = np.asarray(to_numpy(la.posterior_scale), np.float64)
        own, used = np.asarray(to_numpy(getattr(la, "posterior_covariance", S @ S.T)), np.float64), S.any(1)  # all but of a subnetwork
        inverse = np.linalg.inv(S[used])
        if np.abs(own - S @ S.T).max() <= 1e-4 * np.abs(own).max() and _unlike(la, params, centre, lambda flat: flat[:, used] @ inverse, seed) is None:
            return ["sample() of this laplace-torch draws from S.T @ S, S its posterior_scale; what is written is its posterior_covariance S @ S.T"]
    if why is not None:
        raise ValueError("%s: networks that it draws do not have the covariance that would be written: %s. Nothing was written" % (_kind(la), why))
    return []


def _compare_variance(la, params, seed):
    """Refuses a covariance of which la.functional_variance(J) is not J S J^T, for random J, and returns notes."""
    if not hasattr(la, "functional_variance"):
        return ["the covariance is as given and was not compared: %s has no functional_variance" % _kind(la)]
    import torch
    S = _low_rank_scale(la)
    J = np.random.RandomState(seed).standard_normal((20, 1, len(S)))
    with torch.no_grad():
        said = np.asarray(to_numpy(la.functional_variance(torch.as_tensor(J).to(params[0]))), np.float64).reshape(20)
    own = ((J[:, 0] @ S) ** 2).sum(1)
    if not np.abs(said - own).max() <= 1e-3 * own.max():
        raise ValueError("%s: its functional_variance is not that of the covariance that would be written, but %.3g of it: nothing was written" % (
            _kind(la), (said / own).mean()))
    return []


def _subnetwork(la, shape):
    """A Laplace approximation of some weights (SubnetLaplace) as one of the parameters that have any of these, of which the
    others have no spread.

    aleximmer/Laplace, laplace/subnetlaplace.py (44ea62a): subnetwork_indices are into the vector of all parameters, mean
    and sample() are of all, posterior_scale and posterior_covariance of the subnetwork."""
    try:
        at, scale = to_numpy(la.backend.subnetwork_indices).astype(np.int64), np.asarray(to_numpy(la.posterior_scale), np.float64)
    except AttributeError as e:
        raise ValueError("%s: cannot be read (%s): is it fitted?" % (_kind(la), " ".join(str(e).split()))) from None
    params, order = list(getattr(la, "params", None) or la.model.parameters()), np.argsort(at)
    ends = np.cumsum([p.numel() for p in params])
    if scale.shape != (len(at),) * (2 if shape == "Full" else 1) or at.min() < 0 or at.max() >= ends[-1] or len(to_numpy(la.mean)) != ends[-1]:
        raise ValueError("%s: posterior_scale has the shape %s for %d indices into %d parameters" % (_kind(la), scale.shape, len(at), ends[-1]))
    touched = [k for k, (a, b) in enumerate(zip(np.append(0, ends), ends)) if ((at >= a) & (at < b)).any()]
    kept = np.concatenate([np.arange(ends[k] - params[k].numel(), ends[k]) for k in touched])
    own, mean = np.searchsorted(kept, at[order]), np.asarray(to_numpy(la.mean), np.float64)
    wide = np.zeros((len(kept),) + scale.shape[1:])
    wide[own] = scale[np.ix_(order, order)] if shape == "Full" else scale[order]
    fields = dict(model=la.model, params=[params[k] for k in touched], mean=mean[kept], posterior_scale=wide)
    if hasattr(la, "posterior_covariance"):
        fields["posterior_covariance"] = np.zeros((len(kept),) * 2)
        fields["posterior_covariance"][np.ix_(own, own)] = to_numpy(la.posterior_covariance)[np.ix_(order, order)]
    if hasattr(la, "sample"):
        fields["sample"] = staticmethod(lambda n: to_numpy(la.sample(n))[:, kept])
    return type(_kind(la), (), fields)()


def _save_laplace_law(path, la, shape, model, params, centre, inputs, seed, layers, reference, top):
    """A full, Kronecker or low-rank Laplace approximation, as its covariance; top says that it is of the last layer."""
    own = _owners(la, shape, model, params)
    try:
        kind, laws = _laplace_laws(la, shape, params, own)
    except AttributeError as e:
        raise ValueError("%s: cannot be read (%s): is it fitted?" % (_kind(la), " ".join(str(e).split()))) from None
    means = split(centre, [tuple(p.shape) for p in params])
    notes = _compare_draws(la, shape, params, centre, _whitener(laws, params, own), seed)
    most = max(_matrix_shape(layer)[1] for layer in own)
    if kind == "correlated" and most > 2048:
        notes.append("psafe certifies covariances of layers of up to 2048 inputs, or numbers of a filter, and this has %d: --method statistical estimates it" % most)
    numbers = sum(law["factor"].size for _, law in laws) if kind == "joint" else 0
    if numbers > 1 << 24:
        notes.append("psafe certifies covariances of all weights with factors of up to 16777216 numbers, those of 4096 weights, and this has %d: "
                     "--method statistical estimates it" % numbers)
    if layers is None:
        _save_graph(path, model, inputs, None, dict(reference), [(p, m, None) for p, m in zip(params, means)], (kind, list(zip(own, laws)), top), notes=notes)
        return
    of = {id(layer.weight): law for layer, law in zip(own, laws)}

    def make(d, activation):
        layer = Layer(d.label, activation)
        if d.word:
            raise ValueError("%s: has a spread of its own beside that of Laplace" % d.label)
        for part, tensor in (("weight", d.weight), ("bias", d.bias)):
            if tensor is not None:
                layer.put(part, "mean", next((m for p, m in zip(params, means) if p is tensor), tensor), "out,in")
        layer.covariance = of.get(id(d.weight))
        return layer

    made, tensors, more, front = _chain(model, layers(model), None, make)
    random = [m.covariance is not None for m in made]
    if sum(random) != len(own) or not set(of) <= {id(d.weight) for d in tensors}:
        raise ValueError("%s: the layers of its covariance are not those of layers=, once each" % _kind(la))
    if top and not random[-1 - _appended(made)]:
        raise ValueError("%s: the layer of its covariance is not the last of layers=" % _kind(la))
    predict = reference.get("predict")
    reference, words = _torch_reference(model, tensors, made, front, inputs, reference, list(zip(params, means)))
    candidates, few = _few(made, inputs, reference)

    def draw(rng):
        common, put, stack = {}, [], _stack(made)
        for k, (d, m) in enumerate(zip(tensors, made)):
            if m.covariance is not None:
                stack[k] = _drawn_layer(m, rng, common) + stack[k][2:]
                put += [(t, a) for t, a in ((d.weight, stack[k][0].T), (d.bias, stack[k][1])) if t is not None]
        return put, lambda: evaluate(stack, few)

    words += _compare_weights(model, tensors, draw, candidates, evaluate(_stack(made), few), reference.get("tolerance", 1e-5),
                              list(zip(params, means)), predict)
    _write(path, kind, made, None, notes + more + words, compared=True, **reference)


def save_laplace(path, la, inputs, samples=None, seed=0, layers=None, **reference):
    """laplace-torch, fitted. Diagonal, of a subnetwork too: independent normal weights. Full, Kronecker and low rank: the
    posterior itself, with its covariance, compared with what la.sample() draws, of the last layer behind
    any features that save_torch takes, or of dense layers. psafe certifies the networks that it draws, and,
    with --predictive linearised, what la(x) predicts with. samples=100 draws networks with that seed
    instead: what is certified is then this set of networks, and the note says so. layers=, if it is
    needed, is a function that gives the list of a network: of the last layer, Laplace works on a copy of
    yours.

    aleximmer/Laplace, laplace/baselaplace.py (02de587): mean and posterior_scale are flat over the
    parameters with a gradient; posterior_scale of a full covariance is S with S @ S.T = covariance
    (FullLaplace.sample multiplies from the other side in some versions, so it is not used).
    posterior_precision, KronDecomposed of Kronecker factors and ((U, l), prior) of low rank, has the
    prior's precision, the temperature and the noise of regressions in it. The last
    layer's are in la.model.last_layer (laplace/lllaplace.py, laplace/utils/feature_extractor.py, 0cb9d96).
    """
    bases = {c.__name__ for c in type(la).__mro__}
    shape = next((s for s in ("Diag", "Full", "Kron", "LowRank") if s + "Laplace" in bases), None)
    if shape is None or "FunctionalLaplace" in bases or "SubnetLaplace" in bases and shape not in ("Diag", "Full"):
        raise ValueError("%s: want a diagonal, full, Kronecker or low-rank Laplace of all weights, of a subnetwork or the last layer" % _kind(la))
    if "SubnetLaplace" in bases:
        la = _subnetwork(la, shape)
    last = getattr(la.model, "last_layer", None) if "LLLaplace" in bases else None
    if getattr(la, "mean", None) is None or getattr(la, "n_data", None) == 0 or "LLLaplace" in bases and last is None:
        raise ValueError("%s was not fitted: call la.fit(train_loader) first" % _kind(la))
    model = la.model if last is None else la.model.model
    params = list(last.parameters() if last is not None else getattr(la, "params", None) or la.model.parameters())
    shapes, centre = [tuple(p.shape) for p in params], np.asarray(to_numpy(la.mean), np.float64)
    if shape != "Diag" and samples is None:
        return _save_laplace_law(path, la, shape, model, params, centre, inputs, seed, layers, reference, last is not None)
    if shape == "Diag":
        spread, drawn, flat = split(la.posterior_scale, shapes), split(centre, shapes), np.asarray(to_numpy(la.posterior_scale), np.float64)
        if hasattr(la, "sample"):
            _compare_draws(la, shape, params, centre, lambda draws: draws[:, flat > 0] / flat[flat > 0], seed)
    elif shape in ("Full", "LowRank"):
        S = np.asarray(to_numpy(la.posterior_scale), np.float64) if shape == "Full" else _low_rank_scale(la)
        drawn = split(centre + np.random.RandomState(seed).standard_normal((samples, S.shape[1])) @ S.T, shapes)
    else:
        with _seeded(params[0], seed):
            drawn = split(la.sample(samples), shapes)
    if layers is None and not _listed(model, None):
        if shape != "Diag":
            raise ValueError("%s of %s: psafe draws networks of dense layers alone; of convolutions it has a diagonal posterior, or give layers=, a "
                             "function that gives the list of a network" % (_kind(la), _kind(model)))
        chain = _save_graph(path, model, inputs, None, dict(reference), list(zip(params, drawn, spread)))
        if chain is None:
            return None
        layers = lambda _: chain  # noqa: E731
    used = set()

    def make(d, activation):
        layer, name = Layer(d.label, activation), "mean" if shape == "Diag" else "samples"
        if d.word:
            raise ValueError("%s: has a spread of its own beside that of Laplace" % d.label)
        for part, tensor in (("weight", d.weight), ("bias", d.bias)):
            i = next((i for i, p in enumerate(params) if p is tensor), None)
            if tensor is None:
                continue
            if i is not None and i in used and shape == "Diag":
                raise ValueError(TIED % (d.label, "another layer"))
            used.add(i)
            if i is not None:
                layer.put(part, name, drawn[i], "out,in")
            elif name == "mean":
                layer.put(part, name, tensor, "out,in")
            else:
                layer.put(part, name, np.repeat(to_numpy(tensor)[None], samples, 0), "out,in")
            if i is not None and shape == "Diag":
                layer.put_scale(part, spread[i], "sd", "out,in")
        return layer

    made, tensors, notes, front = _chain(model, layers(model) if layers else None, None, make)
    if not set(range(len(params))) <= used:
        raise ValueError("%s is about a parameter of shape %s that belongs to no dense layer of the network"
                         % (_kind(la), shapes[min(set(range(len(params))) - used)]))
    first, word = drawn if shape == "Diag" else [a[0] for a in drawn], {"Kron": "Kronecker", "LowRank": "low-rank"}.get(shape, "full")
    predict, logits = (reference.get(name) for name in ("predict", "logits"))
    reference, more = _torch_reference(model, tensors, made, front, inputs, reference, list(zip(params, first)))
    notes += more
    (candidates, few), tolerance = _few(made, inputs, reference), reference.get("tolerance", 1e-5)

    def draw(rng):
        new = [a + b * rng.standard_normal(a.shape) for a, b in zip(drawn, map(to_numpy, spread))]

        def evaluate_drawn():
            old, drawn[:] = list(drawn), new
            used.clear()
            try:
                return evaluate(_stack(_chain(model, layers(model) if layers else None, None, make)[0]), few)
            finally:
                drawn[:] = old

        return list(zip(params, new)), evaluate_drawn

    if shape == "Diag":
        notes += _compare_weights(model, tensors, draw, candidates, evaluate(_stack(made), few), tolerance, list(zip(params, first)), predict)
    elif predict is None and logits is None:
        _compare_networks(model, tensors, made, params, drawn, candidates, few, tolerance)
    if shape == "Diag":
        reference["spread"] = _own_spread(made) if reference.get("spread") is None else reference["spread"]
        return _write(path, "gaussian", made, None, notes, **reference)
    notes.append("%d networks drawn from a %s Laplace posterior with seed %d: what is certified is this set" % (samples, word, seed))
    parent = "a %s Laplace approximation" % word
    return _write(path, "samples", _filled(made, "samples"), {"counts": [1] * samples, "draws_of": parent}, notes, **reference)


def save_ivon(path, model, optimizer, inputs, seed=0, layers=None, **reference):
    """A network that IVON trained: independent normal weights about those of the model, with the standard deviation
    (ess (hess + weight_decay))^(-1/2) of the optimizer. Draws of optimizer.sampled_params() are compared with that before
    anything is written. Call it outside of sampled_params(). Parameters that the optimizer does not have are certain.

    team-approx-bayes/ivon, ivon/_ivon.py (86ad687): hess of a group is flat over its parameters."""
    import torch
    groups = getattr(optimizer, "param_groups", None)
    if not groups or not hasattr(optimizer, "sampled_params") or any(w not in g for g in groups for w in ("hess", "ess", "weight_decay")):
        raise ValueError("%s: want the optimizer ivon.IVON that trained the model" % _kind(optimizer))
    params = [p for g in groups for p in g["params"] if p is not None]

    class DiagLaplace:  # what save_laplace takes of a normal distribution of all weights
        def sample(self, n):
            drawn = []
            for _ in range(n):
                with optimizer.sampled_params():
                    drawn.append(torch.cat([p.detach().flatten().cpu() for p in params]))
            return torch.stack(drawn)

    law = type(_kind(optimizer), (DiagLaplace,), {})()
    law.model, law.params = model, params
    law.mean = np.concatenate([to_numpy(p).ravel() for p in params])
    precision = np.concatenate([float(g["ess"]) * (np.asarray(to_numpy(g["hess"]), np.float64).ravel() + float(g["weight_decay"])) for g in groups])
    if precision.shape != law.mean.shape or not (precision > 0).all():
        raise ValueError("%s: hess + weight_decay is not above 0 for each of %d parameters" % (_kind(optimizer), len(law.mean)))
    law.posterior_scale = precision ** -0.5
    return save_laplace(path, law, inputs, seed=seed, layers=layers, **reference)


def save_vbll(path, model, inputs, noise=False, seed=0, **reference):
    """A network with a head of VBLL at its end, DiscClassification or Regression: the rows of the head's weights are
    independent, each with its covariance (parameterization "diagonal": all weights are). Draws of the head's W() are
    compared with that. The head's noise is left out, with a note: a drawn network is W @ features. noise=True makes it the
    head's biases, so that at each input outputs have the law of logit_predictive() or predictive().

    VectorInstitute/vbll, vbll/layers/classification.py and regression.py (142f21e): W() and noise() are distributions of torch,
    whose scale_tril counts. The heads tDiscClassification, tRegression and Het... have other laws than normal ones, and
    GenClassification no weights."""
    import torch
    heads = [m for m in model.modules() if hasattr(m, "W_mean")]
    head = heads[0] if len(heads) == 1 else None
    if _kind(head) not in ("DiscClassification", "Regression"):
        raise ValueError("%s has %s of VBLL: want one head, DiscClassification or Regression, as of the others weights are not normal" % (
            _kind(model), "no head" if not heads else "the head" + "s" * (head is None) + " " + ", ".join(map(_kind, heads))))
    out, n = head.W_mean.shape
    W, eps, linear = head.W(), head.noise(), torch.nn.Linear(n, out, bias=bool(noise)).to(head.W_mean)
    params = list(linear.parameters())
    with torch.no_grad():
        for p, mean in zip(params, (W.mean, eps.mean)):
            p.copy_(mean)

    class DiagLaplace:  # what save_laplace takes of a normal distribution of all weights
        def sample(self, count):
            few = int(min(count, max(1, 1e8 // (out * n * n))))  # torch makes as many copies of scale_tril
            return torch.cat([torch.cat([a.sample((k,)).reshape(k, -1) for a in (W, eps)[:len(params)]], 1)
                              for k in [few] * (count // few) + [count % few] * (count % few > 0)])

    law = type(_kind(head), (DiagLaplace,), {})()
    law.model, law.params, law.mean = model, params, np.concatenate([to_numpy(p).ravel() for p in params])
    law.enough = int(min(2000, max(200, 5e8 // (out * n * n))))
    owner, name = next(((m, n) for m in model.modules() for n, c in m._modules.items() if c is head), (None, None))
    if owner is None:
        law.model = model = torch.nn.Sequential(linear)
    else:
        owner._modules[name] = linear
    try:
        with _training(model, False), torch.no_grad():
            seen, hook = [], linear.register_forward_hook(lambda _, given, made: seen.append((given[0], made)))
            _call(model, to_numpy(inputs)[:8], params[0])  # of VBLL each input takes as much as scale_tril
            hook.remove()
            said = (head.logit_predictive if _kind(head) == "DiscClassification" else head.predictive)(seen[0][0]).mean + (0 if noise else -eps.mean)
        if not np.allclose(to_numpy(said), to_numpy(seen[0][1]), 1e-4, 1e-4):
            raise ValueError("%s: its prediction has another mean than W_mean @ features: psafe_export knows vbll 0.4" % _kind(head))
        said_of = "the head's noise is its biases" if noise else "the head's noise is left out: networks are W @ features"
        reference["note"] = "; ".join(([reference["note"]] if reference.get("note") else []) + [said_of])
        if hasattr(W, "scale_tril"):
            law.rows = np.zeros((out, n + 1, n + bool(noise)))
            law.rows[:, :n, :n] = to_numpy(W.scale_tril)
            if noise:
                law.rows[:, n, n] = to_numpy(eps.scale)
            law.rows = law.rows.reshape(out * (n + 1), -1)
            _save_laplace_law(path, law, "Rows", model, params, law.mean, inputs, seed, None, reference, True)
        else:
            law.posterior_scale = np.concatenate([to_numpy(a.scale).ravel() for a in (W, eps)[:len(params)]])
            save_laplace(path, law, inputs, seed=seed, **reference)
    finally:
        if owner is not None:
            owner._modules[name] = head


def save_posteriors(path, model, state, inputs, sample=None, seed=0, layers=None, **reference):
    """A state of the library posteriors: of vi, laplace and ekf, diag (independent normal weights) or dense (one covariance of
    all weights), or a list of states of sgmcmc, a finite set of networks. state.params has the names of
    model.named_parameters(); others are certain. sample= is the library's own function, such as
    posteriors.vi.diag.sample: its draws are compared.

    normal-computing/posteriors (7692042): log_sd_diag, sd_diag and prec_diag are trees like params; L_factor (the entries of a lower
    triangular root of the covariance, row by row), cov and prec are of all numbers of params, in the order of optree, which
    sorts names."""
    import torch
    named = dict(model.named_parameters())
    first = state[0] if isinstance(state, (list, tuple)) else state
    names = sorted(getattr(first, "params", None) or ())
    if not names or any(n not in named or named[n].shape != first.params[n].shape for n in names):
        raise ValueError("%s: want a state of posteriors whose params are {name: tensor} of the model's named_parameters()" % _kind(first))
    if first is not state:
        models = [copy.deepcopy(model) for _ in state]
        for m, one in zip(models, state):
            m.load_state_dict({n: one.params[n] for n in names}, strict=False)
        return save_torch_ensemble(path, models, inputs, layers, **reference)

    def flat(tree):
        return np.concatenate([np.asarray(to_numpy(tree[n]), np.float64).ravel() for n in names])

    word = next((w for w in ("log_sd_diag", "sd_diag", "prec_diag", "L_factor", "cov", "prec") if hasattr(state, w)), None)
    if word is None:
        raise ValueError("%s: has no log_sd_diag, sd_diag, prec_diag, L_factor, cov or prec: of states of sgmcmc give a list" % _kind(state))
    laws = {}
    if sample is not None:
        laws["sample"] = lambda _, n: np.stack([flat(sample(state)) for _ in range(n)])
    made = type(_kind(state), (type("DiagLaplace" if "diag" in word else "FullLaplace", (), {}),), laws)()
    made.model, made.params, made.mean = model, [named[n] for n in names], flat(state.params)
    with torch.no_grad():
        if "diag" in word:
            a = flat(getattr(state, word))
            made.posterior_scale = np.exp(a) if word[0] == "l" else a if word[0] == "s" else a ** -0.5
        else:
            a, S = np.asarray(to_numpy(getattr(state, word)), np.float64), np.zeros((len(made.mean),) * 2)
            if word == "L_factor":
                S[np.tril_indices(len(S))] = a
            else:
                S = np.linalg.cholesky(a if word == "cov" else np.linalg.inv(a))
            made.posterior_scale = S
    return save_laplace(path, made, inputs, seed=seed, layers=layers, **reference)


# ---- Pyro, NumPyro, HMC by sites ---------------------------------------------------------------

def _sites(layers, put):
    """Layers of (weight site, bias site or None, activation), filled by put(layer, part, site)."""
    made = []
    for k, item in enumerate(layers):
        if len(item) != 3:
            raise ValueError("layers[%d] is %r: want (weight site, bias site or None, activation)" % (k, item))
        made.append(Layer("layer %d (%s)" % (k, item[0]), item[2]))
        for part, site in zip(("weight", "bias"), item[:2]):
            if site is not None:
                put(made[k], part, site)
    return made


def _site(table, name):
    """What a site has; in trees of dicts, lists and objects (of flax, equinox) its name is a path, such as "params/Dense_0/kernel"."""
    if isinstance(table, dict) and name in table:
        return table[name]
    at = table
    for word in str(name).split("/"):
        known = list(at) if isinstance(at, dict) else [str(i) for i in range(len(at))] if isinstance(at, (list, tuple)) else list(getattr(at, "__dict__", ()))
        if word not in known:
            raise ValueError("there is no site %r: %s are %s" % (name, "there" if at is table else "where %r should be" % word,
                                                                 ", ".join(sorted(map(str, known))) or "no names"))
        at = at[word] if isinstance(at, dict) else at[int(word)] if isinstance(at, (list, tuple)) else getattr(at, word)
    return at


def _real(guide, site):
    """Refuses a site that is not normal itself, which the guide knows."""
    trace = getattr(guide, "prototype_trace", None)
    nodes = getattr(trace, "nodes", trace) or {}
    support = getattr((nodes[site] if site in nodes else {}).get("fn"), "support", None)
    while hasattr(support, "base_constraint"):
        support = support.base_constraint
    if support is not None and "real" not in type(support).__name__.lower():
        raise ValueError("site %s: its support is %s, so the weights themselves are not normal" % (site, support))


def _save_sites(path, locs, scales, layers, layout, guide, reference, known=False):
    """Independent normal sites, {name: array}; guide is asked whether their supports are all of R.
    known: the scales are from the guide, which says that they are standard deviations."""
    if layout not in ("in,out", "out,in"):
        raise ValueError('layout=%r: say "out,in" (PyroModule[nn.Linear]) or "in,out" (x @ W)' % (layout,))

    def put(layer, part, site):
        _real(guide, site)
        layer.put(part, "mean", _site(locs, site), layout)
        layer.put_scale(part, _site(scales, site), "sd", layout)

    made, twice = _sites(layers, put), [s for s, n in collections.Counter(s for item in layers for s in item[:2] if s is not None).items() if n > 1]
    if twice:
        raise ValueError("site %s is in two layers, and psafe takes two layers to be independent" % twice[0])
    left = sorted(set(locs) - {s for item in layers for s in item[:2]})
    notes = ["site %s is in no layer and left out" % s for s in left]
    if known and reference.get("spread") is None:
        reference = dict(reference, spread=_own_spread(made))
    _write(path, "gaussian", made, None, notes, **reference)


def _tall(law):
    """loc and a root of the covariance of a normal law of all sites: scale_tril, or cov_factor and the standard deviations
    of what is independent."""
    loc, scale = (np.asarray(_numbers(law[n], n), np.float64) for n in ("loc", "scale"))
    if "scale_tril" in law:
        return loc, scale[:, None] * np.asarray(_numbers(law["scale_tril"], "scale_tril"), np.float64)
    W = np.asarray(_numbers(law["cov_factor"], "cov_factor"), np.float64)
    return loc, np.linalg.cholesky(W @ W.T + np.diag(scale ** 2))


def _save_joint_sites(path, params, places, layers, layout, guide, posterior, draws, reference):
    """Sites that depend on each other, by the guide's own params; places, {site: array of indices into loc}, says which
    numbers are whose. posterior, the library's own distribution or None, and draws(posterior, n) are compared with it."""
    law = {n: np.asarray(to_numpy(a), np.float64) for n, a in params.items() if a is not None}
    law.setdefault("scale", np.ones_like(law["loc"]))
    if "cov_factor" in law:
        law["cov_factor"] = law["scale"][:, None] * law["cov_factor"]
    if layout not in ("in,out", "out,in"):
        raise ValueError('layout=%r: say "out,in" (PyroModule[nn.Linear]) or "in,out" (x @ W)' % (layout,))
    loc, L = _tall(law)
    notes = _compare_posterior(posterior, draws, loc, L)
    rows = []

    def put(layer, part, site):
        _real(guide, site)
        at = np.asarray(_site(places, site)).astype(np.int64)
        layer.put(part, "mean", loc[at], layout)
        rows.append((layer, part, (at.T if part == "weight" and layout == "in,out" else at).ravel()))

    made = _sites(layers, put)
    of = collections.Counter(int(i) for _, _, at in rows for i in at)
    if max(of.values()) > 1:
        raise ValueError("a site is in two layers, and psafe takes two layers to have weights of their own")
    for layer in made:
        own = {part: L[at] for m, part, at in rows if m is layer}
        layer.covariance = "full", {"factor": _factor_rows(layer.outputs, layer.inputs, (own.get("weight"), own.get("bias")), L.shape[1])}
    notes += ["site %s is in no layer and left out" % s for s in sorted(set(places) - {s for item in layers for s in item[:2]})]
    if len(L) * sum(layer.outputs * (layer.inputs + 1) for layer in made) > 1 << 24:
        notes.append("psafe certifies covariances of all weights with factors of up to 16777216 numbers, those of 4096 weights: --method statistical "
                     "estimates this one")
    _write(path, "correlated" if len(made) == 1 else "joint", made, None, notes, compared=True, **reference)


def _compare_posterior(posterior, draws, loc, L):
    """Refuses a law that is not that of the library's distribution, by its covariance and its draws, and returns notes."""
    if posterior is None:
        return ["the covariance is as given and was not compared: the guide has no get_posterior()"]
    own = getattr(posterior, "covariance_matrix", None)
    if own is not None:
        own, S = np.asarray(to_numpy(own), np.float64), L @ L.T
        if own.shape != S.shape or not np.abs(own - S).max() <= 1e-4 * np.abs(S).max():
            raise ValueError("the covariance of the guide's get_posterior() is not the one that would be written: nothing was written")
    inverse = np.linalg.inv(L)
    source = type("", (), {"sample": staticmethod(lambda n: draws(posterior, n))})
    why = None if draws is None else _unlike(source, [getattr(posterior, "loc", loc)], loc, lambda flat: flat @ inverse.T, 0)
    if why is not None:
        raise ValueError("what get_posterior() of the guide draws does not have the covariance that would be written: %s. Nothing was written" % why)
    return []


def save_pyro(path, guide, layers, layout=None, **reference):
    """Pyro's AutoNormal, AutoDiagonalNormal, AutoMultivariateNormal (which AutoLaplaceApproximation gives, by
    laplace_approximation()) or AutoLowRankMultivariateNormal. layers: (weight site, bias site or None, activation).

    pyro-ppl/pyro, pyro/infer/autoguide/guides.py (0102c1d): AutoNormal has locs.SITE and scales.SITE,
    AutoDiagonalNormal loc and scale, flat, with the sites in the order of _unconstrained_shapes; all
    scales are standard deviations. AutoMultivariateNormal draws loc + scale * (scale_tril @ z) (before 1.7 loc + scale_tril @ z),
    AutoLowRankMultivariateNormal loc + scale * (cov_factor @ z + e).
    """
    if _kind(guide) in ("AutoNormal", "ParameterwiseDiagonalNormal"):
        used = {s for item in layers for s in item[:2] if s is not None}
        if hasattr(guide, "locs"):
            named = getattr(guide.locs, "named_parameters", None)
            # pyro.nn.PyroModule calls the parameter of a site SITE_unconstrained, and has SITE too.
            sites = used | {re.sub("_unconstrained$", "", n) for n, _ in (named() if named else ())}
            locs, scales = ({s: _get(t, s) for s in sites if _get(t, s) is not None} for t in (guide.locs, guide.scales))
        elif callable(getattr(guide, "get_loc", None)) and callable(getattr(guide, "get_scale", None)):
            # TyXe-BDL/TyXe, tyxe/guides.py (14589a9): get_scale gives standard deviations.
            locs, scales = ({s: get(s) for s in used} for get in (guide.get_loc, guide.get_scale))
        else:
            raise ValueError("this AutoNormal has no locs: fit it, or call it once; of a guide of another library draw samples and use save_site_samples")
    elif _kind(guide) == "AutoDiagonalNormal":
        shapes = getattr(guide, "_unconstrained_shapes", None)
        if not shapes or not hasattr(guide, "loc"):
            raise ValueError("AutoDiagonalNormal has no loc: fit it, or call it once")
        sizes = [tuple(s) for s in shapes.values()]
        locs, scales = (dict(zip(shapes, split(v, sizes))) for v in (guide.loc, guide.scale))
    elif _kind(guide) in JOINT_GUIDES:
        shapes, get = guide._unconstrained_shapes, getattr(guide, "get_posterior", None)
        places = dict(zip(shapes, split(np.arange(len(guide.loc)), [tuple(s) for s in shapes.values()])))
        params = {n: getattr(guide, n, None) for n in ("loc", "scale", "scale_tril", "cov_factor")}
        return _save_joint_sites(path, params, places, layers, layout, guide, get and get(), lambda law, n: law.sample((n,)), reference)
    else:
        raise ValueError("%s: want AutoNormal, AutoDiagonalNormal, AutoMultivariateNormal or AutoLowRankMultivariateNormal; draw samples of another "
                         "guide and use save_site_samples" % _kind(guide))
    _save_sites(path, locs, scales, layers, layout, guide, reference, known=True)


JOINT_GUIDES = ("AutoMultivariateNormal", "AutoLowRankMultivariateNormal")


def save_numpyro(path, params, layers, layout=None, guide=None, sites=None, prefix="auto", **reference):
    """NumPyro's AutoNormal, AutoDiagonalNormal, AutoMultivariateNormal, AutoLowRankMultivariateNormal or AutoLaplaceApproximation:
    params as svi.get_params() or svi.run().params gives them. All but AutoNormal need guide=, or (AutoDiagonalNormal) sites=
    [(name, shape), ...] in the order of the vector.

    pyro-ppl/numpyro, numpyro/infer/autoguide.py (002c678): SITE_auto_loc and SITE_auto_scale, or auto_loc
    and auto_scale, flat. Scales are standard deviations. The order of the sites has changed: sorted by
    name where the file used ravel_pytree, that of the model since _ravel_dict; the guide itself knows.
    """
    known = ("AutoNormal", "AutoDiagonalNormal", "AutoLaplaceApproximation") + JOINT_GUIDES
    if guide is not None and _kind(guide) not in known:
        raise ValueError("%s: want %s; draw samples of another guide and use save_site_samples" % (_kind(guide), " or ".join(known)))
    joint = [n for n in ("scale_tril", "cov_factor") if "%s_%s" % (prefix, n) in params]
    if joint or _kind(guide) == "AutoLaplaceApproximation":
        if guide is None:
            raise ValueError("%s_%s is a covariance of all sites: pass guide=, which knows their order" % (prefix, joint[0]))
        own, get = {n: params.get("%s_%s" % (prefix, n)) for n in ("loc", "scale", "scale_tril", "cov_factor")}, getattr(guide, "get_posterior", None)
        if not joint:  # the guide computes it
            own = {n: getattr(get(params), n) for n in ("loc", "scale_tril")}
        places = {s: np.rint(to_numpy(a)) for s, a in dict(guide._unpack_latent(np.arange(len(own["loc"]), dtype=np.float32))).items()}
        return _save_joint_sites(path, own, places, layers, layout, guide, get and get(params), None, reference)
    flat, found = prefix + "_loc", []
    for word in ("_loc", "_scale"):
        if flat not in params:
            end = "_" + prefix + word
            found.append({k[:-len(end)]: v for k, v in params.items() if k.endswith(end)})
        elif guide is not None:
            found.append(dict(guide._unpack_latent(params[prefix + word])))
        elif sites is not None:
            found.append(dict(zip([s for s, _ in sites], split(params[prefix + word], [s for _, s in sites]))))
        else:
            raise ValueError("%s is one flat vector: pass guide=, or sites=[(name, shape), ...] in its order" % flat)
    _save_sites(path, found[0], found[1], layers, layout, guide, reference)


def save_site_samples(path, samples, layers, layout=None, **reference):
    """HMC samples by site, {name: (N, ...)}, as MCMC.get_samples() of Pyro and NumPyro gives them; more
    than one chain is joined along the first axis. Logits are those of sample 0. Samples of flax and equinox, as BlackJAX
    stacks them, are trees whose leaves have the axis of samples first; sites are then paths: "params/Dense_0/kernel",
    "layers/0/weight". So may be those of save_numpyro, whose sites of random_flax_module are named "net/Dense_0.kernel"."""
    if layout not in ("in,out", "out,in"):
        raise ValueError('layout=%r: say "out,in" (PyroModule[nn.Linear]) or "in,out" (x @ W)' % (layout,))
    made = _sites(layers, lambda layer, part, site: layer.put(part, "samples", _site(samples, site), layout))
    counts = {len(a["samples"]) for m in made for a in (m.weight, m.bias) if a}
    if len(counts) != 1:
        raise ValueError("the sites have %s samples: want as many of each" % sorted(counts))
    count = counts.pop()
    _write(path, "samples", _filled(made, "samples"), {"counts": [1] * count}, _first_alone(count, reference), **reference)


# ---- TensorFlow Probability --------------------------------------------------------------------

def _tfp_part(layer, part, posterior):
    """Puts a TFP posterior of a kernel or bias into a layer.

    tensorflow/probability, python/layers/util.py (ca15cce): Independent(Normal(loc, scale)) with scale a
    DeferredTensor of eps + softplus(untransformed_scale), eps = np.finfo(dtype).eps, or Deterministic(loc),
    which is the default of biases; python/util/deferred_tensor.py (01fe4c1): pretransformed_input.
    """
    d = getattr(posterior, "distribution", posterior)
    if _kind(d).strip("_") not in ("Normal", "Deterministic"):
        raise ValueError("%s: the posterior of its %s is %s, want Normal or Deterministic" % (layer.label, part, _kind(d)))
    layer.put(part, "mean", d.loc, "in,out")
    if _kind(d).strip("_") == "Deterministic":
        return None
    sd, raw = np.asarray(to_numpy(d.stddev()), np.float64), getattr(d.scale, "pretransformed_input", None)
    raw = None if raw is None else to_numpy(raw)
    word = "sd" if raw is None else "softplus:%r" % float(np.finfo(raw.dtype).eps)
    if raw is not None and not np.allclose(sd_of(raw, word), sd, rtol=1e-3, atol=0):
        word = "sd"  # made by another function than the default one: take what it computes
    layer.put_scale(part, sd if word == "sd" else raw, word, "in,out")
    return sd.mean()


def _tfp_activation(f, label):
    """The word of a Keras activation, found by its name; the slope of leaky relu by its value at -1."""
    name = getattr(f, "__name__", _kind(f).lower()) if f is not None else "linear"
    if name in ("leaky_relu", "leakyrelu"):
        return "leaky_relu:%.9g" % -float(to_numpy(f(np.array([[-1.0]], np.float32)))[0, 0])
    if name == "elu":  # its value at -1 is alpha (1/e - 1)
        return "elu:%.9g" % (float(to_numpy(f(np.array([[-1.0]], np.float32)))[0, 0]) / np.expm1(-1.0))
    if name in ("linear", "softmax", "log_softmax"):
        return "identity" if name == "linear" else name
    return activation_word(name, label)


def save_tfp(path, model, inputs, **reference):
    """A Keras Sequential (or a list of layers) of TFP's DenseReparameterization, DenseFlipout and
    DenseLocalReparameterization, Keras' Dense (certain), activations, Flatten and Dropout (off).
    Without logits= or predict=, the mean network is computed by the layers' own activations."""
    if not isinstance(model, (list, tuple)) and _kind(model) != "Sequential":
        raise ValueError("%s is not a Sequential: pass its layers as a list in the order of the forward pass" % _kind(model))
    made, spreads, notes, steps, word = [], [], [], [], None
    for k, m in enumerate(getattr(model, "layers", model)):
        kind, label = _kind(m), "layer %d (%s)" % (k, _kind(m))
        if word in ("softmax", "log_softmax"):
            raise ValueError("%s comes behind a %s, which psafe has at the end only" % (label, word))
        if kind in ("InputLayer", "Flatten"):
            continue
        if kind == "Dropout":
            notes.append("Dropout is off, as in evaluation")
            continue
        if "Conv" in kind:
            raise ValueError(CONVOLUTION % (label, kind))
        if kind in ("ReLU", "LeakyReLU", "Activation", "Softmax"):
            f, named = getattr(m, "activation", m), {"ReLU": "relu", "Softmax": "softmax"}.get(kind)
            if kind == "ReLU" and any(getattr(m, a, None) for a in ("max_value", "negative_slope", "threshold")):
                raise ValueError("%s: only a ReLU without maximum, slope and threshold is known" % label)
            if not made or word not in (None, "identity"):
                raise ValueError("%s: an activation must follow a layer with weights" % label)
            word = named or _tfp_activation(f, label)
        elif hasattr(m, "kernel_posterior") or kind == "Dense":
            layer, pair = Layer(label, "identity"), [None, None]
            if kind != "Dense" and any(m is other for other in list(getattr(model, "layers", model))[:k]):
                raise ValueError(TIED % (label, "itself, as it is called twice"))
            if kind == "Dense":
                layer.put("weight", "mean", m.kernel, "in,out")
                if getattr(m, "bias", None) is not None:
                    layer.put("bias", "mean", m.bias, "in,out")
            else:
                pair[0] = _tfp_part(layer, "weight", m.kernel_posterior)
                if m.bias_posterior is not None:
                    pair[1] = _tfp_part(layer, "bias", m.bias_posterior)
            f, word = m.activation, _tfp_activation(m.activation, label)
            made.append(layer)
            spreads.append(pair)
            steps.append([layer, []])
        else:
            raise ValueError("%s: psafe has nothing for %s: it has Dense, DenseReparameterization, DenseFlipout, DenseLocalReparameterization, "
                             "ReLU, LeakyReLU, Activation, Softmax, Flatten and Dropout" % (label, kind))
        steps[-1][1].append(f)
        if word not in ("softmax", "log_softmax"):
            made[-1].activation = word

    def mean_network(x):
        h = np.asarray(x, np.float32).reshape(len(x), -1)
        for layer, functions in steps:
            h = np.asarray(h @ layer.centre("weight") + layer.centre("bias"), np.float32)
            for f in functions:
                h = h if f is None else to_numpy(f(h))
        return h

    if reference.get("logits") is None and reference.get("predict") is None:
        reference["predict"] = mean_network
        if isinstance(model, (list, tuple)):
            notes.append("nothing shows that the layers of the list are in the order of the forward pass: predict= would")
    _write(path, "gaussian", made, None, sorted(set(notes)), inputs, **dict({"spread": spreads}, **reference))


# ---- heads on frozen features ------------------------------------------------------------------

def features(backbone, inputs, batch=256):
    """What a torch module in evaluation mode, or a function of arrays, makes of inputs (N, ...): (N, features), by batches.
    Two calls must agree, to a thousandth: a backbone that draws is not frozen."""
    inputs = to_numpy(inputs)
    if len(inputs) == 0:
        raise ValueError("inputs are empty: give a few real ones")
    like = next(iter(backbone.parameters()), None) if hasattr(backbone, "parameters") else None
    if like is None and hasattr(backbone, "modules"):  # without a parameter
        import torch
        like = torch.zeros(1)
    with _training(backbone, False):
        parts = [_call(backbone, inputs[k:k + batch], like) for k in range(0, len(inputs), batch)]
        again = _call(backbone, inputs[:batch], like)
    if not np.allclose(again, parts[0], 1e-3, 1e-3 * np.abs(parts[0]).max()):
        raise ValueError("the backbone gives other features when it is called again: no frozen network draws")
    return _numbers(np.concatenate([p.reshape(len(p), -1) for p in parts]), "features")


def save_head(path, backbone, head, inputs, of=None, save=None, **more):
    """A head on the features of a frozen network, for networks that nobody can bound from the input on. The file says
    that its inputs are features of that network, and so does every record: T is a set of features, and nothing is
    proved of what the network makes of raw inputs.

    backbone  the network in front, a torch module or a function of arrays
    head      what save takes: a torch module for save_torch, which is the default; a Laplace object that was fitted on
              features for save_laplace, layers for save_gaussian
    inputs    raw inputs: their features are the reference inputs of the file
    of        names the backbone in files and records (default: its class)
    more      arguments of save, such as predict=

    Returns the features of inputs, (N, features), for psafe as points."""
    of = str(_kind(backbone) if of is None else of)
    if not of.strip() or len(of.encode()) > 200:
        raise ValueError("of=%.40r: give at most 200 bytes that name the backbone" % (of,))
    found = features(backbone, inputs)
    part = "%s.%d.head" % (os.fspath(path), os.getpid())
    try:
        (save or save_torch)(part, head, inputs=found, **more)
        with np.load(part) as f:
            arrays = {k: f[k] for k in f.files}
    finally:
        if os.path.exists(part):
            os.remove(part)
    header = json.loads(bytes(arrays.pop("__meta__")))
    header["features_of"] = of
    _save(path, header, arrays, header.pop("note", ""), [])
    return found


def save_hulls(path, views, classes):
    """A property file (.json) for certify --property: T of input i is the smallest box around its views[i], features (views,
    features) of augmented views of one input, and S that class classes[i] stays the largest output."""
    views, classes = _numbers(views, "views"), [int(c) for c in to_numpy(classes)]
    if views.ndim != 3 or len(classes) != len(views) or 0 in views.shape:
        raise ValueError("views have the shape %s and there are %d classes: want (inputs, views, features) and a class for each input"
                         % (views.shape, len(classes)))
    ends = np.stack([views.min(1), views.max(1)], -1).astype(np.float64)
    entries = [{"name": "hull of input %d" % i, "kind": "argmax_is", "class": c, "boxes": [ends[i].tolist()]} for i, c in enumerate(classes)]
    part = "%s.%d.part" % (os.fspath(path), os.getpid())
    try:
        with open(part, "w", encoding="utf-8") as f:
            json.dump({"inputs": "features", "properties": entries}, f)
        os.replace(part, os.fspath(path))
    finally:
        if os.path.exists(part):
            os.remove(part)


# ---- running psafe -----------------------------------------------------------------------------

def certify(net, points, eps, folder=None, program=None, frame=None, **flags):
    """Runs psafe certify and returns its records: a list of dicts, or a pandas.DataFrame where pandas is
    there (frame=False: always the list; frame=True: an error without pandas).

    net      the path of a file that a save_... function wrote, or a torch module, which save_torch saves
    points   (N, ...): raw inputs, in the units of the data and the order that the network takes; numbers,
             never bytes that stand for b/255: pass b/255.0
    eps      radius of T in each coordinate: a number, or a list of radii
    folder   keeps net.npz, points.npy and results.jsonl, for psafe check and psafe report; replaces them
    program  psafe (default: the environment's PSAFE, or the one on the path)
    flags    of psafe certify, with _ for -: clip=(0, 1), require=0.95, draws=1000, property="top_k:2",
             strict=True, options={"cells": 50, "no_upper": True}; label= may be an array of classes, one for
             each point. Of a torch module also names=, layers=, spread=, predict= and logits= of save_torch

    Notes of psafe go to standard error. A ValueError has its error line."""
    import tempfile
    pandas = None
    if frame is not False:
        try:
            import pandas
        except ImportError:
            if frame:
                raise ValueError("frame=True needs pandas") from None
    with tempfile.TemporaryDirectory() as temporary:
        records, notes, _ = _certified(net, points, eps, temporary if folder is None else folder, program, None, flags)
    if notes:
        print(notes, file=sys.stderr)
    if pandas is None:
        return records
    return pandas.DataFrame([{k: v for k, v in r.items() if k != "proof"} for r in records])


def _program(program=None):
    """The path of psafe: program, the environment's PSAFE, or the one on the path."""
    import shutil
    program = program or os.environ.get("PSAFE") or shutil.which("psafe")
    if not program:
        raise ValueError("there is no psafe on the path: make install in its clone, or program= or PSAFE names it")
    return program


def _certified(net, points, eps, folder, program, told, flags):
    """What certify() asked for, with all files in folder: the records, the notes of psafe, and the path of the
    posterior. told is None, or called with how many tasks of how many are done."""
    program = _program(program)
    points = None if points is None else _numbers(points, "points").astype(np.float64)
    os.makedirs(folder, exist_ok=True)
    names = {n: os.path.join(os.fspath(folder), n) for n in ("net.npz", "points.npy", "labels.npy", "results.jsonl")}
    flags = dict(flags)
    saved = {w: flags.pop(w) for w in ("names", "layers", "spread", "predict", "logits") if w in flags}
    if isinstance(net, (str, os.PathLike)):
        if saved:
            raise ValueError("%s= is for a torch module: %s is saved" % (sorted(saved)[0], os.fspath(net)))
        posterior = os.fspath(net)
    elif hasattr(net, "named_parameters") and points is not None:
        posterior = names["net.npz"]
        save_torch(posterior, net, inputs=points.astype(np.float32), **saved)
    else:
        raise ValueError("%s: give the path of a file that a save_... function wrote, or a torch module" % _kind(net))
    if points is not None:
        np.save(names["points.npy"], points)
    if isinstance(flags.get("label"), (list, tuple, np.ndarray)) or hasattr(flags.get("label"), "detach"):
        np.save(names["labels.npy"], np.asarray(to_numpy(flags["label"])).astype(np.int64))
        flags["label"] = names["labels.npy"]
    asked = [] if points is None else ["--inputs", names["points.npy"]]
    command = [program, "certify", "--posterior", posterior] + asked + ([] if eps is None else ["--eps", _flag(eps)]) + [
               "--out", names["results.jsonl"], "--overwrite", "--progress", "json" if told else "none"]
    for name, value in flags.items():
        if value is True:
            command.append("--" + name.replace("_", "-"))
        elif value is not None and value is not False:
            command += ["--" + name.replace("_", "-"), _flag(value)]
    status, said = _followed(command, told)
    if status not in (0, 10):  # 10: a gate, with all records written
        raise ValueError((said or ["psafe ended with status %d" % status])[-1])
    with open(names["results.jsonl"], encoding="utf-8") as f:
        return [json.loads(line) for line in f], "\n".join(said), posterior


def _followed(command, told):
    """Runs a command of psafe: its status and the lines it said, without those of its progress, which told is
    called with. An interruption ends psafe too."""
    import subprocess
    said = []
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as run:
        try:
            for line in run.stderr:
                line = line.decode("utf-8", "replace").rstrip()
                if told and line.startswith('{"done":'):
                    at = json.loads(line)
                    told(at["done"], at["total"])
                elif line:
                    said.append(line)
        except BaseException:
            run.terminate()
            raise
    return run.returncode, said


def _flag(value):
    """A value as psafe's command line has it; decimals are those that Python prints."""
    if isinstance(value, dict):
        return ",".join(k.replace("_", "-") + ("" if v is True else "=" + _flag(v)) for k, v in value.items() if v is not None and v is not False)
    if isinstance(value, (list, tuple, np.ndarray)):
        return ",".join(_flag(v) for v in value)
    if isinstance(value, (np.floating, np.integer)):
        value = value.item()
    return repr(value) if isinstance(value, float) else str(value)


def _of_one_line(function):
    """function, of which every error but a wrong call is a ValueError of one line."""
    signature = inspect.signature(function)

    @functools.wraps(function)
    def called(*args, **kwargs):
        signature.bind(*args, **kwargs)
        try:
            return function(*args, **kwargs)
        except ValueError as e:
            if "\n" not in str(e):
                raise
            raise ValueError(" ".join(str(e).split())) from e
        except Exception as e:
            raise ValueError("%s met what it does not know: %s: %s" % (function.__name__, _kind(e), " ".join(str(e).split()))) from e

    return called


for _name in [name for name in globals() if name.startswith("save_")]:
    globals()[_name] = _of_one_line(globals()[_name])


def _self_test():
    """Writes a small posterior and reads it back."""
    import tempfile
    with tempfile.TemporaryDirectory() as folder:
        path, W = os.path.join(folder, "net.npz"), np.arange(6.0).reshape(3, 2)
        layers = [dense(W, [0.5, -9, 1], 0 * W - 3, [0, 0, 0], "relu", "out,in", "softplus"),
                  dense(W.T, None, activation="identity", layout="out,in")]
        save_gaussian(path, layers, inputs=[[1, 2]], predict=lambda x: np.maximum(x @ W.T + [0.5, -9, 1], 0) @ W)
        with np.load(path) as f:
            assert f["layers.0.weight.mean"].tolist() == W.T.tolist() and f["reference.logits"].shape == (1, 2)
            assert json.loads(bytes(f["__meta__"]))["layers"][1] == {
                "kind": "dense", "activation": "identity", "in": 3, "out": 2, "bias": False, "weight_scale": "none"}
    print("psafe_export: self-test passed")


if __name__ == "__main__":
    if sys.argv[1:] != ["--self-test"]:
        sys.exit("usage: python3 psafe_export.py --self-test; import psafe_export in your script otherwise")
    _self_test()
