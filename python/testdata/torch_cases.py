"""Real torch: networks trained for a few steps and exported."""
import contextlib
import torch
from torch import nn

from cases import arrays, header, moments, notes, np, path, px, refuses, rng

torch.manual_seed(1)
X = rng.rand(200, 4).astype(np.float32)
Y = (X[:, 0] > X[:, 1]).astype(np.int64) + 2 * (X[:, 2] > X[:, 3])


class Bayes(nn.Module):
    """A layer of one's own; attributes and words as the names say."""

    def __init__(self, n_in, n_out, names=("weight_mean", "weight_rho", "bias_mean", "bias_rho"), spread=-4.0, bias=True,
                 sd=lambda s: torch.log1p(torch.exp(s)), turned=False, pair=False):
        super().__init__()
        shape = (n_in, n_out) if turned else (n_out, n_in)
        self.names, self.sd, self.turned, self.pair = names, sd, turned, pair
        for name, size, value in zip(names, (shape, shape, (n_out,), (n_out,)), (None, spread, None, spread)):
            start = torch.randn(size) / n_in ** 0.5 if value is None else torch.full(size, value) + 0.1 * torch.rand(size)
            setattr(self, name, nn.Parameter(start) if bias or "b" not in name[:1] else None)

    def forward(self, x):
        W, sW, b, sb = (getattr(self, n) for n in self.names)
        W = W + self.sd(sW) * torch.randn_like(W)
        y = x @ (W if self.turned else W.T)
        y = y if b is None else y + b + self.sd(sb) * torch.randn_like(b)
        return (y, torch.tensor(0.0)) if self.pair else y


def train(net, steps=20, x=X):
    optimiser = torch.optim.Adam(net.parameters(), 0.05)
    for _ in range(steps):
        out = net(torch.as_tensor(x))
        loss = nn.functional.cross_entropy(out[0] if isinstance(out, tuple) else out, torch.as_tensor(Y))
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return net


# A Sequential of own layers, with an input that must be flattened and a softmax that psafe leaves out.
net = train(nn.Sequential(nn.Flatten(), Bayes(4, 4), nn.LeakyReLU(0.1), Bayes(4, 4), nn.Tanh(), nn.Linear(4, 4), nn.LogSoftmax(1)))
before = [p.clone() for p in net.parameters()]
mode = torch.random.get_rng_state()
said = notes(px.save_torch, path("sequential"), net, X[:50].reshape(50, 1, 2, 2), note="mine")
assert "log_softmax" in said and header("sequential")["note"].startswith("mine; "), said
assert all(torch.equal(a, b) for a, b in zip(before, net.parameters())) and net.training
assert torch.equal(mode, torch.random.get_rng_state())
assert header("sequential")["input_shape"] == [1, 2, 2] and header("sequential")["scale"] == "softplus"
assert header("sequential")["layers"][0]["activation"] == "leaky_relu:0.1"
assert header("sequential")["layers"][2] == {"kind": "dense", "activation": "identity", "in": 4, "out": 4,
                                             "weight_scale": "none", "bias_scale": "none"}
got = arrays("sequential")
assert np.array_equal(got["layers.0.weight.scale"], net[1].weight_rho.detach().numpy().T)
with torch.no_grad():
    logits = X[:50]
    for k, (layer, act) in enumerate([(net[1], net[2]), (net[3], net[4]), (net[5], lambda z: z)]):
        W, b = (layer.weight, layer.bias) if k == 2 else (layer.weight_mean, layer.bias_mean)
        logits = act(nn.functional.linear(torch.as_tensor(logits), W, b))
assert np.abs(got["reference.logits"] - logits.numpy()).max() < 1e-5


# A forward() of its own is followed, or layers= says what it does; a wrong order, activation or layout does not pass.
class Net(nn.Module):
    def __init__(self, **kw):
        super().__init__()
        self.out, self.hidden = Bayes(4, 4, **kw), Bayes(4, 4, **kw)

    def forward(self, x):
        x = self.hidden(x)
        x = self.out(torch.relu(x[0] if isinstance(x, tuple) else x))
        return x


net = train(Net(pair=True))
px.save_torch(path("followed"), net, X)
px.save_torch(path("forward"), net, X, layers=[(net.hidden, "relu"), (net.out, "identity")])
refuses(["output"], px.save_torch, net, X, layers=[(net.out, "relu"), (net.hidden, "identity")])
refuses(["output"], px.save_torch, net, X, layers=[(net.hidden, "tanh"), (net.out, "identity")])
refuses(["inputs="], px.save_torch, net, None, layers=[(net.hidden, "relu"), net.out])

assert all(np.array_equal(a, arrays("forward")[k]) for k, a in arrays("followed").items()) and header("followed") == header("forward")
refuses(['write "relu"'], px.save_torch, net, X, layers=[(net.hidden, torch.relu), net.out])
refuses(['write "leaky_relu:SLOPE"'], px.save_torch, net, X, layers=[(net.hidden, nn.functional.leaky_relu), net.out])
refuses(["no gelu"], px.save_torch, net, X, layers=[(net.hidden, nn.functional.gelu), net.out])
refuses(["layers[0] (LayerNorm)", "mean=", "names="], px.save_torch, net, X, layers=[nn.LayerNorm(4), net.hidden])


# Layers that draw outputs in training mode, and none in evaluation; one that never draws; a small error in the spread.
class Local(nn.Module):
    def __init__(self, n_in, n_out, rho, sd=nn.functional.softplus, draws=True):
        super().__init__()
        self.weight_mu, self.bias_mu = nn.Parameter(torch.randn(n_out, n_in)), nn.Parameter(torch.randn(n_out))
        self.weight_rho, self.bias_rho = nn.Parameter(rho + 0.1 * torch.rand(n_out, n_in)), nn.Parameter(torch.full((n_out,), rho - 3))
        self.sd, self.draws = sd, draws

    def forward(self, x):
        y = x @ self.weight_mu.T + self.bias_mu
        noise = (x ** 2 @ (self.sd(self.weight_rho) ** 2).T + self.sd(self.bias_rho) ** 2).sqrt() * torch.randn_like(y)
        return y + noise if self.draws and self.training else y


class Inside(nn.Module):  # normalises its inputs itself
    def __init__(self, one, two):
        super().__init__()
        self.one, self.two = one, two

    def forward(self, x):
        return self.two(torch.relu(self.one((x - 0.3) / 0.7)))


