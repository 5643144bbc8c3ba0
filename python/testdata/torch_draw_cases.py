"""Networks that torch draws are those of the file: where masks act, in which places a weight does, every member of an
ensemble, what never draws. What a mean network does not show."""
import torch
from torch import nn
from torch.nn import functional as F

from cases import arrays, header, moments, notes, np, path, px, refuses, rng

torch.manual_seed(4)
X = rng.rand(12, 4).astype(np.float32)


class Net(nn.Module):
    """A network with this forward(self, x) of a few layers."""

    def __init__(self, forward):
        super().__init__()
        self.a, self.b, self.c, self.q, self.r = nn.Linear(4, 6), nn.Linear(6, 6), nn.Linear(6, 6), nn.Linear(12, 3), nn.Linear(6, 3)
        self.drop, self.other, self.norm, self.run = nn.Dropout(0.3), nn.Dropout(0.4), nn.BatchNorm1d(6), forward
        self.norm.running_mean.uniform_()

    def forward(self, x):
        return self.run(self, x)


def net(forward):
    made = Net(forward).eval()
    for name, layer in list(made.named_children()):  # those that forward() calls alone
        called = []
        hook = layer.register_forward_hook(lambda *_, c=called: c.append(1))
        made(torch.as_tensor(X))
        hook.remove()
        if not called and name not in ("drop", "other") and not any(p is q for p in layer.parameters() for q in getattr(made, "keep", ())):
            delattr(made, name)
    return made


def draws(model, x, count=2000):
    """What a network with Dropout gives for x, a mask for each row."""
    for m in model.modules():
        m.training = "Dropout" in type(m).__name__
    with torch.no_grad():
        out = model(torch.as_tensor(x).expand((count,) + tuple(np.shape(x))))
    model.eval()
    return out.numpy()


# A tensor that is used dropped and undropped, and one that is used twice where it is dropped.
block = lambda s, x: s.r((lambda h: h + s.drop(torch.relu(s.b(h))))(torch.relu(s.a(x))))  # noqa: E731
for name, forward in (
        ("beside", lambda s, x: (lambda h: s.q(torch.cat([h, s.drop(h)], 1)))(torch.relu(s.a(x)))),
        ("shortcut", lambda s, x: (lambda h: s.r(s.b(s.drop(h)) + h))(torch.relu(s.a(x)))),
        ("block", block), ("one-mask", lambda s, x: (lambda h: s.q(torch.cat([h, torch.tanh(s.b(h))], 1)))(s.drop(torch.relu(s.a(x))))),
        ("two-masks", lambda s, x: (lambda h: s.q(torch.cat([s.drop(h), s.drop(h)], 1)))(torch.relu(s.a(x)))),
        ("normed", lambda s, x: (lambda h: s.r(s.drop(s.norm(s.b(h))) + h))(torch.relu(s.a(x)))),
        ("inside", lambda s, x: s.r(s.other(torch.relu(s.b(s.drop(torch.relu(s.a((x - 0.4) / 0.5))))))))):
    made = net(forward)
    px.save_torch_dropout(path("drop-" + name), made, X)
    moments("drop-" + name, X[0], draws(made, X[0]))
made = net(lambda s, x: s.r((lambda h: h + s.drop(h))(torch.relu(s.a(x)))))
made.drop.inplace = True  # h is dropped too
px.save_torch_dropout(path("drop-in-place"), made, X)
moments("drop-in-place", X[0], draws(made, X[0]))
made = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.BatchNorm1d(6), nn.Dropout(0.3), nn.Linear(6, 3)).eval()  # which cannot be put behind its Dropout
made[2].running_mean.uniform_()
px.save_torch_dropout(path("drop-norm"), made, X)
moments("drop-norm", X[0], draws(made, X[0]))
image = rng.rand(8, 2, 3, 3).astype(np.float32)
made = nn.Sequential(nn.Conv2d(2, 3, 2), nn.Dropout2d(0.3), nn.ReLU(), nn.Flatten(), nn.Dropout(0.2), nn.Linear(12, 3)).eval()
px.save_torch_dropout(path("drop-image"), made, image)
moments("drop-image", image[0], draws(made, image[0]))

