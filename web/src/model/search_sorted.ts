/** The first index in [from, to) whose value is above `value`; `to` if none is. */
export function firstAbove(
  sorted: ArrayLike<number>,
  value: number,
  from: number,
  to: number,
): number {
  let low = from;
  let high = to;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (sorted[middle]! > value) high = middle;
    else low = middle + 1;
  }
  return low;
}
