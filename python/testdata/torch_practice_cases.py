"""Networks of torch as people write them: activations at the end, zeros around images and beside channels, one output, several
outputs, weights that torch computes, products with parameters, and the other names of functions."""
import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils import parametrizations, parametrize

from cases import header, np, notes, path, px, refuses, rng

torch.manual_seed(4)
X, IMAGES = torch.rand(20, 4), torch.rand(20, 3, 8, 8)


class Bayes(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.weight_mean, self.bias_mean = nn.Parameter(torch.randn(n_out, n_in) / n_in ** 0.5), nn.Parameter(torch.randn(n_out))
        self.weight_sd, self.bias_sd = nn.Parameter(torch.full((n_out, n_in), 0.05)), nn.Parameter(torch.full((n_out,), 0.05))

    def forward(self, x):
        return F.linear(x, torch.normal(self.weight_mean, self.weight_sd), torch.normal(self.bias_mean, self.bias_sd))


def net(forward, **parts):
    made = type("Net", (nn.Module,), {"forward": forward})()
    for name, part in parts.items():
        setattr(made, name, part)
    return made


def kinds(name):
    return [e["kind"] + (":" + e["activation"] if e.get("activation", "identity") != "identity" else "") for e in header(name)["layers"]]


def saves(name, model, x, want, save=px.save_torch, **kw):
    """The file has these kinds of layers, with their activations."""
    said = notes(save, path(name), model, inputs=x, **kw)
    assert kinds(name) == want.split(), (name, kinds(name))
    return said


def parameter(*shape):
    return nn.Parameter(torch.randn(shape))


# An activation at the end stays, in front of a layer that returns its inputs.
mlp = lambda *end, n=2: nn.Sequential(Bayes(4, 8), nn.ReLU(), Bayes(8, n), *end)  # noqa: E731
assert "tanh at the end is kept" in saves("tanh", mlp(nn.Tanh()), X, "dense:relu dense:tanh dense")
entry = header("tanh")["layers"][-1]
assert entry["weight_scale"] == "none" == entry["bias_scale"] and entry["in"] == entry["out"] == 2
said = saves("tanh-forward", net(lambda s, x: torch.tanh(s.b(torch.relu(s.a(x)))), a=Bayes(4, 8), b=Bayes(8, 2)), X, "dense:relu dense:tanh dense")
assert said.count("at the end is kept") == 1, said
features = nn.Sequential(nn.Conv2d(3, 2, 3), nn.ReLU(), nn.Flatten(), Bayes(72, 2), nn.Sigmoid())
assert "sigmoid at the end is kept" in saves("sigmoid", features, IMAGES, "conv2d activation:relu flatten dense activation:sigmoid dense")
drops = lambda: nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.1), nn.Linear(8, 2), nn.Tanh())  # noqa: E731
saves("tanh-dropout", drops(), X, "dense:relu dense:tanh dense", px.save_torch_dropout)
saves("tanh-ensemble", [drops() for _ in range(3)], X, "dense:relu dense:tanh dense", px.save_torch_ensemble)
two = mlp()
refuses(["layer 1 looks as if its activation were identity"], px.save_torch, two, X, layers=[(two[0], "relu"), (two[2], "tanh")])

# One logit: (N,), a second column of zeros by hand, and classes=2, of every kind of file.
for name, forward in (("last", lambda s, x: s.b(torch.relu(s.a(x))).squeeze(-1)), ("all", lambda s, x: s.b(torch.relu(s.a(x))).squeeze()),
                      ("view", lambda s, x: s.b(torch.relu(s.a(x).unsqueeze(1).squeeze(1))).view(-1)), ("first", lambda s, x: s.b(torch.relu(s.a(x)))[:, 0])):
    saves("squeeze-" + name, net(forward, a=Bayes(4, 8), b=Bayes(8, 1)), X, "dense:relu dense")
saves("squeeze-line", net(lambda s, x: s.b(torch.relu(s.a(x))).squeeze(-1) * 2 + 1, a=Bayes(4, 8), b=Bayes(8, 1)), X,
      "dense activation:relu dense batch_norm batch_norm")
saves("stack", net(lambda s, x: torch.stack([s.b(s.a(x)).squeeze(-1), s.c(x).squeeze(-1)], 1), a=Bayes(4, 8), b=Bayes(8, 1), c=nn.Linear(4, 1)), X,
      "dense dense dense concat")
saves("by-hand", net(lambda s, x: (lambda y: torch.cat([torch.zeros_like(y), y], 1))(s.b(torch.relu(s.a(x)))), a=Bayes(4, 8), b=Bayes(8, 1)), X,
      "dense activation:relu dense dense")


