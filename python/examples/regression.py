"""A regression whose layers draw outputs by local reparameterisation; a range of outputs is safe.
Needs torch, and psafe_export.py beside it (psafe exporter --out psafe_export.py). Then:

    psafe certify --posterior net.npz --inputs points.csv --eps 0.01 --property output_box:[-1.5,1.5]

which ended, in 2026-11, with

    psafe: 5 of 5 safe with probability >= 0.9, 0 unsafe, 0 unknown; mean p_lower 0.9999
"""
import torch, psafe_export
from torch.nn import functional as F
torch.manual_seed(1)

class Bayes(torch.nn.Module):  # local reparameterisation: it draws outputs
    def __init__(self, n_in, n_out):
        super().__init__()
        self.weight_mean = torch.nn.Parameter(torch.randn(n_out, n_in) / n_in ** 0.5)
        self.weight_log_sd = torch.nn.Parameter(torch.full((n_out, n_in), -5.0))
        self.bias_mean = torch.nn.Parameter(torch.randn(n_out))
        self.bias_log_sd = torch.nn.Parameter(torch.full((n_out,), -5.0))

    def forward(self, x):
        y = F.linear(x, self.weight_mean, self.bias_mean)
        variance = F.linear(x ** 2, torch.exp(2 * self.weight_log_sd), torch.exp(2 * self.bias_log_sd))
        return y + variance.sqrt() * torch.randn_like(y)

x = 4 * torch.rand(300, 1) - 2
y = torch.sin(2 * x) + 0.05 * torch.randn(300, 1)
net = torch.nn.Sequential(Bayes(1, 16), torch.nn.Tanh(), Bayes(16, 1))
optimiser = torch.optim.Adam(net.parameters(), 0.02)
for step in range(1000):
    entropy = sum(p.sum() for n, p in net.named_parameters() if "log_sd" in n)
    loss = ((net(x) - y) ** 2).mean() / (2 * 0.1 ** 2) - 0.1 * entropy / len(x)
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
psafe_export.save_torch("net.npz", net, inputs=x)
with open("points.csv", "w") as f:
    f.writelines("%g\n" % v for v in (-1.5, -0.75, 0, 0.75, 1.5))