# The comparison itself: the same masks in both, of a recorder that takes evaluation at its word, of layers= and of forward().
recorded = px._Recorder.__init__
px._Recorder.__init__ = lambda self, model, tensors, drops=False: recorded(self, model, tensors)
for forward in (lambda s, x: (lambda h: s.q(torch.cat([h, s.drop(h)], 1)))(torch.relu(s.a(x))),
                lambda s, x: torch.softmax(s.r((lambda h: h + s.drop(h))(torch.relu(s.a(x)))), 1)):
    refuses(["under the same masks of Dropout", "output", "in the framework"], px.save_torch_dropout, net(forward), X)
px._Recorder.__init__ = recorded
first = net(lambda s, x: s.r(torch.relu(s.a(s.drop(x)))))
px.save_torch_dropout(path("drop-layers"), first, X, layers=[nn.Dropout(0.3), (first.a, "relu"), first.r])
for words, layers in ((["layer r (Linear) takes 6 numbers", "drops of (4,)"], [(first.a, "relu"), first.drop, first.r]),
                      (["drops in 0 of the 1 places"], [nn.Dropout(0.31), (first.a, "relu"), first.r]),
                      (["drops in 1 of the 2 places"], [first.drop, (first.a, "relu"), first.drop, first.r])):
    refuses(words, px.save_torch_dropout, first, X, layers=layers)
for forward in (lambda s, x: s.r(s.drop(s.other(s.b(torch.relu(s.a(x)))) if s.training else s.b(torch.relu(s.a(x))))),
                lambda s, x: s.r(s.drop(torch.relu(s.a(x)) + (torch.randn(6) if s.training else 0))),
                lambda s, x: s.r(s.drop(torch.relu(F.linear(x, F.dropout(s.a.weight, 0.2, s.training), s.a.bias) + s.a(x))))):
    refuses(["Net", "something else than the Dropouts", "draws"], px.save_torch_dropout, net(forward), X)
made = net(lambda s, x: (s.r(s.drop(torch.relu(s.a(x)))), s.b(s.other(s.a(x)))) if s.training else s.r(s.drop(torch.relu(s.a(x)))))
made.b = nn.Linear(6, 2)  # a second head, in training mode alone
assert "another network" not in notes(px.save_torch_dropout, path("drop-head"), made, X)
assert "another network than in evaluation" in notes(px.save_torch_dropout, path("drop-scaled"), net(lambda s, x: s.r(s.drop(torch.relu(s.a(x)))) * (2 if s.training else 1)), X)
made = net(lambda s, x: s.r(s.drop(torch.relu(s.a(x)))))
px.save_torch_dropout(path("drop-predict"), made, X, predict=lambda x: made(x))


# Random weights: means of 0 show neither activation nor order, and drawn networks do.
class Bayes(nn.Module):
    def __init__(self, n_in, n_out, **kw):
        super().__init__()
        self.weight_mean, self.bias_mean = nn.Parameter(torch.randn(n_out, n_in)), nn.Parameter(torch.randn(n_out))
        self.weight_sd, self.bias_sd = nn.Parameter(torch.full((n_out, n_in), 0.3)), nn.Parameter(torch.full((n_out,), 0.2))
        self.frozen = kw.get("frozen", False)

    def forward(self, x, sample=True):
        if self.frozen or not sample:
            return F.linear(x, self.weight_mean, self.bias_mean)
        return F.linear(x, torch.normal(self.weight_mean, self.weight_sd), torch.normal(self.bias_mean, self.bias_sd))


class BayesNet(Net):
    def __init__(self, forward):
        super().__init__(forward)
        self.__dict__["_modules"].clear()
        self.one, self.two, self.end = Bayes(4, 5), Bayes(5, 5), Bayes(5, 3)


SPREAD = [(0.3, 0.2)] * 3  # so that no layer is called for it


def bayes(forward):
    made = BayesNet(forward)
    made(torch.as_tensor(X))
    return made


made = bayes(lambda s, x: s.end(torch.tanh(s.two(torch.relu(s.one(x))))))
px.save_torch(path("weights"), made, X, spread=SPREAD)
for p in made.parameters():
    p.data.mul_(float(p.data.std() < 1e-6))  # spreads alone are of one number
