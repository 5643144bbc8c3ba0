"""Networks of torch with convolutions: what forward() does is followed. Layers of bayesian-torch, blitz and
torchbnn are stand-ins that have the attributes, the shapes and the arithmetic of the originals."""
import torch
from torch import nn
from torch.nn import functional as F

from cases import arrays, header, notes, np, path, px, refuses, rng

torch.manual_seed(2)
IMAGES = rng.rand(12, 3, 9, 8).astype(np.float32)


def normal(*shape):
    return nn.Parameter(0.3 * torch.randn(shape))


def rhos(*shape):
    return nn.Parameter(-4 + 0.1 * torch.rand(shape))


class Conv2dReparameterization(nn.Module):  # bayesian-torch: forward gives a pair
    def __init__(self, channels, filters, kernel_size, stride=1, padding=0, dilation=1, groups=1):
        super().__init__()
        shape = filters, channels // groups, kernel_size, kernel_size
        self.stride, self.padding, self.dilation, self.groups = stride, padding, dilation, groups
        self.mu_kernel, self.rho_kernel, self.mu_bias, self.rho_bias = normal(*shape), rhos(*shape), normal(filters), rhos(filters)
        self.register_buffer("eps_kernel", torch.zeros(shape))
        self.register_buffer("prior_weight_mu", torch.zeros(shape))

    def forward(self, x, return_kl=True):
        weight = self.mu_kernel + torch.log1p(torch.exp(self.rho_kernel)) * self.eps_kernel.data.normal_()
        bias = self.mu_bias + torch.log1p(torch.exp(self.rho_bias)) * torch.randn_like(self.mu_bias)
        return F.conv2d(x, weight, bias, self.stride, self.padding, self.dilation, self.groups), (weight ** 2).sum()


class Conv2dFlipout(Conv2dReparameterization):
    def forward(self, x, return_kl=True):
        delta = torch.log1p(torch.exp(self.rho_kernel)) * torch.randn_like(self.mu_kernel)
        noise = torch.log1p(torch.exp(self.rho_bias)) * torch.randn_like(self.mu_bias)
        y = F.conv2d(x, self.mu_kernel, self.mu_bias, self.stride, self.padding, self.dilation, self.groups)
        sign_in, sign_out = (torch.empty_like(t).uniform_(-1, 1).sign() for t in (x, y))
        return y + F.conv2d(x * sign_in, delta, noise, self.stride, self.padding, self.dilation, self.groups) * sign_out, 0.0


