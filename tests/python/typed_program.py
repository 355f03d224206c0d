"""What mypy must see of the package, although its names are imported when they are used: the suite `lint` checks it."""

import turnpike as tp
from turnpike import Report, report

read: Report = report("run.tpk")
again: Report = tp.report("run.tpk")
recording: bool = tp.is_recording()
version: str = tp.__version__
print(tp.nonsense)  # type: ignore[attr-defined]
print(tp.report(1))  # type: ignore[arg-type]