def logits(name, want):
    with np.load(path(name)) as f:
        y = f["reference.logits"]
    assert y.shape == (20, 2) and not y[:, 0].any() and np.allclose(y[:, 1:], want.detach().reshape(-1, 1), atol=1e-3), name


one, steep = mlp(n=1), mlp(n=1)
steep[2].weight_mean.data *= 30  # of which float32 has sigmoids of 1
mean = lambda model: px._mean_logits(model, [px._Dense(model[k], "") for k in (0, 2)], X.numpy())  # noqa: E731
for name, model in (("one", one), ("steep", steep)):
    for end in ("", "-sigmoid"):
        said = saves(name + end, nn.Sequential(*model, *[nn.Sigmoid()] * bool(end)), X, "dense:relu dense", classes=2)
        logits(name + end, torch.as_tensor(mean(model)))
        assert ("sigmoid at the end is left out" in said) == bool(end) and "kept" not in said, said
        with np.load(path(name + end)) as f:
            assert not f["layers.1.weight.scale"][:, 0].any() and np.isclose(f["reference.spread"][1], 0.025).all()
saves("one-features", net(lambda s, x: torch.sigmoid(s.b(torch.relu(s.a(x)).flatten(1))).squeeze(-1), a=nn.Conv2d(3, 2, 3), b=Bayes(72, 1)), IMAGES,
      "conv2d activation:relu flatten dense", classes=2)
saves("one-line", net(lambda s, x: torch.sigmoid(s.b(torch.relu(s.a(x)))[:, 0] * 2 + 1), a=Bayes(4, 8), b=Bayes(8, 1)), X,
      "dense activation:relu dense batch_norm batch_norm dense", classes=2)
for name, end in (("log-sigmoid", F.logsigmoid), ("other", lambda y: 1 - torch.sigmoid(y))):  # no logits
    model = net(lambda s, x: end(s.b(torch.relu(s.a(x)))), a=Bayes(4, 8), b=Bayes(8, 1))  # noqa: B023
    said = notes(px.save_torch, path("one-" + name), model, inputs=X, classes=2)
    assert "all reference outputs are on one side of 0" in said, (said, np.load(path("one-" + name))["reference.logits"])
saves("one-tanh", mlp(nn.Tanh(), n=1), X, "dense:relu dense:tanh dense", classes=2)
drops = lambda: nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.1), nn.Linear(8, 1), nn.Sigmoid())  # noqa: E731
saves("one-dropout", drops(), X, "dense:relu dense", px.save_torch_dropout, classes=2)
saves("one-ensemble", [drops() for _ in range(3)], X, "dense:relu dense", px.save_torch_ensemble, classes=2)
for words, model, classes in ((["2 outputs"], two, 2), (["classes=3"], one, 3), (["relu", "no output is below 0"], mlp(nn.ReLU(), n=1), 2),
                              (["softplus", "no class"], nn.Sequential(nn.Flatten(), nn.Unflatten(1, (3, 8, 8)), nn.Conv2d(3, 1, 8), nn.Flatten(), nn.Softplus()), 2)):
    refuses(words, px.save_torch, model, IMAGES if "softplus" in words else X, classes=classes)

# Several outputs: the first is written, layers that serve the others alone are left out, but not what may be a spread.
said = saves("heads", net(lambda s, x: (lambda h: (s.b(h), F.softplus(s.c(h)), s.d(h)))(torch.relu(s.a(x))), a=Bayes(4, 8), b=Bayes(8, 2),
                          c=nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 2)), d=Bayes(8, 1)), X, "dense:relu dense")
assert all(said.count("layer %s is not used for the first output" % n) == 1 for n in ("c.0", "c.2")) and "layer d (Bayes) is not used" in said, said
moments = net(lambda s, x: (F.linear(x, s.m), F.linear(x ** 2, s.v)), m=parameter(2, 4), v=nn.Parameter(torch.rand(2, 4)))
refuses(["layer a (Net)", "parameter v", "names="], px.save_torch, net(lambda s, x: s.a(x), a=moments), X)

