"""NumPy only: arrays laid out as the sources of each library say, in small classes with the attributes
of theirs (psafe_export.py cites the files), and plain arrays."""
import json
import os

from cases import FOLDER, arrays, header, moments, notes, np, path, px, refuses, rng

X = rng.rand(40, 5)


def make(*sizes):
    """[W0, b0, ...] in float32 with W (out, in)."""
    return [rng.randn(*s).astype(np.float32) / 2 for a, b in zip(sizes, sizes[1:]) for s in ((b, a), (b,))]


def mlp(p, x, act=lambda z: np.maximum(z, 0), turned=True):
    """The network of [W0, b0, ...] in float32, as a framework computes it."""
    x = np.asarray(x, np.float32)
    for k in range(0, len(p), 2):
        x = x @ (p[k].T if turned else p[k]) + (0 if p[k + 1] is None else p[k + 1])
        x = act(x) if k + 2 < len(p) else x
    return x


relu, tanh, softplus = lambda z: np.maximum(z, 0), np.tanh, lambda z: np.log1p(np.exp(z))


class Module:
    """As torch.nn.Module: what it is called with goes to forward(); parameters and children by name."""
    training = True

    def __call__(self, x):
        return self.forward(x)


class Sequential(Module):
    def __init__(self, *children):
        self._modules = {str(k): c for k, c in enumerate(children)}

    def forward(self, x):
        for c in self._modules.values():
            x = c(x)
            x = x[0] if isinstance(x, tuple) else x
        return x


class ReLU(Module):
    def forward(self, x):
        return np.maximum(x, 0)


class Random(Module):
    """Draws w = mean + sd * noise, as each library's forward() does."""

    def sampled(self, x, sd, W, sW, b, sb):
        noise = lambda a: rng.standard_normal(a.shape)  # noqa: E731
        y = x @ (W + sd(sW) * noise(sW)).T
        return y if b is None else y + b + sd(sb) * noise(sb)


class LinearReparameterization(Random):  # bayesian-torch
    def __init__(self, W, b):
        self.mu_weight, self.rho_weight = W, np.full_like(W, -3)
        self.mu_bias, self.rho_bias = b, None if b is None else np.full_like(b, -2)
        self.bias = b is not None

    def forward(self, x):
        return self.sampled(x, softplus, self.mu_weight, self.rho_weight, self.mu_bias, self.rho_bias), 0.0


class LinearFlipout(LinearReparameterization):
    pass


class Sampler(Module):
    def __init__(self, mu, rho):
        self.mu, self.rho = mu, rho


class BayesianLinear(Random):  # blitz: the parameters that forward() uses are those of the samplers
    def __init__(self, W, b, bias=True):
        self.bias, self.weight_mu, self.weight_rho = bias, 0 * W, np.full_like(W, -6)
        self.bias_mu, self.bias_rho = 0 * b, np.full_like(b, -6)
        self.weight_sampler, self.bias_sampler = Sampler(W, np.full_like(W, -4)), Sampler(b, np.full_like(b, -5))
        self._modules = {"weight_sampler": self.weight_sampler, "bias_sampler": self.bias_sampler}

    def forward(self, x):
        w, b = self.weight_sampler, self.bias_sampler
        return self.sampled(x, softplus, w.mu, w.rho, b.mu if self.bias else None, b.rho)


class BayesLinear(Random):  # torchbnn
    def __init__(self, W, b):
        self.bias, self.weight_mu, self.weight_log_sigma = b is not None, W, np.full_like(W, -3)
        self.bias_mu, self.bias_log_sigma = b, None if b is None else np.full_like(b, -4)

    def forward(self, x):
        return self.sampled(x, np.exp, self.weight_mu, self.weight_log_sigma, self.bias_mu, self.bias_log_sigma)


W0, b0, W1, b1 = p = make(5, 5, 5)
for name, kind in (("bayesian-torch", LinearReparameterization), ("bayesian-torch-flipout", LinearFlipout),
                   ("blitz", BayesianLinear), ("torchbnn", BayesLinear)):
    px.save_torch(path(name), Sequential(kind(W0, b0), ReLU(), kind(W1, b1)), X)
    assert np.abs(arrays(name)["reference.logits"] - mlp(p, X)).max() < 1e-5
    assert np.array_equal(arrays(name)["layers.0.weight.mean"], W0.T)
assert header("torchbnn")["scale"] == "log_sd" and header("blitz")["scale"] == "softplus"
px.save_torch(path("no-bias"), Sequential(LinearReparameterization(W0, None), ReLU(), BayesianLinear(W1, b1, bias=False)), X)
assert [e["bias"] for e in header("no-bias")["layers"]] == [False, False]
px.save_torch(path("mixed"), Sequential(LinearReparameterization(W0, b0), ReLU(), BayesLinear(W1, b1)), X)
assert header("mixed")["layers"][1 if header("mixed")["scale"] == "softplus" else 0]["weight_scale"] in ("log_sd", "softplus")


class BayesianConv2d(BayesianLinear):
    pass


refuses(["BayesianConv2d", "dense layers only"], px.save_torch, Sequential(BayesianConv2d(W0, b0)), X)

# TFP: kernels are (in, out); a bias is deterministic unless something else is asked for.


class Normal:
    def __init__(self, loc, raw, f):
        self.loc, self.scale = loc, type("DeferredTensor", (), {"pretransformed_input": raw})()
        self.stddev = lambda: f(raw)


class Deterministic:
    def __init__(self, loc):
        self.loc = loc


class Independent:
    def __init__(self, d):
        self.distribution = d


class DenseFlipout:
    def __init__(self, kernel, bias, activation=None, f=lambda s: np.finfo(np.float32).eps + softplus(s)):
        self.kernel_posterior, self.activation = Independent(Normal(kernel, np.full_like(kernel, -3), f)), activation
        self.bias_posterior = None if bias is None else Independent(Deterministic(bias))


class DenseReparameterization(DenseFlipout):
    pass


class Dense:
    def __init__(self, kernel, bias, activation):
        self.kernel, self.bias, self.activation = kernel, bias, activation


class Convolution2DFlipout(DenseFlipout):
    pass


class Flatten:
    pass


def leaky_relu(z):
    return np.where(z > 0, z, np.float32(0.2) * z)


def softmax(z):
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def tanh_(z):
    return np.tanh(z)


