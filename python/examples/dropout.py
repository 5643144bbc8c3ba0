"""MC dropout: a network with dropout in front of its last layer.
Needs torch, and psafe_export.py beside it (psafe exporter --out psafe_export.py). Then:

    psafe certify --posterior net.npz --inputs points.csv --eps 0.01

which ended, in 2026-11, with

    psafe: 17 of 20 safe with probability >= 0.9, 2 unsafe, 1 unknown; mean p_lower 0.9277
"""
import torch, psafe_export
torch.manual_seed(1)
x = torch.rand(300, 4)
y = (x[:, 0] > x[:, 1]).long() + 2 * (x[:, 2] > x[:, 3]).long()
net = torch.nn.Sequential(torch.nn.Linear(4, 32), torch.nn.ReLU(),
                          torch.nn.Dropout(0.1), torch.nn.Linear(32, 4))
optimiser = torch.optim.Adam(net.parameters(), 0.02)
for step in range(300):
    loss = torch.nn.functional.cross_entropy(net(x), y)
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
psafe_export.save_torch_dropout("net.npz", net, inputs=x)
with open("points.csv", "w") as f:
    f.writelines("%g,%g,%g,%g\n" % tuple(p) for p in x[:20].tolist())