# Weights that torch computes from parameters, always alike; nothing of the module changes.
for name, layer in (("weight-norm", nn.utils.weight_norm(nn.Linear(4, 8))), ("spectral-norm", nn.utils.spectral_norm(nn.Linear(4, 8))),
                    ("spectral", parametrizations.spectral_norm(nn.Linear(4, 8))), ("orthogonal", parametrizations.orthogonal(nn.Linear(4, 8)))):
    model = nn.Sequential(layer, nn.ReLU(), Bayes(8, 3)).train()
    model(X)
    before = {k: v.clone() for k, v in model.state_dict().items()}
    saves(name, model, X, "dense activation:relu dense")
    assert all(torch.equal(v, before[k]) for k, v in model.state_dict().items()) and model.training
    refuses(["layer 0", "leave out layers="], px.save_torch, model, X, layers=[(model[0], "relu"), (model[2], "identity")])
saves("spectral-conv", nn.Sequential(nn.utils.spectral_norm(nn.Conv2d(3, 2, 3)), nn.Flatten(), Bayes(72, 2)), IMAGES, "conv2d flatten dense")
if hasattr(parametrizations, "weight_norm"):
    saves("weight-norm-2", nn.Sequential(parametrizations.weight_norm(nn.Linear(4, 8)), Bayes(8, 2)), X, "dense dense")


class Doubled(nn.Module):
    def forward(self, w):
        return 2 * w


own = nn.Linear(4, 8)
parametrize.register_parametrization(own, "weight", Doubled())
refuses(["computed in forward()"], px.save_torch, nn.Sequential(own, nn.ReLU(), Bayes(8, 3)), X)

# Products with parameters and their transposes.
for name, forward in (("at", lambda s, x: x @ s.w), ("mm", lambda s, x: x.mm(s.w)), ("plus", lambda s, x: torch.matmul(x, s.w) + s.c), ("addmm", lambda s, x: torch.addmm(s.c, x, s.w)),
                      ("linear", lambda s, x: F.linear(x, s.w.t(), s.c)), ("turned", lambda s, x: x @ s.v.T + s.c), ("einsum", lambda s, x: torch.einsum("ni,io->no", x, s.w)),
                      ("einsum-turned", lambda s, x: torch.einsum("bi, oi -> bo", x, s.v))):
    saves("product-" + name, net(lambda s, x: s.b(torch.relu(forward(s, x))), w=parameter(4, 8), v=parameter(8, 4), c=parameter(8), b=nn.Linear(8, 3)), X,  # noqa: B023
          "dense activation:relu dense")
saves("product-vector", net(lambda s, x: torch.relu(s.b(x)) @ s.u + s.d, b=nn.Linear(4, 3), u=parameter(3), d=parameter(1)), X, "dense activation:relu dense")
saves("product-shared", net(lambda s, x: (lambda h: s.b(torch.relu(h + s.c) + h))(x @ s.w), w=parameter(4, 8), c=parameter(8), b=nn.Linear(8, 3)), X,
      "dense batch_norm activation:relu flatten add dense")  # no bias of the product: h is used without it
for words, forward in ((["axis of the batch"], lambda s, x: (s.v @ x.T).T), (["einsum", "ni,io->no"], lambda s, x: torch.einsum("ni,ni->n", x, s.v[:1].expand(len(x), 4))[:, None].expand(len(x), 8)),
                       (["product of a layer"], lambda s, x: (s.v @ x.unsqueeze(-1)).squeeze(-1)), (["as it takes them"], lambda s, x: x @ s.c)):
    refuses(words, px.save_torch, net(lambda s, x: s.b(forward(s, x)), v=parameter(8, 4), c=parameter(8), b=nn.Linear(8, 3)), X)  # noqa: B023

# Activations by other names, and what is a line and a ReLU.
for name, forward, want in (
        ("clip", lambda z: torch.clip(z, 0), "dense:relu dense"), ("clamp-min", lambda z: z.clamp_min(0), "dense:relu dense"), ("in-place", lambda z: z.clamp_(0), "dense:relu dense"),
        ("threshold", lambda z: F.threshold(z, 0, 0), "dense:relu dense"), ("maximum", lambda z: torch.maximum(z, torch.zeros_like(z)), "dense:relu dense"),
        ("max", lambda z: torch.max(z, torch.tensor(0.0)), "dense:relu dense"), ("celu", F.celu, "dense:elu:1.0 dense"),
        ("rrelu", F.rrelu, "dense:leaky_relu:0.22916666666666666 dense"), ("data", lambda z: torch.relu(z.data), "dense:relu dense"),
        ("relu6", F.relu6, "dense activation:relu batch_norm activation:relu batch_norm dense"),
        ("hardtanh", F.hardtanh, "dense batch_norm activation:relu batch_norm activation:relu batch_norm dense"),
        ("clamp", lambda z: z.clamp(-0.25, 0.5), "dense batch_norm activation:relu batch_norm activation:relu batch_norm dense"),
        ("clamp-max", lambda z: z.clamp(max=0.5), "dense batch_norm activation:relu batch_norm dense"),
        ("logsigmoid", F.logsigmoid, "dense batch_norm activation:softplus batch_norm dense"),
        ("difference", lambda z: z - torch.tanh(z), "dense activation:tanh batch_norm flatten add dense"),
        ("alpha", lambda z: torch.add(z, torch.tanh(z), alpha=2), "dense activation:tanh batch_norm flatten add dense"),
        ("constants", lambda z: torch.ones_like(z) - (torch.zeros_like(z) - z), "dense batch_norm batch_norm dense")):
    saves("call-" + name, net(lambda s, x: s.b(forward(s.a(x))), a=nn.Linear(4, 8), b=nn.Linear(8, 3)), X, want)  # noqa: B023