tanh_.__name__ = "tanh"
img = rng.rand(20, 2, 3, 1).astype(np.float32)
q = make(6, 6, 4, 4)
assert "order of the forward pass" in notes(px.save_tfp, path("tfp-list"), [DenseFlipout(q[0].T, q[1])], img.reshape(20, 6))
px.save_tfp(path("tfp"), [Flatten(), DenseFlipout(q[0].T, q[1], leaky_relu), DenseReparameterization(q[2].T, None, tanh_), Dense(q[4].T, q[5], softmax)], img)
assert header("tfp")["scale"] == "softplus:1.1920928955078125e-07" and header("tfp")["input_shape"] == [2, 3, 1]
assert header("tfp")["layers"][0]["bias_scale"] == "none" and header("tfp")["layers"][0]["activation"] == "leaky_relu:0.200000003"
assert header("tfp")["layers"][1]["bias"] is False
px.save_tfp(path("tfp-exp"), [DenseFlipout(q[0].T, q[1], f=np.exp)], img[:, :, :, 0].reshape(20, 6))
assert header("tfp-exp")["scale"] == "sd"
refuses(["output"], px.save_tfp, [DenseFlipout(q[0], q[1], leaky_relu), DenseFlipout(q[2].T, q[3])], img.reshape(20, 6),
        predict=lambda x: mlp(q[:4], x, leaky_relu))
refuses(["layer 1 (DenseFlipout)", "called twice"], px.save_tfp, 2 * [DenseFlipout(make(6, 6)[0], None)], img.reshape(20, 6))
refuses(["Convolution2DFlipout", "dense layers only"], px.save_tfp, [Convolution2DFlipout(q[0], q[1])], img)
refuses(["Sequential"], px.save_tfp, Flatten(), img)

# Pyro: AutoNormal by site (with dots), AutoDiagonalNormal flat in the order of _unconstrained_shapes.


class Box:
    pass


class Real:
    pass


class GreaterThan:
    pass


class AutoNormal:
    pass


class AutoDiagonalNormal:
    pass


class AutoMultivariateNormal(AutoDiagonalNormal):
    pass


class AutoLowRankMultivariateNormal(AutoDiagonalNormal):
    pass


class AutoIAFNormal(AutoDiagonalNormal):
    pass


class Joint:
    """A distribution of all sites; gain is that of its draws."""

    def __init__(self, loc, L, gain=1.0):
        self.loc, self.scale_tril, self.covariance_matrix, self.gain = loc, L, L @ L.T, gain

    def sample(self, shape):
        return self.loc + self.gain * rng.randn(shape[0], len(self.loc)) @ self.scale_tril.T


def is_joint(name, lay, sites, S, layout="out,in"):
    """The factors of the file are a root of the covariance S of the sites, {name: indices into it}."""
    at = []
    for k, (weight, bias, _) in enumerate(lay):
        W = sites[weight] if layout == "out,in" else sites[weight].T
        at.append(np.concatenate([W, (np.full(len(W), -1) if bias is None else sites[bias])[:, None]], 1).ravel())
    L = np.concatenate([arrays(name)["layers.%d.covariance.factor" % k] for k in range(len(lay))])
    at = np.concatenate(at)
    assert np.allclose((L @ L.T)[np.ix_(at >= 0, at >= 0)], S[np.ix_(at[at >= 0], at[at >= 0])], atol=1e-7) and not L[at < 0].any()
    assert header(name)["kind"] == ("joint" if len(lay) > 1 else "correlated") and header(name)["version"] == 3


def node(support):
    fn, outer = Box(), Box()
    outer.base_constraint, fn.support = support(), outer
    return {"fn": fn}


W0, b0, W1, b1 = p = make(5, 5, 3)
sds = [np.abs(a) / 5 + 0.01 for a in p]
names = ["fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"]
lay = [("fc1.weight", "fc1.bias", "relu"), ("fc2.weight", "fc2.bias", "identity")]
guide = AutoNormal()
for field, values in (("locs", p), ("scales", sds)):
    box = Box()
    setattr(guide, field, box)
    for n, a in zip(names, values):
        outer, inner = n.split(".")
        if not hasattr(box, outer):
            setattr(box, outer, Box())
        setattr(getattr(box, outer), inner, a)
guide.prototype_trace = Box()
guide.prototype_trace.nodes = {n: node(Real) for n in names}
px.save_pyro(path("pyro"), guide, lay, "out,in", inputs=X, predict=lambda x: mlp(p, x))
refuses(["layout"], px.save_pyro, guide, lay, inputs=X, predict=lambda x: mlp(p, x))
refuses(["output"], px.save_pyro, guide, lay[:1] + lay[1:], "out,in", inputs=X, predict=lambda x: mlp(p, x, tanh))
guide.prototype_trace.nodes["fc2.weight"] = node(GreaterThan)
refuses(["fc2.weight", "support"], px.save_pyro, guide, lay, "out,in", inputs=X, predict=lambda x: mlp(p, x))
flat = AutoDiagonalNormal()
order = [2, 0, 3, 1]
flat._unconstrained_shapes = {names[i]: p[i].shape for i in order}
flat._unconstrained_shapes["sigma"] = ()
flat.loc = np.concatenate([p[i].ravel() for i in order] + [np.ones(1, np.float32)])
flat.scale = np.concatenate([sds[i].ravel() for i in order] + [np.ones(1, np.float32)])
assert "site sigma" in notes(px.save_pyro, path("pyro-diagonal"), flat, lay, "out,in", inputs=X, logits=mlp(p, X))
assert np.array_equal(arrays("pyro-diagonal")["layers.1.weight.scale"], sds[2].T)
refuses(["AutoIAFNormal", "save_site_samples"], px.save_pyro, AutoIAFNormal(), lay, "out,in", inputs=X, logits=mlp(p, X))
# Covariances of all sites: by scale and scale_tril, by scale_tril alone (before 1.7), of low rank.
P = len(flat.loc)
places = dict(zip(flat._unconstrained_shapes, px.split(np.arange(P), list(flat._unconstrained_shapes.values()))))
unit = np.tril(rng.randn(P, P) / 8, -1) + np.eye(P)
for name, kind, fields, L in (("tril", AutoMultivariateNormal, dict(scale=flat.scale, scale_tril=unit), flat.scale[:, None] * unit),
                              ("older", AutoMultivariateNormal, dict(scale_tril=unit), unit),
                              ("low", AutoLowRankMultivariateNormal, dict(scale=flat.scale, cov_factor=unit[:, :3]),
                               np.linalg.cholesky(np.outer(flat.scale, flat.scale) * (unit[:, :3] @ unit[:, :3].T + np.eye(P))))):
    guide = kind()
    guide._unconstrained_shapes, guide.loc = flat._unconstrained_shapes, flat.loc
    guide.__dict__.update(fields)
    said = notes(px.save_pyro, path("pyro-" + name), guide, lay, "out,in", inputs=X, logits=mlp(p, X))
    assert "site sigma" in said and "no get_posterior" in said, said
    guide.get_posterior = lambda: Joint(flat.loc, L)  # noqa: B023
    assert "compared" not in notes(px.save_pyro, path("pyro-" + name), guide, lay, "out,in", inputs=X, logits=mlp(p, X))
    is_joint("pyro-" + name, lay, places, L @ L.T)
    guide.get_posterior = lambda: Joint(flat.loc, L, 1.1)  # noqa: B023
    refuses(["draws", "variance is 1.2"], px.save_pyro, guide, lay, "out,in", inputs=X, logits=mlp(p, X))
    guide.get_posterior = lambda: Joint(flat.loc, 1.1 * L)  # noqa: B023
    refuses(["get_posterior()", "nothing was written"], px.save_pyro, guide, lay, "out,in", inputs=X, logits=mlp(p, X))