net = Inside(Local(4, 6, -1.0), Local(6, 3, -4.0)).eval()
lay = [(net.one, "relu"), (net.two, "identity")]
said = notes(px.save_torch, path("inside"), net, X, layers=lay, mean=0.3, std=0.7)
assert "normalises its inputs itself" in said and "compared" not in said and not net.training, said
assert np.isfinite(arrays("inside")["reference.spread"]).all() and arrays("inside")["input.mean"].tolist() == [0.3]
logits = net(torch.as_tensor(X)).detach()
core = nn.Sequential(net.one, nn.ReLU(), net.two)
for model, more in ((core, {}), (net, {"logits": logits}), (net, {"predict": net}), (net, {"predict": core}), (net, {"predict": lambda x: net(x)})):
    px.save_torch(path("inside-other"), model, X, layers=None if model is core else lay, mean=0.3, std=0.7, **more)
    assert np.allclose(arrays("inside-other")["reference.logits"], logits[:256], atol=1e-4)
refuses(["about mean=0.3, std=0.7 fits"], px.save_torch, net, X, layers=lay)
refuses(["about mean=0.3, std=0.7 fits"], px.save_torch, net, X, layers=lay, mean=0.3, std=0.75)
refuses(["activation were relu"], px.save_torch, net, X, layers=[(net.one, "tanh"), net.two], mean=0.3, std=0.7)
refuses(["activation were relu"], px.save_torch, core, X, layers=[(net.one, "tanh"), net.two], mean=0.3, std=0.7)
refuses(["(5, 3)"], px.save_torch, net, X[:5, :3], layers=lay)
words = ("weight_mu", "weight_rho", "bias_mu", "bias_rho")
refuses(["vary by", "log_sd"], px.save_torch, net, X, layers=lay, mean=0.3, std=0.7, names=words + ("log_sd",))
for factor in (0.85, 1.15):  # weights alone, or biases alone, whose sd is a twentieth of that of the weights
    for shape in ((4, 6), (1, 1)):
        softplus = nn.functional.softplus
        net = nn.Sequential(Local(*shape, -1.0, sd=lambda s, f=factor: softplus(s) * (f if s.dim() == 2 else 1)))
        refuses(["weights vary by"], px.save_torch, net, X[:, :shape[0]])
        net[0].sd = lambda s, f=factor: softplus(s) * (f if s.dim() == 1 else 1)
        refuses(["biases vary by"], px.save_torch, net, X[:, :shape[0]])
        net[0].sd = lambda s, f=factor: softplus(s) * (1 - (1 - f) / 10)
        px.save_torch(path("near"), net, X[:, :shape[0]])
        assert np.isfinite(arrays("near")["reference.spread"]).all()
# The mean of all variances is that of all standard deviations here; those of halves are not.
net = nn.Sequential(Local(4, 6, 0.0, sd=lambda s: s))
net[0].weight_rho.data, net[0].bias_rho.data = torch.tensor([0.3, 1.2]).repeat(6, 2), torch.full((6,), 0.1)
refuses(["weights vary by"], px.save_torch, net, X, names=words + ("variance",))
# A layer that never draws is refused, unless spread= says what it has.
net = nn.Sequential(Local(4, 3, -2.0, draws=False))
refuses(["layer 0 (Local)", "neither in evaluation nor in training", "weights", "of 0.1", "unfreeze", "spread="], px.save_torch, net, X)
px.save_torch(path("said"), net, X, spread=[[nn.functional.softplus(p) for p in (net[0].weight_rho, net[0].bias_rho)]])
assert np.isfinite(arrays("said")["reference.spread"]).all()
net = nn.Sequential(Local(4, 3, -30.0), nn.ReLU(), Local(3, 3, -1.0))
assert "too small" in notes(px.save_torch, path("tiny"), net, X) or "does not draw" in header("tiny")["note"]
assert np.isnan(arrays("tiny")["reference.spread"][0]).all() and np.isfinite(arrays("tiny")["reference.spread"][1]).all()

# Other names and scales; x @ W in square layers; sd for variance is noticed by drawing.
names = ("w_mu", "w_s", "b_mu", "b_s")
net = train(Net(names=names, spread=-3.0, sd=torch.exp))
lay = [(net.hidden, "relu"), net.out]
refuses(["names="], px.save_torch, net, X, layers=lay)
px.save_torch(path("log_sd"), net, X, layers=lay, names=names + ("log_sd",))
assert header("log_sd")["scale"] == "log_sd"
refuses(["vary by", "log_variance"], px.save_torch, net, X, layers=lay, names=names + ("log_variance",))
net = train(Net(names=names, spread=0.3, sd=lambda s: s, turned=True))
lay = [(net.hidden, "relu"), net.out]
refuses(["no sd"], px.save_torch, net, X, layers=lay, names=names + ("sd", "in,out"))
for layer in (net.hidden, net.out):
    for a in (layer.w_s, layer.b_s):
        a.data.abs_().clamp_(min=0.1)
refuses(["vary by"], px.save_torch, net, X, layers=lay, names=names + ("variance", "in,out"))
refuses(["output"], px.save_torch, net, X, layers=lay, names=names + ("sd",))
px.save_torch(path("turned"), net, X, layers=lay, names=names + ("sd", "in,out"))
net.extra = nn.Parameter(torch.ones(1))
net.out.gain = nn.Parameter(torch.ones(1))
refuses(["gain"], px.save_torch, net, X, layers=lay, names=names + ("sd", "in,out"))

# The biases' own spread is compared too: sd of biases for variances; and a spread that is turned.
class Apart(Bayes):
    def forward(self, x):
        W, sW, b, sb = (getattr(self, n) for n in self.names)
        y = x @ (W + self.sd(sW) * torch.randn_like(W)).T
        return y + b + (sb ** 2 if self.wrong else sb) * torch.randn_like(b)


net = nn.Sequential(Apart(40, 4, names=("weight_mean", "weight_sd", "bias_mean", "bias_sd"), spread=0.2, sd=lambda s: s))
x = rng.rand(30, 40)
net[0].wrong = False
px.save_torch(path("apart"), net, x)
net[0].wrong = True
refuses(["biases vary by"], px.save_torch, net, x)
net = nn.Sequential(Bayes(4, 4, names=("weight_mean", "weight_sd", "bias_mean", "bias_sd"), spread=0.1, sd=lambda s: s.t()))
net[0].weight_sd.data[0] = 1.0
net[0].bias_sd.data[:] = 0.05
refuses(["weights vary by"], px.save_torch, net, X)

