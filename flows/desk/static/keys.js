// Make keys in the browser: a passkey, or an Ed25519 key in an encrypted file. Nothing is sent.

import { base64, madePasskey, obstacle } from "./passkey.js";

const ITERATIONS = 600_000; // of PBKDF2 with HMAC-SHA-256

document.getElementById("obstacle").textContent = obstacle();

onSubmit("make-passkey", async (form, show) => {
  const { publicKey, text } = await madePasskey(form.elements.name.value.trim());
  await show(text, publicKey);
});

onSubmit("make-file", async (form, show) => {
  if (!crypto.subtle) throw new Error("a key can be made over HTTPS, or on the machine of the desk, at localhost");
  const { name, passphrase, again } = form.elements;
  if (passphrase.value !== again.value) throw new Error("the two passphrases differ");
  const { privateKey, publicKey } = await crypto.subtle.generateKey("Ed25519", true, ["sign"]);
  const pem = await encrypted(await crypto.subtle.exportKey("pkcs8", privateKey), passphrase.value);
  const link = document.getElementById("download");
  link.href = URL.createObjectURL(new Blob([pem], { type: "application/x-pem-file" }));
  link.download = `${name.value.trim().toLowerCase().replace(/[^a-z0-9]+/g, "-")}.pem`;
  link.hidden = false;
  link.click();
  await show(base64(await crypto.subtle.exportKey("raw", publicKey)), await crypto.subtle.exportKey("spki", publicKey));
});

function onSubmit(id, make) {
  const form = document.getElementById(id);
  const answer = form.querySelector("[role=status]");
  const say = (text, kind) => {
    answer.textContent = text;
    answer.className = kind;
  };
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      await make(form, async (text, publicKey) => {
        const print = new Uint8Array(await crypto.subtle.digest("SHA-256", publicKey));
        say("Made. Give this line to whoever keeps the profile, and read the fingerprint aloud.", "good");
        form.querySelector(".line").textContent = `key: ${text}`;
        form.querySelector(".fingerprint").textContent = [...print].map((byte) => byte.toString(16).padStart(2, "0")).join("");
      });
    } catch (error) {
      say(`No key was made: ${error.message}`, "bad");
    }
  });
  form.querySelector("button[type=submit]").disabled = false;
}

// PKCS #8 under PBES2 (RFC 8018): PBKDF2 with HMAC-SHA-256, then AES-256-CBC; as OpenSSL reads it.
async function encrypted(der, passphrase) {
  const salt = crypto.getRandomValues(new Uint8Array(16));
  const iv = crypto.getRandomValues(new Uint8Array(16));
  const secret = await crypto.subtle.importKey("raw", new TextEncoder().encode(passphrase), "PBKDF2", false, ["deriveKey"]);
  const key = await crypto.subtle.deriveKey(
    { name: "PBKDF2", hash: "SHA-256", salt, iterations: ITERATIONS },
    secret,
    { name: "AES-CBC", length: 256 },
    false,
    ["encrypt"],
  );
  const ciphertext = new Uint8Array(await crypto.subtle.encrypt({ name: "AES-CBC", iv }, key, der));
  const pbkdf2 = sequence(
    identifier("2a864886f70d01050c"),
    sequence(octets(salt), integer(ITERATIONS), sequence(identifier("2a864886f70d0209"), Uint8Array.of(5, 0))),
  );
  const cipher = sequence(identifier("60864801650304012a"), octets(iv));
  const scheme = sequence(identifier("2a864886f70d01050d"), sequence(pbkdf2, cipher));
  const lines = base64(sequence(scheme, octets(ciphertext))).match(/.{1,64}/g).join("\n");
  return `-----BEGIN ENCRYPTED PRIVATE KEY-----\n${lines}\n-----END ENCRYPTED PRIVATE KEY-----\n`;
}

// DER: all that is written here is shorter than 256 bytes.
function value(tag, content) {
  const length = content.length < 128 ? [content.length] : [0x81, content.length];
  return Uint8Array.of(tag, ...length, ...content);
}

function sequence(...values) {
  return value(0x30, values.flatMap((one) => [...one]));
}

function octets(content) {
  return value(0x04, content);
}

function identifier(hexadecimal) {
  return value(0x06, hexadecimal.match(/../g).map((byte) => Number.parseInt(byte, 16)));
}

function integer(number) {
  const content = [];
  for (let rest = number; rest > 0; rest = Math.floor(rest / 256)) content.unshift(rest % 256);
  return value(0x02, content[0] < 128 ? content : [0, ...content]);
}