del guide.get_posterior
refuses(["in two layers"], px.save_pyro, guide, [lay[0], ("fc1.weight", None, "relu")] + lay[1:], "out,in", inputs=X, logits=mlp(p, X))

# NumPyro: x @ W, sites by name, or one flat vector whose order the guide knows.
sites = {"w1": W0.T, "b1": b0, "w2": W1.T}
spread = {k: np.abs(v) / 4 + 0.01 for k, v in sites.items()}
lay = [("w1", "b1", "tanh"), ("w2", None, "identity")]
f = lambda x: np.tanh(np.asarray(x, np.float32) @ W0.T + b0) @ W1.T  # noqa: E731
params = {k + end: t[k] for k in sites for end, t in (("_auto_loc", sites), ("_auto_scale", spread))}
px.save_numpyro(path("numpyro"), params, lay, "in,out", inputs=X, predict=f)
refuses(["site w2 is in two layers"], px.save_numpyro, {"w2_auto_loc": W1[:3, :3], "w2_auto_scale": spread["w2"][:3, :3]}, [("w2", None, "relu"), ("w2", None, "identity")], "in,out")
refuses(["w3", "w1"], px.save_numpyro, params, [("w3", None, "identity")], "in,out", inputs=X, predict=f)
vector = {"auto_loc": np.concatenate([sites[k].ravel() for k in sorted(sites)]), "auto_scale": np.concatenate([spread[k].ravel() for k in sorted(sites)])}
refuses(["guide="], px.save_numpyro, vector, lay, "in,out", inputs=X, predict=f)
px.save_numpyro(path("numpyro-diagonal"), vector, lay, "in,out", sites=[(k, sites[k].shape) for k in sorted(sites)], inputs=X, predict=f)
guide = AutoDiagonalNormal()
guide._unpack_latent = lambda v: dict(zip(sorted(sites), px.split(v, [sites[k].shape for k in sorted(sites)])))
px.save_numpyro(path("numpyro-guide"), vector, lay, "in,out", guide=guide, inputs=X, predict=f)
np.testing.assert_equal(arrays("numpyro-guide"), arrays("numpyro-diagonal"))
P = len(vector["auto_loc"])
places = {s: a.astype(int) for s, a in guide._unpack_latent(np.arange(P)).items()}
unit = np.tril(rng.randn(P, P) / 8, -1) + np.eye(P)
joint = dict(vector, auto_cov_factor=unit[:, :2])
refuses(["guide="], px.save_numpyro, joint, lay, "in,out", inputs=X, predict=f)
for kind, params, L in ((AutoMultivariateNormal, dict(auto_loc=vector["auto_loc"], auto_scale_tril=0.1 * unit), 0.1 * unit),
                        (AutoLowRankMultivariateNormal, joint, vector["auto_scale"][:, None] * np.concatenate([unit[:, :2], np.eye(P)], 1)),
                        (type("AutoLaplaceApproximation", (), {}), dict(auto_loc=vector["auto_loc"]), 0.2 * unit)):
    law = kind()
    law._unpack_latent, law.get_posterior = guide._unpack_latent, lambda params: Joint(vector["auto_loc"], L)  # noqa: B023
    assert notes(px.save_numpyro, path("numpyro-joint"), params, lay, "in,out", guide=law, inputs=X, predict=f) == ""
    is_joint("numpyro-joint", lay, places, L @ L.T, "in,out")
px.save_site_samples(path("hmc-sites"), {k: np.stack([v, v + 1, v - 1]) for k, v in sites.items()}, lay, "in,out", inputs=X, predict=f)

# Trees of flax and of equinox, whose leaves have samples first: sites are paths.
three = {k: np.stack([v, v + 1, v - 1]) for k, v in sites.items()}
flax = {"params": {"Dense_0": {"kernel": three["w1"], "bias": three["b1"]}, "Dense_1": {"kernel": three["w2"]}}}
lay = [("params/Dense_0/kernel", "params/Dense_0/bias", "tanh"), ("params/Dense_1/kernel", None, "identity")]
px.save_site_samples(path("flax"), flax, lay, "in,out", inputs=X, predict=f)
refuses(["'params/Dense_2/kernel'", "'Dense_2' should be are Dense_0, Dense_1"], px.save_site_samples, flax, [("params/Dense_2/kernel", None, "identity")], "in,out")
linears = [Module(), Module()]
linears[0].__dict__.update(weight=three["w1"].swapaxes(1, 2), bias=three["b1"])
linears[1].__dict__.update(weight=three["w2"].swapaxes(1, 2), bias=None)
tree = Module()
tree.layers = linears
px.save_site_samples(path("equinox"), tree, [("layers/0/weight", "layers/0/bias", "tanh"), ("layers/1/weight", None, "identity")], "out,in", inputs=X, predict=f)
for name in ("flax", "equinox"):
    np.testing.assert_equal(arrays(name), arrays("hmc-sites"))

