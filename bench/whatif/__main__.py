"""python -m bench.whatif"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import run  # noqa: E402

sys.exit(run.main())
