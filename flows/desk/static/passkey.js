// Passkeys: make one, and sign a decision with one. Their text form is that of
// schemas/documents/approver_keys.py: passkey:RP_ID:CREDENTIAL_ID:KEY.

const ES256 = -7;
const ED25519 = -8;
const PATIENCE = 180_000; // milliseconds in which somebody finds their security key

export function isPasskey(text) {
  return text.startsWith("passkey:");
}

// Why no passkey can be made or used at this address; empty where it can.
export function obstacle() {
  if (/^[\d.]+$|:/.test(location.hostname))
    return `A passkey belongs to a host name, and this page was opened at the address ${location.hostname}. Open the desk by its name, over HTTPS, or on this machine at http://localhost:${location.port}.`;
  if (!window.isSecureContext || !navigator.credentials)
    return "A passkey needs a connection over HTTPS, or a browser on the machine of the desk, at localhost.";
  return "";
}

export async function madePasskey(name) {
  if (obstacle()) throw new Error(obstacle());
  const { rawId, response } = await navigator.credentials.create({
    publicKey: {
      rp: { id: location.hostname, name: "Hallmark review desk" },
      user: { id: crypto.getRandomValues(new Uint8Array(32)), name, displayName: name },
      challenge: crypto.getRandomValues(new Uint8Array(32)), // of no use: nothing is attested
      pubKeyCredParams: [ES256, ED25519].map((alg) => ({ type: "public-key", alg })),
      authenticatorSelection: { userVerification: "required" },
      attestation: "none",
      timeout: PATIENCE,
    },
  });
  const publicKey = response.getPublicKey();
  if (!publicKey) throw new Error("this browser does not tell the public key of the passkey; use another browser");
  const id = base64(rawId).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  return { publicKey, text: `passkey:${location.hostname}:${id}:${base64(publicKey)}` };
}

// What is signed is the SHA-256 of the decision's canonical text, as the challenge.
export async function signedByPasskey(text, content) {
  if (obstacle()) throw new Error(obstacle());
  const [, rpId, id] = text.split(":");
  const { response } = await navigator.credentials.get({
    publicKey: {
      challenge: await crypto.subtle.digest("SHA-256", content),
      rpId,
      allowCredentials: [{ type: "public-key", id: bytes(id) }],
      userVerification: "required",
      timeout: PATIENCE,
    },
  });
  return {
    key: text,
    signature: base64(response.signature),
    assertion: { authenticator_data: base64(response.authenticatorData), client_data: base64(response.clientDataJSON) },
  };
}

export function base64(content) {
  return btoa(String.fromCharCode(...new Uint8Array(content)));
}

function bytes(base64url) {
  const standard = base64url.replaceAll("-", "+").replaceAll("_", "/");
  return Uint8Array.from(atob(standard), (character) => character.charCodeAt(0));
}