saves("prelu", nn.Sequential(Bayes(4, 8), nn.PReLU(8), Bayes(8, 3)), X, "dense:leaky_relu:0.25 dense")
saves("relu6", nn.Sequential(nn.Conv2d(3, 2, 3), nn.ReLU6(), nn.Flatten(), Bayes(72, 3)), IMAGES,
      "conv2d activation:relu batch_norm activation:relu batch_norm flatten dense")
for words, forward in ((["numbers as limits"], lambda z: torch.clamp(z, torch.tensor(0.0), torch.tensor(1.0))), (["lower first"], lambda z: z.clamp(1, 0)),
                       (["layer and a constant"], lambda z: torch.maximum(z, -z)), (["threshold 0"], lambda z: F.threshold(z, 0.1, 0)), (["alpha 1"], lambda z: F.celu(z, 2.0)),
                       (["does not depend on the input"], lambda z: torch.zeros_like(z) + torch.ones_like(z)), (["amax over all places"], lambda z: z.max(1, keepdim=True)[0].repeat(1, 8))):
    refuses(words, px.save_torch, net(lambda s, x: s.b(forward(s.a(x))), a=nn.Linear(4, 8), b=nn.Linear(8, 3)), X)  # noqa: B023

# Zeros around images are padding of the convolution that takes them, or a layer; copies are moves; zeros are channels too.
parts = dict(k=parameter(2, 3, 3, 3), b=nn.Linear(32, 3), circular=nn.Conv2d(3, 2, 3, padding=1, padding_mode="circular"))
some = lambda h: h.flatten(1)[:, :32]  # noqa: E731
for name, forward, want in (
        ("merged", lambda s, x: F.conv2d(F.pad(x, (1, 2, 0, 1)), s.k, padding=1), "conv2d flatten reorder dense"),
        ("alone", lambda s, x: torch.relu(F.pad(x, (1, 1, 1, 1))), "conv2d activation:relu flatten reorder dense"),
        ("pool", lambda s, x: F.max_pool2d(F.pad(x, (1, 1, 1, 1)), 2), "conv2d max_pool flatten reorder dense"),
        ("both", lambda s, x: (lambda p: F.conv2d(p, s.k)[:, :2] + p[:, :2, 1:-1, 1:-1])(F.pad(x, (1, 1, 1, 1))), "conv2d conv2d flatten reorder add flatten reorder dense"),
        ("channels", lambda s, x: F.pad(x[:, :, ::2, ::2], (0, 0, 0, 0, 1, 2), "constant", 0), "reorder conv2d flatten reorder dense"),
        ("corner", lambda s, x: F.pad(x, (1, 0, 0, 1, 0, 1)), "conv2d conv2d flatten reorder dense"),
        ("list", lambda s, x: F.pad(x.flatten(1)[:, :29], (1, 2)), "reorder conv1d flatten dense"),
        ("cat", lambda s, x: torch.cat([x.new_zeros(len(x), 1, 8, 8), x, torch.ones(len(x), 2, 8, 8)], 1), "conv2d flatten reorder dense"),
        ("cat-zeros", lambda s, x: torch.cat([s.circular(x), torch.zeros_like(x)], 1), "reorder conv2d conv2d flatten reorder dense"),
        ("mul-zero", lambda s, x: (lambda h: torch.cat([h, h.mul(0)], 1))(s.circular(x)), "reorder conv2d batch_norm concat flatten reorder dense"),
        ("reflect", lambda s, x: F.conv2d(F.pad(x, (1, 1, 1, 1), mode="reflect"), s.k), "reorder conv2d flatten reorder dense"),
        ("circular", lambda s, x: s.circular(x), "reorder conv2d flatten reorder dense"),
        ("normalised", lambda s, x: F.conv2d((F.pad(x, (1, 1, 1, 1)) - 0.5) / 0.25, s.k), "conv2d batch_norm batch_norm conv2d flatten reorder dense"),
        ("cut", lambda s, x: F.pad(x, (-1, -1, -2, -2)), "reorder reorder dense")):
    saves("pad-" + name, net(lambda s, x: s.b(some(forward(s, x))), **parts), IMAGES, want)  # noqa: B023
