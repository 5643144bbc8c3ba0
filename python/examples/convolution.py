"""A convolutional network with a batch norm, pools and a shortcut; the spread of kernels is untrained.
Needs torch, and psafe_export.py beside it (psafe exporter --out psafe_export.py). Then:

    psafe certify --posterior net.npz --inputs points.csv --eps 0.01

which ended, in 2026-11, with

    psafe: 6 of 6 safe with probability >= 0.9, 0 unsafe, 0 unknown; mean p_lower 0.9999
"""
import torch, psafe_export
from torch.nn import functional as F
torch.manual_seed(1)

class BayesConv(torch.nn.Module):
    def __init__(self, channels, filters, kernel, **where):
        super().__init__()
        shape, self.where = (filters, channels, kernel, kernel), where
        self.weight_mean = torch.nn.Parameter(torch.randn(shape) * (2 / (channels * kernel ** 2)) ** 0.5)
        self.weight_rho = torch.nn.Parameter(torch.full(shape, -6.0))

    def forward(self, x):
        sd = F.softplus(self.weight_rho)
        return F.conv2d(x, self.weight_mean + sd * torch.randn_like(sd), **self.where)

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.norm = BayesConv(1, 4, 3, padding=1), torch.nn.BatchNorm2d(4)
        self.conv2, self.head = BayesConv(4, 4, 3, padding=1), torch.nn.Linear(36, 2)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.norm(self.conv1(x))), 2)
        x = F.avg_pool2d(F.relu(self.conv2(x) + x), 2)  # a shortcut
        return self.head(x.flatten(1))

y = torch.arange(400) % 2  # a bright row, or a bright column
x = 0.1 * torch.rand(400, 1, 12, 12)
for i in range(400):
    at = 2 + i // 2 % 8
    image = x[i, 0] if y[i] else x[i, 0].T
    image[at:at + 2] += 0.8
net = Net()
optimiser = torch.optim.Adam(net.parameters(), 0.01)
for step in range(150):
    loss = F.cross_entropy(net(x), y)
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
psafe_export.save_torch("net.npz", net, inputs=x)
with open("points.csv", "w") as f:
    f.writelines(",".join("%g" % v for v in p) + "\n" for p in x[:6].flatten(1).tolist())
