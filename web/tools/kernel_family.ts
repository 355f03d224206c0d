// The family of a kernel, from its name. First match wins.
import type { ClassName } from "../src/format.ts";

const FAMILIES: [RegExp, ClassName][] = [
  [/nccl/i, "collective"],
  [/flash|fmha|attention/i, "attention"],
  [/gemm|gemv|cutlass|xmma|matmul|conv|cublas|splitK/i, "matmul"],
  [/reduce|softmax|norm|welford|argmax|scan|sort/i, "reduction"],
  [/memcpy|copy|CatArray|gather|scatter|index|transpose/i, "copy_kernel"],
  [/elementwise|vectorized|multi_tensor|unrolled|fused|distribution|fill/i, "elementwise"],
];

export function familyOf(name: string): ClassName {
  return FAMILIES.find(([pattern]) => pattern.test(name))?.[1] ?? "kernel";
}