made.end.bias_mean.data[:] = torch.rand(3)
refuses(["of a network that is drawn", "mean network agrees"], px.save_torch, made, X, layers=[(made.one, "relu"), (made.two, "relu"), made.end])
px.save_torch(path("weights-zero"), made, X, layers=[(made.one, "relu"), (made.two, "tanh"), made.end], spread=SPREAD)
made = bayes(lambda s, x: s.end(torch.tanh(F.linear(s.two(torch.relu(s.one(x))), s.two.weight_mean))))
refuses(["of a network that is drawn"], px.save_torch, made, X)  # a mean that acts in two places
made = bayes(lambda s, x: s.end(torch.tanh(s.one(x)) + s.two(torch.ones(1, 5))))
refuses(["layer two (Bayes)", "called with a constant"], px.save_torch, made, X)
made = bayes(lambda s, x: s.end(torch.tanh(s.one(x=x))))
del made.two
px.save_torch(path("weights-by-name"), made, X, spread=SPREAD[:2])

one = Bayes(4, 4)
for layers in ([one, nn.ReLU(), one], [one, nn.ReLU(), Bayes(4, 4)]):
    layers[2].weight_mean = one.weight_mean
    for more in ({}, dict(layers=layers)):
        refuses(["layer", "(Bayes): shares its weights", "independent"], px.save_torch, nn.Sequential(*layers), X, **more)

# Layers that never draw, by themselves or as forward() calls them; certain ones, with a spread of 0.
frozen = nn.Sequential(Bayes(4, 5, frozen=True), nn.ReLU(), Bayes(5, 3))
refuses(["layer 0 (Bayes)", "neither in evaluation nor in training", "of 0.3", "unfreeze"], px.save_torch, frozen, X)
for s in (frozen[0].weight_sd, frozen[0].bias_sd):
    s.data.zero_()
assert "compared" not in notes(px.save_torch, path("frozen"), frozen, X)
made = bayes(lambda s, x: s.end(torch.relu(s.one(x, sample=False))))
del made.two
refuses(["layer one (Bayes)", "as forward() calls it"], px.save_torch, made, X)
refuses(["layer one (Bayes)", "as forward() calls it"], px.save_torch, made, X, layers=[(made.one, "relu"), made.end])
made.run = lambda s, x: s.end(torch.relu(s.one(x, s.training)))
px.save_torch(path("sampled"), made, X)


# Batch norms with random gains and shifts; a recurrent network, by its steps.
class BayesNorm(nn.Module):
    def __init__(self, n, factor=1.0, frozen=False):
        super().__init__()
        self.weight_mean, self.bias_mean = nn.Parameter(torch.rand(n) + 0.5), nn.Parameter(torch.rand(n))
        self.weight_sd, self.bias_sd = nn.Parameter(torch.rand(n) + 0.1), nn.Parameter(torch.rand(n) + 0.1)
        self.register_buffer("running_mean", torch.rand(n))
        self.register_buffer("running_var", torch.rand(n) + 0.5)
        self.factor, self.frozen = factor, frozen

    def forward(self, x):
        sds = [0 * s if self.frozen else self.factor * s for s in (self.weight_sd, self.bias_sd)]
        return F.batch_norm(x, self.running_mean, self.running_var, torch.normal(self.weight_mean, sds[0]), torch.normal(self.bias_mean, sds[1]), self.training)


for name, made, x in (("norm-list", nn.Sequential(nn.Linear(4, 5), BayesNorm(5), nn.Tanh(), nn.Linear(5, 3)), X),
                      ("norm-image", nn.Sequential(nn.Conv2d(2, 3, 2), BayesNorm(3), nn.ReLU(), nn.Flatten(), nn.Linear(12, 3)), image)):
    before = made[1].running_mean.clone()
    px.save_torch(path(name), made, x)
    assert torch.equal(before, made[1].running_mean) and made.training
    assert [e["weight_scale"] if "weight_scale" in e else "sd" for e in header(name)["layers"] if e["kind"] == "batch_norm"] == ["none", "sd"]
    assert np.isfinite(arrays(name)["reference.spread"][2]).all()
    made.eval()
    with torch.no_grad():
        moments(name, x[0], np.concatenate([made(torch.as_tensor(x[:1])).numpy() for _ in range(600)]))
