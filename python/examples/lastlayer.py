"""A last layer with full covariance without a library: its precision is the prior's plus the
generalised Gauss-Newton matrix.
Needs torch, and psafe_export.py beside it (psafe exporter --out psafe_export.py). Then:

    psafe certify --posterior net.npz --inputs points.csv --eps 0.01

which ended, in 2026-11, with

    psafe: 17 of 20 safe with probability >= 0.9, 3 unsafe, 0 unknown; mean p_lower 0.9205
"""
import torch, psafe_export
from torch.nn import functional as F
torch.manual_seed(1)
x = torch.rand(300, 4)
y = (x[:, 0] > x[:, 1]).long() + 2 * (x[:, 2] > x[:, 3]).long()
first, last = torch.nn.Linear(4, 16), torch.nn.Linear(16, 4)
net = torch.nn.Sequential(first, torch.nn.ReLU(), last)
optimiser = torch.optim.Adam(net.parameters(), 0.02, weight_decay=1e-4)
for step in range(400):
    loss = F.cross_entropy(net(x), y)
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
with torch.no_grad():
    z, p = torch.relu(first(x)).double(), net(x).softmax(1).double()
z1 = torch.cat([z, torch.ones(len(z), 1)], 1)  # (z, 1): entries are those of [W b], row by row
H = torch.diag_embed(p) - p[:, :, None] * p[:, None, :]
GGN = torch.einsum("nab,ni,nj->aibj", H, z1, z1).reshape(4 * 17, 4 * 17)
covariance = torch.linalg.inv(GGN + 1.0 * torch.eye(4 * 17))
layers = [psafe_export.dense(first.weight, first.bias, activation="relu", layout="out,in"),
          psafe_export.dense(last.weight, last.bias, layout="out,in", covariance=covariance)]
psafe_export.save_gaussian("net.npz", layers, inputs=x, predict=lambda a: net(torch.tensor(a).float()))
with open("points.csv", "w") as f:
    f.writelines("%g,%g,%g,%g\n" % tuple(p) for p in x[:20].tolist())
