"""PyG: mini-batches of small graphs. Messages are reduced by their maximum, which no order of additions changes."""

from __future__ import annotations

from typing import Any

import torch
from common import Clock, Trained, Wrap, exactly, seed_all

NEEDS = ("torch_geometric",)


def train(wrap: Wrap, device: torch.device) -> Trained:
    from torch_geometric.data import Data
    from torch_geometric.loader import DataLoader
    from torch_geometric.nn import GraphConv, global_max_pool

    seed_all(6)
    graphs = []
    for index in range(256):
        nodes = 5 + index % 20
        edges = torch.randint(0, nodes, (2, 4 * nodes))
        graphs.append(Data(x=torch.rand(nodes, 16), edge_index=edges, y=torch.tensor([index % 4])))

    class Network(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = GraphConv(16, 32, aggr="max"), GraphConv(32, 32, aggr="max")
            self.last = torch.nn.Linear(32, 4)

        def forward(self, data: Any) -> torch.Tensor:
            x = self.first(data.x, data.edge_index).relu()
            x = self.second(x, data.edge_index).relu()
            return self.last(global_max_pool(x, data.batch, data.num_graphs))

    model = Network().to(device)
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    loader: Any = DataLoader(graphs, batch_size=16, shuffle=True)
    if wrap is not None:
        loader = wrap(loader)
    losses = []
    clock = Clock(device)
    for _ in range(2):
        for batch in loader:
            if wrap is None:
                batch = batch.to(device)
            loss = torch.nn.functional.cross_entropy(model(batch), batch.y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
    return Trained(exactly(losses), model, clock.step_ms(len(losses)))