class LinearReparameterization(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.mu_weight, self.rho_weight, self.mu_bias, self.rho_bias = normal(n_out, n_in), rhos(n_out, n_in), normal(n_out), rhos(n_out)

    def forward(self, x):
        weight = self.mu_weight + torch.log1p(torch.exp(self.rho_weight)) * torch.randn_like(self.mu_weight)
        return F.linear(x, weight, self.mu_bias + torch.log1p(torch.exp(self.rho_bias)) * torch.randn_like(self.mu_bias)), 0.0


class Sampler(nn.Module):
    def __init__(self, mu, rho):
        super().__init__()
        self.mu, self.rho = mu, rho

    def sample(self):
        return self.mu + torch.log1p(torch.exp(self.rho)) * torch.randn_like(self.mu)


class BayesianConv2d(nn.Module):  # blitz: samplers are modules
    def __init__(self, channels, filters, kernel_size, stride=1, padding=0):
        super().__init__()
        shape = (filters, channels) + kernel_size
        self.freeze, self.stride, self.padding, self.bias = False, stride, padding, True
        self.weight_mu, self.weight_rho, self.bias_mu, self.bias_rho = normal(*shape), rhos(*shape), normal(filters), rhos(filters)
        self.weight_sampler, self.bias_sampler = Sampler(self.weight_mu, self.weight_rho), Sampler(self.bias_mu, self.bias_rho)

    def forward(self, x):
        w, b = self.weight_sampler.sample(), self.bias_sampler.sample()
        return F.conv2d(input=x, weight=w, bias=b, stride=self.stride, padding=self.padding)


class BayesConv2d(nn.Module):  # torchbnn: log sigma, no bias
    def __init__(self, channels, filters, kernel_size, sd=torch.exp):
        super().__init__()
        shape, self.sd = (filters, channels, kernel_size, kernel_size), sd
        self.weight_mu, self.weight_log_sigma, self.bias = normal(*shape), rhos(*shape), False
        self.register_parameter("bias_mu", None)
        self.register_parameter("bias_log_sigma", None)

    def forward(self, x):
        return F.conv2d(x, self.weight_mu + self.sd(self.weight_log_sigma) * torch.randn_like(self.weight_mu), None)


def settled(net, x=IMAGES):
    """Batch norms with statistics of their own."""
    with torch.no_grad():
        for _ in range(3):
            net.train()(torch.as_tensor(x))
    return net.eval()


def kinds(name):
    return [entry["kind"] for entry in header(name)["layers"]]


def fails(words, body, x=IMAGES, **kw):
    """A network with this forward(self, x) is refused by these words."""
    net = type("Net", (nn.Module,), {"forward": body})()
    net.conv, net.fc, net.fc8 = nn.Conv2d(3, 4, 3, padding=1), nn.Linear(288, 5), nn.Linear(8, 2)
    refuses(words, px.save_torch, net.eval(), x, **kw)


# Each library's network as its users write it.
class OfBayesianTorch(nn.Module):
    def __init__(self, conv):
        super().__init__()
        self.conv1, self.conv2, self.fc = conv(3, 6, 3, padding=1), conv(6, 4, 3, stride=2, dilation=2, groups=2), LinearReparameterization(36, 5)

    def forward(self, x):
        x, kl = self.conv1(x)
        x, more = self.conv2(F.relu(x))
        x = F.max_pool2d(F.relu(x), 1, 1)
        x, last = self.fc(torch.flatten(x, 1))
        return F.log_softmax(x, dim=1), kl + more + last


for name, conv in (("reparameterization", Conv2dReparameterization), ("flipout", Conv2dFlipout)):
    net = OfBayesianTorch(conv)
    x = np.pad(IMAGES, ((0, 0), (0, 0), (0, 0), (0, 1)))
    said = notes(px.save_torch, path(name), net, x)
    assert "log_softmax" in said and "compared" not in said, said
    spread = arrays(name)["reference.spread"]
    assert spread.shape == (3, 2) and np.isfinite(spread).all(), spread
    assert header(name)["layers"][2]["groups"] == 2 and header(name)["version"] == 2 and header(name)["scale"] == "softplus"
    assert net.training and np.array_equal(arrays(name)["layers.0.weight.scale"], net.conv1.rho_kernel.detach().numpy())

net = nn.Sequential(BayesianConv2d(3, 4, (3, 2), 1, (1, 0)), nn.BatchNorm2d(4), nn.ReLU(inplace=True), nn.AvgPool2d(3, 2, 1), nn.Flatten(),
                    nn.Dropout(0.3), nn.Linear(80, 5))
said = notes(px.save_torch, path("blitz"), settled(net), IMAGES)
assert "Dropout(0.3) is off" in said and "compared" not in said, said
assert kinds("blitz") == ["conv2d", "batch_norm", "activation", "avg_pool", "flatten", "dense"]
assert header("blitz")["layers"][3]["count_padding"] and header("blitz")["layers"][1]["weight_scale"] == "none"
px.save_torch(path("torchbnn"), nn.Sequential(BayesConv2d(3, 4, 3), nn.Tanh(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 3)), IMAGES)
assert header("torchbnn")["scale"] == "log_sd" and header("torchbnn")["layers"][0]["bias"] is False
refuses(["weights vary by", "layer 0 (BayesConv2d)"], px.save_torch,
        nn.Sequential(BayesConv2d(3, 4, 3, sd=lambda s: 1.2 * torch.exp(s)), nn.Flatten(), nn.Linear(168, 3)), IMAGES)


# Residual blocks, in place and not; a normalisation inside; a mean over all places; reshapes by view.
class Block(nn.Module):
    def __init__(self, channels, filters, stride):
        super().__init__()
        self.one, self.norm1 = BayesianConv2d(channels, filters, (3, 3), stride, 1), nn.BatchNorm2d(filters)
        self.two, self.norm2 = nn.Conv2d(filters, filters, 3, padding="same", bias=False), nn.BatchNorm2d(filters)
        self.relu, self.short = nn.ReLU(inplace=True), nn.Sequential(nn.Conv2d(channels, filters, 1, stride), nn.BatchNorm2d(filters))

    def forward(self, x):
        y = self.relu(self.norm1(self.one(x)))
        y = self.norm2(self.two(y))
        y += self.short(x)
        return self.relu(y)


class ResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.tensor([0.4, 0.5, 0.6]).reshape(1, 3, 1, 1))
        self.stem, self.blocks, self.head = nn.Conv2d(3, 4, 3, padding=1), nn.ModuleList([Block(4, 4, 1), Block(4, 6, 2)]), nn.Linear(6, 5)

    def forward(self, x):
        if x.shape[1] != 3:
            raise ValueError("channels")
        x = F.leaky_relu_(self.stem((x - self.mean) / 0.25), 0.1)
        for block in self.blocks:
            x = block(x)
        return self.head(x.mean((2, 3)))