# Plain arrays of every kind; split() of flat vectors.
p = make(5, 4, 3)
for layout in ("out,in", "in,out"):
    turn = lambda a: a if layout == "out,in" else [None if b is None else b.T for b in a]  # noqa: B023, E731
    end = layout.replace(",", "-")
    px.save_gaussian(path("gaussian-" + end), [
        px.dense(*turn([p[0], p[1], p[0] ** 2, p[1] ** 2]), activation="sigmoid", layout=layout, scale="variance"),
        px.dense(*turn([p[2], p[3]]), layout=layout)], spread=[(np.abs(p[0]), np.abs(p[1]).mean()), (None, None)], inputs=X, mean=rng.rand(5), std=0.5 + rng.rand(5),
        predict=lambda x: mlp(p, x, lambda z: 1 / (1 + np.exp(-z))))
    px.save_samples(path("samples-" + end), [turn(p), turn(make(5, 4, 3)), turn(p)], ["relu", "identity"], layout, [5, 1, 2], inputs=X, logits=mlp(p, X))
    px.save_swag(path("swag-" + end), turn(p), turn([a ** 2 for a in p]), [turn(make(5, 4, 3)) for _ in range(3)], ["relu", "identity"], layout, inputs=X, logits=mlp(p, X))
    px.save_dropout(path("dropout-" + end), turn([p[0], p[1], p[2], None]), [0, 0.5], ["relu", "identity"], layout, inputs=X, logits=mlp(p[:3] + [None], X))
    px.save_dropconnect(path("connect-" + end), turn([p[0], p[1], p[2], None]), [0.25, 0.5], ["relu", "identity"], layout, inputs=X, logits=mlp(p[:3] + [None], X))
    keep = rng.rand(2000, 4 * 5 + 3 * 4) >= np.repeat([0.25, 0.5], [20, 12])
    masks = [keep[:, :20].reshape(-1, 4, 5) / 0.75, keep[:, 20:].reshape(-1, 3, 4) / 0.5]
    h = relu(np.einsum("noi,oi,i->no", masks[0], p[0], X[0]) + p[1])
    moments("connect-" + end, X[0], np.einsum("noi,oi,ni->no", masks[1], p[2], h))
    # Each weight is the gain of an input of its own.
    assert [(e["kind"], e.get("rate")) for e in header("connect-" + end)["layers"]] == [
        ("reorder", None), ("batch_norm", 0.25), ("flatten", None), ("conv2d", 0), ("flatten", None),
        ("reorder", None), ("batch_norm", 0.5), ("flatten", None), ("conv2d", 0), ("flatten", None)]
flat = np.stack([np.concatenate([a.ravel() for a in make(5, 4, 3)]) for _ in range(4)])
px.save_samples(path("hmc-flat"), list(zip(*px.split(flat, [a.shape for a in p]))), ["relu", "identity"], "out,in", inputs=X,
                predict=lambda x: mlp([a[0] for a in px.split(flat, [a.shape for a in p])], x))

# Of every kind with an activation at the end, and with the two logits of one, which is the same network.
p = make(5, 4, 1)
sigmoid = lambda z: 1 / (1 + np.exp(-z))  # noqa: E731
f = lambda x: sigmoid(mlp(p, x))  # noqa: E731
squares, moved = [a ** 2 for a in p], [make(5, 4, 1) for _ in range(3)]
for end, kw in (("end", {}), ("classes", {"classes": 2})):
    kw.update(inputs=X, predict=f)
    words = ["relu", "sigmoid"]
    px.save_gaussian(path("normal-" + end), [px.dense(*p[:2], *squares[:2], "relu", "out,in", "variance"), px.dense(*p[2:], *squares[2:], "sigmoid", "out,in", "sd")],
                     spread=[(np.abs(p[0]), np.abs(p[1])), squares[2:]], **kw)
    px.save_gaussian(path("normal-full-" + end), [px.dense(*p[:2], activation="relu", layout="out,in"),
                                                  px.dense(*p[2:], activation="sigmoid", layout="out,in", covariance=np.eye(5))], **kw)
    px.save_gaussian(path("normal-kron-" + end), [px.dense(*p[:2], activation="relu", layout="out,in"), px.dense(
        *p[2:], activation="sigmoid", layout="out,in", kron={"QA": np.eye(5), "QG": 2 * np.eye(1), "S": np.ones((1, 5))})], **kw)
    px.save_samples(path("samples-" + end), [p, make(5, 4, 1)], words, "out,in", **kw)
    px.save_swag(path("swag-" + end), p, squares, moved, words, "out,in", **kw)
    px.save_dropout(path("dropout-" + end), p, [0, 0.5], words, "out,in", **kw)
    px.save_dropconnect(path("connect-" + end), p, [0, 0.5], words, "out,in", **kw)
    for kind in ("normal", "normal-full", "normal-kron", "samples", "swag", "dropout", "connect"):
        y, last = arrays("%s-%s" % (kind, end))["reference.logits"], header("%s-%s" % (kind, end))["layers"][-1]
        assert np.allclose(y, f(X) if end == "end" else np.concatenate([0 * f(X), mlp(p, X)], 1), atol=1e-5), (kind, end)
assert np.isclose(arrays("normal-classes")["reference.spread"][1, 0], squares[2].mean() / 2) and "covariance" not in header("normal-full-end")["layers"][2]
assert np.array_equal(arrays("swag-classes")["layers.1.weight.deviations"], np.stack([[np.append(0 * a, a, 0).T for a in m] for m in [[n[2]] for n in moved]])[:, 0])
refuses(["classes=2", "relu", "no class"], px.save_samples, [p], ["relu", "relu"], "out,in", inputs=X, predict=lambda x: np.maximum(mlp(p, x), 0), classes=2)

# SWAG: standard deviations, or means of squares, for variances.
p = make(5, 4, 3)
snapshots = [[a + 0.03 * rng.randn(*a.shape) for a in p] for _ in range(20)]
centre = [np.mean(a, axis=0) for a in zip(*snapshots)]
for words, variance in (("", [np.var(a, axis=0) for a in zip(*snapshots)]), ("like standard deviations", [np.std(a, axis=0) for a in zip(*snapshots)]),
                        ("like means of squares", [np.mean(np.square(a), axis=0) for a in zip(*snapshots)])):
    said = notes(px.save_swag, path("swag-snapshots"), centre, variance, [[a - m for a, m in zip(n, centre)] for n in snapshots],
                 ["relu", "identity"], "out,in", inputs=X, logits=mlp(centre, X))
    assert words in said and ("by the deviations" in said) == bool(words), said

