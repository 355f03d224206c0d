"""A program started by the program, with its code on the command line."""

import subprocess
import sys

CODE = """
import torch
x = torch.ones(1000).to("cuda")
print(x.sum().item())
"""
sys.exit(subprocess.run([sys.executable, "-c", CODE]).returncode)

# suite: count=truth
# expect <string>:3: h2d count=1 bytes=4000 kinds=pageable->device op=aten::to blocked=1 function=<module>
# expect <string>:4: d2h count=1 bytes=4 kinds=device->pinned op=aten::item blocked=1