# Normalisation: outside of the network, by Normalize, by BatchNorm1d at each place where it folds.
x = (X * [1, 2, 30, 4] + [5, 6, 70, 8]).astype(np.float32)
m, s = x.mean(0), x.std(0)
net = train(nn.Sequential(Bayes(4, 8), nn.ReLU(), Bayes(8, 4)), x=(x - m) / s)
px.save_torch(path("normalised"), net, x[:40], mean=m, std=s)
net = train(nn.Sequential(nn.BatchNorm1d(4), Bayes(4, 8), nn.BatchNorm1d(8), nn.ReLU(), Bayes(8, 4, bias=False), nn.BatchNorm1d(4)), 50, x)
px.save_torch(path("batchnorm"), net, x[:40])
assert header("batchnorm")["scale"] == "sd" and "input.mean" in arrays("batchnorm")
net = train(nn.Sequential(Bayes(4, 8), nn.ReLU(), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 4)))
assert "Dropout(0.5) is off" in notes(px.save_torch, path("batchnorm-before"), net, X[:40])
refuses(["random", "BatchNorm1d"], px.save_torch, nn.Sequential(Bayes(4, 8), nn.ReLU(), nn.BatchNorm1d(8), Bayes(8, 4)), X)
refuses(["BatchNorm1d", "behind"], px.save_torch, nn.Sequential(Bayes(4, 8), nn.ReLU(), nn.BatchNorm1d(8), nn.BatchNorm1d(8), nn.Linear(8, 4)), X)
refuses(["BatchNorm1d", "behind"], px.save_torch, nn.Sequential(nn.BatchNorm1d(4), nn.BatchNorm1d(4), nn.Linear(4, 4)), X)
refuses(["running"], px.save_torch, nn.Sequential(Bayes(4, 8), nn.BatchNorm1d(8, track_running_stats=False), nn.ReLU(), Bayes(8, 4)), X)


class Normalize(nn.Module):  # as torchvision.transforms.Normalize
    def __init__(self, mean, std):
        super().__init__()
        self.mean, self.std = mean, std

    def forward(self, x):
        return (x - torch.tensor(self.mean)[:, None, None]) / torch.tensor(self.std)[:, None, None]


images = rng.rand(30, 3, 2, 2).astype(np.float32)
net = nn.Sequential(Normalize([0.4, 0.5, 0.6], [0.2, 0.25, 0.3]), nn.Flatten(), Bayes(12, 5), nn.Sigmoid(), Bayes(5, 3, bias=False))
px.save_torch(path("normalize"), net, images)
assert arrays("normalize")["input.mean"].tolist() == [0.4] * 4 + [0.5] * 4 + [0.6] * 4
px.save_torch(path("channels"), net[1:], images, mean=np.array([0.4, 0.5, 0.6]).reshape(3, 1, 1), std=0.25)
assert "reach from" in notes(px.save_torch, path("normalised-images"), net[1:], images - 0.5)
refuses(["mean"], px.save_torch, net[1:], images, mean=[0.4, 0.5, 0.6], std=0.25)

# What psafe does not have is refused by name.
for module, words in ((nn.GELU(), ["GELU"]), (nn.Conv2d(1, 2, 2), ["conv2d", "as it takes them"]), (nn.Softmax(1), ["Softmax", "end"]),
                      (nn.LayerNorm(4), ["LayerNorm"]), (nn.Flatten(0), ["Flatten"]),
                      (nn.PReLU(4, -1.0), ["PReLU", "slope between 0 and 1"])):
    refuses(words, px.save_torch, nn.Sequential(Bayes(4, 4), module, Bayes(4, 4)), X)
refuses(["half precision", "float()"], px.save_torch, nn.Sequential(Bayes(4, 4)).bfloat16(), X)
refuses(["inputs= has shape (200, 3)"], px.save_torch, nn.Sequential(Bayes(4, 4)), X[:, :3])
refuses(["cannot be called with inputs of shape (30, 3, 2, 2)", "as it takes them"], px.save_torch, nn.Sequential(Bayes(12, 4)), rng.rand(30, 3, 2, 2))
refuses(["layers[0]", "'hidden' is none of relu"], px.save_torch, net, X, layers=["hidden", "out"])
refuses(["models="], px.save_torch_ensemble, [], X)
refuses(["activation"], px.save_torch, nn.Sequential(nn.ReLU(), Bayes(4, 4)), X)
bad = nn.Sequential(Bayes(4, 4), nn.ReLU(), Bayes(4, 4))
bad[2].weight_mean.data[1, 3] = float("nan")
refuses(["layer 2", "nan"], px.save_torch, bad, X)

# MC dropout and deep ensembles.
net = train(nn.Sequential(nn.Linear(4, 16), nn.Dropout(0.1), nn.ReLU(), nn.Linear(16, 16, bias=False), nn.ReLU(), nn.Dropout(0.3), nn.Linear(16, 4)))
px.save_torch_dropout(path("dropout"), net, X[:30])
assert [e["rate"] for e in header("dropout")["layers"]] == [0, 0.1, 0.3]
top = train(nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, 4)))
assert notes(px.save_torch_dropout, path("dropout-top"), top, X[:30]) == ""
refuses(["tanh"], px.save_torch_dropout, nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.1), nn.Tanh(), nn.Linear(4, 4)), X)
refuses(["no Dropout"], px.save_torch_dropout, nn.Sequential(nn.Linear(4, 4)), X)
nets = [train(nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Tanh(), nn.Linear(8, 4))) for _ in range(3)]
px.save_torch_ensemble(path("ensemble"), nets, X[:30])
refuses(["network 1"], px.save_torch_ensemble, [nets[0], nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 4))], X)


# laplace-torch: objects with the attributes that its sources give them, over a real network.
class FeatureExtractor(nn.Module):
    """Keeps what the last layer takes, by a hook."""

    def __init__(self, model, last):
        super().__init__()
        self.model, self.kept = model, {}
        object.__setattr__(self, "last_layer", last)
        last.register_forward_hook(lambda _, given, __: self.kept.update(features=given[0].detach()))


class ParametricLaplace:
    def __init__(self, model, params, last=None):
        self.model, self.params = model, params
        if last is not None:
            self.model = FeatureExtractor(model, last)
        self.mean = nn.utils.parameters_to_vector(params).detach()