# A rho of -inf is an sd of 0; nothing else may be infinite, negative, NaN or of another shape.
rho = np.full((4, 5), -1.0)
rho[1, 2] = -np.inf
px.save_gaussian(path("minus-inf"), [px.dense(p[0], p[1], rho, p[1] - 9, "relu", "out,in", "softplus"), px.dense(p[2], p[3], layout="out,in")],
                 inputs=X, logits=mlp(p, X), spread=[[px.sd_of(rho, "softplus").mean(), px.sd_of(p[1] - 9, "softplus").mean()], (None, None)])
assert arrays("minus-inf")["layers.0.weight.scale"][2, 1] == 0 and header("minus-inf")["layers"][0].get("bias_scale", "softplus") == "softplus"


def gaussian(to, *args, **kw):
    px.save_gaussian(to, [px.dense(*args, label="layer 7 (mine)", **kw)])


ok = dict(layout="out,in", scale="sd")
refuses(["layer 7 (mine)", "weight mean", "[0, 1]", "nan"], gaussian, [[1, np.nan]], [1], [[1, 1]], [1], **ok)
refuses(["layer 7 (mine)", "bias scale", "inf"], gaussian, [[1, 2]], [1], [[1, 1]], [np.inf], **ok)
refuses(["layer 7 (mine)", "-1", "no sd"], gaussian, [[1, 2]], [1], [[1, -1]], [1], **ok)
refuses(["no variance"], gaussian, [[1, 2]], [1], [[1, -1]], [1], layout="out,in", scale="variance")
refuses(["no sd"], gaussian, [[1, 2]], [1], [[1, 1000]], [1], layout="out,in", scale="log_sd")
refuses(["shapes", "(2, 1)"], gaussian, [[1, 2]], [1], [[1], [1]], [1], **ok)
refuses(["2 biases for 1"], gaussian, [[1, 2]], [1, 2], [[1, 1]], [1, 2], **ok)
refuses(["axes"], gaussian, [1, 2], [1], **ok)
refuses(["layout"], gaussian, [[1, 2]], [1])
refuses(["scale="], gaussian, [[1, 2]], [1], [[1, 1]], [1], layout="out,in")
refuses(["stdev"], gaussian, [[1, 2]], [1], [[1, 1]], [1], layout="out,in", scale="stdev")
refuses(["gelu"], gaussian, [[1, 2]], [1], activation="gelu", **ok)
refuses(["SLOPE"], gaussian, [[1, 2]], [1], activation="leaky_relu:2", **ok)
refuses(["type"], gaussian, [["a", "b"]], [1], **ok)
two = [px.dense(p[0], p[1], layout="out,in", activation="relu"), px.dense(p[2], p[3], layout="out,in")]
refuses(["layer 1 takes"], px.save_gaussian, [two[0], px.dense(p[0], p[1], layout="out,in")])
refuses(["std="], px.save_gaussian, two, mean=0)
refuses(["std="], px.save_gaussian, two, mean=0, std=0)
refuses(["inputs="], px.save_gaussian, two, inputs=X[:, :3], logits=mlp(p, X))
refuses(["logits"], px.save_gaussian, two, inputs=X, logits=mlp(p, X)[:5])
refuses(["one of"], px.save_gaussian, two, inputs=X)
refuses(["need inputs="], px.save_gaussian, two, predict=print)
refuses(["counts"], px.save_samples, [p], ["relu", "identity"], "out,in", [0])
refuses(["1.5", "whole"], px.save_samples, [p, p], ["relu", "identity"], "out,in", [1.5, 2])
refuses(["dense()"], px.save_gaussian, [(p[0], p[1])])
refuses(["network 1"], px.save_samples, [p, make(5, 3, 3)], ["relu", "identity"], "out,in")
refuses(["at least 2"], px.save_swag, p, p, [p], ["relu", "identity"], "out,in")
refuses(["rates"], px.save_dropout, p, [0, 1], ["relu", "identity"], "out,in")
# What is refused is named, where a usual mistake fits.
square = make(5, 5, 5, 3)
f = lambda x: mlp(square, x)  # noqa: E731


def plain(p=square, act="relu", bias=True, **kw):
    return [px.dense(p[k], p[k + 1] if bias else None, activation=act if k < 4 else "identity", layout="out,in", **kw) for k in (0, 2, 4)]


turned = [square[0].T, square[1], square[2].T] + square[3:]
for words, layers, more in (
        (["layers 0, 1 look transposed"], plain(turned), {}), (["layer 1 look transposed"], plain(square[:2] + turned[2:]), {}),
        (["activation were relu"], plain(act="tanh"), {}), (["layers 0 and 1 look swapped"], plain(square[2:4] + square[:2] + square[4:]), {}),
        (["whether layer 0 or 1 or 2 has a bias"], plain(bias=False), {}),
        (["MNIST", "mean=0.1307, std=0.3081"], plain(), dict(predict=lambda x: f((x - 0.1307) / 0.3081))),
        (["about mean=0.2, std=0.7 fits"], plain(), dict(predict=lambda x: f((x - 0.2) / 0.7))),
        (["normalised twice"], plain(), dict(predict=lambda x: f((x - 0.4) / 0.6), mean=0.4, std=0.6)),
        (["normalised already"], plain(), dict(logits=f(X), mean=0.4, std=0.6)),
        (["divide inputs by 255"], plain(), dict(inputs=255 * X, predict=lambda x: f(x / 255))),
        (["0.4 times"], plain(), dict(logits=0.4 * f(X))), (["what else forward() does"], plain(), dict(logits=f(X) ** 2)),
        (["outputs 2, 0, 1 of the file"], plain(), dict(logits=f(X)[:, [2, 0, 1]])),
        (["row i of the logits looks like that of input i+1"], plain(), dict(logits=np.roll(f(X), -1, 0)))):
    refuses(words, px.save_gaussian, layers, **dict(dict(inputs=X) if "logits" in more else dict(inputs=X, predict=f), **more))