refuses(["layer 1 (BayesNorm)", "weights vary by"], px.save_torch, nn.Sequential(nn.Linear(4, 5), BayesNorm(5, 1.2), nn.Linear(5, 3)), X)
refuses(["layer 1 (BayesNorm)", "neither"], px.save_torch, nn.Sequential(nn.Linear(4, 5), BayesNorm(5, frozen=True), nn.Linear(5, 3)), X)
made = nn.Sequential(nn.Linear(4, 5), BayesNorm(5), nn.Linear(5, 3))
refuses(["batch norm with random weights", "leave it out"], px.save_torch, made, X, layers=list(made))


def steps(s, x):
    h = torch.zeros(x.shape[0], 6)
    for k in range(3):
        h = torch.tanh(s.a(x[:, 4 * k:4 * k + 4]) + s.b(h))
    return s.r(h)


made = Net(steps)
for unused in ("c", "q", "norm"):
    delattr(made, unused)
px.save_torch(path("recurrent"), made, rng.rand(9, 12))
made.b = Bayes(6, 6)
refuses(["layer b (Bayes)", "recurrent"], px.save_torch, made, rng.rand(9, 12))

# Every network of an ensemble, by layers=, by a Sequential and by its forward().
act = lambda f: net(lambda s, x: s.r(f(s.a(x))))  # noqa: E731
two, chain = [act(torch.relu), act(torch.tanh)], lambda m: [(m.a, "relu"), m.r]
refuses(["network 1: output", "activation were tanh"], px.save_torch_ensemble, two, X, layers=chain)
refuses(["network 1 has other layers"], px.save_torch_ensemble, two, X)
two = [act(torch.relu), net(lambda s, x: s.r(torch.relu(s.a(x))) * (1 if x.shape[0] == 2 else 1.1))]
refuses(["network 1: output"], px.save_torch_ensemble, two, X)
two = [net(lambda s, x: s.r(torch.relu(s.norm(s.b(torch.relu(s.a(x))))) + s.a(x))) for _ in range(3)]
px.save_torch_ensemble(path("members"), two, X, counts=[1, 2, 1])
head, kept = header("members"), arrays("members")
assert head["kind"] == "samples" and head["version"] == 2 and head["counts"] == [1, 2, 1] and "scale" not in head
assert np.array_equal(kept["layers.0.weight.samples"], np.stack([m.a.weight.detach() for m in two])) and len(kept["layers.3.weight.samples"]) == 3
said = notes(px.save_torch_ensemble, path("members-said"), two, X, logits=two[0](torch.as_tensor(X)))
assert "2 networks behind network 0 were not compared" in said, said
each = [m(torch.as_tensor(X)).detach() for m in two]
assert "compared" not in notes(px.save_torch_ensemble, path("members-each"), two, X, logits=each)
refuses(["network 2: output"], px.save_torch_ensemble, two, X, logits=each[:2] + each[:1])
refuses(["lists of 2"], px.save_torch_ensemble, two, X, logits=each[:2])
refuses(["whole"], px.save_torch_ensemble, two, X, counts=[1, 1, 1.5])
two = [nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 3)) for _ in range(2)]
refuses(["network 1: output"], px.save_torch_ensemble, two, X, predict=[two[0], two[0]])
weights = [[p.detach() for p in m.parameters()] for m in two]
refuses(["network 1: output"], px.save_samples, weights, ["relu", "identity"], "out,in", inputs=X, logits=[two[0](torch.as_tensor(X)).detach()] * 2)


# Laplace: means of 0, and networks behind the first.
class AnyLaplace:
    def __init__(self, model, factor=1):
        self.model, self.params = model, list(model.parameters())
        self.mean = torch.nn.utils.parameters_to_vector(self.params).detach() * factor
        self.posterior_scale = torch.full((len(self.mean),), 0.2)


class DiagLaplace(AnyLaplace):
    pass