class DiagLaplace(ParametricLaplace):
    @property
    def posterior_scale(self):
        return torch.linspace(0.01, 0.1, len(self.mean))

    def sample(self, n_samples=100):
        return self.mean + torch.randn(n_samples, len(self.mean)) * self.posterior_scale


class FullLaplace(ParametricLaplace):
    @property
    def posterior_scale(self):
        n = len(self.mean)
        return torch.tril(torch.linspace(-0.01, 0.02, n * n).reshape(n, n)) + 0.05 * torch.eye(n)

    def sample(self, n_samples=100):
        return self.mean + torch.randn(n_samples, len(self.mean)) @ self.posterior_scale.T


class KronDecomposed:
    """Eigenvectors and eigenvalues of each parameter's one or two factors, and what is added to their products."""

    def __init__(self, factors, deltas, damping=False):
        pairs = [[torch.linalg.eigh(f) for f in block] for block in factors]
        self.eigenvalues = [[values.clamp(min=0) for values, _ in block] for block in pairs]
        self.eigenvectors = [[vectors for _, vectors in block] for block in pairs]
        self.deltas, self.damping = torch.as_tensor(deltas), damping

    def to_matrix(self, exponent=1):
        blocks = []
        for values, vectors, delta in zip(self.eigenvalues, self.eigenvectors, self.deltas.expand(len(self.eigenvalues))):
            if len(values) == 1:
                Q, e = vectors[0], values[0] + delta
            else:
                root = delta.sqrt()
                e = torch.outer(values[0] + root, values[1] + root) if self.damping else torch.outer(*values) + delta
                Q, e = torch.kron(*vectors), e.flatten()
            blocks.append(Q @ torch.diag(e ** exponent) @ Q.T)
        return torch.block_diag(*blocks)


class KronLaplace(ParametricLaplace):
    gain = 1.0  # of what it draws, 1 of the real one

    def sample(self, n_samples=100):
        return self.mean + self.gain * torch.randn(n_samples, len(self.mean)) @ self.posterior_precision.to_matrix(-0.5)


class LLLaplace(ParametricLaplace):
    pass


class DiagLLLaplace(LLLaplace, DiagLaplace):
    pass


class FullLLLaplace(LLLaplace, FullLaplace):
    pass


class KronLLLaplace(LLLaplace, KronLaplace):
    pass


net = train(nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4)))
every, last = list(net.parameters()), list(net[2].parameters())
px.save_laplace(path("laplace-diag"), DiagLaplace(net, every), X[:30])
assert np.allclose(arrays("laplace-diag")["layers.0.weight.scale"], torch.linspace(0.01, 0.1, 40)[:16].reshape(4, 4).T)
px.save_laplace(path("laplace-layers"), DiagLaplace(net, every), X[:30], layers=lambda n: [(n[0], "relu"), n[2]])


# IVON: what its optimizer has for groups of parameters, and draws.
class IVON:
    def __init__(self, groups, times=1.0):
        self.times, self.param_groups = times, [dict(g, hess=torch.linspace(0.1, 2, sum(p.numel() for p in g["params"]))) for g in groups]

    @contextlib.contextmanager
    def sampled_params(self):
        kept = [(p, p.data) for g in self.param_groups for p in g["params"]]
        for g in self.param_groups:
            sd, at = self.times / (g["ess"] * (g["hess"] + g["weight_decay"])).sqrt(), 0
            for p in g["params"]:
                p.data = p.data + (torch.randn(p.numel()) * sd[at:at + p.numel()]).view(p.shape)
                at += p.numel()
        yield
        for p, data in kept:
            p.data = data


groups = [{"params": every[:2], "ess": 400.0, "weight_decay": 0.5}, {"params": every[2:], "ess": 900.0, "weight_decay": 1e-3}]
px.save_ivon(path("ivon"), net, IVON(groups), X[:30])
assert np.allclose(arrays("ivon")["layers.0.weight.scale"], (400 * (torch.linspace(0.1, 2, 20)[:16].reshape(4, 4).T + 0.5)) ** -0.5, rtol=1e-5)
refuses(["do not have the covariance", "variance is 4"], px.save_ivon, net, IVON(groups, 2), X[:30])
refuses(["want the optimizer"], px.save_ivon, net, torch.optim.SGD(net.parameters(), 0.1), X[:30])


# posteriors: states, whose dense ones have the numbers of params in the order of names.
class State:
    def __init__(self, **fields):
        self.__dict__.update(fields)


named = {n: p.detach().clone() for n, p in net.named_parameters()}
order, sds = sorted(named), {n: torch.rand(p.shape) / 9 + 0.01 for n, p in named.items()}
join = lambda tree: torch.cat([tree[n].flatten() for n in order])  # noqa: E731
draw = lambda s: {n: s.params[n] + sds[n] * torch.randn(sds[n].shape) for n in order}  # noqa: E731
for fields in (dict(log_sd_diag={n: a.log() for n, a in sds.items()}), dict(prec_diag={n: a ** -2 for n, a in sds.items()}), dict(sd_diag=sds)):
    px.save_posteriors(path("posteriors-diag"), net, State(params=named, **fields), X[:30], sample=draw)
    assert np.allclose(arrays("posteriors-diag")["layers.1.weight.scale"], sds["2.weight"].T, rtol=1e-4)
refuses(["do not have the covariance"], px.save_posteriors, net, State(params=named, sd_diag={n: 2 * a for n, a in sds.items()}), X[:30], sample=draw)
L = torch.tril(torch.randn(40, 40)) / 50 + torch.diag(join(sds))
at = dict(zip(order, px.split(np.arange(40), [named[n].shape for n in order])))
for fields in (dict(L_factor=L[tuple(torch.tril_indices(40, 40))]), dict(cov=L @ L.T), dict(prec=torch.linalg.inv((L @ L.T).double()))):
    px.save_posteriors(path("posteriors-dense"), net, State(params=named, **fields), X[:30])
    factor = [arrays("posteriors-dense")["layers.%d.covariance.factor" % k] for k in (0, 2)]
    rows = np.concatenate([np.concatenate([at["%d.weight" % k], at["%d.bias" % k][:, None]], 1).ravel() for k in (0, 2)])
    assert np.allclose(np.concatenate(factor) @ np.concatenate(factor).T, (L @ L.T).numpy()[np.ix_(rows, rows)], atol=1e-5)
