"""PyTorch Geometric: graph classification over mini-batches of small graphs, as in its examples."""

import torch
import torch.nn.functional as F
from _clock import Clock, arguments
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GCNConv, global_mean_pool

import turnpike as tp

FIXES = ["workers", "prefetch", "upload-once", "fetch"]


def graphs(count):
    random = torch.Generator().manual_seed(1)
    made = []
    for index in range(count):
        nodes = 10 + index % 30
        edges = torch.randint(0, nodes, (2, 4 * nodes), generator=random)
        made.append(Data(x=torch.rand(nodes, 16, generator=random), edge_index=edges, y=torch.tensor([index % 4])))
    return made


class Network(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.convolutions = torch.nn.ModuleList(GCNConv(inputs, width) for inputs in (16, width, width))
        self.last = torch.nn.Linear(width, 4)

    def forward(self, data):
        x = data.x
        for convolution in self.convolutions:
            x = convolution(x, data.edge_index).relu()
        return self.last(F.dropout(global_mean_pool(x, data.batch), 0.5, self.training))


def main():
    args = arguments(__doc__, FIXES)
    dataset = graphs(256 if args.small else 4096)
    if "upload-once" in args.fix:
        dataset = [graph.to(args.device) for graph in dataset]
    loading = {}
    if "workers" in args.fix:
        loading = {"num_workers": args.num_workers, "pin_memory": not args.small, "persistent_workers": True}
    loader = DataLoader(dataset, batch_size=64, shuffle=True, **loading)
    if "workers" in args.fix or "prefetch" in args.fix:
        loader = tp.prefetch(loader, args.device)
    model = Network(64).to(args.device).train()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    clock, done, total, scalars = Clock(args), 0, 0.0, tp.Scalars()
    while done < args.steps:
        for batch in loader:
            batch = batch.to(args.device)
            optimizer.zero_grad()
            loss = F.cross_entropy(model(batch), batch.y)
            loss.backward()
            optimizer.step()
            if "fetch" in args.fix:
                scalars.add(done, loss=loss.detach())
                total += sum(values["loss"] for _, values in scalars.ready()) * batch.num_graphs
            else:
                total += loss.item() * batch.num_graphs
            clock.step(loss)
            done += 1
            if done == args.steps:
                break
    clock.finish()


if __name__ == "__main__":
    main()
