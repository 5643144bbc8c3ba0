"""A residual network of images of 32 x 32 x 3, with six convolutions, trained as a Bayesian network
(Bayes by Backprop: an independent normal distribution for each weight) and saved for psafe.

    python3 resnet.py IMAGES LABELS FOLDER [EPOCHS]

IMAGES and LABELS are IDX files, also gzipped, such as those of MNIST; images of one channel are
repeated and get a border of zeros. The first images are held back: FOLDER/test-images.npy and
test-labels.npy are what psafe certify --inputs and --label take, FOLDER/net.npz is the posterior.
psafe_export.py must lie beside this script, in the folder above or on PYTHONPATH.
"""
import gzip
import os
import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import psafe_export  # noqa: E402

TEST = 0.1           # this share of the images is held back
PRIOR = 0.1          # standard deviation of the prior of every weight
TEMPERATURE = 0.001  # of the posterior: it counts the KL divergence so often (a cold posterior)
REACH = 0.03         # how far images are moved in training, each pixel towards a larger loss


def idx(path):
    """The array of an IDX file of bytes."""
    with (gzip.open if path.endswith(".gz") else open)(path, "rb") as f:
        raw = f.read()
    axes = raw[3]
    shape = np.frombuffer(raw, ">u4", axes, 4)
    return np.frombuffer(raw, np.uint8, offset=4 + 4 * axes).reshape(shape)


def images(path):
    """(N, 3, 32, 32) in 0..1."""
    x = torch.tensor(idx(path).astype(np.float32) / 255)
    rows, columns = 32 - x.shape[1], 32 - x.shape[2]
    x = F.pad(x, (columns // 2, columns - columns // 2, rows // 2, rows - rows // 2))
    return x[:, None].repeat(1, 3, 1, 1)


class Bayesian(nn.Module):
    """A mean and rho for each weight and bias: the standard deviation is log(1 + exp(rho))."""

    def __init__(self, out, *shape):
        super().__init__()
        self.weight_mean = nn.Parameter(torch.randn(out, *shape) * (1.5 / np.prod(shape)) ** 0.5)
        self.weight_rho = nn.Parameter(torch.full((out,) + shape, -7.0))
        self.bias_mean, self.bias_rho = nn.Parameter(torch.zeros(out)), nn.Parameter(torch.full((out,), -7.0))

    def pairs(self):
        return (self.weight_mean, F.softplus(self.weight_rho)), (self.bias_mean, F.softplus(self.bias_rho))

    def draw(self):
        return (mean + sd * torch.randn_like(sd) for mean, sd in self.pairs())

    def kl(self):
        """The divergence from the prior N(0, PRIOR^2)."""
        return sum((0.5 * (mean ** 2 + sd ** 2) / PRIOR ** 2 - torch.log(sd / PRIOR) - 0.5).sum() for mean, sd in self.pairs())


class Conv(Bayesian):
    def __init__(self, channels, filters, kernel, stride=1):
        super().__init__(filters, channels, kernel, kernel)
        self.stride, self.padding = stride, kernel // 2

    def forward(self, x):
        weight, bias = self.draw()
        return F.conv2d(x, weight, bias, stride=self.stride, padding=self.padding)


class Dense(Bayesian):
    def forward(self, x):
        weight, bias = self.draw()
        return F.linear(x, weight, bias)


class Block(nn.Module):
    """relu(conv(relu(conv(x))) + x), with a convolution of 1 x 1 in the shortcut where the shape changes."""

    def __init__(self, channels, filters, stride):
        super().__init__()
        self.one, self.two = Conv(channels, filters, 3, stride), Conv(filters, filters, 3)
        self.short = Conv(channels, filters, 1, stride) if stride > 1 else nn.Identity()

    def forward(self, x):
        return F.relu(self.two(F.relu(self.one(x))) + self.short(x))


class ResNet(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.stem = Conv(3, 8, 3, stride=2)
        self.blocks = nn.Sequential(Block(8, 8, 1), Block(8, 16, 2))
        self.pool, self.head = nn.AvgPool2d(2), Dense(classes, 256)

    def forward(self, x):
        x = self.blocks(F.relu(self.stem(x)))
        return self.head(torch.flatten(self.pool(x), 1))


def train(net, x, y, epochs):
    optimiser = torch.optim.Adam(net.parameters(), 3e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 1e-2, epochs * (len(x) // 64 + 1))
    for epoch in range(epochs):
        right = 0
        for batch in torch.randperm(len(x)).split(64):
            near = (x[batch] + REACH * torch.randn_like(x[batch])).requires_grad_()
            slope, = torch.autograd.grad(F.cross_entropy(net(near), y[batch]), near)
            logits = net((x[batch] + REACH * slope.sign()).clamp(0, 1))
            kl = sum(m.kl() for m in net.modules() if isinstance(m, Bayesian))
            loss = F.cross_entropy(logits, y[batch]) + TEMPERATURE * kl / len(x)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
            right += int((logits.argmax(1) == y[batch]).sum())
        print("epoch %d: %.2f %% of the training images" % (epoch + 1, 100 * right / len(x)), flush=True)


def main(images_path, labels_path, folder, epochs="6"):
    torch.manual_seed(1)
    x, y = images(images_path), torch.tensor(idx(labels_path).astype(np.int64))
    net, test = ResNet(int(y.max()) + 1), max(1, int(TEST * len(x)))
    train(net, x[test:], y[test:], int(epochs))
    with torch.no_grad():
        print("%.2f %% of the images held back" % (100 * float((net(x[:test]).argmax(1) == y[:test]).float().mean())))
    psafe_export.save_torch(os.path.join(folder, "net.npz"), net, inputs=x[:64])
    np.save(os.path.join(folder, "test-images.npy"), (255 * x[:test]).round().byte().numpy())
    np.save(os.path.join(folder, "test-labels.npy"), y[:test].byte().numpy())


if __name__ == "__main__":
    main(*sys.argv[1:])