class FullLaplace(AnyLaplace):
    def __init__(self, model, factor=1):
        super().__init__(model, factor)
        self.posterior_scale = 0.2 * torch.eye(len(self.mean)) + 0.05 * torch.rand(len(self.mean), len(self.mean)).tril()


made, chain = act(torch.tanh), lambda m: [(m.a, "relu"), m.r]
for kind in (DiagLaplace, FullLaplace):
    px.save_laplace(path("laplace-" + kind.__name__), kind(made), X)
    refuses(["of a network that is drawn"], px.save_laplace, kind(made, 0), X, layers=chain)
one = nn.Linear(4, 4)
refuses(["shares its weights", "independent"], px.save_laplace, DiagLaplace(nn.Sequential(one, nn.ReLU(), one)), X)
made.run = lambda s, x: s.r(torch.tanh(s.a(x)) if s.a.weight[0, 0] == first else torch.relu(s.a(x)))
la = FullLaplace(made)
first = (la.mean[0] + torch.as_tensor(np.random.RandomState(0).standard_normal((5, len(la.mean))) @ la.posterior_scale.numpy().astype(float).T)[0, 0]).float()
refuses(["network 1: output"], px.save_laplace, la, X, samples=5, layers=lambda m: [(m.a, "tanh"), m.r])
for la in (DiagLaplace(made), FullLaplace(made)):
    la.n_data = 0
    refuses(["was not fitted", "la.fit"], px.save_laplace, la, X)

# One line for what torch and others made of a network.
plain = nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 3))
for f, model in ((px.save_torch, torch.jit.script(plain)), (px.save_torch, torch.jit.trace(plain, torch.as_tensor(X))), (px.save_torch_dropout, torch.jit.script(plain)),
                 (px.save_torch, nn.Sequential(torch.jit.script(plain))), (px.save_torch_ensemble, [torch.jit.script(plain)])):
    refuses(["the nn.Module itself", "torch.jit"], f, model, X)
refuses(["is a class"], px.save_torch, nn.Linear, X)
for name in ("weight", "bias"):
    value = getattr(plain[0], name).data
    del plain[0]._parameters[name]
    setattr(plain[0], name, value)
    plain[0].register_buffer(name + "_mean", value)
    plain[0].register_buffer(name + "_sq_mean", value ** 2 + 0.01)
refuses(["SWAG", "save_swag", "NAME_sq_mean"], px.save_torch, plain, X)


def wrong(error):
    def forward(s, x):
        raise error
    return Net(forward)


refuses(["KeyError", "as it takes them"], px.save_torch, wrong(KeyError(1)), X)
refuses(["two lines"], px.save_torch, wrong(ValueError("two\nlines")), X)
assert px.save_torch.__doc__ and px.save_torch.__name__ == "save_torch"


# Names of others' layers: those of PyTorch-BayesianCNN are known, and names= is proposed for what looks like a layer.
def local(names, sd, axes=2):
    class Local(nn.Module):
        def __init__(self):
            super().__init__()
            for name, size, value in zip(names, ((3, 4), (3, 4), (3,), (3,)), (0, -3.0, 0, -3.0)):
                setattr(self, name, nn.Parameter(torch.randn(size) if value == 0 else torch.full(size, value)))

        def forward(self, x):
            W, sW, b, sb = (getattr(self, n) for n in names)
            mean, variance = F.linear(x, W, b), F.linear(x ** 2, sd(sW) ** 2, sd(sb) ** 2)
            return mean + variance.sqrt() * torch.randn_like(mean)

    return nn.Sequential(Local(), nn.Softplus(), nn.Linear(3, 2))


px.save_torch(path("bayesian-cnn"), local(("W_mu", "W_rho", "bias_mu", "bias_rho"), F.softplus), X)
refuses(["layer 0 (Local)", "names=('w', 'w_logvar', 'b', 'b_logvar', 'log_variance')"], px.save_torch, local(("w", "w_logvar", "b", "b_logvar"), lambda s: (s / 2).exp()), X)
px.save_torch(path("proposed"), local(("w", "w_logvar", "b", "b_logvar"), lambda s: (s / 2).exp()), X, names=("w", "w_logvar", "b", "b_logvar", "log_variance"))
print("torch draw cases: done")
