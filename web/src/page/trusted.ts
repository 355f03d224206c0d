// The one Trusted Types policy of the page. It lets nothing through but the worker's own blob.

interface Policy {
  createScriptURL(url: string): unknown;
}
interface TrustedTypes {
  createPolicy(name: string, rules: { createScriptURL(url: string): string }): Policy;
}

let policy: Policy | undefined;

/** The URL of a script, as the browser wants it: trusted where it checks, plain elsewhere. */
export function scriptUrl(url: string): string {
  const factory = (globalThis as { trustedTypes?: TrustedTypes }).trustedTypes;
  if (!factory) return url;
  policy ??= factory.createPolicy("turnpike", {
    createScriptURL(candidate) {
      if (!candidate.startsWith("blob:"))
        throw new TypeError("Only workers from blobs are allowed");
      return candidate;
    },
  });
  return policy.createScriptURL(url) as string;
}