nchw = rng.rand(10, 3, 2, 4)
image = [px.dense(rng.randn(4, 24), rng.randn(4), layout="out,in")]
refuses(["channels last"], px.save_gaussian, image, inputs=nchw, predict=lambda x: px.evaluate(px._stack(image), x.transpose(0, 2, 3, 1).reshape(10, 24))[0])

# The scales of plain arrays are compared with what the framework says of them.
sds = [np.exp(rng.randn(*a.shape) - 3) for a in square]
means = np.array([[sds[k].mean(), sds[k + 1].mean()] for k in (0, 2, 4)])
for word, stored in (("sd", lambda s: s), ("variance", lambda s: s ** 2), ("softplus", lambda s: np.log(np.expm1(s))), ("log_sd", np.log)):
    for said in ("sd", "variance", "softplus", "log_sd"):
        if said == word or word in ("softplus", "log_sd") and said in ("sd", "variance"):
            continue
        layers = [px.dense(square[k], square[k + 1], stored(sds[k]), stored(sds[k + 1]), "relu" if k < 4 else "identity", "out,in", said) for k in (0, 2, 4)]
        refuses(["layer 0", "look like scale %r" % word], px.save_gaussian, layers, inputs=X, predict=f, spread=means)
refuses(["spread=", "each of the 3"], px.save_gaussian, layers, inputs=X, predict=f, spread=means[:2])
assert "were not compared" in notes(px.save_gaussian, path("silent"), layers, inputs=X, predict=f) and "reference.spread" not in arrays("silent")
os.remove(path("silent"))

# A softmax at the end leaves logits, also where they are all zero; probabilities of 0 leave none.
dead = [px.dense(-np.ones((4, 5)), None, activation="relu", layout="out,in"), px.dense(rng.randn(3, 4), None, layout="out,in")]
for name, end in (("dead-log-softmax", lambda z: np.log(softmax(z))), ("dead-softmax", softmax)):
    px.save_gaussian(path(name), dead, inputs=X, predict=lambda x: end(np.zeros((40, 3), np.float32)))
    assert not arrays(name)["reference.logits"].any()
loud = [px.dense(1000 * p[0], None, layout="out,in")]
refuses(["probability of 0", "softmax"], px.save_gaussian, loud, inputs=X, predict=lambda x: softmax(mlp([1000 * p[0], None], x)).astype(np.float32))

# One output that is always 0 or 1 is no softmax of another one.
one = [px.dense(p[0][:1], p[1][:1], layout="out,in")]
refuses(["output 0"], px.save_gaussian, one, inputs=X, predict=lambda x: np.zeros((len(x), 1)))
refuses(["output 0"], px.save_gaussian, one, inputs=X, predict=lambda x: np.ones((len(x), 1)))
# Small logits are compared as closely as large ones.
tiny = [px.dense(1e-6 * p[0], 1e-6 * p[1], layout="out,in")]
refuses(["output"], px.save_gaussian, tiny, inputs=X, predict=lambda x: 1.001e-6 * mlp(p[:2], x))
assert "nothing was compared" in notes(px.save_gaussian, path("unchecked"), two)
# The spread of plain arrays is what the framework says (spread=), or a note says that nobody said it.
four = [px.dense(p[0], p[1], p[0] ** 2, p[1] ** 2, "relu", "out,in", "sd"), two[1]]
assert "were not compared" in notes(px.save_gaussian, path("as-given"), four, inputs=X, logits=mlp(p, X))
assert "reference.spread" not in arrays("as-given") and "reference.spread" in arrays("gaussian-out-in")
assert "were not compared" not in notes(px.save_gaussian, path("spread"), four, inputs=X, logits=mlp(p, X), spread=[(p[0] ** 2, p[1] ** 2), (None, None)])
for pairs, words in (([(np.abs(p[0]), None), (None, None)], ["layer 0", "weight", "scale='sd'"]), ([(p[0] ** 2, None)], ["each of the 2"]),
                     (0.1, ["pair"]), ([(None, None), (0.1, None)], ["layer 1", "'none'"])):
    refuses(words, px.save_gaussian, four, inputs=X, logits=mlp(p, X), spread=pairs)
refuses(["samples"], px.save_samples, [p], ["relu", "identity"], "out,in", inputs=X, logits=mlp(p, X), spread=[(0, 0), (0, 0)])
assert all("reference.spread" in arrays(n) for n in ("tfp", "pyro", "mixed")) and "reference.spread" not in arrays("numpyro")

