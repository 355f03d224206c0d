"""python -m bench.verdicts"""

import os
import sys

sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)), os.path.dirname(os.path.dirname(os.path.abspath(__file__)))]

import score  # noqa: E402

sys.exit(score.main())