net = settled(ResNet())
said = notes(px.save_torch, path("resnet"), net, IMAGES)
assert "normalises its inputs itself" in said and arrays("resnet")["input.std"].tolist() == [0.25], said
assert arrays("resnet")["input.mean"].shape == (216,) and kinds("resnet").count("add") == 2 and kinds("resnet").count("batch_norm") == 6
px.save_torch(path("resnet-said"), net, IMAGES, mean=net.mean[0], std=0.25)
refuses(["normalises its inputs itself", "other numbers"], px.save_torch, net, IMAGES, mean=0.4, std=0.25)
assert np.isfinite(arrays("resnet")["reference.spread"]).sum() == 4
core = nn.Sequential(nn.Conv2d(3, 2, 3), nn.ELU(), nn.Conv2d(2, 2, 2), nn.Flatten(), nn.Linear(60, 3))
px.save_torch(path("outside"), core, 255 * IMAGES, mean=np.array([100, 110, 120]).reshape(3, 1, 1), std=64)
x = torch.as_tensor((255 * IMAGES - np.array([100, 110, 120]).reshape(1, 3, 1, 1)) / 64).float()
assert np.allclose(arrays("outside")["reference.logits"], core(x).detach(), atol=1e-4)
refuses(["output", "is 0", "(mean=, std=)"], px.save_torch, core, IMAGES, logits=np.zeros((12, 3)))
wrong = core(torch.as_tensor(IMAGES) * 2).detach()
refuses(["in the framework", "(mean=, std=)"], px.save_torch, core, IMAGES, logits=wrong)