# One line for what a caller may well do.
lay = [LinearReparameterization(*make(5, 3))]
refuses(["nodir", "written"], lambda to: px.save_gaussian(os.path.join(FOLDER, "nodir", "net.npz"), two))
refuses(["list", "save_torch_ensemble"], px.save_torch, lay, X)
refuses(["dict", "loaded into its module"], px.save_torch, {"w": 1}, X)
net = Sequential(*lay)
refuses(["want five words"], px.save_torch, net, X, names=("mu_weight", "rho_weight"))
refuses(["want five words"], px.save_torch, net, X, names=("mu_weight", None, None, None, "sd"))
refuses(["sixth", "x @ W"], px.save_torch, net, X, names=("mu_weight", "rho_weight", None, None, "softplus", "x @ W"))
refuses(["softplus:much"], px.save_torch, net, X, names=("mu_weight", "rho_weight", None, None, "softplus:much"))
refuses(["no layer has both w_mu"], px.save_torch, net, X, names=("w_mu", "w_rho", None, None, "softplus"))
refuses(["(40, 4)", "5 numbers"], px.save_torch, net, X[:, :4])
refuses(["predict=", "ZeroDivisionError"], px.save_torch, net, X, predict=lambda x: 1 // 0)
refuses(["one of"], px.save_torch, net, X, predict=net, logits=X[:, :3])

# laplace-torch: a last layer's own law, W row by row and then b, in the order of [W b] row by row.


class Linear(Module):
    def __init__(self, weight, bias):
        self.weight, self.bias = weight, bias

    def forward(self, x):
        return x @ self.weight.T + self.bias

    def parameters(self):
        return [self.weight, self.bias]


class LLLaplace:
    def __init__(self, model, last):
        model.modules = lambda: list(model._modules.values())
        self.model, self.mean = Module(), np.concatenate([a.ravel() for a in last.parameters()])
        self.model.model, self.model.last_layer = model, last


class FullLaplace:
    posterior_scale = (0.1 * np.eye(18) + 0.05 * np.tril(np.random.RandomState(1).rand(18, 18))).astype(np.float32)
    turned = None

    def sample(self, count):
        draws = self.mean + rng.standard_normal((count, 18)) @ self.posterior_scale.T
        return draws if self.turned is None else draws[:, self.turned]


class KronLaplace:
    gain = 1.0

    def sample(self, count):
        P = self.posterior_precision
        (QG, QA), (QB,), (g, a), (b,) = *P.eigenvectors, *P.eigenvalues
        W = QG @ (rng.standard_normal((count, 3, 5)) * (np.outer(g, a) + 1) ** -0.5) @ QA.T
        return self.mean + self.gain * np.concatenate([W.reshape(count, 15), rng.standard_normal((count, 3)) * (b + 2) ** -0.5 @ QB.T], 1)


class FullLLLaplace(LLLaplace, FullLaplace):
    pass


class KronLLLaplace(LLLaplace, KronLaplace):
    pass


p = make(5, 5, 3)
last = Linear(*p[2:])
net, chain = Sequential(Linear(*p[:2]), ReLU(), last), lambda n: [(n._modules["0"], "relu"), n._modules["2"]]
full, kron = FullLLLaplace(net, last), KronLLLaplace(net, last)
assert notes(px.save_laplace, path("laplace-full"), full, X, layers=chain) == ""
factor = arrays("laplace-full")["layers.1.covariance.factor"].reshape(3, 6, 18)
assert np.array_equal(factor[:, :5].reshape(15, 18), full.posterior_scale[:15]) and np.array_equal(factor[:, 5], full.posterior_scale[15:])
full.turned = np.append(np.arange(15).reshape(5, 3).T.ravel(), [15, 16, 17])  # draws of W column by column
full.mean = full.mean * 0
refuses(["FullLLLaplace", "do not have the covariance"], px.save_laplace, full, X, layers=chain)
tied = np.eye(18)
tied[1, :2] = 0.8, 0.6  # variances of 1 and a correlation
full.sample = lambda count: full.mean + rng.standard_normal((count, 18)) @ tied.T @ full.posterior_scale.T
refuses(["FullLLLaplace", "correlations"], px.save_laplace, full, X, layers=chain)
QG, QA = (np.linalg.qr(rng.randn(n, n))[0] for n in (3, 5))
lG, lA = np.array([0, 2.0, 30]), np.array([0, 1.0, 2, 3, 40])
kron.posterior_precision = precision = Module()
precision.eigenvectors, precision.eigenvalues, precision.deltas = [[QG, QA], [-QG[:, ::-1]]], [[lG, lA], [5 * lG[::-1]]], np.array([1.0, 2.0])
assert notes(px.save_laplace, path("laplace-kron"), kron, X, layers=chain) == ""
kept = arrays("laplace-kron")
assert np.allclose(kept["layers.1.covariance.sd"], np.concatenate([np.outer(lG, lA) + 1, 5 * lG[:, None] + 2], 1) ** -0.5)
assert np.array_equal(kept["layers.1.covariance.QA"], np.pad(QA, ((0, 1), (0, 1))) + np.diag([0, 0, 0, 0, 0, 1]))
kron.gain = 1.1
refuses(["KronLLLaplace", "1.2"], px.save_laplace, kron, X, layers=chain)
net.modules = lambda: []
refuses(["KronLLLaplace", "last layer alone"], px.save_laplace, kron, X, layers=chain)
# Eigenvalues of a covariance that are a little below 0 are told of, those that are not are not.
turn = np.linalg.qr(rng.randn(9, 9))[0]
W, values = rng.randn(3, 2), np.array([4, 3, 2, 1, 1, 1, 1, 1, 1.0])
for least, said in ((-1e-8, "covariance: 2 of 9 eigenvalues were below 0, the least -1e-08 beside the largest 4: they are 0 in the file"), (1e-3, "")):
    values[7:] = least, least / 2
    told = notes(lambda: px.save_gaussian(path("clipped"), [px.dense(W, np.zeros(3), layout="out,in", covariance=turn * values @ turn.T)],
                                          inputs=np.ones((1, 2)), predict=lambda x: x @ W.T))
    assert (said in told and "eigenvalues" in header("clipped").get("note", "")) if said else "eigenvalue" not in told, told
    os.remove(path("clipped"))
# One covariance of all weights, of [W b] of layer after layer, row by row; a layer without a bias has none of its own.
W1, W2 = rng.randn(3, 2), rng.randn(2, 3)
both = [px.dense(W1, np.ones(3), None, activation="relu", layout="out,in"), px.dense(W2, None, layout="out,in")]
S = (lambda a: a @ a.T)(rng.randn(15, 15))
f = lambda x: np.maximum(x @ W1.T + 1, 0) @ W2.T  # noqa: E731
assert "not compared" in notes(px.save_gaussian, path("joint"), both, covariance=S, inputs=X[:, :2], predict=f)
sd = np.split(np.sqrt(np.diag(S)), [9])
spread = [(sd[0].reshape(3, 3)[:, :2], sd[0].reshape(3, 3)[:, 2]), (sd[1], None)]
assert notes(px.save_gaussian, path("joint"), both, covariance=S, spread=spread, inputs=X[:, :2], predict=f) == ""
refuses(["layer 0", "weight", "the matrix looks squared"], px.save_gaussian, both, covariance=np.diag(np.diag(S) ** 2), spread=spread, inputs=X[:, :2], predict=f)
kron = [both[0], px.dense(W2, None, layout="out,in", kron={"QA": np.eye(3), "QG": 2 * np.eye(2), "S": sd[1].reshape(2, 3) / 2})]
assert notes(px.save_gaussian, path("kron-spread"), kron, spread=[(None, None), spread[1]], inputs=X[:, :2], predict=f) == ""
refuses(["layer 1", "diagonal of its covariance"], px.save_gaussian, kron, spread=[(None, None), (2 * sd[1], None)], inputs=X[:, :2], predict=f)
L = [arrays("joint")["layers.%d.covariance.factor" % k] for k in (0, 1)]
assert header("joint")["kind"] == "joint" and header("joint")["version"] == 3 and not L[1].reshape(2, 4, 15)[:, 3].any()
L = np.concatenate([L[0], L[1].reshape(2, 4, 15)[:, :3].reshape(6, 15)])
assert np.allclose(L @ L.T, S)
refuses(["(14, 14)", "(15, 15)", "row by row"], px.save_gaussian, both, covariance=S[1:, 1:])
both = [px.dense(W1, np.ones(3), W1 ** 2, np.ones(3), activation="relu", layout="out,in", scale="sd"), px.dense(W2, None, layout="out,in")]
refuses(["all weights", "without scales"], px.save_gaussian, both, covariance=S)
# A covariance of each row: rows are independent, and draws of psafe have the variance of W x + b.
S, W, b, x = (lambda a: a @ a.swapaxes(1, 2))(rng.randn(3, 3, 3)), rng.randn(3, 2), rng.randn(3), np.array([0.5, -2, 1])
rows = [px.dense(W, b, layout="out,in", covariance=S)]
px.save_gaussian(path("rows"), rows, spread=[(np.sqrt(S.diagonal(0, 1, 2)[:, :2]), np.sqrt(S[:, 2, 2]))], inputs=[x[:2]], predict=lambda x: x @ W.T + b)
L = arrays("rows")["layers.0.covariance.factor"].reshape(3, 3, 3)
assert header("rows")["layers"][0]["covariance"] == "rows" and np.allclose(L @ L.swapaxes(1, 2), S)
moments("rows", x[:2], W @ x[:2] + b + rng.randn(3000, 3) * np.sqrt(np.einsum("oij,i,j->o", S, x, x)))
refuses(["covariance", "(2, 3, 3)", "(3, 3, 3)"], lambda path: px.dense(W, b, layout="out,in", covariance=S[:2]))
# A covariance is compared with spread= by its diagonal, or a note says that it was not.
W, variances = rng.randn(8, 2), np.arange(1, 17) / 100.0
for covariance, spread, words in ((variances, np.sqrt(variances).mean(), None), (variances ** 2, np.sqrt(variances).mean(), "looks squared"),
                                  (variances, variances.mean(), "looks like variances"), (variances, 1.0, "see what its numbers are"), (variances, None, None)):
    layers = [px.dense(W, None, activation="relu", layout="out,in"), px.dense(W.T, None, layout="out,in", covariance=np.diag(covariance))]
    more = dict(inputs=X[:, :2], predict=lambda x: np.maximum(x @ W.T, 0) @ W)
    more.update({} if spread is None else dict(spread=[(None, None), (spread, None)]))
    if words is None:
        assert ("were not compared" in notes(px.save_gaussian, path("covariance"), layers, **more)) == (spread is None)
    else:
        refuses(["layer 1", "by the diagonal of its covariance", words], px.save_gaussian, layers, **more)


# Pyro's modules call the parameter of a site SITE_unconstrained; TyXe's guide has get_loc and get_scale; others are refused.
class PyroModule(Module):
    def __init__(self, values):
        self.__dict__.update(values)
        self.named_parameters = lambda: [(name + "_unconstrained", a) for name, a in values.items()]


p = make(5, 4, 3)
sites = dict(zip(("w1", "b1", "w2", "b2"), p))
lay, call = [("w1", "b1", "relu"), ("w2", "b2", "identity")], dict(layout="out,in", inputs=X, predict=lambda x: mlp(p, x))
guide = AutoNormal()
guide.locs, guide.scales = PyroModule(dict(sites, tau=np.ones(1))), PyroModule({k: np.abs(a) + 0.1 for k, a in sites.items()})
said = notes(px.save_pyro, path("pyro-module"), guide, lay, **call)
assert "site tau is in no layer" in said and "site w1" not in said, said
guide = type("ParameterwiseDiagonalNormal", (), {})()
guide.get_loc, guide.get_scale = sites.get, lambda name: np.abs(sites[name]) + 0.1
px.save_pyro(path("tyxe"), guide, lay, **call)
assert all(np.array_equal(a, arrays("pyro-module")[n]) for n, a in arrays("tyxe").items() if n != "__meta__")
refuses(["no locs", "fit it"], px.save_pyro, AutoNormal(), lay, **call)
refuses(["no loc", "fit it"], px.save_pyro, AutoDiagonalNormal(), lay, **call)
assert "rates" in notes(px.save_dropout, path("rates"), p, [0, 0.5], ["relu", "identity"], "out,in", inputs=X, logits=mlp(p, X))
assert "network 0 of 2" in notes(px.save_samples, path("two"), [p, p], ["relu", "identity"], "out,in", inputs=X, logits=mlp(p, X))
assert "network 0 of" not in notes(px.save_samples, path("two"), [p, p], ["relu", "identity"], "out,in", inputs=X, logits=[mlp(p, X)] * 2)
refuses(["save_pyro met what it does not know", "AttributeError"], px.save_pyro, type("AutoNormal", (), {"locs": 0, "prototype_trace": 3})(), lay, **call)

# A head on features says so, and of what.
A = rng.randn(6, 5)
backbone = lambda x: np.tanh(np.asarray(x) @ A)  # noqa: E731
raw = rng.randn(30, 6)
head = [px.dense(p[0], p[1], 0 * p[0] + 0.1, 0 * p[1], "relu", "out,in", "sd"), px.dense(p[2], p[3], None, None, "identity", "out,in")]
found = px.save_head(path("head"), backbone, head, raw, of="a backbone", save=px.save_gaussian, predict=lambda x: mlp(p, x), note="mine")
assert np.array_equal(found, backbone(raw)) and header("head")["features_of"] == "a backbone" and header("head")["note"].startswith("mine")
assert np.allclose(arrays("head")["reference.inputs"], found)
refuses(["features when it is called again"], px.save_head, lambda x: rng.randn(len(x), 5), head, raw, save=px.save_gaussian)
refuses(["name the backbone"], px.save_head, backbone, head, raw, of=" ", save=px.save_gaussian)
refuses(["Nothing was written"], px.save_head, backbone, head, raw, save=px.save_gaussian, predict=lambda x: mlp(p, -x))
px.save_hulls(os.path.join(FOLDER, "hulls.json"), np.stack([found, found + 0.1], 1), [2] * 30)
with open(os.path.join(FOLDER, "hulls.json")) as f:
    entry = json.load(f)["properties"][3]
assert entry["class"] == 2 and entry["boxes"] == [[[a, a + 0.1] for a in found[3].tolist()]]
refuses(["want (inputs, views, features)"], px.save_hulls, found, [2] * 30)
print("array cases: done")
