"""An ordinary training loop: two uploads and one read on every step, the parameters once."""

import torch
import torch.nn.functional as F


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = torch.nn.Linear(784, 128)
        self.out = torch.nn.Linear(128, 10)

    def forward(self, x):
        return self.out(F.relu(self.hidden(x)))  # <- C1


def train(model, steps):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    images, labels = torch.ones(64, 784), torch.zeros(64, dtype=torch.int64)
    for _ in range(steps):
        data = images.to("cuda")  # <- T1
        target = labels.to("cuda")  # <- T2
        optimizer.zero_grad()
        loss = F.cross_entropy(model(data), target)
        loss.backward()
        optimizer.step()
        last = loss.item()  # <- T3
    return last


torch.manual_seed(0)
model = Net().cuda()  # <- T4
print(f"{train(model, 10):.4f}")

# cuBLAS clears its workspace when it splits a product: when it does is its business.
# expect C1: any
# expect T1: h2d count=10 bytes=2007040 kinds=pageable->device op=aten::to blocked=10 function=train
# expect T2: h2d count=10 bytes=5120 kinds=pageable->device op=aten::to blocked=10 function=train
# expect T3: d2h count=10 bytes=40 kinds=device->pinned op=aten::item blocked=10 function=train
# expect T4: h2d count=4 bytes=407080 kinds=pageable->device op=aten::to blocked=4