px.save_posteriors(path("posteriors-chain"), net, [State(params={n: a + k for n, a in named.items()}) for k in range(3)], X[:30])
assert np.allclose(arrays("posteriors-chain")["layers.1.bias.samples"][2], named["2.bias"] + 2)
refuses(["give a list"], px.save_posteriors, net, State(params=named), X[:30])
refuses(["named_parameters()"], px.save_posteriors, net, State(params={"other": named["2.bias"]}), X[:30])


# VBLL: a head whose rows have a covariance each, and noise.
class DiscClassification(nn.Module):
    def __init__(self, dense):
        super().__init__()
        self.W_mean, self.dense, self.twice = nn.Parameter(torch.randn(3, 5)), dense, 1.0
        self.root = torch.tril(torch.rand(3, 5, 5)) / 5 + torch.eye(5) / 10

    def W(self):
        of = torch.distributions
        return of.MultivariateNormal(self.W_mean, scale_tril=self.root) if self.dense else of.Normal(self.W_mean, self.root[:, 0, :1].expand(3, 5))

    def noise(self):
        return torch.distributions.Normal(torch.zeros(3), torch.tensor([0.5, 1, 2]))

    def logit_predictive(self, z):
        return torch.distributions.Normal(self.twice * z @ self.W_mean.T, torch.ones(len(z), 3))

    def forward(self, z):
        raise NotImplementedError("no tensor")


for dense in (False, True):
    for noise in (False, True):
        head, name = DiscClassification(dense), "vbll-%d-%d" % (dense, noise)
        features = nn.Sequential(nn.Linear(4, 5), nn.ReLU())
        whole = nn.Sequential(features, head)
        assert "noise" in notes(px.save_vbll, path(name), whole, X[:30], noise=noise) + header(name)["note"] and whole[1] is head
        assert header(name).get("kind") == ("correlated" if dense else None)
        with torch.no_grad():
            drawn = torch.einsum("noi,i->no", head.W().sample((4000,)), features(torch.as_tensor(X[0])))
            moments(name, X[0], (drawn + noise * head.noise().sample((4000,))).numpy())
head.twice = 2.0
refuses(["another mean"], px.save_vbll, whole, X[:30])
refuses(["no head"], px.save_vbll, features, X[:30])
refuses(["the head tRegression"], px.save_vbll, type("tRegression", (DiscClassification,), {})(True), X[:30])


