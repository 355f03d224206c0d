// Base64 to bytes. New browsers do it natively; the others by way of `atob`.

interface NativeBase64 {
  fromBase64?: (text: string) => Uint8Array<ArrayBuffer>;
}

/** Throws a SyntaxError or a DOMException for text that is not base64. */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  const native = (Uint8Array as NativeBase64).fromBase64;
  return native ? native(text) : fromBase64WithAtob(text);
}

export function fromBase64WithAtob(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}
