// The worker's program as text. build.mjs bundles it first.
declare module "worker:codec" {
  const program: string;
  export default program;
}