# torch-uncertainty's modules that hold several networks, batch after batch in what they give.
class PackedLinear(nn.Module):
    def __init__(self, n_in, n_out, groups, first=False, last=False):
        super().__init__()
        self.num_estimators, self.groups, self.last = 2, groups, last
        self.weight = nn.Parameter(torch.randn(groups, n_out // groups, n_in // groups))
        self.bias = nn.Parameter(torch.randn(n_out))

    def forward(self, x):
        y = x @ torch.block_diag(*self.weight).T + self.bias
        return torch.cat(y.chunk(2, 1)) if self.last else y


class BatchLinear(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.num_estimators, self.linear = 2, nn.Linear(n_in, n_out, bias=False)
        self.r_group, self.s_group, self.bias = (nn.Parameter(torch.randn(2, n)) for n in (n_in, n_out, n_out))

    def forward(self, x):
        r, s, b = (a.repeat_interleave(len(x) // 2, 0) for a in (self.r_group, self.s_group, self.bias))
        return self.linear(x * r) * s + b


class Mask1d(nn.Module):
    def __init__(self, n, axes):
        super().__init__()
        self.num_masks, self.axes = 2, axes
        self.masks = nn.Parameter((torch.arange(2 * n).reshape(2, n) % 3 > 0).double(), requires_grad=False)

    def forward(self, x):
        return x * self.masks.repeat_interleave(len(x) // 2, 0).reshape((len(x), -1) + (1,) * self.axes).float()


class MaskedLinear(nn.Module):
    def __init__(self, inner, n, axes):
        super().__init__()
        self.mask = Mask1d(n, axes)
        setattr(self, "conv" if axes else "linear", inner)

    def forward(self, x):
        return (self.conv if hasattr(self, "conv") else self.linear)(self.mask(x))


MaskedConv2d = type("MaskedConv2d", (MaskedLinear,), {})


class Repeats(nn.Module):
    """Each input once for each network, as einops.repeat does it."""

    def __init__(self, *layers):
        super().__init__()
        self.num_estimators, self.core = 2, nn.Sequential(*layers)

    def forward(self, x):
        x = x.unsqueeze(0).expand((self.num_estimators,) + tuple(x.shape)).reshape((-1,) + tuple(x.shape[1:]))
        return self.core(x)


norm = nn.BatchNorm1d(8)
norm.running_mean.uniform_()
for name, made in (("packed", nn.Sequential(PackedLinear(4, 8, 1), norm, nn.ReLU(), PackedLinear(8, 8, 4), nn.Tanh(), PackedLinear(8, 6, 2, last=True))),
                   ("batch-ensemble", Repeats(BatchLinear(4, 5), nn.ReLU(), BatchLinear(5, 3))),
                   ("masksembles", Repeats(nn.Unflatten(1, (1, 2, 2)), nn.Conv2d(1, 6, 2), MaskedConv2d(nn.Conv2d(6, 4, 1), 6, 2), nn.ReLU(), nn.Flatten(),
                                           MaskedLinear(nn.Linear(4, 3), 4, 0)))):
    px.save_torch_ensemble(path(name), made, X[:30])
    assert header(name)["counts"] == [1, 1] and np.ptp(arrays(name)["layers.%d.weight.samples" % (len(header(name)["layers"]) - 1)], 0).min() > 0 or name == "masksembles"
refuses(["packed, BatchEnsemble or Masksembles"], px.save_torch_ensemble, net, X[:30])


# torch-uncertainty: the parameter weight_sigma is the rho of a sampler.
class TrainableDistribution(nn.Module):
    def __init__(self, mu, rho):
        super().__init__()
        self.mu, self.rho = mu, rho

    def sample(self):
        return self.mu + torch.log1p(torch.exp(self.rho)) * torch.randn(self.mu.shape)


class BayesLinear(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.weight_mu, self.weight_sigma = nn.Parameter(torch.randn(n_out, n_in)), nn.Parameter(torch.full((n_out, n_in), -3.0))
        self.bias_mu, self.bias_sigma = nn.Parameter(torch.randn(n_out)), nn.Parameter(torch.full((n_out,), -2.0))
        self.weight_sampler = TrainableDistribution(self.weight_mu, self.weight_sigma)
        self.bias_sampler = TrainableDistribution(self.bias_mu, self.bias_sigma)

    def forward(self, x):
        return torch.nn.functional.linear(x, self.weight_sampler.sample(), self.bias_sampler.sample())


px.save_torch(path("torch-uncertainty"), nn.Sequential(BayesLinear(4, 5), nn.ReLU(), BayesLinear(5, 3)), X[:30])
assert header("torch-uncertainty")["scale"] == "softplus" and (arrays("torch-uncertainty")["layers.1.weight.scale"] == -3).all()
px.save_laplace(path("laplace-last"), DiagLLLaplace(net, last, net[2]), X[:30])
assert header("laplace-last")["layers"][0]["weight_scale"] == "none" and header("laplace-last")["scale"] == "sd"
full = FullLaplace(net, every)
assert "drawn" in notes(px.save_laplace, path("laplace-full"), full, X[:30], samples=20, seed=7)
G, A = (lambda a, b: (a @ a.T, b @ b.T))(torch.randn(4, 3), torch.randn(4, 6))
kron = KronLaplace(net, every)
kron.posterior_precision = KronDecomposed([[G, A], [G], [G, A], [G]], [1.0] * 4)
px.save_laplace(path("laplace-kron"), kron, X[:30], samples=20)
assert header("laplace-kron")["draws_of"] == "a Kronecker Laplace approximation"
every_kron = kron
kron = KronLLLaplace(net, last, net[2])
kron.posterior_precision = KronDecomposed([[G, A], [7 * G]], [1.0, 2.0])
px.save_laplace(path("laplace-kron-draws"), kron, X[:30], samples=5)
drawn = arrays("laplace-kron-draws")
assert np.ptp(drawn["layers.0.weight.samples"], axis=0).max() == 0 < np.ptp(drawn["layers.1.weight.samples"], axis=0).min()
assert all(torch.equal(a, b) for a, b in zip(every, net.parameters()))
# The covariance of many draws is S S^T, and not S^T S.
px.save_laplace(path("many"), full, X[:30], samples=4000, seed=7)
many = arrays("many")
flat = np.concatenate([np.swapaxes(many["layers.0.weight.samples"], 1, 2).reshape(4000, -1), many["layers.0.bias.samples"]], 1)
S = full.posterior_scale.numpy()
assert np.abs(np.cov(flat.T) - (S @ S.T)[:20, :20]).max() < 0.1 * np.abs(S @ S.T).max()
import os
os.remove(path("many"))


def written(name, layers=1):
    """The covariance of W row by row and then b, by the file, of the last of its layers, which alone are random."""
    file, head = arrays(name), header(name)
    dense = [k for k, e in enumerate(head["layers"]) if e["kind"] in ("dense", "conv2d")]
    assert head["version"] == 3 and head["kind"] in ("correlated", "joint")
    assert [e.get("covariance") is not None for e in head["layers"]] == [k in dense[-layers:] for k in range(len(head["layers"]))]
    roots = []
    for k in dense[-layers:]:
        a = dict((n.split(".")[-1], v.astype(np.float64)) for n, v in file.items() if n.startswith("layers.%d.covariance." % k))
        L = a["factor"] if "factor" in a else np.kron(a["QG"], a["QA"]) * a["sd"].ravel()
        order = np.arange(len(L)).reshape(head["layers"][k].get("out") or head["layers"][k]["filters"], -1)
        roots.append(L[np.concatenate([order[:, :-1].ravel(), order[:, -1]])])
    if head["kind"] == "joint":  # one z for all layers
        L = np.concatenate(roots)
        return L @ L.T
    return torch.block_diag(*[torch.as_tensor(L @ L.T) for L in roots]).numpy()


def is_law(name, want, layers=1):
    got, want = written(name, layers)[:len(want), :len(want)], np.asarray(want, np.float64)
    assert np.abs(got - want).max() < 1e-5 * np.abs(want).max(), (name, np.abs(got - want).max())


# All weights: Kronecker factors of each layer, one covariance of all layers, and that of a low rank of curvature.
S = FullLaplace(net, every).posterior_scale.double()
px.save_laplace(path("laplace-full-all"), FullLaplace(net, every), X[:30])
is_law("laplace-full-all", S @ S.T, 2)
px.save_laplace(path("laplace-full-all-layers"), FullLaplace(net, every), X[:30], layers=lambda n: [(n[0], "relu"), n[2]])
is_law("laplace-full-all-layers", S @ S.T, 2)
for deltas in ([1.0] * 4, [1.0, 2.0, 3.0, 4.0], [5.0], 5.0):  # of the prior: one for each parameter, or one for all
    every_kron.posterior_precision = KronDecomposed([[G, A], [2 * G], [G + 1, A @ A], [G + 1]], deltas)
    px.save_laplace(path("laplace-kron-all"), every_kron, X[:30])
    is_law("laplace-kron-all", every_kron.posterior_precision.to_matrix(-1), 2)
    assert header("laplace-kron-all")["kind"] == "correlated"


class LowRankLaplace(ParametricLaplace):
    """Its precision is U diag(l) U^T + diag(prior), l with temperature and noise; sample() has the prior's precision for its variance."""
    prior, gain = 3.0, 1.0

    @property
    def posterior_precision(self):
        U = torch.linalg.qr(torch.linspace(-1, 1, 40 * 5).reshape(40, 5) ** 3 + torch.eye(40)[:, :5])[0]
        return (U, self.gain * torch.linspace(1, 9, 5)), torch.full((40,), self.prior)

    def covariance(self):
        (U, l), prior = self.posterior_precision
        return torch.linalg.inv(U.double() * l @ U.double().T + torch.diag(prior))

    def functional_variance(self, J):
        return J @ self.covariance().to(J) @ J.transpose(1, 2)

    def sample(self, n_samples=100):
        return self.mean + 3 * torch.randn(n_samples, 40)


low = LowRankLaplace(net, every)
px.save_laplace(path("laplace-low"), low, X[:30])
is_law("laplace-low", low.covariance(), 2)
px.save_laplace(path("laplace-low-draws"), low, X[:30], samples=5)
assert header("laplace-low-draws")["draws_of"] == "a low-rank Laplace approximation"
own = low.covariance()
low.covariance = lambda: 1.1 * own
refuses(["LowRankLaplace", "functional_variance", "1.1"], px.save_laplace, low, X[:30])
refuses(["FullLaplace", "(3,)", "last layer alone"], px.save_laplace, FullLaplace(net, every + [nn.Parameter(torch.ones(3))]), X[:30])


# Of the last layer alone the law itself is written: W row by row and then b becomes [W b] row by row.
full = FullLLLaplace(net, last, net[2])
px.save_laplace(path("laplace-full-last"), full, X[:30])
S = full.posterior_scale.double()
is_law("laplace-full-last", S @ S.T)
px.save_laplace(path("laplace-full-layers"), full, X[:30], layers=lambda n: [(n[0], "relu"), n[2]])
is_law("laplace-full-layers", S @ S.T)
for name, damping, bias in (("laplace-kron-last", False, 7 * G), ("laplace-kron-damped", True, 7 * G), ("laplace-kron-apart", True, A)):
    kron.posterior_precision = KronDecomposed([[G, A], [bias]], [1.0, 2.0], damping)
    px.save_laplace(path(name), kron, X[:30])
    is_law(name, kron.posterior_precision.to_matrix(-1))
    # eigenvectors of the bias that are not those of the outputs do not fit into one Kronecker form
    assert header(name)["layers"][-1]["covariance"] == ("full" if bias is A else "kron")
# A layer without a bias, one whose bias is certain, and all weights where these are the last layer's.
plain = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 3, bias=False))
kron = KronLLLaplace(plain, list(plain[2].parameters()), plain[2])
kron.posterior_precision = KronDecomposed([[G[:3, :3], torch.eye(5) + 1]], [1.0])
px.save_laplace(path("laplace-kron-plain"), kron, X[:30])
is_law("laplace-kron-plain", kron.posterior_precision.to_matrix(-1))
# Convolutions: filters, and channels times the window.
images = train(nn.Sequential(nn.Unflatten(1, (2, 1, 2)), nn.Conv2d(2, 3, (1, 2)), nn.ReLU(), nn.Flatten(), nn.Linear(3, 4)))
weights = list(images.parameters())
kron = KronLaplace(images, weights)
kron.posterior_precision = KronDecomposed([[G[:3, :3], A], [2 * G[:3, :3]], [G, A[:3, :3]], [G]], [1.0, 2.0, 3.0, 4.0])
px.save_laplace(path("laplace-kron-conv"), kron, X[:30])
is_law("laplace-kron-conv", kron.posterior_precision.to_matrix(-1), 2)
assert [e.get("covariance") for e in header("laplace-kron-conv")["layers"] if "filters" in e or "out" in e] == ["kron", "kron"]
kron.posterior_precision = KronDecomposed([[G[:3, :3], A], [A[:3, :3]], [G, A[:3, :3]], [G]], [1.0] * 4)
refuses(["KronLaplace", "eigenvectors of the bias of a convolution"], px.save_laplace, kron, X[:30])
refuses(["FullLaplace", "no dense layer", "Kronecker"], px.save_laplace, FullLaplace(images, weights), X[:30])
grouped = nn.Sequential(nn.Unflatten(1, (2, 1, 2)), nn.Conv2d(2, 2, 1, groups=2), nn.Flatten(), nn.Linear(4, 4))
refuses(["convolution without groups"], px.save_laplace, KronLaplace(grouped, list(grouped.parameters())), X[:30])
kron = KronLLLaplace(plain, list(plain[2].parameters()), plain[2])
kron.posterior_precision = KronDecomposed([[G[:3, :3], torch.eye(5) + 1]], [1.0])
some = FullLaplace(net, [net[2].weight])
px.save_laplace(path("laplace-full-some"), some, X[:30])
is_law("laplace-full-some", some.posterior_scale @ some.posterior_scale.T)
assert not written("laplace-full-some")[16:].any()
# Draws of another law are refused; those of laplace-torch 0.2, from S.T @ S, have a note.
kron.gain = 1.05
refuses(["KronLLLaplace", "variance is 1.1"], px.save_laplace, kron, X[:30])
turned = KronLLLaplace(net, last, net[2])
turned.posterior_precision = KronDecomposed([[G, A], [G]], [1.0, 1.0])
turned.sample = lambda n: torch.cat([a.reshape(n, -1) for a in [KronLaplace.sample(turned, n)[:, :16].reshape(n, 4, 4).transpose(1, 2), torch.randn(n, 4)]], 1)
refuses(["do not have the covariance"], px.save_laplace, turned, X[:30])


class Older(FullLLLaplace):
    side = "both"

    @property
    def posterior_covariance(self):
        return self.posterior_scale @ self.posterior_scale.T * (1.0 if self.side == "both" else 1.1)

    def sample(self, n_samples=100):
        return self.mean + torch.randn(n_samples, len(self.mean)) @ self.posterior_scale


old = Older(net, last, net[2])
assert "S.T @ S" in notes(px.save_laplace, path("laplace-full-older"), old, X[:30])
is_law("laplace-full-older", S @ S.T)
old.side = "neither"
refuses(["do not have the covariance"], px.save_laplace, old, X[:30])
refuses(["is it fitted"], px.save_laplace, KronLLLaplace(net, last, net[2]), X[:30])
# Any features: a batch norm before the last layer, and layers behind it are refused.
deep = train(nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.BatchNorm1d(6), nn.Dropout(0.2), nn.Linear(6, 4))).eval()
px.save_laplace(path("laplace-batchnorm"), FullLLLaplace(deep, list(deep[4].parameters()), deep[4]), X[:30])
assert [e["kind"] for e in header("laplace-batchnorm")["layers"] if e["kind"] != "activation"] == ["dense", "batch_norm", "dense"]
refuses(["BatchNorm1d", "covariance", "layers="], px.save_laplace, FullLLLaplace(deep, list(deep[4].parameters()), deep[4]), X[:30],
        layers=lambda n: [(n[0], "relu"), n[2], n[4]])
refuses(["not the last layer"], px.save_laplace, FullLLLaplace(net, every[:2], net[0]), X[:30])
px.save_laplace(path("laplace-full-first"), FullLaplace(net, every[:2]), X[:30])
assert [e.get("covariance") for e in header("laplace-full-first")["layers"] if e["kind"] == "dense"] == ["full", None]
mixed = nn.Sequential(Bayes(4, 4), nn.ReLU(), nn.Linear(4, 4))
refuses(["spread of its own"], px.save_laplace, FullLLLaplace(mixed, list(mixed[2].parameters()), mixed[2]), X[:30])


# Behind the last layer a tanh, or the two logits of one; x @ W + b with a diagonal.
ended = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 1), nn.Sigmoid())
for name, kw in (("end", {}), ("classes", {"classes": 2})):
    px.save_laplace(path("laplace-" + name), FullLLLaplace(ended, list(ended[2].parameters()), ended[2]), X[:30], **kw)
    assert [e.get("covariance") for e in header("laplace-" + name)["layers"]] == [None, None, "full"] + [None, None] * (name == "end")
    px.save_laplace(path("laplace-%s-layers" % name), FullLLLaplace(ended, list(ended[2].parameters()), ended[2]), X[:30], layers=list, **kw)
    px.save_laplace(path("laplace-%s-draws" % name), FullLaplace(ended, list(ended.parameters())), X[:30], samples=5, **kw)
    px.save_laplace(path("laplace-%s-diag" % name), DiagLaplace(ended, list(ended.parameters())), X[:30], **kw)
L = FullLLLaplace(ended, list(ended[2].parameters()), ended[2]).posterior_scale
assert np.allclose(arrays("laplace-classes")["layers.2.covariance.factor"], np.concatenate([np.zeros((5, 5)), L]))


class Product(nn.Module):
    def __init__(self):
        super().__init__()
        self.w, self.b, self.v = nn.Parameter(torch.randn(4, 5)), nn.Parameter(torch.randn(5)), nn.Parameter(torch.randn(5, 2))

    def forward(self, x):
        return torch.relu(x @ self.w + self.b) @ self.v


product = Product()
px.save_laplace(path("laplace-product"), DiagLaplace(product, [product.w, product.b, product.v]), X[:30])
own = [arrays("laplace-product")["layers.%s.scale" % n] for n in ("0.weight", "0.bias", "2.weight")]
assert np.allclose(np.concatenate([own[0].T.ravel(), own[1], own[2].T.ravel()]), torch.linspace(0.01, 0.1, 35))


class Variances(DiagLaplace):
    def sample(self, n_samples=100):
        return self.mean + torch.randn(n_samples, len(self.mean)) * self.posterior_scale ** 0.5


refuses(["Variances", "variance is"], px.save_laplace, Variances(net, every), X[:30])
nothing = DiagLaplace(net, every)
nothing.sample = lambda n: nothing.mean + torch.full((n, 40), float("nan"))
refuses(["DiagLaplace", "NaN"], px.save_laplace, nothing, X[:30])


class SubnetLaplace(ParametricLaplace):
    """Of some weights, in any order, by their places in the vector of all."""

    def __init__(self, model, at):
        super().__init__(model, list(model.parameters()))
        self.backend = type("", (), {"subnetwork_indices": torch.as_tensor(at)})()

    def noise(self, n_samples, S):
        full = self.mean.repeat(n_samples, 1)
        full[:, self.backend.subnetwork_indices] += torch.randn(n_samples, len(self.backend.subnetwork_indices)) @ S
        return full


class FullSubnetLaplace(SubnetLaplace, FullLaplace):
    side = "right"

    @property
    def posterior_scale(self):
        n = len(self.backend.subnetwork_indices)
        return torch.tril(torch.linspace(-0.01, 0.02, n * n).reshape(n, n)) + 0.05 * torch.eye(n)

    @property
    def posterior_covariance(self):
        return self.posterior_scale @ self.posterior_scale.T

    def sample(self, n_samples=100):
        return self.noise(n_samples, self.posterior_scale.T if self.side == "right" else self.posterior_scale)


class DiagSubnetLaplace(SubnetLaplace, DiagLaplace):
    @property
    def posterior_scale(self):
        return torch.linspace(0.01, 0.1, len(self.backend.subnetwork_indices))

    def sample(self, n_samples=100):
        return self.noise(n_samples, torch.diag(self.posterior_scale))


for at, layers in (([37, 3, 20, 18, 0, 39], 2), ([30, 39, 21, 36], 1)):
    sub = FullSubnetLaplace(net, at)
    S = sub.posterior_scale.double()
    for sub.side in ("right", "other"):
        assert ("S.T @ S" in notes(px.save_laplace, path("laplace-sub"), sub, X[:30])) == (sub.side == "other")
        want = np.zeros((40, 40))
        want[np.ix_(at, at)] = S @ S.T
        is_law("laplace-sub", want[20 * (2 - layers):, 20 * (2 - layers):], layers)
    px.save_laplace(path("laplace-sub-draws"), sub, X[:30], samples=7)
    drawn = np.concatenate([arrays("laplace-sub-draws")["layers.%d.%s.samples" % (k, p)].swapaxes(1, -1).reshape(7, -1) for k in (0, 1) for p in ("weight", "bias")], 1)
    assert set(np.flatnonzero(np.ptp(drawn, axis=0))) == set(at) and header("laplace-sub")["kind"] == ["correlated", "joint"][layers - 1]
sub = DiagSubnetLaplace(net, [37, 3, 20])
px.save_laplace(path("laplace-sub-diag"), sub, X[:30])
sds = [arrays("laplace-sub-diag").get("layers.%d.%s.scale" % (k, p)) for k in (0, 1) for p in ("weight", "bias")]
assert sds[1] is None and np.isclose(sds[0][3, 0], 0.055) and np.isclose(sds[2][0, 0], 0.1) and np.isclose(sds[3][1], 0.01), sds
assert [np.count_nonzero(a) for a in sds if a is not None] == [1, 1, 1]
sub.sample = lambda n: sub.mean + 2 * (DiagSubnetLaplace.sample(sub, n) - sub.mean)
refuses(["DiagSubnetLaplace", "variance is 3.9"], px.save_laplace, sub, X[:30])
refuses(["posterior_scale has the shape", "6 indices"], px.save_laplace, FullSubnetLaplace(net, [1, 2, 3, 4, 5, 40]), X[:30])
px.save_laplace(path("laplace-sub-conv"), DiagSubnetLaplace(images, [1, 13]), X[:30])
px.save_laplace(path("laplace-sub-top"), FullSubnetLaplace(images, list(range(16, 20))), X[:30])
refuses(["FullSubnetLaplace", "no dense layer"], px.save_laplace, FullSubnetLaplace(images, [1, 17]), X[:30])
del sub.backend
refuses(["DiagSubnetLaplace", "is it fitted"], px.save_laplace, sub, X[:30])
refuses(["parameter"], px.save_laplace, DiagLaplace(net, every + [nn.Parameter(torch.ones(3))]), X)
print("torch cases: done")
