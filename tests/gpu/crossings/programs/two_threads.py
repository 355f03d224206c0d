"""Two threads that copy at the same time, each on its own stream."""

import threading

import torch

x = torch.ones(1000)
torch.cuda.init()


def upload(results):
    with torch.cuda.stream(torch.cuda.Stream()):
        for _ in range(100):
            y = x.to("cuda")  # <- T1
        results.append(y.sum().item())  # <- T2


results = []
threads = [threading.Thread(target=upload, args=(results,)) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(results)

# expect T1: h2d count=200 bytes=800000 kinds=pageable->device op=aten::to blocked=200 function=upload
# expect T2: d2h count=2 bytes=8 kinds=device->pinned op=aten::item blocked=2 function=upload