# Everything else that is followed: sequences, pools, joins, moves, constants, branches.
class Many(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.deep, self.scale = nn.Conv2d(3, 4, 3, padding=1), nn.Conv2d(4, 4, 3, groups=4, dilation=2, padding=2), nn.Parameter(torch.rand(4, 1, 1))
        self.fc, self.norm, self.out = nn.Linear(46, 12), nn.BatchNorm1d(12), nn.Linear(12, 3)

    def forward(self, x):
        size = x.size(0)
        y = torch.relu(self.conv(x.float().contiguous()))
        z = torch.cat([self.deep(y) * self.scale - 0.5, -y], 1)[:, 2:8].sigmoid()
        z = F.max_pool2d(z, 3, 2, ceil_mode=True)
        w = torch.cat((F.adaptive_avg_pool2d(z, (2, 1)).reshape(size, -1), F.avg_pool2d(z, 2, ceil_mode=True).amax((2, 3))), dim=1)
        w = torch.cat([w, F.adaptive_max_pool2d(y[:, :, :8], 2).permute(0, 2, 3, 1).flatten(1), y.mean((2, 3)), x[:, 0, 0, :2], w.chunk(3, 1)[1]], -1)
        assert w.shape[1] == 46 and len(w) == size, w.shape
        return self.out(F.softplus(self.norm(self.fc(w)).clamp(min=0)) + torch.ones(12))


px.save_torch(path("many"), settled(Many()), IMAGES)
line = nn.Sequential(nn.Conv1d(2, 3, 3, 2, padding=1), nn.BatchNorm1d(3), nn.ReLU(), nn.MaxPool1d(2), nn.AvgPool1d(2, 1), nn.Flatten(), nn.Linear(9, 2))
px.save_torch(path("line"), settled(line, rng.rand(10, 2, 17).astype(np.float32)), rng.rand(10, 2, 17))
image = nn.Sequential(nn.Linear(5, 12), nn.ReLU(), nn.Unflatten(1, (3, 2, 2)), nn.Conv2d(3, 2, 2), nn.Flatten())
px.save_torch(path("from-list"), image, rng.rand(10, 5))  # ends without a dense layer
shared = type("Shared", (nn.Module,), {"forward": lambda self, x: self.fc(torch.relu(self.fc(x)) + x)})()
shared.fc = nn.Linear(5, 5)
px.save_torch(path("skip"), shared, rng.rand(10, 5))  # certain weights may be used twice

# A diagonal Laplace approximation, with the attributes of laplace-torch.
class AnyLaplace:
    def __init__(self, model, params):
        self.model, self.params, self.mean = model, params, nn.utils.parameters_to_vector(params).detach()
        self.posterior_scale = torch.linspace(0.01, 0.1, len(self.mean))


class DiagLaplace(AnyLaplace):
    pass


class KronLaplace(AnyLaplace):
    def sample(self, count):
        return self.mean + torch.zeros(count, 1)


net = settled(nn.Sequential(nn.Conv2d(3, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.Conv2d(2, 2, 2), nn.Flatten(), nn.Linear(60, 3)))
refuses(["shape (2,)", "batch norms must be certain"], px.save_laplace, DiagLaplace(net, list(net.parameters())), IMAGES)
some = [p for p in net.parameters() if len(p) != 2 or p.dim() > 1]
px.save_laplace(path("laplace"), DiagLaplace(net, some), IMAGES)
sds = torch.linspace(0.01, 0.1, sum(p.numel() for p in some))
assert np.allclose(arrays("laplace")["layers.0.weight.scale"].ravel(), sds[:54]) and np.allclose(arrays("laplace")["layers.5.bias.scale"], sds[-3:])
assert np.isfinite(arrays("laplace")["reference.spread"]).sum() == 4 and header("laplace")["layers"][0]["bias_scale"] == "none"
refuses(["KronLaplace of Sequential", "diagonal"], px.save_laplace, KronLaplace(net, some), IMAGES, samples=10)
refuses(["KronLaplace", "last layer alone"], px.save_laplace, KronLaplace(net, list(net.parameters())), IMAGES)


class FullLaplace(AnyLaplace):
    """Of the last layer: convolutional features, and a softmax that is left out."""

    def __init__(self, model, params):
        super().__init__(model, params)
        self.posterior_scale = torch.tril(torch.linspace(-0.01, 0.02, len(self.mean) ** 2).reshape(len(self.mean), -1)) + 0.05 * torch.eye(len(self.mean))

    def sample(self, count):
        return self.mean + torch.randn(count, len(self.mean)) @ self.posterior_scale.T


px.save_laplace(path("laplace-features"), FullLaplace(net, list(net[5].parameters())), IMAGES)
head, kept = header("laplace-features"), arrays("laplace-features")
assert head["version"] == 3 and head["layers"][-1]["covariance"] == "full" and "scale" not in head and head["layers"][0]["kind"] == "conv2d"
S = FullLaplace(net, list(net[5].parameters())).posterior_scale.numpy()
assert np.array_equal(kept["layers.%d.covariance.factor" % (len(head["layers"]) - 1)][60], S[180]) and len(S) == 183  # bias 0, behind its 60 weights
refuses(["used twice"], px.save_laplace, DiagLaplace(shared, list(shared.parameters())), rng.rand(10, 5))
plain = type("Plain", (nn.Module,), {"forward": lambda self, x: self.out(torch.relu(self.fc(x)))})()
plain.fc, plain.out = nn.Linear(5, 4), nn.Linear(4, 2)
px.save_laplace(path("laplace-chain"), DiagLaplace(plain, list(plain.parameters())), rng.rand(10, 5))
assert header("laplace-chain")["version"] == 1 and header("laplace-chain")["layers"][0]["activation"] == "relu"



# MC dropout behind convolutions.
class Dropped(nn.Module):
    def __init__(self, forward):
        super().__init__()
        self.conv, self.drop, self.also, self.fc, self.out = nn.Conv2d(3, 2, 3, bias=False), nn.Dropout(0.2), nn.Dropout2d(0.1), nn.Linear(84, 5), nn.Linear(5, 5)
        self.few, self.last = nn.Linear(18, 5), nn.Linear(5, 5)
        self.run = forward

    def forward(self, x):
        return self.run(self, x)


px.save_torch_dropout(path("dropout-features"), Dropped(lambda self, x: self.fc(self.drop(torch.relu(self.conv(x))).flatten(1))), IMAGES)
head = header("dropout-features")
assert head["version"] == 2 and head["kind"] == "dropout" and "scale" not in head
assert [e["rate"] for e in head["layers"] if e["kind"] in ("conv2d", "dense")] == [0, 0.2]
px.save_torch_dropout(path("dropout-before"), Dropped(lambda self, x: self.out(torch.relu(self.fc(self.drop(self.conv(x).flatten(1)))))), IMAGES)
assert [e["rate"] for e in header("dropout-before")["layers"] if e["kind"] == "dense"] == [0.2, 0]
# In front of other layers masks are batch norms with gains of 1, and behind pools where that is the same.
for name, forward, want in (
        ("channels", lambda self, x: self.fc(self.also(self.conv(x)).flatten(1)), [("batch_norm", 0.1, 2)]),
        ("input", lambda self, x: self.fc(self.conv(self.drop(x)).flatten(1)), [("batch_norm", 0.2, 216)]),
        ("pooled", lambda self, x: self.few(torch.relu(F.max_pool2d(self.also(self.conv(x)), 2)).flatten(1)), [("batch_norm", 0.1, 2)]),
        ("curved", lambda self, x: self.out(torch.tanh(self.drop(self.fc(self.conv(x).flatten(1))))), [("batch_norm", 0.2, 5)]),
        ("twice", lambda self, x: self.out(self.drop(self.drop(self.fc(self.conv(x).flatten(1))))), [("batch_norm", 0.2, 5), ("dense", 0.2, None)]),
        ("shared", lambda self, x: (lambda h: self.out(h) + self.last(h))(self.drop(self.fc(self.conv(x).flatten(1)))), [("batch_norm", 0.2, 5)]),
        ("beside", lambda self, x: (lambda h: self.out(h + self.drop(h)))(self.fc(self.conv(x).flatten(1))), [("batch_norm", 0.2, 5)])):
    px.save_torch_dropout(path("dropout-" + name), Dropped(forward), IMAGES)
    with np.load(path("dropout-" + name)) as file:
        made = [(e["kind"], e["rate"], len(file["layers.%d.weight.mean" % k]) if e["kind"] == "batch_norm" else None)
                for k, e in enumerate(header("dropout-" + name)["layers"]) if e.get("rate")]
    assert made == want, (name, made)
for words, forward in (
        (["one by one"], lambda self, x: self.fc(F.dropout(self.conv(x), 0.1, self.training).flatten(1))),
        (["Dropout2d", "want channels"], lambda self, x: self.out(self.also(self.fc(self.conv(x).flatten(1))))),
        (["at its end"], lambda self, x: self.drop(self.fc(self.conv(x).flatten(1)))),
        (["no Dropout"], lambda self, x: self.fc(self.conv(x).flatten(1)))):
    refuses(words, px.save_torch_dropout, Dropped(forward), IMAGES)

# What cannot be followed is refused in a line with its place.
fails(["asks for the numbers themselves", "Net", "line", "torch_graph_cases.py"], lambda self, x: self.fc(self.conv(x).flatten(1)) if x.sum() > 0 else x)
fails(["asks for the numbers"], lambda self, x: self.fc(self.conv(x * float(x.max())).flatten(1)))
fails(["numpy", "asks for"], lambda self, x: self.fc(self.conv(torch.as_tensor(x.numpy())).flatten(1)))
fails(["gelu", "line", "psafe has no gelu"], lambda self, x: self.fc(F.gelu(self.conv(x)).flatten(1)))
fails(["drops in evaluation"], lambda self, x: self.fc(F.dropout(self.conv(x), 0.5).flatten(1)))
fails(["multiplies two layers"], lambda self, x: self.fc((self.conv(x) * torch.sigmoid(self.conv(x))).flatten(1)))
fails(["alpha=2", "the constant itself"], lambda self, x: self.fc(torch.add(self.conv(x), torch.ones(1), alpha=2).flatten(1)))
fails(["shapes (4, 9, 8) and (4, 1, 1)"], lambda self, x: self.fc((self.conv(x) + self.conv(x).mean((2, 3), keepdim=True)).flatten(1)))
fails(["over the axes [3]"], lambda self, x: self.conv(x).mean(3).flatten(1))
fails(["is computed in forward()", "names="], lambda self, x: self.fc(F.conv2d(x, 2 * self.conv.weight, padding=1).flatten(1)))
fails(["dense and takes the shape (4, 9, 8)", "Flatten"], lambda self, x: self.fc8(self.conv(x)).flatten(1))
fails(["changed in place"], lambda self, x: (lambda y: (y.view(y.shape).relu_(), self.fc(y.flatten(1)))[1])(self.conv(x)))
fails(["writes into a tensor"], lambda self, x: (lambda y: (y.__setitem__((slice(None), 0), 0), self.fc(y.flatten(1)))[1])(self.conv(x)))
fails(["conv_transpose2d", "no transposed"], lambda self, x: F.conv_transpose2d(x, self.conv.weight.transpose(0, 1)).flatten(1))
fails(["axis of the batch first"], lambda self, x: self.conv(x).transpose(0, 1).flatten(1)[:, :5])
fails(["forward() returns a dict"], lambda self, x: {"logits": self.fc(self.conv(x).flatten(1))})
fails(["list of logits"], lambda self, x: self.conv(x))
fails(["at the end only"], lambda self, x: self.fc(F.softmax(self.conv(x).flatten(1), 1)))
fails(["gives other logits when it is called again"], lambda self, x: self.fc((self.conv(x) + torch.randn(1)).flatten(1)))
fails(["normalised otherwise"], lambda self, x: self.fc((self.conv(x / 2) + self.conv(x)).flatten(1)))
fails(["numbers that are not above 0"], lambda self, x: self.fc(self.conv(1 - x).flatten(1)))
fails(["windows differ in size"], lambda self, x: F.adaptive_avg_pool2d(self.conv(x), 4).flatten(1))
fails(["divisor_override"], lambda self, x: F.avg_pool2d(self.conv(x), 2, divisor_override=3).flatten(1))
fails(["ceil_mode=True with padding that counts"], lambda self, x: F.avg_pool2d(self.conv(x), 3, 2, 1, ceil_mode=True).flatten(1)[:, :5])
fails(["cannot be called", "as it takes them"], lambda self, x: self.fc(self.conv(x).flatten(1)), x=IMAGES[:, :2])
for module, words in ((nn.BatchNorm2d(3, track_running_stats=False), ["layer 0 (BatchNorm2d)", "running statistics"]),
                      (nn.InstanceNorm2d(3), ["layer 0 (InstanceNorm2d)", "no instance_norm"]),
                      (nn.Softplus(2.0), ["layer 0 (Softplus)", "beta 1"]),
                      (nn.Upsample(scale_factor=2), ["layer 0 (Upsample)", "no interpolate"]), (nn.Hardswish(), ["layer 0 (Hardswish)", "no hardswish"])):
    size = module.eval()(torch.as_tensor(IMAGES)).flatten(1).shape[1]
    refuses(words, px.save_torch, nn.Sequential(module, nn.Flatten(), nn.Linear(size, 3)).eval(), IMAGES)
fails(["max_pool2d_with_indices"], lambda self, x: self.fc(self.conv(F.max_pool2d(x, 1, return_indices=True)[0]).flatten(1)))


# Random layers: used twice; with a spread that psafe does not know; that draw in training alone; weights of odd kinds.
class Hidden(nn.Module):
    def __init__(self, size=3):
        super().__init__()
        self.mean, self.noise, self.size = normal(4, 3, size, size), rhos(4, 3, size, size), size

    def forward(self, x):
        weight = self.mean + torch.exp(self.noise) * torch.randn_like(self.mean) if self.training else self.mean
        return F.conv2d(x, weight, padding=self.size // 2)


tail = [nn.ReLU(), nn.Flatten(), nn.Linear(288, 2)]
refuses(["layer 0 (Hidden)", "parameter noise", "names="], px.save_torch, nn.Sequential(Hidden(), *tail), IMAGES)
net = nn.Sequential(Hidden(), *tail)
assert "compared" not in notes(px.save_torch, path("hidden"), net, IMAGES, names=("mean", "noise", None, None, "log_sd"))
assert header("hidden")["layers"][0]["bias"] is False and np.isfinite(arrays("hidden")["reference.spread"][0, 0])
refuses(["vary by"], px.save_torch, net, IMAGES, names=("mean", "noise", None, None, "log_variance"))
refuses(["in,out", "kernels"], px.save_torch, net, IMAGES, names=("mean", "noise", None, None, "log_sd", "in,out"))
refuses(["names=: no layer has both"], px.save_torch, net, IMAGES, names=("w", "s", None, None, "log_sd"))
twice = type("Twice", (nn.Module,), {"forward": lambda self, x: self.fc(self.conv(x).flatten(1) + self.conv(x).flatten(1))})()
twice.conv, twice.fc = BayesianConv2d(3, 4, (3, 3), 1, 1), nn.Linear(288, 2)
refuses(["layer conv (BayesianConv2d)", "called twice"], px.save_torch, twice, IMAGES)
twice.other = BayesianConv2d(3, 4, (3, 3), 1, 1)
twice.other.weight_sampler = twice.conv.weight_sampler
type(twice).forward = lambda self, x: self.fc(self.conv(x).flatten(1) + self.other(x).flatten(1))
refuses(["layer other (BayesianConv2d)", "shares its weights with layer conv"], px.save_torch, twice, IMAGES)
odd = Hidden()
odd.forward = lambda x: F.conv_transpose2d(x, odd.mean.transpose(0, 1), padding=1)
refuses(["layer 0 (Hidden)", "conv_transpose2d", "stride and padding"], px.save_torch, nn.Sequential(odd, *tail), IMAGES,
        names=("mean", "noise", None, None, "log_sd"))
net = ResNet()
net.unused = nn.Linear(3, 3)
assert "parameter unused.bias is not used in evaluation" in notes(px.save_torch, path("unused"), settled(net), IMAGES)
print("torch graph cases: done")