saves("pad-random", nn.Sequential(nn.ZeroPad2d((1, 0, 2, 1)), nn.Conv2d(3, 2, 3), nn.Flatten(), Bayes(126, 3)), IMAGES, "conv2d flatten dense")
assert header("pad-random")["layers"][0]["padding"] == [[2, 1], [1, 0]]
saves("pad-line", nn.Sequential(nn.ConstantPad1d(2, 0.0), nn.Conv1d(2, 2, 3), nn.Flatten(), Bayes(18, 3)), rng.rand(20, 2, 7), "conv1d flatten dense")
for words, forward in ((["with 1: psafe has zeros"], lambda x: F.pad(x, (1, 1), value=1.0)), (["cut and pad in two calls"], lambda x: F.pad(x, (-1, 1))),
                       (["differ from place to place"], lambda x: torch.cat([x, torch.rand(len(x), 1, 8, 8)], 1))):
    refuses(words, px.save_torch, net(lambda s, x: s.b(some(forward(x))), **parts), IMAGES)  # noqa: B023


# What a batch norm makes of a list is an image of one place to psafe; constants for each place are those of a list.
lists = nn.Sequential(nn.Linear(4, 12), nn.BatchNorm1d(12), nn.ReLU(), nn.Unflatten(1, (3, 2, 2)), nn.Conv2d(3, 2, 2), nn.Flatten())
saves("list-image", lists, X, "dense batch_norm activation:relu flatten conv2d flatten")
saves("list-slice", net(lambda s, x: s.b(F.pad(s.n(s.a(x))[:, ::2], (1, 1)).clamp(0, 1)), a=nn.Linear(4, 12), n=lists[1], b=nn.Linear(8, 2)), X,
      "dense batch_norm reorder conv1d flatten activation:relu batch_norm activation:relu batch_norm dense")
parts = dict(k=nn.Conv2d(3, 2, 3), c=parameter(2, 6, 6), w=parameter(2, 2, 3, 3), drop=nn.Dropout(0.1))
for name, forward, n, want in (
        ("conv", lambda s, x: F.conv2d(torch.relu(s.k(x) + s.c), s.w), 32, "conv2d flatten batch_norm activation:relu flatten conv2d flatten dense"),
        ("add", lambda s, x: (lambda h: h * s.c + h)(s.k(x)), 72, "conv2d flatten batch_norm flatten add flatten dense"),
        ("cat", lambda s, x: (lambda h: torch.cat([h * s.c, h], 1))(s.k(x)), 144, "conv2d flatten batch_norm flatten flatten concat dense"),
        ("pool", lambda s, x: F.max_pool2d(s.k(x) * s.c, 2), 18, "conv2d flatten batch_norm flatten max_pool flatten dense"),
        ("drop", lambda s, x: F.conv2d(s.drop(s.k(x) * s.c), s.w), 32, "conv2d flatten batch_norm batch_norm flatten conv2d flatten dense")):
    saves("place-" + name, net(lambda s, x: s.b(forward(s, x).flatten(1)), b=nn.Linear(n, 2), **parts), IMAGES, want,  # noqa: B023
          px.save_torch_dropout if name == "drop" else px.save_torch)


class Shortcut(nn.Module):  # of residual networks for CIFAR, option A: every second pixel, channels of zeros
    def __init__(self):
        super().__init__()
        self.one, self.two, self.head = nn.Conv2d(3, 4, 3, padding=1), nn.Conv2d(4, 8, 3, 2, 1), Bayes(8, 3)

    def forward(self, x):
        h = F.relu(self.one(x))
        h = F.relu(self.two(h) + F.pad(h[:, :, ::2, ::2], (0, 0, 0, 0, 2, 2), "constant", 0))
        return self.head(F.avg_pool2d(h, h.size(3)).view(h.size(0), -1))


saves("shortcut", Shortcut(), IMAGES, "conv2d activation:relu conv2d flatten reorder conv2d add activation:relu avg_pool flatten dense")
print("torch practice cases: done")
